"""A damaged journal stops everything that reads it, and says where; it never passes for a smaller record."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from reconciler.model.address import Address, TargetName
from reconciler.model.entry import Begun, Imported, Retired
from reconciler.state.journal.chain import link

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.lending_service import LendingService
    from support.partner import Partner
    from support.project import Finished

    from reconciler.model.entry import AnyEntry

TARGET = TargetName("europe/staging")
AT, BY = "2026-11-20T13:30:00Z", {"user": "operator"}
COMMANDS = ("plan", "apply --auto-approve", "state list --format json", "state verify")


def lines_of(base_url: str, target: TargetName = TARGET, record: str = "c0ffee00") -> list[bytes]:
    """The lines of a journal that knows of two subscriptions, one of which awaits its removal."""

    def imported(attempt: str, name: str) -> Imported:
        address, url = Address.of(target, name), f"https://hooks.partner.example/{name}"
        return Imported(at=AT, by=BY, attempt=attempt, address=address, codes=("ONB10011",), url=url)

    begun = Begun(at=AT, by=BY, record=record, target=target, base_url=base_url)
    told: list[AnyEntry] = [begun, imported("a2", "offers"), imported("a3", "old"), Retired(at=AT, by=BY, attempt="a3")]
    return link(None, 0, told)[0].splitlines(keepends=True)


@pytest.fixture
def lines(partner: Partner, lending_service: LendingService) -> list[bytes]:
    """The lines of the partner's journal, which is whole, and was read before."""
    partner.want(offers=["ONB10011"])
    lines = lines_of(lending_service.base_url)
    put(partner, b"".join(lines))
    partner.step("plan", "--detailed-exitcode", code=0)
    return lines


def put(partner: Partner, data: bytes) -> None:
    """Have the partner's journal hold these bytes."""
    partner.write("state/europe/staging.jsonl", data)


def assert_refused(partner: Partner, lending_service: LendingService, *words: str) -> None:
    """Every command fails with these words, shows nothing of a record, sends nothing, and leaves all as it is."""
    before = partner.journal.read_bytes() if partner.journal.is_file() else None
    for command in COMMANDS:
        done = partner.step(*command.split(), code=1)
        assert "" == done.out, command
        for word in words:
            assert word in done.err, command
    assert lending_service.untouched
    assert before == (partner.journal.read_bytes() if partner.journal.is_file() else None)


@dataclass(frozen=True)
class Damage:
    """What happens to the lines of a journal, the line that is named then, and what is said of it."""

    spoil: Callable[[list[bytes]], bytes]
    line: int
    words: str


def flipped(data: bytes, bit: int) -> bytes:
    """The data with one bit turned over."""
    place = bit // 8
    return data[:place] + bytes([data[place] ^ 1 << bit % 8]) + data[place + 1 :]


DAMAGES = {
    "first line removed": Damage(lambda lines: b"".join(lines[1:]), 1, "earlier lines are missing"),
    "line removed": Damage(lambda lines: b"".join([lines[0], *lines[2:]]), 2, "a line is missing"),
    "line repeated": Damage(lambda lines: b"".join([*lines[:3], *lines[2:]]), 4, "repeated"),
    "lines swapped": Damage(lambda lines: b"".join([lines[0], lines[2], lines[1], lines[3]]), 2, "reordered"),
    "line edited": Damage(lambda lines: b"".join(lines).replace(b"/old", b"/odd"), 3, "was edited"),
    "bit turned": Damage(lambda lines: flipped(b"".join(lines), 8 * len(lines[0]) + 803), 2, "was edited"),
    "conflict": Damage(lambda lines: b"".join([*lines[:2], b"<<<<<<< HEAD\n", *lines[2:]]), 3, "conflict marker"),
    "begun anew": Damage(lambda lines: b"".join([*lines, lines[0]]), 5, "two journals were concatenated"),
    "joined": Damage(
        lambda lines: b"".join([*lines, *lines_of("https://x.example", record="f0")]),
        5,
        "two journals were concatenated",
    ),
    "CRLF": Damage(lambda lines: b"".join(lines).replace(b"\n", b"\r\n"), 1, "CRLF"),
    "emptied": Damage(lambda lines: b"", 1, "the file has no complete line"),
    "zeroes": Damage(lambda lines: bytes(len(b"".join(lines))), 1, "the file has no complete line"),
    "first line torn": Damage(lambda lines: lines[0][:-1], 1, "the file has no complete line"),
    "zeroes in the middle": Damage(lambda lines: b"".join([lines[0], bytes(50), b"\n", *lines[1:]]), 2, "NUL bytes"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_named(partner: Partner, lending_service: LendingService, lines: list[bytes], name: str) -> None:
    """File and line are named, exit code 1; nothing is planned, listed or sent."""
    damage = DAMAGES[name]
    put(partner, damage.spoil(lines))
    assert_refused(partner, lending_service, f"state/europe/staging.jsonl:{damage.line}: ", damage.words)


def test_journal_of_another_target(partner: Partner, lending_service: LendingService, lines: list[bytes]) -> None:
    """A journal in another's place is refused, whichever it is."""
    put(partner, b"".join(lines_of(lending_service.base_url, TargetName("usa/production"), "beef0000")))
    assert_refused(
        partner,
        lending_service,
        "state/europe/staging.jsonl: ",
        "this journal belongs to target usa/production, not europe/staging",
    )


def test_directory_in_its_place(partner: Partner, lending_service: LendingService, lines: list[bytes]) -> None:
    """What is no file is no journal."""
    partner.journal.unlink()
    partner.journal.mkdir()
    assert_refused(partner, lending_service, "state/europe/staging.jsonl: ", "not a regular file")


def test_record_that_is_gone(partner: Partner, lending_service: LendingService, lines: list[bytes]) -> None:
    """A record that was here before is missed, and not begun anew without force."""
    shutil.rmtree(partner.path / "state")
    for command in ("plan", "apply --auto-approve", "state verify"):
        done = partner.run(*command.split())
        assert (1, "") == (done.code, done.out)
        assert "the state record of europe/staging is missing: it was last read here with 4 entries" in done.err
    done = partner.run("state", "init")
    assert (1, "") == (done.code, done.out)
    assert "the record with 4 entries is missing" in done.err
    assert lending_service.untouched


@pytest.mark.parametrize(
    ("before", "after", "gone"),
    [
        ("state", "config/../state", ""),
        ("config/../state", "state", ""),
        ("state", "link", ""),
        ("state", "file:parent/state", ""),
        ("link", "state", ""),
        ("link", "state", "link"),
        ("link", "link", "link"),
    ],
)
def test_record_that_is_gone_by_another_name(
    partner: Partner, lending_service: LendingService, before: str, after: str, gone: str
) -> None:
    """However its place is written, and even if the link to it is gone as well, the record is missed."""
    partner.want(offers=["ONB10011"])
    put(partner, b"".join(lines_of(lending_service.base_url)))
    for name, place in (("link", "state"), ("parent", ".")):
        (partner.path / name).symlink_to(place)
    partner.step("plan", "--state", before, "--detailed-exitcode", code=0)
    shutil.rmtree(partner.path / "state")
    if gone:
        (partner.path / gone).unlink()
    done = partner.run("state", "init", "--state", after)
    assert (1, "") == (done.code, done.out), done
    place = after.removeprefix("file:")
    assert f"europe/staging in {place}: the record with 4 entries is missing" in done.err
    assert not (partner.path / place).exists()


def test_older_copy(partner: Partner, lending_service: LendingService, lines: list[bytes]) -> None:
    """A journal that lost its last lines holds together, and is refused until a person accepts it."""
    left = 2
    put(partner, b"".join(lines[:left]))
    missing = f"the last {4 - left} of 4 entries are missing"
    assert_refused(partner, lending_service, missing, "state accept-rollback -t europe/staging")
    done = partner.run("state", "accept-rollback", "-t", "europe/staging")
    assert (1, "") == (done.code, done.out)
    assert (
        f"last seen with 4 entries, head {digest(lines[3])}; the record now has"
        f" {left} {'entry' if left == 1 else 'entries'}, head {digest(lines[left - 1])}" in done.err
    )
    assert_refused(partner, lending_service, missing)
    partner.step("state", "accept-rollback", "-t", "europe/staging", "--force")
    partner.step("state", "verify")
    assert ["rollback"] == partner.kinds[left:]
    partner.step("plan", "--detailed-exitcode", code=0)


def digest(line: bytes) -> str:
    """The hash that a line ends with."""
    return line[-67:-3].decode()


def test_another_history_of_the_same_length(
    partner: Partner, lending_service: LendingService, lines: list[bytes]
) -> None:
    """Lines that were written instead of the ones seen before, a whole chain, are refused as well."""
    begun, offers, _, _ = lines
    address = Address.of(TARGET, "others")
    told = [
        Imported(at=AT, by=BY, attempt=f"b{n}", address=address, codes=("ONB10001",), url="https://h.example")
        for n in (3, 4)
    ]
    put(partner, begun + offers + link(digest(offers), 2, told)[0])
    assert_refused(partner, lending_service, "entry 4 differs from the one last seen on this machine")


def test_torn_write(partner: Partner, lending_service: LendingService, lines: list[bytes]) -> None:
    """What a crash left behind the last newline is left out, mentioned by `verify`, and cut off by the next append."""
    whole = b"".join(lines)
    torn = link(digest(lines[3]), 4, [Retired(at=AT, by=BY, attempt="a2")])[0]
    for length in (1, 17, len(torn) // 2, len(torn) - 2, len(torn) - 1):
        put(partner, whole + torn[:length])
        partner.step("plan", "--detailed-exitcode", code=0)
        assert (
            f"4 entries, head {digest(lines[3])}; ignoring an incomplete last line ({length} bytes)"
            in verified(partner).out
        )
        assert whole + torn[:length] == partner.journal.read_bytes()
    partner.step("state", "removed", "europe/staging/old")
    assert partner.journal.read_bytes().startswith(whole)
    assert "removed" == partner.entries[4]["kind"]
    assert "torn" not in verified(partner).out
    assert lending_service.untouched


def verified(partner: Partner) -> Finished:
    """What `state verify` says of a record that holds together."""
    return partner.step("state", "verify")
