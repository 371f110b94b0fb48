"""Builds the document of an apply: first the problems that need attention, then every result, then the next steps."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from reconciler.errors import Message, step
from reconciler.model.plan import Action, Block, Done, Verdict
from reconciler.planning.reasons import unresolved
from reconciler.record.gates import removal_options, secret_command
from reconciler.reports.document import Commands, Document, Letter, Paragraph, Table, Todo, Tone, alerts
from reconciler.reports.letters import Purpose, letter, letters_by_target, one_line
from reconciler.reports.plan import describe_differences, superseded_alerts, verdict
from reconciler.reports.words import SIGNS, capital, counted, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from reconciler.model.plan import Applied, Plan, Result
    from reconciler.model.record import Attempt
    from reconciler.reports.document import Alert

_WORDS = ("created", "rejected", "not sent", "outcome unknown", "restored", "removal requested", "skipped")
WORDS = dict(zip(Done, _WORDS, strict=True))
_SEVERAL = {Done.REQUESTED: "removals requested"}
TONES = {Done.CREATED: Tone.ADDED, Done.RESTORED: Tone.CHANGED, Done.REQUESTED: Tone.REMOVED}
"""WORDS maps each outcome to its name. TONES maps the outcomes that are not errors to their tones."""
_ELSEWHERE = "already done by another run"
_COLUMNS = ("", "address", "outcome", "HTTP", "attempt")


def apply_document(applied: Applied) -> Document:
    """Return the document of an apply."""
    elsewhere, waiting = _done_elsewhere(applied), _waiting(applied)
    rows = tuple(_row(result, _ELSEWHERE if result in elsewhere else "") for result in applied.results)
    fine = (*elsewhere, *waiting)
    tones = (Tone.PLAIN if result in fine else TONES.get(result.outcome, Tone.ERROR) for result in applied.results)
    table = Table(_COLUMNS, rows, tuple(tones))
    noted = superseded_alerts(applied.left.superseded) if applied.left else ()
    return Document(
        "apply",
        _verdict(applied),
        _tone(applied),
        alerts=(
            *alerts(_problems(applied, fine)),
            *alerts(_incomplete(applied), "Warning"),
            *unresolved_alerts(applied.unresolved, applied.left),
            *alerts((_problem(result, applied) for result in waiting), "Blocked"),
            *alerts(applied.messages),
        ),
        body=(*([table] if rows else []), *_letters(applied), *noted),
        summary=tuple(Paragraph(text, Tone.WARNING) for text in _left(applied)),
        next=Commands(following) if (following := tuple(_next(applied))) else None,
    )


def removal_letters(applied: Applied) -> list[tuple[Attempt, str]]:
    """Return each attempt whose removal was requested, with the letter about it as one line of text."""
    return [(attempt, one_line(letter([attempt], Purpose.DELETE))) for attempt in applied.removal]


def result_row(result: Result) -> str:
    """Return a result as one line of text for progress output and logs."""
    return " ".join(filter(None, _row(result)[:4]))


def _row(result: Result, word: str = "") -> tuple[str, ...]:
    status = "" if result.status is None else str(result.status)
    return SIGNS[result.action], result.address, word or WORDS[result.outcome], status, result.attempt or ""


def _verdict(applied: Applied) -> str:
    elsewhere = _done_elsewhere(applied)
    counts = Counter(result.outcome for result in applied.results if result not in elsewhere)
    unknown = max(counts.pop(Done.UNKNOWN, 0), len(applied.unresolved))
    words = [
        counted(counts[outcome], WORDS[outcome], _SEVERAL.get(outcome, WORDS[outcome]))
        for outcome in Done
        if counts[outcome]
    ]
    words += [f"{len(elsewhere)} {_ELSEWHERE}"] if elsewhere else []
    nothing = not elsewhere and set(counts) <= {Done.REJECTED, Done.NOT_SENT, Done.SKIPPED}
    first = "Interrupted" if applied.signal else "Nothing applied" if nothing else "Applied"
    done = f"{first}: {', '.join(words)}." if words else "Interrupted." if applied.signal else ""
    lost = sum(not result.recorded for result in applied.results)
    leads = [f"{counted(unknown, 'outcome')} unknown"] if unknown else []
    leads += [f"{lost} of {counted(len(applied.results), 'outcome')} not saved in the record"] if lost else []
    lead = f"{capital(listed(leads) or 'a create is unresolved')}{'' if applied.signal else ' (exit 3)'}."
    lead = lead if applied.verdict is Verdict.UNRESOLVED else ""
    if lead or done:
        return f"{lead} {done}".strip()
    return verdict(applied.left) if applied.left else "Nothing to apply."


def _tone(applied: Applied) -> Tone:
    outcomes = {result.outcome for result in applied.results}
    if applied.verdict is Verdict.UNRESOLVED or outcomes & {Done.REJECTED, Done.NOT_SENT, Done.UNKNOWN}:
        return Tone.ERROR
    return Tone.WARNING if _is_unfinished(applied) or applied.signal else Tone.ADDED


def _done_elsewhere(applied: Applied) -> list[Result]:
    """Return the skipped results at addresses where nothing is left to do."""
    if applied.left is None:
        return []
    unfinished = {change.address for change in applied.left.changes}
    skipped = (result for result in applied.results if result.outcome is Done.SKIPPED)
    return [result for result in skipped if result.address not in unfinished]


def _is_unfinished(applied: Applied) -> bool:
    """True if part of the plan was rejected, not sent or skipped, and still has to be done."""
    outcomes = Counter(result.outcome for result in applied.results)
    skipped = outcomes[Done.SKIPPED] - len(_done_elsewhere(applied))
    return bool(outcomes[Done.REJECTED] or outcomes[Done.NOT_SENT] or skipped)


def _waiting(applied: Applied) -> list[Result]:
    """Return the results of changes that are blocked only until a requested removal is done; these are not failures."""
    patient = applied.left.patient if applied.left else ()
    blocked = (result for result in applied.results if result.action is Action.BLOCKED and result.detail)
    return [result for result in blocked if result.outcome is Done.SKIPPED and result.address in patient]


def _problems(applied: Applied, passed_over: Sequence[Result]) -> Iterator[Message]:
    """Yield a message about each change that was not carried out, except for the results in `passed_over`."""
    said = {message.what for message in applied.messages}
    settled_below = {attempt.address for attempt in applied.unresolved}
    for result in applied.results:
        if result.outcome not in (Done.REJECTED, Done.NOT_SENT, Done.SKIPPED) or result in passed_over:
            continue
        if result.action is Action.BLOCKED and result.address in settled_below:
            continue
        if result.detail and result.detail not in said:
            yield _problem(result, applied)


def _incomplete(applied: Applied) -> Iterator[Message]:
    """Yield a warning about each create whose response is incomplete or could not be saved."""
    for result in applied.results:
        if result.outcome is Done.CREATED and result.detail:
            command = secret_command(result.address, result.attempt or "")
            ask = step("ask the operator for its secret, then run", *command)
            yield Message("response-lost", result.detail, result.address, (ask,))


def _problem(result: Result, applied: Applied) -> Message:
    """Return a message that says why a change was not carried out, with the next steps from the remaining plan."""
    left = applied.left.changes if applied.left else ()
    reasons = (reason for change in left if change.address == result.address for reason in change.reasons)
    steps = next((reason.steps for reason in reasons if reason.what == result.detail), ())
    if result.outcome is Done.REJECTED and result.status == 409:
        command = ("reconciler", "state", "import", result.address)
        steps = (step("if the subscription exists already, record it with", *command),)
    if result.outcome is Done.REJECTED and result.status == 429:
        steps = (step("nothing to do: the next apply tries again"),)
    return Message(f"result-{result.outcome}", f"{WORDS[result.outcome]}: {result.detail}", result.address, steps)


def unresolved_alerts(
    attempts: Iterable[Attempt], plan: Plan | None, label: str = "Error", now: float = 0.0
) -> tuple[Alert, ...]:
    """Return alerts about unknown outcomes. The reasons come from the plan, which takes notifications into account.

    For an attempt that the next apply sends again, the alert is only a note.
    """
    messages = [_in_plan(attempt, plan) or unresolved(attempt, {}, now) for attempt in attempts]
    notes = [message for message in messages if message.name == "sent-again-later"]
    return (*alerts((message for message in messages if message not in notes), label), *alerts(notes, "Note"))


def to_ask(attempts: Iterable[Attempt], plan: Plan | None) -> list[Attempt]:
    """Return the attempts that the operator must look up because neither the next apply nor a command resolves them."""
    said = [(attempt, _in_plan(attempt, plan)) for attempt in attempts]
    return [attempt for attempt, message in said if message is None or message.name in ("unresolved", "in-flight")]


def _in_plan(attempt: Attempt, plan: Plan | None) -> Message | None:
    """Return the plan's message about an unresolved attempt, or None if there is no such message."""
    for change in plan.changes if plan else ():
        blocking = [blocker.id for blocker in change.blocking]
        if change.action is Action.RETRY and attempt.id in change.concerns:
            what = "outcome unknown; nothing to do: the next apply sends it again"
            return Message("sent-again-later", what, attempt.address)
        is_open = change.block in (Block.UNRESOLVED, Block.IN_FLIGHT) and change.address == attempt.address
        if is_open and attempt.id in blocking:
            return change.reasons[blocking.index(attempt.id)]
    return None


def _letters(applied: Applied) -> Iterator[Letter]:
    yield from letters_by_target(applied.restored, Purpose.KEEP)
    yield from letters_by_target(applied.removal, Purpose.DELETE)
    yield from letters_by_target(to_ask(applied.unresolved, applied.left), Purpose.ASK)


def confirm_command(attempts: Sequence[Attempt], codes: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the words of the command that confirms the removal of attempts on one target.

    With `codes`, the command confirms only the removal of these codes.
    """
    first, *others = {attempt.address for attempt in attempts}
    where = f"{first.target}/*" if others else first
    return "reconciler", "removal", "confirm", where, *removal_options([attempt.id for attempt in attempts], codes)


def _left(applied: Applied) -> Sequence[str]:
    if applied.left is None:
        return ("The record could not be read at the end: what is left is not known.",)
    return [f"{capital(word)}." for word in describe_differences(applied.left)] if applied.results else []


def _next(applied: Applied) -> Iterator[Todo]:
    if applied.removal:
        targets: dict[str, list[Attempt]] = {}
        for attempt in sorted(applied.removal, key=lambda attempt: (attempt.address, attempt.id)):
            targets.setdefault(attempt.address.target, []).append(attempt)
        yield Todo("Once the operator has deleted them, run", tuple(map(confirm_command, targets.values())))
    if _is_unfinished(applied) or applied.signal:
        yield Todo("To see what is left, run", (("reconciler", "plan"),))
    elif applied.results and applied.verdict is not Verdict.UNRESOLVED:
        yield Todo("To see what is in force, run", (("reconciler", "status"),))
