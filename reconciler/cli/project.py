"""The commands `init`, `validate`, `doctor`, `schema` and `completion`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from reconciler import desired as room
from reconciler.cli.commands import command
from reconciler.cli.options import format_option, target_option
from reconciler.cli.progress import log_to
from reconciler.cli.terminal import annotation, has_terminal, line
from reconciler.operations import init as operation
from reconciler.operations.doctor import examine, has_failures
from reconciler.reports.doctor import doctor_document, validation_document
from reconciler.reports.document import Commands, Document, Facts, todos
from reconciler.reports.json import findings_json, render, validation_json

if TYPE_CHECKING:
    from reconciler.cli.invocation import Invocation


@command("init", "reconciler init", "reconciler init partner --region europe --age-key", "reconciler init --github")
@click.argument("directory", metavar="[DIR]", default=".", type=click.Path(path_type=Path))
@click.option("--region", "regions", multiple=True, metavar="R", help="A region that you use. Repeatable.")
@click.option("--environment", "environments", multiple=True, metavar="E", help="An environment. Repeatable.")
@click.option("--age-key", is_flag=True, help="Also create an age key pair; responses are encrypted to it.")
@click.option("--github", is_flag=True, help="Also write a workflow for GitHub Actions.")
def init(
    invocation: Invocation,
    directory: Path,
    regions: tuple[str, ...],
    environments: tuple[str, ...],
    age_key: bool,
    github: bool,
) -> None:
    """Write the files of a new project.

    In an existing project, --age-key and --github add what is missing and change nothing else. --state names the place
    of the record. In a git work tree with a remote, the default is a git branch; elsewhere it is a file.
    """
    config = str(invocation.flags.get("config", "config"))
    state = str(invocation.flags.pop("state", ""))  # config/ names the place from now on: commands need no flag
    if has_terminal() and not (regions or environments or (directory / config).exists()):
        regions = tuple(line("Which regions do you use?", " ".join(operation.REGIONS)).split())
        environments = tuple(line("Which environments?", " ".join(operation.ENVIRONMENTS)).split())
        state = state or line("Where should the record be kept?", operation.proposed_state(directory, github=github))
    choices = operation.Choices(
        regions or operation.REGIONS,
        environments or operation.ENVIRONMENTS,
        state,
        age_key,
        github,
        config,
        begins_here=not invocation.project.in_ci,
    )
    written = operation.initialize(directory, choices, invocation.project.data_directory)
    files = (*(("wrote", file) for file in written.files), *((("wrote", str(written.key)),) if written.key else ()))
    verdict = (
        "Done. Next:" if written.files else "Nothing is missing. To change the age key, first remove `recipients:`."
    )
    steps = (replace(todo, text=f"{number}. {todo.text}") for number, todo in enumerate(todos(written.steps), 1))
    following = Commands(tuple(steps)) if written.steps else None
    invocation.terminal.show(Document("init", verdict, body=(Facts(files),), next=following))


@command("validate", "reconciler validate", "reconciler validate --config other/config --format github")
@format_option("json", "github")
def validate(invocation: Invocation, form: str) -> int:
    """Check the configuration, and show every mistake with its file, line and column.

    Needs no credentials, no record and no network.
    """
    project, terminal = invocation.project, invocation.terminal
    desired, problem = room.load_sound(project.config, project.sources.get)
    mistakes = problem.messages if problem else ()
    warnings = (*desired.warnings, *desired.unread)
    if form == "github":
        lines = [annotation(message, "error") for message in mistakes]
        lines += [annotation(message, "warning") for message in warnings]
        if lines:
            terminal.print("\n".join(lines))
    else:
        count = problem.count if problem else 0
        terminal.report(
            lambda: validation_document(mistakes, warnings, len(desired.subscriptions), count),
            lambda: validation_json(mistakes, warnings),
            form,
        )
    return 1 if problem else 0


@command("doctor", "reconciler doctor", "reconciler doctor -t europe/staging --write")
@target_option
@click.option("--write", is_flag=True, help="Check that the record is writable, without adding an entry.")
@format_option("json")
def doctor(invocation: Invocation, patterns: tuple[str, ...], write: bool, form: str) -> int:
    """Check everything that an apply depends on.

    Checks the settings, the clock and the record, gets a token for each target, and connects to every host in a webhook
    URL. Changes nothing and sends no notification. -v also shows the checks that passed.
    """
    log_to(invocation.terminal)
    findings = examine(invocation.project, patterns, write=write)
    invocation.terminal.report(lambda: doctor_document(findings), lambda: findings_json(findings), form)
    return int(has_failures(findings))


@command("schema", "reconciler schema >config/.schema.json")
def schema(invocation: Invocation) -> None:
    """Print the JSON Schema of the files in config/, for editors."""
    invocation.terminal.print(render(room.schema()))


@command(
    "completion",
    """echo 'eval "$(reconciler completion bash)"' >>~/.bashrc""",
    "reconciler completion fish >~/.config/fish/completions/reconciler.fish",
)
@click.argument("shell", metavar="SHELL", type=click.Choice(["bash", "zsh", "fish"]))
def completion(invocation: Invocation, shell: str) -> None:
    """Print the completion script for a shell: bash, zsh or fish."""
    from click.shell_completion import get_completion_class  # noqa: PLC0415 - only for this

    complete = get_completion_class(shell)
    assert complete is not None  # noqa: S101 - click has these three
    root = click.get_current_context().find_root().command
    invocation.terminal.print(complete(root, {}, "reconciler", "_RECONCILER_COMPLETE").source())
