"""Reports about one thing at a time, and about many, for `whole.txt`."""

from __future__ import annotations

from itertools import product
from typing import Any

from msgspec.structs import replace
from support.plan_values import AT, ID, OFFERS, STAGING, URL, attempt, change, duplicate, plan, surplus, target

from reconciler.errors import Message, Place, step
from reconciler.model import plan as found_by
from reconciler.model import status as states
from reconciler.model.address import Address, TargetName
from reconciler.model.desired import ParityException, Subscription
from reconciler.model.outcome import Outcome
from reconciler.model.plan import Action, Applied, Block, Change, Done, Plan, Request, Result, TargetPlan, Verdict
from reconciler.model.record import Said, Status
from reconciler.reports import document as doc
from reconciler.reports.apply import apply_document
from reconciler.reports.doctor import doctor_document, validation_document
from reconciler.reports.letters import Purpose, letter
from reconciler.reports.parity import parity_document
from reconciler.reports.plan import plan_document
from reconciler.reports.record import history_document, record_document
from reconciler.reports.removals import removals_document
from reconciler.reports.status import status_document

NOW = 1_793_527_200.0  # 2026-11-01T10:00:00Z
EARLIER, LATER = "2026-10-01T00:00:00Z", "2026-11-01T09:30:00Z"
ODD = ("no time", "2026-11-01T09:59:30Z", "2026-11-01T09:59:00Z", "2026-11-02T08:00:00Z", EARLIER)
PRODUCTION = TargetName("europe/production")
PLACE = Place("config/a.yaml", 1, 1)
GATE = Message("loss-open", "loss 1 is open", "", (step("run", "reconciler", "state", "complete"),))
FOREIGN = Message("foreign", "bound to https://other.example", STAGING)
LOST = attempt(id="c" * 32, status=Status.UNKNOWN, outcome=Outcome.UNKNOWN)
FLYING = attempt(id="1" * 32, status=Status.PENDING, outcome=None, settled_by=NOW + 60)
SENT_AGAIN = replace(LOST, id="d" * 32, superseded_by=(ID,))
GOING = attempt(id="e" * 32, status=Status.AWAITING_REMOVAL, requested=AT, requested_codes=("ONB10011",))
PARTLY = replace(GOING, id="2" * 32, codes=("B", "ONB10011"), requested=EARLIER, status=Status.LIVE)
UNDATED = replace(PARTLY, address=Address("europe/staging/undated"), id="3" * 32, requested="")
UNDATED = replace(UNDATED, status=Status.AWAITING_REMOVAL, requested_codes=UNDATED.codes)
BEFORE = (
    attempt(codes=("A", "B")), attempt(codes=("B", "C"), id="b" * 32, url=f"{URL}/b", template=f"{URL}/{{attempt}}"),
    attempt(codes=("C", "D"), id="9" * 32, requests=("r",), requested_codes=("D",), template=f"HTTPS{URL[5:]}"),
)  # fmt: skip
SAID = tuple(
    Message(name, f"see {number}", where, (step(f"do {number}", "reconciler", name),), PLACE if where else None)
    for number, (name, where) in enumerate(
        (("waits-for-blocked", ""), ("url-changed", ""), ("other", "x"), ("last", ""))
    )
)


def _changes(*concerns: str) -> list[Change]:
    """Return a change of each action at several attempts, of which it concerns some."""
    request = Request(("A", "E"), URL)
    return [
        change(
            action, f"europe/staging/{action}", before=BEFORE, after=Request(("A", "D", "E"), URL), concerns=concerns,
            request=request, reasons=SAID[:3], warnings=SAID[2:], block=Block.UNRESOLVED,
        )
        for action in reversed(Action)
    ]  # fmt: skip


def plans() -> dict[str, Plan]:
    """Return plans by name: with one difference each, and with many."""
    twice = duplicate()
    double = [replace(twice, code=code) for code in ("ONB10011", "LOA10013", "X", "Y")]
    double.append(replace(twice, code="B", attempts=(ID, "9" * 32)))
    extra = replace(surplus(), codes=("B", "LOA10013", "ONB10011"))
    asked = replace(extra, attempt="b" * 32, requested=True)
    why: dict[str, Any] = {"reasons": SAID[2::-1], "warnings": SAID[:0:-1], "before": BEFORE}
    blocked = [change(Action.BLOCKED, f"europe/staging/{block}", block=block, **why) for block in Block]
    beyond = (*map(attempt, ("usa/x/a", "usa/x/b", "asia/x/c")), replace(SENT_AGAIN, address=Address("usa/x/d")))
    alone: dict[str, Plan] = {
        "requested": plan(surplus=(surplus(), asked), selection=("europe/*",)), "lost": plan(undeclared=(LOST,)),
        "foreign": plan(foreign=(FOREIGN,)), "awaited": plan(awaiting_removal=(GOING, PARTLY, UNDATED)),
        "undated": plan(awaiting_removal=(UNDATED,)), "beyond": plan(undeclared=beyond),
        "gate": plan(gates=(GATE,), foreign=(FOREIGN,)),
        "line": plan(unchanged=2000), "again": plan(undeclared=beyond[3:], superseded=(SENT_AGAIN, GOING), unchanged=1),
        "removal": plan(replace(blocked[0], action=Action.REMOVE, after=None, concerns=(ID,)), selection=("u/*", "e")),
        "extra": plan(surplus=(extra, asked), duplicates=tuple(double)), "all blocked": plan(*blocked),
        "extras": plan(surplus=(extra, replace(asked, requested=False)), duplicates=tuple(double)),
        "blocked and gate": plan(*blocked, gates=(GATE,), awaiting_removal=(GOING,)),
        "blocked and foreign": plan(*blocked, foreign=(FOREIGN,), surplus=(surplus(),)),
        "one of several": plan(*_changes(ID)), "all of several": plan(*_changes(ID, "b" * 32, "9" * 32)),
    }  # fmt: skip
    parts = {}
    for name in [TargetName(f"europe/t{number:02}") for number in range(9, -1, -1)]:
        settings = replace(target(name, overridden=("auth_url",)), base_url=f"https://{name[-3:]}.example")
        there = Address(f"{name}/x")
        parts[name] = TargetPlan(
            settings, "sha256:t", (change(Action.EXTEND, f"{name}/offers", before=BEFORE[:1]),), 1,
            (replace(GOING, requested=LATER, address=there),), (replace(surplus(), address=there),),
        )  # fmt: skip
    lists = ("recipients", "losses_open", "heads_missing", "selection")
    return {**alone, "many": replace(plan(), targets=parts, **{name: ("u", name, "a") for name in lists})}


def applies() -> dict[str, Applied]:
    """Return applies by name: each outcome of each action alone, and what is left in each way."""
    left = plan(*_changes(ID, "c" * 32))
    found: dict[str, Applied] = {}
    names = ("blocked", "offers", "extend", "said", "new", "old")
    for action, done in (*((Action.CREATE, done) for done in Done), (Action.BLOCKED, Done.SKIPPED)):
        results = tuple(
            Result(Address(f"europe/staging/{name}"), action, done, status, ID, f"see {min(number, 4)}")
            for number, (name, status) in enumerate(zip(names, (2, 409, 429, 5, 503, 422), strict=True))
        )
        rest: dict[str, Any] = {
            "left": left,
            "unresolved": (LOST,),
            "messages": (Message("store", "see 3"), Message("store", "see 10", "x")),
        }
        found[f"{action} {done}"] = Applied(results, Verdict.FAILED, **rest)
    lefts: dict[str, Plan | None] = {"none": None, "line": plan(unchanged=1), "more": plan(surplus=(surplus(),))}
    there = replace(LOST, id="7" * 32, address=Address("europe/staging/more"))
    retries = change(Action.RETRY, concerns=(LOST.id,)), change(Action.RETRY, there.address, concerns=(there.id,))
    lefts["retry"] = plan(*retries, superseded=(SENT_AGAIN,))
    asked = replace(SAID[3], name="in-flight"), replace(SAID[2], name="unresolved")
    for block in (Block.UNRESOLVED, Block.IN_FLIGHT, Block.WAITS):
        blocked = change(Action.BLOCKED, block=block, blocking=(LOST, FLYING), reasons=asked)
        other = replace(blocked, address=there.address, reasons=SAID[:2], depends_on=(OFFERS,))
        lefts[block] = plan(replace(other, block=Block.DEPENDS) if block is Block.WAITS else other, blocked)
    created = Result(OFFERS, Action.CREATE, Done.CREATED, 201, ID, "see 5", recorded=False)
    skipped = Result(OFFERS, Action.BLOCKED, Done.SKIPPED, detail="see 3")
    several = skipped, replace(skipped, address=there.address, detail="see 1"), replace(skipped, action=Action.CREATE)
    for (name, planned), results in product(lefts.items(), ((), (created,), several)):
        unknown = LOST, there, FLYING
        found[f"{name} unresolved {len(results)}"] = Applied(results, Verdict.UNRESOLVED, (), (), unknown, planned)
        found[f"{name} done {len(results)}"] = Applied(results, Verdict.DONE, left=planned)
    found["signal"] = Applied((created,), Verdict.FAILED, left=plan(), signal=2)
    found["rejected"] = Applied((replace(created, outcome=Done.REJECTED),), Verdict.FAILED, left=plan(), signal=2)
    found["no time"] = Applied((), Verdict.UNRESOLVED, left=plan(), signal=2)
    both, elsewhere = (replace(GOING, id="4" * 32), GOING), replace(GOING, address=Address("usa/x/y"))
    found["two"] = Applied((), Verdict.DONE, both)
    return found | {"three": Applied((), Verdict.DONE, (elsewhere, *both, UNDATED))}


def statuses() -> dict[str, states.ProjectStatus]:
    """Return statuses by name: with one thing each, and with many targets."""
    known = [states.Evidence(proof, "" if proof is states.Proof.NEVER_SEEN else AT) for proof in states.Proof]
    proofs = {f"X{number}": evidence for number, evidence in enumerate(known * 2)}
    wide = attempt(codes=("NEW", *proofs), id="8" * 32, received=LATER)
    odd = states.ObservedAttempt(replace(LOST, codes=("X0", "NEW")), proofs)
    overdue = replace(FLYING, id="0" * 32, settled_by=NOW)
    held = tuple(states.ObservedAttempt(found, {}) for found in (LOST, SENT_AGAIN, FLYING, overdue))
    live = states.ObservedAttempt(attempt(superseded_by=("b", "a")), proofs, ("c",))
    seen = (states.ObservedAttempt(wide, proofs, ("b", "a")), live, odd)
    doubted = attempt(codes=("A", "B", "C"), cancelled={"B": LATER, "C": AT})
    values: dict[str, Any] = {
        "empty": {}, "seen": {"attempts": seen},
        "undeclared": {"attempts": seen[1:2], "declared": False, "duplicates": (duplicate(),)},
        "twice": {"recorded_twice": (replace(duplicate(), attempts=("a", "b", "c")),)}, "revived": {"revived": (wide,)},
        "awaiting": {"awaiting_removal": (PARTLY, UNDATED, *(replace(GOING, requested=at) for at in ODD))},
        "cancelled": {"cancelled": (doubted,)},
        **{str(found.attempt.status) + found.attempt.id[0]: {"attempts": (found,)} for found in held},
    }  # fmt: skip
    parts = {name: states.TargetStatus(STAGING, **{"attempts": (), **found}) for name, found in values.items()}
    found = {name: states.ProjectStatus(NOW, (part,), plan(unchanged=1)) for name, part in parts.items()}
    found |= {f"{name} plan": states.ProjectStatus(NOW, (parts["unknownc"],), made) for name, made in plans().items()}
    many = tuple(replace(parts["seen"], name=name) for name in plans()["many"].targets)
    for block in (Block.UNRESOLVED, Block.IN_FLIGHT, Block.WAITS):
        blocked = change(Action.BLOCKED, "europe/staging/w", block=block, blocking=(LOST,), reasons=SAID[:1])
        made = plan(change(Action.RETRY, "europe/staging/r", concerns=(SENT_AGAIN.id,)), blocked)
        found[block] = states.ProjectStatus(NOW, (replace(parts["empty"], attempts=held),), made)
    again = plan(change(Action.RETRY, concerns=(LOST.id,)))
    found["again"] = states.ProjectStatus(NOW, (parts["unknownc"],), again)
    return {**found, "many": states.ProjectStatus(NOW, many, plan()), "none": states.ProjectStatus(NOW, (), plan())}


def _findings() -> list[list[found_by.Finding]]:
    """Return findings of `doctor`: failures with one reason, with two and with fewer than failures, and warnings."""
    named = ("one", "here"), ("one", "there"), ("two", "here")
    one, same, other = (
        found_by.Finding("clock", found_by.Health.FAILED, Message(what, what, where)) for what, where in named
    )
    warned = replace(other, health=found_by.Health.WARNING), replace(one, health=found_by.Health.WARNING)
    return [[one], [one, same], [one, other], [one, same, other, *warned], [*warned]]


def _letters() -> dict[str, doc.Document]:
    """Return letters for each purpose about one, about parts, and about several."""
    whole = attempt(fields={"orderId": "o1", "id": 7, "ID": "s8", "identity": "n9"}, date=EARLIER, base_url="HTTP://x")
    values: dict[str, Any] = {"cancelled": {"A": AT, "B": AT}, "date": EARLIER, "id": "6" * 32}
    part, imported = attempt(codes=("A", "B", "C"), requested_codes=("A",), **values), attempt(settled_by=0.0, at=LATER)
    groups = {
        "one": [whole], "part": [part], "parts": [part, part], "some": [imported, part], "lost": [LOST, FLYING],
        "ten": [whole] * 10,
    }  # fmt: skip
    letters = {
        f"{purpose.name} {name}": letter(group, purpose, [imported, whole] if name == "some" else ())
        for purpose, (name, group) in product(Purpose, groups.items())
    }
    return {name: doc.Document("letter", lines[0], body=(doc.Letter("", lines),)) for name, lines in letters.items()}


def _removals() -> dict[str, doc.Document]:
    """Return removal lists with one thing each."""
    whole = states.AwaitingRemoval(GOING, ("ONB10011",), AT, (attempt(),))
    partly = states.AwaitingRemoval(PARTLY, ("B",), EARLIER, (LOST, GOING))
    found: dict[str, Any] = {
        "awaiting": {"awaiting": (whole, partly)}, "restored": {"restored": (GOING,), "unknown": (LOST,)},
        "nothing": {}, "unknown": {"unknown": (FLYING, LOST)}, "superseded": {"unknown": (SENT_AGAIN,)},
        "cancelled": {"cancelled": (PARTLY,)},
    }  # fmt: skip
    reasons = Message("removal-requested", "asked at 8"), SAID[0]
    wanted = change(Action.BLOCKED, reasons=reasons, block=Block.UNRESOLVED, blocking=(FLYING, LOST))
    other = replace(
        wanted, address=Address("europe/staging/more"), reasons=(reasons[1], replace(reasons[0], what="asked at 9"))
    )
    made = plan(
        wanted,
        other,
        surplus=(replace(surplus(), codes=("L", "ONB10011")), surplus(requested=True)),
        duplicates=(duplicate(),),
    )
    return {
        f"{name} {planned is made}": removals_document([states.Removals(STAGING, AT, **values)], planned, NOW)
        for (name, values), planned in product(found.items(), (None, made))
    }


def _parities() -> dict[str, doc.Document]:
    """Return comparisons of one pair that differs, with one thing each, and of many."""
    pair, one, other = (STAGING, PRODUCTION), states.Side(("A",), "u"), states.Side(("B", "C"), "")
    exception = ParityException("europe/*/x", "see 7", PLACE)
    many = tuple(Address(f"europe/staging/{letter}") for letter in "hgfedcba")
    found = {}
    for view, (a, b) in product(states.View, ((one, other), (one, None), (None, other))):
        difference = states.Difference("x", view, a, b, {"B": "", "A": AT})
        found[f"{view} {a is None} {b is None}"] = states.Parity(*pair, (difference, difference))
    found["same"] = states.Parity(*pair, (), ((states.Difference("x", states.View.GATE, one, None), exception),) * 2)
    found["waiting"] = states.Parity(*pair, (), (), (), many, many[:6])
    pairs = {name: states.Pairs((parity,)) for name, parity in found.items()}
    pairs["several"] = states.Pairs(tuple(found.values())[-3:])
    pairs["unpaired"] = states.Pairs((found["same"],), (states.Unpaired(PRODUCTION, STAGING, matters=False),))
    pairs["foreign"] = states.Pairs((found["same"],), foreign=(FOREIGN,))
    return {name: parity_document(compared) for name, compared in pairs.items()}


def everything() -> doc.Document:
    """Return a document with each block in each of its forms; its texts are of the kind that no format may obey."""
    a, b, c, d, e = (f"::{letter}\u202e ##[{letter}] <b>`*|\x1b {letter * 30}-{letter * 9}" for letter in "abcde")
    run = doc.Todo(a, (("reconciler", b), ("git", c)))
    todos = run, doc.Todo(f"Save\n{d}\n  {e}"), doc.Todo(b), doc.Todo("", (("reconciler", "```", e),))
    fields = doc.Field("gone", b), doc.Field("new", "", c), doc.Field("other", d, e)
    notes = doc.Paragraph(a, doc.Tone.FAINT), doc.Paragraph(b, doc.Tone.WARNING)
    changed = doc.Changed("±", c, "replace", doc.Tone.CHANGED, fields, notes, todos)
    removed = doc.Changed("-", e, "remove", doc.Tone.REMOVED, (), notes[:1])
    table = doc.Table(("", "one", "two"), (("1", c, d), (e, "", a)), (doc.Tone.ERROR, doc.Tone.PLAIN))
    bare = replace(table, tones=(), rows=(("1", "2", "3"),))
    alerts = (
        doc.Alert(doc.Tone.ERROR, "Error", a, (), todos), doc.Alert(doc.Tone.WARNING, "Warning", b, (c,)), notes[1],
        doc.Alert(doc.Tone.PLAIN, "Note", d, (e, a), (run,)),
    )  # fmt: skip
    body = (
        doc.Heading(a), doc.Heading(c, doc.Tone.ERROR), *notes, changed, removed, doc.Heading(d), removed, *notes,
        table, bare, notes[0], doc.Letter(e, (a, "", f"  {b}")), doc.Paragraph("2. b"), doc.Details(c, (bare,)), bare,
    )  # fmt: skip
    folded = (
        doc.Details(d, (bare, doc.Facts(((a, b), ("c", d))), doc.Commands(todos))),
        doc.Details(e, (changed, table)),
    )
    summary, facts = (doc.Facts(((d, e),)), doc.Paragraph(c)), ((a, b), ("1) x", c))
    return doc.Document("plan", f"{a} {b}", doc.Tone.ERROR, facts, alerts, body, summary, doc.Commands((run,)), folded)


def variants() -> dict[str, doc.Document]:
    """Return all these reports by name."""
    names = "europe/t00/sold", "europe/t01/offers", OFFERS
    wanted = [Subscription(Address(name), ("B", "A"), URL, URL, PLACE) for name in names]
    gone = attempt(status=Status.GONE, superseded_by=("b", "c"), at=LATER, requested=AT, requested_codes=("A",))
    gone = replace(gone, exists=Said(AT, {}))
    said = replace(gone, removed=Said(LATER, {}), detail="x", fields={"b": 1, "a": 2})
    named = replace(SAID[2], what="see 1", where="")
    records = [said, gone, FLYING, SENT_AGAIN, GOING, attempt(http_status=201)]
    return {
        **{f"plan: {name}": plan_document(made, SAID[:1], "", wanted) for name, made in plans().items()},
        **{f"apply: {name}": apply_document(made) for name, made in applies().items()},
        **{f"status: {name}": status_document(made) for name, made in statuses().items()}, **_letters(),
        **{f"removals: {name}": made for name, made in _removals().items()}, **_parities(),
        **{f"doctor {number}": doctor_document(findings) for number, findings in enumerate(_findings())},
        "plan elsewhere": plan_document(plans()["removal"], (), "", wanted[:1]),
        "warnings": doc.messages_document(SAID, "Warning"),
        "records": record_document(records, [], whole=False), "facts": record_document(records, [], whole=True),
        "no records": record_document([], [], whole=False), "no history": history_document([]),
        "valid": validation_document([], [], 2), "warned": validation_document([], [*SAID[:2], named], 2),
        "cut": validation_document(SAID[:1], SAID[1:2], 2, 40), "mistaken": validation_document(SAID[:2], [], 1),
    }  # fmt: skip
