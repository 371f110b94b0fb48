"""The questions to the operator about creates of unknown outcome: several of one target are one message.

A `Line` escapes what is in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.reports.letters import created_when, existence_question, only_operator_knows, question_lines, the_one
from reconciler.reports.line import Line, Tone

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from reconciler.model.address import TargetName
    from reconciler.model.record import Attempt
    from reconciler.model.status import TargetStatus


def to_ask(attempts: Iterable[Attempt]) -> dict[TargetName, list[Attempt]]:
    """Those of which only the operator knows whether they exist, by target."""
    found: dict[TargetName, list[Attempt]] = {}
    for attempt in attempts:
        if only_operator_knows(attempt):
            found.setdefault(attempt.address.target, []).append(attempt)
    return found


def unproven(standing: TargetStatus) -> list[Attempt]:
    """The attempts of a target of which no notification shows that they exist."""
    return [observed.attempt for observed in standing.attempts if not observed.has_evidence]


def existence_message(attempts: Sequence[Attempt]) -> list[str]:
    """The message about attempts of one target, line by line, ready to be sent; about one it is a line."""
    if len(attempts) == 1:
        return [existence_question(attempts[0])]
    count, target = len(attempts), attempts[0].address.target
    lines = [f"Which of these {count} webhook subscriptions of {target} exist? Each may have been created, or not."]
    for number, attempt in enumerate(attempts, 1):
        lines += [
            "",
            f"{number}. {attempt.address.name}",
            f"   webhook URL: {attempt.url}",
            f"   event codes: {', '.join(attempt.codes)}",
            f"   created {created_when(attempt)}, if at all",
            *(f"   not {the_one(twin)}" for twin in attempt.twins),
        ]
    return lines


def after_answers(attempts: Sequence[Attempt]) -> list[str]:
    """What to run once the operator has answered a message about several attempts of one target, by its numbers."""
    addresses = [attempt.address for attempt in attempts]
    ways = []
    for number, attempt in enumerate(attempts, 1):
        is_one = addresses.count(attempt.address) == 1
        which = attempt.address if is_one else f"{attempt.address} --attempt {attempt.id}"
        ways.append(f"If {number} exists, run: reconciler state resolve {which} --created")
    every = f"'{attempts[0].address.target}/*'"
    rest = f"After that, if all the others certainly do not exist, run: reconciler state resolve {every} --not-created"
    return [*ways, rest]


def asked_together(attempts: Sequence[Attempt]) -> str:
    """What a message about several attempts of one target is about."""
    return f"about {len(attempts)} creates of {attempts[0].address.target}, in one message"


def questions_lines(attempts: Iterable[Attempt], indent: str) -> list[Line]:
    """What to ask the operator, target by target."""
    return [line for asked in to_ask(attempts).values() for line in _asked(asked, indent)]


def message_lines(attempts: Iterable[Attempt], indent: str) -> list[Line]:
    """As `questions_lines`, but nothing of a target with one question, which stands where its attempt does."""
    return [line for asked in to_ask(attempts).values() if len(asked) > 1 for line in _asked(asked, indent)]


def _asked(attempts: Sequence[Attempt], indent: str) -> Iterator[Line]:
    if len(attempts) == 1:
        yield from question_lines(attempts[0], indent, named=True)
        return
    yield Line(f"{indent}Ask the operator, {asked_together(attempts)}:", Tone.HEADING)
    for line in existence_message(attempts):
        yield Line(f"{indent}  {line}" if line else "")
    yield Line("")
    for line in after_answers(attempts):
        yield Line(f"{indent}{line}")
