"""Text, for a terminal or a log. Every `Line` escapes what is in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from reconciler.model.plan import Action, Change, Plan, TargetPlan
from reconciler.model.record import Attempt, Record, Status
from reconciler.model.result import Applied, Done, Result
from reconciler.model.status import ObservedAttempt, Proof, TargetStatus, Unexplained
from reconciler.planning.reasons import BOTH_DELIVER, no_record
from reconciler.reports.destinations import deviations, recipients_line, service_line
from reconciler.reports.letters import KEEP_FIRST, keeping_lines, kept_lines, question_lines, removal_text
from reconciler.reports.line import Line, Row, Tone
from reconciler.reports.wording import (
    SIGNS,
    applied_summary,
    changes_left,
    in_words,
    listed,
    pending,
    plan_summary,
    resolve_advice,
    result_advice,
    secrets_missing,
    status_word,
    surplus_advice,
    validation_summary,
    withdrawn_advice,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from reconciler.mistake import Validation
    from reconciler.model.address import TargetName
    from reconciler.planning.evidence import Matches

_ACTION_TONES = {
    Action.CREATE: Tone.ADDED,
    Action.EXTEND: Tone.CHANGED,
    Action.REPLACE: Tone.CHANGED,
    Action.RESTORE: Tone.CHANGED,
    Action.RETIRE: Tone.REMOVED,
    Action.BLOCKED: Tone.ERROR,
}

_IS_EXPLAINED = {
    Action.CREATE: False,
    Action.EXTEND: False,  # its reason are the codes that it sends
    Action.REPLACE: True,
    Action.RESTORE: True,
    Action.RETIRE: True,
    Action.BLOCKED: True,
}
"""Whether the reasons of a change are shown: what it sends may say it all."""

_OUTCOME_TONES = {
    Done.CREATED: Tone.ADDED,
    Done.REJECTED: Tone.ERROR,
    Done.NOT_SENT: Tone.ERROR,
    Done.UNKNOWN: Tone.ERROR,
    Done.RESTORED: Tone.CHANGED,
    Done.RETIRED: Tone.REMOVED,
    Done.SKIPPED: Tone.WARNING,
}

_STATUS_TONES = {
    Status.PENDING: Tone.ERROR,
    Status.UNKNOWN: Tone.ERROR,
    Status.LIVE: Tone.PLAIN,
    Status.AWAITING_REMOVAL: Tone.FAINT,
    Status.GONE: Tone.FAINT,
}

_PROOF_TONES = {Proof.PROVEN: Tone.ADDED, Proof.SILENT: Tone.WARNING, Proof.NEVER_SEEN: Tone.PLAIN}


def plan_text(plan: Plan) -> list[Line]:
    """A plan, target by target; a target with nothing to do in a line, before the summary."""
    lines: list[Line] = []
    rest: list[Line] = []
    for target in (plan.targets[name] for name in sorted(plan.targets)):
        target_lines = _target_lines(target)
        there = "" if target.destination is None else service_line(target.destination)
        if target_lines:
            lines += [Line(target.name, Tone.HEADING), *([Line(f"  {there}", Tone.FAINT)] if there else [])]
            lines += [*target_lines, Line("")]
        elif there:
            rest.append(Line(f"{target.name}  {there}", Tone.FAINT))
    lines += [*rest, *([Line("")] if rest else [])]
    lines.append(Line(plan_summary(plan), Tone.HEADING if plan.changes else Tone.PLAIN))
    lines += [Line(f"  {text}", Tone.WARNING) for text in pending(plan)]
    lines += [Line(f"  warning: {text}", Tone.WARNING) for text in deviations(plan)]
    lines.append(Line(recipients_line(plan), Tone.FAINT))
    if plan.changes:
        lines.append(Line(f"Digest: {plan.digest}", Tone.FAINT))
    return lines


def _target_lines(target: TargetPlan) -> list[Line]:
    together = _message_lines(target.unresolved)
    restored = {attempt.id for attempt in target.restored}
    lines = [line for change in target.changes for line in _change_lines(change, restored, asked=bool(together))]
    lines += together
    lines += _surplus_lines(target)
    lines += [_awaiting_line(attempt) for attempt in target.to_remove]
    return lines


def _change_lines(change: Change, restored: Collection[str], *, asked: bool) -> list[Line]:
    """A change: why it is made, unless that is what is sent, what it sends, and what is left to the operator.

    `restored` are the ids of what the plan restores; `asked`: one message asks about all of the target.
    """
    from reconciler.reports.difference import delivery  # noqa: PLC0415 - a plan without changes does not need it

    tone = _ACTION_TONES[change.action]
    lines = [Line(f"  {SIGNS[change.action]} {change.address}  {change.action}", tone)]
    if _IS_EXPLAINED[change.action]:
        lines += [Line(f"      {reason}", Tone.FAINT) for reason in change.reasons]
    rows = delivery(change, restored)
    if change.action is Action.CREATE and change.request is not None:
        codes, url = ", ".join(change.request.codes), change.request.url
        lines += [Line(f"      eventCodes: {codes}"), Line(f"      webhookUrl: {url}")]
    else:
        lines += [Line(f"      {row}", tone) for row in rows.sent]
    lines += [Line(f"      {row}", Tone.WARNING) for row in rows.left]
    warnings = [warning for warning in change.warnings if warning != BOTH_DELIVER]  # what is left says it
    lines += [Line(f"      warning: {warning}", Tone.WARNING) for warning in warnings]
    lines += [line for attempt in change.restored for line in keeping_lines(attempt, "      ")]
    questions = () if asked else change.unresolved
    return lines + [line for attempt in questions for line in question_lines(attempt, "      ")]


def _message_lines(attempts: Iterable[Attempt]) -> list[Line]:
    """The one question about several of these attempts of a target, if there are several to ask about."""
    unknown = [attempt for attempt in attempts if attempt.unresolved]
    if len(unknown) <= 1:
        return []
    from reconciler.reports.questions import message_lines  # noqa: PLC0415 - needed only where something is unknown

    return message_lines(unknown, "  ")


def _surplus_lines(target: TargetPlan) -> list[Line]:
    return [Line(f"  warning: {surplus_advice(surplus)}", Tone.WARNING) for surplus in target.surplus]


def _awaiting_line(attempt: Attempt) -> Line:
    return Line(
        f"  awaiting removal: {attempt.address} (attempt {attempt.id}), {', '.join(attempt.codes)} to {attempt.url}",
        Tone.FAINT,
    )


def applied_text(applied: Applied) -> list[Line]:
    """The results of an apply: every address, what needs attention, and the counts.

    An unknown outcome that could not be recorded is to be recovered first, as its notice says, and resolved after that.
    """
    lines = [result_line(_without_cause(result, applied.problems)) for result in applied.results]
    unknown = [result for result in applied.results if result.outcome is Done.UNKNOWN and result.recorded]
    advice = [Line(f"  {result.address}: outcome unknown; {result_advice(result)}", Tone.ERROR) for result in unknown]
    if applied.unknown:
        from reconciler.reports.questions import questions_lines  # noqa: PLC0415 - needed only where it is so

        advice += questions_lines(applied.unknown, "  ")
    lines += [Line(""), *advice] if advice else []
    kept, removed = kept_lines(applied.restored), removal_text(applied.removal, pairs=applied.exchanged)
    if kept:
        lines += [Line(""), *kept]
    if removed:
        lines += [Line(""), *([Line(f"  {KEEP_FIRST}", Tone.WARNING)] if kept else []), *removed]
    if lines:
        lines.append(Line(""))
    lines.append(Line(applied_summary(applied), Tone.HEADING))
    return lines + [Line(f"  {text}", Tone.WARNING) for text in pending(applied)]


def _without_cause(result: Result, problems: Iterable[str]) -> Result:
    """The result without why the record could not be written: the notice of what is not recorded says it."""
    if result.detail is None or not any(problem in result.detail for problem in problems):
        return result
    return replace(result, detail="cannot write the state record")


def result_line(result: Result) -> Line:
    """One result, on one line."""
    status = "" if result.status is None else f" ({result.status})"
    detail = "" if result.detail is None else f": {result.detail}"
    text = f"  {SIGNS[result.action]} {result.address}  {in_words(result.outcome)}{status}{detail}"
    return Line(text, _OUTCOME_TONES[result.outcome])


_LIST = ("ADDRESS", "STATUS", "ATTEMPT", "LAST CHANGE", "EVENT CODES", "WEBHOOK URL")


def list_text(records: Iterable[Record]) -> list[Line]:
    """The subscriptions that exist, or may, by the record: `state list`."""
    return [_list_row(attempt) for attempt in listed(records)] or [Line("Nothing is in force.")]


def _list_row(attempt: Attempt) -> Row:
    status, codes = status_word(attempt), ", ".join(attempt.codes)
    return Row(
        f"  {attempt.address}  {status}  {codes} -> {attempt.url}  (attempt {attempt.id}, {attempt.at})",
        Tone.ERROR if attempt.unresolved else Tone.PLAIN,
        _LIST,
        (attempt.address, status, attempt.id, attempt.at, codes, attempt.url),
    )


def missing_text(targets: Iterable[TargetName]) -> list[Line]:
    """Targets without a record, as `state list` shows them."""
    return [Line(f"  {target}  {no_record(target)}", Tone.WARNING) for target in targets]


def validation_text(validation: Validation) -> list[Line]:
    """Whether the configuration is valid, after every mistake and warning."""
    lines = [Line(str(mistake), Tone.ERROR) for mistake in validation.mistakes]
    lines += [Line(f"warning: {warning}", Tone.WARNING) for warning in validation.warnings]
    return [*lines, Line(validation_summary(validation))]


def status_text(standings: Iterable[TargetStatus]) -> list[Line]:
    """Every target: what is in force, with the evidence for it, what needs attention, and how many changes are left."""
    lines: list[Line] = []
    for standing in standings:
        lines.append(Line(standing.name, Tone.HEADING))
        together = _message_lines(found.attempt for found in standing.attempts if not found.has_evidence)
        lines += [line for found in standing.attempts for line in _standing_lines(found, asked=bool(together))]
        lines += together
        lines += _surplus_lines(standing.plan)
        lines += [Line(f"  {withdrawn_advice(standing)}", Tone.WARNING)] if standing.withdrawn else []
        held = [known.attempt for known in standing.attempts]
        lines += removal_text(standing.plan.to_remove, held, standing.exchanged_of(standing.plan.to_remove))
        lines += [line for attempt in standing.plan.restored for line in keeping_lines(attempt, "  ")]
        lines += [Line(f"  {missing}", Tone.WARNING)] if (missing := secrets_missing(standing)) else []
        lines += [_left_line(standing), Line("")]
    return lines[:-1]


_STATUS = ("ADDRESS", "STATUS", "ATTEMPT", "WEBHOOK URL")


def _standing_lines(standing: ObservedAttempt, *, asked: bool) -> list[Line]:
    """An attempt, with the evidence for it and what to do; `asked`: one message asks about all of the target."""
    attempt, status = standing.attempt, status_word(standing.attempt)
    what = f"{attempt.address}  {status}  -> {attempt.url}  (attempt {attempt.id})"
    cells = (attempt.address, status, attempt.id, attempt.url)
    lines: list[Line] = [Row(f"  {what}", _STATUS_TONES[attempt.status], _STATUS, cells)]
    for code, heard in standing.evidence.items():
        when = "" if heard.at is None else f", last {heard.at}"
        lines.append(Line(f"      {code}  {heard.proof}{when}", _PROOF_TONES[heard.proof]))
    if attempt.unresolved:
        lines.append(Line(f"      {resolve_advice(standing)}", Tone.WARNING))
        lines += [] if asked or standing.has_evidence else question_lines(attempt, "      ")
    return lines


def _left_line(standing: TargetStatus) -> Line:
    plan = standing.plan
    done = standing.declared and standing.recorded and not (plan.changes or plan.awaiting_removal)
    return Line(f"  {changes_left(standing)}", Tone.ADDED if done else Tone.WARNING)


def observed_text(evidence: Matches) -> list[Line]:
    """The notifications received for each address, and those that match no recorded subscription."""
    lines = [
        Line(f"  {address}  {code}  last {at}", Tone.ADDED)
        for (address, _, code), at in sorted(evidence.received.items())
    ]
    return lines + [_unexplained_line(unexplained) for unexplained in evidence.unexplained] or [
        Line("No notifications.")
    ]


def _unexplained_line(unexplained: Unexplained) -> Line:
    often = "once" if unexplained.count == 1 else f"{unexplained.count} times"
    what = f"  warning: {unexplained.code} at {unexplained.where}, {often}, last {unexplained.last}"
    if unexplained.ambiguous:
        return Line(f"{what}: it matches several subscriptions: {', '.join(unexplained.ambiguous)}", Tone.WARNING)
    return Line(f"{what}: it matches no recorded subscription: an unmanaged subscription exists", Tone.ERROR)
