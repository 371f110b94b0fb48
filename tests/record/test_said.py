"""What each statement comes to in each state of a record, in whole and without prose, as `said.txt` has it.

`PYTHONPATH=tests python -m record.test_said` writes it anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import count, product
from pathlib import Path
from typing import Any, get_args

from msgspec import Struct, structs
from support.command_line import commands_in
from support.memory_project import NOW, created, desired_of, unknown, what
from support.memory_record import MemoryNotes, MemoryStore
from support.records import linked, time_of

from reconciler.errors import Message, ReconcilerError, step
from reconciler.model.outcome import Outcome
from reconciler.model.record import Attempt, Record
from reconciler.record import facts as kinds
from reconciler.record import statements as say
from reconciler.record.chain import Line
from reconciler.record.descriptions import describe, subjects
from reconciler.record.facts import AnyFact
from reconciler.record.fold import fold
from reconciler.record.gates import Note, Obstacle, Standing, obstacle_messages, settling
from reconciler.record.journal import Journal
from reconciler.record.statement_rows import digest_of, propose

SAID = Path(__file__).with_name("said.txt")
AT, BY = time_of(NOW), {"user": "ada"}
EU, USA = "eu/x", "us/x"
OFFERS, LOANS = f"{EU}/offers", f"{EU}/loans"
A, B, C, D, E = (letter * 32 for letter in "abcde")
SHARED, LOUD, OLD = "https://h.example/o", "https://H.example/o", "https://h.example/old"
OWN = "https://h.example/{attempt}?q"
HOME, NEW, ABROAD = "https://b.example", "https://a.example", "https://us.example"
ONE, TWO, THREE = "ONB10001", "ONB10002", "ONB10003"


def own(attempt: str) -> dict[str, Any]:
    """Return the URL of a create that has one of its own."""
    return {"url": OWN.replace("{attempt}", attempt), "template": OWN}


def made(
    attempt: str, address: str = OFFERS, *codes: str, base_url: str = HOME, lost: bool = False, **rest: Any
) -> list[AnyFact]:
    """Return the facts of a create, by default of the shared URL."""
    facts = unknown if lost else created
    return facts(attempt, address, *codes, base_url=base_url, **{"url": SHARED, **rest})


def lines_of(facts: Sequence[AnyFact]) -> tuple[Line, ...]:
    """Return a record that says these facts."""
    return linked(None, 0, [kinds.Begun(at=time_of(NOW - 9999), by=BY, record=C), *facts])[1]


def heard(url: str, code: str, first: float, last: float, base_url: str = HOME) -> kinds.Received:
    """Return what was received at a URL in that many seconds from now."""
    times = time_of(NOW + first), time_of(NOW + last)
    return kinds.Received(at=AT, base_url=base_url, url=url, code=code, first=times[0], last=times[1])


def loss(name: str, cause: Any = "accepted", at: float = -999.0, **rest: Any) -> kinds.LossOpened:
    """Return a loss that was opened then."""
    return kinds.LossOpened(at=time_of(NOW + at), loss=name, cause=cause, by=BY, **rest)


def ask(*codes: str, at: float = -90, attempt: str = A, by_plan: bool = False) -> kinds.RemovalRequested:
    """Return a request for a removal."""
    return kinds.RemovalRequested(at=time_of(NOW + at), attempt=attempt, codes=codes, by_plan=by_plan)


def gone(*codes: str, at: float = -80, attempt: str = A) -> kinds.RemovalConfirmed:
    """Return a confirmed removal."""
    return kinds.RemovalConfirmed(at=time_of(NOW + at), attempt=attempt, codes=codes)


absent = partial(kinds.Absent, at=time_of(NOW - 70), by=BY)
exists = partial(kinds.Exists, at=time_of(NOW - 60), by=BY)
bound = partial(kinds.Rebound, at=AT, target=EU, base_url=NEW, account="sha256:two")
CLOSED = kinds.Closed(at=AT, to="memory:b", loss="1c")
moved = partial(kinds.Renamed, at=AT)
RIVALS = [moved(attempts=(A,), to=to) for to in (f"{EU}/y", f"{EU}/w")]
HELD = [*made(A, OFFERS, ONE, TWO), *made(B, LOANS, ONE, TWO, **own(B))]
BACK = [*made(A, OFFERS, ONE, TWO, THREE, **own(A)), gone(ONE, TWO)]
ASKED = [*BACK[:2], ask(ONE, THREE), ask(ONE, at=-85)]
CANCEL = kinds.RemovalCancelled(at=time_of(NOW - 84), attempt=A, requests=tuple(x.id for x in lines_of(ASKED)[-2:]))
LOST = [*made(A, lost=True), *made(B, LOANS, ONE, **own(B), lost=True, settled_by=NOW + 50),
        *made(C, OFFERS, TWO, lost=True)]  # fmt: skip
REMOVED = [*made(A, OFFERS, ONE, TWO, at=NOW - 2000), gone(ONE, TWO)]
RETRIED = [*made(A, lost=True), *made(B, supersedes=(A,), lost=True)]
COPIED: list[AnyFact] = [loss("1c", "copy", of="memory:z"), loss("2o"), loss("3b", "begun"), loss("4l", at=-5)]
ANSWER = {"response": "sealed", "date": "today", "detail": "late", "status": 201, "fields": {"id": 7}}
HISTORIES: dict[str, list[AnyFact]] = {
    "nothing": [], "held": HELD, "one": HELD[:2], "lost": LOST, "retried": RETRIED, "removed": REMOVED,
    "removed beside": [*REMOVED, *made(B), *made(C, OFFERS, TWO, url=LOUD), *made(D, url=OLD), gone(ONE, attempt=D)],
    "one asked": [*HELD, ask(ONE, TWO, attempt=B)], "part": [*HELD, gone(ONE)],
    "removed later": [*made(A, at=NOW - 2000), *made(B, OFFERS, TWO), gone(TWO, attempt=B)],
    "asked": [*HELD, ask(ONE), ask(TWO, at=-85), ask(ONE, TWO, attempt=B, by_plan=True)],
    "not created": [*LOST, absent(attempt=B), absent(attempt=C, note="asked"), absent(attempt=C, at=time_of(NOW - 75))],
    "elsewhere": made(A, f"{EU}/before", ONE), "begun": COPIED[1:3], "in parts": [*REMOVED[:2], gone(ONE), gone(TWO)],
    "done": [*COPIED[1:3], *(kinds.Completed(at=time_of(NOW - ago), losses=("2o", "3b"), by=BY) for ago in (9, 5))],
    "out of order": [*HELD, ask(ONE, at=-70), gone(ONE, at=-60), gone(ONE, at=-80)],
    "half elsewhere": [*made(A, OFFERS, ONE), *made(B, f"{EU}/before", TWO)],
    "rivals": [*HELD, *RIVALS], "rival": [*HELD[:2], *RIVALS],
    "rivals too": [*HELD[:2], *RIVALS, *made(C, f"{EU}/w", TWO)], "moved": [*HELD[:2], moved(attempts=(A,), to=LOANS)],
    "moved both": [*made(A, f"{EU}/y"), *made(B, f"{EU}/w", TWO), *(moved(attempts=(a,), to=OFFERS) for a in (A, B))],
    "moved beside": [*HELD[:2], moved(attempts=(A,), to=LOANS), *made(C, OFFERS)],
    "renamed": [*HELD, *RIVALS, moved(attempts=(A, B), to=f"{EU}/z", replaces=(lines_of([*HELD, *RIVALS])[-1].id,)),
                moved(attempts=(C,), to=LOANS)],
    "spelt": [*made(A, OFFERS, ONE, url=LOUD), gone(ONE), *made(B, OFFERS, ONE, TWO)],
    "spelt, gone": [*made(A, OFFERS, ONE, url=own(A)["url"].replace("h.", "H."), template=OWN), gone(ONE)],
    "abroad": [*HELD[:2], *made(C, f"{USA}/x", base_url=ABROAD)], "at home": [*HELD[:2], *made(C, f"{USA}/x")],
    "far": [*made(B, "z/z/z", base_url=ABROAD), *made(C, "a/a/a", base_url=ABROAD), *made(A, base_url=ABROAD)],
    "near": [*made(B, "z/z/z"), *made(C, "a/a/a")], "rebound": [*HELD, bound()],
    "same": [*made(A, base_url=ABROAD), *made(D, "q/q/q", base_url=ABROAD), bound(target="q/q", base_url=HOME)],
    "chain": [*made(A), bound(base_url=ABROAD), *made(D, "q/q/q", base_url=NEW), bound(target="q/q", base_url=HOME)],
    "many": [*HELD, *(bound(base_url=f"https://{name}.example", account="") for name in "qwert")],
    "account": made(A, account="sha256:one"), "heard": [*LOST, heard(own(B)["url"], ONE, -50, -40)],
    "accounts": [*made(A, account="sha256:one"), *made(B, LOANS, account="sha256:two")],
    "superseded": [*made(A, lost=True), *made(B, url=OLD, supersedes=(A,))],
    "beside": [*LOST, kinds.SecretSet(at=AT, attempt=C, secret="sealed"), *made(D, OFFERS, ONE, url=LOUD),
               *made("f" * 32, LOANS, ONE, **own("f" * 32))],
    "two places": [*made(A, url=OLD, at=NOW - 2000), *made(B, OFFERS, TWO, url=f"{OLD}er")],
    "losses": COPIED, "two": [loss("2b"), loss("1a", at=-900)], "late": COPIED[3:], "incomplete": [*HELD, COPIED[1]],
    "both": [*HELD, COPIED[1], bound()], "two services": [*made(A), *made(B, base_url=ABROAD)],
    "copying": [loss("1c", "copy", -5, of="memory:z")], "all": [*COPIED[1:], *LOST, *RETRIED], "closed": [CLOSED],
    "ended": [*COPIED[:3], kinds.Completed(at=AT, losses=("2o", "3b"), by=BY)],
    "reopened": [CLOSED, loss("3t", heads=("e" * 64,))], "copies": [loss("9c", "copy", of="memory:y"), *COPIED],
    "copied": [CLOSED, *COPIED[:2], kinds.Completed(at=AT, losses=("1c",))],
    "two copies": [CLOSED, loss("1c", "copy", of="memory:z")],
    "merged": [CLOSED, structs.replace(CLOSED, to="memory:q", origin="2" * 64), loss("4x", origin="1" * 64),
               kinds.Joined(at=AT, heads=("9" * 64,))],
    "outcomes": [structs.replace(made(outcome.value)[1], outcome=outcome) for outcome in Outcome],
    "spans": [*made(A, OFFERS, ONE, TWO, url=LOUD, lost=True), *made(B), *made(C, OFFERS, TWO, lost=True), bound(),
              heard(SHARED, ONE, -3000, -5), heard(SHARED, ONE, -2500, -50), heard(LOUD, TWO, -50, -40)],
    "revived": [*BACK, heard(own(A)["url"], TWO, -50, -30), gone(TWO, at=-10)],
    "removed again": [*BACK[:2], gone(TWO), heard(own(A)["url"], TWO, -50, -30), gone(TWO, at=-10)],
    "back": [*BACK, ask(ONE, TWO), heard(own(A)["url"], TWO, -50, -30)],
    "other code": [*BACK, heard(own(A)["url"], "LOA10013", -50, -30), heard(own(A)["url"], ONE, -90, -79)],
    "own code": [*BACK, heard(own(A)["url"], THREE, -50, -30), heard(own(A)["url"], THREE, -95, -85)],
    "asked again": [*BACK, ask(ONE, THREE, at=-20), ask(TWO, at=-15, by_plan=True)],
    "asked after all": [*ASKED, CANCEL, ask(ONE, at=-20)],
    "needless": [*made(A), *made(B, supersedes=(A,), lost=True)],
    "needless if it stays": [*made(A), ask(ONE), *made(B, supersedes=(A,), lost=True)],
    "needless if it exists": [*made(A), made(B, supersedes=(A,), lost=True)[0]],
    "partly": [*made(A), *made(B, OFFERS, ONE, TWO, supersedes=(A,), lost=True)],
    "cancelled": [*ASKED, CANCEL], "cancelled, removed": [*ASKED, CANCEL, BACK[2], heard(own(A)["url"], ONE, -30, -20)],
    "disproved": [*REMOVED, *(
        exists(attempt=A, what=what(OFFERS, ONE, TWO, base_url=HOME), note="seen", beside=(B,), disproves=ids)
        for ids in ((lines_of(REMOVED)[-1].id,), ()))],
    "twice": [*HELD, exists(attempt=C, what=what(LOANS, ONE, url=LOUD, settled_by=0.0, base_url=HOME)),
              *made(D)],
    "twin": [*made(A, OFFERS, ONE, TWO), ask(TWO),
             exists(attempt=C, what=what(LOANS, ONE, TWO, url=LOUD, settled_by=0.0, base_url=HOME))],
    "asked by both": [*made(A, OFFERS, ONE, TWO), ask(ONE), gone(ONE), ask(TWO, at=-75, by_plan=True)],
    "resolved": [LOST[2], exists(attempt=B, what=what(LOANS, ONE, base_url=HOME, **own(B)))],
    "imported": [exists(attempt=C, what=what(LOANS, settled_by=0.0, base_url=HOME))],
    "pending": [*LOST[::2], *made(D, LOANS, **own(D), supersedes=(B,))],
    "answered": [*(structs.replace(fact, **ANSWER) for fact in made(D, account="sha256:one")[1:] * 2),
                 *(kinds.SecretSet(at=AT, attempt=D, secret=name) for name in ("b", "a", "b"))],
    "answers": [made(A)[1], *(structs.replace(made(A)[1], response=of, outcome=Outcome.UNKNOWN, fields={"id": of})
                              for of in "ba")],
    "heard, spelt": [made(A, url=LOUD + A, template=f"{LOUD}{{attempt}}")[0],
                     *(heard(url + A, ONE, -50, at) for url, at in ((SHARED, -40), (LOUD, -30)))],
    "cycle": [*made(A, supersedes=(B,), lost=True), *made(B, supersedes=(A,), lost=True), absent(attempt=A),
              absent(attempt=B)],
    "distant": [*made(A, lost=True), *made(B, supersedes=(A,), lost=True), *made(C, supersedes=(B,), lost=True),
                *made(D, supersedes=(C,), lost=True), *made(E, supersedes=(B,), lost=True),
                *(absent(attempt=attempt) for attempt in (B, C, E))],
    "retries": [*made(B, LOANS, ONE, **own(B), lost=True), *made(A, LOANS, ONE, **own(A), supersedes=(B,), lost=True),
                *made(C, LOANS, ONE, **own(C), supersedes=(A, B), lost=True),
                *made(D, LOANS, ONE, **own(D), supersedes=(C,), lost=True),
                exists(attempt=C, what=what(LOANS, ONE, **own(C), base_url=HOME), beside=(D, A))],
}  # fmt: skip
"""Records by what they are about. Each is told field by field too."""

UNRECOVERED = {C: Message("unrecovered", "found", "recovery.jsonl", (step("run", "reconciler", "state", "verify"),))}
KNOWN = (
    Note(C, (HOME,), "memory:z", 7, "e" * 64), Note(D, (), "memory:a", 3, "d" * 64),
    Note(C, (), "memory:y", 0, "b" * 64, second=True),
)  # fmt: skip
SHUT = Standing("memory:a", (Obstacle.CLOSED, Obstacle.HEADS_MISSING), ("e" * 64,))
LACKS = Standing("memory:a", (Obstacle.HEADS_MISSING,), ("e" * 64, "f" * 64), ("memory:b", "memory:z"))
TARGETS = {EU: HOME, USA: ABROAD}
WANTED = {OFFERS: ((ONE, TWO), SHARED), LOANS: ((ONE, TWO), OWN), f"{EU}/third": ((THREE,), "https://H.example/third")}
NONE = {"record": None}
CONTEXTS: dict[str, dict[str, Any]] = {
    "": {}, "later": {"now": NOW + 60}, "unrecovered yet": {"unrecovered": {B: UNRECOVERED[C]}},
    "unrecovered": {"now": NOW + 60, "unrecovered": UNRECOVERED | {E: UNRECOVERED[C]}},
    "undeclared": {"desired": desired_of(WANTED, {"asia/x": HOME})}, "signs": {"signs": lambda _: (ONE, THREE)},
    "elsewhere": {"desired": desired_of({OFFERS: ((ONE, THREE), "https://h.example/new")}, {EU: NEW, USA: NEW})},
    "spelt": {"desired": desired_of({
        OFFERS: ((ONE, THREE), LOUD), LOANS: ((ONE,), OWN.replace("h.", "H."))}, {EU: "https://B.example/"})},
    "as one": {"accounts": {EU: "sha256:one"}}, "as two": {"accounts": {EU: "sha256:two"}}, "in CI": {"in_ci": True},
    "set back": {"standing": LACKS}, "closed": {"standing": SHUT}, "continues": {"standing": SHUT, "continues": True},
    "other": {"standing": Standing("memory:a", (Obstacle.OTHER_RECORD, Obstacle.HEADS_MISSING)), "expected": B},
    "none": NONE, "none in CI": NONE | {"in_ci": True}, "named": NONE | {"expected": B},
    "aside": NONE | {"desired": desired_of(record=B), "standing": Standing("memory:a", named_by="--state")},
    "known": NONE | {"notes": KNOWN, "in_ci": True, "standing": Standing("memory:a", named_by="--state")},
    "known and named": NONE | {"expected": B, "notes": KNOWN, "second": "c" * 64},
    "second": NONE | {"notes": (structs.replace(KNOWN[0], closed=True), KNOWN[1]), "second": "b" * 64},
    "closed there": NONE | {"notes": (KNOWN[0], structs.replace(KNOWN[1], closed=True))},
}  # fmt: skip

SAY_CREATED = [
    *(say.Resolve(where, said, note="asked")
      for where in ("*/*", OFFERS, LOANS, f"{EU}/ofers", "x") for said in (True, False)),
    *(say.Resolve(OFFERS, said, ids, force=force)
      for said in (True, False) for ids, force in (((A,), False), ((A,), True), ((), True), ((A, C), False))),
    *(say.Resolve(LOANS, said, (B,), force=True) for said in (True, False)), say.Resolve(OFFERS, False, (A, B)),
]  # fmt: skip
IMPORTS = [
    *(say.Import(where) for where in (OFFERS, LOANS, "*/*", f"{EU}/ofers", "x")), say.Import(LOANS, B),
    *(say.Import(OFFERS, attempt, codes=(TWO, ONE, TWO)) for attempt in ("", D)), say.Import("*/*", A),
    say.Import("*/*", "", SHARED), say.Import(LOANS, D), say.Import(LOANS, B, OWN), say.Import(OFFERS, D, SHARED),
    *(say.Import(OFFERS, attempt, SHARED, (THREE, ONE)) for attempt in ("", D)), say.Import("*/*", codes=(ONE,)),
    *(say.Import(where, attempt, OWN.replace("h.", "H.").replace("{attempt}", B), (ONE,))
      for where in (LOANS, f"{EU}/new") for attempt in ("", B, D)), say.Import(LOANS, "B" * 32),
    say.Import(LOANS, url=OWN), say.Import(f"{EU}/new", url=SHARED), say.Import(OFFERS, url=OLD),
    say.Import(f"{USA}/x", "", SHARED, (ONE,)), say.Import(LOANS, "", f"{own(B)['url']}x", (ONE,)),
]  # fmt: skip
REMOVALS = [
    verb(where, *rest)
    for verb in (say.RequestRemoval, say.CancelRemoval, say.ConfirmRemoval)
    for where, *rest in (
        (OFFERS,), (OFFERS, (A,)), (OFFERS, (), (TWO,)), (OFFERS, (A,), (THREE,)), ("*/*", (), (TWO,)), ("*/*", (A, B)),
        ("*/*", (A, B), (ONE, TWO)), ("*/*", (A, C)),
    )
]  # fmt: skip
NAMES = [say.Move(*x) for x in (
    (OFFERS, LOANS), (OFFERS, f"{USA}/x"), (OFFERS, f"{USA}/y"), (OFFERS, OFFERS), (f"{EU}/w", f"{EU}/w"),
    (f"{EU}/w", LOANS), ("*/*", LOANS), (LOANS, "x"))]  # fmt: skip
SECRETS = [say.SetSecret(OFFERS, "sealed", attempt) for attempt in ("", A, C)] + [say.SetSecret("*/*", "sealed")]
RECORD = [say.Begin(), say.Begin(complete=True), say.AcceptLoss(), say.Complete(), say.Complete(("2o", "4l", "1c"))]
SPANS = [
    say.Observe((heard(SHARED, ONE, first, last, "https://B.example/"), heard(LOUD, TWO, -45, -42)), (UNRECOVERED[C],))
    for first, last in ((-48, -45), (-48, -5), (-48, -4), (-4000, -45))
]
RECOVERED = [
    say.Recover(name, lines_of(HISTORIES[name]))
    for name in ("incomplete", "held", "far", "same", "losses", "ended", "done", "copied")
]
LOSSES = ["losses", "two", "late", "incomplete", "both", "copying", "copies", "all", "ended", "rebound"]
CASES: list[tuple[Sequence[Any], Sequence[str], Sequence[str]]] = [
    *((statements, [*HISTORIES], ("",)) for statements in (SAY_CREATED, IMPORTS, REMOVALS, NAMES, SECRETS, RECORD)),
    (SAY_CREATED[:2], ("lost", "answered"), ("later", "unrecovered", "unrecovered yet")),
    (SAY_CREATED, ("lost",), ("signs", "set back")),
    (IMPORTS, ("nothing", "one", "rebound", "abroad"), ("undeclared", "elsewhere", "spelt")),
    (NAMES, [*HISTORIES], ("elsewhere",)), (RECORD, LOSSES, ("unrecovered", "elsewhere", "spelt", "set back")),
    (RECORD, ("nothing",), [*CONTEXTS][-9:]), (RECORD, ("closed",), ("closed", "continues")),
    ([say.Complete(ids) for ids in (("2b", "9x"), ("2b",), ("2o",))], ("two", "ended"), ("",)),
    (IMPORTS[:3], ("two places",), ("spelt",)),
    ([say.Import(f"{EU}/new", "", own(A)["url"], (ONE,))], ("spelt, gone",), ("",)), (SPANS, ("spans", "held"), ("",)),
    ([say.Rebind(name) for name in (EU, "asia/x", "eu/y")], ("held", "account", "rebound", "abroad", "two services",
      "nothing"), ("", "as one", "as two", "in CI", "elsewhere", "undeclared")),
    (RECOVERED, ("nothing", "held", "near", "abroad", "rebound", "losses", "begun", "ended", "two"),
     ("", "set back", "elsewhere")),
    (RECOVERED[:1], ("closed",), ("closed",)),
]  # fmt: skip
"""Statements, the records that each of them is said of, and the contexts in which."""


MESSAGES = {
    "address-in-use", "attempt-ambiguous", "attempt-unknown", "bad-attempt", "beyond-record", "code-unknown",
    "codes-needed", "copy-unfinished", "created-again", "import-one-address", "loss-of-copy", "loss-too-recent",
    "loss-unknown", "nothing-unresolved", "outcome-unknown", "record-lost", "recorded-already", "recorded-as-gone",
    "recorded-as-removed", "recorded-elsewhere", "recorded-otherwise", "recorded-twice", "removal-not-requested",
    "resolve-contradicted", "resolve-disproved", "resolve-too-early", "said-by-complete", "said-by-rebind",
    "secret-lost", "send-request", "target-unbound", "tell-operator", "until-complete", "record-aside",
}  # fmt: skip
"""Messages that only people who say something get."""


def told(messages: Iterable[Message]) -> Iterator[str]:
    """Yield a line for each message: its name, its place, what is no word in it, and the commands."""
    prose = re.compile(r"(?!(?:not|created|removed|several|heads)\b)[`'(]?[A-Za-z]{1,20}['`)]*[,:;.)]?(-[a-z]+,?)?")
    for message in messages:
        commands_in([message])
        texts = [message.what, *(each.text for each in message.steps)]
        data = [" ".join(word for word in text.split() if not prose.fullmatch(word)) for text in texts]
        todo = [f"{text} {' '.join(each.command)}".strip() for text, each in zip(data[1:], message.steps, strict=True)]
        yield f"  {message.name} | {message.where} | {data[0]} | {'; '.join(todo)}"


@cache
def record_of(history: str) -> Record:
    """Return what the facts of a history add up to."""
    return fold(lines_of(HISTORIES[history]))


def outcome(statement: Any, history: str, context: str) -> Iterator[str]:
    """Yield what a statement comes to."""
    numbers = count(1)
    values: dict[str, Any] = {
        "standing": Standing("memory:a"), "desired": desired_of(WANTED, TARGETS), "now": NOW, "by": BY,
        "record": record_of(history), **CONTEXTS[context],
    }  # fmt: skip
    try:
        proposal = propose(statement, say.StatementContext(new_id=lambda: str(next(numbers)).ljust(32, "0"), **values))
    except ReconcilerError as problem:
        yield f"  {type(problem).__name__}"
        yield from told(problem.messages)
    else:
        yield from (f"  {type(fact).__name__} {plain(fact)}" for fact in proposal.facts)
        yield f"  {'weakens' if proposal.weakens else 'fine'} {len(proposal.ids)}"
        yield from told(proposal.shown)


def closed_gates() -> Iterator[tuple[str, Iterable[Message]]]:
    """Yield what is told of a record that may not be gone by, and of an outcome that is not known."""
    records: list[list[AnyFact]] = [[CLOSED], [*COPIED, CLOSED], HISTORIES["two copies"], HISTORIES["copied"]]
    shared = Standing("git+https://git.test/a.git#rec#ords", tuple(Obstacle), LACKS.missing, second_ahead=True)
    for named_by in ("", "--state"):
        for standing in (SHUT, LACKS, structs.replace(LACKS, missing=("e" * 64,)), shared):
            named = structs.replace(standing, named_by=named_by)
            for facts, obstacle in product(records, Obstacle):
                alone = structs.replace(named, obstacles=(obstacle,))
                yield obstacle, obstacle_messages(fold(lines_of([*facts, CLOSED])), alone, NOW, A)
            yield "all", obstacle_messages(fold(lines_of([*COPIED[1:], CLOSED])), named, NOW, A)
            open_ones = structs.replace(named, obstacles=(Obstacle.LOSS_OPEN,))
            yield "open", obstacle_messages(fold(lines_of(COPIED[1:])), open_ones, NOW + 900, A)
    for call, now in product(LOST[::2], (NOW, NOW + 60)):
        (attempt,) = fold(lines_of([call])).attempts.values()
        yield "settling", [Message("unknown", "", attempt.address, settling(attempt, now))]


def missing_records() -> Iterator[tuple[str, Iterable[Message]]]:
    """Yield what is told where there is no record."""
    known = ((), (structs.replace(KNOWN[0], closed=True),), KNOWN, (structs.replace(KNOWN[0], closed=True), KNOWN[1]))
    for expected, second, noted, setting in product(("", B, C), ("", "e" * 64), known, ("", "--state")):
        store, notes = MemoryStore(second=True), MemoryNotes()
        store.second, store.place = second, "memory:a"
        for note in noted:
            notes.write(note)
        journal = Journal(store, notes, frozenset({HOME}), expected, named_by=setting, begins_here=not setting)
        try:
            journal.read()
        except ReconcilerError as problem:
            yield f"{expected} {second} {len(noted)}", problem.messages


def state(facts: Sequence[AnyFact]) -> Iterator[str]:
    """Yield what a record says, in words and field by field, and what follows from it."""
    folded = fold(lines_of(facts))
    yield from (f"  {', '.join(subjects(fact, folded))}: {describe(fact)}" for fact in facts)
    for attempt in folded.attempts.values():
        properties = [name for name, member in vars(Attempt).items() if isinstance(member, property)]
        fields = {**structs.asdict(attempt), **{name: getattr(attempt, name) for name in properties}}
        fields["heard"] = folded.received_by(attempt)
        fields["in flight"] = [attempt.in_flight(attempt.settled_by + more) for more in (-1, 0)]
        yield f"  {plain(fields)}"
    members = ("closed_to", "closed_for", "base_urls", "accounts", "services", "missed", "losses", "received")
    routes = {url: folded.routes_at(folded.service_of(url)) for url in (HOME, NEW)}
    found = {url: {" ".join(at): [a.id[:1] for a in who] for at, who in each.items()} for url, each in routes.items()}
    yield f"  {plain({name: getattr(folded, name) for name in members})}"
    yield f"  {plain(found)} {folded.addresses} {plain(folded.bound_services)}"


def plain(value: Any) -> str:
    """Return a value as text: sets sorted, and fields that are empty left out."""
    if isinstance(value, Struct):
        value = structs.asdict(value)
    if isinstance(value, Mapping):
        said = sorted((plain(name), plain(each)) for name, each in value.items() if each)
        return f"{{{', '.join(map(': '.join, said))}}}"
    if isinstance(value, frozenset):
        value = sorted(value)
    return f"[{' '.join(map(plain, value))}]" if isinstance(value, list | tuple) else str(value)


def shown() -> str:
    """Return all of it. Records in which a statement comes to the same stand together."""
    lines, outcomes = [], dict[str, dict[str, list[str]]]()
    for statements, histories, contexts in CASES:
        for statement, history, context in product(statements, histories, contexts):
            given = [plain(value) for name, value in structs.asdict(statement).items() if value and name != "lines"]
            come = outcomes.setdefault(" ".join(("==", type(statement).__name__, *given)), {})
            come.setdefault("\n".join(outcome(statement, history, context)), []).append(f"{history} {context}".strip())
    for statement, come in outcomes.items():
        lines += [statement, *(f"{', '.join(where)}:\n{text}" for text, where in come.items())]
    for name, messages in (*closed_gates(), *missing_records()):
        lines += [f"== {name}", *told(messages)]
    for name, facts in HISTORIES.items():
        lines += [f"== {name}", *state(facts)]
    return re.sub(r"\b([0-9a-f]{3})([0-9a-f]{29}|[0-9a-f]{61})\b", r"\1…", "\n".join([*lines, ""]))


def test_whatever_is_said_comes_to_this() -> None:
    """Each statement of each record, each closed gate, and each field of what facts add up to."""
    found = shown()
    assert SAID.read_text(encoding="utf-8").splitlines() == found.splitlines()
    assert MESSAGES <= {*re.findall(r"^  ([a-z-]+) \|", found, re.MULTILINE)}
    assert {*get_args(kinds.AnyFact)} == {type(line.fact) for facts in HISTORIES.values() for line in lines_of(facts)}


def test_a_digest_is_of_one_record() -> None:
    """New ids count by their order, wherever they stand; times, authors, sealed secrets and accounts do not count."""
    facts, others = ([exists(attempt=a, what=what(OFFERS, **own(a))) for a in ids] for ids in ((A, B), (D, C)))
    contexts = [
        say.StatementContext(Standing(""), desired_of(), NOW, lambda: A, structs.replace(record_of("one"), id=record))
        for record in ("one", "two")
    ]
    assert 2 == len({propose(say.RequestRemoval(OFFERS), context).digest for context in contexts})
    assert (D, A) == propose(say.Begin(), structs.replace(contexts[0], record=None), (D,)).ids
    given = [("one", (A, B)), ("two", (A, B)), ("one", ()), ("one", (B, A)), ("one", (A,))]
    assert len(given) == len({digest_of(record, facts, drawn) for record, drawn in given})
    assert digest_of("one", facts, (A, B)) == digest_of("one", others, (D, C))
    assert digest_of("one", facts, ()) != digest_of("one", others, ())
    for fact, rest in (
        (facts[0], {"at": "", "by": {}}), (bound(), {"account": ""}),
        (kinds.SecretSet(at=AT, attempt=A, secret="sealed"), {"secret": "sealed otherwise"}),
    ):  # fmt: skip
        assert digest_of("one", [fact], ()) == digest_of("one", [structs.replace(fact, **rest)], ())


if __name__ == "__main__":
    SAID.write_text(shown(), encoding="utf-8")
