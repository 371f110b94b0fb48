"""Shell completion: what a shell is told while a command is typed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.project import EXECUTABLE
from support.terminal import at_terminal

from reconciler.cli.main import COMMANDS
from reconciler.cli.state import COMMANDS as STATE_COMMANDS

if TYPE_CHECKING:
    from support.project import Project

STAGING, PRODUCTION = "europe/staging", "usa/production"
OFFERS = f"{STAGING}/offers"


@pytest.fixture
def named(project: Project) -> Project:
    """A project of two targets with two subscriptions each, of which one is recorded."""
    addresses = "auth_url: https://login.example, base_url: https://{}.example"
    targets = ", ".join(f"{name}: {{{addresses.format(name[:3])}}}" for name in (STAGING, PRODUCTION))
    wanted = ", ".join(
        f"{name}: {{eventCodes: [{code}], webhookUrl: 'https://hooks.example'}}"
        for name, code in (("loans", "ONB10001"), ("offers", "ONB10011"))
    )
    project.write("config/all.yaml", f"targets: {{{targets}}}\nsubscriptions: {{'*/*': {{{wanted}}}}}\n")
    project.step("state", "init")
    project.step("state", "import", OFFERS)
    return project


def completed(project: Project, typed: str) -> list[str]:
    """The words that bash is offered for the last one typed."""
    words = typed.split(" ")
    project.environment |= {
        "_RECONCILER_COMPLETE": "bash_complete", "COMP_WORDS": typed, "COMP_CWORD": str(len(words) - 1),
    }  # fmt: skip
    done = project.step()
    assert done.err == ""
    return [line.partition(",")[2] for line in done.out.splitlines() if line]


def test_without_a_shell(project: Project) -> None:
    """The error lists the shells in one line, without control characters spelt out."""
    done = project.step("completion", code=1)
    assert "Error: Missing argument 'SHELL'. Choose from: bash, zsh, fish; see:" == done.err.splitlines()[0]


def test_all_commands(project: Project) -> None:
    """Before anything of it is typed, every command is offered, and nothing is printed beside."""
    assert list(COMMANDS) == completed(project, "reconciler ")


def test_all_commands_of_a_group(project: Project) -> None:
    """As of the whole program."""
    assert list(STATE_COMMANDS) == completed(project, "reconciler state ")


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("reconciler sta", ["status", "state"]),
        ("reconciler state re", ["resolve", "recover", "retire", "removed", "rebind"]),
        ("reconciler plan --fo", ["--format"]),
        ("reconciler plan --format j", ["json"]),
        ("reconciler --col", ["--color"]),
        ("reconciler nonsense", []),
    ],
)
def test_the_beginning_of_a_word(project: Project, typed: str, offered: list[str]) -> None:
    """What begins so is offered: commands, options and their values."""
    assert offered == completed(project, typed)


def test_no_command_is_loaded_for_its_name(project: Project) -> None:
    """What a shell shows beside a command is its line in the help."""
    project.environment |= {
        "_RECONCILER_COMPLETE": "zsh_complete", "COMP_WORDS": "reconciler sta", "COMP_CWORD": "1",
    }  # fmt: skip
    assert COMMANDS["status"] in project.step().out


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("plan -t ", ["*/production", "*/staging", "europe/*", STAGING, "usa/*", PRODUCTION]),
        ("plan --target eu", ["europe/*", STAGING]),
        (f"plan -t {STAGING}/o", [OFFERS]),
        ("plan -t '*/staging/", ["*/staging/loans", "*/staging/offers"]),
        ("state retire usa/*/l", ["usa/*/loans"]),
        ("state show ", [f"{STAGING}/loans", OFFERS, f"{PRODUCTION}/loans", f"{PRODUCTION}/offers"]),
        (f"state mv {OFFERS} usa/production/l", ["usa/production/loans"]),
        ("token -t u", [PRODUCTION]),
        (f"parity {STAGING} u", ["usa/*", PRODUCTION]),
        ("--config nowhere plan -t ", []),
        ("plan --config nowhere -t ", []),
        ("--state nowhere state show europe/staging/o", [OFFERS]),
        ("--state git:nowhere state show europe/staging/o", []),
        ("completion ", ["bash", "zsh", "fish"]),
    ],
)
def test_names(named: Project, typed: str, offered: list[str]) -> None:
    """Targets, addresses and patterns, of the configuration and the record that the flags before name."""
    assert offered == completed(named, f"reconciler {typed}")


def test_what_only_the_record_has(named: Project) -> None:
    """An address that is no longer desired, and the attempts of an address."""
    (attempt,) = (one["attempt"] for one in named.step("state", "list", "--format", "json").document)
    named.declare({"others": (["ONB10001"], "https://hooks.example")})
    assert [OFFERS, f"{STAGING}/others"] == completed(named, f"reconciler state show {STAGING}/o")
    assert [attempt] == completed(named, f"reconciler secret show {OFFERS} --attempt ")
    assert [attempt] == completed(named, "reconciler secret show --attempt ")
    assert [] == completed(named, f"reconciler secret show {STAGING}/others --attempt ")


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("config/all.yaml", "targets: ["),
        ("config/all.yaml", "targets: {a/b: {}}"),
        ("config/all.yaml", "\0"),
        ("state/europe/staging.jsonl", "damaged\n"),
    ],
)
def test_what_is_broken(named: Project, file: str, text: str) -> None:
    """Nothing is offered, and nothing printed: it would appear in the middle of the line that is typed."""
    named.write(file, text)
    assert [] == completed(named, "reconciler state show ")


def test_looking_changes_nothing(named: Project) -> None:
    """Not even the last known heads: what is only shown is not believed."""
    cache = Path(os.environ["XDG_CACHE_HOME"])
    shutil.rmtree(cache)
    assert [OFFERS] == completed(named, f"reconciler state show {STAGING}/o")
    assert not cache.exists()


def shell(name: str) -> str:
    """A shell of this machine; the test is skipped where it is not installed."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed")
    return path


SETTINGS = {
    "bash": (["--rcfile", ".bashrc", "-i"], "PS1='ready> '"),
    "zsh": (["-i"], "autoload -Uz compinit; compinit -u -D; PROMPT='ready> '"),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_in_a_shell(named: Project, name: str) -> None:
    """At a terminal, the tabulator key completes a command, a target and an address."""
    options, settings = SETTINGS[name]
    named.write(f".{name}rc", f'{settings}\neval "$(reconciler completion {name})"\n')
    named.environment |= {
        "PATH": f"{EXECUTABLE.parent}:{os.environ['PATH']}",
        "ZDOTDIR": str(named.path),
        "NO_COLOR": "1",
    }
    line = "reconciler pari\teurope/sta\tusa/prod\t; reconciler state show europe/staging/of\t; echo $((6*7))\n"
    done = at_terminal(named, *options, answers={"ready> ": line, "42\r\n": "exit\n"}, program=shell(name))
    assert f"{STAGING} and {PRODUCTION} differ" in done.out, done.out
    assert f"{OFFERS}  attempt " in done.out, done.out


def test_in_fish(named: Project) -> None:
    """It says itself what it would offer."""
    named.environment["PATH"] = f"{EXECUTABLE.parent}:{os.environ['PATH']}"
    line = "reconciler completion fish | source; complete -C 'reconciler plan -t usa/'"
    done = subprocess.run(
        [shell("fish"), "--no-config", "-c", line],
        cwd=named.path, env=named.variables(), check=True, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert ["usa/*", PRODUCTION] == sorted(done.stdout.decode().split())
