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

_DELETED = " unless it was deleted"
_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))


def removal_request(attempt: Attempt, held: Iterable[Attempt] = ()) -> str:
    """The request to the operator, who alone can delete a subscription, as one line.

    It names the one to keep where of `held`, what its target has, another delivers the same to the same URL.
    """
    if not held:
        return f"Please delete the webhook subscription of {_described(attempt)}."
    from reconciler.planning.removals import staying_beside  # noqa: PLC0415 - most plans request no removal

    keep = "".join(f" {_keep(other, 'Please')}." for other in staying_beside(attempt, held))
    return f"Please delete the webhook subscription of {_described(attempt)}.{keep}"


def _keep(other: Attempt, please: str = "please") -> str:
    return f"{please} keep the other one with this URL: {_known(other)}"


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
        return f"imported on {attempt.since}, date of creation unknown"
    if attempt.outcome is Outcome.CREATED:
        return f"created {attempt.since}"
    return f"create sent {attempt.since}, answer lost"


def after_deletion(attempt: Attempt) -> str:
    """What to run once the operator has deleted the subscription."""
    return f"after it is deleted, run: reconciler state removed {attempt.address} --attempt {attempt.id}"


def keeping_request(attempt: Attempt) -> str:
    """The request to the operator to keep what awaits removal and is wanted again, as one line."""
    return (
        f"Please do not delete the webhook subscription of {_described(attempt)}: we still need it, and our request"
        f" of {attempt.requested if attempt.withdrawn else attempt.at} to delete it is withdrawn."
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
    count = len(request.to_delete)
    what = "this webhook subscription" if count == 1 else f"these {count} webhook subscriptions"
    lines = [f"Please delete {what} of {request.target}:"]
    for number, awaiting in enumerate(request.to_delete, 1):
        first, *rest = _awaiting_lines(awaiting, request.at)
        lines += ["", f"{number}. {first}", *(f"   {line}" for line in rest)]
    return lines


def removed_command(request: RemovalRequest) -> str:
    """The command that records that all of the message was deleted, and nothing that was requested since."""
    attempts = " ".join(f"--attempt {awaiting.attempt.id}" for awaiting in request.to_delete)
    return f"reconciler state removed -t {request.target} {attempts}"


def wanted_again(request: RemovalRequest) -> list[str]:
    """What the message leaves out, since `config/` wants it again, one line each."""
    return [
        f"{attempt.address} (attempt {attempt.id}) is in config/ again: not in this message; to restore it,"
        f" run: reconciler apply -t {request.target}"
        for attempt in request.to_restore
    ]


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
    places = {
        code: tuple((url, (code, url) in awaiting.doubtful) for url in urls)
        for code, urls in awaiting.elsewhere.items()
    }
    for found in sorted(set(places.values())):
        codes = [code for code, place in places.items() if place == found]
        lines.append(f"until it is deleted, delivered twice: {', '.join(codes)} ({_also(awaiting, found)})")
    here = [code for code in awaiting.attempt.codes if code not in awaiting.elsewhere]
    if here:
        lines.append(f"until it is deleted, still delivered: {', '.join(here)}")
    return lines + [_keep(other) for other in awaiting.staying]


def _also(awaiting: AwaitingRemoval, places_found: Iterable[tuple[str, bool]]) -> str:
    """Where others deliver codes of it too, to its own URL and to others, each with whether that is in doubt."""
    own = normal_url(awaiting.attempt.url)
    here = [doubtful for url, doubtful in places_found if normal_url(url) == own]
    places = [f"by another subscription with this URL{_DELETED if all(here) else ''}"] if here else []
    others = [f"{url}{_DELETED if doubtful else ''}" for url, doubtful in places_found if normal_url(url) != own]
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


def removal_text(attempts: Iterable[Attempt], held: Sequence[Attempt] = ()) -> list[Line]:
    """The requests to the operator, and what to run after each was met; `held` as for `removal_request`."""
    lines = []
    for attempt in attempts:
        lines += [
            Line(f"  Send to the operator, for {attempt.address} (attempt {attempt.id}):", Tone.HEADING),
            Line(f"    {removal_request(attempt, held)}"),
            Line(f"    {after_deletion(attempt)}", Tone.FAINT),
        ]
    return lines


def removals_text(requests: Sequence[RemovalRequest]) -> list[Line]:
    """The messages to the operator, and what to run after the deletion."""
    lines = [line for request in requests for line in withdrawn_lines(request.withdrawn)]
    for request in requests:
        if request.to_delete:
            lines += [Line(f"Send to the operator of {request.target}:", Tone.HEADING), Line("")]
            lines += [Line(f"  {line}" if line else "") for line in removal_message(request)]
            lines += [Line(""), Line(f"After they are deleted, run: {removed_command(request)}", Tone.FAINT), Line("")]
        if request.to_restore:
            lines += [*(Line(line, Tone.WARNING) for line in wanted_again(request)), Line("")]
    return [*lines, Line(removals_summary(requests), Tone.HEADING if requests else Tone.PLAIN)]


def withdrawn_title(attempt: Attempt) -> str:
    """What to ask first of a subscription that the operator may have deleted before the request was withdrawn."""
    return (
        f"Withdrawn {attempt.withdrawn}, {attempt.address} (attempt {attempt.id}): ask the operator whether it still"
        " exists before anything else is deleted"
    )


def withdrawn_lines(attempts: Iterable[Attempt]) -> list[Line]:
    """The requests to keep what may have been deleted, each with the question and what to run if it was."""
    lines = []
    for attempt in attempts:
        lines += [
            Line(withdrawn_title(attempt), Tone.WARNING),
            Line(f"  {keeping_request(attempt)}"),
            Line(f"  {after_keeping(attempt)}", Tone.FAINT),
            Line(""),
        ]
    return lines


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
