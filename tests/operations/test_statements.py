"""What people say about the record: what each statement selects, refuses and appends, and when it weakens a gate."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.command_line import commands_in
from support.memory_project import API, EU, NOW, URL, MemoryProject, created, desired_of, project_with, unknown
from support.memory_record import DOWN, MOVED, RECORD, MemoryStore, record_of
from support.records import time_of
from support.refusals import raised

from reconciler.errors import (
    HeadMoved,
    Message,
    ReconcilerError,
    RecordMissing,
    Refused,
    SelectionError,
    SettingsError,
    StoreUnavailable,
)
from reconciler.model.record import Status
from reconciler.operations.project import Flags
from reconciler.operations.statements import CONFLICTS, append, prepare, refuse_unexpected
from reconciler.planning.duplicates import find_duplicates
from reconciler.record import statements as said
from reconciler.record.facts import AnyFact, Begun, Closed, Completed, Exists, LossOpened, Rebound, Received
from reconciler.record.gates import Note
from reconciler.record.statements import Statement

OFFERS, LOANS = f"{EU}/offers", f"{EU}/loans"
OWN = "https://hooks.example/{attempt}"


def refusal(project: MemoryProject, statement: Statement, kind: type[ReconcilerError] = Refused) -> list[str]:
    """Return the names of the messages that a statement is refused with; nothing was appended."""
    before = project.stores["memory:a"].data
    with pytest.raises(kind) as caught:
        project.say(statement)
    assert before == project.stores["memory:a"].data
    commands_in(caught.value.messages)
    return [message.name for message in caught.value.messages]


def steps(project: MemoryProject, statement: Statement) -> list[str]:
    """Return the commands that a refusal names."""
    with pytest.raises(Refused) as caught:
        prepare(project, statement)
    return commands_in(caught.value.messages)


def status(project: MemoryProject, attempt: str) -> Status:
    """Return the status of an attempt."""
    return project.record_at().attempts[attempt].status


# Unknown outcomes are settled.


def test_signs_need_force() -> None:
    """Notifications at its URL that nothing else explains are mere signs: --force overrules them."""
    now, url = time_of(NOW), URL.format("offers")
    heard = Received(at=now, base_url=API, url=url, code="ONB10001", first=now, last=now)
    project = project_with(*unknown("a", OFFERS), heard)
    assert refusal(project, said.Resolve(OFFERS, created=False)) == ["resolve-against-signs"]
    project.say(said.Resolve(OFFERS, created=False, attempts=("a",), force=True))
    assert status(project, "a") is Status.GONE


# What was created by other means is recorded.


def test_unknown_create_may_be_what_was_imported() -> None:
    """A history that was merged brings a create which may be the import, and makes no second one; an id does."""
    project = project_with(desired=desired_of({OFFERS: (("ONB10001",), URL.format("offers"))}))
    project.say(said.Import(OFFERS))
    project.add(*unknown("a", OFFERS))
    project.say(said.Resolve(OFFERS, created=True, attempts=("a",)))
    found = find_duplicates(project.record_at())
    assert (found.delivered, len(found.recorded)) == ((), 1)
    project.say(said.Import(OFFERS, attempt="f" * 32))
    assert 1 == len(find_duplicates(project.record_at()).delivered)


def test_what_replaced_an_import_removed_by_mistake_is_another() -> None:
    """The import and what was created in its place deliver twice: neither may be the other."""
    project = project_with(desired=desired_of({OFFERS: (("ONB10001",), URL.format("offers"))}))
    project.say(said.Import(OFFERS))
    (held,) = project.record_at().attempts
    project.say(said.ConfirmRemoval(OFFERS, attempts=(held,)))
    project.add(*created("a", OFFERS))
    shown = commands_in(prepare(project, said.Import(OFFERS)).shown)
    assert shown[0].endswith(f"--created --attempt {held} --force")
    project.say(said.Resolve(OFFERS, created=True, attempts=(held,), force=True))
    assert len(find_duplicates(project.record_at()).delivered) == 1


def test_values_are_checked_as_in_config() -> None:
    """A URL or a code that config/ would not take is not recorded either; nor is a template."""
    project = project_with()
    bad = said.Import(OFFERS, url="http://hooks.example/x", codes=("onb1",))
    assert refusal(project, bad, SettingsError) == ["url-http", "bad-code"]
    assert refusal(project, said.Import(OFFERS, url=OWN, codes=("ONB10001",))) == ["attempt-needed"]


@pytest.mark.parametrize("code", ["ONB10001", "LOA99999"])
@pytest.mark.parametrize("form", [
    "{},ONB10011", "{}1", "{} ", "{}\n", " {}", "A{}", "{}-", "{0}{0}", "", "ONB1000", "onb10001",
    "ONB\uff11\uff10\uff10\uff10\uff11",
])  # fmt: skip
def test_a_code_is_taken_whole(form: str, code: str) -> None:
    """More or less than one code is none, in whatever place among those given."""
    project = project_with()
    for codes, url in (((form.format(code),), ""), ((code, form.format(code)), ""), ((form.format(code), code), OWN)):
        assert refusal(project, said.Import(OFFERS, url=url, codes=codes), SettingsError) == ["bad-code"]


# Losses are accepted and ended.


def test_accept_loss_names_the_heads_missed() -> None:
    """A record that was set back goes on from what there is, with a loss open; waiting statements are refused."""
    project = project_with()
    before = project.stores["memory:a"].data
    project.add(*created("a", OFFERS))
    head = project.journal.read().record.head
    project.stores["memory:a"].data = before
    assert refusal(project, said.Complete()) == ["heads-missing"]
    assert prepare(project, said.AcceptLoss()).weakens
    project.say(said.AcceptLoss())
    assert project.record_at().contains(head)
    assert project.journal.read().standing.first_gate_open
    assert not project.plan_opens()


def test_accept_loss_begins_a_missing_record_under_its_id() -> None:
    """From nothing it goes on under the id that the note or config/ names; it misses each head."""
    project = project_with(*created("a", OFFERS))
    head = project.record_at().head
    project.stores["memory:a"].data = None
    with pytest.raises(RecordMissing):
        project.say(said.Complete())
    project.say(said.AcceptLoss())
    assert (project.record_at().id, project.record_at().contains(head)) == (RECORD, True)
    assert not project.plan_opens()
    named = MemoryProject(desired=desired_of(state="memory:a", record=RECORD))
    named.flags = Flags()
    named.notes.write(Note(RECORD, (), "memory:z", 5, "f" * 64))
    assert named.say(said.AcceptLoss()).messages == ()
    assert (named.record_at().id, named.record_at().contains("f" * 64)) == (RECORD, True)


def test_accept_loss_makes_the_second_place_again() -> None:
    """A missing second place closes the gate until the loss is accepted."""
    project = project_with(*created("a", OFFERS))
    project.stores["memory:a"].second = ""
    assert refusal(project, said.RequestRemoval(OFFERS)) == ["second-missing"]
    project.stores["memory:a"].declare_lost_second()
    with pytest.raises(StoreUnavailable):
        project.say(said.AcceptLoss())
    project.say(said.AcceptLoss())
    assert project.stores["memory:a"].second == project.record_at().head


def test_accept_loss_may_be_said_of_a_restored_record() -> None:
    """Whoever restored a bucket says so, though this machine misses nothing; pasted twice, it opens one loss."""
    project = project_with()
    project.stores["memory:a"].prepare = ready = Mock()  # type: ignore[method-assign]
    assert project.say(said.AcceptLoss()).facts
    assert project.say(said.AcceptLoss()).facts == ()
    project.clock += 375
    assert project.say(said.AcceptLoss()).facts
    assert 2 == ready.call_count


def test_accept_loss_needs_a_closed_record_to_be_lost_elsewhere() -> None:
    """Towards a place that continues it, it is refused; towards one that is missing or closed, it opens again."""
    project = project_with(Closed(at=time_of(NOW), to="memory:b", loss="c"))
    at = time_of(NOW)
    copied: list[AnyFact] = [LossOpened(at=at, loss="c", cause="copy"), Completed(at=at, losses=("c",))]
    assert refusal(project, said.Complete()) == ["record-closed"]
    project.stores["memory:b"] = MemoryStore(record_of(*copied, complete=False))
    assert refusal(project, said.AcceptLoss()) == ["record-continues"]
    for lost in (copied[:1], [*copied, Closed(at=at, to="memory:c")]):
        project.stores["memory:b"].data = record_of(*lost)
        assert prepare(project, said.AcceptLoss()).facts
    project.__dict__["journal_at"] = Mock(side_effect=SettingsError(Message("bad-place", "no such place")))
    project.say(said.AcceptLoss())
    assert project.record_at().closed_to == ""


def test_accept_loss_needs_a_known_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing is known, the record begins with `state init`, which a CI runner is not told."""
    for told in (["reconciler state init"], []):
        assert steps(MemoryProject(), said.AcceptLoss()) == told
        assert commands_in([raised(RecordMissing, MemoryProject().journal.read)]) == told
        monkeypatch.setenv("CI", "true")


# A record begins.


def test_begins_with_a_loss() -> None:
    """A new record is not taken for complete, and tells its id for config/."""
    project = MemoryProject(desired=desired_of(state="memory:a"))
    project.flags = Flags()
    begin, outcome = prepare(project, said.Begin()), project.say(said.Begin())
    assert [type(fact) for fact in outcome.facts] == [Begun, LossOpened]
    assert [message.name for message in outcome.messages] == ["record-begun"]
    commands = commands_in(begin.shown)
    assert f"reconciler state complete --loss {begin.ids[0]}" in commands  # pasted late, it ends no later one
    assert project.journal.read().standing.first_gate_open
    assert not project.plan_opens()
    assert MemoryProject().say(said.Begin()).messages == ()  # a flag names the place, so `record:` is not looked at


def test_refused_where_a_record_is_known() -> None:
    """There is one, config/ names one, this machine or the second place knows one."""
    project = project_with()
    assert refusal(project, said.Begin()) == ["record-exists"]
    assert steps(project, said.Begin()) == ["reconciler state show"]
    begun = project_with(complete=False)
    assert steps(begun, said.Begin())[1:] == ["reconciler state complete --loss begun"]
    project.stores["memory:a"].data = None
    assert refusal(project, said.Begin()) == ["record-known"]
    fresh = MemoryProject(project.stores)
    fresh.journal.expected = RECORD
    assert refusal(fresh, said.Begin()) == ["record-named"]
    fresh = MemoryProject({"memory:a": MemoryStore(second=True)})
    fresh.stores["memory:a"].second = "f" * 64
    assert refusal(fresh, said.Begin()) == ["record-known"]


# The operator is asked, and answers.


# What was shown is appended, and nothing else.


def test_digest_leaves_out_time_person_and_new_ids() -> None:
    """What one person reviewed another one can append later; of other facts the digest differs."""
    desired = desired_of({OFFERS: (("ONB10001",), URL.format("o")), LOANS: (("ONB10002",), URL.format("l"))})
    project = project_with(desired=desired)
    other = MemoryProject(project.stores, desired)
    other.clock = NOW + 500
    other.person = "somebody else"
    digest = prepare(project, said.Import(OFFERS)).digest
    assert digest == prepare(other, said.Import(OFFERS)).digest
    assert digest != prepare(project, said.Import(LOANS)).digest
    both = prepare(project, said.Import("*/*"))
    assert both.ids == tuple(fact.attempt for fact in both.facts if isinstance(fact, Exists))
    assert len({*both.ids}) == 2


@pytest.mark.parametrize("statement", [said.Begin(), said.AcceptLoss(), said.Import(OFFERS)])
def test_appends_the_ids_that_were_shown(statement: Statement) -> None:
    """A new record, loss or attempt has the id that a person was shown, after a conflict too; the place is ready."""
    desired = desired_of({OFFERS: (("ONB10001",), URL.format("o"))})
    project = MemoryProject(desired=desired) if statement == said.Begin() else project_with(desired=desired)
    proposal = prepare(project, statement)
    store = project.stores["memory:a"]
    store.declare_failures(MOVED)
    store.prepare = ready = Mock()  # type: ignore[method-assign]
    assert append(project, statement, proposal).facts == proposal.facts
    assert ready.called == (not isinstance(statement, said.Import))


def test_appends_only_what_was_shown() -> None:
    """If the record has changed what a statement comes to, it is refused."""
    project = project_with(*unknown("a", OFFERS))
    statement = said.Resolve(OFFERS, created=False)
    proposal = prepare(project, statement)
    project.add(*unknown("b", OFFERS, "ONB10002"))
    assert raised(Refused, append, project, statement, proposal).name == "record-changed"


def test_tells_when_somebody_said_it_meanwhile() -> None:
    """Two people who say the same of one attempt: the second has nothing left to do."""
    project = project_with(*unknown("a", OFFERS))
    proposal = prepare(project, said.Resolve(OFFERS, created=False))
    MemoryProject(project.stores).say(said.Resolve(OFFERS, created=False))
    outcome = append(project, said.Resolve(OFFERS, created=False), proposal)
    (told,), head = outcome.messages, project.record_at().head
    assert ("nothing-to-do", (), RECORD, head) == (told.name, outcome.facts, outcome.record, outcome.head)


def test_ten_conflicts_end_it() -> None:
    """The statement is proposed again after each one, but not for ever; a store that failed is believed at once."""
    project = project_with(*unknown("a", OFFERS))
    project.stores["memory:a"].declare_failures(*[HeadMoved(*MOVED.messages)] * CONFLICTS)
    assert refusal(project, said.Resolve(OFFERS, created=True)) == ["too-many-conflicts"]
    project.stores["memory:a"].declare_failures(DOWN)
    assert refusal(project, said.Resolve(OFFERS, created=True), StoreUnavailable) == ["store-down"]


@pytest.mark.parametrize("times", [1, 3, CONFLICTS])
@pytest.mark.parametrize("statement", [
    said.Resolve(OFFERS, created=True), said.Import(LOANS), said.Move(OFFERS, LOANS), said.SetSecret(OFFERS, "x", "a"),
])  # fmt: skip
def test_goes_through_after_those_who_were_first(statement: Statement, times: int) -> None:
    """The record is read again after each conflict, with what the others appended, and after a lost answer too."""
    desired = desired_of({LOANS: (("ONB10001",), URL.format("loans"))})
    project = project_with(*unknown("a", OFFERS), desired=desired)
    others = MemoryProject(project.stores)
    store = project.stores["memory:a"]
    proposal, appends = prepare(project, statement), store.append

    def overtaken(*arguments: Any, **second: Any) -> None:
        nonlocal times
        times -= 1
        store.append = appends  # type: ignore[method-assign]
        if times:
            others.add(*created(f"other{times}", f"{EU}/other"))
            store.append = overtaken  # type: ignore[method-assign]
        appends(*arguments, **second)
        others.add(*created("after", f"{EU}/other"))
        raise DOWN

    store.append = overtaken  # type: ignore[method-assign]
    outcome = append(project, statement, proposal)
    assert (len(proposal.facts), outcome.head) == (len(outcome.facts), project.record_at().head)
    assert 0 == times


@pytest.mark.parametrize("problem", [MOVED, DOWN, None])
def test_lost_answer_is_believed_once_the_record_shows_it(problem: Exception | None) -> None:
    """An append that was done and reported as failed is not done twice; the second place is brought up to it."""
    project = MemoryProject({"memory:a": (store := MemoryStore(record_of(*created("a", OFFERS)), second=True))})
    project.journal.read()
    store.declare_lost_answers(problem) if problem else store.declare_lost_second()
    assert project.say(said.RequestRemoval(OFFERS)).facts
    assert store.second == project.record_at().head
    assert len(project.record_at().attempts["a"].requests) == 1


def test_confirmed_facts_carry_time_and_person() -> None:
    """Each fact says when, and who said it; an account is that of the settings."""
    project = project_with(*created("a", OFFERS, account="sha256:old"))
    project.known_accounts = dict.fromkeys(project.desired.targets, "sha256:x")
    (fact,) = project.say(said.Rebind(EU)).facts
    assert isinstance(fact, Rebound)
    assert (fact.at, fact.by, fact.account) == (time_of(NOW), {"user": "somebody"}, "sha256:x")


STATEMENTS = (
    *(said.Resolve(where, created=word, attempts=("u",)) for where in (OFFERS, "*/*") for word in (True, False)),
    *(kind(OFFERS, ("a",)) for kind in (said.RequestRemoval, said.CancelRemoval, said.ConfirmRemoval)),
    *(kind(OFFERS, ("a",), ("ONB10002",)) for kind in (said.RequestRemoval, said.CancelRemoval, said.ConfirmRemoval)),
    said.Import(LOANS), said.Move(OFFERS, f"{EU}/moved"), said.Rebind(EU), said.Complete(("begun",)), said.AcceptLoss(),
)  # fmt: skip


@settings(max_examples=150)
@given(st.lists(st.sampled_from(STATEMENTS), min_size=1, max_size=6))
def test_said_again_it_changes_nothing(statements: list[Statement]) -> None:
    """After any statements, one that was accepted changes no attempt and no loss when it is said once more."""
    desired = desired_of({LOANS: (("ONB10003",), URL.format("loans"))})
    facts = [*created("a", OFFERS, "ONB10001", "ONB10002"), *unknown("u", OFFERS, "ONB10004")]
    facts += created("b", OFFERS, "ONB10005")
    project = project_with(*facts, desired=desired, complete=False)
    for statement in statements:
        try:
            project.say(statement)
        except (Refused, SelectionError):
            continue
        before = project.record_at()
        project.add(*created("later", f"{EU}/later"))
        with suppress(Refused, SelectionError):
            assert project.say(statement).facts == ()
        after = project.record_at()
        assert {name: after.attempts[name] for name in before.attempts} == dict(before.attempts)
        assert after.open_losses == before.open_losses
        assert after.attempts["b"].status is Status.LIVE


@pytest.mark.parametrize("part", [slice(0), slice(7), slice(20), slice(-1), slice(None, None, -1), slice(7, None)])
def test_a_digest_is_expected_whole(part: slice) -> None:
    """A part of it, or nothing, is not what was reviewed; all of it is."""
    project = project_with(*unknown("a", OFFERS))
    proposal = prepare(project, said.Resolve(OFFERS, created=True))
    refuse_unexpected(proposal, proposal.digest)
    message = raised(Refused, refuse_unexpected, proposal, proposal.digest[part])
    assert ("proposal-changed", "--expect-digest") == (message.name, message.where)
