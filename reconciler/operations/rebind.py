"""Points records at the service and account in the current settings."""

from msgspec import Struct

from reconciler.errors import SettingsError
from reconciler.model.address import TargetName
from reconciler.model.entry import Bound
from reconciler.model.record import Record
from reconciler.model.url import same_service
from reconciler.operations.edit import now_by, record_entries
from reconciler.operations.selecting import whole_selection
from reconciler.operations.sound_config import sound_targets
from reconciler.operations.workspace import Workspace


class Rebinding(Struct, frozen=True):
    """What a record is bound to, and what it would be bound to."""

    target: TargetName
    recorded_url: str
    base_url: str
    recorded_account: str | None
    account: str | None

    @property
    def changes_account(self) -> bool:
        return self.account is not None and self.recorded_account not in (None, self.account)

    @property
    def changes_service(self) -> bool:
        return not same_service(self.recorded_url, self.base_url)


def rebindings(workspace: Workspace, patterns: tuple[str, ...]) -> list[Rebinding]:
    """The selected records that are bound to something else than the settings use. Raises StateError."""
    selected = whole_selection(patterns, sound_targets(workspace))
    if not patterns:  # not all that is declared needs to have a record
        known = {*workspace.store.targets(), *workspace.targets_seen()}
        selected = [name for name in selected if name in known] or selected
    workspace.within.refuse_others(selected)
    found = [_rebinding(workspace, name, workspace.read(name).record()) for name in selected]
    return [rebinding for rebinding in found if rebinding.changes_service or rebinding.changes_account]


def rebind(workspace: Workspace, name: TargetName, *, force: bool) -> None:
    """Bind a record to what the settings use. Raises StateError."""

    def draft(record: Record) -> list[Bound]:
        rebinding = _rebinding(workspace, name, record)
        if not (rebinding.changes_service or rebinding.changes_account):
            return []
        at, by = now_by(workspace)
        return [Bound(at=at, by=by, base_url=rebinding.base_url, account=rebinding.account, forced=force)]

    record_entries(workspace, name, draft, "rebound")


def _rebinding(workspace: Workspace, name: TargetName, record: Record) -> Rebinding:
    base_url = sound_targets(workspace)[name].base_url
    return Rebinding(name, record.base_url, base_url, record.account, _account(workspace, name))


def _account(workspace: Workspace, name: TargetName) -> str | None:
    """The account in the settings; None if they name none, and the record keeps its own."""
    from reconciler.operations.settings import credentials  # noqa: PLC0415 - it loads pydantic

    try:
        return credentials(name, workspace.variables).account()
    except SettingsError:
        return None
