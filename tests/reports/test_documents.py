"""The documents of everything but a plan: what is told first, once, and with the commands to run."""

from __future__ import annotations

from itertools import combinations

import pytest
from support.kinds import of_kind
from support.plan_values import AT, ID, OFFERS, STAGING, attempt, change, plan

from reconciler.errors import Message, Place, ReconcilerError, step
from reconciler.model import status as states
from reconciler.model.address import Address, TargetName
from reconciler.model.outcome import Outcome
from reconciler.model.plan import Action, Applied, Block, Done, Finding, Health, Result, Verdict
from reconciler.model.record import Status
from reconciler.reports import terminal
from reconciler.reports.apply import apply_document
from reconciler.reports.differences import differences
from reconciler.reports.doctor import doctor_document
from reconciler.reports.document import Alert, Table, Tone, sentence
from reconciler.reports.letters import Purpose, letter
from reconciler.reports.plan import plan_document
from reconciler.reports.removals import removals_document
from reconciler.reports.status import status_document

PRODUCTION = TargetName("europe/production")
NOW = 1_793_527_200.0  # 2026-11-01T10:00:00Z
UNKNOWN = attempt(id="c" * 32, status=Status.UNKNOWN, outcome=Outcome.UNKNOWN)


def result(outcome: Done, address: str = OFFERS, **values: object) -> Result:
    """Return what became of a create."""
    return Result(Address(address), Action.CREATE, outcome, **values)  # type: ignore[arg-type]


def status_of(*attempts: states.ObservedAttempt, **values: object) -> states.ProjectStatus:
    """Return the status of `europe/staging`."""
    made = values.pop("plan", plan(unchanged=len(attempts)))
    return states.ProjectStatus(NOW, (states.TargetStatus(STAGING, attempts, **values),), made)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("outcomes", "signal", "title"),
    [
        ((Done.UNKNOWN, Done.CREATED), None, "1 outcome unknown (exit 3). Applied: 1 created."),
        ((Done.UNKNOWN,), 2, "1 outcome unknown. Interrupted."),
        ((Done.UNKNOWN, Done.CREATED), 15, "1 outcome unknown. Interrupted: 1 created."),
        ((Done.CREATED,), 15, "1 outcome unknown. Interrupted: 1 created."),
        ((Done.CREATED,), None, "1 outcome unknown (exit 3). Applied: 1 created."),
    ],
)
def test_what_is_unknown_comes_first(outcomes: tuple[Done, ...], signal: int | None, title: str) -> None:
    """It needs a person. The code is that of the process, so a signal's is not named as 3."""
    applied = Applied(tuple(map(result, outcomes)), Verdict.UNRESOLVED, unresolved=(UNKNOWN,), signal=signal)
    assert title == apply_document(applied).title


def test_what_another_run_did_is_no_error() -> None:
    """It is counted as done, in the table too, and nothing is left to look at."""
    skipped = result(Done.SKIPPED, detail="already done by another run")
    document = apply_document(Applied((skipped,), Verdict.DONE, left=plan(unchanged=1)))
    assert (document.title, document.alerts) == ("Applied: 1 already done by another run.", ())
    table = of_kind(Table, *document.body)
    assert ("already done by another run", (Tone.PLAIN,)) == (table.rows[0][2], table.tones)
    assert "reconciler plan" not in terminal.render(document)


def test_what_waits_for_a_removal_is_no_error() -> None:
    """Neither is what depends on that; behind a closed gate, it is one. Either way, a plan shows what is left."""
    for block, label, tone in (
        (Block.WAITS, "Blocked", Tone.PLAIN), (Block.DEPENDS, "Error", Tone.ERROR), (Block.GATE, "Error", Tone.ERROR)
    ):  # fmt: skip
        waits = change(Action.BLOCKED, block=block, reasons=(Message("waits", "waiting for its removal"),))
        skipped = Result(waits.address, Action.BLOCKED, Done.SKIPPED, detail="waiting for its removal")
        document = apply_document(Applied((skipped,), Verdict.DONE, left=plan(waits)))
        alert, table = of_kind(Alert, *document.alerts), of_kind(Table, *document.body)
        assert (alert.label, table.tones) == (label, (tone,))
        assert "reconciler plan" in terminal.render(document)


def test_a_blocked_create_is_told_with_its_way_on() -> None:
    """The reason of the plan has the steps; of what is unresolved, they are told once."""
    reason = Message("in-flight", "its call may be in flight", steps=(step("run", "reconciler", "state", "resolve"),))
    blocked = change(Action.BLOCKED, block=Block.IN_FLIGHT, reasons=(reason,))
    skipped = Result(blocked.address, Action.BLOCKED, Done.SKIPPED, detail=reason.what)
    alert = of_kind(Alert, *apply_document(Applied((skipped,), Verdict.FAILED, left=plan(blocked))).alerts)
    assert [todo.commands for todo in alert.todos] == [(("reconciler", "state", "resolve"),)]
    document = apply_document(Applied((skipped,), Verdict.UNRESOLVED, unresolved=(UNKNOWN,), left=plan(blocked)))
    alert = of_kind(Alert, *document.alerts)
    assert alert.what.endswith("outcome unknown; do not create it by other means; check with the operator")


@pytest.mark.parametrize("is_first", [True, False])
def test_each_blocked_create_is_told_with_its_own_way_on(is_first: bool) -> None:
    """Of several with one reason, and of several reasons of one, no command is missing, and none is another's."""
    ids = {f"europe/staging/{name}": name * 32 for name in "ab"}
    other = Message("other", "blocked otherwise", steps=(step("run", "reconciler", "other"),))
    blocked = []
    for address, id_ in ids.items():
        settle = step("run", "reconciler", "state", "resolve", address, "--created", "--attempt", id_)
        why = Message("in-flight", "its call may be in flight", steps=(settle,))
        reasons = (why, other) if is_first else (other, why)
        blocked.append(change(Action.BLOCKED, address, block=Block.IN_FLIGHT, reasons=reasons))
    skipped = [Result(row.address, Action.BLOCKED, Done.SKIPPED, detail="its call may be in flight") for row in blocked]
    for results in (skipped, skipped[:1], skipped[1:]):
        alert = of_kind(Alert, *apply_document(Applied(tuple(results), Verdict.FAILED, left=plan(*blocked))).alerts)
        told = [(command[3], command[-1]) for todo in alert.todos for command in todo.commands]
        assert [(address, ids[address]) for address in alert.where] == told
        assert alert.where == tuple(str(result.address) for result in results)


def test_results_in_a_recovery_file_are_recovered_first() -> None:
    """The file is named once, and no command that settles the outcome otherwise."""
    lacking = Message("not-recovered", "they are in f", "record", (step("add them", "reconciler", "state", "recover"),))
    reasons = Message("u", "unknown"), Message("w", "it waits")
    blocked = change(Action.BLOCKED, block=Block.UNRESOLVED, blocking=(UNKNOWN,), reasons=reasons)
    left = plan(blocked, gates=(lacking,))
    for document in (
        status_document(status_of(states.ObservedAttempt(UNKNOWN, {}), plan=left)),
        apply_document(Applied((), Verdict.UNRESOLVED, unresolved=(UNKNOWN,), left=left, messages=(lacking,))),
        plan_document(left),
    ):
        text = terminal.render(document)
        assert (1, 0) == (text.count("state recover"), text.count("state resolve"))


def test_a_removal_list_says_what_to_run_then() -> None:
    """Only the codes that are to be removed are confirmed, and what stays beside is named."""
    staying = attempt(id="d" * 32, fields={"subscriptionId": "s1"})
    partial = attempt(codes=("A", "B"), requested_codes=("A",))
    awaiting = states.AwaitingRemoval(partial, ("A",), AT, (staying,))
    rest = states.AwaitingRemoval(attempt(codes=("B",), removed_codes=("A",), id="e" * 32), ("B",), AT)
    document = removals_document([states.Removals(STAGING, AT, (awaiting, rest))])
    text = terminal.render(document)
    assert f"reconciler removal confirm {OFFERS} --attempt {ID} --code A" in text
    assert f"reconciler removal confirm {OFFERS} --attempt {rest.attempt.id} --code B" in text
    assert f"our reference {staying.id}, subscriptionId s1, " in text
    assert document.title == "2 removals awaited."


def test_removals_are_confirmed_together_where_one_command_can_name_them() -> None:
    """One command is for all whole attempts, and one for each set of codes."""
    ids = [letter * 32 for letter in "abcde"]
    codes = (("A",), ("A", "B"), ("B",), ("A",), ("A", "B"))
    pairs = zip(ids, codes, strict=True)
    attempts = [attempt(f"europe/staging/{id_[0]}", ("A", "B"), id=id_, requested_codes=asked) for id_, asked in pairs]
    awaiting = tuple(states.AwaitingRemoval(held, held.requested_codes, AT) for held in attempts)
    text = terminal.render(removals_document([states.Removals(STAGING, AT, awaiting)]))
    assert [
        f"reconciler removal confirm 'europe/staging/*' --attempt {ids[0]} --attempt {ids[3]} --code A",
        f"reconciler removal confirm 'europe/staging/*' --attempt {ids[1]} --attempt {ids[4]}",
        f"reconciler removal confirm europe/staging/c --attempt {ids[2]} --code B",
    ] == [line.strip() for line in text.splitlines() if "removal confirm" in line]


@pytest.mark.parametrize(
    ("where", "place", "text"),
    [
        ("", None, "w; do it: run a b; c; d"), ("here", None, "here: w; do it: run a b; c; d"),
        ("here", Place("f", 1, 2), "f:1:2: w; do it: run a b; c; d"),
    ],
)  # fmt: skip
def test_an_error_is_one_line_where_nothing_renders_it(where: str, place: Place | None, text: str) -> None:
    """With its position if it has one, else its place; several are several lines."""
    message = Message("m", "w", where, (step("do it: run", "a", "b"), step("c"), step("", "d")), place)
    assert (text, f"{text}\n{text}") == (str(message), str(ReconcilerError(message, message)))


@pytest.mark.parametrize("healths", [found for count in range(5) for found in combinations(Health, count)])
def test_doctor_tells_all_that_is_not_fine(healths: tuple[Health, ...]) -> None:
    """Failures first, then warnings, though there are failures; the rest is folded, and the title counts each."""
    findings = [Finding("clock", health, Message(f"of-{health}", "what", f"at-{health}")) for health in healths]
    document = doctor_document(findings)
    shown = [("at-failed",)] * (Health.FAILED in healths) + [("at-warning",)] * (Health.WARNING in healths)
    assert shown == [block.where for block in document.body if isinstance(block, Alert)]
    assert document.title.count("1 ") == len(healths)
    assert ("-v" in document.title) is (Health.SKIPPED in healths)
    text = terminal.render(document, terminal.Layout(verbose=True))
    assert [True] * len(healths) == [f"at-{health}" in text for health in healths]
    worst = min(healths, key=[Health.FAILED, Health.WARNING, Health.OK, Health.SKIPPED].index, default=Health.OK)
    assert {Health.FAILED: Tone.ERROR, Health.WARNING: Tone.WARNING}.get(worst, Tone.ADDED) is document.tone


def test_a_message_is_one_sentence_for_logs() -> None:
    """Its commands have the global flags in use."""
    message = Message("m", "not found", "config", (step("run", "reconciler", "init"), step("or look")))
    assert sentence(message, ("--config", "x y")) == "config: not found; run reconciler --config 'x y' init; or look"


def test_equal_sides_do_not_differ() -> None:
    """And nothing is imported for them."""
    assert differences({"a": {"x"}}, {"a": {"x"}}) == ()


def test_any_texts_can_differ() -> None:
    """Also those that cannot be encoded."""
    found = differences({"a": {"\ud800"}}, {"a": {"b"}})
    assert [("", "b"), ("\ud800", "")] == [(field.before, field.after) for field in found]


@pytest.mark.parametrize(
    ("status", "said"), [(Status.LIVE, "created between"), (Status.UNKNOWN, "if it exists, it was created between")]
)
def test_a_letter_doubts_only_what_is_unknown(status: Status, said: str) -> None:
    """After a lost answer a notification may have proven it: its time is not known exactly, its existence is."""
    lines = letter([attempt(status=status, outcome=Outcome.UNKNOWN, settled_by=NOW)], Purpose.DELETE)
    assert [line for line in lines if line.startswith(said)]
