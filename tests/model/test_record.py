"""What a record says, from its attempts alone: what is in force, which routes are taken, and what was received."""

from __future__ import annotations

from itertools import product

import pytest
from msgspec.structs import replace
from support.plan_values import AT, ID, URL, attempt

from reconciler.model.address import Address
from reconciler.model.record import Attempt, Loss, Record, Said, Status, is_recorded_twice

OLD, NEW, OTHER = "https://old.example", "https://new.example", "https://other.example"
OWN = f"{URL}/{{attempt}}"
EARLY, SOON, LATE = "2026-11-01T07:00:00Z", "2026-11-01T09:00:00Z", "2026-11-01T10:00:00Z"
LIVE, GONE = attempt(base_url=OLD), attempt(base_url=OLD, id="9" * 32, status=Status.GONE)
LOST = replace(LIVE, id="1" * 32, status=Status.UNKNOWN)


def record(*attempts: Attempt, received: tuple[tuple[str, str], ...] = ()) -> Record:
    """Return a record in which the service at OLD was declared to be the one at NEW."""
    return Record(
        ID, "h", 9, {each.id: each for each in attempts}, {}, base_urls={"b/b": (OTHER, f"{OLD}/"), "a/a": (OTHER,)},
        services={OLD: NEW}, received={(OLD, URL, "ONB10011"): received}, contained={"c"}, missed=frozenset("m"),
    )  # fmt: skip


@pytest.mark.parametrize(("status", "superseded", "absent"), [*product(Status, ((), ("b",)), (None, Said(AT, {})))])
def test_what_an_attempt_is(status: Status, superseded: tuple[str, ...], absent: Said | None) -> None:
    """In force, unresolved, blocking, given up or in flight, each by its own rule."""
    held = attempt(status=status, superseded_by=superseded, absent=absent, template=OWN, send_by=5.0, settled_by=9.0)
    unresolved = status in {Status.PENDING, Status.UNKNOWN}
    flying = [held.in_flight(now) for now in (6.0, 9.0)]
    assert (not unresolved and status is not Status.GONE, unresolved, unresolved and not superseded) == (
        held.in_force, held.unresolved, held.blocks,
    )  # fmt: skip
    assert ([status is Status.PENDING, False], bool(superseded or absent)) == (flying, held.given_up)
    shared = replace(held, template=URL, settled_by=0.0)
    assert (bool(superseded), True, False) == (shared.given_up, shared.imported, held.imported)


def test_what_a_record_contains() -> None:
    """Addresses are sorted and attempts in their order; a service has the routes of those that deliver or may."""
    elsewhere = replace(LIVE, id="2" * 32, address=Address("a/a/a"), base_url=NEW)
    given_up = replace(LOST, id="3" * 32, superseded_by=("x",))
    known = record(LIVE, GONE, LOST, elsewhere, given_up)
    assert (["a/a/a", LIVE.address], (LIVE, GONE, LOST, given_up)) == (known.addresses, known.at_address(LIVE.address))
    assert {("ONB10011", URL): (LIVE, LOST, elsewhere)} == known.routes_at(NEW)
    assert ({}, {NEW, OTHER}) == (dict(known.routes_at(OLD)), {*known.bound_services})
    assert [NEW, OTHER] == [known.service_of(f"{url.upper()}:443/") for url in (OLD, OTHER)]
    assert [True, True, False] == [known.contains(head) for head in "cmx"]
    losses = {
        name: Loss(name, "copy", AT, {}, of="x", completed=done) for name, done in (("1", Said(AT, {})), ("2", None))
    }
    assert (losses["2"],) == replace(known, losses=losses).open_losses


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([(EARLY, EARLY)], None), ([(EARLY, SOON)], (SOON, SOON)), ([(AT, AT)], (AT, AT)),
        ([(AT, SOON)], (AT, SOON)),
        ([(SOON, LATE), (EARLY, EARLY)], (SOON, LATE)), ([(LATE, LATE), (EARLY, SOON)], (SOON, LATE)),
    ],
)  # fmt: skip
def test_what_was_received_since_a_create(spans: list[tuple[str, str]], expected: tuple[str, str] | None) -> None:
    """Nothing before it counts; what another attempt in force delivers there counts only for one that is in force."""
    beside = replace(LIVE, id="4" * 32, base_url=NEW, url="HTTPS://hooks.partner.example/offers", template=URL)
    own = replace(GONE, template=OWN)
    for held, others, is_known in (
        (LIVE, [beside], True), (GONE, [], True), (GONE, [beside], False), (GONE, [LOST], True), (own, [beside], True),
        (own, [replace(beside, template=OWN)], True), (GONE, [replace(beside, codes=("X",))], True),
        (GONE, [replace(beside, base_url=OTHER)], True), (replace(LIVE, base_url=NEW), [], False),
    ):  # fmt: skip
        known = {"ONB10011": expected} if is_known and expected else {}
        assert known == record(held, *others, received=tuple(spans)).received_by(held)


@pytest.mark.parametrize(("one", "other", "is_twice"), [
    ({}, {}, False), ({"settled_by": 0.0}, {}, True), ({"settled_by": 0.0}, {"template": "HTTPS://" + URL[8:]}, True),
    ({"settled_by": 0.0}, {"template": OWN}, False), ({"settled_by": 0.0}, {"beside": ("i" * 32,)}, False),
    ({"settled_by": 0.0, "codes": ("A",)}, {"codes": ("A", "B")}, True),
    ({"settled_by": 0.0, "codes": ("A", "B")}, {"codes": ("A",)}, False),
])  # fmt: skip
def test_what_may_be_recorded_twice(one: dict[str, object], other: dict[str, object], is_twice: bool) -> None:
    """An import with the URL and no other codes, unless a person told them apart; whichever is named first."""
    pair = replace(LIVE, id="i" * 32, **one), replace(LIVE, **other)
    assert (is_twice, is_twice) == (is_recorded_twice(*pair), is_recorded_twice(*reversed(pair)))
