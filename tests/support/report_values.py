"""The tables of `reports/formats.py`, and a value for each with everything in it that a report has words for."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from reconciler.mistake import Mistake, Validation
from reconciler.model.address import Address, TargetName
from reconciler.model.clock import stamp
from reconciler.model.desired import ParityException
from reconciler.model.entry import Observed
from reconciler.model.outcome import Outcome
from reconciler.model.overview import Overview, TargetOverview
from reconciler.model.parity import Difference, Pairs, Parity, Unpaired, View
from reconciler.model.plan import Action
from reconciler.model.result import Applied, Done, Finding, Health, Result, Verdict
from reconciler.model.selection import Selection
from reconciler.planning.removals import removal_requests
from reconciler.planning.status import status_of
from reconciler.reports import formats
from support.value_scene import AT, BY, EUROPE, PLACE, USA, Scene, address_of, hooks

TABLES: dict[str, formats.Formats[Any]] = {
    name: value for name, value in vars(formats).items() if name.isupper() and isinstance(value, dict)
}
FORMS = [(table, form) for table in TABLES for form in TABLES[table]]

NOW = datetime(2026, 11, 21, tzinfo=UTC)
OURS = {"eventCodes", "webhookUrl", "digest", "now"}
"""Names of fields and keys whose text, or which themselves, are always the program's own."""


def values(*, differing: bool = True) -> dict[str, Any]:
    """A value for each table, by its name; without `differing`, no report of it has to compare two subscriptions."""
    scene = Scene()
    scene.want("new", "ONB10001", hooks("new"))
    scene.lose("lost", "ONB10002", hooks("lost"))
    scene.begin("flying", "ONB10003", hooks("flying"))
    scene.hold("wanted-no-more", "ONB10004", hooks("wanted-no-more"))
    removed = scene.begin("removed", "ONB10005", hooks("removed"))
    scene.hear(removed, Outcome.CREATED, {"webhookId": "w-7"})
    scene.retire(removed)
    if differing:
        scene.want("shrunk", "ONB10006", hooks("shrunk"))
        scene.hold("shrunk", "ONB10006 ONB10007", hooks("shrunk"))
        scene.want("extended", "ONB10008 ONB10009", hooks("extended"))
        scene.hold("extended", "ONB10008", hooks("extended"))
        scene.want("replaced", "ONB10010", hooks("replaced"))
        scene.hold("replaced", "ONB10010", hooks("old"))
    for name, code in (("lost", "ONB10002"), ("shrunk", "ONB10006")):
        scene._tell(EUROPE, Observed(at=AT, by=BY, address=address_of(name), url=hooks(name), received={code: AT}))
    record, plan = scene.records[EUROPE], scene.plan()
    results = (
        Result(address_of("new"), Action.CREATE, Done.UNKNOWN, 502, "a1", "the service answered 502"),
        Result(address_of("shrunk"), Action.EXTEND, Done.REJECTED, 400, "a2", "no", recorded=False),
    )
    status = [status_of(record, plan.targets[EUROPE], NOW)]
    overview = overview_of(scene)
    return {
        "PLAN": plan,
        "PLAN_PAGE": overview,
        "APPLIED": Applied(results, (scene.attempt(removed),), Verdict.UNRESOLVED, ("kept",)),
        "STATUS": status,
        "STATUS_PAGE": overview,
        "REMOVALS": removal_requests(status, Selection(), NOW.timestamp()),
        "PARITY": _parity(differing=differing),
        "LIST": [record],
        "FINDINGS": [
            Finding("DNS", hooks("a"), Health.OK, "resolved"),
            Finding("token", EUROPE, Health.SKIPPED, "not set"),
            Finding("token", USA, Health.SKIPPED, "not set"),
            Finding("git", "state", Health.WARNING, "not committed", "run: git commit"),
            Finding("record", EUROPE, Health.FAILED, "missing", "restore it"),
            Finding("record", USA, Health.FAILED, "missing", "restore it"),
        ],
        "VALIDATION": Validation((Mistake(PLACE, "wrong", "mend it"),), (Mistake(PLACE, "odd", "look"),), 1),
    }


def overview_of(scene: Scene, *patterns: str, unusable: Mapping[TargetName, str] | None = None) -> Overview:
    """What a page shows of a scene."""
    plan, records = scene.plan(*patterns), scene.records
    targets = tuple(
        TargetOverview(
            status_of(records[name], plan.targets[name], NOW), records[name].base_url, records[name].head,
            records[name].entries, records[name].at, scene.targets[name],
        )
        for name in sorted(plan.targets)
    )  # fmt: skip
    unknown = {USA: "its record is missing"} if unusable is None else unusable
    return Overview(stamp(NOW.timestamp()), plan, targets, scene.recipients, unknown)


def _parity(*, differing: bool) -> Pairs:
    side = {"eventCodes": ["ONB10001"], "webhookUrl": hooks("a")}
    other = {"eventCodes": ["ONB10002"], "webhookUrl": hooks("b")} if differing else None
    exception = ParityException("*/*/loans", "not sold there", PLACE)
    differences = (Difference("offers", View.DESIRED, side, other), Difference("left", View.IN_FORCE, None, side))
    ignored = ((Difference("loans", View.DESIRED, side, None), exception),)
    missing = {"ONB10001": None, "ONB10002": AT}
    proof = (Difference("offers", View.PROVEN, {"eventCodes": []}, {"eventCodes": [*missing]}, missing),)
    pairs = Parity(EUROPE, USA, differences, ignored, (exception,)), Parity(EUROPE, USA, proof, (), ())
    return Pairs(pairs, (Unpaired(EUROPE, USA, matters=differing),))


def laced(value: Any, text: str) -> Any:
    """The same value with `text` before every text in it. Names and addresses have the slashes that they had."""
    match value:
        case Enum():
            return value
        case TargetName() | Address():
            return type(value)("/".join(text.replace("/", "") + segment for segment in value.split("/")))
        case str():
            return text + value
        case Mapping():
            return {key if key in OURS else laced(key, text): laced(item, text) for key, item in value.items()}
        case tuple() | list() | frozenset():
            return type(value)(laced(item, text) for item in value)
        case Struct():
            names = set(value.__struct_fields__) - OURS
            return replace(value, **{name: laced(getattr(value, name), text) for name in names})
        case _:
            return value


def printed(report: formats.Report) -> str:
    """A report as it is printed, without colour."""
    return report if isinstance(report, str) else "".join(f"{line.text}\n" for line in report)
