"""Builds the documents of `status`, `parity` and `removal list`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from msgspec.structs import replace

from reconciler.errors import Message, step
from reconciler.model.record import Status
from reconciler.model.status import Proof, View
from reconciler.record.gates import removal_command, settling
from reconciler.reports import document as doc
from reconciler.reports.apply import unresolved_alerts
from reconciler.reports.document import alerts
from reconciler.reports.letters import Purpose, letter, letters_by_target
from reconciler.reports.plan import (
    awaits_operator,
    blocked_alerts,
    differences,
    differing,
    matrix,
    settled,
    superseded_alerts,
    surplus_messages,
    twice,
    unrecovered,
)
from reconciler.reports.words import STATUS, ago, capital, counted, listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from reconciler.model.plan import Plan
    from reconciler.model.record import Attempt
    from reconciler.model.status import (
        Difference,
        ObservedAttempt,
        Pairs,
        Parity,
        ProjectStatus,
        Removals,
        Side,
        TargetStatus,
    )
    from reconciler.reports.plan import Cells


_HEAD = ("address", "status", "codes", "URL", "attempt")


def status_document(status: ProjectStatus) -> doc.Document:
    """Return the document of what is in force and of what needs a decision."""
    return doc.Document(
        "status",
        _verdict(status),
        doc.Tone.ADDED if _is_settled(status) else doc.Tone.WARNING,
        facts=(
            ("Targets", listed([target.name for target in status.targets], 8) or "none"),
            ("Record", f"{status.plan.place} ({counted(status.plan.entries, 'entry', 'entries')})"),
            ("Digest", status.plan.digest),
        ),
        alerts=(*blocked_alerts(status.plan), *unresolved_alerts(_unsettled(status), status.plan)),
        body=tuple(block for target in status.targets for block in _target(target)),
        summary=(
            *alerts((*unrecovered(status.plan), *surplus_messages(status.plan), *_doubts(status)), "Warning"),
            *superseded_alerts(status.plan.superseded),
            *(
                doc.Paragraph(text, doc.Tone.WARNING)
                for target in status.targets
                for text in _differing(target, status.now)
            ),
        ),
        next=doc.Commands(tuple(_next(status))) if any(_next(status)) else None,
        details=(doc.Details("Event codes by subscription and target", (_matrix(status),)),) if status.targets else (),
    )


def unresolved_of(status: ProjectStatus) -> list[Attempt]:
    """Return the attempts whose outcome is unknown, without the superseded ones."""
    every = (observed.attempt for target in status.targets for observed in target.attempts)
    return [attempt for attempt in every if attempt.blocks]


def _is_settled(status: ProjectStatus) -> bool:
    recorded_twice = any(target.recorded_twice or target.revived for target in status.targets)
    return settled(status.plan) and not (unresolved_of(status) or recorded_twice)


def _verdict(status: ProjectStatus) -> str:
    if _is_settled(status):
        matching = counted(status.plan.unchanged, "subscription matches", "subscriptions match")
        return f"No changes. {matching} the configuration."
    in_force = sum(observed.attempt.in_force for target in status.targets for observed in target.attempts)
    changes, unresolved = len(status.plan.changes), len(unresolved_of(status))
    words = [
        f"{counted(changes, 'change')} pending" if changes else "",
        counted(unresolved, "unresolved create") if unresolved else "",
        *differing(status.plan),
        "no create is possible" if status.plan.gates else "",
    ]
    rest = f" {capital(listed(filter(None, words)))}." if any(words) else ""
    return f"{counted(in_force, 'subscription')} in force.{rest}"


def _next(status: ProjectStatus) -> Iterator[doc.Todo]:
    options = status.plan.options
    if status.plan.changes:
        yield doc.Todo("To see the changes, run", (("reconciler", "plan", *options),))
    if awaits_operator(status.plan) or any(not attempt.in_flight(status.now) for attempt in unresolved_of(status)):
        yield doc.Todo("To see the message to the operator, run", (("reconciler", "removal", "list", *options),))


def _unsettled(status: ProjectStatus) -> list[Attempt]:
    """Return the unresolved attempts that the plan's reasons do not mention, because they block no change."""
    blocking = {attempt.id for change in status.plan.changes for attempt in change.blocking}
    return [attempt for attempt in unresolved_of(status) if attempt.id not in blocking]


def _doubts(status: ProjectStatus) -> Iterator[Message]:
    for target in status.targets:
        for attempt in target.revived:
            what = f"delivered at {attempt.received}, after its confirmed removal: it is in force again"
            yield Message("revived", what, f"{attempt.address} (attempt {attempt.id})")
        for attempt in target.cancelled:
            it = "it" if len(attempt.cancelled) == len(attempt.codes) else ", ".join(attempt.cancelled)
            what = f"the request to remove {it} was cancelled at {max(attempt.cancelled.values())}"
            confirm = step(
                "if the operator removed it anyway, run", *removal_command("confirm", attempt, attempt.cancelled)
            )
            yield Message("removal-cancelled", what, f"{attempt.address} (attempt {attempt.id})", (confirm,))
        if not target.declared:
            yield Message("target-undeclared", "not declared in config/: not planned", target.name)


def _differing(target: TargetStatus, now: float) -> Iterator[str]:
    yield from (twice(route, "delivered") for route in target.duplicates)
    yield from (twice(route, "recorded") for route in target.recorded_twice)
    for attempt in target.awaiting_removal:
        since = attempt.requested and f" since {ago(attempt.requested, now)}"
        yield f"{attempt.address}: removal awaited{since} (attempt {attempt.id})"


def _target(target: TargetStatus) -> Iterator[doc.Block]:
    yield doc.Heading(target.name)
    if not target.attempts:
        yield doc.Paragraph("Nothing is in force.", doc.Tone.FAINT)
        return
    tones = {Status.LIVE: doc.Tone.PLAIN, Status.AWAITING_REMOVAL: doc.Tone.WARNING}
    shown = tuple(tones.get(observed.attempt.status, doc.Tone.ERROR) for observed in target.attempts)
    yield doc.Table(_HEAD, tuple(map(_row, target.attempts)), shown)


def _row(observed: ObservedAttempt) -> tuple[str, ...]:
    attempt = observed.attempt
    word = "superseded" if attempt.superseded_by and attempt.unresolved else STATUS[attempt.status]
    return attempt.address, word, _codes(observed), attempt.url, attempt.id


def _codes(observed: ObservedAttempt) -> str:
    proofs = Counter(evidence.proof for evidence in observed.evidence.values())
    words = [f"{proofs[proof]} {proof}" for proof in Proof if proofs[proof]]
    codes = counted(len(observed.attempt.codes), "code")
    return f"{codes}: {', '.join(words)}" if words else codes


def _matrix(status: ProjectStatus) -> doc.Table:
    """Return a table of event codes by subscription and target, with the state of each."""
    cells: Cells = {}
    for target in status.targets:
        for observed in target.attempts:
            for code in observed.attempt.codes:
                evidence = observed.evidence.get(code)
                word = evidence.proof if evidence and observed.attempt.in_force else STATUS[observed.attempt.status]
                cells.setdefault((observed.attempt.address.name, code), {})[target.name] = str(word)
    return matrix(cells, [target.name for target in status.targets])


def removals_document(removals: Sequence[Removals], plan: Plan | None = None) -> doc.Document:
    """Return the document of the letters to each operator.

    With `plan`, it also names surplus codes whose removal was not requested, and desired codes whose removal was.
    """
    awaited = sum(len(target.awaiting) for target in removals)
    surplus = [message for message in surplus_messages(plan) if message.steps] if plan else []  # the others are told
    reasons = ((change.address, reason) for change in (plan.changes if plan else ()) for reason in change.reasons)
    desired = [replace(reason, where=where) for where, reason in reasons if reason.name == "removal-requested"]
    kept = sum(len(target.restored) + len(target.cancelled) for target in removals)
    unknown = [attempt for target in removals for attempt in target.unknown if attempt.blocks]
    superseded = [attempt for target in removals for attempt in target.unknown if not attempt.blocks]
    words = [
        f"{counted(awaited, 'removal')} awaited" if awaited else "",
        f"{counted(kept, 'subscription')} to keep" if kept else "",
        counted(len(unknown), "unresolved create") if unknown else "",
    ]
    return doc.Document(
        "removals",
        f"{listed(filter(None, words))}." if any(words) else "Nothing awaits removal.",
        doc.Tone.WARNING if any(words) else doc.Tone.ADDED,
        alerts=(
            *unresolved_alerts(unknown, plan, "Warning"),
            *alerts(map(_superseded, superseded), "Note"),
            *alerts(desired, "Warning"),
        ),
        body=tuple(block for target in removals for block in _letter_to(target)),
        summary=alerts(surplus, "Warning"),
    )


def _superseded(attempt: Attempt) -> Message:
    what = "sent again, and may exist too; the message below asks the operator about it"
    return Message("superseded", what, f"{attempt.address} (attempt {attempt.id})", settling(attempt))


def letter_to_delete(target: Removals) -> tuple[str, ...]:
    """Return the letter about everything to be removed from a target, or nothing if there is nothing to remove."""
    if not target.awaiting:
        return ()
    staying = {attempt.id: attempt for awaiting in target.awaiting for attempt in awaiting.staying}
    return letter([awaiting.attempt for awaiting in target.awaiting], Purpose.DELETE, list(staying.values()))


def _letter_to(target: Removals) -> Iterator[doc.Block]:
    if not (target.awaiting or target.restored or target.cancelled or target.unknown):
        return
    yield doc.Heading(target.target)
    yield from letters_by_target((*target.restored, *target.cancelled), Purpose.KEEP)
    if target.restored:
        yield doc.Paragraph("The next apply records that these stay.", doc.Tone.FAINT)
    if target.awaiting:
        since = min(awaiting.since for awaiting in target.awaiting)
        yield doc.Letter(f"{Purpose.DELETE} (first requested {since})", letter_to_delete(target))
        yield doc.Commands((doc.Todo("Once the operator has removed them, run", _confirmations(target)),))
    yield from letters_by_target(target.unknown, Purpose.ASK)


def _confirmations(target: Removals) -> tuple[tuple[str, ...], ...]:
    """Return the commands that confirm removals: one for all whole attempts, and one for each set of codes."""
    found: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for awaiting in target.awaiting:
        command = removal_command("confirm", awaiting.attempt, awaiting.codes)
        found.setdefault(command[6:], []).append(command)
    attempts = {codes: [word for words in commands for word in words[4:6]] for codes, commands in found.items()}
    where = {codes: words[0][3] if len(words) == 1 else f"{target.target}/*" for codes, words in found.items()}
    return tuple(("reconciler", "removal", "confirm", where[codes], *attempts[codes], *codes) for codes in found)


def parity_document(pairs: Pairs) -> doc.Document:
    """Return the document of a comparison: how the second target of each pair differs from the first."""
    unpaired = [
        doc.Paragraph(f"{left.target} has no counterpart: {left.counterpart} is not declared.", doc.Tone.WARNING)
        for left in pairs.unpaired
    ]
    waiting = sorted({address for parity in pairs.compared for address in parity.unapplied})
    leaving = sorted({address for parity in pairs.compared for address in parity.leaving})
    steps = []
    if waiting:
        steps.append(doc.Todo(f"To see the pending changes of {listed(waiting, 5)}, run", (("reconciler", "plan"),)))
    if leaving:
        commands = (("reconciler", "removal", "list"),)
        steps.append(doc.Todo(f"To see the awaited removals of {listed(leaving, 5)}, run", commands))
    return doc.Document(
        "parity",
        _parity_verdict(pairs),
        doc.Tone.ADDED if pairs.in_line else doc.Tone.WARNING,
        alerts=(*unpaired, *alerts(pairs.gates, "Blocked"), *alerts(pairs.foreign, "Warning")),
        body=tuple(block for parity in pairs.compared for block in _pair(parity, alone=len(pairs.compared) == 1)),
        next=doc.Commands(tuple(steps)) if steps else None,
        details=tuple(_declared(pairs)),
    )


def _parity_verdict(pairs: Pairs) -> str:
    if pairs.gates:
        return "Not in line: the record may not say what is in force."
    if pairs.foreign:
        return "Not in line: the settings name another service or account than the record."
    if len(pairs.compared) == 1 and not pairs.unpaired:
        (parity,) = pairs.compared
        names = {difference.name for difference in parity.differences}
        differ = f"differ in {counted(len(names), 'subscription')}" if names else "match"
        return f"{parity.a} and {parity.b} {differ}."
    matching = sum(parity.in_line for parity in pairs.compared)
    lacking = [f"{counted(len(pairs.unpaired), 'target')} without a counterpart"] if pairs.unpaired else []
    return f"{listed([f'{matching} of {len(pairs.compared)} pairs match', *lacking])}."


def _pair(parity: Parity, *, alone: bool) -> Iterator[doc.Block]:
    if parity.in_line:
        if not alone:  # otherwise the verdict already says so
            yield doc.Paragraph(f"{parity.a} and {parity.b} match.", doc.Tone.ADDED)
        return
    yield doc.Heading(f"From {parity.a} to {parity.b}")
    views: dict[tuple[str, str, tuple[doc.Field, ...]], list[View]] = {}
    for difference in parity.differences:  # a difference that is both desired and in force is shown once
        key = (difference.name, _only(parity, difference), _fields(difference))
        views.setdefault(key, []).append(difference.view)
    for (name, only, fields), seen in views.items():
        yield doc.Changed("~", name, f"{_how(parity, seen)}{only}", doc.Tone.CHANGED, fields)


def _only(parity: Parity, difference: Difference) -> str:
    if difference.view in (View.GATE, View.PROVEN) or (difference.a and difference.b):
        return ""
    return f" in {parity.a if difference.b is None else parity.b} only"


def _how(parity: Parity, views: list[View]) -> str:
    if View.PROVEN in views:
        return f"desired in {parity.b}, not yet proven in {parity.a}"
    if View.GATE in views:
        return f"desired in {parity.b}, not fully in force in {parity.a}"
    return " and ".join(views)


def _fields(difference: Difference) -> tuple[doc.Field, ...]:
    if difference.view is View.PROVEN:
        return tuple(
            doc.Field(code, after=f"first observed {at}" if at else "never observed")
            for code, at in sorted(difference.unproven.items())
        )
    return differences(_side(difference.a), _side(difference.b))


def _side(side: Side | None) -> Mapping[str, object]:
    if side is None:
        return {}
    return {"eventCodes": set(side.codes), **({"webhookUrl": side.written} if side.written else {})}


def _declared(pairs: Pairs) -> Iterator[doc.Details]:
    ignored = [
        (f"{parity.b}/{difference.name}", exception.reason)
        for parity in pairs.compared
        for difference, exception in parity.ignored
    ]
    if ignored:
        yield doc.Details("Declared exceptions", (doc.Facts(tuple(ignored)),))
    if pairs.unused:
        unused = tuple((exception.address, f"declared at {exception.place}") for exception in pairs.unused)
        yield doc.Details("Declared exceptions that are not needed", (doc.Facts(unused),))
