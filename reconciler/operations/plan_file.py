"""Reads plans that `plan --out` saved, and compares them with a new plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import MsgspecError, Struct
from msgspec.json import decode, encode

from reconciler.errors import Message, Refused, SettingsError, Step
from reconciler.model.plan import Action
from reconciler.reports.json import FORMAT, request_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from reconciler.model.plan import Change, Plan

_DIGEST_SHOWN = len("sha256:") + 12
_NOT_IN_FIELDS = "the record, the service URLs or the recipients"
"""The parts of a plan that its digest covers, but that no field of a change shows."""


class SavedChange(Struct, frozen=True):
    """A change of a saved plan. Changes are compared by digest; the other fields are used to describe differences."""

    address: str
    action: str
    digest: str
    request: Any = None
    before: Any = None
    after: Any = None


class SavedRecord(Struct, frozen=True):
    """The record that a saved plan was made from."""

    head: str = ""


class SavedPlan(Struct, frozen=True):
    """The parts of a saved plan that an apply checks. `plan --format json` prints all parts."""

    format_version: str
    digest: str
    selection: tuple[str, ...]
    changes: tuple[SavedChange, ...]
    record: SavedRecord = SavedRecord()


def load_plan(file: Path) -> SavedPlan:
    """Read a file that `plan --out` wrote. Raises SettingsError."""
    again = (Step("save a plan with", ("reconciler", "plan", "--out", "plan.json")),)
    try:
        saved = decode(file.read_bytes(), type=SavedPlan)
    except OSError as problem:
        what = f"cannot read the saved plan: {problem.strerror}"
        raise SettingsError(Message("plan-file-unreadable", what, str(file), again)) from None
    except (MsgspecError, UnicodeDecodeError):
        raise SettingsError(Message("plan-file-invalid", "not a saved plan", str(file), again)) from None
    if saved.format_version.partition(".")[0] != FORMAT.partition(".")[0]:
        what = f"saved by another version of reconciler (format {saved.format_version!r:.20})"
        raise SettingsError(Message("plan-file-other-version", what, str(file), again))
    return saved


def refuse_overwriting(file: Path) -> None:
    """Raise Refused for a file that has content and is not a saved plan. Raises OSError if it cannot be read."""
    try:
        if file.is_file() and (data := file.read_bytes()):
            decode(data, type=SavedPlan)
    except (MsgspecError, UnicodeDecodeError):
        what = "the file is not a saved plan, so it was not replaced"
        raise Refused(Message("plan-would-overwrite", what, f"--out {file}", (Step("use another file"),))) from None


def refuse_changed(plan: Plan, digest: str, saved: SavedPlan | None = None, file: Path | None = None) -> None:
    """Raise Refused unless the plan has the reviewed digest. The error lists the differences from `saved`, if given.

    Also raise Refused unless the requests in `saved`, which a person has reviewed, equal those of the plan.
    """
    if plan.digest == digest:
        if edited := _edited(plan, saved.changes if saved else ()):
            what = f"the saved plan was edited: its digest does not match the requests for {', '.join(edited)}"
            raise Refused(Message("plan-edited", what, str(file), (Step("save the plan again, and review it"),)))
        return
    review = Step("review the new plan", ("reconciler", "plan", *plan.options, *(("--out", str(file)) if file else ())))
    detail = () if saved is None else _differences(plan, saved)
    what = "the plan has changed since it was reviewed; nothing was sent"
    raise Refused(Message("plan-changed", what, digest[:_DIGEST_SHOWN], (*detail, review)))


def _edited(plan: Plan, shown: Iterable[SavedChange]) -> list[str]:
    """Return the addresses of the saved changes whose request is not the request that their digest stands for."""
    requests = {(str(change.address), change.digest): encode(request_json(change.request)) for change in plan.changes}
    return [each.address for each in shown if requests.get((each.address, each.digest)) != encode(each.request)]


def _differences(plan: Plan, saved: SavedPlan) -> tuple[Step, ...]:
    then = {(change.address, change.action): change for change in saved.changes}
    now = {(str(change.address), str(change.action)): change for change in plan.changes}
    both = (key for key in sorted(then.keys() & now.keys()) if then[key].digest != now[key].digest)
    words = [
        *(f"{action} {address}: no longer planned" for address, action in sorted(then.keys() - now.keys())),
        *(f"{action} {address}: not in the reviewed plan" for address, action in sorted(now.keys() - then.keys())),
        *(f"{key[1]} {key[0]}: changed: {_field_changes(then[key], now[key])}" for key in both),
    ]
    return tuple(map(Step, words)) or (Step(f"{_NOT_IN_FIELDS} have changed"),)


def _field_changes(then: SavedChange, now: Change) -> str:
    """Return a phrase that names the fields in which a change differs from the saved change."""
    was, wanted = then.after or then.request, now.after or now.request
    old = was if isinstance(was, dict) else {}
    new = {"eventCodes": list(wanted.codes), "webhookUrl": wanted.template} if wanted else {}
    differing = (name for name in new if old.get(name) != new[name])
    words = [f"{name} {encode(old.get(name)).decode()} -> {encode(new[name]).decode()}" for name in differing]
    return "; ".join(words) or _NOT_IN_FIELDS


def unreviewed_changes(
    plan: SavedPlan, reviews: Iterable[Sequence[SavedPlan]], contains: Callable[[str], bool]
) -> list[tuple[SavedChange, str]]:
    """Return the changes that no review has shown, each with the reason.

    `reviews` yields, for each review, the plans that it has shown. A review has shown a change if each of its plans
    with a change for the same address contains this change, and if at least one such plan was made from a head of this
    record.
    `contains(head)` is true if the record contains the head.
    """
    left = {change.digest: (change, "never shown") for change in plan.changes if change.action != Action.BLOCKED}
    remaining = iter(reviews)
    while left and (plans := next(remaining, None)) is not None:
        for digest, (change, reason) in list(left.items()):
            if why := _why_unreviewed(change, plans, contains, reason):
                left[digest] = (change, why)
            else:
                del left[digest]
    return list(left.values())


def _why_unreviewed(
    change: SavedChange, plans: Sequence[SavedPlan], contains: Callable[[str], bool], before: str
) -> str:
    """Return the reason why a review has not shown a change, or "" if the review has shown it.

    `plans` are the plans of the review. If none of them has a change for the address, the reason `before` is returned.
    """
    rows = [(plan.record.head, [row for row in plan.changes if row.address == change.address]) for plan in plans]
    about = [(head, shown) for head, shown in rows if shown]
    others = [shown for _, shown in about if change.digest not in [row.digest for row in shown]]
    if others:
        return f"shown with another {_differing_fields(change, others[0][0])}"
    if any(contains(head) for head, _ in about):
        return ""
    return "shown for a version of the record that this one does not contain" if about else before


def _differing_fields(change: SavedChange, shown: SavedChange) -> str:
    pairs = {
        "action": (change.action, shown.action),
        "request": (change.request, shown.request),
        "before": (change.before, shown.before),
        "after": (change.after, shown.after),
    }
    return ", ".join(name for name, (now, then) in pairs.items() if now != then) or "service, record or recipients"
