"""Two histories of one record that have diverged: their common entries, and how their attempts are merged.

Both are compared with what they have in common, whether one was merged into the other before, or a third into both. If
only one has something new about an attempt, that holds. If both have, the stronger evidence holds; statements of people
that contradict each other leave it UNKNOWN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from reconciler.model.attempt import IN_FORCE, Attempt, Status
from reconciler.model.entry import Joined
from reconciler.model.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from reconciler.model.attempt import Sealing
    from reconciler.model.entry import AnyEntry

AttemptPlace = tuple[str, str]
"""An attempt's id, and the hash of sealed data that it has."""
Numbered = tuple["AnyEntry", str]
"""An entry and its hash."""

_WORD = (None, Outcome.UNKNOWN, Outcome.NOT_SENT, Outcome.REJECTED, Outcome.CREATED)
"""What is known of a call, the weakest evidence first: the answer of the service is the last."""

_BELIEF = (Status.GONE, Status.PENDING, Status.UNKNOWN, Status.LIVE, Status.AWAITING_REMOVAL)


def all_entries(lines: Iterable[Numbered]) -> Iterator[AnyEntry]:
    """Every entry of the lines; those of a merged history come before the entry that merges it."""
    for entry, _ in lines:
        if isinstance(entry, Joined):
            yield from all_entries(entry.lines)
        yield entry


def index(lines: Iterable[Numbered], before: str = "") -> dict[str, tuple[AnyEntry, str]]:
    """Each entry of the lines by its hash, merged ones included, with the hash of the one before it."""
    indexed: dict[str, tuple[AnyEntry, str]] = {}
    for entry, digest in lines:
        if isinstance(entry, Joined):
            indexed = {**index(entry.lines, entry.after), **indexed}
        indexed.setdefault(digest, (entry, before))
        before = digest
    return indexed


def history(known: Mapping[str, tuple[AnyEntry, str]], head: str) -> list[Numbered]:
    """The lines that lead to `head`, the first one first. Raises KeyError if it is not `known`."""
    lines = []
    while head:
        entry, before = known[head]
        lines.append((entry, head))
        head = before
    return lines[::-1]


def common_heads(ours: Mapping[str, tuple[AnyEntry, str]], theirs: Container[str]) -> list[str]:
    """The hashes of the last entries that both have: no other common entry follows them."""
    common = [digest for digest in ours if digest in theirs]
    followed = set()
    for digest in common:
        entry, before = ours[digest]
        followed |= {before, entry.lines[-1][1]} if isinstance(entry, Joined) else {before}
    return [digest for digest in common if digest not in followed]


def join_attempts(
    bases: Sequence[Mapping[str, Attempt]], ours: Mapping[str, Attempt], theirs: Mapping[str, Attempt]
) -> dict[str, Attempt]:
    """The attempts of both, by id; `bases` are those of the histories that both continue."""
    joined = dict(ours)
    for attempt, their in theirs.items():
        our = ours.get(attempt)
        known = [base[attempt] for base in bases if attempt in base]
        joined[attempt] = their if our is None else _join(known, our, their)
    return joined


def join_sealings(
    ours: Mapping[AttemptPlace, tuple[Sealing, ...]], theirs: Mapping[AttemptPlace, tuple[Sealing, ...]]
) -> dict[AttemptPlace, tuple[Sealing, ...]]:
    """What either sealed once more: all of it, since each may be the only one that somebody can open."""
    return {place: tuple(dict.fromkeys((*ours.get(place, ()), *theirs.get(place, ())))) for place in {**ours, **theirs}}


def _join(bases: Sequence[Attempt], our: Attempt, their: Attempt) -> Attempt:
    address = their.address if any(base.address == our.address for base in bases) else our.address
    if any(replace(their, address=base.address) == base for base in bases):
        known = our
    elif any(replace(our, address=base.address) == base for base in bases):
        known = their
    else:
        known = _both(our, their)
    return replace(known, address=address)


def _both(our: Attempt, their: Attempt) -> Attempt:
    """An attempt of which both histories have something new."""
    outcome = max(our.outcome, their.outcome, key=_WORD.index)
    status, in_doubt = _status(our, their, outcome)
    later = max(our, their, key=lambda attempt: attempt.at)
    resolutions = {our.resolved_created, their.resolved_created}
    return replace(
        later,
        status=status,
        outcome=outcome,
        resolved_created=in_doubt or (True if True in resolutions else False if False in resolutions else None),
        removed=our.removed or their.removed,
        on_purpose=our.on_purpose or their.on_purpose,
        fields={**their.fields, **our.fields},
        response=our.response or their.response,
        secrets=tuple(dict.fromkeys((*our.secrets, *their.secrets))),
    )


def _status(our: Attempt, their: Attempt, outcome: Outcome | None) -> tuple[Status, bool]:
    """The status of an attempt, and whether people contradict each other about it; `outcome` is what both know."""
    less, more = sorted((our, their), key=lambda attempt: _BELIEF.index(attempt.status))
    if less.status is not Status.GONE or more.status is Status.GONE:
        return more.status, False
    if outcome in (Outcome.REJECTED, Outcome.NOT_SENT) or _was_asked_for(less, more):
        return Status.GONE, False
    if outcome is Outcome.CREATED:  # no person can override that, so it must not be left UNKNOWN for one to resolve
        doubtful = less.removed or more.status is Status.AWAITING_REMOVAL
        return (Status.AWAITING_REMOVAL if doubtful else Status.LIVE), False
    disputed = more.status in IN_FORCE or more.resolved_created is not None
    return (Status.UNKNOWN, True) if disputed else (Status.GONE, False)


def _was_asked_for(gone: Attempt, other: Attempt) -> bool:
    """Whether one history records the removal that the other asked for, and the other has no newer outcome."""
    asked = other.status is Status.AWAITING_REMOVAL and not other.removed
    return gone.removed and asked and gone.outcome is other.outcome
