"""Decides which files a new project needs, and writes all of them or none."""

import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from os.path import lexists, relpath
from pathlib import Path, PurePosixPath
from shlex import quote
from tempfile import TemporaryDirectory

from msgspec import Struct

from reconciler.desired import load
from reconciler.desired.schema import schema
from reconciler.errors import ConfigError, Refused, SettingsError
from reconciler.model.address import NAME, SPELLING
from reconciler.operations.new_project.age_key import KeyFile, make_key
from reconciler.operations.new_project.config import CONFIG_FILES, SCHEMA, config_files
from reconciler.operations.new_project.ignored import gitignore
from reconciler.operations.new_project.workflow import BRANCH, WORKFLOW, installed_from, published_at, workflow
from reconciler.operations.workspace import Workspace
from reconciler.reports.documents import render
from reconciler.state.stores.location import open_store
from reconciler.values import Discreet

_GIT = r"(?i)git(:|\+[^/]*:|\+/)"

KINDS = {
    "git": f"for a branch of this repository, write git:BRANCH, for example {BRANCH}",
    "postgres": "for a database, write postgresql://HOST/DATABASE",
    "postgresql": "for a database, write postgresql://HOST/DATABASE",
    "s3": "for a bucket, write s3://BUCKET/PREFIX",
    "gs": "for a bucket, write gs://BUCKET/PREFIX",
    "gcs": "for a bucket, write gs://BUCKET/PREFIX",
    "az": "for a container, write az://CONTAINER/PREFIX",
    "azure": "for a container, write az://CONTAINER/PREFIX",
    "file": "for a directory, write its path, for example state",
    "files": "for a directory, write its path, for example state",
}
"""Kinds of stores as they are called, and how a store of each kind is written."""


class Choices(Discreet, frozen=True):
    """What the files are made for: `state` is where the record will be, as `--state` takes it, with its password."""

    unprinted = ("state",)

    regions: tuple[str, ...]
    environments: tuple[str, ...]
    state: str
    age_key: bool = False
    github: bool = False

    @property
    def targets(self) -> list[str]:
        return [f"{region}/{environment}" for environment in self.environments for region in self.regions]


class NewProject(Struct, frozen=True):
    """The files that were written, relative to the project's directory, and the private key, if one was made.

    It `needs_key` if there is none and the store of its record takes responses only encrypted; it `needs_action` if the
    workflow uses an action that is in another repository.
    """

    files: tuple[str, ...]
    key: KeyFile | None
    needs_key: bool
    needs_action: bool


def check_names(names: Sequence[str], option: str) -> tuple[str, ...]:
    """Names of regions or environments, each once; one text may have several, with commas or spaces between them.

    Raises SettingsError.
    """
    names = [name for text in names for name in text.replace(",", " ").split() or [text]]
    for name in names:
        if not NAME.fullmatch(name):
            raise SettingsError("not a valid name", where=f"{option} {name}", remedy=SPELLING)
    return tuple(dict.fromkeys(names))


def record_directory(workspace: Workspace, state: str) -> Path | None:
    """The directory of a file store, absolute; None for any other store.

    Raises SettingsError for what does not name a store, or only a kind of store, and StateError for a type of store
    that is not available. The repository of a git store may not exist yet, so that is not opened.
    """
    if how := KINDS.get(state.lower()):
        raise SettingsError(
            f"{state} names only a kind of store",
            where="the state record",
            remedy=f"{how}; for a directory of this name, write ./{state}",
        )
    if re.match(_GIT, state):
        return None
    return open_store(state, workspace.cache_directory, {}).path


def refuse_existing(workspace: Workspace, directory: Path, *, github: bool) -> None:
    """Raises Refused if a file of a project exists, or another one with which the configuration would be read."""
    config = _config(workspace)
    names = [*(str(config / name) for name in (*CONFIG_FILES, SCHEMA)), ".gitignore", *([WORKFLOW] if github else [])]
    here = directory / config
    beside = [str(config / path.relative_to(here)) for path in sorted(here.glob("**/*.y*ml"))]
    in_the_way = (_in_the_way(directory, PurePosixPath(name)) for name in names if name not in beside)
    existing = [*beside, *dict.fromkeys(name for name in in_the_way if name)]
    if existing:
        raise Refused(
            f"{', '.join(existing)}: already exist{'s' if len(existing) == 1 else ''}; nothing was written",
            where=quote(str(directory)),
            remedy="move what exists to another place and merge it afterwards, or use another directory",
        )


def _in_the_way(directory: Path, name: PurePosixPath) -> str | None:
    """What exists in the place of a file, or of a directory above it."""
    parents = [parent for parent in reversed(name.parents) if lexists(directory / parent)]
    files = [str(parent) for parent in parents if not (directory / parent).is_dir()]
    return next(iter(files), str(name) if lexists(directory / name) else None)


def _config(workspace: Workspace) -> PurePosixPath:
    return PurePosixPath(workspace.setting("config", "RECONCILER_CONFIG", "config"))


def create(workspace: Workspace, directory: Path, choices: Choices) -> NewProject:
    """Write the files of a project. Raises Refused if one exists, SettingsError, StateError and OSError.

    If anything goes wrong, nothing is left of them.
    """
    config = _config(workspace)
    record = record_directory(workspace, choices.state)
    _refuse_mistakes(config_files(choices.regions, choices.environments))
    published = published_at(installed_from()) if choices.github else None
    others = {".gitignore": gitignore(_below(directory, record, choices.state))}
    if choices.github:
        others[WORKFLOW] = workflow(choices.environments, choices.state, published)
    refuse_existing(workspace, directory, github=choices.github)
    with ExitStack() as undo:
        key = make_key(workspace.data_directory) if choices.age_key else None
        if key is not None:
            undo.callback(key.path.unlink)
        recipient = None if key is None else key.recipient
        texts = config_files(choices.regions, choices.environments, recipient)
        files = {str(config / name): text for name, text in (texts | {SCHEMA: render(schema())}).items()} | others
        _write(directory, files, undo)
        undo.pop_all()
    workspace.notices.work_is_done()
    return NewProject(tuple(files), key, record is None and key is None, choices.github and published is None)


def _below(directory: Path, record: Path | None, state: str) -> PurePosixPath | None:
    """The record's place among the files of the project, in which a relative location will be used; None if outside."""
    if record is None:
        return None
    inside = relpath(record, directory.absolute() if Path(state).is_absolute() else Path.cwd())
    return None if inside.startswith("..") else PurePosixPath(inside)


def _refuse_mistakes(texts: Mapping[str, str]) -> None:
    """Raises SettingsError for names that cannot be used together, such as two that share their variables."""
    with TemporaryDirectory() as folder:
        for name, text in texts.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        try:
            load(Path(folder), lambda _target, _field: None)
        except ConfigError as problem:
            raise SettingsError(
                f"these names cannot be used together: {problem.mistakes[0].what}",
                where="--region, --environment",
                remedy="use other names",
            ) from None


def _write(directory: Path, files: Mapping[str, str], undo: ExitStack) -> None:
    for name, text in files.items():
        path = directory / name
        for parent in reversed(path.parents):
            if not parent.exists():
                parent.mkdir()
                undo.callback(_remove_directory, parent)
        with path.open("x", encoding="utf-8") as file:
            undo.callback(path.unlink)
            file.write(text)


def _remove_directory(path: Path) -> None:
    with suppress(OSError):  # somebody has put something into it
        path.rmdir()
