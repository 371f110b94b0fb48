"""Merging: the union of two histories, and what the fold makes of it."""

from __future__ import annotations

from itertools import permutations
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from msgspec.structs import replace
from support.records import linked

from reconciler.model.outcome import Outcome
from reconciler.model.record import Record, Status
from reconciler.record import facts as kinds
from reconciler.record.chain import Line, missing
from reconciler.record.fold import fold

Lines = tuple[Line, ...]
AT, BY = "2026-11-21T00:00:00Z", {"user": "merger"}
SERVICES = ("https://one.example", "https://two.example")
IDS = tuple(name * 32 for name in "abc")
WHATS = {
    attempt: kinds.What(
        f"europe/staging/{attempt[0]}", ("LOA10013", "ONB10001"), f"https://hooks.example/{attempt}", SERVICES[0],
        template="https://hooks.example/{attempt}" if attempt != IDS[0] else "", settled_by=60.0,
        supersedes=(IDS[1],) if attempt == IDS[2] else (),
    )
    for attempt in IDS
}  # fmt: skip

quick = settings(max_examples=60)
ids = st.sampled_from(IDS)
times = st.sampled_from(["2026-11-20T13:30:00Z", "2026-11-20T13:31:00Z", "2026-11-20T14:00:00Z"])
people = st.sampled_from([{"user": "ada"}, {"user": "grace"}])
codes = st.sampled_from([("LOA10013",), ("LOA10013", "ONB10001")])


@st.composite
def histories(draw: DrawFn, base: Lines) -> Lines:
    """Draw how a history may go on."""
    lines = base
    for _ in range(draw(st.integers(0, 8))):
        _, new = linked(lines[-1].hash, len(lines), [_fact(draw, lines)])
        lines = (*lines, *new)
    return lines


def _fact(draw: DrawFn, lines: Lines) -> kinds.AnyFact:  # noqa: C901, PLR0911, PLR0912 - one case for each kind of fact
    at, by, attempt = draw(times), draw(people), draw(ids)
    what = WHATS[attempt]
    match draw(st.integers(0, 13)):
        case 0:
            return kinds.Intended(at=at, by=by, attempt=attempt, what=what)
        case 1:
            outcome, response = draw(st.sampled_from(Outcome)), draw(st.sampled_from([None, "one", "two"]))
            return kinds.Answered(at=at, by=by, attempt=attempt, what=what, outcome=outcome, response=response)
        case 2:
            return kinds.Exists(at=at, by=by, attempt=attempt, what=what, note=draw(st.sampled_from(["", "seen"])))
        case 3:
            return kinds.Absent(at=at, by=by, attempt=attempt)
        case 4:
            return kinds.RemovalRequested(at=at, by=by, attempt=attempt, codes=draw(codes), by_plan=draw(st.booleans()))
        case 5:
            requests = tuple(line.id for line in lines if isinstance(line.fact, kinds.RemovalRequested))
            return kinds.RemovalCancelled(at=at, by=by, attempt=attempt, requests=requests)
        case 6:
            return kinds.RemovalConfirmed(at=at, by=by, attempt=attempt, codes=draw(codes))
        case 7:
            renames = tuple(line.id for line in lines if isinstance(line.fact, kinds.Renamed))
            replaces = renames if draw(st.booleans()) else ()
            to = draw(st.sampled_from(["europe/staging/x", "europe/staging/y"]))
            return kinds.Renamed(at=at, by=by, attempts=(attempt,), to=to, replaces=replaces)
        case 8:
            return kinds.SecretSet(at=at, by=by, attempt=attempt, secret=draw(st.sampled_from(["one", "two"])))
        case 9:
            url, code = WHATS[attempt].url, draw(st.sampled_from(["LOA10013", "ONB10001"]))
            return kinds.Received(at=at, by=by, base_url=SERVICES[0], url=url, code=code, first=at, last=at)
        case 10:
            loss, heads = draw(st.sampled_from(["one", "two"])), draw(st.sampled_from([(), ("d" * 64,)]))
            return kinds.LossOpened(at=AT, by=BY, loss=f"{loss}{len(heads)}", cause="accepted", heads=heads)
        case 11:
            return kinds.Completed(at=at, by=by, losses=(draw(st.sampled_from(["one0", "two1"])),))
        case 12:
            return kinds.Closed(at=at, by=by, to="elsewhere")
        case _:
            base_url = draw(st.sampled_from(SERVICES))
            return kinds.Rebound(at=at, by=by, target="europe/staging", base_url=base_url, account="sha256:one")


def begin() -> Lines:
    """Return a record that has just begun."""
    return linked(None, 0, [kinds.Begun(at=AT, by=BY, record="c0ffee")])[1]


def merge(ours: Lines, theirs: Lines) -> Lines:
    """Return our history with what theirs has besides."""
    facts = missing(fold(ours).contained, theirs, AT, BY)
    return (*ours, *linked(ours[-1].hash, len(ours), facts)[1])


def meaning(lines: Lines) -> Record:
    """Return what a history says, without what tells which lines say it and where it lies."""
    record = fold(lines)
    return replace(record, head="", entries=0, closed_to="", contained=frozenset())


@st.composite
def forks(draw: DrawFn) -> list[Lines]:
    """Draw three histories of one record that have gone their own ways."""
    base = draw(histories(begin()))
    return [draw(histories(base)) for _ in range(3)]


@quick
@given(forks())
def test_commutative(forked: list[Lines]) -> None:
    """It makes no difference which of two histories is merged into which."""
    a, b, _ = forked
    assert meaning(merge(a, b)) == meaning(merge(b, a))


@quick
@given(forks())
def test_associative(forked: list[Lines]) -> None:
    """It makes no difference which two of three histories are merged first."""
    a, b, c = forked
    assert meaning(merge(merge(a, b), c)) == meaning(merge(a, merge(b, c)))


@quick
@given(forks())
def test_idempotent(forked: list[Lines]) -> None:
    """What was merged is merged no second time, neither by itself nor with what it was merged into."""
    a, b, _ = forked
    both = merge(a, b)
    assert (both, both) == (merge(both, b), merge(both, a))
    back = merge(b, both)
    assert meaning(back) == meaning(both)
    assert both == merge(both, b)


@quick
@given(forks())
def test_nothing_is_forgotten(forked: list[Lines]) -> None:
    """Every fact of both histories is there, and every head of either is contained."""
    a, b, _ = forked
    for ours, theirs in permutations([a, merge(a, b), merge(b, a)], 2):
        both = merge(ours, theirs)
        assert {line.id for line in (*ours, *theirs)} <= {line.id for line in both}
        assert {line.hash for line in (*ours, *theirs)} <= fold(both).contained


@quick
@given(forks())
def test_created_beats_not_created(forked: list[Lines]) -> None:
    """What either history knows to have been created, and neither to be removed, is in force in both."""
    a, b, _ = forked
    both = fold(merge(a, b))
    for attempt in fold(a).attempts.values():
        merged = both.attempts[attempt.id]
        if attempt.in_force and merged.removed is None:
            assert merged.in_force
        if attempt.blocks and not merged.superseded_by and merged.removed is None:
            assert merged.in_force or merged.unresolved or merged.absent or merged.outcome is not None


def several(number: int) -> list[kinds.AnyFact]:
    """Return a fact of each kind that may come from another history; none at a time of its own but the answers."""
    at, by, attempt, origin = AT, {"user": f"merger {number}"}, IDS[0], f"{number:064}"
    what, url = WHATS[attempt], WHATS[IDS[1]].url
    retry = replace(WHATS[IDS[2]], supersedes=(attempt,))
    said: list[kinds.AnyFact] = [
        kinds.Intended(at=at, attempt=f"{number:032}", what=retry),
        kinds.Answered(at=at, attempt=attempt, what=what, outcome=Outcome.UNKNOWN, response=f"response {number}"),
        kinds.Answered(at=at, attempt=IDS[1], what=WHATS[IDS[1]], outcome=Outcome.UNKNOWN, date=f"date {number}"),
        kinds.Exists(at=at, attempt=attempt, what=what, note=f"note {number}", beside=(f"{number:032}",)),
        kinds.Absent(at=at, attempt=IDS[1], note=f"note {number}"),
        kinds.Intended(at=at, attempt=IDS[1], what=WHATS[IDS[1]]),
        kinds.RemovalRequested(at="2026-11-22T00:00:00Z", attempt=attempt, codes=what.codes[number % 2 :]),
        kinds.RemovalConfirmed(at=at, attempt=attempt, codes=what.codes[: 1 + number % 2]),
        kinds.RemovalCancelled(at=f"2026-11-2{number}T00:00:00Z", attempt=attempt, requests=(f"{number}",)),
        kinds.Renamed(at=at, attempts=(attempt,), to=f"europe/staging/to-{number // 2}"),
        kinds.SecretSet(at=at, attempt=attempt, secret=f"secret {number}"),
        kinds.Received(at=at, base_url=SERVICES[0], url=url, code="ONB10001", first=f"{number}", last=f"{number}"),
        kinds.LossOpened(at=at, loss=f"loss {number}", cause="accepted", heads=(origin,)),
        kinds.Completed(at=at, losses=("loss 1",)),
        kinds.Rebound(at=at, target="europe/staging", base_url=f"https://{number}.example", account=f"sha256:{number}"),
    ]
    return [replace(fact, by=by, origin=f"{kind:02}{origin[2:]}") for kind, fact in enumerate(said)]


def test_the_order_of_lines_says_nothing() -> None:
    """Many facts of each kind, read in whatever order, say the same: in each list too, which a plan's digest covers."""
    facts = [fact for number in range(5) for fact in several(number)]
    orders = [facts, facts[::-1], *(Random(seed).sample(facts, len(facts)) for seed in range(6))]
    read = [meaning((*begin(), *linked(begin()[-1].hash, 1, order)[1])) for order in orders]
    said = [(record, [*record.attempts], [*record.losses]) for record in read]
    assert said[:1] * len(said) == said


def test_recover_what_a_loss_names() -> None:
    """A head that a loss names is contained, but its fact is not: what is found later is merged, the last one too."""
    whole = (*begin(), *linked(begin()[-1].hash, 1, [kinds.Intended(at=AT, attempt=IDS[0], what=WHATS[IDS[0]])])[1])
    lost = kinds.LossOpened(at=AT, loss="1055", cause="accepted", heads=(whole[-1].hash,))
    ours = (*begin(), *linked(begin()[-1].hash, 1, [lost])[1])
    assert fold(ours).contains(whole[-1].hash)
    assert Status.PENDING is fold(merge(ours, whole)).attempts[IDS[0]].status


def test_heads_of_merged_lines() -> None:
    """A head of a history that had itself merged is contained, though its line is another one here."""
    one = (*begin(), *linked(begin()[-1].hash, 1, [kinds.Absent(at=AT, attempt=IDS[0])])[1])
    other = merge(begin(), (*begin(), *linked(begin()[-1].hash, 1, [kinds.Absent(at=AT, attempt=IDS[1])])[1]))
    both = merge(one, other)
    assert all(fold(both).contains(line.hash) for line in other)
    assert [] == missing(fold(both).contained, other, AT, BY)
