"""Plans as values, built by hand and drawn by hypothesis, for the tests of reports."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from reconciler.errors import Message, Place, Step
from reconciler.model.address import Address, TargetName
from reconciler.model.desired import Overlap, Replace, Target, Unknown
from reconciler.model.outcome import Outcome
from reconciler.model.plan import Action, Block, Change, Duplicate, Plan, Request, Surplus, TargetPlan
from reconciler.model.record import Attempt, Status

STAGING = TargetName("europe/staging")
OFFERS = Address("europe/staging/offers")
URL = "https://hooks.partner.example/offers"
AT = "2026-11-01T08:00:00Z"
ID = "5f0c8f5e9a1d4b7c8e2f3a4b5c6d7e8f"


def attempt(address: str = OFFERS, codes: tuple[str, ...] = ("ONB10011",), **values: Any) -> Attempt:
    """Return a live attempt; `values` replace its other fields."""
    defaults: dict[str, Any] = {
        "id": ID, "url": URL, "template": values.get("url", URL), "base_url": "https://api.staging.example",
        "status": Status.LIVE, "since": AT, "at": AT, "by": {"user": "ada"}, "outcome": Outcome.CREATED, "send_by": 1.0,
        "settled_by": 1_793_520_000.0,
    }  # fmt: skip
    return Attempt(address=Address(address), codes=codes, **{**defaults, **values})


def change(action: Action = Action.CREATE, address: str = OFFERS, **values: Any) -> Change:
    """Return a change that desires ONB10011; `values` replace its fields."""
    request = Request(("ONB10011",), URL)
    sends = action in (Action.CREATE, Action.EXTEND, Action.REPLACE, Action.RETRY)
    defaults: dict[str, Any] = {"request": request if sends else None, "after": request, "digest": "sha256:c"}
    return Change(Address(address), action, **{**defaults, **values})


def target(name: str = STAGING, **values: Any) -> Target:
    """Return a declared target."""
    return Target(
        TargetName(name), "https://login.staging.example", "https://api.staging.example", "https://api.staging.example",
        Overlap.REFUSE, Replace.OVERLAP, Unknown.WAIT, Place("config/targets.yaml", 1, 1), **values,
    )  # fmt: skip


def plan(*changes: Change, unchanged: int = 0, overridden: tuple[str, ...] = (), **values: Any) -> Plan:
    """Return a plan of one target, `europe/staging`. `values` go to the target's part or to the plan."""
    parts = ("awaiting_removal", "surplus", "duplicates", "foreign")
    of_target = {key: values.pop(key) for key in parts if key in values}
    planned = TargetPlan(target(overridden=overridden), "sha256:t", tuple(changes), unchanged, **of_target)
    defaults: dict[str, Any] = {"selection": (), "digest": "sha256:p", "place": "state.jsonl"}
    defaults |= {"record": "r" * 32, "head": "h" * 64, "entries": 12}
    return Plan(targets={STAGING: planned}, **{**defaults, **values})


def surplus(**values: Any) -> Surplus:
    """Return a surplus code of `europe/staging/offers`."""
    return Surplus(OFFERS, ID, ("LOA10013",), **values)


def duplicate() -> Duplicate:
    """Return a route that two attempts deliver."""
    return Duplicate(STAGING, "ONB10011", URL, (ID, "b" * 32))


_pieces = [
    *"ab1 /:.#[]()<>&@*_`|\"'%-", "\x1b", "\r", "\n", "\u202e", "ä", "::", "##[", "--", "javascript:", "www.", "@ab",
]  # fmt: skip
nasty = st.lists(st.sampled_from(_pieces), max_size=12).map("".join)
"""Text from elsewhere at its worst."""

codes = st.lists(st.sampled_from(["ONB10001", "ONB10011", "LOA10013"]), min_size=1, max_size=3, unique=True).map(
    lambda found: tuple(sorted(found))
)
_names = st.text("abcdefghij", min_size=1, max_size=8)
_commands = st.lists(nasty.filter(bool), max_size=3).map(lambda words: ("reconciler", "state", *words))


@st.composite
def messages(draw: st.DrawFn) -> Message:
    """Draw a message with steps, of which each has a command or none."""
    steps = draw(st.lists(st.builds(Step, nasty, st.one_of(st.just(()), _commands)), max_size=2))
    return Message(draw(_names), draw(nasty), draw(nasty), tuple(steps))


@st.composite
def changes(draw: st.DrawFn) -> Change:
    """Draw a change of any action."""
    action = draw(st.sampled_from(list(Action)))
    before = draw(st.lists(st.builds(attempt, codes=codes, url=nasty, template=nasty, id=_names), max_size=1))
    return change(
        action, f"{STAGING}/{draw(_names)}", before=tuple(before), after=Request(draw(codes), draw(nasty)),
        concerns=tuple(found.id for found in before), block=Block.UNRESOLVED if action is Action.BLOCKED else None,
        reasons=tuple(draw(st.lists(messages(), max_size=2))), warnings=tuple(draw(st.lists(messages(), max_size=2))),
    )  # fmt: skip


_BESIDES: dict[str, Any] = {
    "surplus": (surplus(),),
    "duplicates": (duplicate(),),
    "awaiting_removal": (attempt(status=Status.AWAITING_REMOVAL, requested=AT, requested_codes=("ONB10011",)),),
    "undeclared": (attempt("usa/staging/old"),),
    "foreign": (Message("other-service", "the target is bound to another service"),),
}
"""What can differ besides changes, as arguments of `plan`."""


@st.composite
def plans(draw: st.DrawFn, most: int = 4) -> Plan:
    """Draw a plan with at most so many changes, of different addresses, and with whatever else can differ."""
    found = draw(st.lists(changes(), max_size=most, unique_by=lambda drawn: drawn.address))
    besides = draw(st.sets(st.sampled_from(sorted(_BESIDES))))
    return plan(
        *found, unchanged=draw(st.integers(0, 3)), gates=tuple(draw(st.lists(messages(), max_size=1))),
        selection=tuple(draw(st.lists(nasty, max_size=1))), **{name: _BESIDES[name] for name in besides},
    )  # fmt: skip


def differs(drawn: Plan) -> bool:
    """True if what is in force is not exactly what is desired, or may not be."""
    planned = drawn.targets[STAGING]
    besides = (planned.surplus, planned.duplicates, planned.awaiting_removal, planned.foreign)
    return any((planned.changes, drawn.gates, drawn.undeclared, *besides))
