"""What of `config/` is free of mistakes, for commands that mend the record: a mistake elsewhere must not stop them."""

from collections.abc import Mapping
from functools import lru_cache

from reconciler.desired import load_sound
from reconciler.errors import ConfigError
from reconciler.model.address import TargetName
from reconciler.model.desired import Target
from reconciler.operations.pinned import given_recipients
from reconciler.operations.workspace import Workspace


@lru_cache(maxsize=1)
def sound_targets(workspace: Workspace) -> Mapping[TargetName, Target]:
    """The declared targets without a mistake; warns once if `config/` has mistakes."""
    try:
        return workspace.desired.targets
    except ConfigError as problem:
        _warn(workspace, problem, "using the targets without mistakes")
    return load_sound(workspace.config, workspace.variables.override, workspace.variables.secrets())[0].targets


def recipients_in_use(workspace: Workspace) -> tuple[str, ...]:
    """The keys to encrypt to. Raises ConfigError where only a configuration with mistakes could tell them."""
    try:
        return workspace.desired.recipients
    except ConfigError as problem:
        recipients = given_recipients(workspace.variables)
        if not recipients:
            raise
        _warn(workspace, problem, "using the recipients in RECONCILER_RECIPIENTS")
    return recipients


def _warn(workspace: Workspace, problem: ConfigError, instead: str) -> None:
    workspace.warn_once(f"{problem}: {instead}; to list the mistakes, run: reconciler validate")
