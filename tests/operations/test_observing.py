"""Notifications as evidence: what `state observe` appends, and what it tells a person."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from msgspec.structs import replace
from support.command_line import commands_in
from support.memory_project import API, EU, NOW, URL, created, desired_of, project_with, unknown
from support.records import time_of
from support.refusals import raised

from reconciler.errors import SettingsError
from reconciler.model.desired import Verification
from reconciler.model.record import Status
from reconciler.operations.observing import observed
from reconciler.operations.statements import prepare
from reconciler.record.facts import Received, SecretSet
from reconciler.record.statements import ConfirmRemoval, Resolve

OFFERS = f"{EU}/offers"
ID = "0123456789abcdef0123456789abcdef"
OWN, TEMPLATE = URL.format(ID), URL.format("{attempt}")
SPELLED = OWN.replace("https://hooks.example", "https://Hooks.Example:443")


def capture(path: Path, *lines: Mapping[str, object]) -> str:
    """Write a capture file."""
    file = path / "captured.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(file)


def test_notification_proves_an_attempt(tmp_path: Path) -> None:
    """An unknown attempt with its own URL becomes live; the file observed again adds nothing."""
    project = project_with(*unknown(ID, OFFERS, url=OWN, template=TEMPLATE))
    times = [time_of(NOW + seconds) for seconds in (-3, -9, 2)]
    file = capture(tmp_path, *({"at": at, "url": OWN, "code": "ONB10001"} for at in times))
    (fact,) = project.say(observed(project, file)).facts
    expected = Received(at=fact.at, base_url=API, url=OWN, code="ONB10001", first=times[1], last=times[2])
    assert replace(expected, by=fact.by) == fact
    assert project.record_at().attempts[ID].status is Status.LIVE
    assert project.say(observed(project, file)).facts == ()


def test_a_shared_url_proves_no_attempt(tmp_path: Path) -> None:
    """What arrives there is recorded under the URL that it came to, and settles nothing."""
    other = "https://Other.example/offers"
    project = project_with(*unknown("a", OFFERS), *created("b", f"{EU}/others", "ONB10002", url=other))
    for url, code in ((URL.format("offers"), "ONB10001"), (other, "ONB10002")):
        said = observed(project, capture(tmp_path, {"at": time_of(NOW), "url": url, "code": code}))
        assert ([url], ()) == ([fact.url for fact in said.received], said.notices)
    project.add(*created("c", OFFERS, url=other), *created("d", f"{EU}/twin", url=other))
    file = capture(tmp_path, {"at": time_of(NOW), "path": "/offers", "code": "ONB10001"})
    (notice,) = observed(project, file).notices
    assert ("notification-ambiguous", True) == (notice.name, notice.what.endswith(f": {OFFERS}, {EU}/twin"))


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """`-` is standard input, whatever that is; messages name it as the user did."""
    project = project_with(*created("a", OFFERS))
    line = json.dumps({"at": time_of(NOW), "url": URL.format("offers"), "code": "ONB10001"})
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(f"{line}\n".encode())))
    assert 1 == len(observed(project, "-").received)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(f"{line}\n{{}}\n".encode())))
    assert "-:2" == raised(SettingsError, observed, project, "-").where


def test_wrong_word_is_overruled_by_name(tmp_path: Path) -> None:
    """Whoever said that it was not created is named, once."""
    project = project_with(*unknown(ID, OFFERS, url=OWN, template=TEMPLATE))
    project.person = "ann"
    project.say(Resolve(OFFERS, created=False))
    file = capture(tmp_path, {"at": time_of(NOW), "url": OWN, "code": "ONB10001"})
    (notice,) = observed(project, file).notices
    assert (notice.name, notice.where) == ("not-created-overruled", OFFERS)
    assert notice.what.startswith(f"ann said at {time_of(NOW)} that attempt {ID} was not created")
    project.say(observed(project, file))
    assert project.record_at().attempts[ID].status is Status.LIVE
    assert observed(project, capture(tmp_path, {"at": time_of(NOW + 9), "url": OWN, "code": "X"})).notices == ()


def test_secret_that_is_known_is_not_asked_for(tmp_path: Path) -> None:
    """One set by hand, or in a response that may still come, serves as well; nobody needs that of a retried create."""
    secret = SecretSet(at=time_of(NOW), attempt=ID, secret="file:x")
    lost = unknown(ID, OFFERS, url=OWN, template=TEMPLATE)
    retried = (*lost, *created("b" * 32, OFFERS, url=URL.format("b" * 32), template=TEMPLATE, supersedes=(ID,)))
    answered = (lost[0], replace(lost[1], response="age:x"))
    sent = unknown(ID, OFFERS, url=OWN, template=TEMPLATE, settled_by=NOW + 1)[:1]
    for facts in ((*lost, secret), answered, retried, sent):
        project = project_with(*facts)
        file = capture(tmp_path, {"at": time_of(NOW), "url": OWN, "code": "ONB10001"})
        assert [("unknown-proven", ())] == [(notice.name, notice.steps) for notice in observed(project, file).notices]


@pytest.mark.parametrize(("count", "sent", "heard"), [(1, OWN, OWN), (2, OWN, SPELLED), (2, SPELLED, OWN)])
def test_unknown_create_that_is_proven_is_told(tmp_path: Path, count: int, sent: str, heard: str) -> None:
    """Its address, its attempt, and how to get the secret that was lost with its answer, if there was one; once."""
    project = project_with(*unknown(ID, OFFERS, url=sent, template=TEMPLATE)[:count])
    file = capture(tmp_path, {"at": time_of(NOW), "url": heard, "code": "ONB10001"})
    (notice,) = observed(project, file).notices
    assert (notice.name, notice.where) == ("unknown-proven", OFFERS)
    assert ID in notice.what
    assert [("reconciler", "secret", "set", OFFERS, "--attempt", ID)] == [step.command for step in notice.steps]
    assert "with the secret, was lost" in notice.steps[0].text
    project.say(observed(project, file))
    assert observed(project, capture(tmp_path, {"at": time_of(NOW), "url": OWN, "code": "X"})).notices == ()


@pytest.mark.parametrize(("seconds", "name", "says"), [
    (0, "notification-repeated", "arrived 0 s after the removal of attempt {} was confirmed (deliveries are"),
    (45, "notification-repeated", "repeated for 45 s); only a later one proves that it exists"),
    (46, "revived", "attempt {} is in force again: it delivered at"), (-1, "", ""),
])  # fmt: skip
def test_notification_after_a_removal(tmp_path: Path, seconds: int, name: str, says: str) -> None:
    """It says whether it counts, of whatever code: for 45 seconds it may be a delivery that is repeated."""
    project = project_with(*created(ID, OFFERS, url=OWN, template=TEMPLATE))
    project.say(ConfirmRemoval(OFFERS, (ID,)))
    line = {"at": time_of(NOW + seconds), "url": OWN, "code": "ONB19999"}
    file = capture(tmp_path, line)
    notices = observed(project, file).notices
    assert [name] * bool(name) == [notice.name for notice in notices]
    assert all(says.format(ID) in notice.what for notice in notices)
    project.say(observed(project, file))
    status = Status.LIVE if name == "revived" else Status.GONE
    assert project.record_at().attempts[ID].status is status
    later = observed(project, capture(tmp_path, {**line, "at": time_of(NOW + 99)})).notices
    assert [] == [notice.name for notice in later if status is Status.LIVE]


@pytest.mark.parametrize("removed", ["ONB10001", "ONB10002", "ONB10003"])
@pytest.mark.parametrize(("seconds", "name"), [(45, "notification-repeated"), (46, "revived")])
def test_removed_code_among_those_still_delivered(tmp_path: Path, removed: str, seconds: int, name: str) -> None:
    """Each code that was received counts, whichever of the attempt's it is."""
    codes = ("ONB10001", "ONB10002", "ONB10003")
    project = project_with(*created(ID, OFFERS, *codes, url=OWN, template=TEMPLATE))
    project.say(ConfirmRemoval(OFFERS, (ID,), codes=(removed,)))
    lines = [{"at": time_of(NOW + seconds), "url": OWN, "code": code} for code in codes]
    for given in (lines, lines[::-1]):
        assert [name] == [notice.name for notice in observed(project, capture(tmp_path, *given)).notices]
    others = [line for line in lines if line["code"] != removed]
    assert () == observed(project, capture(tmp_path, *others)).notices


@pytest.mark.parametrize("where", ["url", "path"])
@pytest.mark.parametrize(("seconds", "name"), [
    (-1, "notification-repeated"), (0, "notification-repeated"), (45, "notification-repeated"),
    (46, "notification-after-removal"),
])  # fmt: skip
def test_notification_at_a_shared_url_after_a_removal(tmp_path: Path, seconds: int, name: str, where: str) -> None:
    """Where the URL proves no attempt, it names the one that was removed, and the command if it still exists."""
    url = URL.format("offers")
    project = project_with(*created(ID, OFFERS, url=url))
    project.say(ConfirmRemoval(OFFERS, (ID,)))
    place = {"url": url} if where == "url" else {"path": urlsplit(url).path}
    file = capture(tmp_path, {"at": time_of(NOW + seconds), **place, "code": "ONB10001"})
    (notice,) = observed(project, file).notices
    assert (notice.name, ID in notice.what) == (name, True)
    assert notice.what.startswith("ONB10001 received 1 time, last ")
    assert (f"arrived {seconds} s after" in notice.what) == (0 <= seconds <= 45)
    commands = [step.command for step in notice.steps]
    resolve = ("reconciler", "state", "resolve", OFFERS, "--created", "--attempt", ID, "--force")
    assert [resolve] * (name == "notification-after-removal") == commands


@pytest.mark.parametrize(("verified", "status"), [(None, "unknown"), (False, "unknown"), (True, "live")])
@pytest.mark.parametrize("enforce", [True, False])
def test_forged_notification_proves_nothing(tmp_path: Path, verified: object, status: str, enforce: bool) -> None:
    """It settles no unknown create, nor does one that nobody has checked where verification is enforced."""
    status = status if enforce or verified is False else "live"
    desired = desired_of(verification=Verification("X-Signature", "hmac-sha256", enforce=enforce))
    project = project_with(*unknown(ID, OFFERS, url=OWN, template=TEMPLATE), desired=desired)
    file = capture(tmp_path, {"at": time_of(NOW), "url": OWN, "code": "ONB10001", "verified": verified})
    project.say(observed(project, file))
    assert project.record_at().attempts[ID].status == status


@pytest.mark.parametrize(("seconds", "is_taken"), [(-1e6, True), (0, True), (60, True), (290, True), (600, False)])
def test_clocks_that_differ(tmp_path: Path, seconds: float, is_taken: bool) -> None:
    """Some minutes are allowed between the clock of the receiver and that of this machine."""
    project = project_with(*unknown(ID, OFFERS, url=OWN, template=TEMPLATE))
    for verified in (None, True):
        line = {"at": time_of(NOW + seconds), "url": OWN, "code": "ONB10001", "verified": verified}
        said = observed(project, capture(tmp_path, line))
        assert is_taken == (len(said.received) == 1)
        assert ["unknown-proven" if is_taken else "notification-from-future"] == [each.name for each in said.notices]


def test_what_is_left_out_is_told(tmp_path: Path) -> None:
    """Without a valid signature, without a code, from the future, unmanaged or unexplained: each is told."""
    project = project_with(*created(ID, OFFERS, url=OWN, template=TEMPLATE))
    file = capture(
        tmp_path,
        {"at": time_of(NOW), "url": OWN, "code": "ONB10001", "verified": False},
        {"at": time_of(NOW + 999), "url": OWN, "body": "{}", "verified": False},
        {"at": time_of(NOW + 999), "url": OWN, "body": "{}"},
        {"at": time_of(NOW + 999), "url": OWN, "code": "ONB10001"},
        {"at": time_of(NOW), "url": URL.format("f" * 32), "code": "ONB10001"},
        {"at": time_of(NOW), "url": "https://elsewhere.example/x", "code": "ONB10001"},
    )
    ways = ["reconciler state recover FILE", "reconciler state import ADDRESS --url URL --attempt ID"]
    shown = prepare(project, observed(project, file)).shown
    assert [
        ("notification-unverified", file, []),
        ("notification-without-code", file, []),
        ("notification-from-future", file, []),
        ("notification-unexplained", "https://elsewhere.example/x", []),
        ("notification-unmanaged", URL.format("f" * 32), ways),
    ] == [(message.name, message.where, commands_in([message])) for message in shown]
    assert ["2", "1", "1"] == [message.what.partition(" ignored")[0] for message in shown[:3]]  # fmt: skip
