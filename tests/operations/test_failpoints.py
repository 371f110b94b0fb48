"""Fail points: what a text of them does at which step, and when it is refused."""

from __future__ import annotations

import signal
import time

import pytest
from support.refusals import raised

from reconciler.applying.events import Limits
from reconciler.errors import SettingsError
from reconciler.operations.apply import interrupts
from reconciler.operations.failpoints import Failpoints

STEPS = ("before-append", "after-append", "before-send", "after-send")


def happened(text: str, *steps: str, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return what happens at each of these steps: the seconds slept, or the signals received."""
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    points, seen = Failpoints(text), list[object]()
    with interrupts(lambda: None) as caught:
        for step in steps:
            before = len(caught), len(slept)
            points.reach(step, lambda: len(caught))
            seen.append(caught[before[0] :] or [seconds for seconds in slept[before[1] :] if seconds])
    return seen


@pytest.mark.parametrize("step", STEPS)
def test_a_step_is_counted_by_itself(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its second time is the second, whatever other step came between."""
    steps = (step, *(other for other in STEPS if other != step), step, step)
    assert [*[[]] * len(STEPS), [0.5], []] == happened(f"{step}:2:0.5", *steps, monkeypatch=monkeypatch)


def test_any_counts_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two items that are due at one step both happen."""
    assert [[], [], [1.0, 2.0], []] == happened("any:3:1,before-send:1:2", *STEPS, monkeypatch=monkeypatch)
    assert [[1.0, 1.0]] == happened("before-send:1:1,before-send:1:1", "before-send", monkeypatch=monkeypatch)


@pytest.mark.parametrize(("what", "number"), [("int", signal.SIGINT), ("term", signal.SIGTERM), ("hup", signal.SIGHUP)])
def test_a_signal_is_handled_at_once(what: str, number: signal.Signals, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is sent to the process; one that is ignored is not waited for."""
    before = signal.signal(number, signal.SIG_DFL)
    try:
        assert [[number], []] == happened(f"before-send:1:{what}", *["before-send"] * 2, monkeypatch=monkeypatch)
        signal.signal(number, signal.SIG_IGN)
        assert [[]] == happened(f"before-send:1:{what}", "before-send", monkeypatch=monkeypatch)
    finally:
        signal.signal(number, before)


@pytest.mark.parametrize("text", [
    "x", "before:1:kill", "before-send:x:1", "before-send:1:often", "other=1", "call_grace=-1", "call_grace=x", "any:1",
    "call_grace=", "call_timeout=1",
])  # fmt: skip
def test_what_is_no_fail_point(text: str) -> None:
    """It is refused, and so is a limit above its default."""
    for words in (text, f"any:1:0,{text}"):
        with pytest.raises(SettingsError):
            Failpoints(words)


@pytest.mark.parametrize("name", ["send_window", "freshness", "margin", "call_grace", "store_grace"])
def test_a_limit_is_lowered_alone(name: str) -> None:
    """To nothing or to what it is, and no further up."""
    default = getattr(Limits(), name)
    assert [getattr(Failpoints(f"{name}={at}").limited(Limits()), name) for at in (0, default)] == [0, default]
    with pytest.raises(SettingsError):
        Failpoints(f"{name}={default + 0.5}")


@pytest.mark.parametrize("text", ["any:1:0", "call_grace=0"])
def test_real_services_are_never_tried_on(text: str) -> None:
    """Fail points are refused for any address but loopback; without them there is nothing to refuse."""
    addresses = ["http://127.0.0.1:1", "https://api.real.example", "https://login.real.example"]
    Failpoints(text).refuse_real_services(addresses[:1])
    Failpoints("").refuse_real_services(addresses)
    message = raised(SettingsError, Failpoints(text).refuse_real_services, addresses)
    assert "api.real.example, login.real.example" in message.what
