"""The project that a command works on. Flags, variables and files define it; each part is built on first use."""

from __future__ import annotations

import os
import platform
import time
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from reconciler.desired import load
from reconciler.errors import Message, SettingsError, Step
from reconciler.model.desired import account_hash
from reconciler.record.journal import Journal
from reconciler.record.notes import Notes
from reconciler.stores.location import open_store
from reconciler.values import stamp

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reconciler.model.address import TargetName
    from reconciler.model.desired import Desired
    from reconciler.operations.settings import Sources
    from reconciler.record.store import Store

UNRECORDED = "unrecorded"
"""The name of the directory of recovery files, within the data directory."""

_DEFAULT_STATE = "state.jsonl"
_ACTIONS = {"actor": "GITHUB_ACTOR", "rerun_by": "GITHUB_TRIGGERING_ACTOR", "commit": "GITHUB_SHA"}


class Flags(Struct, frozen=True):
    """The values of the global flags. A flag that is not given has the value of its variable.

    A path or place is None if neither the flag nor the variable is set. If `state` is set, `record:` in `config/` is
    ignored. `timeout` is in seconds.
    """

    config: str | None = None
    state: str | None = None
    cache_dir: str | None = None
    timeout: float = 30.0
    parallelism: int = 4


class Project:
    """A project: its `config/`, its record, and the directories that it uses on this machine."""

    def __init__(self, flags: Flags, sources: Sources) -> None:
        self.flags = flags
        self.sources = sources
        self.config = Path(flags.config or "config")
        """The directory or file that holds the desired state."""
        self.in_ci = bool(os.environ.get("CI"))
        """True on a CI runner, whose disk is lost with the job."""

    @cached_property
    def desired(self) -> Desired:
        """Return the desired state, with the overrides from the settings. Raises ConfigError and SettingsError."""
        return load(self.config, self.sources.get)

    @cached_property
    def place(self) -> str:
        """Return the place of the record. A flag or variable takes precedence over `config/`; the default is a file."""
        return self.flags.state or self.desired.state or _DEFAULT_STATE

    @property
    def named_by(self) -> str:
        """Return the setting that names the record's place and overrides `config/`, or "" if there is none."""
        if self.flags.state == self.sources.get(variable := "RECONCILER_STATE"):
            return f"`{variable}` in {self.sources.source(variable)}" if self.flags.state else ""
        return "`--state`"

    @cached_property
    def journal(self) -> Journal:
        """Return the journal of the project's record. Raises SettingsError."""
        return self.journal_at(self.place, "" if self.flags.state else self.desired.record)

    def journal_at(self, place: str, expected: str = "") -> Journal:
        """Return the journal of the record at a place; `expected` is the id that it must have, or "" for any id.

        Raises SettingsError.
        """
        named_by = self.named_by if place == self.flags.state else ""
        services, is_person = self.desired.services, not self.in_ci
        return Journal(self._open(place), self.notes, services, expected, named_by=named_by, begins_here=is_person)

    def accounts(self) -> dict[TargetName, str]:
        """Return the hash of the client id of each target that has a client id in the settings."""
        ids = {name: self.sources.get(f"{name.variable_prefix}CLIENT_ID") for name in self.desired.targets}
        return {name: account_hash(client_id.strip()) for name, client_id in ids.items() if client_id}

    @cached_property
    def notes(self) -> Notes:
        """Return the heads that this machine remembers."""
        return Notes(self.data_directory / "heads")

    @property
    def cache_directory(self) -> Path:
        """Return the directory for the token cache and copies of git branches; it may be deleted at any time."""
        given = self.flags.cache_dir
        return Path(given).absolute() if given else home("XDG_CACHE_HOME", ".cache") / "reconciler"

    @property
    def data_directory(self) -> Path:
        """Return the directory for data that must not be lost: heads, unencrypted responses, recovery files."""
        return home("XDG_DATA_HOME", ".local/share") / "reconciler"

    @property
    def recovery_files(self) -> list[Path]:
        """Return the recovery files: results that an apply on this machine could not append to a record."""
        return sorted((self.data_directory / UNRECORDED).glob("*.jsonl"))

    def by(self) -> Mapping[str, str]:
        """Return who runs the command: actor, run and commit in a GitHub Actions step, otherwise user and host."""
        if os.environ.get("GITHUB_ACTIONS") == "true":
            return _run_of_actions()
        try:
            from getpass import getuser  # noqa: PLC0415 - it loads what reads passwords

            user = getuser()
        except (KeyError, OSError):  # no such user, as in many containers
            user = f"uid {os.getuid()}"
        return {"user": user, "host": platform.node()}

    now = staticmethod(time.time)
    """Returns the current time, in seconds since the epoch."""

    def at(self) -> str:
        """Return the current time as a timestamp, in the format that facts use."""
        return stamp(self.now())

    @staticmethod
    def new_id() -> str:
        """Return a random id of 128 bits for an attempt, a loss or a record: 32 hexadecimal digits."""
        return os.urandom(16).hex()

    def _open(self, place: str) -> Store:

        return open_store(place, self.config, self.cache_directory)


def home(variable: str, below: str) -> Path:
    """Return the directory that an XDG variable names, or else the path `below` in the home directory.

    Raises SettingsError if there is no home directory.
    """
    given = os.environ.get(variable)
    if given and Path(given).is_absolute():
        return Path(given)
    from pwd import getpwuid  # noqa: PLC0415 - only if HOME is not set

    try:
        return Path(os.environ.get("HOME") or getpwuid(os.getuid()).pw_dir) / below
    except KeyError:
        step = Step(f"set HOME or {variable}")
        raise SettingsError(Message("home-missing", "no home directory found", variable, (step,))) from None


def _run_of_actions() -> dict[str, str]:
    get = os.environ.get
    run = {name: get(variable, "") for name, variable in _ACTIONS.items()}
    if run["rerun_by"] == run["actor"]:
        run["rerun_by"] = ""
    if get("GITHUB_RUN_ID"):
        attempt = f"/attempts/{get('GITHUB_RUN_ATTEMPT', '1')}"
        repository = f"{get('GITHUB_SERVER_URL')}/{get('GITHUB_REPOSITORY')}"
        run["url"] = f"{repository}/actions/runs/{get('GITHUB_RUN_ID')}{attempt}"
    return {name: value for name, value in run.items() if value}
