"""A name that is spelt wrongly: the error says what may be meant."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click
import pytest

from reconciler.cli.main import cli
from reconciler.cli.other_tools import COMMANDS, OPTIONS

if TYPE_CHECKING:
    from support.partner import Partner

OFFERS = "europe/staging/offers"
LINES = {
    "statsu": "No such command 'statsu' (did you mean status or state?); see:\n    reconciler --help",
    "mv a b": "No such command 'mv' (did you mean `reconciler state mv`?); see:\n    reconciler --help",
    "state plan": "No such command 'plan' (did you mean `reconciler plan`?); see:\n    reconciler state --help",
    "state lst": "No such command 'lst' (did you mean list?); see:\n    reconciler state --help",
    "plan europe/staging": "(did you mean -t europe/staging?); see:\n    reconciler plan --help",
    "plan x": "Got unexpected extra argument (x); see:\n    reconciler plan --help",
    "plan -t europe/stagin": "-t europe/stagin: matches no target or address (did you mean europe/staging?); declared",
    "plan -t europe/staging/ofers": f"matches no target or address (did you mean {OFFERS}?); declared targets: ",
    "token -t europe/stagin": "target not declared in config/ (did you mean europe/staging?); declared targets: ",
    "state init -t eurpe/staging": "matches no target (did you mean europe/staging?); known targets: ",
    "state show europe/staging/offer": f"not in the state record (did you mean {OFFERS}?); to list",
    "state retire europe/staging/offer": f"no attempt in force (did you mean {OFFERS}?); run:",
    "state import europe/staging/offer": f"not defined in config/ (did you mean {OFFERS}?); define it ",
    "parity": "expected two targets or patterns; run:\n    reconciler parity '*/staging' '*/production'\n",
    "parity staging production": "environment; run:\n    reconciler parity '*/staging' '*/production'\n",
    "parity europe usa": "environment; run:\n    reconciler parity 'europe/*' '*/usa'\n",
    "diff": "No such command 'diff' (did you mean `reconciler plan`?); see:\n    reconciler --help",
    "destroy": "No such command 'destroy': the service cannot delete; remove the subscription from config/, then run:",
    "state rm x": "'rm': `state retire` requests a removal, `state removed` records that ",
    "taint x": "No such command 'taint': the service cannot replace a subscription; to have another one created ",
    f"apply -replace={OFFERS}": "unknown option '-replace': the service cannot replace a subscription; ",
    "apply --replace x": ": the service cannot replace a subscription; to have another one created ",
    "plan --dry-run": "(did you mean `reconciler plan`?); see:\n    reconciler plan --help",
    "apply --yes": "(did you mean --auto-approve?); see:\n    reconciler apply --help",
    "apply -y": "'-y' (did you mean --auto-approve?); see:",
    "apply -auto-approve": "unknown option '-auto-approve' (did you mean --auto-approve?); see:",
    "plan -target europe/staging": "unknown option '-target' (did you mean --target?); see:",
    "plan -target=europe/staging": "unknown option '-target' (did you mean --target?); see:",
    "plan -out=x": "unknown option '-out' (did you mean --out?); see:\n    reconciler plan --help",
    "plan -help": "unknown option '-help' (did you mean --help?); see:\n    reconciler plan --help",
    "-help": "unknown option '-help' (did you mean --help?); see:\n    reconciler --help",
    "state -help": "unknown option '-help' (did you mean --help?); see:\n    reconciler state --help",
    "plan -json": "unknown option '-json' (did you mean --format json?); see:",
    "apply europe/staging": "cannot read the plan file: No such file or directory; to apply the changes of a target"
    " or an address only, run:\n    reconciler apply -t europe/staging\n",
    "apply 'europe/*'": "run:\n    reconciler apply -t 'europe/*'\n",
    "apply plans/europe.json": "plans/europe.json: cannot read the plan file: No such file or directory\n",
}


@pytest.mark.parametrize("line", LINES)
def test_what_may_be_meant(partner: Partner, line: str) -> None:
    """Commands, also those of another group; targets and addresses; a target where a plan file is expected."""
    partner.begin(offers=["ONB10011"])
    partner.step("state", "import", "--all")
    done = partner.step(*shlex.split(line), code=1)
    assert LINES[line] in done.err


def commands(group: click.Group = cli, path: str = "") -> dict[str, click.Command]:
    """Every command and group, by the words that call it."""
    context = click.Context(group)
    found = {f"{path}{name}": group.get_command(context, name) for name in group.list_commands(context)}
    below: dict[str, click.Command] = {}
    for name, command in found.items():
        if isinstance(command, click.Group):
            below |= commands(command, f"{name} ")
    return {name: command for name, command in found.items() if command} | below


@pytest.mark.parametrize("path", COMMANDS)
def test_commands_of_other_tools(partner: Partner, path: str) -> None:
    """None is ours; each is answered; and what is named instead exists."""
    ours = commands()
    meant = COMMANDS[path]
    assert path not in ours
    answer = " ".join(partner.step(*path.split(), code=1).err.split())
    if isinstance(meant, str):
        assert meant in answer
    else:
        assert {*meant} <= {*ours, "--help", "--version"}
        assert f"(did you mean {' or '.join(f'`reconciler {words}`' for words in meant)}?)" in answer


@pytest.mark.parametrize("option", OPTIONS)
def test_options_of_other_tools(partner: Partner, option: str) -> None:
    """What is named instead exists in a command that lacks the option, and is named there."""
    existing = {
        name: {opt for param in command.params if isinstance(param, click.Option) for opt in param.opts}
        for name, command in commands().items()
        if not isinstance(command, click.Group)
    }
    meant = OPTIONS[option]
    words = f"`reconciler {meant[0]}`" if isinstance(meant, tuple) else meant.partition(" or ")[0]
    needed = words.partition(" ")[0] if words.startswith("--") else "--verbose"
    path = next(path for path in ("apply", *existing) if needed in existing[path] and option not in existing[path])
    answer = " ".join(partner.step(*path.split(), option, code=1).err.split())
    assert words in answer


def test_a_value_may_look_like_an_option(partner: Partner) -> None:
    """Behind an option that takes a value, anything is one; and several short options are what they were."""
    partner.begin(offers=["ONB10011"])
    partner.step("plan", "-vv", "--out", "-target")
    assert (partner.path / "-target").exists()
    partner.step("plan", "-teurope/staging", "-qv")
