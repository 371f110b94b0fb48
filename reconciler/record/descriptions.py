"""Describes the entries of the record in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from reconciler.record import facts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reconciler.model.record import Record
    from reconciler.record.facts import AnyFact, What


_LOSSES = {
    "begun": "what already exists is not recorded",
    "accepted": "what was recorded last may be lost",
    "copy": "the record is being copied here from {}",
}


def describe(fact: AnyFact) -> str:  # noqa: C901, PLR0911, PLR0912 - one case for each kind of fact
    """Return a description of a fact, without its subject, time and author."""
    match fact:
        case facts.Begun():
            return f"record {fact.record} begins"
        case facts.LossOpened():
            named = f"; missing heads: {_list(fact.heads)}" if fact.heads else ""
            return f"{_LOSSES[fact.cause].format(fact.of)}, so nothing is created until loss {fact.loss} ends{named}"
        case facts.Completed():
            return f"what exists is recorded: loss {_list(fact.losses)} ends"
        case facts.Closed():
            return f"the record continues at {fact.to}"
        case facts.Joined():
            return "merged with another history"
        case facts.Rebound():
            account = f", account {fact.account}" if fact.account else ""
            return f"the service of this target is also {fact.base_url}{account}"
        case facts.Intended():
            return f"attempt {fact.attempt}: create call intended: {_request(fact.what)}"
        case facts.Answered():
            status = f" (HTTP {fact.status})" if fact.status else ""
            return f"attempt {fact.attempt}: {fact.outcome.value.replace('_', ' ')}{status}"
        case facts.Exists():
            beside = f", beside attempt {_list(fact.beside)}" if fact.beside else ""
            return f"attempt {fact.attempt}: exists: {_request(fact.what)}{beside}{_note(fact.note)}"
        case facts.Absent():
            return f"attempt {fact.attempt}: not created{_note(fact.note)}"
        case facts.RemovalRequested():
            return f"attempt {fact.attempt}: removal of {_list(fact.codes)} requested"
        case facts.RemovalCancelled():
            return f"attempt {fact.attempt}: removal request cancelled"
        case facts.RemovalConfirmed():
            return f"attempt {fact.attempt}: {_list(fact.codes)} removed by the operator"
        case facts.Renamed():
            return f"attempt {_list(fact.attempts)}: renamed to {fact.to}"
        case facts.SecretSet():
            return f"attempt {fact.attempt}: secret recorded"
        case facts.Received():
            return f"{fact.code} received at {fact.url}, first {fact.first}, last {fact.last}"
        case _:
            assert_never(fact)


def subjects(fact: AnyFact, record: Record) -> tuple[str, ...]:
    """Return the addresses (current and former) or the target that a fact is about.

    For a fact about the whole record, return an empty tuple.
    """
    match fact:
        case facts.Rebound():
            return (fact.target,)
        case facts.Renamed():
            return tuple(dict.fromkeys((*_addresses(fact.attempts, record), fact.to)))
        case facts.Intended() | facts.Answered() | facts.Exists():
            return tuple(dict.fromkeys((*_addresses((fact.attempt,), record), fact.what.address)))
        case (
            facts.Absent()
            | facts.RemovalRequested()
            | facts.RemovalCancelled()
            | facts.RemovalConfirmed()
            | facts.SecretSet()
        ):
            return tuple(_addresses((fact.attempt,), record))
        case _:
            return ()


def _addresses(attempts: Iterable[str], record: Record) -> list[str]:
    return [record.attempts[attempt].address for attempt in attempts if attempt in record.attempts]


def _request(what: What) -> str:
    return f"{_list(what.codes)} to {what.url}"


def _list(items: Iterable[str]) -> str:
    return ", ".join(items)


def _note(note: str) -> str:
    return f" ({note})" if note else ""
