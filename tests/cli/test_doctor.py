"""`doctor`: every check with each of its results, whatever the others find."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from pyrage.x25519 import Identity  # type: ignore[import-untyped]
from support.command_line import CommandLine
from support.memory_project import created

from reconciler.errors import Message, RecordError
from reconciler.model.plan import Health
from reconciler.operations import doctor
from reconciler.operations.doctor import CHECKS
from reconciler.operations.project import Flags, Project
from reconciler.operations.recovery_file import save_facts
from reconciler.operations.settings import Sources
from reconciler.sandbox import Sandbox
from reconciler.stores import files

TARGETS = ("europe/staging", "usa/staging")
SECRET, CLIENT = "RECONCILER_USA_STAGING_CLIENT_SECRET", "RECONCILER_USA_STAGING_CLIENT_ID"
OTHER = "RECONCILER_EUROPE_STAGING_CLIENT_SECRET"
Found = set[tuple[str, str, str]]


def located(message: dict[str, Any]) -> str:
    """Return where something was found: a place in a file, or what the message names."""
    return str(message.get("where") or (message.get("place") or {}).get("file", ""))


class Place:
    """A project with a sandbox of two targets, where all is well; and what it takes to change that."""

    def __init__(self, line: CommandLine, sandbox: Sandbox) -> None:
        self.line, self.sandbox = line, sandbox
        self.config = line.directory / "config" / "a.yaml"
        self.record = line.directory / "state.jsonl"

    def change(self, before: str, after: str) -> None:
        """Change the text of the configuration."""
        text = self.config.read_text()
        assert before in text
        self.config.write_text(text.replace(before, after))

    def found(self, *words: str) -> Found:
        """Return every finding: its check, its health and where."""
        ran = self.line("doctor", "--format", "json", *words)
        findings = ran.document["findings"]
        order = [CHECKS.index(finding["check"]) for finding in findings]
        assert (sorted(order), any(each["health"] == "failed" for each in findings)) == (order, ran.code)
        return {(finding["check"], finding["health"], located(finding["message"])) for finding in findings}


@pytest.fixture
def place(reconciler: CommandLine, tmp_path: Path) -> Iterator[Place]:
    """Return a project where all is well."""
    with Sandbox(0, TARGETS, directory=tmp_path / "sandbox", retry_interval=0.05) as sandbox:
        text = "targets:\n"
        for target in TARGETS:
            text += f"  {target}: {{auth_url: 'http://127.0.0.1:9', base_url: 'http://127.0.0.1:9'}}\n"
        text += f"subscriptions: {{'*/*': {{offers: {{eventCodes: [ONB10011], webhookUrl: '{sandbox.url}/hook'}}}}}}\n"
        reconciler.write_config(text)
        for name, value in sandbox.variables():
            if name.endswith(("_URL", "_BASE", "_ID", "_SECRET")):
                reconciler.environment.setenv(name, value)
        reconciler.fine("state", "init", "--complete", "--yes")
        yield Place(reconciler, sandbox)


def with_loss(place: Place) -> None:
    """Accept a loss."""
    place.line.fine("state", "accept-loss", "--yes")


def torn(place: Place) -> None:
    """Cut a write off."""
    with place.record.open("ab") as file:
        file.write(b'{"half')


def unrecovered(place: Place) -> None:
    """Leave results of an apply beside the record."""
    record = json.loads(place.record.read_text().partition("\n")[0])["record"]
    save_facts(Project(Flags(), Sources({}, Path())).data_directory, record, "state.jsonl", created("a", "x/y/z"), "")


def without_secret(place: Place) -> None:
    """Import a subscription, and demand signatures."""
    place.line.fine("state", "import", "europe/staging/offers", "--yes")
    place.change("targets:", "verification: {header: X-S, algorithm: hmac-sha256}\ntargets:")


def other_account(place: Place) -> None:
    """Apply, then set the client id of another account."""
    place.line.fine("apply", "--auto-approve")
    place.line.environment.setenv(SECRET.replace("SECRET", "ID"), "another")


def read_only(place: Place) -> None:
    """Let no file be written beside the record."""
    place.line.environment.setattr(files, "written_beside", Mock(side_effect=OSError(errno.EROFS, "read-only")))


def sealed(place: Place) -> None:
    """Encrypt responses to a key."""
    place.config.write_text(f"recipients: [{Identity.generate().to_public()}]\n{place.config.read_text()}")


FINE = {
    "config": "config", "setting": SECRET, "server": "http://127.0.0.1", "token": "usa/staging",
    "record": "state.jsonl", "write": "state.jsonl", "responses": "recipients", "clock": "http://127.0.0.1",
}  # fmt: skip
"""Where each check finds that all is well."""
RESULTS: list[tuple[str, Health, Callable[[Place], object], str]] = [
    *((check, Health.OK, lambda _: None, where) for check, where in FINE.items()),
    ("config", Health.FAILED, lambda place: place.change("ONB10011", "ONB1"), "a.yaml"),
    ("config", Health.WARNING, lambda place: place.change("ONB10011", "XYZ10011"), "a.yaml"),
    ("setting", Health.FAILED, lambda place: place.line.environment.delenv(SECRET), SECRET),
    ("setting", Health.WARNING, lambda place: place.line.environment.setenv(SECRET, "'quoted'"), SECRET),
    ("server", Health.FAILED, lambda place: place.change(f"{place.sandbox.url}/hook", "http://127.0.0.1:1/x"),
     "http://127.0.0.1:1"),
    ("token", Health.FAILED, lambda place: place.line.environment.setenv(SECRET, "wrong-secret"), "usa/staging"),
    ("token", Health.FAILED, lambda place: place.line.environment.setenv(OTHER, "wrong-secret"), "europe/staging"),
    ("token", Health.SKIPPED, lambda place: place.line.environment.delenv(SECRET), "usa/staging"),
    ("token", Health.SKIPPED, lambda place: place.line.environment.delenv(CLIENT), "usa/staging"),
    ("record", Health.FAILED, with_loss, "state.jsonl"),
    ("record", Health.FAILED, lambda place: place.record.unlink(), "state.jsonl"),
    ("record", Health.FAILED, other_account, "usa/staging"),
    ("record", Health.WARNING, torn, "state.jsonl"),
    ("record", Health.FAILED, unrecovered, "state.jsonl"),
    ("record", Health.WARNING, without_secret, "europe/staging/offers"),
    ("write", Health.FAILED, read_only, "state.jsonl"),
    ("responses", Health.OK, sealed, "recipients"),
    ("responses", Health.FAILED, lambda place: place.line.environment.setenv("CI", "true"), "recipients"),
]  # fmt: skip
"""For each check its results: the first that differs is caused by nothing else than what was changed."""


def test_every_check_has_its_results() -> None:
    """One that is new needs a row."""
    assert {check for check, *_ in RESULTS} == set(CHECKS)


@pytest.mark.parametrize(("check", "health", "act", "where"), RESULTS)
def test_a_result(place: Place, check: str, health: Health, act: Callable[[Place], object], where: str) -> None:
    """It is found where the change was made, and every other check finds what it found before."""
    before = place.found("--write")
    act(place)
    after = place.found("--write")
    assert [found for found in after if found[:2] == (check, health) and where in found[2]]
    if check == "token":  # that one has none says nothing of another, first or last
        assert {("token", "ok", target) for target in TARGETS if target != where} <= after
    if check not in {"config", "record"} and health is not Health.OK:
        other = {found for found in before if found[0] not in {check, "token", "setting"}}
        assert {found for found in after if found[0] not in {check, "token", "setting"}} == other


def test_a_check_that_fails_hides_nothing(place: Place) -> None:
    """Whatever else was found in the record is told, whether it can be written or, in the end, looked at."""
    for act in (other_account, with_loss, torn, unrecovered):
        act(place)
    before = place.found()
    read_only(place)
    written = {*before, ("write", "failed", str(place.record))}
    assert place.found("--write") == written
    problem = RecordError(Message("record-odd", "odd", "the disk"))
    place.line.environment.setattr(doctor, "host_only_locks", asked := Mock(side_effect=problem))
    assert place.found("--write") == {*written, ("record", "failed", "the disk")}
    asked.assert_called_once_with(place.record)


def test_a_selection(place: Place) -> None:
    """Nothing is said of a target that is not selected; nothing is appended, and nothing sent but for tokens."""
    before = place.record.read_bytes()
    said = place.found("-t", "usa/*", "--write")
    assert not [found for found in said if "europe" in found[2].lower() and found[0] in {"token", "setting"}]
    assert [found for found in said if found[:2] == ("token", "ok")] == [("token", "ok", "usa/staging")]
    assert before == place.record.read_bytes()
    assert {name for name, _ in place.sandbox.world.requests} <= {"token"}
