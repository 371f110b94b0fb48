"""`plan`: the differences between `config/` and the record, and the file that a plan is saved in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import MsgspecError, Struct
from msgspec.json import decode, encode

from reconciler.errors import Message, Refused, SettingsError, Step
from reconciler.model.address import Selection
from reconciler.model.plan import SENDS, Action
from reconciler.operations.recovery_file import unrecovered
from reconciler.planning.planner import plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from reconciler.model.plan import Change, Plan
    from reconciler.operations.project import Project
    from reconciler.record.journal import Reading


class Planned(Struct, frozen=True):
    """A plan and the reading it was made from. `selection` and `allow_empty` are kept so that it can be made again."""

    plan: Plan
    reading: Reading
    selection: Selection
    allow_empty: bool = False


class SavedChange(Struct, frozen=True):
    """A change of a saved plan. It is compared by its digest; the other fields describe the differences."""

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
    """The parts of a saved plan that bind an apply; `plan --format json` prints the whole plan."""

    format_version: str
    digest: str
    selection: tuple[str, ...]
    changes: tuple[SavedChange, ...]
    record: SavedRecord = SavedRecord()


def make_plan(project: Project, patterns: tuple[str, ...] = (), *, allow_empty: bool = False) -> Planned:
    """Read `config/` and the record, and make a plan. Raises ReconcilerError."""
    selection = Selection.of(patterns)
    reading = project.journal.read()
    return Planned(replan(project, selection, reading, allow_empty=allow_empty), reading, selection, allow_empty)


def replan(project: Project, selection: Selection, reading: Reading, *, allow_empty: bool = False) -> Plan:
    """Make a plan from a reading. Raises SelectionError and Refused."""
    return plan(
        project.desired,
        reading.record,
        reading.standing,
        selection,
        now=project.now(),
        accounts=project.accounts(),
        unrecovered=unrecovered(project, reading) if project.recovery_files else None,
        allow_empty=allow_empty,
    )


def plaintext_refusal(project: Project, plan: Plan) -> Message | None:
    """Return why this machine cannot keep the responses to a plan's creates, or None if it can.

    Without recipients, responses are kept in files on this machine. The disk of a CI runner is lost with its job, and
    other machines that read the same record do not have these files.
    """
    if plan.recipients or not (project.in_ci or project.journal.store.path is None):
        return None
    if not any(change.action in SENDS for change in plan.changes):
        return None
    steps = (
        Step("encrypt them: add `recipients` to config/", ("reconciler", "init", "--age-key")),
        Step(
            "or allow unencrypted responses on this disk",
            ("reconciler", "apply", *plan.options, "--allow-plaintext-responses"),
        ),
    )
    what = "create responses, which may hold the only copy of a secret, would be kept unencrypted on this machine"
    return Message("plaintext-responses", what, "recipients", steps)


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
    if saved.format_version.partition(".")[0] != "2":
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


def has_work(plan: Plan) -> bool:
    """True if an apply of the plan would do anything; blocked changes do not count."""
    return any(change.action is not Action.BLOCKED for change in plan.changes)


def refuse_changed(plan: Plan, digest: str, saved: SavedPlan | None = None) -> None:
    """Raise Refused, with the differences, unless the plan has the reviewed digest."""
    if plan.digest == digest:
        return
    review = Step("review the new plan", ("reconciler", "plan", *plan.options))
    detail = () if saved is None else _differences(plan, saved)
    what = "the plan has changed since it was reviewed; nothing was sent"
    raise Refused(Message("plan-changed", what, digest[:19], (*detail, review)))


def _differences(plan: Plan, saved: SavedPlan) -> tuple[Step, ...]:
    then = {(change.address, change.action): change for change in saved.changes}
    now = {(str(change.address), str(change.action)): change for change in plan.changes}
    both = (key for key in sorted(then.keys() & now.keys()) if then[key].digest != now[key].digest)
    words = [
        *(f"{action} {address}: no longer planned" for address, action in sorted(then.keys() - now.keys())),
        *(f"{action} {address}: not in the reviewed plan" for address, action in sorted(now.keys() - then.keys())),
        *(f"{key[1]} {key[0]}: changed: {_changed(then[key], now[key])}" for key in both),
    ]
    return tuple(map(Step, words)) or (Step("the record, the service URLs or the recipients have changed"),)


def _changed(then: SavedChange, now: Change) -> str:
    """Return, in words, which fields of a change differ from those that were saved."""
    was, wanted = then.after or then.request, now.after or now.request
    old = was if isinstance(was, dict) else {}
    new = {"eventCodes": list(wanted.codes), "webhookUrl": wanted.template} if wanted else {}
    differing = (name for name in new if old.get(name) != new[name])
    words = [f"{name} {encode(old.get(name)).decode()} -> {encode(new[name]).decode()}" for name in differing]
    return "; ".join(words) or "the record, the service URLs or the recipients"


def unshown(
    plan: SavedPlan, reviews: Iterable[Sequence[SavedPlan]], contains: Callable[[str], bool]
) -> list[tuple[SavedChange, str]]:
    """Return the changes that no review has shown, each with the reason.

    `reviews` yields the plans that each review has shown. A change was shown if one of these plans has its digest and
    no plan of that review has another change for its address. `contains` is true for a head that the record contains;
    a plan made from any other head has shown nothing.
    """
    left = {change.digest: (change, "never shown") for change in plan.changes if change.action != Action.BLOCKED}
    remaining = iter(reviews)
    while left and (plans := next(remaining, None)) is not None:
        for digest, (change, _) in list(left.items()):
            rows = [[row for row in shown.changes if row.address == change.address] for shown in plans]
            about = [(shown.record.head, changed) for shown, changed in zip(plans, rows, strict=True) if changed]
            others = [changed for _, changed in about if digest not in [row.digest for row in changed]]
            if others:
                left[digest] = (change, f"shown with another {_unlike(change, others[0][0])}")
            elif any(contains(head) for head, _ in about):
                del left[digest]
            elif about:
                left[digest] = (change, "shown on a record that this one does not contain")
    return list(left.values())


def _unlike(change: SavedChange, shown: SavedChange) -> str:
    pairs = {
        "action": (change.action, shown.action),
        "request": (change.request, shown.request),
        "before": (change.before, shown.before),
        "after": (change.after, shown.after),
    }
    return ", ".join(name for name, (now, then) in pairs.items() if now != then) or "service, record or recipients"
