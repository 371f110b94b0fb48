"""No command shows or writes a secret, whatever goes wrong; but for those whose purpose it is."""

from __future__ import annotations

import re
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click
import pytest
from pyrage import x25519  # type: ignore[import-untyped]
from support.glass_house import CLIENT_SECRET, MISTAKEN_KEY, SET_SECRET, GlassHouse, house

from reconciler.cli.main import cli
from reconciler.reports.formats import FINDINGS, LIST, PARITY, PLAN, REMOVALS, STATUS
from reconciler.sandbox.faults import FAULT_NAMES, FAULTS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["house"]

SEEN = """{"at": "2026-11-20T13:30:00Z", "headers": {"x-signature": "c2lnbmF0dXJl"}, "body": "{}"}
"""
HERE, THERE = "europe/staging/offers", "europe/production/offers"


@dataclass(frozen=True)
class Step:
    """One run of a command: its words, its standard input, what ends it, and the exit code to expect."""

    line: str
    code: int = 0
    stdin: str | None = None
    until: signal.Signals | None = None


STEPS = (
    Step("init new --age-key"),
    Step("validate"),
    Step("schema"),
    Step("completion bash"),
    Step("state init"),
    *(Step(f"plan --format {form}") for form in PLAN),
    Step("plan --out plan.json"),
    *(Step(f"parity europe/staging europe/production --format {form}") for form in PARITY),
    Step("token -t europe/staging"),
    Step("token -t europe/production --api loan"),
    Step("apply --auto-approve", code=3),
    Step("apply plan.json", code=1),
    Step(f"state resolve {THERE} --created --note mail --force"),
    *(Step(f"status --format {form}") for form in STATUS),
    *(Step(f"removals --format {form}") for form in REMOVALS),
    *(Step(f"state list --format {form}") for form in LIST),
    Step("state observe seen.jsonl"),
    Step(f"state show {HERE}"),
    Step("state history"),
    Step("state verify"),
    Step(f"secret show {HERE}"),
    Step(f"secret show {HERE} --field secretKey"),
    Step(f"secret show {HERE} --headers"),
    Step(f"secret show {HERE} --field password", code=1),
    Step(f"secret set {HERE}", stdin=SET_SECRET),
    Step(f"secret show {HERE}"),
    Step(f"secret reseal --to {x25519.Identity.generate().to_public()}"),
    Step(f"secret reseal --to {MISTAKEN_KEY}", code=1),
    Step(f"secret reseal --to !{MISTAKEN_KEY.lower()}", code=1),
    Step("lead create -t europe/staging -", stdin='{"amount": 1}'),
    Step("lead create -t europe/staging -", stdin="{", code=1),
    *(Step(f"doctor --write --timeout 5 --format {form}", code=1) for form in FINDINGS),
    Step(f"state mv {HERE} europe/staging/others"),
    Step("state import --all"),
    Step("state recover plan.json", code=1),
    Step("state retire europe/staging/others"),
    Step("state removed europe/staging/others"),
    Step("state rebind --force"),
    Step("state accept-rollback -t europe/staging --force"),
    Step("state copy state copied"),
    Step("plan", code=1),
    Step("demo"),
    Step("drill --list"),
    Step("replay seen.jsonl --to http://127.0.0.1:9/ --dry-run"),
    Step("github comment", code=1),
    Step("github issues", code=1),
    Step("sandbox trigger ONB10011"),
    Step("sandbox delete"),
    Step("sandbox delete no-such-id", code=1),
    Step(f"verification infer seen.jsonl --address {THERE}", code=1),
    Step("listen", until=signal.SIGTERM, code=143),
    Step("sandbox serve", until=signal.SIGTERM, code=143),
)
"""Every command there is, more than once where that says more."""
OPENING = ("secret show ", "secret reseal ")
"""Commands that are given the identity."""
NEVER_WARM = ("demo", "sandbox trigger ONB10011")
"""Commands that start processes or servers of their own."""


def existing_commands(group: click.Group = cli, path: str = "") -> Iterator[str]:
    """The commands that there are, by the words that call them."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from existing_commands(command, f"{path}{name} ")
        else:
            yield f"{path}{name}"


def test_no_command_is_forgotten() -> None:
    """Each command that exists is among the steps."""
    lines = [f"{step.line} " for step in STEPS]
    assert [] == [one for one in existing_commands() if not any(line.startswith(f"{one} ") for line in lines)]


@pytest.mark.parametrize(
    ("log_format", "sealed"), [("json", True), pytest.param("text", False, marks=pytest.mark.soak)]
)
def test_no_command_leaks(house: GlassHouse, log_format: str, sealed: bool) -> None:
    """With everything told twice over, only `token` and `secret show` show secrets, and nothing writes one openly."""
    identity = x25519.Identity.generate()
    file = house.path.parent / f"{house.path.name}.txt"
    file.write_text(str(identity))
    if sealed:
        house.project.write("config/recipients.yaml", f"recipients: [{identity.to_public()}]\n")
    house.project.write("seen.jsonl", SEEN)
    world = house.sandbox.world
    world.fail_next("401-once", target="europe/staging")
    world.fail_next("500-after", target="europe/production")
    for step in STEPS:
        more = ["--identity", str(file)] if step.line.startswith(OPENING) else []
        told = ("-vv", "--log-format", log_format, *more)
        if step.until is None and step.line not in NEVER_WARM:
            done = house.step(step.line, *told, stdin=step.stdin or "")
        else:
            done = house.run(step.line, *told, stdin=step.stdin, until=step.until)
        assert step.code == done.code, (step, done)
    assert (3, 6) == (len(world.commits), len(world.tokens))
    house.assert_nothing_leaked()
    assert sealed == (not any(house.secrets.leaked_in(path.read_bytes()) for path in house.private_files()))


def test_what_is_searched_for_would_be_found(house: GlassHouse) -> None:
    """The search finds a secret where there is one: in what `token` prints, and in the private files."""
    token = house.step("token -t europe/staging").out
    house.step("apply --auto-approve")
    assert house.secrets.leaked_in(token.encode())
    assert 3 == len([path for path in house.private_files() if house.secrets.leaked_in(path.read_bytes())])
    for text in (CLIENT_SECRET, CLIENT_SECRET[:12], ascii(CLIENT_SECRET)[1:-1]):
        assert house.secrets.leaked_in(f"it is {text}!".encode()), text


CREATE_FAULTS = tuple(FAULTS)
TOKEN_FAULTS = tuple(name for name in FAULT_NAMES if name not in FAULTS)
ISSUED = ("token-drip", "token-half", "token-500-after", "token-huge", "token-html-200")
AT_ONCE = 6


@pytest.mark.parametrize(
    ("faults", "outcomes"), [(CREATE_FAULTS, {"created", "rejected", "unknown"}), (TOKEN_FAULTS, {"created"})]
)
def test_no_fault_leaks(tmp_path: Path, faults: tuple[str, ...], outcomes: set[str]) -> None:
    """Whatever the service does wrong, a target for each fault, no log, error, file or report holds a secret."""
    targets = {fault: f"f{number}/production" for number, fault in enumerate(faults)}
    with GlassHouse(tmp_path, list(targets.values())) as house, ThreadPoolExecutor(AT_ONCE) as pool:
        for fault, target in targets.items():
            house.sandbox.world.fail_next(fault, 1000, target)
        lines = [f"token -t {target} --timeout 1 -vv" for fault, target in targets.items() if fault in ISSUED]
        for start in range(AT_ONCE):
            patterns = " ".join(f"-t {target}" for target in list(targets.values())[start::AT_ONCE])
            lines.append(f"apply --auto-approve {patterns} --timeout 1 -vv --log-format {('text', 'json')[start % 2]}")
        assert {done.code for done in pool.map(house.step, lines)} <= {0, 1, 3}
        journals = "".join(path.read_text("utf-8") for path in (house.project.path / "state").rglob("*.jsonl"))
        assert outcomes == set(re.findall(r'"outcome":"(\w+)"', journals))
        house.assert_nothing_leaked()
