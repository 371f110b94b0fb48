"""What facts add up to: the status of each attempt, whatever is said of it and in whatever order."""

from __future__ import annotations

from itertools import combinations

import pytest
from support.scene import BY, EUROPE, SERVICE, START, USA, Scene, address_of, hooks, target

from reconciler.model.outcome import Outcome
from reconciler.model.record import Attempt, Status
from reconciler.record import facts as kinds
from reconciler.values import stamp

OWN = hooks("{attempt}")


@pytest.fixture
def scene() -> Scene:
    """An empty record."""
    return Scene()


def only(scene: Scene) -> Attempt:
    """Return the one attempt there is."""
    (attempt,) = scene.attempts
    return attempt


def test_intended(scene: Scene) -> None:
    """An attempt without an outcome is pending, in flight until it is settled, and says what it stands for."""
    attempt = scene.attempt(scene.begin("offers", "ONB10012 ONB10011", OWN))
    assert (Status.PENDING, True, False) == (attempt.status, attempt.blocks, attempt.in_force)
    assert (True, False) == (attempt.in_flight(attempt.settled_by - 1), attempt.in_flight(attempt.settled_by))
    assert (address_of("offers"), ("ONB10011", "ONB10012"), OWN, hooks(attempt.id)) == (
        attempt.address, attempt.codes, attempt.template, attempt.url,
    )  # fmt: skip
    assert (BY, stamp(START), False, True) == (attempt.by, attempt.since, attempt.imported, attempt.own_url)


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (Outcome.CREATED, Status.LIVE), (Outcome.REJECTED, Status.GONE), (Outcome.NOT_SENT, Status.GONE),
        (Outcome.UNKNOWN, Status.UNKNOWN),
    ],
)  # fmt: skip
def test_answered(scene: Scene, outcome: Outcome, status: Status) -> None:
    """An outcome decides; `created` beats every other one, whenever it comes."""
    attempt = scene.begin("offers", "ONB10011", OWN)
    scene.hear(attempt, outcome)
    assert (status, outcome) == (only(scene).status, only(scene).outcome)
    scene.hear(attempt, Outcome.CREATED)
    scene.hear(attempt, outcome)
    assert (Status.LIVE, Outcome.CREATED) == (only(scene).status, only(scene).outcome)


OUTCOMES = (Outcome.UNKNOWN, Outcome.NOT_SENT, Outcome.REJECTED, Outcome.CREATED)
"""The weakest first."""


@pytest.mark.parametrize(("weaker", "stronger"), [*combinations(OUTCOMES, 2)])
@pytest.mark.parametrize("is_later", [True, False])
def test_answered_twice(scene: Scene, weaker: Outcome, stronger: Outcome, *, is_later: bool) -> None:
    """Of two outcomes of one attempt the one that knows more counts, whichever came first."""
    attempt = scene.begin("offers", "ONB10011", OWN)
    for outcome in (weaker, stronger) if is_later else (stronger, weaker):
        scene.hear(attempt, outcome)
    assert stronger is only(scene).outcome


def test_answer_alone(scene: Scene) -> None:
    """An outcome repeats what was intended, so it stands for the attempt where the intent is lost."""
    scene.hold("offers", "ONB10011", OWN)
    before = only(scene)
    scene.facts = [fact for fact in scene.facts if not isinstance(fact, kinds.Intended)]
    scene._folded = None
    after = only(scene)
    assert (before.status, before.codes, before.url, before.settled_by) == (
        after.status, after.codes, after.url, after.settled_by,
    )  # fmt: skip


@pytest.mark.parametrize(("created", "status"), [(True, Status.LIVE), (False, Status.GONE)])
def test_resolved(scene: Scene, status: Status, *, created: bool) -> None:
    """A person's word settles an unknown outcome; a late `created` overrules `not created`."""
    attempt = scene.lose("offers", "ONB10011", hooks("offers"))
    scene.resolve(attempt, created=created)
    assert status is only(scene).status
    scene.resolve(attempt, created=not created)
    assert Status.LIVE is only(scene).status


def test_proven(scene: Scene) -> None:
    """A notification at its own URL proves an attempt, whatever was said; at a shared URL it proves nothing."""
    for name, url in (("own", OWN), ("shared", hooks("shared"))):
        attempt = scene.lose(name, "ONB10011", url)
        scene.resolve(attempt, created=False)
        scene.receive(scene.attempt(attempt).url, "ONB10099")
    own, shared = scene.attempts
    assert (Status.LIVE, Status.GONE) == (own.status, shared.status)
    assert (own.at, "") == (max(own.at, ""), shared.received)


def test_imported(scene: Scene) -> None:
    """What was imported is live, settled and never in flight."""
    attempt = scene.attempt(scene.bring("offers", "ONB10011", hooks("offers")))
    assert (Status.LIVE, True, False) == (attempt.status, attempt.imported, attempt.in_flight(0))


def test_removal(scene: Scene) -> None:
    """Requested it awaits removal and is in force; cancelled it is live; confirmed it is gone."""
    attempt = scene.hold("offers", "ONB10011", hooks("offers"))
    scene.request(attempt, by_plan=True)
    assert (Status.AWAITING_REMOVAL, True, True) == (only(scene).status, only(scene).in_force, only(scene).by_plan)
    scene.request(attempt)
    assert not only(scene).by_plan
    scene.cancel(attempt)
    assert (Status.LIVE, (), True) == (only(scene).status, only(scene).requests, bool(only(scene).cancelled))
    scene.confirm(attempt)
    assert (Status.GONE, True) == (only(scene).status, only(scene).removed is not None)


def test_removal_of_codes(scene: Scene) -> None:
    """Codes go one by one: requested they are in force, confirmed they are not, and the last one ends the attempt."""
    attempt = scene.hold("offers", "ONB10011 ONB10012", hooks("offers"))
    scene.request(attempt, "ONB10011")
    assert (Status.LIVE, ("ONB10011",)) == (only(scene).status, only(scene).requested_codes)
    scene.confirm(attempt, "ONB10011")
    assert (("ONB10012",), (), ("ONB10011",)) == (
        only(scene).codes, only(scene).requested_codes, only(scene).removed_codes,
    )  # fmt: skip
    scene.request(attempt)
    assert Status.AWAITING_REMOVAL is only(scene).status
    scene.confirm(attempt)
    assert Status.GONE is only(scene).status


def test_cancels_what_it_names(scene: Scene) -> None:
    """A request that was made in another history stays, whatever was cancelled here."""
    attempt = scene.hold("offers", "ONB10011", hooks("offers"))
    scene.request(attempt)
    scene.cancel(attempt)
    scene.tell(kinds.RemovalRequested(at="2026-01-01T00:00:00Z", attempt=attempt, codes=("ONB10011",), origin="e" * 64))
    assert (Status.AWAITING_REMOVAL, ("e" * 64,)) == (only(scene).status, only(scene).requests)


def test_cancelled_codes(scene: Scene) -> None:
    """The codes of a cancelled request are known until their removal is requested again or confirmed."""
    attempt = scene.hold("offers", "ONB10011 ONB10012 ONB10013", hooks("offers"))
    scene.request(attempt, "ONB10011 ONB10012")
    scene.cancel(attempt)
    assert ["ONB10011", "ONB10012"] == [*only(scene).cancelled]
    scene.request(attempt, "ONB10011")
    assert ["ONB10012"] == [*only(scene).cancelled]
    scene.confirm(attempt, "ONB10012")
    assert [] == [*only(scene).cancelled]


@pytest.mark.parametrize(("seconds", "is_revived"), [(45, False), (46, True)])
def test_revived(scene: Scene, seconds: int, *, is_revived: bool) -> None:
    """What delivers more than 45 s after its confirmed removal is in force again: no retry comes that late."""
    attempt = scene.hold("offers", "ONB10011", OWN)
    scene.request(attempt)
    confirmed = scene.now
    scene.confirm(attempt)
    scene.receive(only(scene).url, "ONB10011", at=stamp(confirmed + seconds))
    assert (is_revived, is_revived) == (only(scene).revived, only(scene).status is Status.LIVE)
    if is_revived:
        scene.request(attempt)
        assert Status.AWAITING_REMOVAL is only(scene).status


def test_revived_in_part(scene: Scene) -> None:
    """What stays is heard as before: only what was removed, or is not its own, disproves a removal."""
    attempt = scene.hold("offers", "ONB10011 ONB10012 ONB10013", OWN)
    scene.request(attempt)
    scene.confirm(attempt, "ONB10012")
    scene.now += 100
    scene.receive(only(scene).url, "ONB10011")
    assert (False, ("ONB10011", "ONB10013"), Status.AWAITING_REMOVAL) == (
        only(scene).revived, only(scene).codes, only(scene).status,
    )  # fmt: skip
    scene.receive(only(scene).url, "ONB10012")
    assert (True, 3, ("ONB10011", "ONB10013"), Status.LIVE) == (
        only(scene).revived, len(only(scene).codes), only(scene).requested_codes, only(scene).status,
    )  # fmt: skip
    scene.confirm(attempt, "ONB10012")
    assert (True, ("ONB10011", "ONB10013")) == (bool(only(scene).removed), only(scene).codes)


def test_last_removal_after_a_delivery(scene: Scene) -> None:
    """What arrived while it was still to arrive disproves no removal, also not once its own code is removed too."""
    attempt = scene.hold("offers", "ONB10011 ONB10012", OWN)
    scene.confirm(attempt, "ONB10011")
    scene.now += 100
    scene.receive(only(scene).url, "ONB10012")
    scene.confirm(attempt, "ONB10012")
    assert (Status.GONE, False) == (only(scene).status, only(scene).revived)
    scene.now += 100
    scene.receive(only(scene).url, "ONB10011")
    assert (("ONB10011",), True) == (only(scene).codes, only(scene).revived)


def test_revived_until_it_is_removed_again(scene: Scene) -> None:
    """What is confirmed as removed again after its late delivery is in force no longer."""
    attempt = scene.hold("offers", "ONB10011", OWN)
    scene.confirm(attempt)
    scene.now += 100
    scene.receive(only(scene).url, "ONB10011")
    scene.confirm(attempt)
    assert (Status.GONE, False) == (only(scene).status, only(scene).revived)


def test_superseded(scene: Scene) -> None:
    """A retry takes the place of what it supersedes, and counts those before it."""
    first = scene.lose("offers", "ONB10011", OWN)
    second = scene.lose("offers", "ONB10011", OWN, supersedes=(first,))
    third = scene.lose("offers", "ONB10011", OWN, supersedes=(second,))
    assert [(False, 0), (False, 1), (True, 2)] == [
        (scene.attempt(found).blocks, scene.attempt(found).retries) for found in (first, second, third)
    ]
    assert ((second,), (first,)) == (scene.attempt(first).superseded_by, scene.attempt(second).supersedes)
    scene.resolve(second, created=False)
    assert [False, False, True] == [scene.attempt(found).blocks for found in (first, second, third)]
    scene.resolve(third, created=False)
    assert [True, False, False] == [scene.attempt(found).blocks for found in (first, second, third)]
    scene.resolve(third, created=True)
    routes = scene.record.routes_at(scene.record.service_of(SERVICE))
    assert [third] == [found.id for found in routes["ONB10011", OWN]]


def test_superseding_each_other(scene: Scene) -> None:
    """A file that claims that attempts supersede each other is read all the same."""
    ids = ("a" * 32, "b" * 32)
    for attempt, other in (ids, ids[::-1]):
        what = kinds.What(str(address_of("offers")), ("ONB10011",), hooks("offers"), SERVICE, supersedes=(other,))
        scene.tell(kinds.Intended(at=scene.at, attempt=attempt, what=what))
    assert [2, 2] == [scene.attempt(found).retries for found in ids]


def test_renamed(scene: Scene) -> None:
    """A rename takes the attempts along; of rivals that two histories made, both addresses are shown."""
    held = scene.hold("before", "ONB10011", hooks("offers"))
    scene.move("before", "after")
    scene.move("after", "later")
    assert ([address_of("later")], ()) == (scene.record.addresses, only(scene).other_addresses)
    scene.tell(kinds.Renamed(at=scene.at, attempts=(held,), to=str(address_of("again")), origin="e" * 64))
    assert (address_of("again"), (address_of("later"),), 2) == (
        only(scene).address, only(scene).other_addresses, len(only(scene).renames),
    )  # fmt: skip
    scene.move("again", "settled")
    assert (address_of("settled"), ()) == (only(scene).address, only(scene).other_addresses)


def test_bindings(scene: Scene) -> None:
    """A target belongs to the service and account of its facts; several are one only where someone says so."""
    scene.hear(scene.begin("offers", "ONB10011", hooks("offers"), account="sha256:one"), Outcome.CREATED)
    record = scene.record
    assert ({EUROPE: (SERVICE,)}, {EUROPE: frozenset({"sha256:one"})}) == (record.base_urls, record.accounts)
    assert record.service_of(SERVICE) != record.service_of("https://moved.example")
    scene.rebind(EUROPE, "https://moved.example", "sha256:two")
    scene.declare(target(USA, base_url="https://usa.example"))
    scene.hold(f"{USA}/offers", "ONB10011", hooks("usa"))
    scene.rebind(USA, "https://moved.example/")
    record = scene.record
    services = {record.service_of(url) for url in (SERVICE, "https://moved.example", "https://usa.example/")}
    assert (1, frozenset({"sha256:one", "sha256:two"})) == (len(services), record.accounts[EUROPE])


def test_losses(scene: Scene) -> None:
    """A loss is open until a fact that names it ends it; the heads it names are contained from then on."""
    head = "d" * 64
    assert not scene.record.contains(head)
    scene.tell(kinds.LossOpened(at=scene.at, loss="two", cause="accepted", heads=(head,)))
    scene.tell(kinds.LossOpened(at=stamp(START), loss="one", cause="begun"))
    assert ["one", "two"] == [loss.id for loss in scene.record.open_losses]
    assert (True, False) == (scene.record.contains(head), head in scene.record.contained)
    scene.tell(kinds.Completed(at=scene.at, losses=("two", "three")))
    assert ["one"] == [loss.id for loss in scene.record.open_losses]


def test_closed(scene: Scene) -> None:
    """A record that was closed names the other place, until a loss opens it again; merged facts mean nothing here."""
    scene.tell(kinds.Closed(at=scene.at, to="elsewhere", origin="e" * 64))
    places = [scene.record.closed_to]
    scene.tell(kinds.Closed(at=scene.at, to="git:record"))
    places.append(scene.record.closed_to)
    scene.tell(kinds.LossOpened(at=scene.at, loss="two", cause="accepted", origin="f" * 64))
    places.append(scene.record.closed_to)
    scene.open_loss()
    assert ["", "git:record", "git:record", ""] == [*places, scene.record.closed_to]


def test_id(scene: Scene) -> None:
    """A record keeps its own id; the beginning of another, merged, changes nothing."""
    scene.tell(kinds.Begun(at=scene.at, record="other", origin="e" * 64))
    assert ("c0ffee", 2) == (scene.record.id, scene.record.entries)


def test_received(scene: Scene) -> None:
    """Spans of notifications are kept by service, URL and code, each once, sorted."""
    for at in ("2026-11-20T15:00:00Z", "2026-11-20T14:00:00Z", "2026-11-20T15:00:00Z"):
        scene.receive("https://HOOKS.partner.example:443/offers", "ONB10011", at=at, base_url=f"{SERVICE}/")
    key = (SERVICE, hooks("offers"), "ONB10011")
    times = ("2026-11-20T14:00:00Z", "2026-11-20T15:00:00Z")
    assert {key: tuple((at, at) for at in times)} == scene.record.received


def test_secrets(scene: Scene) -> None:
    """Every response and every secret is kept, whatever else is said."""
    attempt = scene.hold("offers", "ONB10011", hooks("offers"), response="first")
    scene.hear(attempt, Outcome.UNKNOWN, response="second")
    scene.keep_secret(attempt)
    assert ({"first", "second"}, ("sealed",)) == ({*only(scene).responses}, only(scene).secrets)


def test_order_of_what_is_kept(scene: Scene) -> None:
    """Responses and secrets have one order, whichever history was read first."""
    attempt = scene.begin("offers", "ONB10011", hooks("offers"))
    said = [
        kinds.Answered(at=scene.at, attempt=attempt, what=scene.what(attempt), outcome=Outcome.CREATED, response=name)
        for name in ("b", "a")
    ]
    secrets = [kinds.SecretSet(at=scene.at, attempt=attempt, secret=name) for name in ("b", "a")]
    scene.tell(*said, *secrets)
    assert (("a", "b"), ("a", "b")) == (only(scene).responses, only(scene).secrets)


def test_word_without_what(scene: Scene) -> None:
    """A fact about an attempt of which nothing is known makes no attempt, until that is known."""
    scene.tell(kinds.RemovalRequested(at=scene.at, attempt="a" * 32, codes=("ONB10011",)))
    assert [] == scene.attempts
    what = kinds.What(str(address_of("offers")), ("ONB10011",), hooks("offers"), SERVICE)
    scene.tell(kinds.Exists(at=scene.at, attempt="a" * 32, what=what))
    assert Status.AWAITING_REMOVAL is only(scene).status


def test_since_when_a_removal_is_awaited(scene: Scene) -> None:
    """Since the last request that is open, whatever was asked for, taken back or done after it."""
    attempt = scene.hold("offers", "ONB10011 ONB10012 ONB10013", OWN)
    scene.request(attempt, "ONB10011")
    first = scene.attempt(attempt).requested
    scene.request(attempt, "ONB10012")
    second = scene.attempt(attempt).requested
    assert "" < first < second
    scene.confirm(attempt, "ONB10012")
    assert first == scene.attempt(attempt).requested
    scene.confirm(attempt, "ONB10011")
    assert "" == scene.attempt(attempt).requested
    for _ in range(2):
        scene.request(attempt)
        last = scene.at
        scene.cancel(attempt)
    assert {"ONB10013": last} == scene.attempt(attempt).cancelled
