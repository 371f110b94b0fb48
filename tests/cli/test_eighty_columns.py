"""At 80 columns nothing to paste is broken, whatever a command prints: a help text, an error, advice, a result.

Each command is run twice, in two places that are alike: at a terminal of 80 columns, and where nothing wraps. What is
to be pasted from the one can be pasted from the other.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from inspect import cleandoc
from typing import TYPE_CHECKING

import click
import pytest
from pyrage import x25519  # type: ignore[import-untyped]
from support import paste
from support.corpus import COMMANDS, HERE, open_scenario
from support.pages import Reader, Screen
from support.sandbox_project import SandboxProject
from support.terminal import at_terminal

from reconciler.cli.main import cli
from reconciler.cli.options import COMMON_OPTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from support.project import Project

AT_80, WIDE = "at-80", "wide-"
"""Directories of names of one length."""
RANDOM = re.compile(
    r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b(?=[a-f]*\d)[0-9a-f]{12,64}\b|\b\d{4}-\d\d-\d\dT[\d:-]+Z"
    r"|127\.0\.0\.1:\d+|\bage1\w+|-state/\d+|(?<=CLIENT_SECRET=)\S+|(?<=kill )\d+"
)
RAW = ("schema", "completion", "secret show", "token", "lead")
"""Commands whose result is a document or a value, printed as it is."""

ASKING = ("init new", "apply", "secret reseal", "secret set", "state rebind", "state accept-rollback")
"""Commands that ask at a terminal."""


@dataclass(frozen=True)
class Scene:
    """One run of a command: its words, what is typed at its prompts ("no" if nothing), and when it is interrupted."""

    line: str
    answers: Mapping[str, str] | None = None
    stop_at: str = ""
    stdin: str = ""


ADDRESS = "europe/staging/a-name-that-is-long-enough-to-be-wrapped"
KEY = x25519.Identity.generate().to_public()
SCENES = (
    Scene("init new", {"[": "\n\n\n\n\n\n"}),
    Scene("init elsewhere --github --age-key --state git:reconciler-state"),
    Scene("init"),
    Scene("init elsewhere --region asia"),
    Scene("demo"),
    Scene("schema"),
    Scene("completion bash"),
    Scene("validate"),
    Scene("plan"),
    Scene("status"),
    Scene("doctor --timeout 5"),
    Scene("state init"),
    Scene("plan --out plan.json"),
    Scene("apply"),
    Scene("apply europe/staging"),
    Scene("apply --auto-approve"),
    Scene("status"),
    Scene("removals"),
    Scene("parity europe/staging usa/production"),
    Scene("doctor --write --timeout 5"),
    Scene("token -t europe/staging"),
    Scene("lead create -t europe/staging -", stdin='{"amount": 1}'),
    Scene("lead create -t europe/staging lead.json"),
    Scene("sandbox trigger ONB10011"),
    Scene("sandbox trigger ONB10011 --url http://127.0.0.1:9"),
    Scene("sandbox delete"),
    Scene("sandbox delete no-such-id"),
    Scene("sandbox serve", stop_at="Press Ctrl-C"),
    Scene("listen", stop_at="Press Ctrl-C"),
    Scene(f"verification infer seen.jsonl --address {ADDRESS}"),
    Scene("state list"),
    Scene("state history"),
    Scene(f"state show {ADDRESS}"),
    Scene(f"state show {ADDRESS}x"),
    Scene("state verify"),
    Scene("state import --all"),
    Scene("state observe seen.jsonl"),
    Scene("state recover plan.json"),
    Scene(f"secret show {ADDRESS}"),
    Scene(f"secret show {ADDRESS} --field nothing"),
    Scene(f"secret set {ADDRESS}"),
    Scene(f"secret reseal --to {KEY}"),
    Scene(f"state mv {ADDRESS} europe/staging/others"),
    Scene(f"state retire {ADDRESS}"),
    Scene("state retire europe/staging/others"),
    Scene("removals"),
    Scene("state removed europe/staging/others"),
    Scene("state resolve europe/staging/others --created"),
    Scene("state rebind"),
    Scene("state accept-rollback -t europe/staging"),
    Scene("state copy state records"),
    Scene("plan"),
    Scene("plan --state nowhere/that/is/a/long/way/from/here/and/still/does/not/exist/at/all"),
    Scene("plan -t europe/nowhere"),
    Scene("replay seen.jsonl --to http://127.0.0.1:9/ --dry-run"),
    Scene("replay seen.jsonl --to http://127.0.0.1:9/"),
    Scene("github comment"),
    Scene("github issues"),
    Scene("drill --list"),
    Scene("drill wrong-account", stdin="exit"),
)
"""Every command there is, in the order of a first hour."""


def existing(group: click.Group = cli, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """All commands and groups, by the words that call them."""
    yield path.strip(), group
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        if isinstance(command, click.Group):
            yield from existing(command, f"{path}{name} ")
        elif command is not None:
            yield f"{path}{name}", command


def test_no_command_is_forgotten() -> None:
    """Each has a scene in which it does what it is for; its help and its errors are looked at by themselves."""
    assert set(leaves()) == {command_of(scene) for scene in SCENES}


def leaves() -> list[str]:
    """All commands that are no groups."""
    return [path for path, command in existing() if not isinstance(command, click.Group)]


def command_of(scene: Scene) -> str:
    """The command of a scene."""
    (command,) = (path for path in leaves() if f"{scene.line} ".startswith(f"{path} "))
    return command


def is_first(scene: Scene) -> bool:
    """Whether no earlier scene has the same command."""
    return scene == next(one for one in SCENES if command_of(one) == command_of(scene))


def play(narrow: Project, wide: Project, scene: Scene) -> list[str]:
    """What is wrong with what a command shows at 80 columns, compared with where nothing wraps."""
    words = [*shlex.split(scene.line), "--color", "never"]
    shown = _at_terminal(narrow, words, scene, fork=not is_first(scene))
    if scene.stop_at or scene.line.startswith(ASKING):
        expected = _at_terminal(wide, words, scene, fork=True)
    else:
        done = wide.step(*words, code=None, stdin=scene.stdin)
        expected = done.err + done.out
    return problems(scene.line, shown, expected)


def _at_terminal(project: Project, words: list[str], scene: Scene, *, fork: bool) -> str:
    answers = {"Secret: ": "whsec\n"} if scene.line.startswith("secret set") else scene.answers
    typed = f"{scene.stdin}\n\x04" if scene.stdin else "no\n"
    return at_terminal(project, *words, answers=dict(answers or {}), typed=typed, stop_at=scene.stop_at, fork=fork).out


def lines(shown: str) -> list[str]:
    """The lines that were shown, the same in both places."""
    return [RANDOM.sub("0", line.replace(AT_80, WIDE)) for line in paste.lines_of(shown)]


def problems(command: str, shown: str, expected: str) -> list[str]:
    """What can be pasted where nothing wraps, and not at 80 columns; and lines that are too long for no reason."""
    narrow, wide, is_raw = lines(shown), lines(expected), command.startswith(RAW)
    alone = paste.commands(narrow)
    found = [f"command not alone: {line}" for line in paste.commands_amid(narrow)]
    for name, in_narrow, in_wide in (
        ("command", set(alone), set(paste.commands(wide))),
        ("mention", paste.mentions(narrow), paste.mentions(wide)),
        ("option", paste.valued(narrow), paste.valued(wide)),
        ("word", paste.words(narrow), set() if is_raw else paste.words(wide)),
    ):
        found += [f"broken {name}: {one}" for one in in_wide - in_narrow]
    for line in [] if is_raw else narrow:
        if len(line) > 80 and line.strip() not in alone and len(line.split()) > 1:
            found.append(f"too long: {line}")
    return [f"{command}: {one}" for one in found]


def parts() -> list[tuple[Scene, ...]]:
    """The scenes up to the first apply that creates, and two parts of those after it, which go on from there."""
    lines = [scene.line for scene in SCENES]
    first, last = lines.index("apply --auto-approve") + 1, lines.index("state list")
    return [SCENES[:first], SCENES[first:last], SCENES[last:]]


@pytest.mark.parametrize("part", range(3))
def test_the_first_hour(part: int, tmp_path: Path) -> None:
    """Each command, in the order in which somebody who begins would use them, mistakes and all."""
    wanted = {ADDRESS.rpartition("/")[2]: ["ONB10011"], "offers": ["ONB10010", "LOA10013"]}
    targets = ("europe/staging", "usa/production")
    with (
        SandboxProject(tmp_path / AT_80, wanted, targets) as narrow,
        SandboxProject(tmp_path / WIDE, wanted, targets) as wide,
    ):
        narrow.project.environment["COLUMNS"] = "80"
        for one in (narrow, wide) if part else ():
            one.project.step("plan", "--out", "plan.json")
            one.project.step("apply", "--auto-approve")
        found = [problem for scene in parts()[part] for problem in play(narrow.project, wide.project, scene)]
    assert not found, "\n".join(found)


@pytest.fixture
def readers(tmp_path: Path) -> Iterator[Callable[[Project, Project], tuple[Reader, Reader]]]:
    """Two who paste commands: one at a terminal of 80 columns, and one at a wide one."""
    screens: list[Screen] = []

    def begin(narrow: Project, wide: Project) -> tuple[Reader, Reader]:
        pair = Reader(narrow, {}, 80), Reader(wide, {}, 5000)
        screens.extend(reader.screen for reader in pair)
        return pair

    yield begin
    for screen in screens:
        screen.close()


@pytest.mark.parametrize("scenario", COMMANDS)
def test_the_bad_day(
    scenario: str, tmp_path: Path, readers: Callable[[Project, Project], tuple[Reader, Reader]]
) -> None:
    """Every kind of record, change and damage, as text."""
    narrow, wide = readers(*(open_scenario(HERE / scenario, tmp_path / name) for name in (AT_80, WIDE)))
    found = []
    for command in COMMANDS[scenario]:
        line = f"reconciler {command.line}".replace(" --format json", "").replace(" --out out.json", "")
        line = f"printf '{command.stdin}' | {line}" if command.stdin else line
        found += problems(command.line, narrow.run(line)[1], wide.run(line)[1])
    assert not found, "\n".join(found)


def test_usage_errors(project: Project, readers: Callable[[Project, Project], tuple[Reader, Reader]]) -> None:
    """Of every command: a mistyped option, and the command to look it up."""
    narrow, wide = readers(project, project)
    found = []
    for path, _ in existing():
        line = f"reconciler {path} --option-of-which-nothing-is-known europe/staging/offers".replace("  ", " ")
        shown = narrow.run(line)[1]
        assert f"reconciler {path} --help".replace("  ", " ") in paste.commands(lines(shown))
        found += problems(path, shown, wide.run(line)[1])
    assert not found, "\n".join(found)


def test_help(project: Project) -> None:
    """Of every command: what its source mentions is whole, and only an example, which is a command, is too long."""
    project.environment["COLUMNS"] = "80"
    found = []
    for path, command in existing():
        own = [one for one in command.params if path == "" or one not in COMMON_OPTIONS]
        helps = [cleandoc(command.help or ""), command.epilog, *(getattr(one, "help", None) for one in own)]
        parts = [part for text in helps if text for part in text.split("\n\n")]
        examples = [line for part in parts if part.startswith("\b") for line in part.splitlines() if line[:4].isspace()]
        source = "\n".join([*examples, *(" ".join(part.split()) for part in parts if not part.startswith("\b"))])
        text = project.step(*path.split(), "--help").out
        found += [one for one in problems(path, text, source) if not one.endswith(tuple(examples) or "\n")]
    assert not found, "\n".join(found)
