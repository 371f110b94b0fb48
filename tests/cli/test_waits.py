"""What an apply waits for is said off a terminal: a service that is slow must not look like a program that hangs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from support.notified import wait_until
from werkzeug import Response

from reconciler.cli.terminal.waits import Waits

if TYPE_CHECKING:
    from support.partner import Partner

AT_ONCE = """
from pathlib import Path
from reconciler.cli.terminal import waits
from reconciler.cli.terminal.terminal import Terminal
waits.FIRST = 0.0
say = Terminal.say
def say_and_mark(self, text):
    say(self, text)
    Path("said").touch()
Terminal.say = say_and_mark
"""


@pytest.mark.parametrize(("flags", "count"), [([], 1), (["-v"], 1)])
def test_off_a_terminal(partner: Partner, flags: list[str], count: int) -> None:
    """On stderr, with the address; the report is what it is without."""
    partner.begin(offers=["ONB10011"])

    def answer() -> Response:
        said = partner.path / "said"
        assert wait_until(said.exists, bool)
        return Response('{"id": 1}', status=201)

    partner.service.answer_next(answer)
    partner.before_steps = AT_ONCE
    done = partner.step(*flags, "apply", "--auto-approve")
    assert count == done.err.count("Waiting for the answer to the create of europe/staging/offers\n")
    assert "Waiting" not in done.out
    assert "1 created" in done.out


def test_now_and_then() -> None:
    """Not before a while without an answer, then less often, and from the start again after each answer."""
    said: list[str] = []
    at = 0.0
    waits = Waits(said.append, lambda: at)
    run: Any = SimpleNamespace(creates=SimpleNamespace(awaited=["a", "b", "c"]), results={})

    def told_at(*times: float) -> list[float]:
        nonlocal at
        told = []
        for at in times:
            before = len(said)
            waits.look(run)
            told += [at] if len(said) > before else []
        return told

    assert [10.0, 40.0] == told_at(0.0, 9.0, 10.0, 39.0, 40.0)
    assert ["Waiting for the answer to the create of a, and 2 more"] * 2 == said
    run.creates.awaited = ["b"]
    assert [60.0] == told_at(50.0, 59.0, 60.0)
    assert said[-1].endswith("the create of b")
    run.creates.awaited = []
    assert [] == told_at(70.0, 200.0)
