"""Builds letters to the operator, who alone can list and delete subscriptions at the service.

A letter names what the operator can search for: URLs, codes, times and the ids that the service assigned. The help
texts and the pages call a letter "the message to the operator".
"""

from __future__ import annotations

from enum import StrEnum
from itertools import groupby
from typing import TYPE_CHECKING, assert_never

from reconciler.model.outcome import Outcome
from reconciler.reports.document import Letter
from reconciler.values import stamp

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from reconciler.model.record import Attempt


class Purpose(StrEnum):
    """The purpose of a letter: ask the operator to delete something, to keep it, or to say whether it exists."""

    DELETE = "Send to the operator"
    KEEP = "Send to the operator if you asked to delete it"
    ASK = "Ask the operator"


def letter(attempts: Sequence[Attempt], purpose: Purpose, staying: Sequence[Attempt] = ()) -> tuple[str, ...]:
    """Return the lines of a letter about one or more attempts of one target.

    The letter asks the operator to delete the attempts (or the codes whose removal is requested), to keep attempts that
    an earlier letter asked to delete, or to say whether they exist. `staying` are attempts with the same URL that the
    operator must not delete by mistake.
    """
    several = len(attempts) != 1
    target = attempts[0].address.target
    these = f"{'these' if several else 'this'} webhook subscription{'s' if several else ''} of {target}"
    match purpose:
        case Purpose.DELETE:
            first = f"Please delete {_parts(attempts, these)}:"
        case Purpose.KEEP:
            partial = any(set(_codes_in_question(attempt, purpose)) < set(attempt.codes) for attempt in attempts)
            these = f"the event codes below for {these}" if partial else these
            them = "them" if several or partial else "it"
            first = f"Please keep {these}: our earlier request to delete {them} is withdrawn."
        case Purpose.ASK:
            first = f"Do {these} exist?" if several else f"Does {these} exist?"
        case _:
            assert_never(purpose)
    lines = [first]
    for number, attempt in enumerate(attempts, 1):
        lines += ["", *_item_lines(attempt, f"{number}. " if several else "", purpose)]
    if staying:
        lines += ["", "Please do not delete the following, although the URL is the same:"]
        for attempt in staying:
            known = filter(None, (f"our reference {attempt.id}", _ids(attempt), _creation_text(attempt, purpose)))
            lines.append(f"- {', '.join(known)}")
    return tuple(lines)


def _parts(attempts: Sequence[Attempt], these: str) -> str:
    """Return what the first sentence asks to delete: whole subscriptions, only some event codes, or both."""
    partial = [set(attempt.requested_codes) < set(attempt.codes) for attempt in attempts if attempt.requested_codes]
    if sum(partial) == len(attempts):
        return f"only the event codes below from {these}"
    return f"{these} or, where stated, only some of their event codes" if any(partial) else these


def _codes_in_question(attempt: Attempt, purpose: Purpose) -> Collection[str]:
    """Return the event codes that a letter names for an attempt."""
    codes = {Purpose.DELETE: attempt.requested_codes, Purpose.KEEP: tuple(attempt.cancelled), Purpose.ASK: ()}
    return codes[purpose] or attempt.codes


def _item_lines(attempt: Attempt, number: str, purpose: Purpose) -> list[str]:
    codes = _codes_in_question(attempt, purpose)
    staying = [code for code in attempt.codes if code not in codes] if purpose is Purpose.DELETE else []
    rows = [f"URL: {attempt.url}", f"event codes: {', '.join(codes)}"]
    rows += [f"delete only these event codes; keep the other {len(staying)}: {', '.join(staying)}"] if staying else []
    rows += [f"service: {attempt.base_url}", _creation_text(attempt, purpose)]
    rows += [f"ids: {ids}"] if (ids := _ids(attempt)) else []
    rows.append(f"our reference: {attempt.id}")
    indent = " " * len(number)
    return [f"{number if index == 0 else indent}{row}" for index, row in enumerate(rows)]


def _ids(attempt: Attempt) -> str:
    """Return the ids that the service assigned to an attempt, with their names."""
    return ", ".join(f"{name} {value}" for name, value in sorted(attempt.fields.items()) if name.lower().endswith("id"))


def _creation_text(attempt: Attempt, purpose: Purpose) -> str:
    if attempt.imported:
        return f"known to us since {attempt.since}"
    if attempt.outcome is Outcome.CREATED and purpose is not Purpose.ASK:
        return f"created {attempt.date or attempt.since}"
    doubt = "" if attempt.in_force else "if it exists, it was "
    return f"{doubt}created between {attempt.since} and {stamp(attempt.settled_by)} (UTC)"


def one_line(lines: Sequence[str]) -> str:
    """Return a letter as one line of text for JSON."""
    return " ".join(line.strip() for line in lines if line)


def letters_by_target(attempts: Iterable[Attempt], purpose: Purpose) -> Iterator[Letter]:
    """Yield one letter for each target, with its title."""
    ordered = sorted(attempts, key=lambda attempt: (attempt.address, attempt.id))
    for target, group in groupby(ordered, key=lambda attempt: attempt.address.target):
        yield Letter(f"{purpose} ({target})", letter(list(group), purpose))
