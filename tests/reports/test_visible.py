"""Text from elsewhere acts as nothing but text, in every report."""

from __future__ import annotations

import json
import subprocess
import sys
import unicodedata
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.value_scene import EUROPE, Scene, target

from reconciler.model.address import Address, TargetName
from reconciler.model.plan import Action
from reconciler.model.result import Applied, Done, Result, Verdict
from reconciler.reports.attempts import attempt_text
from reconciler.reports.documents import applied_document, list_document, plan_document, render
from reconciler.reports.text import applied_text, list_text, plan_text
from reconciler.reports.visible import harmless_line, visible

if TYPE_CHECKING:
    from reconciler.reports.line import Line

quick = settings(max_examples=50, deadline=None)

INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
OURS = (
    "  ", "Plan: ", "Digest: sha256:", "No changes. ", "Applied: ", "Nothing to do.", "Responses are", "europe/staging",
)  # fmt: skip

everything = st.text(st.characters())  # surrogates too
nasty = st.sampled_from(
    ["::error::", "\n::error::x", "##[command]", "\r\x1b[2J", "\u202e", "\u2028##[group]", " ::add-mask::x", "\x85", ""]
)
foreign = st.builds(lambda *parts: "".join(parts), everything, nasty, everything)


def is_harmless(text: str) -> bool:
    """Whether a line moves no cursor, starts no other line, turns no reading direction, and is no runner's command."""
    seen = all(one == " " or unicodedata.category(one) not in {*INVISIBLE, "Zs"} for one in text)
    return seen and "##[" not in text and not text.lstrip().startswith("::") and [text] == (text.splitlines() or [text])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://hooks.example/ä?x=1", "https://hooks.example/ä?x=1"),
        ("two\nlines\r", r"two\nlines\r"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("no\xa0break", r"no\xa0break"),
        ("line\u2028separator", r"line\u2028separator"),
        ("\ud800", r"\ud800"),
        ("\U000e0041", r"\U000e0041"),
        ("a ##[error] b", r"a ##\[error] b"),
    ],
)
def test_visible(text: str, shown: str) -> None:
    """What acts is spelt out; what does not stays as it is."""
    assert shown == visible(text)


def test_command_in_a_document() -> None:
    """A document escapes what a runner takes for a command, and reads as before."""
    document = {"a": "##[group]b##[error]"}
    assert '{\n  "a": "##\\u005bgroup]b##\\u005berror]"\n}\n' == render(document)
    assert document == json.loads(render(document))


def test_every_character() -> None:
    """Over all of Unicode: what is printable is shown as it is, and all the rest made so."""
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    printable = "".join(filter(str.isprintable, everything))
    assert printable == visible(printable)
    assert visible(everything).isprintable()


@quick
@given(foreign)
def test_harmless(text: str) -> None:
    """Any text at all makes a line that acts as nothing."""
    assert is_harmless(harmless_line(text))


def test_command_behind_blanks() -> None:
    """A runner skips the blanks before a command, and so does what makes a line harmless."""
    assert ("|   ::error::x", "  a ::b") == (harmless_line("  ::error::x"), harmless_line("  a ::b"))


@quick
@given(foreign)
def test_visible_twice(text: str) -> None:
    """What is harmless already is not changed again."""
    assert visible(text) == visible(visible(text))


def forged(name: str, code: str, url: str, detail: str) -> Scene:
    """A record and a wish that hold foreign text wherever they can."""
    scene = Scene({EUROPE: target(TargetName(EUROPE))})
    address = Address.of(EUROPE, name.replace("/", ""))
    scene.begin(address, code.replace(" ", "") or "X", url)
    scene.hold(Address(f"{address}-2"), code.replace(" ", "") or "X", f"https://hooks.example/{detail}")
    scene.want(Address(f"{address}-2"), "ONB10011", "https://hooks.example/new")
    scene.retire(scene.hold(Address(f"{address}-3"), "ONB10001", "https://hooks.example/3"))
    scene.want("plain", "ONB10002", "https://hooks.example/plain")
    return scene


@quick
@given(foreign, foreign, foreign, foreign)
def test_no_line_begins_with_foreign_text(name: str, code: str, detail: str, actor: str) -> None:
    """Whatever names, codes, URLs and answers hold: each line is harmless and begins with words of our own."""
    scene = forged(name, code, "https://hooks.example/", detail)
    attempts = scene.all_attempts()
    results = tuple(Result(one.address, Action.CREATE, Done.REJECTED, 400, one.id, detail) for one in attempts)
    lines: list[Line] = [
        *plan_text(scene.plan()),
        *applied_text(Applied(results, tuple(attempts), Verdict.FAILED)),
        *list_text(scene.records.values()),
        *attempt_text(attempts),
    ]
    for line in lines:
        assert is_harmless(line.text)
        assert not line.text or line.text.startswith(OURS)


@quick
@given(foreign, foreign, foreign)
def test_documents(name: str, code: str, detail: str) -> None:
    """A document that holds foreign text holds no line that acts, and no character that does."""
    scene = forged(name, code, "https://hooks.example/", detail)
    results = (Result(Address(f"{EUROPE}/{name}"), Action.CREATE, Done.REJECTED, 400, "a1", detail),)
    for document in (
        plan_document(scene.plan()),
        applied_document(Applied(results, (), Verdict.FAILED)),
        list_document(scene.records.values()),
    ):
        assert all(is_harmless(line) for line in render(document).splitlines())


SCRIPT = """
import sys
from importlib import import_module
from pkgutil import walk_packages
before = set(sys.modules)
import reconciler.reports
for module in walk_packages(reconciler.reports.__path__, "reconciler.reports."):
    import_module(module.name)
loaded = {"asyncio", "deepdiff", "httpx", "pydantic", "rich", "socket", "subprocess", "tempfile", "yaml"}
print(sorted(loaded & (set(sys.modules) - before)))
print("reconciler.reports.text" in sys.modules)
"""


def test_lean() -> None:
    """Importing every report loads nothing that reads, writes, calls or draws."""
    ran = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert "[]\nTrue\n" == ran.stdout
