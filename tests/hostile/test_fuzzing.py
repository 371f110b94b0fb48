"""Whatever is put into the readers, an error of our own comes out, or what was really said: nothing else, and no less.

By default each property meets some two hundred examples. With `-m soak` they share RECONCILER_SOAK_SECONDS seconds.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from support.desired_configs import EXAMPLE
from support.injections import EVERYTHING, INJECTIONS, strange_characters
from support.journal_samples import OTHER, RECORD, TARGET, begun, entries, imported, journal_bytes
from support.leaks import Secrets
from support.mutations import mutated

from reconciler.desired import load
from reconciler.errors import ConfigError, RecordDamaged, RecordForeign, RecordRolledBack, SettingsError
from reconciler.model.entry import Moved, Removed, Resolved, Retired
from reconciler.operations.plan_file import read_plan_file
from reconciler.service.exchange import Failure, Reply
from reconciler.service.outcomes import harmless_fields, outcome_of
from reconciler.state.heads.known_head import KnownHead
from reconciler.state.heads.remembered import Heads
from reconciler.state.heads.seen import Seen
from reconciler.state.journal.chain import Journal, parse
from reconciler.state.stores.store import StoreLocation

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import SearchStrategy

    from reconciler.model.address import TargetName
    from reconciler.model.entry import AnyEntry

SOAK_SECONDS = float(os.environ.get("RECONCILER_SOAK_SECONDS", "600"))

# The configuration

MORE = b"""\
recipients: [age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p]
verification: {header: X-Signature, algorithm: hmac-sha256, encoding: base64}
parity: {ignore: [{address: "*/staging/offers", reason: only there}]}
"""
CONFIGS = [b"".join(text.encode() for text in EXAMPLE.values()) + more for more in (b"", MORE)]
YAML = [b"&a ", b"*a", b"!!str ", b"? ", b": ", b"- ", b"null", b"~", b"{", b"}", b"[", b"|\n", b"\t", b"---\n", b"<<:",
        b"\xef\xbb\xbf", b"\xff", b"\0", b"\r", b"{{", "ß".encode(), EVERYTHING.encode()]  # fmt: skip


def config_is_read_or_refused(content: bytes) -> None:
    """A configuration, or mistakes with places in the file, in words that act as nothing."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "a.yaml").write_bytes(content)
        try:
            desired = load(Path(folder), lambda _target, _field: None)
        except ConfigError as problem:
            mistakes = problem.mistakes
            assert mistakes
        else:
            mistakes = desired.warnings
            for address, one in desired.subscriptions.items():
                assert (address, list(one.codes)) == (one.address, sorted(set(one.codes)))
                assert one.codes
    for mistake in mistakes:
        assert set() == strange_characters(f"{mistake.what} {mistake.remedy}")
        assert 1 <= mistake.place.line <= len(content) + 1
        assert 1 <= mistake.place.column <= len(content) + 1


# The journal


def _journal(mark: str, record: str = RECORD, target: TargetName = TARGET) -> bytes:
    told = entries(3, target, record, mark)
    at, by, first, second = told[1].at, told[1].by, f"{mark}2", f"{mark}3"
    more: list[AnyEntry] = [
        Retired(at=at, by=by, attempt=first, reason="ü"),
        Removed(at=at, by=by, attempt=first),
        Resolved(at=at, by=by, attempt=second, created=True, note=EVERYTHING),
        imported(f"{mark}7", target),
    ]
    source = imported("x", target).address
    return journal_bytes([*told, *more, Moved(at=at, by=by, source=source, address=type(source)(f"{source}-2"))])


JOURNALS = [
    _journal("a"),
    _journal("b"),
    _journal("a", "f" * 32),
    _journal("a", target=OTHER),
    journal_bytes([begun()]),
]
LINES = sorted({line for journal in JOURNALS for line in journal.splitlines(keepends=True)})
READ = [parse(data, TARGET, "state") for data in JOURNALS if data is not JOURNALS[3]]


def journal_is_whole_or_refused(data: bytes) -> None:
    """An error that names the line, or a beginning of a journal that was really written, byte for byte."""
    try:
        read = parse(data, TARGET, "state")
    except RecordDamaged as problem:
        damage = problem
    except RecordForeign:
        return
    else:
        _is_really_written(data, read)
        return
    name, _, line = str(damage.where).rpartition(":")
    assert name == "state"
    assert 1 <= int(line) <= data.count(b"\n") + 1


def _is_really_written(data: bytes, read: Journal) -> None:
    """What was read is a beginning of a journal that was written, and as long as what is there."""
    written = [original for original in JOURNALS if original.startswith(data[: len(data) - read.torn])]
    assert written
    assert data.count(b"\n") == len(read.lines)
    whole = next(one for one in READ if one.lines[: len(read.lines)] == read.lines)
    _end_is_missed(read, whole)


def _end_is_missed(read: Journal, whole: Journal) -> None:
    """Where the end of what was seen before is gone, that is noticed."""
    seen = Seen.of([KnownHead(whole.record().id, TARGET, whole.head, len(whole.lines), "state")])
    if len(read.lines) < len(whole.lines):
        with pytest.raises(RecordRolledBack):
            Heads.check(read, seen, StoreLocation("nowhere"))
    else:
        Heads.check(read, seen, StoreLocation("nowhere"))


# The plan file

PLAN = {
    "format_version": "1.0",
    "tool_version": "1",
    "digest": "sha256:" + "0" * 64,
    "selection": ["europe/*"],
    "targets": {"europe/staging": {"digest": "sha256:" + "1" * 64, "head": "2" * 64, "entries": 3}},
    "changes": [{"address": "europe/staging/offers", "action": "create", "before": [], "after": None, "request": None}],
    "awaiting_removal": [],
    "surplus": [],
    "summary": {"create": 1},
}
JSON = [b"null", b"[]", b"{}", b'""', b"1e999", b"NaN", b"-", b",", b":", b"}", b"]", b'"', b"\\ud800", b"[" * 2000,
        b"9" * 5000, b"\xef\xbb\xbf", b"\xff"]  # fmt: skip


def plan_file_is_read_or_refused(content: bytes) -> None:
    """What approves is text, and there is a digest for every target; or the file is refused."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plan.json"
        path.write_bytes(content)
        try:
            saved = read_plan_file(path)
        except SettingsError:
            return
    told = json.loads(content)
    assert (told["digest"], told["selection"]) == (saved.digest, list(saved.selection))
    assert {name: one["digest"] for name, one in told["targets"].items()} == saved.targets
    assert all(saved.targets.values())


# What the service says

SECRET = 'p4ss+word/"quoted"\\and=more&odd%characters'
SECRETS = Secrets([SECRET])
BODIES = [
    json.dumps({"error": "invalid", "error_description": f"no such secret: {SECRET}", "message": SECRET}).encode(),
    json.dumps({"subscriptionId": "1", "eventCodes": ["ONB10011"], "secretKey": "c2VjcmV0"}).encode(),
    json.dumps({"title": EVERYTHING, "detail": [EVERYTHING], "id": EVERYTHING}).encode(),
    b"<!doctype html><html>",
]
WORDS = st.sampled_from(
    [*INJECTIONS.values(), SECRET, f"Bearer {SECRET}", f"https://{SECRET}/", "120", "-1", "1e9", "nan"]
)
NAMES = st.sampled_from(["retry-after", "location", "content-type", "date", "www-authenticate"])
replies = st.builds(
    Reply,
    st.integers(0, 999) | st.sampled_from([200, 201, 301, 307, 400, 401, 409, 422, 429, 500]),
    st.dictionaries(NAMES, WORDS | st.text(max_size=40)),
    mutated(BODIES, JSON),
    st.booleans(),
)  # fmt: skip
failures = st.builds(Failure, st.booleans(), WORDS | st.text(max_size=40))


def outcome_is_told(result: Reply | Failure) -> None:
    """An outcome, in one short line that acts as nothing and holds no secret."""
    answer = outcome_of(result, [SECRET])
    told = [text for text in (answer.detail, answer.date) if text is not None]
    assert set() == strange_characters("".join(told))
    assert all(len(text) < 400 and "\n" not in text for text in told)
    assert not any(SECRET in text or json.dumps(SECRET)[1:-1] in text for text in told)
    assert answer.retry_after is None or answer.retry_after >= 0
    json.dumps(harmless_fields(answer.body, ["ONB10011"]), allow_nan=False).encode()


class Property(NamedTuple):
    """What holds for every example; how many it meets by default."""

    holds: Callable[[Any], None]
    examples: SearchStrategy[Any]
    usual: int


PROPERTIES = {
    "configuration": Property(config_is_read_or_refused, mutated(CONFIGS, YAML), 150),
    "journal": Property(journal_is_whole_or_refused, mutated(JOURNALS, LINES), 200),
    "plan file": Property(plan_file_is_read_or_refused, mutated([json.dumps(PLAN, indent=2).encode()], JSON), 150),
    "outcome": Property(outcome_is_told, replies | failures, 150),
    "any bytes as a configuration": Property(config_is_read_or_refused, st.binary(max_size=200), 50),
    "any bytes as a journal": Property(journal_is_whole_or_refused, st.binary(max_size=200), 50),
    "any bytes as a plan file": Property(plan_file_is_read_or_refused, st.binary(max_size=200), 50),
}


def check(name: str, examples: int, number: int) -> None:
    """Check a property with so many examples, drawn from the seed `number`."""
    one = PROPERTIES[name]
    limits = settings(
        max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck), print_blob=True
    )
    seed(number)(limits(given(one.examples)(one.holds)))()


@pytest.mark.parametrize("name", PROPERTIES)
def test_a_few_examples(name: str) -> None:
    """Each property holds for some two hundred examples, the same in every run."""
    check(name, PROPERTIES[name].usual, 1)


@pytest.mark.soak
@pytest.mark.timeout(SOAK_SECONDS + 120)
@pytest.mark.parametrize("name", PROPERTIES)
def test_examples_without_end(name: str, record_property: Callable[[str, object], None]) -> None:
    """Each property holds for as many examples as its share of the time allows; the last seed is in the report."""
    until, number = time.monotonic() + SOAK_SECONDS / len(PROPERTIES), int(time.time())
    while time.monotonic() < until:
        number += 1
        record_property("seed", number)
        check(name, 2000, number)
