"""Every command explains itself, with an example, and without loading what it does not need."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest
from support.command_line import CommandLine, commands
from support.unmeasured import unmeasured

from reconciler.cli.commands import Context
from reconciler.cli.main import cli

_CONTEXT = click.Context(cli)


COMMANDS = dict(commands())
PATHS = sorted(COMMANDS)


def test_the_help_shows_commands_in_groups(reconciler: CommandLine) -> None:
    """Each is under its title, in the order of the interface."""
    lines = reconciler.fine("--help").out.partition("Options:")[0].splitlines()
    titles = [word for title, section in cli.sections.items() for word in (f"{title}:", *section)]
    assert [word for line in lines for word in line.split()[:1] if word in titles and line[2:3] != " "] == titles


def test_global_flags_are_listed_once(reconciler: CommandLine) -> None:
    """Only the help of the program explains them."""
    flags = ("--config", "--state", "--cache-dir", "--timeout", "--parallelism", "--color", "--quiet", "--log-format")
    whole = reconciler.fine("--help").out
    assert all(flag in whole for flag in flags)
    assert cli.make_context("reconciler", ["plan"]).help_option_names == ["-h", "--help"]
    for words in (("plan",), ("state",), ("state", "show")):
        assert not any(f"  {flag}" in reconciler.fine(*words, "--help").out for flag in flags)


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_every_help_has_an_example_that_fits_a_terminal(path: tuple[str, ...], reconciler: CommandLine) -> None:
    """Each line has 80 columns at most, each example names the command and its options, and those are explained."""
    out = reconciler.fine(*path, "--help").out
    listed = out.partition("Options:\n")[2].partition("\n\n")[0].splitlines()
    assert [line for line in listed if not line.startswith(("    ", "  -"))] == []
    command = COMMANDS[path]
    names = {name for param in command.params if isinstance(param, click.Option) for name in param.opts}
    assert command.examples
    assert "reconciler --help\n" in out  # which lists the global options
    for example in command.examples:
        assert f"  {example}\n" in out
        assert f"reconciler {' '.join(path)}" in example
        assert {word for word in example.split() if word.startswith("--")} <= names
    assert all(len(line) <= 80 for line in out.splitlines())
    arguments = {param.make_metavar(_CONTEXT) for param in command.params if isinstance(param, click.Argument)}
    assert arguments & {line.strip() for line in out.splitlines()} == set()  # a name alone explains nothing


def test_a_help_loads_no_more_than_it_uses() -> None:
    """That of the program loads click alone; what commands load is measured in `house`."""
    shown = (f"run({words!r}); print(*sys.modules, file=sys.stderr)" for words in (["--help"], ["plan", "--help"]))
    code = f"import sys; from reconciler.cli.main import run; {'; '.join(shown)}"
    done = subprocess.run([sys.executable, "-c", code], env=unmeasured(), capture_output=True, text=True, check=True)
    program, command = (set(line.split()) for line in done.stderr.splitlines())
    assert not program & {"msgspec", "json", "yaml", "reconciler.operations", "reconciler.reports"}
    assert not command & {"httpx", "deepdiff", "rich", "jinja2", "cryptography", "yaml", "reconciler.operations"}


@pytest.mark.parametrize(("columns", "width"), [(20, 50), (80, 78), (300, 98)])
def test_the_help_has_a_width_that_can_be_read(columns: int, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of stdout, within limits."""
    monkeypatch.setattr("reconciler.cli.commands.columns", {sys.stdout: columns}.__getitem__)
    assert Context(cli).make_formatter().width == width


def test_an_unknown_command_suggests_one_that_is_spelt_alike(reconciler: CommandLine) -> None:
    """The error says where the commands are listed."""
    ran = reconciler("pla")
    assert (1, "", True, True) == (ran.code, ran.out, "did you mean plan?" in ran.err, "reconciler --help" in ran.err)
    assert [1, 0] == [each.err.lower().count("did you mean") for each in (ran, reconciler("xyz", "plan"))]


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
    script = reconciler.fine("completion", shell).out
    assert ("_RECONCILER_COMPLETE" in script, "_reconciler_completion" in script) == (True, True)
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
