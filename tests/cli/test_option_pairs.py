"""Each option of a command together with each other one: neither loses its effect.

The pairs come from the commands themselves, so that a new command or option without a row here fails.
"""

from __future__ import annotations

import json
import shlex
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import click
import pytest
from support.command_line import commands
from support.memory_project import created, unknown
from support.memory_record import AT
from support.records import linked

from reconciler.cli.invocation import GLOBALS
from reconciler.cli.main import cli
from reconciler.cli.parsing import parse
from reconciler.operations.sandbox import list_subscriptions
from reconciler.record.chain import last_head
from reconciler.record.facts import RemovalRequested
from reconciler.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from support.command_line import CommandLine, Ran

    from reconciler.cli.commands import Command

COMMANDS = dict(commands())
STAGING, USA, HOOK = "europe/staging", "usa/staging", "http://127.0.0.1:9"
CONFIG = f"""\
subscriptions:
  "*/*":
    more: {{eventCodes: [LOA10013], webhookUrl: "{HOOK}/{{region}}/more"}}
  {STAGING}:
    offers: {{eventCodes: [ONB10011], webhookUrl: {HOOK}/offers}}
    leads: {{eventCodes: [ONB10001], webhookUrl: {HOOK}/leads}}
"""
OFFERS, LEADS, OLD = (letter * 32 for letter in "abc")
SERVING = {("listen",), ("sandbox", "serve"), ("demo",)}
"""They end when they are interrupted, or take seconds."""

BASES: dict[tuple[str, ...], tuple[str, ...]] = {
    ("init",): ("elsewhere",), ("validate",): (), ("plan",): (), ("apply",): (), ("status",): (), ("doctor",): (),
    ("parity",): (STAGING, USA), ("removal", "list"): (), ("removal", "request"): (f"{STAGING}/offers",),
    ("removal", "cancel"): (f"{STAGING}/old",), ("removal", "confirm"): (f"{STAGING}/old",), ("state", "show"): (),
    ("state", "history"): (), ("state", "verify"): (), ("state", "import"): (f"{STAGING}/more",),
    ("state", "resolve"): (f"{STAGING}/leads", "--created"), ("state", "mv"): (f"{STAGING}/offers", f"{STAGING}/moved"),
    ("state", "rebind"): ("-t", STAGING), ("state", "observe"): ("notifications",), ("state", "init"): (),
    ("state", "complete"): (), ("state", "accept-loss"): (), ("state", "recover"): ("other.jsonl",),
    ("state", "copy"): ("state.jsonl", "copy.jsonl"), ("secret", "show"): (f"{STAGING}/offers",),
    ("secret", "set"): (f"{STAGING}/offers",), ("token",): ("-t", STAGING), ("lead", "create"): ("-t", STAGING, "file"),
    ("signature", "detect"): ("notifications",), ("sandbox", "trigger"): ("ONB10011",), ("sandbox", "list"): (),
    ("sandbox", "delete"): ("1",), ("schema",): (), ("completion",): ("bash",),
}  # fmt: skip
"""What each command is given besides its options."""

GROWS = {
    ("removal", "request"), ("removal", "cancel"), ("removal", "confirm"), ("state", "import"), ("state", "resolve"),
    ("state", "mv"),
}  # fmt: skip
"""The commands that append something to the record of the scene, if the person agrees."""


class Met(NamedTuple):
    """A command that was run with two options: the record before and after it, and how it ended."""

    path: tuple[str, ...]
    options: frozenset[str]
    before: bytes
    after: bytes
    ran: Ran
    directory: Path
    sandbox: Sandbox

    @property
    def goes_on(self) -> bool:
        """True if neither option keeps the command from what it is for."""
        return not self.options & {"--dry-run", "--expect-digest", "--max-creates", "--pinned"}


def nothing(met: Met) -> None:
    """The option has no effect that is seen here."""


def appends_nothing(met: Met) -> None:
    """The record stays as it is."""
    assert met.before == met.after


def refuses(met: Met) -> None:
    """The command fails, and the record stays as it is; but there is no plan to approve where nothing is shown."""
    appends_nothing(met)
    assert met.ran.code == 1 or "--dry-run" in met.options
    if met.path == ("apply",):
        assert list_subscriptions(met.sandbox.url) == []


def is_of_its_form(met: Met) -> None:
    """Stdout is one document."""
    out = met.ran.out
    if met.ran.code == 1 and not out:
        assert met.ran.err
    elif met.path[0] in {"plan", "status"}:
        assert out.startswith("<!DOCTYPE html>")
    elif "markdown" in formats(COMMANDS[met.path]):
        assert out.startswith("<!-- reconciler:")
    elif "json" in formats(COMMANDS[met.path]):
        json.loads(out)


def selects(met: Met) -> None:
    """Nothing is said of what was not selected."""
    assert USA not in met.ran.out


def saves(met: Met) -> None:
    """The file is a plan of what was selected."""
    saved = json.loads((met.directory / "saved.json").read_text())
    assert saved["selection"] == ([STAGING] if "--target" in met.options else [])
    assert (USA in saved["targets"]) is ("--target" not in met.options)


def tells_by_its_code(met: Met) -> None:
    """There is an unknown create."""
    assert met.ran.code == 3


def agrees(met: Met) -> None:
    """What is asked for is appended, unless the other option is in its way."""
    assert (met.before != met.after) is (met.path in GROWS and met.goes_on) or met.path not in GROWS


def sends(met: Met) -> None:
    """Each subscription is created once, unless the other option is in its way."""
    count = len(list_subscriptions(met.sandbox.url))
    assert count == (0 if not met.goes_on else 1 if "--target" in met.options else 2)


Row = tuple[tuple[str, ...], "Callable[[Met], None]"]
WRONG = f"sha256:{'0' * 64}"
OPTIONS: dict[str, Row] = {
    "--target": ((STAGING,), selects), "--out": (("saved.json",), saves),
    "--detailed-exitcode": ((), tells_by_its_code),
    "--allow-empty": ((), nothing), "--auto-approve": ((), sends), "--expect-digest": ((WRONG,), refuses),
    "--max-creates": (("0",), refuses), "--allow-plaintext-responses": ((), nothing), "--pinned": ((), refuses),
    "--format": ((), is_of_its_form), "--yes": ((), agrees), "--dry-run": ((), appends_nothing),
    "--attempt": ((), nothing), "--code": ((), nothing), "--region": (("europe",), nothing),
    "--environment": (("staging",), nothing), "--age-key": ((), nothing), "--github": ((), nothing),
    "--gate": ((), nothing), "--proven": ((), nothing), "--soak": (("3d",), nothing), "--write": ((), appends_nothing),
    "--note": (("a ticket",), nothing), "--force": ((), nothing), "--url": ((), nothing),
    "--identity": (("none",), nothing), "--field": (("id",), nothing), "--headers": ((), nothing),
    "--address": ((f"{STAGING}/offers",), nothing), "--loss": (("d" * 32,), nothing),
    "--secret-variable": (("NO_SUCH",), nothing), "--properties": (("none",), nothing), "--count": (("1",), nothing),
    "--complete": ((), nothing),
}  # fmt: skip
"""For each option its value, and what it does whatever other option it meets."""

IDS = {"offers": OFFERS, "leads": LEADS, "old": OLD, "more": "e" * 32}
CODES = {"offers": "ONB10011", "old": "ONB10012", "more": "LOA10013"}


def formats(command: Command) -> Sequence[str]:
    """Return the formats of a command."""
    for param in command.params:
        if isinstance(param.type, click.Choice) and param.name == "form":
            return param.type.choices
    return ()


def words(path: tuple[str, ...], option: str) -> tuple[str, ...]:
    """Return an option with its value."""
    name = BASES[path][0].rpartition("/")[2] if BASES[path] else ""
    if option == "--format":
        return option, formats(COMMANDS[path])[-1]
    if option == "--attempt":
        return option, IDS[name]
    if option == "--code":
        return option, CODES[name]
    if option == "--url":
        return option, "http://127.0.0.1:9" if path[0] == "sandbox" else f"{HOOK}/by-hand"
    return (option, *OPTIONS[option][0])


def options_of(path: tuple[str, ...]) -> list[str]:
    """Return the options of a command that its base does not have."""
    params = [param for param in COMMANDS[path].params if isinstance(param, click.Option) and param not in GLOBALS]
    return [param.opts[-1] for param in params if not {*param.opts} & {*BASES[path]}]


def pairs() -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Yield every pair of options of every command that ends by itself."""
    for path in sorted(COMMANDS.keys() - SERVING):
        for one, other in combinations(options_of(path), 2):
            yield path, one, other


def named(path: tuple[str, ...], one: str, other: str) -> str:
    """Return the name of a pair."""
    return " ".join((*path, one, other))


def test_every_command_and_option_has_its_row() -> None:
    """And no row is of another."""
    assert COMMANDS.keys() == BASES.keys() | SERVING
    pairs_have = {option for _, *both in pairs() for option in both}
    assert OPTIONS.keys() == pairs_have


@pytest.fixture
def scene(reconciler: CommandLine, tmp_path: Path) -> Iterator[tuple[CommandLine, Sandbox]]:
    """A project with something live, unknown, awaiting removal and yet to be created, on two targets."""
    with Sandbox(0, [STAGING, USA], directory=tmp_path / "sandbox", retry_interval=0.05) as sandbox:
        settings = dict(sandbox.variables())
        targets = "targets:\n"
        for target in (STAGING, USA):
            prefix = f"RECONCILER_{target.upper().replace('/', '_')}"
            for field in ("CLIENT_ID", "CLIENT_SECRET"):
                reconciler.environment.setenv(f"{prefix}_{field}", settings[f"{prefix}_{field}"])
            urls = (settings[f"{prefix}_{field}"] for field in ("AUTH_URL", "BASE_URL", "AUDIENCE_BASE"))
            targets += "  {}: {{auth_url: '{}', base_url: '{}', audience_base: '{}'}}\n".format(target, *urls)
        reconciler.write_config(targets + CONFIG)
        reconciler.fine("state", "init", "--complete", "--yes")
        base = settings["RECONCILER_EUROPE_STAGING_BASE_URL"]
        facts = [
            *created(OFFERS, f"{STAGING}/offers", "ONB10011", url=f"{HOOK}/offers", base_url=base),
            *created(OLD, f"{STAGING}/old", "ONB10012", url=f"{HOOK}/old", base_url=base),
            RemovalRequested(at=AT, attempt=OLD, codes=("ONB10012",), by_plan=True),
            *unknown(LEADS, f"{STAGING}/leads", "ONB10001", url=f"{HOOK}/leads", base_url=base, settled_by=1.0),
        ]
        record = reconciler.directory / "state.jsonl"
        data = record.read_bytes()
        record.write_bytes(data + linked(last_head(data), data.count(b"\n"), facts)[0])
        yield reconciler, sandbox


@pytest.mark.parametrize(("path", "one", "other"), [pytest.param(*pair, id=named(*pair)) for pair in pairs()])
def test_two_options(scene: tuple[CommandLine, Sandbox], path: tuple[str, ...], one: str, other: str) -> None:
    """Each does what it does, and nothing is a defect."""
    line, sandbox = scene
    record = line.directory / "state.jsonl"
    before = record.read_bytes()
    ran = line(*path, *BASES[path], *words(path, one), *words(path, other))
    met = Met(path, frozenset({one, other}), before, record.read_bytes(), ran, line.directory, sandbox)
    assert "internal error" not in ran.err
    assert ran.code in (0, 1, 2, 3)
    for option in (one, other):
        OPTIONS[option][1](met)


FLAGS: dict[str, tuple[str, ...]] = {
    "--config": ("of another",), "--state": ("other.jsonl",), "--cache-dir": ("a cache",), "--timeout": ("5",),
    "--parallelism": ("2",), "--color": ("never",), "--verbose": (), "--quiet": (), "--log-format": ("json",),
}  # fmt: skip
"""For each flag of the program its value."""
READING = [("plan",), ("status",), ("removal", "list"), ("state", "show"), ("state", "history"), ("state", "verify")]


@pytest.mark.parametrize("path", READING, ids=" ".join)
@pytest.mark.parametrize("flag", [param.opts[-1] for param in GLOBALS])
def test_a_flag_of_the_program(reconciler: CommandLine, path: tuple[str, ...], flag: str) -> None:
    """It is the same before and after a command; where it names a place, so do all commands that are shown."""
    reconciler.write_config(f"targets:\n  {STAGING}: {{auth_url: '{HOOK}/a', base_url: '{HOOK}'}}\n{CONFIG}")
    (reconciler.directory / "config").rename(reconciler.directory / "of another")
    given = (flag, *FLAGS[flag])
    config = given if flag == "--config" else ("--config", "of another")
    places = {config, given} if flag in {"--config", "--state", "--cache-dir"} else {config}
    state = given if flag == "--state" else ()
    reconciler.fine(*config, *state, "state", "init", "--yes")
    before, after = reconciler(*given, *config, *path), reconciler(*path, *given, *config)
    assert (before.code, before.out) == (after.code, after.out)
    assert before.code == 0
    shown = [line for line in (before.out + before.err).splitlines() if line.strip().startswith("reconciler ")]
    assert shown or path[0] != "plan"
    for option, value in places:
        assert all(f"{option} {shlex.quote(value)}" in line for line in shown)


@pytest.mark.parametrize("path", sorted(path for path in BASES if path[0] in {"state", "removal"}), ids=" ".join)
def test_the_environments_that_a_command_is_about(path: tuple[str, ...]) -> None:
    """Those of its addresses and patterns; a file or a place has none."""
    target = ("-t", "usa/*") if any(param.name == "patterns" for param in COMMANDS[path].params) else ()
    parsed = parse(cli, [*path, *BASES[path], *target])
    addresses = {"staging" for word in BASES[path] if word.startswith(f"{STAGING}/")}
    assert parsed.environments == addresses | ({"*"} if target else set())
    assert (parsed.name, parsed.words) == (" ".join(path), [*path, *BASES[path], *target])


@pytest.mark.parametrize("words", [["state"], ["plan", "-q"], ["no-such"], ["removal", "request"]])
def test_what_is_no_command(words: list[str]) -> None:
    """The message says whose help to read."""
    with pytest.raises(click.UsageError) as caught:
        parse(cli, words)
    assert caught.value.ctx is not None
    assert caught.value.ctx.command_path.startswith("reconciler")
