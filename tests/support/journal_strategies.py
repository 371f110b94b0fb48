"""Hypothesis strategies for journal entries, alone and as histories in which each can follow the ones before."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from hypothesis import strategies as st

from reconciler.model.address import Address, TargetName
from reconciler.model.attempt import place_hash
from reconciler.model.entry import (
    AnyEntry,
    Begun,
    Bound,
    Closed,
    Imported,
    Intent,
    Joined,
    Moved,
    Observed,
    Opened,
    Removed,
    Resealed,
    Resolved,
    Restored,
    Retired,
    RollbackAccepted,
    SecretSet,
    Settled,
)
from reconciler.model.outcome import Outcome

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

EntryT = TypeVar("EntryT", bound=AnyEntry)

TARGET = TargetName("europe/staging")

texts = st.text(max_size=20)
names = st.text("abcdefghijklmnopqrstuvwxyz0123456789-", min_size=1, max_size=9).map(lambda one: one.lstrip("-") or "0")
record_ids = st.integers(0, 16**32 - 1).map(lambda number: f"{number:032x}")
addresses = names.map(lambda name: Address.of(TARGET, name))
_letters = st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ", min_size=3, max_size=3)
_codes = st.tuples(_letters, st.integers(0, 99_999)).map(lambda parts: f"{parts[0]}{parts[1]:05}")
codes = st.lists(_codes, min_size=1, max_size=3).map(tuple)
urls = names.map(lambda name: f"https://hooks.example/{name}")
moments = st.floats(0, 4e9, allow_nan=False)
stamps = st.just("2026-11-20T13:30:00Z")
scalars = texts | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.booleans()


def _entries(kind: type[EntryT], **fields: SearchStrategy[Any]) -> SearchStrategy[EntryT]:
    fields |= {"at": stamps, "by": st.dictionaries(texts, texts, max_size=3)}
    # Not `builds`, which evaluates the annotations, of types that are imported for them alone.
    return st.fixed_dictionaries(fields).map(lambda values: kind(**values))


beginnings = _entries(
    Begun, record=record_ids, target=st.just(TARGET), base_url=st.just("https://api.example"), format=st.just(1)
)


@cache
def about_no_attempt() -> SearchStrategy[AnyEntry]:
    """Entries that can follow any other."""
    return (
        _entries(Bound, base_url=urls, account=st.none() | texts)
        | _entries(Moved, source=addresses, address=addresses)
        | _entries(RollbackAccepted, lost_head=record_ids, lost_entries=st.integers(1, 99))
        | _entries(Observed, address=addresses, url=urls, received=st.dictionaries(texts, stamps, max_size=3))
    )


originals = texts | st.just("age:YWdl").map(place_hash)
"""Hashes of what is sealed: also of responses that are drawn."""
closings = _entries(Closed, source=texts, to=texts, complete=st.booleans(), forced=st.booleans())
openings = _entries(Opened, place=texts, forced=st.booleans())


@cache
def beginning_an_attempt(attempt: str) -> SearchStrategy[AnyEntry]:
    """Entries that begin an attempt."""
    return _entries(
        Intent,
        attempt=st.just(attempt),
        address=addresses,
        action=st.sampled_from(["create", "extend", "replace"]),
        codes=codes,
        url=urls,
        send_by=moments,
        settled_by=moments,
        run=texts,
    ) | _entries(Imported, attempt=st.just(attempt), address=addresses, codes=codes, url=urls)


@cache
def about_an_attempt(attempts: tuple[str, ...]) -> SearchStrategy[AnyEntry]:
    """Entries that follow the beginning of an attempt."""
    attempt = st.sampled_from(attempts)
    return (
        _entries(
            Settled,
            attempt=attempt,
            outcome=st.sampled_from(Outcome),
            status=st.none() | st.integers(0, 599),
            detail=st.none() | texts,
            date=st.none() | texts,
            fields=st.dictionaries(texts, scalars, max_size=3),
            response=st.none() | st.just("file") | st.just("age:YWdl"),
        )
        | _entries(Resolved, attempt=attempt, created=st.booleans(), note=st.none() | texts, forced=st.booleans())
        | _entries(Retired, attempt=attempt, reason=st.none() | texts)
        | _entries(Restored, attempt=attempt)
        | _entries(Removed, attempt=attempt, forced=st.booleans())
        | _entries(SecretSet, attempt=attempt, secret=texts)
        | _entries(Resealed, attempt=attempt, original=originals, sealed=texts, recipients=st.lists(texts).map(tuple))
    )


def any_entries() -> SearchStrategy[AnyEntry]:
    """Any single entry."""
    others = beginnings | about_no_attempt() | beginning_an_attempt("a1") | about_an_attempt(("a1", "a2"))
    others |= closings | openings
    lines = st.lists(st.tuples(others, record_ids), max_size=3).map(tuple)
    return others | _entries(Joined, source=texts, head=texts, entries=st.integers(), after=texts, lines=lines)


@st.composite
def histories(draw: DrawFn, max_size: int = 8) -> list[AnyEntry]:
    """The entries of a whole journal of TARGET, in an order in which they can follow each other."""
    return [draw(beginnings), *_continued(draw, [], "a", max_size - 1)]


@st.composite
def partings(draw: DrawFn) -> tuple[list[AnyEntry], list[AnyEntry], list[AnyEntry]]:
    """What two histories of one record have in common, and what each of them did then, at one service."""
    attempts: list[str] = []
    common = [draw(beginnings), *_continued(draw, attempts, "a", 5)]
    ours, theirs = (_continued(draw, [*attempts], mark, 5) for mark in "bc")
    return _at_one_service(common), _at_one_service(ours), _at_one_service(theirs)


def _at_one_service(entries: list[AnyEntry]) -> list[AnyEntry]:
    return [entry for entry in entries if not isinstance(entry, Bound)]


def _continued(draw: DrawFn, attempts: list[str], mark: str, most: int) -> list[AnyEntry]:
    """Entries that can follow where `attempts` were begun, which are kept up to date; `mark` begins new ids."""
    entries: list[AnyEntry] = []
    for _ in range(draw(st.integers(0, most))):
        kinds = ["none", "begin", "copy", "about"] if attempts else ["none", "begin", "copy"]
        match draw(st.sampled_from(kinds)):
            case "none":
                entries.append(draw(about_no_attempt()))
            case "copy":
                entries += [*draw(st.lists(closings, min_size=1, max_size=2)), draw(openings)]
            case "begin":
                attempts.append(f"{mark}{len(attempts)}")
                entries.append(draw(beginning_an_attempt(attempts[-1])))
            case _:
                entries.append(draw(about_an_attempt(tuple(attempts))))
    return entries
