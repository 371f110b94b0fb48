"""Checks the configuration: every mistake in it, and what is probably one."""

from reconciler.errors import ConfigError
from reconciler.mistake import Mistake, Place, Validation
from reconciler.model.desired import Desired
from reconciler.operations.workspace import Workspace


def validate(workspace: Workspace) -> Validation:
    """What the configuration comes to. Raises SettingsError."""
    try:
        desired = workspace.read_desired()
    except ConfigError as problem:
        warnings = sorted({*problem.warnings, *problem.unread})
        return Validation(problem.mistakes, tuple(warnings), problem.count)
    warnings = sorted({*desired.warnings, *desired.unread, *_empty(workspace, desired)})
    return Validation((), tuple(warnings), 0, len(desired.subscriptions), len(desired.targets))


def _empty(workspace: Workspace, desired: Desired) -> list[Mistake]:
    """A warning of a configuration without subscriptions."""
    if desired.subscriptions:
        return []
    at = Place(str(workspace.config), 1, 1)
    return [Mistake(at, "the configuration defines no subscription", "add one under `subscriptions:`")]
