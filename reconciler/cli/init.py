"""`reconciler init`"""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath
from shlex import quote
from typing import TYPE_CHECKING, TypeVar

import click

from reconciler.cli.github_setup import set_up_repository
from reconciler.cli.options import cli_command
from reconciler.cli.terminal.commands import with_flags
from reconciler.cli.terminal.questions import ask_choice, ask_line, shows_questions
from reconciler.errors import SettingsError, StateError
from reconciler.operations.new_project.config import ENVIRONMENTS, REGIONS
from reconciler.operations.new_project.ignored import SANDBOX_STATE
from reconciler.operations.new_project.next_steps import next_steps
from reconciler.operations.new_project.project import Choices, check_names, create, record_directory, refuse_existing
from reconciler.operations.new_project.workflow import BRANCH, WORKFLOW, is_for_workflow
from reconciler.operations.workspace import Workspace
from reconciler.reports.line import Line
from reconciler.state.stores.location import holds_password

if TYPE_CHECKING:
    from collections.abc import Callable

    from reconciler.cli.terminal.terminal import Terminal

T = TypeVar("T")

_NAMES = """\
Which regions and environments of the service have you? Each pair is a target.
Type names with spaces between them; Enter takes those in brackets."""

_STORES = """\
Where will the state record be? It is the only source of truth: choose once.
  state                  files here, to commit: one user on one machine
  git:reconciler-state   a branch of this repository: a team, or you and CI
  s3://BUCKET/PREFIX     an object store (gs:// and az:// too): many machines
                         that share a bucket, but no git repository
  postgresql://HOST/DB   a database: many machines that share a PostgreSQL"""

_RESPONSES = """\
With an age key, the secrets in create responses are stored encrypted, in the
state record. Without one, they are in private files on the machine that
applies: no other machine can show them, and CI refuses to apply."""


@cli_command("init")
@click.argument("directory", metavar="[DIR]", required=False, default=".", type=click.Path(path_type=Path))
@click.option(
    "--region",
    "regions",
    multiple=True,
    metavar="REGION",
    help="Any region, such as europe; repeatable; default: europe, usa.",
)
@click.option(
    "--environment", "environments", multiple=True, metavar="ENVIRONMENT",
    help="Any environment, such as staging; repeatable; default: staging, production.",
)  # fmt: skip
@click.option("--age-key", is_flag=True, help="Create an age key pair, to encrypt create responses.")
@click.option("--github", is_flag=True, help="Write a GitHub Actions workflow, with the state record on a branch.")
@click.option("--apply", "set_up", is_flag=True, help="With --github: set up the repository on GitHub too, using gh.")
def command(
    terminal: Terminal,
    directory: Path,
    regions: tuple[str, ...],
    environments: tuple[str, ...],
    age_key: bool,
    github: bool,
    set_up: bool,
) -> None:
    """Write the files of a new project.

    Writes a commented config/ that is valid as it is, its JSON Schema for editors, and a .gitignore that fits the
    store of the state record (--state) to DIR, by default the working directory. Without options, or with --age-key
    alone, it asks, if stdin and stderr are a terminal and CI is not set. Overwrites nothing: if one of the files
    exists, none is written.

    With --github --apply in a clone, sets up what the workflow needs on GitHub, and writes the files only if there is
    no workflow yet. Shows what is missing and asks first; run again, it changes nothing.
    """
    if set_up and not github:
        raise click.UsageError("--apply needs --github")
    workspace = Workspace(terminal)
    if set_up and (directory / WORKFLOW).exists():
        set_up_repository(terminal, workspace, directory)
        return
    given = regions or environments or github or "state" in terminal.flags
    if given or workspace.in_ci or not shows_questions():  # some runners give a terminal that nobody is at
        choices = Choices(
            regions=check_names(regions or REGIONS, "--region"),
            environments=check_names(environments or ENVIRONMENTS, "--environment"),
            state=_proposed(terminal, workspace, BRANCH if github else "state"),
            age_key=age_key,
            github=github,
        )
        _tell_of_repository(terminal, directory, choices.state)
    else:
        refuse_existing(workspace, directory, github=False)  # before any question
        choices = _ask(terminal, workspace, directory, age_key=age_key)
    _write(terminal, workspace, directory, choices)
    if set_up:
        set_up_repository(terminal, workspace, directory)


def _write(terminal: Terminal, workspace: Workspace, directory: Path, choices: Choices) -> None:
    """Write the files, and say what comes next."""
    project = create(workspace, directory, choices)
    terminal.print_line(f"Written to {os.path.abspath(directory)}:")  # noqa: PTH100 - as it was named, links too
    for name in project.files:
        terminal.print_line(f"  {name}")
    # The location of the record is among the steps, and a flag would override it in the sandbox.
    flags = {name: value for name, value in terminal.flags.items() if name != "state"}
    steps = next_steps(choices, project, None if str(directory) == "." else quote(str(directory)))
    terminal.print_document("\n".join(with_flags(step, flags) for step in steps))


def _ask(terminal: Terminal, workspace: Workspace, directory: Path, *, age_key: bool) -> Choices:
    """The answers to questions, each with its default; not asked for an age key if there is to be one."""

    def names(text: str) -> tuple[str, ...]:
        return check_names((text,), "the answer")

    def store(text: str) -> str:
        record_directory(workspace, text)
        _tell_of_repository(terminal, directory, text)
        return text

    for line in _NAMES.splitlines():
        terminal.say_line(Line(line))
    regions = _ask_until_valid(terminal, "Regions", " ".join(REGIONS), names)
    environments = _ask_until_valid(terminal, "Environments", " ".join(ENVIRONMENTS), names)
    for line in _STORES.splitlines():
        terminal.say_line(Line(line))
    default = _proposed(terminal, workspace, "state")
    state = _ask_until_valid(terminal, "State record", default, store, _default_place(workspace, default))
    shared = record_directory(workspace, state) is None
    if not age_key:
        for line in _RESPONSES.splitlines():
            terminal.say_line(Line(line))
        age_key = ask_choice("Create an age key, to encrypt create responses?", default=shared)
    github = is_for_workflow(state, environments) and ask_choice("Write a GitHub Actions workflow?", default=False)
    return Choices(regions, environments, state, age_key, github)


def _proposed(terminal: Terminal, workspace: Workspace, default: str) -> str:
    """The place that --state or RECONCILER_STATE gives, else `default`: also where the variable is of a sandbox."""
    place = workspace.setting("state", "RECONCILER_STATE", default)
    if "state" in terminal.flags or workspace.variables.get("RECONCILER_STATE") is None:
        return place
    if SANDBOX_STATE.strip("/") not in PurePosixPath(place).parts:
        return place
    shown = "" if holds_password(place) else f" ({place})"
    terminal.say(
        f"RECONCILER_STATE in {workspace.variables.source('RECONCILER_STATE')}{shown} is the place of a sandbox's"
        " record, so it is not proposed for that of the real service"
    )
    return default


def _default_place(workspace: Workspace, default: str) -> str:
    """The default for the state record as the question shows it: one from a variable may be left over in the shell."""
    source = workspace.variables.source("RECONCILER_STATE")
    if source is None or default != workspace.variables.get("RECONCILER_STATE"):
        return default
    shown = "the value" if holds_password(default) else default
    return f"{shown}, from RECONCILER_STATE in {source}"


def _tell_of_repository(terminal: Terminal, directory: Path, state: str) -> None:
    """Tell of a branch of this repository where there is none."""
    here = directory.absolute()
    if state.lower().startswith("git:") and not any((above / ".git").exists() for above in (here, *here.parents)):
        terminal.say(
            f"{here} is in no git repository, and {state} needs one with a remote: before `state init`, run there:"
            " git init && git remote add origin URL"
        )


def _ask_until_valid(
    terminal: Terminal, question: str, default: str, check: Callable[[str], T], shown: str | None = None
) -> T:
    """The first answer that `check` takes; `shown` is the default as the question shows it."""
    while True:
        try:
            return check(ask_line(question, default, shown))
        except (SettingsError, StateError) as problem:
            terminal.print_problem(problem)
