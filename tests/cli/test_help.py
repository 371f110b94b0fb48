"""Every command explains itself, with an example, and without loading what it does not need."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import click
import pytest
from support.command_line import commands
from support.unmeasured import unmeasured

from reconciler.cli.commands import Context
from reconciler.cli.main import cli

if TYPE_CHECKING:
    from support.command_line import CommandLine

_CONTEXT = click.Context(cli)


COMMANDS = dict(commands())
PATHS = sorted(COMMANDS)


def test_the_help_shows_commands_in_groups(reconciler: CommandLine) -> None:
    """Groups and their commands are those of the interface, in its order."""
    sections = {title: list(section) for title, section in cli.sections.items()}
    assert sections == {
        "Core": ["init", "validate", "plan", "apply", "status", "parity", "doctor"], "Removals": ["removal"],
        "Record": ["state", "secret"], "Service": ["token", "lead"],
        "Develop": ["listen", "signature", "sandbox", "schema", "completion", "demo"],
    }  # fmt: skip
    out = reconciler.fine("--help").out
    assert [line for line in out.splitlines() if line.rstrip(":") in sections] == [f"{title}:" for title in sections]


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_options_are_explained(path: tuple[str, ...], reconciler: CommandLine) -> None:
    """Each entry under "Options" is an option with a text: arguments stand in the usage line."""
    listed = reconciler.fine(*path, "--help").out.partition("Options:\n")[2].partition("\n\n")[0].splitlines()
    entries = [line for line in listed if not line.startswith("    ")]
    assert [line for line in entries if not line.startswith("  -")] == []


def test_global_flags_are_listed_once(reconciler: CommandLine) -> None:
    """Only the help of the program explains them."""
    flags = ("--config", "--state", "--cache-dir", "--timeout", "--parallelism", "--color", "--quiet", "--log-format")
    whole = reconciler.fine("--help").out
    assert all(flag in whole for flag in flags)
    assert not any(f"  {flag}" in reconciler.fine("plan", "--help").out for flag in flags)


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_every_help_has_an_example_that_fits_a_terminal(path: tuple[str, ...], reconciler: CommandLine) -> None:
    """Each line has 80 columns at most, and each example names the command and options that it has."""
    out = reconciler.fine(*path, "--help").out
    command = COMMANDS[path]
    names = {name for param in command.params if isinstance(param, click.Option) for name in param.opts}
    assert command.examples
    for example in command.examples:
        assert f"  {example}\n" in out
        assert f"reconciler {' '.join(path)}" in example
        assert {word for word in example.split() if word.startswith("--")} <= names
    assert all(len(line) <= 80 for line in out.splitlines())
    arguments = {param.make_metavar(_CONTEXT) for param in command.params if isinstance(param, click.Argument)}
    assert arguments & {line.strip() for line in out.splitlines()} == set()  # a name alone explains nothing


@pytest.mark.parametrize(("words", "forbidden"), [
    (("--help",), ("msgspec", "json", "yaml", "reconciler.operations", "reconciler.reports")),
    (("plan", "--help"),
     ("pydantic", "httpx", "deepdiff", "rich", "jinja2", "cryptography", "yaml", "reconciler.operations")),
])  # fmt: skip
def test_a_help_loads_no_more_than_it_uses(words: tuple[str, ...], forbidden: tuple[str, ...]) -> None:
    """That of the program loads click alone; what commands load is measured in `house`."""
    code = f"import sys; from reconciler.cli.main import run; run({words!r}); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], env=unmeasured(), capture_output=True, text=True, check=True)
    assert not set(forbidden) & set(done.stderr.split())


@pytest.mark.parametrize(("columns", "width"), [(20, 50), (80, 78), (300, 98)])
def test_the_help_has_a_width_that_can_be_read(columns: int, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of stdout, within limits."""
    monkeypatch.setattr("reconciler.cli.commands.columns", {sys.stdout: columns}.__getitem__)
    assert Context(cli).make_formatter().width == width


def test_an_unknown_command_suggests_one_that_is_spelt_alike(reconciler: CommandLine) -> None:
    """The error says where the commands are listed."""
    ran = reconciler("pla")
    assert (1, "", True, True) == (ran.code, ran.out, "did you mean plan?" in ran.err, "reconciler --help" in ran.err)
    assert "did you mean" not in reconciler("xyz", "plan").err


def test_no_command_shows_the_help_as_an_error(reconciler: CommandLine) -> None:
    """On stderr, with 1."""
    ran = reconciler()
    assert (1, "", True) == (ran.code, ran.out, "Core:" in ran.err)


def test_the_version_is_shown(reconciler: CommandLine) -> None:
    """With the name of the program."""
    assert reconciler.fine("--version").out.startswith("reconciler ")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_the_commands(shell: str, reconciler: CommandLine) -> None:
    """The script asks the program, which answers from its table."""
    assert "Choose from: bash, zsh, fish\n" in reconciler("completion").err
    assert "_RECONCILER_COMPLETE" in reconciler.fine("completion", shell).out
    for begun in ("", "p", "a", "t", "x"):
        names = [name for section in cli.sections.values() for name in section if name.startswith(begun)]
        assert names == [item.value for item in cli.shell_complete(_CONTEXT, begun)]
    offered = {item.value: item.help for item in cli.shell_complete(_CONTEXT, "")}
    assert (offered["parity"], offered["state"]) == ("Compare targets.", "Read and repair the record.")


@pytest.mark.parametrize("path", [(), ("state",), ("removal",), *PATHS], ids=" ".join)
def test_completion_knows_the_options_of_every_command(path: tuple[str, ...], reconciler: CommandLine) -> None:
    """Those of a group too."""
    reconciler.environment.setenv("_RECONCILER_COMPLETE", "bash_complete")
    reconciler.environment.setenv("COMP_WORDS", " ".join(("reconciler", *path, "--")))
    reconciler.environment.setenv("COMP_CWORD", str(1 + len(path)))
    offered = {line.partition(",")[2] for line in reconciler().out.splitlines()}
    own = COMMANDS[path].params if path in COMMANDS else []
    longest = {name for param in own if isinstance(param, click.Option) for name in param.opts if name.startswith("--")}
    assert {"--help", *longest} <= offered
