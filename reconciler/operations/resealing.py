"""Encrypts the responses and secrets that are encrypted in the records once more, to other age keys as well."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct

from reconciler.desired.single_sections import recipient_remedy
from reconciler.errors import Refused, SettingsError, StateError
from reconciler.model.address import TargetName
from reconciler.model.attempt import place_hash
from reconciler.model.entry import Resealed
from reconciler.model.record import Attempt, Record
from reconciler.model.selection import Selection
from reconciler.operations.edit import now_by, record_entries
from reconciler.operations.kept_secrets import no_identity, read_identity, read_recorded, with_response
from reconciler.operations.selecting import refuse_unmatched
from reconciler.operations.sound_config import recipients_in_use
from reconciler.operations.workspace import Workspace
from reconciler.state.private.responses import PRIVATE_KEY, encrypt, is_encrypted, parse_identities
from reconciler.values import Discreet


class Kept(Struct, frozen=True):
    """A response or secret (`kind`) of an attempt, and the place that the record names for it."""

    attempt: Attempt
    kind: str
    place: str

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from others of its target."""
        return self.attempt.id, self.place


class Resealing(Discreet, frozen=True):
    """What is to be encrypted once more, to `recipients`; `unreadable` says why the others cannot be.

    `done` are those that were encrypted to all of these keys by an earlier run, `private` those in private files, which
    are not encrypted.
    """

    unprinted = ("identities",)

    workspace: Workspace
    recipients: tuple[str, ...]
    identities: list[str]
    chosen: dict[TargetName, list[Kept]]
    unreadable: list[StateError]
    done: int
    private: int

    @property
    def all_chosen(self) -> list[Kept]:
        """All that is to be encrypted, in the order of the targets."""
        return [kept for chosen in self.chosen.values() for kept in chosen]

    def record(self) -> Iterator[list[Kept]]:
        """Encrypt and record it, each target in one append; gives what was recorded. Raises StateError."""
        for target, chosen in self.chosen.items():
            yield self._record(target, {kept.key for kept in chosen})

    def _record(self, target: TargetName, keys: set[tuple[str, str]]) -> list[Kept]:
        recorded: list[Kept] = []

        def draft(record: Record) -> list[Resealed]:
            waiting = _waiting(record, self.recipients, _kept(self.workspace, record, Selection()))
            recorded[:] = [kept for kept in waiting if kept.key in keys]
            return [self._entry(record, kept) for kept in recorded]

        record_entries(self.workspace, target, draft, "responses and secrets encrypted again")
        return recorded

    def _entry(self, record: Record, kept: Kept) -> Resealed:
        data = _read(self.workspace, record, kept, self.identities)
        if isinstance(data, StateError):
            raise data
        at, by = now_by(self.workspace)
        return Resealed(
            at=at,
            by=by,
            attempt=kept.attempt.id,
            original=place_hash(kept.place),
            sealed=encrypt(self.recipients, data),
            recipients=self.recipients,
        )


def resealing(workspace: Workspace, patterns: tuple[str, ...], keys: Sequence[str], identity: Path | None) -> Resealing:
    """What is selected and not encrypted to `keys` and the recipients of `config/`, as far as is known, by target.

    age does not tell the keys that data is encrypted to; the entries of earlier runs do. Raises SettingsError for a key
    or an identity file that is none, SelectionError, Refused if there are no keys, and StateError.
    """
    recipients = _recipients(workspace, keys)
    selection = Selection.of(patterns)
    identities = read_identity(identity)
    known = sorted({*workspace.recorded_targets(), *workspace.targets_seen()})
    selected = [name for name in known if selection.touches(name)]
    workspace.within.refuse_others(selected)
    records = workspace.records(selected)
    addresses = {attempt.address for record in records.values() for attempt in record.attempts.values()}
    refuse_unmatched(selection, known, sorted(addresses))
    chosen, unreadable, done, private = dict[TargetName, list[Kept]](), list[StateError](), 0, 0
    for name, record in records.items():
        found = _kept(workspace, record, selection)
        encrypted = [kept for kept in found if is_encrypted(kept.place)]
        waiting = _waiting(record, recipients, encrypted)
        if waiting and not identities:
            raise no_identity(workspace)
        if waiting:
            parse_identities(identities)
        for kept in waiting:
            data = _read(workspace, record, kept, identities)
            if isinstance(data, StateError):
                unreadable.append(data)
            else:
                chosen.setdefault(name, []).append(kept)
        done += len(encrypted) - len(waiting)
        private += len(found) - len(encrypted)
    return Resealing(workspace, recipients, identities, chosen, unreadable, done, private)


def _recipients(workspace: Workspace, keys: Sequence[str]) -> tuple[str, ...]:
    """The keys and the recipients of `config/`, each once. Raises SettingsError and Refused; no key is shown."""
    for number, key in enumerate(keys, 1):
        if PRIVATE_KEY.search(key):
            raise SettingsError(
                f"key {number} is a private key, which every user of this machine can see in the process list",
                where="--to",
                remedy="stop using this key: create another with age-keygen, and use its public key (age1…)",
            )
        if remedy := recipient_remedy(key):
            raise SettingsError(f"key {number} is not an age X25519 public key", where="--to", remedy=remedy)
    recipients = tuple(dict.fromkeys((*recipients_in_use(workspace), *keys)))
    if not recipients:
        raise Refused("no keys to encrypt to", remedy="use --to age1…, or add `recipients: [age1…]` to config/")
    return recipients


def _kept(workspace: Workspace, record: Record, selection: Selection) -> list[Kept]:
    """The responses and secrets of the attempts that are selected, whatever became of them: each may be disputed."""
    found = []
    for attempt in record.attempts.values():
        if selection.has(attempt.address):
            places = [with_response(workspace, record, attempt).response or ""]
            found += [Kept(attempt, "response", place) for place in places if place]
            found += [Kept(attempt, "secret", place) for place in dict.fromkeys(attempt.secrets)]
    return found


def _waiting(record: Record, recipients: Iterable[str], found: Iterable[Kept]) -> list[Kept]:
    """Those that are encrypted, and by no entry to all of the recipients."""
    wanted = set(recipients)
    return [
        kept
        for kept in found
        if is_encrypted(kept.place)
        and not any(wanted <= set(sealing.recipients) for sealing in record.sealings_of(*kept.key))
    ]


def _read(workspace: Workspace, record: Record, kept: Kept, identities: list[str]) -> bytes | StateError:
    """The data, or why it cannot be read."""
    found = read_recorded(workspace, record, kept.attempt, kept.kind, kept.place, partial(list, identities))
    if isinstance(found, StateError):
        what = f"the {kept.kind} of attempt {kept.attempt.id} cannot be decrypted: {found.what}"
        return StateError(what, where=found.where, remedy=found.remedy)
    return found[-1]
