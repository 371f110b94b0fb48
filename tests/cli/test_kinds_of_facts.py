"""Each kind of fact in a record that each command then reads: what it says, and with which exit code.

The kinds are those of the record and the commands those of the program: one more without a row fails.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import get_args

import pytest
from support.command_line import CommandLine
from support.memory_project import created, unknown
from support.memory_record import AT
from support.records import linked

from cli.test_option_pairs import BASES, COMMANDS
from reconciler.record import facts as kinds
from reconciler.record.chain import last_head

API, URL, OFFERS = "http://127.0.0.1:9", "http://127.0.0.1:9/offers", "europe/staging/offers"
CONFIG = f"""\
targets:
  europe/staging: {{auth_url: {API}, base_url: {API}}}
subscriptions:
  europe/staging:
    offers: {{eventCodes: [ONB10011], webhookUrl: {URL}}}
"""
ID, LOSS = "a" * 32, "b" * 32


def made(address: str = OFFERS) -> list[kinds.AnyFact]:
    """Return the facts of a create that was answered."""
    return created(ID, address, "ONB10011", url=URL, base_url=API)


def lost() -> list[kinds.AnyFact]:
    """Return the facts of a create whose answer was lost."""
    return unknown(ID, OFFERS, "ONB10011", url=URL, base_url=API, settled_by=1.0)


CALL = lost()[0].what  # type: ignore[union-attr]
LOST_TAIL = kinds.LossOpened(at=AT, loss=LOSS, cause="accepted")
REQUEST = kinds.RemovalRequested(at=AT, attempt=ID, codes=("ONB10011",), by_plan=True)
ENDS: dict[type, tuple[list[kinds.AnyFact], int]] = {
    kinds.Begun: ([*made(), kinds.Begun(at=AT, record="c" * 32, origin="d" * 64)], 0),
    kinds.LossOpened: ([*made(), LOST_TAIL], 2),
    kinds.Completed: ([*made(), LOST_TAIL, kinds.Completed(at=AT, losses=(LOSS,))], 0),
    kinds.Closed: ([*made(), kinds.Closed(at=AT, to="other.jsonl", loss=LOSS)], 2),
    kinds.Joined: ([*made(), kinds.Joined(at=AT, heads=("e" * 64,))], 0),
    kinds.Rebound: ([*made(), kinds.Rebound(at=AT, target="europe/staging", base_url="http://127.0.0.1:19")], 0),
    kinds.Intended: (lost()[:1], 3), kinds.Answered: (lost(), 3),
    kinds.Exists: ([*lost(), kinds.Exists(at=AT, attempt=ID, what=CALL)], 0),
    kinds.Absent: ([*lost(), kinds.Absent(at=AT, attempt=ID)], 2), kinds.RemovalRequested: ([*made(), REQUEST], 2),
    kinds.RemovalCancelled: ([*made(), REQUEST, kinds.RemovalCancelled(at=AT, attempt=ID, requests=("?",))], 0),
    kinds.RemovalConfirmed: ([*made(), REQUEST, kinds.RemovalConfirmed(at=AT, attempt=ID, codes=("ONB10011",))], 2),
    kinds.Renamed: ([*made("europe/staging/old"), kinds.Renamed(at=AT, attempts=(ID,), to=OFFERS)], 0),
    kinds.SecretSet: ([*made(), kinds.SecretSet(at=AT, attempt=ID, secret="file:none")], 0),
    kinds.Received: ([*made(), kinds.Received(at=AT, base_url=API, url=URL, code="ONB10011", first=AT, last=AT)], 0),
}  # fmt: skip
"""For each kind a record that ends with it, and the exit code of plan and status with --detailed-exitcode then."""

ON_RECORDS = [path for path in BASES if path[0] in {"plan", "apply", "status", "parity", "doctor", "removal", "state"}]
"""The commands that read a record, or say something of it."""


def test_every_kind_has_a_row() -> None:
    """And no row is of another."""
    assert set(get_args(kinds.AnyFact)) == ENDS.keys()


@pytest.fixture(params=ENDS.values(), ids=[kind.__name__ for kind in ENDS])
def ending(request: pytest.FixtureRequest, reconciler: CommandLine) -> tuple[Path, list[kinds.AnyFact], int]:
    """A project with one subscription, whose record ends with a fact of each kind: its file, the facts, the code."""
    reconciler.write_config(CONFIG)
    reconciler.fine("state", "init", "--complete", "--yes")
    facts, code = request.param
    record = reconciler.directory / "state.jsonl"
    data = record.read_bytes()
    for fact in facts:
        if isinstance(fact, kinds.RemovalCancelled):
            fact = kinds.RemovalCancelled(at=AT, attempt=ID, requests=(last_head(data) or "",))  # noqa: PLW2901 - its request
        data += linked(last_head(data), data.count(b"\n"), [fact])[0]
    record.write_bytes(data)
    (reconciler.directory / "other.jsonl").write_bytes(data)
    return record, facts, code


def test_what_remains_to_be_done(ending: tuple[Path, list[kinds.AnyFact], int], reconciler: CommandLine) -> None:
    """The plan and the status agree on it, in every format."""
    _, _, code = ending
    for form in ("text", "json", "markdown", "html"):
        for command in ("plan", "status"):
            ran = reconciler(command, "--detailed-exitcode", "--format", form)
            assert (ran.code, bool(ran.out)) == (code, True)
        assert (reconciler("plan", "--format", form).code, reconciler("status", "--format", form).code) == (0, 0)


def test_a_create_in_flight(reconciler: CommandLine) -> None:
    """A plan may not go on beside it; a status only waits for it."""
    reconciler.write_config(CONFIG)
    reconciler.fine("state", "init", "--complete", "--yes")
    record = reconciler.directory / "state.jsonl"
    data = record.read_bytes()
    intent = unknown(ID, OFFERS, "ONB10011", url=URL, base_url=API, settled_by=time.time() + 3600)[0]
    record.write_bytes(data + linked(last_head(data), data.count(b"\n"), [intent])[0])
    assert [3, 2] == [reconciler(command, "--detailed-exitcode").code for command in ("plan", "status")]


def test_the_history_tells_every_fact(ending: tuple[Path, list[kinds.AnyFact], int], reconciler: CommandLine) -> None:
    """In the order of the record; the last one is that of the kind."""
    record, facts, _ = ending
    told = reconciler.fine("state", "history", "--format", "json").document
    assert len(told) == record.read_text().count("\n") == 3 + len(facts)
    assert reconciler.fine("state", "history").out
    assert reconciler.fine("state", "verify").code == 0


def test_every_command(ending: tuple[Path, list[kinds.AnyFact], int], reconciler: CommandLine) -> None:
    """None fails by a defect, and what is only read or shown stays as it is."""
    record, _, _ = ending
    before = record.read_bytes()
    (reconciler.directory / "notifications").touch()
    for path in [*ON_RECORDS, ("secret", "show")]:
        is_said = any("--dry-run" in param.opts for param in COMMANDS[path].params)
        ran = reconciler(*path, *BASES[path], *(["--dry-run"] if is_said else []))
        assert ("internal error" in ran.err, ran.code in (0, 1) or not is_said) == (False, True)
    assert before == record.read_bytes()
