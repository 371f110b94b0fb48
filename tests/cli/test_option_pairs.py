"""Each option of each command has an effect, and none undoes what another one refuses.

They come from the commands themselves, so that a new command or option without a row here fails.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
import shutil
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import click
import pytest
from support.command_line import CommandLine, Screen, commands
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

COMMANDS = dict(commands())
CONTEXT = click.Context(cli)
FORMS = {path: vars(param.type)["choices"] for path, of in commands() for param in of.params if param.name == "form"}
STAGING, USA, HOOK = "europe/staging", "usa/staging", "http://127.0.0.1:9"
CONFIG = f"""\
subscriptions:
  "*/*":
    more: {{eventCodes: [LOA10013], webhookUrl: "{HOOK}/{{region}}/more"}}
  {STAGING}:
    offers: {{eventCodes: [ONB10011], webhookUrl: {HOOK}/offers}}
    leads: {{eventCodes: [ONB10001], webhookUrl: {HOOK}/leads}}
"""
EVENT = {"at": AT, "path": "/offers", "body": '{"EventCode":"ONB10011","Message":"m","EventProperties":{}}'}
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

WRONG = f"sha256:{'0' * 64}"
VALUES: dict[str, tuple[str, ...]] = {
    "--target": (USA,), "--out": ("saved.json",), "--expect-digest": (WRONG,), "--max-creates": ("0",),
    "--attempt": ("f" * 32,), "--code": ("LOA10011",), "--region": ("europe",), "--environment": ("staging",),
    "--soak": ("3d",), "--note": ("a ticket",), "--identity": ("none",), "--field": ("id",), "--count": ("2",),
    "--address": (f"{STAGING}/offers",), "--loss": ("d" * 32,), "--secret-variable": ("NO_SUCH",),
    "--properties": ("none",), "--url": (HOOK,), "--api": ("loan",),
}  # fmt: skip
"""For each option with a value one that makes a difference in the scene."""


def words(path: tuple[str, ...], option: str) -> tuple[str, ...]:
    """Return an option with its value."""
    return (option, *(FORMS[path][-1:] if option == "--format" else VALUES.get(option, ())))


def options_of(path: tuple[str, ...]) -> list[str]:
    """Return the options of a command that its base does not have."""
    params = [param for param in COMMANDS[path].params if isinstance(param, click.Option) and param not in GLOBALS]
    return [param.opts[-1] for param in params if not {*param.opts} & {*BASES[path]}]


def test_every_command_and_option_has_its_row() -> None:
    """And no row is of another."""
    assert COMMANDS.keys() == BASES.keys() | SERVING
    with_value = {
        param.opts[-1]
        for path in BASES
        for param in COMMANDS[path].params
        if param.name != "form" and isinstance(param, click.Option) and param not in GLOBALS and not param.is_flag
    }
    assert with_value == VALUES.keys()


@pytest.mark.parametrize("path", sorted(COMMANDS), ids=" ".join)
def test_a_parameter_is_what_its_help_says(path: tuple[str, ...]) -> None:
    """Required or repeatable, and the default; a file is looked at by the command, and a variable by the settings."""
    base = BASES.get(path, ())
    given = parse(cli, [*path, *base]).params
    for param in COMMANDS[path].params:
        assert param.envvar is None
        if isinstance(param.type, click.Path):
            assert param.type.to_info_dict() == click.Path(path_type=Path).to_info_dict()
        if isinstance(param, click.Argument):
            assert param.required is (param.make_metavar(CONTEXT)[0] not in "[<")
        elif param.secondary_opts:
            assert param.default is None  # neither is the answer of somebody who gives none
        elif isinstance(param, click.Option) and param not in GLOBALS:
            value, text = given[str(param.name)], param.help or ""
            default = [] if value in (None, "", ()) or value is False else [re.sub(r"\.0$", "", f"{value}")]
            named = bool({*param.opts} & {*base})
            assert (param.required, param.multiple, param.hidden) == (named, "Repeatable." in text, False)
            assert named or default == re.findall(r"\[([a-z\d]+)\]$", text)


TAKES = {
    "--port": "0 65535 !-1 !65536 !x", "--fail-first": "0 9 !-1 !1.5", "--respond": "200 599 !199 !600",
    "--delay": "0 0.5 3600 !-1 !3601", "--retry-interval": "0.5 20 !x", "--seed": "-1 9 !0.5",
    "--count": "1 10000 !0 !10001", "--max-creates": "0 9 !-1 !0.5",
}  # fmt: skip
"""For each option with a number what it takes, and what it refuses."""


@pytest.mark.parametrize("path", sorted(COMMANDS), ids=" ".join)
def test_a_number_has_its_limits(path: tuple[str, ...]) -> None:
    """What is beyond them is a usage error."""
    for param in COMMANDS[path].params:
        is_number = isinstance(param.type, click.types.IntParamType | click.types.FloatParamType)
        for number in TAKES[param.opts[-1]].split() if is_number and param not in GLOBALS else ():
            is_taken = number[0] != "!"
            with contextlib.nullcontext() if is_taken else pytest.raises(click.BadParameter):
                parse(cli, [*path, *BASES.get(path, ()), param.opts[-1], number.removeprefix("!")])


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
        record.write_bytes(data := data + linked(last_head(data), data.count(b"\n"), facts)[0])
        another = created("9" * 32, f"{STAGING}/nine", "ONB10004", url=f"{HOOK}/nine", base_url=base)
        data += linked(last_head(data), data.count(b"\n"), another)[0]
        (reconciler.directory / "other.jsonl").write_bytes(data)
        (reconciler.directory / "notifications").write_text(json.dumps(EVENT) + "\n")
        yield reconciler, sandbox


@pytest.mark.parametrize(
    "path", [path for path in BASES if {"--yes", "--auto-approve"} & {*options_of(path)}], ids=" ".join
)
def test_consent_is_to_nothing_that_another_refuses(scene: tuple[CommandLine, Sandbox], path: tuple[str, ...]) -> None:
    """Neither the record nor the service changes; what is only shown is of its form all the same."""
    line, sandbox = scene
    record = line.directory / "state.jsonl"
    before = record.read_bytes()
    line.fine("plan", "--out", "reviewed")
    for consent in ("--auto-approve", "reviewed") if path == ("apply",) else ("--yes",):
        for option in {"--dry-run", "--expect-digest", "--max-creates", "--pinned"} & {*options_of(path)}:
            for given in [(consent, *words(path, option)), (*words(path, option), consent)]:
                ran = line(*path, *BASES[path], *given)
                assert (before, []) == (record.read_bytes(), list_subscriptions(sandbox.url)), given
                assert "internal error" not in ran.err


@pytest.mark.parametrize("path", sorted(FORMS.keys() - {("apply",)}), ids=" ".join)
def test_every_format_of_a_part(scene: tuple[CommandLine, Sandbox], path: tuple[str, ...]) -> None:
    """It begins as it should, and shows what was selected; the exit code is the same in each."""
    line, _ = scene
    selected = ("-t", STAGING) if "--target" in options_of(path) else (f"{STAGING}/*",) if path[0] == "state" else ()
    more = [option for option in ("--detailed-exitcode", "--out") if option in options_of(path)]
    code = {"plan": 3, "status": 3, "parity": 2, "doctor": 1}.get(path[0], 0)
    for form in FORMS[path]:
        given = [word for option in more for word in words(path, option)]
        ran = line(*path, *BASES[path], *selected, *given, "--format", form, "-v")
        begins = {"json": ("{", "["), "markdown": ("<!-- reconciler:",), "html": ("<!DOCTYPE html>",)}.get(form, ("",))
        assert (ran.code, ran.out.startswith(begins), USA in ran.out) == (code, True, path == ("parity",))
        if "--out" in more:
            saved = json.loads((line.directory / "saved.json").read_text())
            assert (saved["selection"], USA in saved["targets"]) == ([STAGING], False)
            assert ("reconciler apply saved.json" in ran.out) is (form != "json")


UNSEEN = {
    "secret show --attempt", "secret show --identity", "secret show --field", "secret show --headers",
    "secret set --yes",
    "signature detect --identity", "state complete --yes", "state rebind --yes", "state resolve --force", "token --api",
    *(f"state init {option}" for option in ("--complete", "--yes", "--dry-run", "--expect-digest")),
}  # fmt: skip
"""The options whose effect other scenes show: of a response, of a new record, or of what weakens a gate."""


def singles() -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield every option of every command that ends by itself, if it has an effect in the scene."""
    for path in sorted(COMMANDS.keys() - SERVING):
        yield from ((path, option) for option in options_of(path) if " ".join((*path, option)) not in UNSEEN)


def ended(line: CommandLine, at_terminal: bool, *words: str) -> str:
    """Run a command, to which a person says no; return how it ended and what it left, without times and new ids."""
    given = Screen("no\n") if at_terminal else io.TextIOWrapper(io.BytesIO(b"hunter2\n"))
    line.environment.setattr("sys.stdin", given)
    ran = line(*words)
    files = {str(file): file.read_bytes().count(b"\n") for file in line.directory.rglob("*.*") if file.is_file()}
    return re.sub(r"(?!f{32})[0-9a-f]{32,}|\d{4}-\d\d\S*", "…", f"{ran} {sorted(files.items())}")


@pytest.mark.parametrize(("path", "option"), [pytest.param(*one, id=" ".join((*one[0], one[1]))) for one in singles()])
def test_each_option_has_an_effect(scene: tuple[CommandLine, Sandbox], path: tuple[str, ...], option: str) -> None:
    """Whoever gives it sees, or finds, something else than without it."""
    line, sandbox = scene
    sandbox.world.create(STAGING, ("ONB10011",), f"{HOOK}/offers")
    line.environment.setenv("RECONCILER_SANDBOX_URL", sandbox.url)
    if option == "--allow-empty":
        line.write_config((line.directory / "config" / "a.yaml").read_text().partition("subscriptions:")[0])
    if option == "--allow-plaintext-responses":
        line.environment.setenv("CI", "true")
    places = [line.directory, line.directory.parent / "home"]
    for place in places:
        shutil.copytree(place, place.with_suffix(".kept"))
    at_terminal = path == ("apply",) or option in {"--yes", "--complete"}
    without = ended(line, at_terminal, *path, *BASES[path])
    for place in places:
        shutil.rmtree(place)
        place.with_suffix(".kept").rename(place)
    line.environment.chdir(line.directory)
    assert without != ended(line, at_terminal, *path, *BASES[path], *words(path, option))


FLAGS: dict[str, tuple[str, ...]] = {
    "--config": ("of another",), "--state": ("other.jsonl",), "--cache-dir": ("a cache",), "--timeout": ("5",),
    "--parallelism": ("2",), "--color": ("never",), "--verbose": (), "--quiet": (), "--log-format": ("json",),
}  # fmt: skip
"""For each flag of the program its value."""
READING = [("plan",), ("status",), ("removal", "list"), ("state", "show"), ("state", "history"), ("state", "verify")]


@pytest.mark.parametrize("path", READING, ids=" ".join)
@pytest.mark.parametrize("flag", [param.opts[-1] for param in GLOBALS])
def test_a_flag_of_the_program(reconciler: CommandLine, path: tuple[str, ...], flag: str) -> None:
    """It is the same before, in and after a command; the last counts; all commands that are shown repeat a place."""
    reconciler.write_config(f"targets:\n  {STAGING}: {{auth_url: '{HOOK}/a', base_url: '{HOOK}'}}\n{CONFIG}")
    (reconciler.directory / "config").rename(reconciler.directory / "of another")
    given = (flag, *FLAGS[flag])
    config = given if flag == "--config" else ("--config", "of another")
    places = {config, given} if flag in {"--config", "--state", "--cache-dir"} else {config}
    state = given if flag == "--state" else ()
    reconciler.fine(*config, *state, "state", "init", "--yes")
    wrong = (flag, {"--color": "always", "--log-format": "text"}.get(flag, "3")) if FLAGS[flag] else ()
    before, after = reconciler(*given, *config, *path), reconciler(*wrong, *path, *wrong, *given, *config)
    within = reconciler(path[0], *given, *config, *path[1:])
    assert (before.code, before.out) == (after.code, after.out) == (within.code, within.out)
    assert before.code == 0
    forms = {"markdown", "html"} & {*FORMS.get(path, ())}
    said = [before.out, before.err, *(reconciler(*path, *given, *config, "--format", form).out for form in forms)]
    shown = re.findall(r"(?m)(?:^|>) *(reconciler (?!\w+:).*)", unescape("\n".join(said)))
    assert shown or path[0] != "plan"
    for option, value in places:
        assert all(f"{option} {shlex.quote(value)}" in line for line in shown)


@pytest.mark.parametrize("path", sorted(BASES), ids=" ".join)
def test_the_environments_that_a_command_is_about(path: tuple[str, ...]) -> None:
    """Those of its addresses and patterns, "" for one without; a file or a place has none."""
    target = ("-t", "usa/*", "-t", "usa") if any(param.name == "patterns" for param in COMMANDS[path].params) else ()
    base = [word.replace("/staging/", f"/live{index}/") for index, word in enumerate(BASES[path])]
    parsed = parse(cli, [*path, *base, *target])
    named = {word.split("/")[1] for word in base if "/live" in word}
    assert parsed.environments == named | ({"*", ""} if target else set())
    assert (parsed.name, parsed.words) == (" ".join(path), [*path, *base, *target])


@pytest.mark.parametrize("words", [["state"], ["plan", "-q"], ["no-such"], ["removal", "request"]])
def test_what_is_no_command(words: list[str]) -> None:
    """The message says whose help to read."""
    with pytest.raises(click.UsageError) as caught:
        parse(cli, words)
    assert caught.value.ctx is not None
    assert caught.value.ctx.command_path.startswith("reconciler")
