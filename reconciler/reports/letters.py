"""The letters to the operator, who alone can see and delete subscriptions, and what to run once they are answered.

Those in lines of text are at the end; every `Line` escapes what is in it.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from reconciler.model.clock import stamp
from reconciler.model.outcome import Outcome
from reconciler.model.url import normal_url
from reconciler.reports.line import Line, Tone
from reconciler.reports.wording import counted, removals_summary

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reconciler.model.record import Attempt
    from reconciler.model.removal import AwaitingRemoval, RemovalRequest

_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))


def removal_request(attempt: Attempt) -> str:
    """The request to the operator, who alone can delete a subscription, as one line."""
    return f"Please delete the webhook subscription of {_described(attempt)}."


def _described(attempt: Attempt) -> str:
    """All that is known of it by which the operator can find it."""
    return f"{attempt.address.target} that delivers {', '.join(attempt.codes)} to {attempt.url}, {_known(attempt)}"


def _known(attempt: Attempt) -> str:
    """By what it differs from others with the same codes and URL: when it was created, and its ids."""
    ids = ", ".join(f"{name} {value}" for name, value in sorted(attempt.fields.items()) if name.lower().endswith("id"))
    return f"{_created_or_imported(attempt)}{f' ({ids})' if ids else ''}"


def _created_or_imported(attempt: Attempt) -> str:
    """When it was created; for an import, or a create whose answer was lost, only what is known of that."""
    if not attempt.settled_by:
        return f"imported on {attempt.since} (created manually, date unknown)"
    return f"{'created' if attempt.outcome is Outcome.CREATED else 'requested'} {attempt.since}"


def after_deletion(attempt: Attempt) -> str:
    """What to run once the operator has deleted the subscription."""
    return f"after it is deleted, run: reconciler state removed {attempt.address} --attempt {attempt.id}"


def keeping_request(attempt: Attempt) -> str:
    """The request to the operator to keep what awaits removal and is wanted again, as one line."""
    return (
        f"Please do not delete the webhook subscription of {_described(attempt)}: we still need it, and our request"
        f" of {attempt.at} to delete it is withdrawn."
    )


def after_keeping(attempt: Attempt) -> str:
    """What to run if the operator has deleted a subscription that an apply has restored."""
    return (
        f"if it is already deleted, run: reconciler state removed {attempt.address} --attempt {attempt.id} --force;"
        " the next apply then creates it again"
    )


def only_operator_knows(attempt: Attempt) -> bool:
    """Whether nothing here shows what became of a create of unknown outcome."""
    return attempt.unresolved and not (attempt.recovery_file or attempt.answered or attempt.received)


def created_when(attempt: Attempt) -> str:
    """When an attempt of unknown outcome has created its subscription, if it has."""
    since, until = attempt.since, attempt.settled_by
    return f"{f'between {since} and {stamp(until)}' if until else f'since {since}'} (UTC)"


def existence_question(attempt: Attempt) -> str:
    """The question to the operator whether a create of unknown outcome has created a subscription, as one line."""
    return (
        f"Does a webhook subscription of {attempt.address.target} exist that delivers {', '.join(attempt.codes)} to"
        f" {attempt.url}, created {created_when(attempt)}?"
    )


def removal_message(request: RemovalRequest) -> list[str]:
    """The message for one target, line by line, ready to be sent."""
    count = len(request.awaiting)
    what = "this webhook subscription" if count == 1 else f"these {count} webhook subscriptions"
    lines = [f"Please delete {what} of {request.target}:"]
    for number, awaiting in enumerate(request.awaiting, 1):
        first, *rest = _awaiting_lines(awaiting, request.at)
        lines += ["", f"{number}. {first}", *(f"   {line}" for line in rest)]
    return lines


def removed_command(request: RemovalRequest) -> str:
    """The command that records that all of the message was deleted, and nothing that was requested since."""
    attempts = " ".join(f"--attempt {awaiting.attempt.id}" for awaiting in request.awaiting)
    return f"reconciler state removed -t {request.target} {attempts}"


def _awaiting_lines(awaiting: AwaitingRemoval, now: str) -> list[str]:
    attempt = awaiting.attempt
    ids = [f"{name}: {value}" for name, value in sorted(attempt.fields.items()) if name.lower().endswith("id")]
    return [
        f"webhook URL: {attempt.url}",
        f"event codes: {', '.join(attempt.codes)}",
        *(ids or ["id: not known, since the response to its create is not recorded"]),
        _created_or_imported(attempt),
        f"removal requested {attempt.at}{_age(attempt.at, now)}",
        *_until_then(awaiting),
    ]


def _until_then(awaiting: AwaitingRemoval) -> list[str]:
    """What is delivered until the operator has deleted it, and what must not be mistaken for it."""
    lines = []
    for urls in sorted(set(awaiting.elsewhere.values())):
        codes = [code for code, found in awaiting.elsewhere.items() if found == urls]
        lines.append(f"until it is deleted, delivered twice: {', '.join(codes)} ({_also(awaiting, urls)})")
    here = [code for code in awaiting.attempt.codes if code not in awaiting.elsewhere]
    if here:
        lines.append(f"until it is deleted, still delivered: {', '.join(here)}")
    return lines + [f"please keep the other one with this URL: {_known(other)}" for other in awaiting.staying]


def _also(awaiting: AwaitingRemoval, urls: Iterable[str]) -> str:
    """Where others deliver codes of it too: to its own URL, to others."""
    own = normal_url(awaiting.attempt.url)
    places = ["by another subscription with this URL"] if any(normal_url(url) == own for url in urls) else []
    others = [url for url in urls if normal_url(url) != own]
    return ", and ".join([*places, *([f"also to {', '.join(others)}"] if others else [])])


def _age(at: str, now: str) -> str:
    """How long before `now` a time was, in parentheses and the largest unit that fits; "" for what is no time.

    Clocks may differ a little, and a journal may say anything.
    """
    try:
        seconds = (datetime.fromisoformat(now) - datetime.fromisoformat(at)).total_seconds()
    except (ValueError, TypeError):
        return ""
    for size, unit in _UNITS:
        if seconds >= size:
            return f" ({counted(int(seconds // size), unit)} ago)"
    return " (just now)"


def removal_text(attempts: Iterable[Attempt]) -> list[Line]:
    """The requests to the operator, and what to run after each was met."""
    lines = []
    for attempt in attempts:
        lines += [
            Line(f"  Send to the operator, for {attempt.address} (attempt {attempt.id}):", Tone.HEADING),
            Line(f"    {removal_request(attempt)}"),
            Line(f"    {after_deletion(attempt)}", Tone.FAINT),
        ]
    return lines


def removals_text(requests: Sequence[RemovalRequest]) -> list[Line]:
    """The messages to the operator, and what to run after the deletion."""
    lines: list[Line] = []
    for request in requests:
        lines += [Line(f"Send to the operator of {request.target}:", Tone.HEADING), Line("")]
        lines += [Line(f"  {line}" if line else "") for line in removal_message(request)]
        lines += [Line(""), Line(f"After they are deleted, run: {removed_command(request)}", Tone.FAINT), Line("")]
    return [*lines, Line(removals_summary(requests), Tone.HEADING if requests else Tone.PLAIN)]


def keeping_lines(attempt: Attempt, indent: str) -> list[Line]:
    """The request to keep what awaits removal and is wanted again."""
    return [
        Line(f"{indent}Send to the operator, for {attempt.address} (attempt {attempt.id}):", Tone.HEADING),
        Line(f"{indent}  {keeping_request(attempt)}"),
    ]


def question_lines(attempt: Attempt, indent: str, *, named: bool = False) -> list[Line]:
    """The question to the operator about a create of unknown outcome, if nobody else knows; `named`: with its name."""
    if not only_operator_knows(attempt):
        return []
    about = f", about {attempt.address} (attempt {attempt.id})" if named else ""
    return [
        Line(f"{indent}Ask the operator{about}:", Tone.HEADING),
        Line(f"{indent}  {existence_question(attempt)}"),
    ]


def kept_lines(attempts: Iterable[Attempt]) -> list[Line]:
    """The requests to keep what was restored, and what to run where they come too late."""
    lines = []
    for attempt in attempts:
        lines += [*keeping_lines(attempt, "  "), Line(f"    {after_keeping(attempt)}", Tone.FAINT)]
    return lines
