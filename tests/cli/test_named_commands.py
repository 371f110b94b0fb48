"""Each command that a message names is run in the scene that names it, here or in the simulated lives."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import pytest
from support.command_line import CONFIG, CommandLine, Ran, commands
from support.lives.life import live

import reconciler as package
from reconciler.sandbox import Sandbox

OFFERS = "europe/staging/offers"
OF = {" ".join(path): command for path, command in commands()}
NAMES = OF.keys()
PAIRS = {path for path, _ in commands() if len(path) == 2}
GROUPS = {name.partition(" ")[0] for name in NAMES if " " in name}

LIVED = {
    "apply", "plan", "removal confirm", "removal list", "removal request", "state accept-loss", "state complete",
    "state copy", "state import", "state init", "state mv", "state recover", "state resolve", "state show", "status",
}  # fmt: skip
"""The commands that people in simulated lives paste."""


def _literals(words: list[ast.expr]) -> list[str]:
    """Return the words from the start that are written out, and look like those of a command's name."""
    texts = (word.value if isinstance(word, ast.Constant) else "" for word in words)
    return list(takewhile(lambda text: re.fullmatch("[a-z][a-z-]*", str(text)), map(str, texts)))


def _named() -> Iterator[str]:
    """Yield the names of the commands in the source of messages."""
    for file in Path(str(package.__file__)).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            words = node.elts if isinstance(node, ast.Tuple) else node.args if isinstance(node, ast.Call) else []
            starts = [index for index, word in enumerate(words) if _literals([word]) == ["reconciler"]]
            for start in starts:
                name = _literals(words[start + 1 :])[:2]
                if name and not (name[0] in GROUPS and len(name) == 1):
                    yield " ".join(name) if name[0] in GROUPS else name[0]


def _commands() -> Iterator[list[str]]:
    """Yield the words of each command in the source, "…" for one that is not written out: of steps, and named ones."""
    for file in Path(str(package.__file__)).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Name(id="step"), args=[_, *parts]):
                    in_step = True
                case ast.Call(func=ast.Name(id="Step"), args=[_, ast.Tuple(elts=parts)]):
                    in_step = True
                case ast.Tuple(elts=parts) | ast.Call(args=parts):
                    in_step = False
                case _:
                    continue
            words = [str(part.value) if isinstance(part, ast.Constant) else "…" for part in parts]
            if words[:1] != ["…"] and words[1:] and (in_step or words[0] == "reconciler" or tuple(words[1:3]) in PAIRS):
                yield words


def follow(line: CommandLine, ran: Ran, name: str, *more: str) -> Ran:
    """Run the command of this name that an output names, as it stands there."""
    found = [text.strip() for text in (ran.out + ran.err).splitlines() if text.strip().startswith(f"reconciler {name}")]
    assert found, ran
    return line(*shlex.split(found[0])[1:], *more)


def begins_a_project(line: CommandLine, sandbox: Sandbox) -> None:
    """Without `config/` an example is proposed; it is valid."""
    (line.directory / "config" / "a.yaml").unlink()
    (line.directory / "config").rmdir()
    assert 0 == follow(line, line("validate"), "init").code
    assert 0 == line("validate").code


def lists_all_mistakes(line: CommandLine, sandbox: Sandbox) -> None:
    """What doctor leaves out is in the list."""
    line.write_config(CONFIG + "".join(f"unknown-{number}: 1\n" for number in range(40)))
    assert 40 == follow(line, line("doctor"), "validate").out.count("unknown-")


def tells_two_responses_apart(line: CommandLine, sandbox: Sandbox) -> None:
    """Where there are two, each is shown by its attempt."""
    line.fine("apply", "--auto-approve")
    line.write_config(CONFIG.replace("[ONB10011]", "[ONB10011, ONB10012]"))
    line.fine("apply", "--auto-approve")
    assert "secretKey" in follow(line, line("secret", "show", OFFERS), "secret show").document


def checks_a_restored_record(line: CommandLine, sandbox: Sandbox) -> None:
    """A damaged record is restored, and checked with the command that was named."""
    file = Path(os.environ["RECONCILER_STATE"])
    whole = file.read_text(encoding="utf-8")
    file.write_text(whole.replace("at", "At", 1), encoding="utf-8")
    for words in ("state verify", "status", "plan"):
        damaged = line(*words.split())
        assert (1, True) == (damaged.code, "1" in damaged.err)
    file.write_text(whole, encoding="utf-8")
    assert 0 == follow(line, damaged, "state verify").code


def proves_an_unknown_create(line: CommandLine, sandbox: Sandbox) -> None:
    """A notification at the URL of a create without an answer settles it."""
    sandbox.world.fail_next("reset-after")
    assert 3 == line("apply", "--auto-approve", "-t", "*/*/applications").code
    (found,) = line.fine("state", "show", "--format", "json").document
    path = found["webhookUrl"].removeprefix("https://hooks.partner.test")
    body = '{"EventCode":"ONB10001","Message":"m","EventProperties":{}}'
    event = {"at": "2099-01-01T00:00:00Z", "path": path, "body": body, "headers": []}
    (line.directory / "FILE").write_text(json.dumps(event) + "\n", encoding="utf-8")
    assert 0 == follow(line, line("plan"), "state observe").code


def rebinds(line: CommandLine, sandbox: Sandbox) -> None:
    """An account that was renamed is of the settings, and of the record once someone has said so."""
    line.fine("apply", "--auto-approve")
    line.environment.setenv("RECONCILER_EUROPE_STAGING_CLIENT_ID", "renamed")
    assert 0 == follow(line, line("plan"), "state rebind", "--yes").code
    assert "No changes." in line.fine("plan").out


SCENES = {
    "init": begins_a_project, "validate": lists_all_mistakes,
    "secret show": tells_two_responses_apart, "state verify": checks_a_restored_record,
    "state observe": proves_an_unknown_create, "state rebind": rebinds,
}  # fmt: skip
ELSEWHERE = {
    "secret set": "test_a_secret_that_came_another_way",
    "sandbox serve": "test_the_sandbox_prints_its_variables_and_serves",
    "signature detect": "test_the_scheme",
}
"""Commands that run until they are stopped, or need a capture: the tests in `test_service_commands` that run them."""


def test_each_command_that_is_named_is_run() -> None:
    """A command that a message begins to name needs a scene."""
    assert {*_named()} == LIVED | SCENES.keys() | ELSEWHERE.keys()
    there = (Path(__file__).parent / "test_service_commands.py").read_text(encoding="utf-8")
    assert all(f"def {test}" in there for test in ELSEWHERE.values())


def test_each_command_is_whole() -> None:
    """It begins with the name of this program, or of another; options that are written out are those of the command."""
    options = {name: {text for param in of.params for text in param.opts} for name, of in OF.items()}
    for program, *words in _commands():
        name = next((name for name in (" ".join(words[:2]), words[0]) if name in NAMES), "")
        known = name or (words[0] in {"…", *GROUPS} and words[1:2] in ([], ["…"]))
        assert (program, bool(known)) == ("reconciler", True) or program in {"cd", "chmod", "git"}, (program, words)
        assert {word for word in words if word.startswith("-")} <= options.get(name, {*words}) | {"--state"}, words


@pytest.mark.parametrize("name", SCENES)
def test_named_command(name: str, project: CommandLine, sandbox: Sandbox) -> None:
    """It runs as it is named, and ends what it is named for."""
    SCENES[name](project, sandbox)


@pytest.mark.soak
def test_each_command_is_pasted_in_some_life() -> None:
    """People who paste whatever is named come by each of these."""
    pasted: set[str] = set()
    for seed in range(300):
        pasted.update(live(seed).people.pasted)
    assert LIVED <= {name for name in NAMES for shape in pasted if f"{shape} ".startswith(f"{name} ")}
