"""What surrounds a run: what it is given, the signals that end it, and the responses that it saves."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import ANY, Mock

import pytest
from msgspec.structs import replace
from pyrage.x25519 import Identity  # type: ignore[import-untyped]
from support.memory_project import API, EU, URL, MemoryProject, created, desired_of
from support.memory_record import MemoryStore, record_of
from support.refusals import raised

from reconciler.applying.events import Limits
from reconciler.errors import RecordError, SettingsError
from reconciler.model.address import Address, TargetName
from reconciler.model.outcome import Answer, Outcome
from reconciler.model.plan import Action, Applied, Done, Result, Verdict
from reconciler.operations import apply as operation
from reconciler.operations.apply import Session, _ServiceCaller, interrupts
from reconciler.operations.plan import make_plan
from reconciler.operations.project import Flags
from reconciler.operations.responses import Responses
from reconciler.operations.settings import Sources

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
US, A, B, C = "usa/staging", "a" * 32, "b" * 32, "c" * 32
CREATED = Answer(Outcome.CREATED, 201, "cut off", head=b"HTTP/1.1 201 Created\r\n\r\n", body=b"k3y")


@pytest.mark.parametrize("number", SIGNALS)
def test_each_signal_asks_for_the_end(number: signal.Signals) -> None:
    """Ctrl-C, the runner's, and a terminal that is closed: each time it comes; afterwards it is handled as before."""
    asked: list[str] = []
    before = signal.signal(number, lambda *_: asked.append("before"))
    try:
        with suppress(KeyError), interrupts(lambda: asked.append("end")) as caught:
            signal.raise_signal(number)
            signal.raise_signal(number)
            raise KeyError
        signal.raise_signal(number)
        assert (["end", "end", "before"], [number, number]) == (asked, caught)
        signal.signal(number, signal.SIG_IGN)
        with interrupts(lambda: asked.append("end")) as caught:
            signal.raise_signal(number)
        assert (3, []) == (len(asked), caught)
    finally:
        signal.signal(number, before)


def project_to_apply(**desired: Any) -> MemoryProject:
    """Return a project of two targets, with a create for one of them, and settings of its own."""
    data = record_of(*created("a", f"{EU}/gone"), *created("b", f"{US}/gone"))
    project = MemoryProject({"memory:a": MemoryStore(data)})
    wanted = {f"{EU}/offers": (("ONB10001",), URL.format("offers"))}
    project.__dict__["desired"] = desired_of(wanted, {EU: API, US: API}, **desired)
    project.flags = Flags(state="memory:a", timeout=7.0, parallelism=3)
    project.sources = Sources({f"RECONCILER_EUROPE_STAGING_CLIENT_{name}": "x" for name in ("ID", "SECRET")}, Path())
    project.known_accounts = {TargetName(US): "sha256:us", TargetName(EU): "sha256:eu"}
    project.journal.read()
    return project


@pytest.mark.parametrize(("in_ci", "patience"), [(False, 5.0), (True, 300.0)])
def test_what_a_run_is_given(monkeypatch: pytest.MonkeyPatch, in_ci: bool, patience: float) -> None:
    """The settings of its project, the caller of each target that has creates, and the plan as it was asked for."""
    project = project_to_apply()
    project.in_ci = in_ci
    carried, service = Mock(return_value=Applied((), Verdict.DONE)), Mock()
    monkeypatch.setattr("reconciler.service.api.ServiceClient", service)
    monkeypatch.setattr(operation, "carry_out", carried)
    planned = make_plan(project, ("*/*",), allow_empty=True)
    assert Session(project, planned, plaintext=True).carry_out(Mock()).signal is None
    target = project.desired.targets[TargetName(EU)]
    service.assert_called_once_with(target, ANY, timeout=7.0, cache_dir=project.cache_directory)
    plan, reading, ports, limits = carried.call_args.args
    journal = project.journal
    assert (journal.read, journal.extend, journal.catch_up) == (ports.read, ports.extend, ports.catch_up)
    assert (random.random, time.sleep) == (ports.jitter, ports.pause)
    assert (plan, reading, limits) == (planned.plan, planned.reading, Limits(parallelism=3, call_timeout=7.0))
    assert ([EU], patience, project.by()) == ([*ports.callers], ports.patience, ports.by)
    assert ["sha256:eu", "sha256:us", ""] == [ports.account(name) for name in (EU, US, "other/one")]
    where = ports.save(created("new", f"{EU}/offers"), "").where
    assert ("memory:a", 1) == (where, len(project.recovery_files))
    project.__dict__["desired"] = desired_of({}, {EU: API, US: API})
    left = ports.replan(reading)
    assert (("*/*",), [Action.REMOVE] * 2) == (left.selection, [change.action for change in left.changes])


@pytest.mark.parametrize("is_sealed", [True, False])
def test_copies_of_recorded_responses_are_deleted(monkeypatch: pytest.MonkeyPatch, is_sealed: bool) -> None:
    """Not before the record has them, and no file that is the only copy; the first signal is the one that counts."""
    project = project_to_apply(recipients=(str(Identity.generate().to_public()),) if is_sealed else ())
    responses = Responses(project.data_directory / "responses", project.desired.recipients)
    result = Result(Address(f"{EU}/offers"), Action.CREATE, Done.CREATED, attempt=A)
    results = (result, replace(result, attempt=B, recorded=False), replace(result, attempt=C))

    def carry_out(*_: object) -> Applied:
        for attempt in (A, B, C):
            responses.keep(attempt, CREATED)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.raise_signal(number)
        return Applied(results, Verdict.CHANGES)

    monkeypatch.setattr(operation, "carry_out", carry_out)
    session = Session(project, make_plan(project, allow_empty=True), plaintext=not is_sealed)
    assert signal.SIGTERM == session.carry_out(Mock()).signal
    assert [not is_sealed, True, not is_sealed] == [bool(responses.left(attempt)) for attempt in (A, B, C)]


@pytest.mark.parametrize("outcome", [*Outcome])
@pytest.mark.parametrize("spoil", [None, lambda path: path.touch(), lambda path: (path.mkdir(), path.chmod(0o777))])
def test_a_lost_response_is_told(tmp_path: Path, outcome: Outcome, spoil: Callable[[Path], object] | None) -> None:
    """Only a create has one; if it cannot be saved, the outcome stands and no other create is sent."""
    if spoil:
        spoil(tmp_path / "responses")
    answer, responses = replace(CREATED, outcome=outcome), Responses(tmp_path / "responses")
    service = Mock(create_subscription=Mock(return_value=answer))
    may_send, is_created = Mock(), outcome is Outcome.CREATED
    given, text, is_lost = _ServiceCaller(service, responses).create(A, ("ONB10001",), "url", may_send, renew=True)
    service.create_subscription.assert_called_once_with(("ONB10001",), "url", may_send, renew=True)
    assert (outcome, is_created and spoil is not None) == (given.outcome, is_lost)
    assert ("could not be saved" in (given.detail or "")) is is_lost
    assert (text is not None) is (is_created and not is_lost)
    assert spoil or responses.left(A) == ([text] if text else [])


def test_nothing_begins_without_what_it_needs() -> None:
    """Neither without room for the responses nor without credentials, each of which is named, of every target."""
    project = project_to_apply()
    wanted = {f"{EU}/offers": (("ONB10001",), "u"), f"{US}/offers": (("ONB10002",), "u")}
    project.__dict__["desired"] = desired_of(wanted, {EU: API, US: API})
    project.sources = Sources({"RECONCILER_USA_STAGING_CLIENT_ID": "x"}, Path())
    planned = make_plan(project, allow_empty=True)
    with pytest.raises(SettingsError) as caught:
        Session(project, planned, plaintext=True)
    parts = ("EUROPE_STAGING_CLIENT_ID", "EUROPE_STAGING_CLIENT_SECRET", "USA_STAGING_CLIENT_SECRET")
    assert [f"RECONCILER_{part}" for part in parts] == [message.where for message in caught.value.messages]
    (project.data_directory / "responses").rmdir()
    (project.data_directory / "responses").touch()
    assert "response-not-saved" == raised(RecordError, Session, project, planned, plaintext=True).name
