"""Times, fields that are not printed, and messages: what every room relies on."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
from support.records import time_of

from reconciler import errors
from reconciler.errors import ConfigError, Interrupted, Message, Place, ReconcilerError, Step, step
from reconciler.model.outcome import Answer, Outcome
from reconciler.values import SHORTEST_SECRET, later


@pytest.fixture(params=["UTC", "America/New_York", "Asia/Kolkata"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine in some time zone."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("zone")
def test_times() -> None:
    """Each is in UTC and to the second, wherever the machine is; what is no time stays as it is."""
    assert ["1970-01-01T00:00:00Z", "2027-01-15T08:00:00Z"] == [*map(time_of, (0.9, 1_800_000_000.5))]
    for text in ("2027-02-28T23:59:59Z", "2027-03-01T05:29:59.9+05:30"):
        assert "2027-03-01T00:00:01Z" == later(text, timedelta(seconds=2))
    for text in ("", "soon", "9999-12-31T23:59:59Z"):
        assert text == later(text, timedelta(seconds=2))


def test_what_is_not_printed() -> None:
    """An answer is printed without its head and body, which may hold a secret; a secret has 8 letters or more."""
    answer = Answer(Outcome.CREATED, 201, body=b"secret", head=b"secret")
    named = ["outcome", "status", "detail", "date", "retry_after", "fields"]
    assert (named, False, 8) == (
        [name for name, _ in answer.__rich_repr__()], "secret" in repr(answer), SHORTEST_SECRET,
    )  # fmt: skip
    assert repr(answer).startswith("Answer(outcome=<Outcome.CREATED: 'created'>, status=201, ")


def test_messages() -> None:
    """Each is one line with all its steps, its position in a file before any other place."""
    way, place = step("run", "reconciler", "plan"), Place("config/a.yaml", 2, 5)
    first = Message("a", "wrong", "europe/staging", (way, Step("ask"), step("", "reconciler")), place)
    others = Message("b", "also wrong", "here"), Message("c", "nowhere")
    lines = ["config/a.yaml:2:5: wrong; run reconciler plan; ask; reconciler", "here: also wrong", "nowhere"]
    assert "\n".join(lines) == str(ReconcilerError(first, *others))
    assert (2, 7) == (ConfigError(others).count, ConfigError(others, 7).count)


def test_signals() -> None:
    """Three end a run, each with its own code, and nothing that handles an `Exception` keeps them from it."""
    assert (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) == errors.INTERRUPTING
    assert [130, 143, 129] == [Interrupted(number).exit_code for number in errors.INTERRUPTING]
    assert not issubclass(Interrupted, Exception)


def test_the_tree_of_errors() -> None:
    """It is as the head of the module draws it, with the codes."""
    assert errors.__doc__
    above: list[str] = []
    drawn = {}
    for line in errors.__doc__.splitlines():
        name, *rest = line.strip("│├└─ ").split()[:2] or [""]
        if rest and rest[0].isdigit():
            above[(len(line) - len(line.lstrip("│├└─ "))) // 4 - 1 :] = [name]
            drawn[name] = (above[-2] if len(above) > 1 else "Exception", int(rest[0]))
    kinds = {name: getattr(errors, name) for name in drawn}
    assert {name: (kind.__bases__[0].__name__, kind.exit_code) for name, kind in kinds.items()} == drawn
    assert 14 == len(drawn)
