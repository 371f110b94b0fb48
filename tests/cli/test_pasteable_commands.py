"""Commands that messages name can be pasted: whole, on a line of their own, with the flags that were in use."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.cli.terminal.commands import apart, lacks_state, with_flags

if TYPE_CHECKING:
    from support.project import Project


def test_flags_that_were_given(project: Project) -> None:
    """The command that an error names takes the --config and --state that the failed one was given."""
    project.declare({"offers": (["ONB10011"], "https://hooks.partner.example/offers")})
    project.path.joinpath("config").rename(project.path / "my config")
    done = project.run("--state", "records", "plan", "--config", "my config")
    commands = [line.strip() for line in done.err.splitlines() if line.strip().startswith("reconciler ")]
    assert commands
    assert all(command.startswith("reconciler --config 'my config' --state records ") for command in commands)
    for command in commands:
        assert 0 == project.run(*shlex.split(command)[1:]).code


def test_no_flags() -> None:
    """A command that was given none names none."""
    assert "run: reconciler plan" == with_flags("run: reconciler plan", {"verbose": 2})


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("git:records", "reconciler --state git:records plan"),
        ("git+ssh://git@host.example/repo", "reconciler --state git+ssh://git@host.example/repo plan"),
        ("git+https://user:pass@host.example/repo", "reconciler plan"),
    ],
)
def test_no_password(state: str, expected: str) -> None:
    """A place that holds a password is not repeated."""
    assert expected == with_flags("reconciler plan", {"state": state})


def test_a_password_is_left_to_the_user(project: Project) -> None:
    """What is missing in the commands is said once, after all of them, and on stderr; not if nothing is missing."""
    flags = ("--state", "git+https://user:passw0rd@host.example/repository#records")
    for arguments in (("plan",), ("apply", "--auto-approve", "--log-format", "json"), ("-q", "plan")):
        done = project.run(*flags, *arguments)
        assert (1, 1) == (done.code, done.err.count("set RECONCILER_STATE to the value of --state")), done
        assert "set RECONCILER_STATE" in done.err.splitlines()[-1]
        assert "reconciler init" in done.err
        assert "passw0rd" not in done.out + done.err
    project.declare({})
    assert "RECONCILER_STATE" not in project.run(*flags, "validate").err


@pytest.mark.parametrize(
    ("text", "state", "expected"),
    [
        ("run: reconciler plan", "postgresql://me:pw@host/db", True),
        ("run: reconciler plan", "postgresql://me@host/db", False),
        ("run: reconciler plan", "records", False),
        ("run: reconciler state recover x --state new", "postgresql://me:pw@host/db", False),
        ("the plan", "postgresql://me:pw@host/db", False),
    ],
)
def test_what_a_command_lacks(text: str, state: str, expected: bool) -> None:
    """Only a command that would have been given --state lacks it."""
    assert expected == lacks_state(text, {"state": state})


def test_a_path_that_reads_like_a_command() -> None:
    """The arguments of a command stay as they are."""
    file = "'/home/me/my reconciler state/unrecorded/a.jsonl'"
    expected = f"run: reconciler --state records state recover {file}"
    assert expected == with_flags(f"run: reconciler state recover {file}", {"state": "records"})


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("reconciler state copy a b", "reconciler --config c state copy a b"),
        ("reconciler state recover x --state new; gone", "reconciler --config c state recover x --state new; gone"),
        ("reconciler plan; with --state new", "reconciler --config c --state records plan; with --state new"),
    ],
)
def test_a_command_that_names_a_store(command: str, expected: str) -> None:
    """It is not given another one."""
    assert f"run: {expected}" == with_flags(f"run: {command}", {"config": "c", "state": "records"})


def test_the_cache_directory() -> None:
    """It holds the last known heads: without it `accept-rollback` would find nothing to accept."""
    flags = {"cache_dir": "my cache", "state": "records"}
    expected = "run: reconciler --state records --cache-dir 'my cache' state accept-rollback -t a/b"
    assert expected == with_flags("run: reconciler state accept-rollback -t a/b", flags)


@pytest.mark.parametrize(
    "text",
    [
        "see https://host.example/reconciler plan",
        "the reconciler is",
        "my-reconciler plan",
        "they are in /home/me/my reconciler state/unrecorded/a.jsonl",
    ],
)
def test_what_is_no_command(text: str) -> None:
    """Other uses of the word stay as they are."""
    assert text == with_flags(text, {"state": "records"})


@given(st.lists(st.text(st.characters(codec="ascii", exclude_categories=["C"]), min_size=1), min_size=1, max_size=4))
def test_a_command_stays_whole(words: list[str]) -> None:
    """Whatever a command's words are, it stands on one line, and what follows stands on the next."""
    command = f"reconciler state recover {shlex.join(words)}"
    lines = apart(f"Error: not saved; run: {command}; if it is lost, ask").splitlines()
    assert ["Error: not saved; run:", f"    {command}", "  if it is lost, ask"] == lines


def test_a_full_stop_in_a_command() -> None:
    """It is the current directory or a part of a name; only a semicolon ends a command."""
    lines = ["run:", "    reconciler --state . plan", "  then apply"]
    assert lines == apart("run: reconciler --state . plan; then apply").splitlines()


def test_one_command_after_another() -> None:
    """Each of several commands has a line, also if no words stand between them."""
    lines = ["then run:", "    reconciler state a", "  run:", "    reconciler state b"]
    assert lines == apart("then run: reconciler state a; run: reconciler state b").splitlines()


def test_two_commands() -> None:
    """Each of two has a line, and what the second is for stands between them."""
    text = "  unknown; if it exists, run: reconciler state a --created; if not, run: reconciler state b"
    lines = [
        "  unknown; if it exists, run:",
        "      reconciler state a --created",
        "    if not, run:",
        "      reconciler state b",
    ]
    assert lines == apart(text).splitlines()


def test_what_follows_a_command_may_be_a_path_or_a_flag() -> None:
    """A refusal may list several records, each by its location, and ends with the flags that accept them."""
    lines = ["run:", "    reconciler state init", "  /srv/state: damaged"]
    assert lines == apart("run: reconciler state init; /srv/state: damaged").splitlines()


@pytest.mark.parametrize(
    "command",
    [
        "git -C 'my; folder' show main:state > theirs.jsonl && reconciler state recover theirs.jsonl",
        "tail -n 1 FILE | reconciler verification infer -",
        "chmod 700 '/home/me/my data'",
    ],
)
def test_commands_of_other_programs(command: str) -> None:
    """They stand on lines of their own too."""
    assert ["to merge, run:", f"    {command}", "  then plan again"] == apart(
        f"to merge, run: {command}; then plan again"
    ).splitlines()
