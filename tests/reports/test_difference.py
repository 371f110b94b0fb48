"""What differs, in rows."""

from __future__ import annotations

import subprocess
import sys

import pytest
from value_scene import Scene, address_of, hooks

from reconciler.model.parity import Difference
from reconciler.model.plan import Action, Change, Request
from reconciler.reports.difference import change_rows, differences, parity_rows

SCRIPT = """
import sys
import reconciler.reports.text, reconciler.reports.documents, reconciler.planning.planner
before = set(sys.modules)
from reconciler.reports.difference import differences
assert differences({"a": 1}, {"a": 1}) == []
print("deepdiff" in sys.modules)
print(differences({"a": 1}, {"a": 2}))
print("deepdiff" in sys.modules)
"""


@pytest.mark.parametrize(
    ("before", "after", "rows"),
    [
        ({"a": "x"}, {"a": "x"}, []),
        ({"a": "x"}, {"a": "y"}, [("~", "a: x -> y")]),
        ({"a": 1}, {"a": "1"}, [("~", "a: 1 -> 1")]),
        ({"a": "x"}, {"a": "x", "b": "y"}, [("+", "b: y")]),
        ({"a": "x", "b": "y"}, {"a": "x"}, [("-", "b: y")]),
        ({"a": {"x", "y"}}, {"a": {"y", "z"}}, [("-", "a: x"), ("+", "a: z")]),
        ({"a": {"x"}, "b": 1}, {"a": {"x", "c"}, "b": 2}, [("+", "a: c"), ("~", "b: 1 -> 2")]),
    ],
)
def test_differences(before: dict[str, object], after: dict[str, object], rows: list[tuple[str, str]]) -> None:
    """`+` and `-` for what came and went, `~` for what is another; sorted by what they say."""
    assert rows == differences(before, after)


def test_lazy() -> None:
    """deepdiff is loaded only once two things differ: it costs more than a plan."""
    ran = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert "False\n[('~', 'a: 1 -> 2')]\nTrue\n" == ran.stdout


def test_create_has_none() -> None:
    """Where nothing is in force, or nothing is wanted, there is nothing to compare."""
    request = Request(("ONB10011",), hooks("offers"))
    assert [] == change_rows(Change(address_of("offers"), Action.CREATE, request, after=request))
    scene = Scene()
    scene.hold("offers", "ONB10011", hooks("offers"))
    assert [] == change_rows(scene.change())


def test_two_old_urls() -> None:
    """Several old URLs stand together."""
    scene = Scene()
    for path in ("one", "two"):
        scene.hold("offers", "ONB10011", hooks(path))
    scene.want("offers", "ONB10011", hooks("new"))
    assert [("~", f"webhookUrl: {hooks('one')} and {hooks('two')} -> {hooks('new')}")] == change_rows(scene.change())


def test_concerned_only() -> None:
    """Where a change is about some of the attempts, the others are not compared."""
    scene = Scene()
    scene.retire(scene.hold("offers", "ONB10011", hooks("first")))
    scene.hold("offers", "ONB10011", hooks("second"))
    scene.want("offers", "ONB10011", hooks("third"))
    assert [("~", f"webhookUrl: {hooks('second')} -> {hooks('third')}")] == change_rows(scene.change())


def test_parity_rows() -> None:
    """What the second target has otherwise than the first; where one has nothing, there are no rows."""
    one = {"eventCodes": ["ONB10001", "ONB10002"], "webhookUrl": "{hooks}/a"}
    other = {"eventCodes": ["ONB10001"], "webhookUrl": "{hooks}/b"}
    rows = [("-", "eventCodes: ONB10002"), ("~", "webhookUrl: {hooks}/a -> {hooks}/b")]
    assert rows == parity_rows(Difference("offers", "desired", one, other))
    assert [] == parity_rows(Difference("offers", "desired", one, None))
