"""What a sandbox is started with: the targets that it plays, and the file that points commands at it."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from reconciler.disk.durable import replace_file
from reconciler.errors import SettingsError
from reconciler.operations.sandbox_events import SANDBOX_URL
from reconciler.operations.workspace import Workspace
from reconciler.sandbox.targets import DOCUMENTED_TARGETS


def sandbox_targets(workspace: Workspace) -> Sequence[str]:
    """The targets of `config/`; the documented ones if there is none, and none was asked for. Raises ConfigError."""
    if workspace.config.exists() or workspace.setting("config", "RECONCILER_CONFIG", ""):
        return tuple(map(str, workspace.desired.targets))
    return DOCUMENTED_TARGETS


def check_env_file(path: Path) -> None:
    """Raises SettingsError for a file that cannot be read, or was not written by a sandbox: it may hold credentials."""
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return
    except OSError as problem:
        raise SettingsError(f"cannot be read: {problem.strerror}", where=f"--env-file {path}") from None
    if not any(line.startswith(f"{SANDBOX_URL}=".encode()) for line in lines):
        raise SettingsError(
            "the file exists, and was not written by a sandbox", where=f"--env-file {path}", remedy="use another file"
        )


def write_env_file(path: Path, variables: Iterable[tuple[str, str]]) -> None:
    """Write the variables to a file, for its owner only. Raises SettingsError."""
    text = "".join(f"{name}={value}\n" for name, value in variables)
    try:
        replace_file(path, text.encode(), 0o600)
    except OSError as problem:
        raise SettingsError(f"cannot be written: {problem.strerror}", where=f"--env-file {path}") from None
