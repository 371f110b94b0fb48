"""What could not be appended is saved and recovered; histories are united; the log is read."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock, patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from support.command_line import commands_in
from support.memory_project import EU, NOW, URL, MemoryProject, created, desired_of, project_with, unknown
from support.memory_record import AT, DOWN, RECORD, MemoryStore, record_of
from support.records import linked, time_of
from support.refusals import raised

from reconciler.errors import Refused, SelectionError
from reconciler.model.plan import Action, Verdict
from reconciler.model.record import Status
from reconciler.operations.copying import Copy
from reconciler.operations.plan import make_plan
from reconciler.operations.project import Flags
from reconciler.operations.record import attempts_json, find_attempts, list_entries, verify_record
from reconciler.operations.recovery_file import recover_statement, recovery_messages, save_facts
from reconciler.operations.statements import prepare
from reconciler.planning.planner import verdict_of_plan
from reconciler.record.chain import parse
from reconciler.record.facts import Absent, AnyFact, Begun, Closed, Completed, LossOpened, RemovalRequested, Renamed
from reconciler.record.statements import CancelRemoval, Complete, ConfirmRemoval, Recover, Resolve
from reconciler.reports import terminal
from reconciler.reports.document import messages_document

OFFERS, LOANS = f"{EU}/offers", f"{EU}/loans"
ID = "0123456789abcdef0123456789abcdef"


# Outcomes are saved and recovered.


def test_recovered_twice_it_is_there_once(tmp_path: Path) -> None:
    """A saved outcome settles its attempt; the file recovered again, or saved again, adds nothing."""
    intended, answered = created("a", OFFERS)
    project = project_with(intended)
    message = save_facts(tmp_path, RECORD, "memory:a", [answered], "the store is down")
    save_facts(tmp_path, RECORD, "memory:a", [answered], "")
    (file,) = (tmp_path / "unrecorded").glob("*.jsonl")
    assert ("results-in-recovery-file", [f"reconciler state recover {file}"]) == (message.name, commands_in([message]))
    assert file.stat().st_mode & 0o777 == 0o600
    (tmp_path / "edited").write_text(re.sub(',"origin":"[0-9a-f]+"', "", file.read_text()))
    for source in (str(file), str(tmp_path / "edited"), str(file)):
        assert recover_statement(project_with(), str(file)).lines == recover_statement(project_with(), source).lines
        project.say(recover_statement(project, source))
        assert project.record_at().attempts["a"].status is Status.LIVE
    assert project.say(recover_statement(project, str(file))).facts == ()


def test_id_from_another_history_is_kept(tmp_path: Path) -> None:
    """A fact that has an origin keeps it in the file."""
    facts = [replace(fact, origin=digit * 64) for digit, fact in zip("12", created("a", OFFERS), strict=True)]
    save_facts(tmp_path, RECORD, "memory:a", facts, "")
    (file,) = (tmp_path / "unrecorded").iterdir()
    assert [fact.origin for fact in facts] == [line.id for line in recover_statement(project_with(), str(file)).lines]


def test_what_arrived_after_all_is_not_added_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that was cancelled since is not made again by the file, which is not named, here and in a copy."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    request = RemovalRequested(at=AT, attempt="a", codes=("ONB10001",), by_plan=True)
    project = project_with(*created("a", OFFERS), request)
    save_facts(tmp_path / "reconciler", RECORD, "memory:a", [request], "the answer was lost")
    (file,) = project.recovery_files
    project.say(CancelRemoval(OFFERS))
    before, copied = project.stores["memory:a"].data, MemoryStore()
    Copy(MemoryProject(project.stores | {"memory:b": copied}), "memory:a", "memory:b").carry_out()
    backup, copy = project_with(), MemoryProject({"memory:a": copied})
    project.stores["memory:a"].data, backup.stores["memory:b"] = before, copied
    backup.say(recover_statement(backup, "memory:b"))
    for each in (project, copy, backup):
        assert not recovery_messages(each, each.journal.read())
        assert each.say(recover_statement(each, str(file))).facts == ()
        assert each.record_at().attempts["a"].status is Status.LIVE


def test_what_is_not_recovered_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later plan names each file with results of this record that it lacks; no other, and none once recovered."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    intended, answered = created("a", OFFERS)
    project = project_with(intended)
    message = save_facts(project.data_directory, RECORD, "memory:a", [answered], "")
    save_facts(project.data_directory, "f" * 32, "memory:b", [answered], "")
    for file in project.recovery_files:
        file.write_bytes(b"\n" + file.read_bytes() + b" \n")
    (project.data_directory / "unrecorded" / "0.jsonl").mkdir()
    (project.data_directory / "unrecorded" / "00.jsonl").write_bytes(b"\xff")
    (project.data_directory / "unrecorded" / "000.jsonl").write_bytes(b'{"record": "\xff"}')
    (named,) = recovery_messages(project, project.journal.read()).values()
    assert named.steps[0].command == message.steps[-1].command
    facts = [*created("b", OFFERS)[1:], Renamed(at=AT, attempts=("b",), to=LOANS)]
    save_facts(project.data_directory, RECORD, "memory:a", facts, "")
    assert {"a", "b", ""} == recovery_messages(project, project.journal.read()).keys()
    for name in "ab":
        (command,) = (each.command for each in recovery_messages(project, project.journal.read())[name].steps)
        project.say(recover_statement(project, command[-1]))
    assert not recovery_messages(project, project.journal.read())


def test_nothing_is_sent_or_settled_before_its_results_are_recovered() -> None:
    """While a file of this machine, or runner, has facts that the record lacks, nothing is created or denied."""
    intended, answered = created("a", OFFERS)
    project = project_with(intended, desired=desired_of({OFFERS: (("ONB10001",), URL.format("offers"))}))
    project.in_ci = True
    save_facts(project.data_directory, RECORD, "memory:a", [answered], "")
    message = raised(Refused, project.say, Resolve(OFFERS, created=False))
    (file,) = project.recovery_files
    assert commands_in([message]) == [f"reconciler state recover {file}"]
    project.add(Absent(at=AT, attempt="a"))
    planned = make_plan(project).plan
    assert ([Action.BLOCKED], (message,)) == ([each.action for each in planned.changes], planned.gates)
    project.say(recover_statement(project, str(file)))
    assert ([], ()) == ((made := make_plan(project).plan).changes, made.gates)


@pytest.mark.parametrize("name", ["offers", "renamed"])
def test_a_create_that_only_a_recovery_file_has_is_not_repeated(name: str) -> None:
    """Whatever the address is called meanwhile, and although the record has lost the intent."""
    wanted = desired_of({f"{EU}/{name}": (("ONB10001",), URL.format("offers"))})
    project = project_with(LossOpened(at=AT, loss="lost", cause="accepted"), desired=wanted)
    save_facts(project.data_directory, RECORD, "memory:a", created("a", OFFERS)[1:], "")
    assert "not-recovered" == raised(Refused, project.say, Complete(("lost",))).name
    project.add(Completed(at=AT, losses=("lost",)))
    save_facts(project.data_directory, RECORD, "memory:a", created("b", LOANS)[1:], "")
    planned = make_plan(project).plan
    assert [Action.BLOCKED] == [change.action for change in planned.changes]
    assert ["not-recovered"] * 2 == [message.name for message in planned.gates]
    assert Verdict.CHANGES is verdict_of_plan(planned, project.now())


@pytest.mark.parametrize("spoil", [
    lambda path: path.write_text("in the way"), lambda path: (path.mkdir(), path.chmod(0o777)),
    lambda path: path.parent.chmod(0o777),
])  # fmt: skip
def test_what_cannot_be_saved_is_in_the_message(tmp_path: Path, spoil: Callable[[Path], object]) -> None:
    """Where no file can be written, the message has the lines; copied from a terminal, these can be recovered."""
    spoil(tmp_path / "unrecorded")
    facts = [replace(fact, by={"user": "ada  of " + "the team " * 20}) for fact in created("a", OFFERS)]
    message = save_facts(tmp_path, RECORD, "memory:a", facts, "")
    told = message.name, message.what.partition(";")[0], message.steps[-1].command[-1]
    assert told == ("results-not-saved", "results could not be saved", "FILE")
    shown = terminal.render(messages_document([message]), terminal.Layout(width=80))
    (tmp_path / "lines").write_text(shown.partition("a file:\n")[2].partition("  Then run")[0])
    project = project_with()
    project.say(recover_statement(project, str(tmp_path / "lines")))
    assert {"a": Status.LIVE} == {each.id: each.status for each in project.record_at().attempts.values()}


# Histories are united.


def test_a_backup_opens_no_gate_but_by_being_what_was_missed(tmp_path: Path) -> None:
    """Recovered, the lost tail is contained again; pasted again, nothing is left to do."""
    project = project_with()
    before = project.stores["memory:a"].data
    project.add(*created("a", OFFERS))
    (tmp_path / "backup").write_bytes(project.stores["memory:a"].data or b"")
    project.stores["memory:a"].data = before
    assert not project.plan_opens()
    statement = recover_statement(project, str(tmp_path / "backup"))
    assert not prepare(project, statement).weakens
    with patch("sys.stdin", Mock(buffer=(tmp_path / "backup").open("rb"))) as given, given.buffer:
        assert statement.lines == recover_statement(project, "-").lines
    project.say(statement)
    assert project.plan_opens()
    assert project.say(statement).facts == ()


def test_place_of_another_record_is_united() -> None:
    """Another place is a source too, whichever record it holds; its open loss opens here."""
    project = project_with(*created("a", OFFERS))
    theirs: list[AnyFact] = [Begun(at=AT, record="e" * 32), LossOpened(at=AT, loss="theirs", cause="begun")]
    project.stores["memory:b"] = MemoryStore(linked(None, 0, [*theirs, *created("b", LOANS)])[0])
    own = len(list_entries(project))
    project.__dict__ |= {"desired": desired_of(state="memory:a"), "flags": Flags()}
    assert () == project.say(recover_statement(project, "memory:b")).messages
    assert [entry.merged for entry in list_entries(project)] == [number >= own for number in range(own + 4)]
    assert set(project.record_at().attempts) == {"a", "b"}
    assert [loss.id for loss in project.record_at().open_losses] == ["theirs"]


@settings(max_examples=60)
@given(st.data())
def test_nothing_appended_to_an_older_record_opens_a_gate(data: st.DataObject) -> None:
    """A record that lacks a head stays refused, whatever it is made to say, until the head is there again."""
    project = project_with(*created("a", OFFERS))
    store = project.stores["memory:a"]
    before = store.data
    project.add(*unknown("lost", LOANS))
    lost = project.record_at().head
    store.data = before
    others = [
        record_of(*created("b", LOANS)),
        record_of(Completed(at=AT, losses=("begun",)), *unknown("c", LOANS, "ONB10002")),
        linked(None, 0, [Begun(at=AT, record=RECORD), LossOpened(at=AT, loss="x", cause="accepted")])[0],
    ]
    for number in data.draw(st.lists(st.integers(0, len(others) - 1), max_size=4)):
        store.declare_lost_answers(DOWN)
        project.say(Recover("other", parse(others[number], "other")))
        with pytest.raises(Refused):
            project.say(Complete())
        assert not project.plan_opens()
        assert not project.record_at().contains(lost)


# The record is shown.


def test_show() -> None:
    """A pattern shows what is in force or unknown, an address all there was; JSON has the documented fields."""
    project = project_with(*created("a", OFFERS), *unknown("b", LOANS, at=NOW - 500))
    project.add(*created("c", OFFERS, "ONB10002", at=NOW - 2000)[:1])
    assert [attempt.id for attempt in find_attempts(project).attempts] == ["b", "c", "a"]
    assert [attempt.id for attempt in find_attempts(project, OFFERS).attempts] == ["c", "a"]
    (row,) = attempts_json(find_attempts(project, "*/*/loans").attempts)
    assert row == {
        "address": LOANS, "attempt": "b", "eventCodes": ("ONB10001",), "webhookUrl": URL.format("loans"),
        "status": "unknown", "at": time_of(NOW - 500), "fields": {},
    }  # fmt: skip
    assert [row["status"] for row in attempts_json(find_attempts(project, OFFERS).attempts)] == ["unknown", "live"]
    assert OFFERS in raised(SelectionError, find_attempts, project, f"{EU}/offer").what


@pytest.mark.parametrize("where", ["", "*/*/*", "europe/*/offers", EU, "europe/*"])
def test_what_is_gone_is_shown_for_its_address_alone(where: str) -> None:
    """A selection of several has what is in force or may be."""
    project = project_with(*created("a", OFFERS), *created("b", OFFERS, "ONB10002"))
    project.say(ConfirmRemoval(OFFERS, ("a",)))
    assert [attempt.id for attempt in find_attempts(project, where).attempts] == ["b"]
    for status, at in (("live", time_of(NOW - 1000)), ("gone", time_of(NOW))):
        rows = attempts_json(find_attempts(project, OFFERS).attempts)
        told = [row[name] for row in rows for name in ("attempt", "status", "at")]
        assert ["a", "gone", time_of(NOW), "b", status, at] == told
        project.say(ConfirmRemoval(OFFERS, ("b",)))


def test_history_follows_renames() -> None:
    """The log of an address has what happened under its former name, and that can be asked for too."""
    project = project_with(*created("a", OFFERS), Renamed(at=AT, attempts=("a",), to=LOANS))
    assert [entry.kind for entry in list_entries(project, LOANS)] == ["intended", "answered", "renamed"]
    assert len(list_entries(project, OFFERS)) == 2
    assert [entry.number for entry in list_entries(project)] == list(range(1, 7))
    assert [3, 3] == [len(list_entries(project, where)) for where in ("europe/*", EU)]
    project.say(ConfirmRemoval(LOANS, ("a",)))
    last = list_entries(project)[-1]
    assert (time_of(NOW), {"user": "somebody"}) == (last.at, last.by)


def test_verify_names_what_closes_a_gate() -> None:
    """A chain that is whole is told with its head, a torn write, and why it is not the record to go by."""
    project = project_with(Closed(at=AT, to="memory:b"))
    store = project.stores["memory:a"]
    store.data = (store.data or b"") + b'{"seq":'
    verified = verify_record(project)
    assert (verified.record, verified.entries, verified.torn) == (RECORD, 4, 7)
    assert [message.name for message in verified.messages] == ["record-closed"]
    lossy = project_with(LossOpened(at=time_of(NOW), loss="l", cause="accepted"))
    for lossy.clock, is_early in ((NOW + 374, True), (NOW + 376, False)):
        told = (*verify_record(lossy).messages, *find_attempts(lossy).messages)
        assert [is_early] * 2 == [", after " in message.steps[-1].text for message in told]
    project.journal.expected = other = "f" * 32
    for messages in (verify_record(project).messages, find_attempts(project).messages):
        named = [(each.name, other in each.what) for each in messages]
        assert [("other-record", True), ("record-closed", False)] == named
