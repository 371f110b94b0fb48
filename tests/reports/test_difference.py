"""What differs, in rows."""

from __future__ import annotations

import re
import subprocess
import sys
from html import unescape

import pytest
from support.report_values import printed
from support.value_scene import EUROPE, PLACE, USA, Scene, address_of, hooks

from reconciler.model.desired import ParityException, Replace
from reconciler.model.parity import Difference, Parity, View
from reconciler.model.plan import Action, Change, Request
from reconciler.reports.difference import Delivery, declared_disparities, delivery, differences, disparities
from reconciler.reports.formats import PLAN

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
        ({"a": {"x"}}, {"a": {"x", "\ud800"}}, [("+", "a: \ud800")]),
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


def test_a_create() -> None:
    """Where nothing is in force, what is sent is all that is delivered: no row says it again."""
    request = Request(("ONB10011",), hooks("offers"))
    change = Change(address_of("offers"), Action.CREATE, request, after=request)
    assert Delivery() == delivery(change)


def test_several_old_ones() -> None:
    """Each has a row, and what is delivered twice is named once."""
    scene = Scene()
    scene.hold("offers", "ONB10011 ONB10012", hooks("one"))
    scene.hold("offers", "ONB10011", hooks("two"))
    scene.want("offers", "ONB10011", hooks("new"))
    left = (
        f"delivers ONB10011, ONB10012 to {hooks('one')} until the operator removes attempt a1",
        f"delivers ONB10011 to {hooks('two')} until the operator removes attempt a2",
        "delivers ONB10011 twice until then",
    )
    assert Delivery((f"sends ONB10011 to {hooks('new')}",), left) == delivery(scene.change())


def test_what_awaits_removal_already() -> None:
    """It is delivered until then too."""
    scene = Scene()
    scene.retire(scene.hold("offers", "ONB10011", hooks("first")))
    scene.hold("offers", "ONB10012", hooks("second"))
    scene.want("offers", "ONB10012", hooks("third"))
    left = (
        f"delivers ONB10011 to {hooks('first')} until the operator removes attempt a1",
        f"delivers ONB10012 to {hooks('second')} until the operator removes attempt a2",
        "delivers ONB10012 twice until then",
    )
    assert Delivery((f"sends ONB10012 to {hooks('third')}",), left) == delivery(scene.change())


def test_superseded() -> None:
    """What is retired because another subscription delivers the same is delivered twice until then."""
    scene = Scene()
    scene.hold("offers", "ONB10011", hooks("new"))
    scene.hold("offers", "ONB10011", hooks("old"))
    scene.want("offers", "ONB10011", hooks("new"))
    left = (
        f"delivers ONB10011 to {hooks('old')} until the operator removes attempt a2",
        "delivers ONB10011 twice until then",
    )
    assert Delivery(left=left) == delivery(scene.change())


def test_what_waits() -> None:
    """A change that is blocked says what is desired, and nothing of what is sent."""
    scene = Scene()
    scene.set_mode(Replace.WAIT)
    scene.retire(scene.hold("offers", "ONB10011", hooks("old")))
    scene.want("offers", "ONB10011", hooks("new"))
    assert Delivery((f"desired: ONB10011 to {hooks('new')}",)) == delivery(scene.change())


ONE = {"eventCodes": ["ONB10001", "ONB10002"], "webhookUrl": "{hooks}/a"}
OTHER = {"eventCodes": ["ONB10001"], "webhookUrl": "{hooks}/b"}


def told(*differences: Difference) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """What is said of differences between europe/staging and usa/staging."""
    found = disparities(Parity(EUROPE, USA, differences, (), ()))
    return [(one.name, one.how, list(one.rows)) for one in found]


@pytest.mark.parametrize(
    ("view", "how", "verbs"),
    [
        (View.DESIRED, "desired", ("desires", "desires")),
        (View.IN_FORCE, "in force", ("has", "has")),
        (View.GATE, "desired in usa/staging, but in force differently in europe/staging", ("has", "desires")),
    ],
)
def test_disparity_of_what_both_have(view: View, how: str, verbs: tuple[str, str]) -> None:
    """Each row names the target it is about, and whether that desires it or has it."""
    rows = [
        ("-", "eventCodes: ONB10002 in europe/staging only"),
        ("~", f"webhookUrl: europe/staging {verbs[0]} {{hooks}}/a, usa/staging {verbs[1]} {{hooks}}/b"),
    ]
    assert [("offers", how, rows)] == told(Difference("offers", view, ONE, OTHER))
    added = [("+", "eventCodes: ONB10002 in usa/staging only")]
    assert [("offers", how, added)] == told(Difference("offers", view, {**ONE, "eventCodes": ["ONB10001"]}, ONE))


def test_disparity_of_what_one_has() -> None:
    """It is said which one that is, and there are no rows."""
    assert [("a", "desired in europe/staging only", [])] == told(Difference("a", View.DESIRED, ONE, None))
    assert [("a", "in force in usa/staging only", [])] == told(Difference("a", View.IN_FORCE, None, ONE))
    gated = told(Difference("a", View.GATE, None, ONE))
    assert [("a", "desired in usa/staging, but not in force in europe/staging", [])] == gated


def test_disparities_that_are_the_same_are_one() -> None:
    """As desired and in force, with the same rows; otherwise each is told."""
    codes = [{"eventCodes": side["eventCodes"]} for side in (ONE, OTHER)]
    both = [Difference("a", View.DESIRED, ONE, None), Difference("a", View.IN_FORCE, codes[0], None)]
    assert [("a", "desired and in force in europe/staging only", [])] == told(*both)
    rows = [("-", "eventCodes: ONB10002 in europe/staging only")]
    both = [Difference("a", view, codes[0], codes[1]) for view in (View.DESIRED, View.IN_FORCE)]
    assert [("a", "desired and in force", rows)] == told(*both)
    for other in (Difference("a", View.IN_FORCE, None, ONE), Difference("b", View.IN_FORCE, ONE, None)):
        assert 2 == len(told(Difference("a", View.DESIRED, ONE, None), other))


def test_declared_disparities() -> None:
    """Both views of one subscription are one, with the reason."""
    why = ParityException("a", "not yet", PLACE)
    ignored = tuple((Difference("a", view, ONE, None), why) for view in (View.DESIRED, View.IN_FORCE))
    assert [("a", "desired and in force", "not yet")] == declared_disparities(Parity(EUROPE, USA, (), ignored, ()))


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_what_is_restored_beside_a_create(form: str) -> None:
    """Where a code is added to what is put back: the operator is to remove what is at the other URL only."""
    scene = Scene()
    right = scene.hold("loans", "LOA10013", hooks("loans"))
    scene.hold("loans", "LOA10013 LOA10014", hooks("wrong"))
    scene.retire(right)
    scene.want("loans", "LOA10013 LOA10014", hooks("loans"))
    assert {Action.RESTORE, Action.REPLACE} == {change.action for change in scene.plan().changes}
    shown = unescape(re.sub("<[^>]+>", "", printed(PLAN[form](scene.plan()))))
    assert ["a2"] == re.findall(r"until the operator removes attempt (\w+)", shown)
    assert f"then delivers LOA10013, LOA10014 to {hooks('loans')}\n" in shown
