"""Shell completion: what a shell is told while a command is typed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from reconciler.cli.main import COMMANDS
from reconciler.cli.state import COMMANDS as STATE_COMMANDS

if TYPE_CHECKING:
    from support.project import Project


def completed(project: Project, typed: str) -> list[str]:
    """The words that bash is offered for the last one typed."""
    words = typed.split(" ")
    project.environment |= {
        "_RECONCILER_COMPLETE": "bash_complete", "COMP_WORDS": typed, "COMP_CWORD": str(len(words) - 1),
    }  # fmt: skip
    done = project.succeed()
    assert done.err == ""
    return [line.partition(",")[2] for line in done.out.splitlines() if line]


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
    assert COMMANDS["status"] in project.succeed().out
