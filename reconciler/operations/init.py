"""`init`: writes the files of a new project, or adds an age key or a workflow to an existing project.

Nothing is overwritten. If anything fails, all files written so far are deleted.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from contextlib import ExitStack, suppress
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from reconciler.desired import load, load_sound, schema
from reconciler.disk import private_directory, sync_directory, written_beside
from reconciler.errors import ConfigError, Message, Refused, SettingsError, Step
from reconciler.model.address import NAME, SPELLING, TargetName

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

REGIONS: Final = ("europe", "usa")
ENVIRONMENTS: Final = ("staging", "production")
"""The documented environments (service description, section 1)."""

BRANCH: Final = "git:reconciler-state"
FILE: Final = "state.jsonl"
"""The places of the record that `init` proposes."""

_SHARED = re.compile("git:|git[+]|(?!file:)[a-z0-9]+://")
"""Matches the start of a place that several machines can use."""

WORKFLOW: Final = ".github/workflows/subscriptions.yml"

_KINDS: Final = ("az", "file", "git", "gs", "postgresql", "s3")
_IGNORED: Final = (".env", "sandbox.env", "sandbox/", "notifications.jsonl", "plan.json")
_SETTINGS = "--region, --environment, --state"


class Choices(Struct, frozen=True):
    """The choices that determine the files. `state` is the place of the record, or "" for the proposed place.

    `config` is the name of the configuration directory. `begins_here` is false in CI, where no person can begin the
    record.
    """

    regions: tuple[str, ...] = REGIONS
    environments: tuple[str, ...] = ENVIRONMENTS
    state: str = ""
    age_key: bool = False
    github: bool = False
    config: str = "config"
    begins_here: bool = True


class Written(Struct, frozen=True):
    """The result of `init`: the files written (relative to the project), the private key, if any, and next steps."""

    files: tuple[str, ...]
    key: Path | None
    steps: tuple[Step, ...]


def proposed_state(directory: Path, *, github: bool = False) -> str:
    """Return the proposed place of the record: a branch if `github` is true or there is a git remote, else a file."""
    return BRANCH if github or _git(directory, "remote") else FILE


def initialize(directory: Path, choices: Choices, data_directory: Path) -> Written:
    """Write the files of a new project, or the missing files of an existing one.

    Raises ConfigError, OSError, Refused if a file already exists, and SettingsError if a choice is unusable.
    """
    config = directory / choices.config
    existing = sorted(str(path.relative_to(directory)) for path in config.glob("**/*.y*ml")) if config.is_dir() else []
    if existing and not (choices.age_key or choices.github):
        raise _exist(existing, directory)
    with ExitStack() as undo:
        written = (_add if existing else _create)(directory, choices, data_directory, undo)
        undo.pop_all()
    return written


def _create(directory: Path, choices: Choices, data_directory: Path, undo: ExitStack) -> Written:
    """Write the files of a new project."""
    state = choices.state or proposed_state(directory, github=choices.github)
    _check(choices, state)
    recipient, key = _make_key(data_directory, undo) if choices.age_key else ("", None)
    files = _config(choices, state, recipient)
    steps = [Step("replace the addresses in config/ that end in .example with those that the operator gave you")]
    ignored = "".join(f"{line}\n" for line in _IGNORED)
    if (directory / ".gitignore").exists():
        steps.append(Step(f"add these lines to .gitignore: {', '.join(_IGNORED)}"))
    else:
        note = "" if _SHARED.match(state) else state
        files[".gitignore"] = _rendered("gitignore", {"ignored": ignored, "state": note})
    if choices.github:
        files |= _workflow(directory, choices.environments, state)
    _write(directory, files, undo)
    following = [Step("check the configuration", ("reconciler", "validate"))]
    if choices.begins_here:
        begin = Step("begin the record, with --complete if no subscription exists yet", ("reconciler", "state", "init"))
        following += [begin, Step("to see what an apply creates, run", ("reconciler", "plan"))]
    else:
        following += [Step("begin the record once, from your own machine")]
    if key is None and _SHARED.match(state):
        text = "`apply` refuses to save create responses unencrypted; to create an age key for them, run"
        following.append(Step(text, ("reconciler", "init", "--age-key")))
    where = [] if directory.resolve() == Path.cwd() else [Step("go to the project directory", ("cd", str(directory)))]
    return Written(tuple(files), key, (*_key_steps(key), *where, *steps, *following, *_github_steps(files)))


def _add(directory: Path, choices: Choices, data_directory: Path, undo: ExitStack) -> Written:
    """Add the missing files to an existing project, and change nothing else."""
    desired, problem = load_sound(directory / choices.config)
    if problem is not None:
        raise problem
    files: dict[str, str] = {}
    key = None
    if choices.age_key and not desired.recipients:
        recipient, key = _make_key(data_directory, undo)
        files[f"{choices.config}/recipients.yaml"] = _rendered("recipients.yaml", {"recipient": recipient})
    if choices.github and not os.path.lexists(directory / WORKFLOW):
        declared, given = {target.environment for target in desired.targets}, choices.environments
        # Environments named by --environment come in its order, after all others.
        environments = sorted(sorted(declared), key=lambda name: given.index(name) if name in given else -1)
        files |= _workflow(directory, environments, choices.state or desired.state or FILE)
    _write(directory, files, undo)
    return Written(tuple(files), key, (*_key_steps(key), *_github_steps(files)))


def _check(choices: Choices, state: str) -> None:
    """Raise SettingsError if a name or the place is invalid, or if `config/` would be invalid with these choices."""
    for name in (*choices.regions, *choices.environments):
        if not NAME.fullmatch(name):
            raise SettingsError(Message("invalid-name", f"not a valid name: {name!r}", _SETTINGS, (Step(SPELLING),)))
    if state.lower() in _KINDS:
        what = f"{state} names a kind of store, but not a place in it"
        steps = (Step("for example: git:reconciler-state, s3://BUCKET/PREFIX or postgresql://HOST/DATABASE"),)
        raise SettingsError(Message("place-is-kind", what, "--state", steps))
    with TemporaryDirectory() as folder:
        for name, text in _config(choices, state, "").items():
            Path(folder, PurePosixPath(name).name).write_text(text, encoding="utf-8")
        try:
            load(Path(folder))
        except ConfigError as problem:
            first = problem.messages[0]
            raise SettingsError(Message(first.name, first.what, _SETTINGS, first.steps)) from None


def _config(choices: Choices, state: str, recipient: str) -> dict[str, str]:
    """Return the text of each file in a new `config/`, by path. Every region has every environment."""
    regions, environments = (tuple(dict.fromkeys(names)) for names in (choices.regions, choices.environments))
    values = {
        "regions": regions,
        "environments": environments,
        "target": f"{regions[-1]}/{environments[-1]}",
        "prefix": TargetName(f"{regions[0]}/{environments[0]}").variable_prefix,
        "state": json.dumps(state, ensure_ascii=False) if set(state) & set(" #'\"{}[]*&!|>%@`,") else state,
        "recipient": recipient,
    }
    texts = {name: _rendered(name, values) for name in ("targets.yaml", "subscriptions.yaml")}
    texts[".schema.json"] = json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"
    return {f"{choices.config}/{name}": text for name, text in texts.items()}


def _workflow(directory: Path, environments: Sequence[str], state: str) -> dict[str, str]:
    """Return the text of the workflow, by path. The workflow is for the default branch.

    Raises SettingsError if the workflow would not work in this repository or with this place of the record.
    """
    top = _git(directory, "rev-parse", "--show-toplevel")
    if top and Path(top).resolve() != directory.resolve():
        what = f"GitHub reads workflows only at the top of the repository, {top}"
        raise SettingsError(Message("not-repository-top", what, "--github", (Step("run this command there"),)))
    if not _SHARED.match(state):
        what = "a runner's disk is lost with the job, so the workflow needs the record elsewhere"
        step = Step(f"set `state:` in config/, or use --state, for example {BRANCH}")
        raise SettingsError(Message("record-on-runner", what, "--github", (step,)))
    head = _git(directory, "symbolic-ref", "--short", "refs/remotes/origin/HEAD").removeprefix("origin/")
    branch = head or _git(directory, "branch", "--show-current") or "main"
    workflows, at = _published()
    values = {"branch": json.dumps(branch), "environments": environments, "workflows": workflows, "at": at}
    return {WORKFLOW: _rendered("subscriptions.yml", values)}


def _published() -> tuple[str, str]:
    """Return the path of the reusable workflows in the repository of this program, and `@COMMIT` with their commit.

    If the program was not installed from a repository, the path begins with `$`, and the commit is "".
    """
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415 - only for a workflow

    with suppress(PackageNotFoundError):
        origin = json.loads(distribution("reconciler").read_text("direct_url.json") or "{}")
        host = re.escape(os.environ.get("GH_HOST") or "github.com")
        named = re.fullmatch(rf"(?:https|ssh)://(?:git@)?{host}/([\w.-]+/[\w.-]+?)(?:\.git)?/?", origin.get("url", ""))
        if named and (commit := origin.get("vcs_info", {}).get("commit_id")):
            return f"{named[1]}/.github/workflows", f"@{commit}"
    return "$/.github/workflows", ""


def _key_steps(key: Path | None) -> list[Step]:
    if key is None:
        return []
    text = f"copy the private key, {key}, to where your team keeps its secrets, never into the repository"
    return [Step(f"{text}; without it, create responses cannot be read")]


def _github_steps(files: Mapping[str, str]) -> list[Step]:
    if WORKFLOW not in files:
        return []
    copy = (
        "in the workflow, replace `$` with the repository of reconciler, and add its commit: OWNER/REPOSITORY/…@COMMIT"
    )
    page = "on GitHub, create environments, secrets and rulesets; see .github/actions/reconcile/README.md of reconciler"
    return [*([Step(copy)] if "uses: $/" in files[WORKFLOW] else []), Step(page)]


def _make_key(data_directory: Path, undo: ExitStack) -> tuple[str, Path]:
    """Return a new age public key and the file of its private key, which only the owner can read."""
    import pyrage  # type: ignore[import-untyped]  # noqa: PLC0415 - only for a key

    identity = pyrage.x25519.Identity.generate()
    recipient = str(identity.to_public())
    folder = private_directory(private_directory(data_directory) / "identities")
    path = folder / f"{recipient[:16]}.txt"
    with written_beside(path, f"# public key: {recipient}\n{identity}\n".encode(), 0o600) as beside:
        os.link(beside, path)
    undo.callback(path.unlink)
    sync_directory(folder)
    return recipient, path


def _rendered(name: str, values: Mapping[str, Any]) -> str:
    """Return a template filled with values. Delimiters are [[ ]] and [% %], because YAML and workflows use braces."""
    import jinja2  # noqa: PLC0415 - no other command needs it

    environment = jinja2.Environment(
        block_start_string="[%", block_end_string="%]", variable_start_string="[[", variable_end_string="]]",
        trim_blocks=True, keep_trailing_newline=True, autoescape=False, undefined=jinja2.StrictUndefined,  # noqa: S701 - no HTML
    )  # fmt: skip
    text = Path(__file__).with_name("templates").joinpath(f"{name}.j2").read_text(encoding="utf-8")
    return environment.from_string(text).render(values)


def _write(directory: Path, files: Mapping[str, str], undo: ExitStack) -> None:
    """Write all files. Raises Refused if one already exists, or if a directory is needed where a file exists."""
    in_the_way = {
        str(path)
        for name in files
        for path in (PurePosixPath(name), *PurePosixPath(name).parents)
        if os.path.lexists(directory / path) and (path == PurePosixPath(name) or not (directory / path).is_dir())
    }
    if in_the_way:
        raise _exist(sorted(in_the_way), directory)
    for name, text in files.items():
        path = directory / name
        for parent in reversed(path.parents):
            if not parent.exists():
                parent.mkdir()
                undo.callback(_remove_directory, parent)
        with path.open("x", encoding="utf-8") as file:
            undo.callback(path.unlink)
            file.write(text)


def _exist(names: Sequence[str], directory: Path) -> Refused:
    what = f"{', '.join(names)} already exist{'s' if len(names) == 1 else ''}; nothing was written"
    steps = (
        Step("to add what is missing, use --age-key or --github"),
        Step("to start over, use another directory"),
    )
    return Refused(Message("project-exists", what, str(directory), steps))


def _remove_directory(path: Path) -> None:
    with suppress(OSError):  # the directory is no longer empty
        path.rmdir()


def _git(directory: Path, *words: str) -> str:
    """Return the first line of git's output, or "" if git fails or is not installed."""
    existing = next(path for path in (directory.absolute(), *directory.absolute().parents) if path.is_dir())
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    try:
        command = ("git", "-C", str(existing), *words)
        done = subprocess.run(command, capture_output=True, check=False, env=environment, timeout=10)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return os.fsdecode(done.stdout).split("\n", 1)[0].strip() if done.returncode == 0 else ""
