"""`state copy`: three durable steps, each of which may be the last before a kill."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from unittest.mock import Mock, patch

import pytest
from msgspec.structs import replace
from support.command_line import commands_in
from support.memory_project import EU, NOW, MemoryProject, created, desired_of, unknown
from support.memory_record import AT, MOVED, RECORD, MemoryStore, append, record_of
from support.records import time_of
from support.refusals import raised

from reconciler.errors import (
    Message,
    RecordClosed,
    RecordDamaged,
    RecordMissing,
    Refused,
    SettingsError,
    StoreUnavailable,
    step,
)
from reconciler.operations.copying import Copy
from reconciler.operations.failpoints import Failpoints
from reconciler.operations.project import Flags, Project
from reconciler.operations.record import list_entries
from reconciler.operations.settings import Sources
from reconciler.operations.statements import CONFLICTS
from reconciler.record.chain import link
from reconciler.record.facts import Begun, Closed, Completed, LossOpened
from reconciler.record.gates import Note
from reconciler.record.statements import AcceptLoss

OFFERS, A, B = f"{EU}/offers", "memory:a", "memory:b"
STEPS = 3


class Killed(Exception):
    """The process is killed."""


def project_to_copy(*, second: bool = False) -> MemoryProject:
    """Return a project with a record at one place, and nothing at another."""
    data = record_of(*created("a", OFFERS))
    project = MemoryProject({A: MemoryStore(data, second=second), B: MemoryStore(second=second)})
    project.journal.read()
    return project


def killed(project: MemoryProject, number: int, *, done: bool = True) -> MemoryProject:
    """Return the project after its copy was killed at, and after, each append up to the n-th: to TO, FROM, and TO."""
    for step_taken, place in zip(range(1, number + 1), (B, A, B), strict=False):
        store = project.stores[place]
        (store.declare_lost_answers if done or step_taken < number else store.declare_failures)(Killed())
        with pytest.raises(Killed):
            Copy(project, A, B).carry_out()
    return project


def refusal(project: MemoryProject, source: str = A, to: str = B) -> list[str]:
    """Return the names of the messages that a copy is refused with."""
    with pytest.raises(Refused) as caught:
        Copy(project, source, to).carry_out()
    commands_in(caught.value.messages)
    return [message.name for message in caught.value.messages]


@pytest.mark.parametrize("has_second", [False, True])
def test_moves_the_record(has_second: bool) -> None:
    """TO keeps FROM's id and says all that FROM says; FROM is closed; creates go on at TO alone."""
    project = project_to_copy(second=has_second)
    with patch.object(Failpoints, "reach") as reach:
        assert Copy(project, A, B).carry_out().name == "copied"
    assert ["before-append", "after-append"] * STEPS == [call.args[0] for call in reach.call_args_list]
    said = {type(line.fact) for place in (A, B) for line in project.journal_at(place).read().lines if line.fact.by}
    assert {Begun, Closed, Completed, LossOpened} == said
    record = project.record_at(B)
    assert (record.id, list(record.attempts), record.open_losses) == (RECORD, ["a"], ())
    assert project.record_at(A).closed_to == B
    assert (project.plan_opens(A), project.plan_opens(B)) == (False, True)
    for place in (A, B):
        assert project.stores[place].second == (project.record_at(place).head if has_second else None)
    with pytest.raises(RecordClosed):
        project.add(*created("b", OFFERS))


def test_machine_that_copied_knows_that_the_old_place_is_closed() -> None:
    """It is not suggested where the record is looked for, and the setting that names it is what must change."""
    project = project_to_copy()
    done = Copy(project, A, B).carry_out()
    for machine in (project, MemoryProject(project.stores)):
        Copy(machine, A, B).carry_out()
        assert {note.place: note.closed for note in machine.notes.read_all()} == {A: True, B: False}
    assert [use.text.partition(" overrides")[0] for use in done.steps] == ["`--state`"]


@pytest.mark.parametrize("last", [B, "memory:c"])
def test_place_where_the_record_continues_is_named(last: str) -> None:
    """If TO was copied on, that is the last place; a setting must change only if it names another."""
    stores = project_to_copy().stores
    Copy(MemoryProject(stores), A, B).carry_out()
    if last != B:
        Copy(MemoryProject(stores), B, last).carry_out()
    for place in (A, B, "memory:c"):
        project = MemoryProject(stores)
        project.flags = Flags(state=place)
        done = Copy(project, A, B).carry_out()
        begins = (
            f"set `state: {last}`" if place == last else f"`--state` overrides `state:` in config/; change it to {last}"
        )
        assert (done.where, [True]) == (last, [use.text.startswith(begins) for use in done.steps])


@pytest.mark.parametrize("done", [False, True])
@pytest.mark.parametrize("number", range(1, STEPS + 1))
def test_killed_at_each_step_and_run_again(number: int, done: bool) -> None:
    """Killed before or after each append, both places are never open at once, and the next run completes the copy."""
    project = project_to_copy(second=True)
    digest = Copy(project, A, B).prepare().digest
    killed(project, number, done=done)
    assert not (project.plan_opens(A) and project.plan_opens(B))
    fresh = MemoryProject(project.stores)
    assert not (fresh.plan_opens(A) and fresh.plan_opens(B))
    assert digest == Copy(project, A, B).prepare().digest
    Copy(project, A, B).carry_out()
    assert (project.plan_opens(A), project.plan_opens(B)) == (False, True)
    assert list(project.record_at(B).attempts) == ["a"]
    assert [message.name for message in Copy(project, A, B).prepare().shown] == ["nothing-to-do"]


@pytest.mark.parametrize("number", [0, STEPS - 1])
def test_copy_that_has_lost_the_second_head_of_a_step_is_completed(number: int) -> None:
    """Killed between the pushes of two branches, a place that was begun is gone on with, as one that is complete."""
    project = killed(project_to_copy(second=True), number)
    project.stores[B].declare_lost_second()
    with pytest.raises(StoreUnavailable):
        Copy(project, A, B).carry_out()
    assert project.stores[B].second != project.record_at(B).head
    other = MemoryProject(project.stores)
    Copy(other, A, B).carry_out()
    record = project.record_at(B)
    assert (record.open_losses, project.stores[B].second) == ((), record.head)
    assert (other.plan_opens(A), other.plan_opens(B)) == (False, True)


def test_copy_to_a_file_that_was_killed_before_its_note_is_completed() -> None:
    """A file that was begun, and that this machine has no note of yet, is gone on with while FROM is open."""
    project = project_to_copy()
    project.stores[B].path = Path("/srv/b")
    killed(project, 1)
    Copy(project, A, B).carry_out()
    assert (project.plan_opens(A), project.plan_opens(B)) == (False, True)


def test_takes_what_another_run_appends_meanwhile() -> None:
    """What an apply appends to FROM before it is closed is in TO; conflicts are decided again."""
    project = killed(project_to_copy(), 1)
    MemoryProject(project.stores).add(*unknown("b", OFFERS, "ONB10002"))
    for conflicts in (CONFLICTS + STEPS, CONFLICTS):
        project.stores[A].declare_failures(*[MOVED] * conflicts)
        assert conflicts == CONFLICTS or refusal(project) == ["too-many-conflicts"]
    Copy(project, A, B).carry_out()
    assert set(project.record_at(B).attempts) == {"a", "b"}


def test_there_and_back() -> None:
    """A place that was closed is taken with a loss of its own, so the record can go back."""
    project = project_to_copy()
    Copy(project, A, B).carry_out()
    journal = project.journal_at(B)
    journal.append(journal.read(), created("b", OFFERS, "ONB10002"), "apply")
    project.stores[A].prepare = prepare = Mock()  # type: ignore[method-assign]
    Copy(project, B, A).carry_out()
    prepare.assert_called_once()
    assert set(project.record_at(A).attempts) == {"a", "b"}
    assert (project.plan_opens(A), project.plan_opens(B)) == (True, False)
    assert 1 == max(Counter(line.id for line in project.journal_at(A).read().lines).values())


def test_prepare_names_the_steps_left() -> None:
    """What is left to do is shown before anybody agrees, and nothing is appended."""
    project = project_to_copy()
    project.add(LossOpened(at=time_of(NOW), loss="other", cause="accepted"))
    for number, left in enumerate(([B, A, B], [A, B], [B])):
        if number:
            project.stores[(B, A)[number - 1]].declare_lost_answers(Killed())
            with pytest.raises(Killed):
                Copy(project, A, B).carry_out()
        before = [project.stores[place].data for place in (A, B)]
        shown = Copy(project, A, B).prepare().shown
        steps = [(message.name, message.where) for message in shown]
        assert (steps, "(out of 6)" in shown[-1].what) == ([("copy-step", place) for place in left], number < 2)
        assert [project.stores[place].data for place in (A, B)] == before
    Copy(project, A, B).carry_out()
    assert "another loss" in Copy(project, B, A).prepare().shown[0].what


def test_digest_covers_both_places() -> None:
    """What was reviewed of one copy does not approve another one of the same record."""
    project = project_to_copy()
    project.stores["memory:c"] = MemoryStore(project.stores[A].data)
    pairs = ((A, B), (A, "memory:d"), ("memory:c", B))
    assert len(pairs) == len({Copy(project, *pair).prepare().digest for pair in pairs})


def test_place_in_use_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """What FROM has is added to a TO that is open, or copied to another place; another record is merged with none."""
    project = project_to_copy()
    project.stores[B].data = record_of()
    told = raised(Refused, Copy(project, A, B).carry_out)
    ways = [f"reconciler state copy {A} PLACE", f"reconciler state recover {A} --state {B}"]
    assert (told.name, commands_in([told])) == ("place-in-use", ways)
    at = time_of(NOW)
    project.stores[B].data = link(None, 0, [Begun(at=at, record="0" * 32), Closed(at=at, to="memory:c")])[0]
    told = raised(Refused, Copy(project, A, B).carry_out)
    assert ["reconciler state copy memory:a PLACE"] == commands_in([told])
    assert refusal(project, A, A) == ["copy-to-itself"]
    monkeypatch.setenv("RECONCILER_TEST_FAILPOINT", "any:9:0")
    assert "failpoint" == raised(SettingsError, Copy, project, A, B).name


def test_places_are_recorded_in_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However they are written; commands name them as the user did."""
    monkeypatch.chdir(tmp_path)
    files = Project(Flags(), Sources({}, Path()))
    files.__dict__["desired"] = desired_of(targets={EU: "http://127.0.0.1:1"})
    assert "copy-to-itself" == raised(Refused, Copy, files, "a.jsonl", f"file:{tmp_path}/a.jsonl").name
    for name, place in (("state.jsonl", ""), ("a.jsonl", " --state a.jsonl")):
        copy = Copy(files, name, "b.jsonl")
        assert [f"reconciler state init{place}"] == commands_in([raised(RecordMissing, copy.carry_out)])
    files.journal_at("a.jsonl").accept(None, [Begun(at=time_of(NOW), record=RECORD)], "")
    forms = ("", f"file:{tmp_path}/")
    assert 1 == len({Copy(files, f"{form}a.jsonl", f"{form}b.jsonl").prepare().digest for form in forms})
    place, there = copy.carry_out().where, files.journal_at("b.jsonl").read()
    assert (place, files.journal_at("a.jsonl").read().record.closed_to) == (there.standing.place, place)
    opened = [line.fact.of for line in there.lines if isinstance(line.fact, LossOpened)]
    assert [files.journal_at("a.jsonl").place] == opened


def test_place_that_held_another_record_is_not_gone_on_with() -> None:
    """What this machine saw there is missing at TO: FROM stays open."""
    project = project_to_copy()
    project.notes.write(Note("0" * 32, (), B, 5, "f" * 64), lambda _: True)
    assert (["heads-missing"], "") == (refusal(project), project.record_at(A).closed_to)


def test_first_gate_of_from_must_be_open() -> None:
    """A record that lacks what this machine knew, or continues at a third place, is not copied."""
    project = project_to_copy()
    before = project.stores[A].data
    project.add(*created("b", OFFERS, "ONB10002"))
    project.stores[A].data = before
    told, ways = raised(Refused, Copy(project, A, B).carry_out), ["state recover FILE", "state accept-loss"]
    assert ("heads-missing", [f"reconciler {way}" for way in ways]) == (told.name, commands_in([told]))
    project.say(AcceptLoss())
    project.add(Closed(at=time_of(NOW), to="memory:c"))
    assert refusal(project) == ["record-closed"]
    other = MemoryProject({A: MemoryStore(record_of(), second=True)})
    other.stores[A].path, other.stores[A].second = Path("/srv/a"), ""
    other.notes.write(Note(RECORD, (), "memory:z", 9, "f" * 64))
    assert refusal(other) == ["file-not-from-here", "heads-missing", "second-missing"]


def test_open_losses_stay_open() -> None:
    """The copy ends its own loss and no other, of either place; each entry is there once."""
    project = project_to_copy()
    project.add(LossOpened(at=time_of(NOW), loss="here", cause="accepted"))
    killed(project, 1)
    append(project.stores[B], LossOpened(at=time_of(NOW), loss="there", cause="accepted"))
    Copy(project, A, B).carry_out()
    assert {loss.id for loss in project.record_at(B).open_losses} == {"here", "there"}
    counts = Counter(entry.kind for entry in list_entries(MemoryProject({A: project.stores[B]})))
    assert counts == {"begun": 2, "loss": 4, "completed": 2, "intended": 1, "answered": 1, "closed": 1}


def test_lost_copy_is_not_begun_anew() -> None:
    """Once FROM is closed, a TO that is missing, or was set back, is lost: only `accept-loss` goes on."""
    project = project_to_copy()
    Copy(project, A, B).carry_out()
    project.stores[B].data = None
    told = raised(Refused, Copy(project, A, B).carry_out)
    assert ("copy-lost", ["reconciler state accept-loss"]) == (told.name, commands_in([told]))
    project.stores[B].data = record_of()
    assert refusal(project) == ["place-in-use"]
    project.stores[B].data = record_of().replace(b"begun", b"begin", 1)
    told = raised(RecordDamaged, Copy(project, A, B).carry_out)
    assert commands_in([told]) == [f"reconciler state verify --state {B}"]
    project.stores[B].data = None
    project.say(AcceptLoss())
    assert project.record_at(A).closed_to == ""
    assert not project.plan_opens(A)


def test_copy_that_a_closed_place_does_not_have_is_lost() -> None:
    """FROM is closed towards TO, and TO, as of before that, towards a third place: nothing is appended."""
    places = ((A, B, created("a", OFFERS)), (B, "memory:c", created("b", OFFERS)))
    stores = {place: MemoryStore(record_of(*facts, Closed(at=time_of(NOW), to=to))) for place, to, facts in places}
    before = stores[B].data
    assert (["copy-lost"], before) == (refusal(MemoryProject(stores)), stores[B].data)


def test_set_back_copy_is_not_completed_again() -> None:
    """A TO that was set back to before the last step lacks what this machine saw there."""
    project = killed(project_to_copy(), STEPS, done=False)
    halfway = project.stores[B].data
    Copy(project, A, B).carry_out()
    journal = project.journal_at(B)
    journal.append(journal.read(), created("b", OFFERS, "ONB10002"), "apply")
    project.stores[B].data = halfway
    assert refusal(project) == ["heads-missing"]


def test_copy_begun_at_a_place_of_the_same_name_elsewhere_is_not_completed() -> None:
    """A file of another machine may have the name of TO: a record that is closed towards that does not go on here."""
    project = killed(project_to_copy(), 1)
    other = MemoryProject({A: project.stores[A], B: MemoryStore()})
    Copy(other, A, B).carry_out()
    assert refusal(project) == ["copy-lost"]
    assert not project.plan_opens(B)
    project.say(AcceptLoss())
    Copy(project, A, B).carry_out()
    assert [loss.cause for loss in project.record_at(B).open_losses] == ["accepted"]


@pytest.mark.parametrize("path", [None, Path("/srv/b")])
def test_unfinished_copy_is_copied_no_further(path: Path | None) -> None:
    """A place that a copy has begun is completed first, which is all that is said, though it has no note yet."""
    project = project_to_copy()
    project.stores[B].path = path
    killed(project, 1)
    append(project.stores[B], LossOpened(at=AT, loss="first", cause="accepted"))
    assert refusal(project, B, "memory:c") == ["loss-open"]


@pytest.mark.parametrize("number", range(1, STEPS + 1))
def test_unfinished_copy_of_another_place_is_not_completed(number: int) -> None:
    """A copy to a place that the copy of another place has begun is refused; that one is completed as before."""
    project, other = project_to_copy(), "memory:other"
    project.stores[other] = MemoryStore(project.stores[A].data)
    killed(project, number, done=number < STEPS)
    before = project.stores[other].data, project.stores[B].data
    assert refusal(project, other, B) == ["place-in-use"]
    assert before == (project.stores[other].data, project.stores[B].data)
    assert not project.plan_opens(B)
    Copy(project, A, B).carry_out()
    assert project.plan_opens(B)


@pytest.mark.parametrize("is_lost", [True, False])
def test_unfinished_copy_of_a_place_that_is_lost_can_be_finished(is_lost: bool) -> None:
    """FROM is lost in the middle, or this machine has lost its note of that file: accepted there, it is copied on."""
    project = project_to_copy()
    project.stores[A].path = Path("/srv/a")
    project.notes.write(Note(RECORD, (), A, 5, project.record_at(A).head), lambda _: True)
    killed(project, 2)
    if is_lost:
        project.stores[A].data = None
    else:
        project.notes.kept.clear()  # type: ignore[attr-defined]
    there = MemoryProject(project.stores)
    there.__dict__ |= {"notes": project.notes, "flags": Flags(state=B)}
    with pytest.raises((Refused, RecordMissing)) as caught:
        Copy(there, A, B).carry_out()
    steps = caught.value.messages[0].steps
    assert steps[-1].command == ("reconciler", "state", "accept-loss", "--state", A)
    project.say(AcceptLoss())
    Copy(there, A, B).carry_out()
    assert [loss.cause for loss in project.record_at(B).open_losses] == ["accepted"]
    assert (project.plan_opens(A), project.plan_opens(B)) == (False, False)


def test_failure_names_the_way_on() -> None:
    """A store that fails in the middle ends the run; its message has the command that completes the copy."""
    project = project_to_copy()
    problems = [Message("store-down", "no network", place, (step("wait"),)) for place in (A, B)]
    project.stores[A].declare_failures(StoreUnavailable(*problems))
    with pytest.raises(StoreUnavailable) as caught:
        Copy(project, A, B).carry_out()
    resume = step("then complete the copy", "reconciler", "state", "copy", A, B)
    assert tuple(replace(each, steps=(*each.steps, resume)) for each in problems) == caught.value.messages
    Copy(project, A, B).carry_out()
