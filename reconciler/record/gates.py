"""The first two gates before a create, decided from the record and from the heads remembered elsewhere.

Gate 1 is open if this is the current record: it is not closed, and it has the id that `record:` names. It also contains
the head in the store's second place and, for each record of the same services, the last head that this machine saw. A
record in a file must also have been begun or accepted on this machine. Gate 2 is open if no loss is open. Gates 3 and
4, about a target and about an address, are in `planning`.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from reconciler.errors import Message, Step, step
from reconciler.model.url import service_key
from reconciler.values import stamp

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from reconciler.model.record import Attempt, Loss, Record
    from reconciler.record.facts import Rebound, What


IN_FLIGHT_AFTER_LOSS = 60 + 300 + 15
"""The number of seconds for which a call may be in flight after a loss is accepted.

It is the sum of the send window, the longest timeout, and a margin."""


class Note(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A machine's note about a record: its id, services, place, number of entries and head.

    `second` is true if the head was in the second place and the record lacked it; the number of entries is then 0.
    """

    record: str
    services: tuple[str, ...]
    place: str
    entries: int
    head: str
    closed: bool = False
    second: bool = False


class Obstacle(StrEnum):
    """A reason why nothing is created at any address. All but LOSS_OPEN close the first gate."""

    OTHER_RECORD = "other-record"
    CLOSED = "record-closed"
    NOT_FROM_HERE = "file-not-from-here"
    HEADS_MISSING = "heads-missing"
    SECOND_MISSING = "second-missing"
    LOSS_OPEN = "loss-open"


class Standing(Struct, frozen=True):
    """The result of comparing a record with the remembered heads.

    `missing` are the remembered heads that the record lacks, sorted. The head in the second place counts as remembered.
    `elsewhere` are the other places at which this machine saw missing heads. `named_by` is the setting that names the
    place and overrides `config/`, or "" if there is none. `second_ahead` is true if the second place names a missing
    head.
    """

    place: str
    obstacles: tuple[Obstacle, ...] = ()
    missing: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    named_by: str = ""
    second_ahead: bool = False

    @property
    def first_gate_open(self) -> bool:
        """True if this is the current record."""
        return not set(self.obstacles) - {Obstacle.LOSS_OPEN}

    @property
    def open(self) -> bool:
        """True if both gates are open."""
        return not self.obstacles


def stand(
    record: Record, notes: Iterable[Note], place: str, *, is_file: bool, second: str | None, expected: str
) -> Standing:
    """Return the result of comparing `record` at `place` with the remembered heads.

    `notes` are this machine's notes that concern the record (see `concerning`). `second` is as in `Stored`. `expected`
    is the id that `record:` names, or "" to skip this check.
    """
    notes = tuple(notes)
    heads = [note.head for note in notes] + ([second] if second else [])
    missing = tuple(sorted({head for head in heads if not record.contains(head)}))
    obstacles = {
        Obstacle.OTHER_RECORD: bool(expected) and record.id != expected,
        Obstacle.CLOSED: bool(record.closed_to),
        Obstacle.NOT_FROM_HERE: is_file and not any(is_of(note, record, place) for note in notes),
        Obstacle.HEADS_MISSING: bool(missing),
        Obstacle.SECOND_MISSING: second == "",
        Obstacle.LOSS_OPEN: bool(record.open_losses),
    }
    seen = {note.place for note in usable(notes) if note.head in missing} if missing else set()
    return Standing(
        place,
        tuple(obstacle for obstacle, stands in obstacles.items() if stands),
        missing,
        tuple(sorted(seen - {place})),
        second_ahead=second in missing,
    )


def concerning(notes: Iterable[Note], record: str, services: Iterable[str], place: str) -> tuple[Note, ...]:
    """Return the notes about this record, about this place, or about any record of these services."""
    keys = set(services)
    return tuple(
        note for note in notes if note.record == record or note.place == place or not keys.isdisjoint(note.services)
    )


def is_of(note: Note, record: Record, place: str) -> bool:
    """True if a note is about this record at this place."""
    return note.record == record.id and note.place == place


def bindings(
    whats: Iterable[What], rebounds: Sequence[Rebound]
) -> tuple[dict[str, tuple[str, ...]], dict[str, frozenset[str]], dict[str, str]]:
    """Return the base URLs and the accounts of each target, and the map that `_same_services` returns."""
    urls: dict[str, set[str]] = {}
    accounts: dict[str, set[str]] = {}
    for target, base_url, account in {(what.address.rpartition("/")[0], what.base_url, what.account) for what in whats}:
        urls.setdefault(target, set()).add(base_url)
        if account:
            accounts.setdefault(target, set()).add(account)
    for fact in rebounds:
        urls.setdefault(fact.target, set()).add(fact.base_url)
        if fact.account:
            accounts.setdefault(fact.target, set()).add(fact.account)
    return (
        {target: tuple(sorted(bound)) for target, bound in sorted(urls.items())},
        {target: frozenset(bound) for target, bound in accounts.items()},
        _same_services(rebounds, urls) if rebounds else {},
    )


def _same_services(rebounds: Iterable[Rebound], urls: Mapping[str, set[str]]) -> dict[str, str]:
    """Return a map from service keys to the first key, in sorted order, of all services declared to be the same one."""
    classes: dict[str, set[str]] = {}
    for fact in rebounds:
        united = {service_key(url) for url in urls[fact.target]}
        for key in list(united):
            united |= classes.get(key, set())
        for key in united:
            classes[key] = united
    return {key: min(united) for key, united in classes.items()}


def use_place(place: str, named_by: str = "") -> str:
    """Return the instruction to use the record at another place. `named_by` is as in `Standing`."""
    if named_by:
        return f"{named_by} overrides `state:` in config/; change it to {place}, or remove it"
    return f"set `state: {place}` in config/"


def usable(notes: Iterable[Note]) -> list[Note]:
    """Return the notes about records that are not closed, or all notes if every record is closed."""
    every = list(notes)
    return [note for note in every if not note.closed] or every


def head_branch(place: str) -> str:
    """Return the name of the branch that holds a copy of the record's head, for a record on a git branch."""
    return f"{place[place.find('#') + 1 :]}-head"


LOST_FOR_GOOD = Step("if it is lost for good, run", ("reconciler", "state", "accept-loss"))


def obstacle_messages(record: Record, standing: Standing, now: float, expected: str = "") -> tuple[Message, ...]:
    """Return a message for each obstacle of a record; `expected` is the id that `record:` in `config/` names.

    While the first gate is closed, the messages name only statements that can open it, because all others would be
    refused. If the record continues elsewhere, no other obstacle is reported except a different record id.
    """
    closed = Obstacle.CLOSED in standing.obstacles
    said = (Obstacle.OTHER_RECORD, Obstacle.CLOSED) if closed else tuple(Obstacle)
    obstacles = [each for each in standing.obstacles if each in said and each is not Obstacle.LOSS_OPEN]
    return tuple(_message(obstacle, record, standing, expected, now) for obstacle in obstacles or standing.obstacles)


def _message(obstacle: Obstacle, record: Record, standing: Standing, expected: str, now: float) -> Message:
    steps: tuple[Step, ...]
    count = len(standing.missing)
    copy = ("reconciler", "state", "copy")
    copying = (loss.of for loss in record.open_losses if loss.cause == "copy")
    copies = tuple(step("finish the copy", *copy, place, standing.place) for place in copying)
    match obstacle:
        case Obstacle.OTHER_RECORD:
            what = f"this is the record {record.id}, but `record:` in config/ names {expected}"
            steps = (step("correct `state:`, or `record:` if the project continues with this record"),)
        case Obstacle.CLOSED:
            what = f"the record continues at {record.closed_to}"
            steps = (
                step(f"use that place: {use_place(record.closed_to, standing.named_by)}"),
                step("if the copy was interrupted, run", *copy, standing.place, record.closed_to),
                step("if the record there is lost for good, run", "reconciler", "state", "accept-loss"),
            )
        case Obstacle.NOT_FROM_HERE:
            what = "this file was not written on this machine: it was copied, cloned or restored"
            steps = (
                step("for a record that several machines use, set a git branch or another shared place as `state:`"),
                step("in a container, keep the data directory: XDG_DATA_HOME must persist"),
                step("if no other machine still uses this record, run", "reconciler", "state", "accept-loss"),
            )
        case Obstacle.HEADS_MISSING:
            noun = "head that was seen before is" if count == 1 else "heads that were seen before are"
            lacking = f"{count} {noun} missing"
            if standing.second_ahead:
                lacking = f"the branch {head_branch(standing.place)} names a head that the record lacks"
            what = f"{lacking}: the record is an older version, or another record"
            recover = ("reconciler", "state", "recover", "FILE")
            uses = ((seen, use_place(seen, standing.named_by)) for seen in standing.elsewhere)
            in_use = (step(f"if the record is in use at {seen}: {use}") for seen, use in uses)
            merge = step("restore the record, or merge a copy or a backup with", *recover)
            steps = (*copies, *in_use, merge, LOST_FOR_GOOD)
        case Obstacle.SECOND_MISSING:
            what = f"the branch {head_branch(standing.place)} with the head of the record is missing"
            # No step restores it: a clone may have an older head, which a record that was reset also contains.
            steps = (step("nobody can tell whether the record is complete; run", *LOST_FOR_GOOD.command),)
        case Obstacle.LOSS_OPEN:
            causes = ", ".join(f"{loss.id} ({loss.cause}, since {loss.at})" for loss in record.open_losses)
            what = f"the record may be incomplete; nothing is created while a loss is open: {causes}"
            steps = copies or (
                step("record what exists, with", "reconciler", "state", "import", "ADDRESS"),
                complete_step("when nothing is missing", record.open_losses, now),
            )
    return Message(obstacle.value, what, standing.place, steps)


def settling(attempt: Attempt, now: float) -> tuple[Step, ...]:
    """Return the steps that resolve an unknown outcome. They name the earliest time if it is after `now`."""
    after = "" if attempt.settled(now) else f"after {stamp(attempt.settled_by)}, "
    exists = resolve_step(attempt, f"{after}if it exists, run", "--created")
    absent = resolve_step(attempt, f"{after}if it certainly does not exist, run", "--not-created")
    observe = step("once an event has arrived at its URL, run", "reconciler", "state", "observe", "FILE")
    return (exists, absent, observe) if attempt.own_url else (exists, absent)


def resolve_step(attempt: Attempt, text: str, outcome: str, *, force: bool = False, note: str = "") -> Step:
    """Return the step that resolves the outcome of an attempt. Its command names the attempt."""
    words = ("reconciler", "state", "resolve", attempt.address, outcome, "--attempt", attempt.id)
    return step(text, *words, *(("--force",) if force else ()), *(("--note", note) if note else ()))


def secret_command(address: str, attempt: str = "") -> tuple[str, ...]:
    """Return the words of the command `secret set`. They name the attempt, if its id is given."""
    return "reconciler", "secret", "set", address, *(("--attempt", attempt) if attempt else ())


def removal_command(verb: str, attempt: Attempt, codes: Collection[str]) -> tuple[str, ...]:
    """Return the words of the command `removal VERB` for these codes of an attempt."""
    options = removal_options((attempt.id,), codes_to_name(attempt, codes))
    return "reconciler", "removal", verb, attempt.address, *options


def codes_to_name(attempt: Attempt, codes: Collection[str]) -> tuple[str, ...]:
    """Return the codes that a command must name: none if `codes` has all codes that the attempt ever had.

    A command for only some codes of an attempt names them, so that pasting it again later cannot affect the others.
    """
    return () if set(codes) >= {*attempt.codes, *attempt.removed_codes} else tuple(codes)


def removal_options(ids: Iterable[str], codes: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the options of a `removal` command that name these attempt ids and codes."""
    options = [("--attempt", attempt) for attempt in ids] + [("--code", code) for code in codes]
    return tuple(word for option in options for word in option)


def in_flight_until(loss: Loss) -> float:
    """Return the time until which a call sent before an accepted loss may be in flight, or 0 for any other loss."""
    return datetime.fromisoformat(loss.at).timestamp() + IN_FLIGHT_AFTER_LOSS if loss.cause == "accepted" else 0.0


def complete_step(when: str, losses: Iterable[Loss], now: float) -> Step:
    """Return the step that ends these losses. It names the earliest time to do so, if this time is after `now`.

    The command names the losses, so that it never ends a later loss if it is pasted late.
    """
    losses = tuple(losses)
    until = max(map(in_flight_until, losses), default=0.0)
    after = f", after {stamp(until)}" if until > now else ""
    options = (word for loss in losses for word in ("--loss", loss.id))
    return step(f"{when}{after}, run", "reconciler", "state", "complete", *options)
