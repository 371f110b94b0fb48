"""What `doctor` examines, and how its findings are told, without a service."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import ANY, Mock, call

import pytest
from msgspec.structs import replace
from support.memory_project import API, EU, NOW, URL, MemoryProject, created, desired_of, unknown
from support.memory_record import RECORD, MemoryStore, record_of
from support.records import time_of

from reconciler.errors import Message, SettingsError, StoreUnavailable
from reconciler.model.address import TargetName
from reconciler.model.desired import Desired, Verification
from reconciler.model.plan import Finding, Health
from reconciler.operations.doctor import examine
from reconciler.operations.project import Flags, Project
from reconciler.operations.recovery_file import save_facts
from reconciler.operations.settings import SECRETS_DIR, Sources
from reconciler.record.facts import SecretSet

US = "usa/staging"


def test_findings_are_sorted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By check, then by place: of the selected targets, and of the URLs of the selected subscriptions; each once."""
    examine_server = Mock(return_value=[Finding("server", Health.OK, Message("doctor-server-ok", "up", "shared"))])
    monkeypatch.setattr("reconciler.service.probing.examine_server", examine_server)
    wanted = {f"{EU}/{name}": (("ONB10001",), URL.format(name)) for name in ("offers", "loans")}
    service = Mock()
    monkeypatch.setattr("reconciler.service.api.ServiceClient", service)
    facts = [fact for name in (EU, "asia/live") for fact in created(name[0], f"{name}/offers", account="sha256:x")]
    project = MemoryProject({"memory:a": MemoryStore(record_of(*facts))})
    project.__dict__["desired"] = desired_of(wanted, {US: "https://usa.example", EU: API, "asia/live": API})
    project.flags = Flags(state="memory:a", timeout=300.0)
    (tmp_path / ".env").write_text("RECONCILER_USA_STAGING_CLIENT_SECRET=\"'x'\"")
    given = {"RECONCILER_EUROPE_STAGING_CLIENT_ID": " x", "RECONCILER_EUROPE_STAGING_CLIENT_SECRET": "x"}
    project.sources = Sources(given, tmp_path)
    project.known_accounts = {name: f"sha256:{name}" for name in project.desired.targets}
    names = [f"RECONCILER_{name}_STAGING_CLIENT_{part}" for name in ("EUROPE", "USA") for part in ("ID", "SECRET")]
    project.journal.read()
    findings = examine(project, (f"{EU}/offers", "usa/*"), write=True)
    assert [(finding.check, finding.health, finding.message.located) for finding in findings] == [
        ("config", Health.OK, "config"), ("setting", Health.WARNING, names[0]), ("setting", Health.OK, names[1]),
        ("setting", Health.FAILED, names[2]), ("setting", Health.WARNING, names[3]), ("server", Health.OK, "shared"),
        ("token", Health.OK, EU), ("token", Health.SKIPPED, US), ("record", Health.FAILED, EU),
        ("record", Health.OK, "memory:a"), ("write", Health.OK, "memory:a"), ("responses", Health.FAILED, "recipients"),
    ]  # fmt: skip
    urls = {API: True, "https://login.example": True, "https://usa.example": True, URL.format("offers"): False}
    asked = [call(url, of_service=of_service, timeout=300.0) for url, of_service in urls.items()]
    assert asked == sorted(examine_server.call_args_list, key=asked.index)
    target = project.desired.targets[TargetName(EU)]
    service.assert_called_once_with(target, ANY, timeout=300.0, cache_dir=project.cache_directory)
    assert {"setting", "token"}.isdisjoint(finding.check for finding in examine(project, ("africa/*",)))


@pytest.mark.parametrize("count", [10, 12])
def test_mistakes_are_not_all_told(tmp_path: Path, count: int) -> None:
    """Of many only the first, and how many there are."""
    codes = ", ".join(f"x{number}" for number in range(count))
    subscriptions = f"subscriptions: {{{EU}: {{o: {{eventCodes: [{codes}], webhookUrl: 'https://h.test/x'}}}}}}\n"
    target = f"targets: {{{EU}: {{auth_url: 'https://login.test', base_url: 'https://api.test'}}}}\n"
    (tmp_path / "a.yaml").write_text(target + subscriptions)
    project = Project(Flags(config=str(tmp_path), state=str(tmp_path / "s.jsonl")), Sources({}, tmp_path))
    told = [finding.message.what for finding in examine(project, ()) if finding.check == "config"]
    assert (10 + (count > 10), count > 10) == (len(told), f"{count} mistakes" in told[0])


@pytest.mark.parametrize("fails", [False, True])
def test_findings_about_a_record(fails: bool) -> None:
    """Each is told, with the first of the subscriptions that it is about; an error hides none of those before it."""
    facts = [fact for name in "abcd" for fact in created(name, f"{EU}/{name}", f"ONB1000{ord(name) % 7}")]
    facts += [*unknown("e", f"{EU}/e", "ONB10009"), SecretSet(at=time_of(NOW), attempt="a", secret="age:x")]
    data = record_of(*facts, replace(facts[-4], at=time_of(NOW), response="age:x"))
    project = MemoryProject({"memory:a": MemoryStore(data + b"half")})
    project.__dict__["desired"] = desired_of(verification=Verification("X-S", "hmac-sha256", enforce=False))
    project.journal.expected = other = "f" * 32
    for name in "fg":
        save_facts(project.data_directory, RECORD, "memory:a", created(name, f"{EU}/{name}"), "")
    if fails:
        project.__dict__["accounts"] = Mock(side_effect=SettingsError(Message("setting-unreadable", "no", "memory:z")))
    found = [finding for finding in examine(project, ()) if finding.check == "record"]
    told = [(finding.health, finding.message.name, finding.message.located) for finding in found]
    warning = (Health.WARNING, "doctor-record-warning")
    expected = [(Health.OK, "doctor-record-ok", "memory:a"), (Health.FAILED, "other-record", "memory:a")]
    if fails:
        expected.append((Health.FAILED, "setting-unreadable", "memory:z"))
    else:
        expected += [*[(Health.FAILED, "not-recovered", "memory:a")] * 2, (*warning, "memory:a")]
        expected.insert(0, (*warning, f"{EU}/b"))
    said = " ".join(str(finding.message) for finding in found)
    words = (other, "4 bytes", "of 2 subscriptions", f"reconciler secret set {EU}/b --attempt b")
    assert (expected, [True] + [not fails] * 3) == (told, [word in said for word in words])


def test_record_that_cannot_be_read() -> None:
    """Its place is named, and nothing is written there."""
    project = MemoryProject(desired=Desired({}, {}, state="memory:a"))
    problem = StoreUnavailable(Message("store-down", "no network"), Message("store-down", "no DNS", "memory:b"))
    project.journal.store.declare_unreadable(problem)  # type: ignore[attr-defined]
    for project.flags in (Flags(state="memory:a"), Flags()):
        told = [finding.message.located for finding in examine(project, (), write=True)]
        assert ["config", "memory:a", "memory:b", "recipients"] == told


def test_settings_that_cannot_be_read(tmp_path: Path) -> None:
    """That is a finding like any other."""
    (tmp_path / "a.yaml").write_text(f"targets: {{{EU}: {{auth_url: 'https://l.test', base_url: 'https://a.test'}}}}\n")
    project = Project(Flags(config=str(tmp_path), state="memory"), Sources({SECRETS_DIR: "none"}, tmp_path))
    told = [(finding.check, finding.health, finding.message.name) for finding in examine(project, ())]
    assert ("config", Health.FAILED, "secrets-dir-unusable") == told[0]
