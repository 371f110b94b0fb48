"""`reconciler listen` at a terminal: what a person sees of each delivery."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from support.notified import OFFER, OFFERS, notification, post, talk
from support.project import EXECUTABLE, end

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.project import Project


class Screen:
    """What a terminal shows, control sequences and all."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._read = b""
        self.shown = ""

    def wait_for(self, text: str) -> str:
        """What is shown once this text is, or when it takes too long."""
        deadline = time.monotonic() + 20
        while text not in self.shown and time.monotonic() < deadline:
            if select.select([self._terminal], [], [], 0.5)[0]:
                self._read += os.read(self._terminal, 65_536)
                self.shown = self._read.decode(errors="ignore").replace("\r\n", "\n")
        assert text in self.shown
        return self.shown


@contextmanager
def watched(project: Project, *arguments: str) -> Iterator[tuple[Screen, str]]:
    """Run `listen` at a terminal 300 columns wide: what it shows, and its URL."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [EXECUTABLE, "listen", "--record", "r.jsonl", *arguments],
        cwd=project.path, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        env={"TERM": "xterm", **project.variables(), "COLUMNS": "300"},
    )  # fmt: skip
    os.close(theirs)
    screen = Screen(ours)
    try:
        url = screen.wait_for("Press Ctrl-C to stop.").partition("Listening at ")[2].partition(" ")[0]
        yield screen, url
    finally:
        end(process)
        os.close(ours)


def test_offers(project: Project) -> None:
    """The offers as a table, their numbers as they were written."""
    project.environment["NO_COLOR"] = "1"
    with watched(project) as (screen, url):
        post(f"{url}/offers", notification(properties={**OFFERS, "Offers": [OFFER] * 203}))
        lines = screen.wait_for("… and 3 more\n").splitlines()[2:]
    assert re.fullmatch(r"\d\d:\d\d:\d\d  200  ONB10011 Offers Provided  /offers", lines[0])
    assert f"    LeadId {OFFERS['LeadId']}" == lines[1]
    assert ["OfferId", "YouWillGet", "YouWillRepay", "Sweep"] == lines[2].split()
    assert [str(OFFER["OfferId"]), "1000.50", "EUR", "1E+3", "EUR", "0.120"] == lines[3].split()
    assert len(lines) == 3 + 200 + 1
    assert "\x1b" not in screen.shown


def test_other_codes_and_what_is_wrong(project: Project) -> None:
    """Properties as JSON, whatever is not as documented whole, and each problem on a line of its own."""
    project.environment["NO_COLOR"] = "1"
    with watched(project, "--fail-first", "1") as (screen, url):
        for body in (
            notification("LOA10013", {"a": ["\u00e4", None]}, "[bold]x"),
            b'{"a": 1}',
            b"[",
            notification(properties={}),
        ):
            post(f"{url}/x", body)
            post(f"{url}/x", body)
        post(f"{url}/x", b'{"a": 1}')
        shown = screen.wait_for("  delivery 3  duplicate")
    assert "  503  LOA10013 [bold]x  /x\n    simulated failure 1 of 1\n    {\n" in shown
    assert '  200  LOA10013 [bold]x  /x  delivery 2\n    {\n      "a": [\n        "\u00e4",\n        null\n' in shown
    assert "  200  POST  /x  delivery 2\n    not as documented: EventCode is missing; " in shown
    assert '\n    {"a": 1}\n' in shown
    assert "  400  POST  /x\n    the body is not JSON (line 1, column 2)\n" in shown
    assert "\n    EventProperties.LeadId is missing\n    EventProperties.Offers is missing\n    {}\n" in shown


@pytest.mark.parametrize("code", ["\x1b[2J", "\u202e", "x\n::error::y", "[red]"])
def test_nothing_in_it_acts(project: Project, code: str) -> None:
    """Whoever finds the tunnel can post anything."""
    project.environment["NO_COLOR"] = "1"
    with watched(project) as (screen, url):
        body = notification(code, {code: [code]}, code)
        head = f"POST /%1b?\x9b HTTP/1.1\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        talk(int(url.rpartition(":")[2]), head.encode("latin-1") + body)
        post(url, b'{"\xc2\x9b": "\\u001b[2J"}')
        shown = screen.wait_for('[2J"}\n')
    assert all(one.isprintable() for one in shown.split("\n"))
    assert not any(line.lstrip().startswith("::") for line in shown.split("\n"))


def test_colour(project: Project) -> None:
    """A terminal gets colour, unless it is not wanted; a signature that is not right is told either way."""
    project.declare({})
    project.write("config/signed.yaml", "verification: {header: X-S, algorithm: hmac-sha256, enforce: false}")
    with watched(project, "--verify", "--state", "none") as (screen, url):
        post(url, notification())
        assert "\x1b[32m" in screen.wait_for("unverified")
    with watched(project, "--color", "never") as (screen, url):
        post(url, notification())
        assert "\x1b" not in screen.wait_for("0.120")
