"""The names that a command line can be about, for its completion: from `config/` and the record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.state.heads.tracking import load_journal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reconciler.model.attempt import Attempt
    from reconciler.model.record import Record
    from reconciler.operations.workspace import Workspace


def known_targets(workspace: Workspace) -> list[str]:
    """The declared targets. Raises ConfigError."""
    return sorted(workspace.desired.targets)


def known_addresses(workspace: Workspace, beginning: str) -> list[str]:
    """The desired and the recorded addresses that begin so. Raises ConfigError, SettingsError and StateError."""
    recorded = (str(attempt.address) for record in _records(workspace, beginning) for attempt in _attempts(record))
    return _beginning({*map(str, workspace.desired.subscriptions), *recorded}, beginning)


def known_patterns(workspace: Workspace, beginning: str) -> list[str]:
    """The targets and addresses that begin so, and the patterns that match some of them; raises what those raise.

    Addresses are among them if the beginning has got to the name: before, there would be too many to choose from.
    """
    targets = known_targets(workspace)
    if beginning.count("/") < 2:
        return _beginning({*targets, *_patterns(targets)}, beginning)
    addresses = known_addresses(workspace, "")
    named = {f"{pattern}/{address.rpartition('/')[2]}" for address in addresses for pattern in _patterns([address])}
    return _beginning({*addresses, *named}, beginning)


def known_attempts(workspace: Workspace, address: str | None) -> list[Attempt]:
    """The recorded attempts, of one address if it is given. Raises SettingsError and StateError."""
    records = _records(workspace, address or "")
    return [attempt for record in records for attempt in _attempts(record) if address in (None, attempt.address)]


def _attempts(record: Record) -> Iterable[Attempt]:
    return record.attempts.values()


def _records(workspace: Workspace, beginning: str) -> Iterator[Record]:
    """The records of targets in which an address may begin so; none of a store beyond this machine, which is slow.

    They are shown, and nothing is concluded from them: the last known heads are neither compared with nor changed.
    """
    if workspace.store.path is None:
        return
    for target in workspace.store.targets():
        if f"{target}/".startswith(beginning) or beginning.startswith(f"{target}/"):
            journal = load_journal(workspace.store, target)
            if journal is not None:
                yield journal.record()


def _patterns(names: Iterable[str]) -> set[str]:
    """For each region and each environment, the pattern over all its targets."""
    segments = [name.split("/") for name in names]
    return {f"{region}/*" for region, *_ in segments} | {f"*/{environment}" for _, environment, *_ in segments}


def _beginning(names: Iterable[str], beginning: str) -> list[str]:
    return sorted(name for name in names if name.startswith(beginning))
