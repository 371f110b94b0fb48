"""What follows from a plan, a comparison and a configuration as values."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from support.plan_values import STAGING, change, plan, target
from support.refusals import raised

from reconciler.errors import Message, SelectionError
from reconciler.model.address import Address, TargetName
from reconciler.model.desired import ALGORITHMS, Desired, Verification, account_hash
from reconciler.model.plan import LOCAL, SENDS, Action, Block, Result, TargetPlan
from reconciler.model.plan import Done as Ended
from reconciler.model.status import Pairs, Parity, Unpaired

USA = TargetName("usa/staging")


def test_a_plan_of_several_targets() -> None:
    """Its changes stand by target, whatever the order of these; its options repeat each pattern."""
    first, second = change(address="europe/staging/z"), change(address="usa/staging/a")
    whole = plan(first, unchanged=2, selection=("*/*/z", "usa/*"))
    of_usa = TargetPlan(target(USA), "sha256:u", (second,), 3)
    whole = replace(whole, targets={USA: of_usa, **whole.targets})
    assert ([first, second], 5, ("-t", "*/*/z", "-t", "usa/*")) == (whole.changes, whole.unchanged, whole.options)


@pytest.mark.parametrize(("blocks", "patient"), [
    ({"a": "waits"}, "a"), ({"a": "waits", "b": "depends a"}, "ab"), ({"b": "depends a", "a": "gate"}, ""),
    ({"a": "waits", "b": "elsewhere", "c": "depends a b"}, "a"), ({"a": "depends"}, ""),
    ({"a": "waits", "b": "depends a", "b2": "unresolved"}, "a"), ({"a": "waits", "a2": "depends a"}, "a"),
    ({"a": "waits", "b": "waits", "b2": "open"}, "a"),
])  # fmt: skip
def test_who_only_waits_for_a_removal(blocks: dict[str, str], patient: str) -> None:
    """What waits itself, and what depends only on such addresses, if nothing else blocks it or is left to do there."""
    changes = []
    for name, words in blocks.items():
        block, *others = words.split()
        on = tuple(Address.of(STAGING, other) for other in others)
        why = None if block == "open" else Block(block)
        changes.append(change(Action.BLOCKED, f"{STAGING}/{name[0]}", block=why, depends_on=on))
    assert {Address.of(STAGING, name) for name in patient} == plan(*changes).patient


def test_actions_and_defaults() -> None:
    """Each action sends a call, only appends facts, or is blocked; a result is recorded if nothing else is said."""
    assert [*Action] == [*SENDS[:3], *LOCAL, SENDS[3], Action.BLOCKED]
    assert Result(Address("a/b/c"), Action.CREATE, Ended.CREATED).recorded
    scheme = Verification("x", "hmac-sha256")
    told = (scheme.prefix, scheme.encoding, scheme.key_encoding, scheme.content, scheme.enforce)
    assert ("", "hex", "utf8", "{body}", True) == told
    assert {name: name.removeprefix("hmac-") for name in ALGORITHMS} == ALGORITHMS


def test_the_hash_of_a_client() -> None:
    """It never changes: with another one, every account that a record is bound to would be a foreign one."""
    hashed = "fea20ed605440a751455f4df8735333691ab2866a1cb4fd1f6f943e0d5aa40e5"
    assert f"sha256:{hashed}" == account_hash("client")


def test_targets_that_are_in_line() -> None:
    """Neither differences nor closed gates are left, nor a target without its counterpart that matters."""
    said, pair = (Message("loss-open", "a loss is open"),), Parity(STAGING, USA, ())
    alone = [Unpaired(STAGING, USA, matters=matters) for matters in (False, True)]
    pairs = Pairs((pair, pair), tuple(alone[:1]))
    others = {
        "foreign": said,
        "gates": said,
        "unpaired": tuple(alone),
        "compared": (pair, replace(pair, differences=(1,))),
    }
    assert [True, *[False] * 4] == [
        each.in_line for each in (pairs, *(replace(pairs, **{n: v}) for n, v in others.items()))
    ]


def test_a_target_that_is_not_declared() -> None:
    """The one that was probably meant is named, and all that are declared; `where` is the place of the name."""
    other = replace(target(USA), base_url="HTTPS://API.usa.example:443/")
    desired = Desired({STAGING: target(), USA: other}, {})
    assert (other, frozenset({"https://api.staging.example", "https://api.usa.example"})) == (
        desired.target("usa/staging", "here"), desired.services,
    )  # fmt: skip
    for where, known in (("there", desired), ("here", Desired({}, {}))):
        message = raised(SelectionError, known.target, "usa/stagin", where)
        assert ("target-unknown", where, "usa/staging?" in message.what) == (
            message.name,
            message.where,
            known is desired,
        )
        assert message.steps[0].text.endswith("europe/staging, usa/staging" if known is desired else "none")
