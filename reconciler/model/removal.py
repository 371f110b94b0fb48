"""What the operator is to delete: the removals that were requested, target by target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reconciler.model.address import Address, TargetName
    from reconciler.model.record import Attempt


class AwaitingRemoval(Struct, frozen=True):
    """An attempt whose removal was requested, and the URLs to which others deliver its codes too, by code.

    Until it is deleted, each of its codes is delivered once more than it should be. `staying` are those of the others
    that have its URL: they differ from it in their ids and ages only. `doubtful` are the routes (code, URL) of
    `elsewhere` that only attempts deliver whose own removal request was withdrawn lately: they may be deleted.
    """

    attempt: Attempt
    elsewhere: Mapping[str, tuple[str, ...]]
    staying: tuple[Attempt, ...] = ()
    doubtful: frozenset[tuple[str, str]] = frozenset()


class RemovalRequest(Struct, frozen=True):
    """All that awaits removal on one target, as of `at` (UTC, ISO 8601), and what is not to be deleted.

    `wanted` are the ids of those that `config/` wants again: an apply restores them, and they must not be deleted.
    `withdrawn` are the attempts whose own request was withdrawn lately. `unknown` are its creates of unknown outcome.
    `exchanged` are the groups of addresses whose URLs were exchanged, of those that the operator is to delete something
    of.
    """

    target: TargetName
    at: str
    awaiting: tuple[AwaitingRemoval, ...]
    wanted: frozenset[str] = frozenset()
    withdrawn: tuple[Attempt, ...] = ()
    exchanged: tuple[tuple[Address, ...], ...] = ()
    unknown: tuple[Attempt, ...] = ()

    @property
    def to_delete(self) -> tuple[AwaitingRemoval, ...]:
        """What the operator is to delete."""
        return tuple(awaiting for awaiting in self.awaiting if awaiting.attempt.id not in self.wanted)

    @property
    def to_restore(self) -> tuple[Attempt, ...]:
        """What the operator is to keep."""
        return tuple(awaiting.attempt for awaiting in self.awaiting if awaiting.attempt.id in self.wanted)
