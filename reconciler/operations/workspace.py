"""What a command works with, built in one place from flags, variables and files."""

from __future__ import annotations

import os
import platform
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from reconciler.errors import ConfigError, RecordMissing, SelectionError, SettingsError, StateError
from reconciler.model.selection import Within
from reconciler.operations.actor import by_run, in_actions
from reconciler.operations.variables import RECIPIENTS, Variables, number_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from reconciler.model.address import TargetName
    from reconciler.model.desired import Desired, Target
    from reconciler.model.record import Record
    from reconciler.operations.notices import Notices
    from reconciler.state.heads.known_head import KnownHead
    from reconciler.state.heads.remembered import Heads
    from reconciler.state.journal.chain import Journal
    from reconciler.state.private.responses import PrivateFiles
    from reconciler.state.stores.store import Store


class Workspace:
    """The settings of this run, and what follows from them; each part is built when it is first used."""

    def __init__(self, notices: Notices, within: str | None = None) -> None:
        """`within`: as in `Within.of`. Raises SettingsError if the working directory is gone, and SelectionError."""
        try:
            here = Path.cwd()
        except OSError as problem:
            raise SettingsError(
                f"the working directory cannot be used: {problem.strerror}", remedy="change to another directory"
            ) from None
        self.variables = Variables(os.environ, here)
        self.notices = notices
        self.within = Within.of(within)
        self._warned: set[str] = set()

    def warn_once(self, message: str) -> None:
        """Warn on stderr, unless the same warning was given before."""
        if message not in self._warned:
            self._warned.add(message)
            self.notices.warn(message)

    # Settings

    def setting(self, flag: str, variable: str, default: str) -> str:
        """The flag, else the variable, else the default. Raises SettingsError for an empty flag."""
        given = self.notices.flags.get(flag)
        if given == "":
            raise SettingsError(
                "the value is empty", where=f"--{flag.replace('_', '-')}", remedy="set a value or remove the option"
            )
        return str(given or self.variables.get(variable) or default)

    @cached_property
    def timeout(self) -> float:
        """Seconds for one call to the service, in all. Raises SettingsError."""
        return number_of(self.setting("timeout", "RECONCILER_TIMEOUT", "30"), float, "--timeout", 3600)

    @cached_property
    def parallelism(self) -> int:
        """Create calls in flight at most. Raises SettingsError."""
        return int(number_of(self.setting("parallelism", "RECONCILER_PARALLELISM", "4"), int, "--parallelism", 64))

    @cached_property
    def cache_directory(self) -> Path:
        """The directory of the token cache and the remembered heads. Raises SettingsError."""
        given = self.setting("cache_dir", "RECONCILER_CACHE_DIR", "")
        return (Path(given) if given else _home("XDG_CACHE_HOME", ".cache") / "reconciler").absolute()

    @cached_property
    def data_directory(self) -> Path:
        """Where unencrypted create responses are stored."""
        return (_home("XDG_DATA_HOME", ".local/share") / "reconciler").absolute()

    @property
    def in_ci(self) -> bool:
        """Whether this is a CI runner, whose disk is lost with the job."""
        return bool(os.environ.get("CI"))

    def by(self) -> Mapping[str, str]:
        """Who runs the command, for journal entries."""
        if in_actions():
            return by_run()
        try:
            from getpass import getuser  # noqa: PLC0415 - it loads what reads passwords

            user = getuser()
        except (KeyError, OSError):  # no such user, as in many containers
            user = f"uid {os.getuid()}"
        return {"user": user, "host": platform.node()}

    # Values

    @cached_property
    def desired(self) -> Desired:
        """The desired state. Raises ConfigError. Its warnings are printed once."""
        desired = self.read_desired()
        for warning in desired.warnings:
            self.notices.warn(str(warning))
        return desired

    def read_desired(self) -> Desired:
        """The desired state, read now, with the environment's overrides. Raises ConfigError and SettingsError."""
        from reconciler.desired import load  # noqa: PLC0415 - a command pays only for what it uses

        self.notices.say_more(f"desired state: {self.config}")
        desired = load(self.config, self.variables.override, self.variables.secrets())
        if self.variables.get(RECIPIENTS) is None:
            return desired
        from reconciler.operations.pinned import with_recipients  # noqa: PLC0415 - few runs need it

        return with_recipients(desired, self.variables)

    @property
    def config(self) -> Path:
        """The directory or the file that holds the desired state. Raises SettingsError."""
        return Path(self.setting("config", "RECONCILER_CONFIG", "config"))

    def declared_target(self, name: str, where: str) -> Target:
        """The declared target of that name. Raises SelectionError."""
        for target in self.desired.targets.values():
            if target.name == name:
                return target
        from reconciler.model.spelling import suggestion  # noqa: PLC0415 - needed only to explain an error

        unknown = f"target not declared in config/{suggestion([name], self.desired.targets)}"
        raise SelectionError(
            "expected one target, not a pattern" if "*" in name else unknown,
            where=where,
            remedy=f"declared targets: {', '.join(self.desired.targets) or 'none'}",
        )

    # The state record

    @cached_property
    def store(self) -> Store:
        """The store of the state record. Raises SettingsError."""
        from reconciler.state.stores.location import holds_password  # noqa: PLC0415

        store = self._open(self.setting("state", "RECONCILER_STATE", "state"))
        if holds_password(str(self.notices.flags.get("state"))):
            self.notices.warn(
                "--state contains a password, which every user sees in the process list; use RECONCILER_STATE instead"
            )
        return store

    def at(self, place: str, argument: str) -> Workspace:
        """The same with the store that `place`, the `argument` of a command, names. Raises SettingsError."""
        from reconciler.state.stores.location import holds_password  # noqa: PLC0415

        other = Workspace(self.notices)
        other.heads, other.within = self.heads, self.within
        try:
            other.store = self._open(place)
        except SettingsError as problem:
            raise SettingsError(problem.what, where=argument, remedy=problem.remedy) from None
        if holds_password(place):
            self.notices.warn(f"{argument} contains a password, which every user sees in the process list")
        return other

    def _open(self, place: str) -> Store:
        from reconciler.state.stores.location import open_store  # noqa: PLC0415

        store = open_store(place, self.cache_directory, os.environ)
        self.notices.say_more(f"state record: {store.location}; last known heads: {self.cache_directory}")
        return store

    def warn_of_host_only_locks(self) -> None:
        """Warn of a store in a directory that other hosts may share, but not its locks."""
        if self.store.path is None:
            return
        from reconciler.disk.mounts import host_only_locks  # noqa: PLC0415

        if kind := host_only_locks(self.store.path):
            self.notices.warn(
                f"{self.store.location}: file locks on this file system ({kind}) may not work across hosts; run"
                " reconciler on one host only, or use --state git:BRANCH"
            )

    @cached_property
    def heads(self) -> Heads:
        """The heads remembered on this machine, and those that a witness has seen. Raises SettingsError."""
        from reconciler.state.heads.remembered import Heads  # noqa: PLC0415

        heads = Heads(self.cache_directory)
        if kind := self.variables.get("RECONCILER_WITNESS"):
            from reconciler.operations.witness import consult  # noqa: PLC0415 - few runs have a witness

            consult(heads, kind, self.variables, self.notices)
        return heads

    @cached_property
    def responses(self) -> PrivateFiles:
        """The private files of this user that hold create responses."""
        from reconciler.state.private.responses import PrivateFiles  # noqa: PLC0415

        return PrivateFiles(self.data_directory / "responses")

    def read(self, target: TargetName, *, closed: bool = False) -> Journal:
        """A target's journal, read now; `closed`: even if it was closed. Raises StateError."""
        from reconciler.state.heads.tracking import read_journal  # noqa: PLC0415

        journal = read_journal(self.store, target, self.heads, closed=closed)
        self.say_what_was_read(journal.record())
        return journal

    def read_or_explain(self, target: TargetName) -> Journal:
        """As `read`, for a command that ends without a journal: its error names the one that git has, if any."""
        try:
            return self.read(target)
        except RecordMissing:
            raise self.missing_records([target]) from None

    def say_what_was_read(self, record: Record | KnownHead) -> None:
        """Tell whoever asked for more; and warn if the head could not be remembered."""
        if self.heads.warning:
            self.notices.warn(self.heads.warning)
            self.heads.warning = None
        self.notices.say_more(f"{record.target}: {record.entries} entries, head {record.head}")

    def targets_seen(self) -> set[TargetName]:
        """The targets of which this machine has seen a record in the store. Raises SettingsError."""
        return self.heads.seen().targets_at(self.store.place)

    def recorded_targets(self) -> list[TargetName]:
        """The targets that have a record. Raises RecordMissing if none has: the location is probably wrong."""
        names = self.store.targets()
        if not names:
            locations = sorted({seen.location for seen in self.heads.seen().records.values()})
            hint = f" (records were last seen at {', '.join(locations[:3])})" if locations else ""
            raise RecordMissing(
                "no state record here",
                where=self.store.location,
                remedy=f"check --state{hint}; to initialize one, run: reconciler state init",
            )
        return names

    def known_targets(self) -> list[TargetName]:
        """The targets that have a journal, had one that this machine knew, or are declared.

        Warns of mistakes in `config/`, and raises ConfigError only if nothing else is known. Raises StateError.
        """
        known = set(self.store.targets()) | self.targets_seen()
        try:
            known |= set(self.desired.targets)
        except ConfigError as problem:  # what damaged the record may have damaged config/ too
            self.notices.warn(f"{problem}: checking existing journals only; missing ones are not detected")
            if not known:
                raise
        return sorted(known)

    def usable_records(
        self, read: Callable[[TargetName], Record], targets: Iterable[TargetName]
    ) -> tuple[list[Record], list[TargetName], dict[TargetName, StateError]]:
        """The records of targets that `read` can use; the targets without one; and why others are damaged or lost."""
        records, missing, problems = [], [], {}
        for target in targets:
            try:
                records.append(read(target))
            except RecordMissing:
                missing.append(target)
            except StateError as problem:
                problems[target] = problem
        return records, missing, problems

    def missing_records(self, targets: Iterable[TargetName], *, all_declared: bool = False) -> RecordMissing:
        """The one error for targets without a record; `all_declared` as in `tracking.missing_records`."""
        from reconciler.state.heads.tracking import missing_records  # noqa: PLC0415 - needed only to explain an error

        seen = {target: self.heads.seen(target) for target in targets}
        return missing_records(self.store, seen, all_declared=all_declared)

    def records(self, targets: Iterable[TargetName]) -> dict[TargetName, Record]:
        """The records of targets. Raises StateError for one that is missing, damaged or older than what was seen."""
        return {target: self.read(target).record() for target in targets}


def _home(variable: str, below: str) -> Path:
    """A directory as the XDG specification has it. Raises SettingsError if there is no home directory."""
    given = os.environ.get(variable)
    if given and Path(given).is_absolute():
        return Path(given)
    from pwd import getpwuid  # noqa: PLC0415 - only if HOME is not set

    try:
        return Path(os.environ.get("HOME") or getpwuid(os.getuid()).pw_dir) / below
    except KeyError:
        raise SettingsError("no home directory found", where=variable, remedy=f"set HOME or {variable}") from None
