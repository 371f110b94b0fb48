"""The pages for users are true: each command on them is run, in order, and prints what the page shows.

After a change of what is printed, `RENEW=1 pytest tests/test_shown_commands.py` writes it into the pages, to be read
before it is committed; the test still fails in that run.
"""

from __future__ import annotations

import os
import platform
import re
import shlex
import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest
from support.pages import Reader, Reading, compared, renewed
from support.ports import free_port
from support.project import Project
from support.sandbox_scenes import Scenes

from reconciler.cli.main import cli
from reconciler.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
LEFT_OUT = {
    "README.md": [
        "installs the program; CI does",
        "for the real service, and the test is at the sandbox",
        "runs until it is interrupted; tests/cli/test_listen.py runs it",
        "installs the program, and runs this test",
    ],
    "config/README.md": [],
    ".github/BAD_DAY.md": [
        "runs until it is interrupted; tests/cli/test_drill.py runs it",
        "needs what was received; tests/cli/test_drill.py and tests/cli/test_replay.py run it",
    ],
    ".github/RECEIVER.md": [],
    ".github/STORES.md": [
        "what a bucket holds, and no command",
        "a policy for a provider's console; no test runs against a provider",
        "needs a database of yours; tests/state/test_postgres_store.py runs against real servers",
        "for an administrator; tests/state/test_postgres_trust.py compares it with what the program prints",
        "for psql, without the program",
        "a step of a workflow",
    ],
    ".github/actions/reconcile/README.md": [
        "needs a repository on GitHub",
        "commits to a clone; tests/workflow/test_workflow_lint.py runs it",
        "a step of a workflow",
    ],
}
"""Why blocks of the pages are not run, in their order."""
ENVIRONMENT = {
    "LOGNAME": "partner",
    "TERM": "xterm",
    "NO_COLOR": "1",
    "RES_OPTIONS": "timeout:1 attempts:1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "partner",
    "GIT_AUTHOR_EMAIL": "partner@partner.example",
    "GIT_COMMITTER_NAME": "partner",
    "GIT_COMMITTER_EMAIL": "partner@partner.example",
}


@pytest.fixture
def scenes(tmp_path: Path) -> Iterator[Scenes]:
    """What the comments on the pages ask for."""
    with Sandbox(targets=["europe/production"]) as sandbox:
        yield Scenes(tmp_path, sandbox)


@pytest.fixture
def reader(tmp_path: Path, scenes: Scenes, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    """A user with a terminal, whose home directory is `home`."""
    home = scenes.home
    home.mkdir(exist_ok=True)
    for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name)
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    ports = {shown: str(free_port()) for shown in ("8010", "8011")}
    names = {**ports, "/home/partner": str(home), "partner on laptop": f"partner on {platform.node()}", **scenes.names}
    reader = Reader(Project(home / "empty"), names)
    yield reader
    for child in reader.background:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGTERM)
    reader.screen.close()


@pytest.mark.parametrize("page", LEFT_OUT)
def test_what_the_page_shows_is_what_happens(page: str, reader: Reader, scenes: Scenes) -> None:
    """Its commands, what they print, and their exit codes."""
    reading = Reading(ROOT / page, reader, scenes.directions)
    if os.environ.get("RENEW"):
        (ROOT / page).write_text(reading.text, encoding="utf-8")
    assert [] == reading.problems, "\n\n".join(reading.problems)
    assert LEFT_OUT[page] == reading.left_out


@pytest.mark.parametrize(
    ("expected", "shown", "bound"),
    [
        ("a\n", "a\n", {}),
        ("a\n", "b\n", None),
        ("a\n…\nd\n", "a\nb\nc\nd\n", {}),
        ("a\n…\nd\n", "b\nd\n", None),
        ("at 2026-01-01T00:00:00Z, 3 days ago\n", "at 2027-11-11T11:11:11Z, 1 minute ago\n", {}),
        ("id 0123456789abcdef\n", "id ffff456789abcdef\n", {"0123456789abcdef": "ffff456789abcdef"}),
        ("0123456789abcdef 0123456789abcdef\n", "ffff456789abcdef 0000456789abcdef\n", None),
        ("(a.c)\n", "(abc)\n", None),
    ],
)
def test_what_counts_as_equal(expected: str, shown: str, bound: dict[str, str] | None) -> None:
    """Everything but times, ids, ports and ages, of which an id is the same wherever it is the same on the page."""
    assert bound == compared(expected, shown)


def test_what_is_renewed() -> None:
    """Lines that differ are those that are shown now; what was left out is left out again, and ids stay."""
    old = "a\nid 0a0a0a0a0a0a\n…\nf\n"
    new = "A\nid 0b0b0b0b0b0b\nc\nd\nf\n"
    assert ("A\nid 0a0a0a0a0a0a\n…\nf\n", {"0a0a0a0a0a0a": "0b0b0b0b0b0b"}) == renewed(old, new)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("```console\n$ echo a\nb\n```\n", "page.md:1: $ echo a"),
        ("```console\n$ false\n```\n", "page.md:1: exit code 1 instead of 0"),
        ("\n```console 2\n$ (exit 3)\n```\n", "page.md:2: exit code 3 instead of 2"),
        ("```console\nno command\n```\n", "page.md:1: exit code None instead of 0"),
        ("```sh\ntrue\nfalse\n```\n", "page.md:1: false: exit code 1"),
        ("```\nreconciler plan\n```\n", "page.md:1: a block of no language: run it, or say why not"),
        ("<!-- before: the sky falls -->\n", "page.md:1: unknown before: the sky falls"),
        (
            "```console\n$ echo 0a0a0a0a0a0a\n0b0b0b0b0b0b\n$ echo 0c0c0c0c0c0c\n0b0b0b0b0b0b\n```\n",
            "page.md:1: $ echo 0c",
        ),
    ],
)
def test_what_is_not_as_shown(reader: Reader, tmp_path: Path, text: str, problem: str) -> None:
    """Another output, exit code or id, and what cannot be run, is a problem with its place."""
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    (found,) = Reading(page, reader, {}).problems
    assert found.startswith(problem)


@pytest.mark.parametrize("page", [*LEFT_OUT, ".github/GUARANTEES.md"])
def test_commands_within_a_line_exist(page: str) -> None:
    """Each command that a page names in passing, with its options."""
    words = [shlex.split(code) for code in re.findall(r"`reconciler ([a-z][^`\n]+)`", (ROOT / page).read_text("utf-8"))]
    assert [] == [line for line in words if not exists(line)]


def exists(words: list[str]) -> bool:
    """Whether the words begin with a command, and each option among them is one of it or of all commands."""
    command: click.Command = cli
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.get_command(click.Context(command), words[0])
        if found is None:
            return False
        command, words = found, words[1:]
    known = {name for one in (*command.params, *cli.params) for name in (*one.opts, *one.secondary_opts)}
    return {word.partition("=")[0] for word in words if word.startswith("-")} <= known | {"--help"}


def test_a_command_that_does_not_exist_is_noticed() -> None:
    """By its name, or by an option; a placeholder is no option."""
    lines = ["plan --detailed-exitcode -t 'europe/*'", "COMMAND --help", "state nothing", "plan --nothing"]
    assert [True, False, False, False] == [exists(shlex.split(line)) for line in lines]
