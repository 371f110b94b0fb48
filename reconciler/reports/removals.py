"""The messages to the operator, one for each target, about what awaits removal, and what is to be certain before.

A `Line` escapes what is in it.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from reconciler.model.url import normal_url
from reconciler.planning.status import doubted_until
from reconciler.reports.letters import created_or_imported, exchange_caution, keep_other, unknown_cautions
from reconciler.reports.line import Line, Tone
from reconciler.reports.wording import await_removal, counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reconciler.model.address import TargetName
    from reconciler.model.record import Attempt
    from reconciler.model.removal import AwaitingRemoval, RemovalRequest

_DELETED = " unless it was deleted"
_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))


def cautions(request: RemovalRequest) -> list[str]:
    """What to do before the message is sent, line by line."""
    lines = exchange_caution(request.exchanged, message=True)
    found = [text for one in request.to_delete for text in unknown_cautions(one.attempt, request.unknown)]
    lines += [f"warning: {text}" for text in found]
    return [*lines, f"For how to resolve it, run: reconciler status -t {request.target}"] if found else lines


def removal_message(request: RemovalRequest) -> list[str]:
    """The message for one target, line by line, ready to be sent."""
    count = len(request.to_delete)
    what = "this webhook subscription" if count == 1 else f"these {count} webhook subscriptions"
    items = [
        [
            *_identifying(awaiting.attempt),
            f"removal requested {awaiting.attempt.at}{_age(awaiting.attempt.at, request.at)}",
            *_until_then(awaiting),
        ]
        for awaiting in request.to_delete
    ]
    return _message(f"Please delete {what} of {request.target}:", items)


def removed_command(request: RemovalRequest) -> str:
    """The command that records that all of the message was deleted, and nothing that was requested since."""
    attempts = " ".join(f"--attempt {awaiting.attempt.id}" for awaiting in request.to_delete)
    return f"reconciler state removed -t {request.target} {attempts}"


def on_hold(request: RemovalRequest) -> list[str]:
    """The requests that the message leaves out, since `config/` wants their subscriptions again; one line each."""
    return [
        f"On hold, since config/ wants it again: the request of {attempt.requested or attempt.at} to delete"
        f" {attempt.address} (attempt {attempt.id}), {', '.join(attempt.codes)} to {attempt.url}"
        for attempt in request.to_restore
    ]


def after_hold(request: RemovalRequest) -> str:
    """What to do about the requests that are on hold."""
    return (
        "If such a request was sent already, the operator may still act on it. To keep what it is about, and for the"
        f" letter that withdraws it, run: reconciler apply -t {request.target}"
    )


def keeping_title(target: TargetName) -> str:
    """What precedes the message to keep what may have been deleted before the request was withdrawn."""
    return (
        "Withdrawn requests to delete. If you never sent them, send nothing about them. Otherwise ask the operator of"
        f" {target} first, and wait for the answer before anything else is deleted:"
    )


def keeping_message(request: RemovalRequest) -> list[str]:
    """The message about the requests of one target that were withdrawn, line by line, ready to be sent."""
    count = len(request.withdrawn)
    what, them = ("this webhook subscription", "it") if count == 1 else (f"these {count} webhook subscriptions", "them")
    title = (
        f"Please do not delete {what} of {request.target}: we still need {them}. Do{'es it' if count == 1 else ' they'}"
        " still exist?"
    )
    items = [
        [*_identifying(attempt), f"our request of {attempt.requested} to delete it is withdrawn"]
        for attempt in request.withdrawn
    ]
    return _message(title, items)


def after_answer(request: RemovalRequest) -> list[str]:
    """What to do with the answer to the message to keep, number by number."""
    lines = []
    for number, attempt in enumerate(request.withdrawn, 1):
        until = doubted_until(attempt)
        lines.append(
            f"{number}. {attempt.address} (attempt {attempt.id}){f', shown until {until}' if until else ''}; if it was"
            f" deleted, run: reconciler state removed {attempt.address} --attempt {attempt.id} --force"
        )
    return [*lines, "The next apply creates again what was deleted. What exists needs nothing more."]


def _message(title: str, items: Iterable[Sequence[str]]) -> list[str]:
    lines = [title]
    for number, (first, *rest) in enumerate(items, 1):
        lines += ["", f"{number}. {first}", *(f"   {line}" for line in rest)]
    return lines


def _identifying(attempt: Attempt) -> list[str]:
    ids = [f"{name}: {value}" for name, value in sorted(attempt.fields.items()) if name.lower().endswith("id")]
    return [
        f"webhook URL: {attempt.url}",
        f"event codes: {', '.join(attempt.codes)}",
        *(ids or ["id: not known, since the response to its create is not recorded"]),
        created_or_imported(attempt),
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
    return lines + [keep_other(other) for other in awaiting.staying]


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


def removals_summary(requests: Sequence[RemovalRequest]) -> str:
    """How much awaits removal, in a sentence."""
    counts = [len(request.to_delete) for request in requests if request.to_delete]
    if not any(request.awaiting for request in requests):
        return "Nothing awaits removal."
    if not counts:
        return "No request to delete is to be sent before the apply."
    return f"{await_removal(sum(counts))} on {counted(len(counts), 'target')}."


def removals_text(requests: Sequence[RemovalRequest]) -> list[Line]:
    """For each target what to ask first, the message with what precedes it, and what to run after the deletion."""
    lines: list[Line] = []
    for request in requests:
        if request.withdrawn:
            lines += [Line(keeping_title(request.target), Tone.WARNING), Line("")]
            lines += [*_indented(keeping_message(request)), Line("")]
            lines.append(Line("After the answer:", Tone.FAINT))
            lines += [*(Line(line, Tone.FAINT) for line in after_answer(request)), Line("")]
        if request.to_delete:
            careful = [Line(line, Tone.WARNING) for line in cautions(request)]
            lines += [*careful, *([Line("")] if careful else [])]
            lines += [Line(f"Send to the operator of {request.target}:", Tone.HEADING), Line("")]
            lines += [*_indented(removal_message(request)), Line("")]
            lines += [Line(f"After they are deleted, run: {removed_command(request)}", Tone.FAINT), Line("")]
        if request.to_restore:
            held = [*on_hold(request), after_hold(request)]
            lines += [*(Line(line, Tone.WARNING) for line in held), Line("")]
    return [*lines, Line(removals_summary(requests), Tone.HEADING if requests else Tone.PLAIN)]


def _indented(message: Iterable[str]) -> list[Line]:
    return [Line(f"  {line}" if line else "") for line in message]
