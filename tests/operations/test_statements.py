"""What people say about the record: what each statement selects, refuses and appends, and when it weakens a gate."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.command_line import commands_in
from support.memory_project import API, EU, NOW, URL, MemoryProject, created, desired_of, project_with, unknown, what
from support.memory_record import DOWN, MOVED, RECORD, MemoryStore, record_of
from support.records import time_of
from support.refusals import raised

from reconciler.errors import HeadMoved, RecordMissing, Refused, SelectionError, SettingsError, StoreUnavailable
from reconciler.model.record import Status
from reconciler.operations.project import Flags, Project
from reconciler.operations.settings import Sources
from reconciler.operations.statements import CONFLICTS, append, prepare, refuse_unexpected
from reconciler.planning.duplicates import find_duplicates
from reconciler.record.facts import (
    Begun,
    Closed,
    Completed,
    Exists,
    LossOpened,
    Received,
    RemovalConfirmed,
    RemovalRequested,
    Renamed,
)
from reconciler.record.gates import Note
from reconciler.record.statements import (
    AcceptLoss,
    Begin,
    CancelRemoval,
    Complete,
    ConfirmRemoval,
    Import,
    Move,
    Observe,
    Rebind,
    RequestRemoval,
    Resolve,
    SetSecret,
)

if TYPE_CHECKING:
    from reconciler.errors import ReconcilerError
    from reconciler.record.facts import AnyFact
    from reconciler.record.statements import Statement

OFFERS, LOANS = f"{EU}/offers", f"{EU}/loans"
ID = "0123456789abcdef0123456789abcdef"
OWN = "https://hooks.example/{attempt}"
SELF_EVIDENT = {
    "attempt-needed", "bad-address", "bad-attempt", "bad-code", "code-unknown", "codes-needed", "import-one-address",
    "loss-unknown", "resolve-disproved", "store-down", "target-unbound", "target-unknown",
}  # fmt: skip
"""Refusals that name no way on: what is wrong with the words that were given says all."""


def refusal(project: MemoryProject, statement: Statement, kind: type[ReconcilerError] = Refused) -> list[str]:
    """Return the names of the messages that a statement is refused with; nothing was appended."""
    before = project.stores["memory:a"].data
    with pytest.raises(kind) as caught:
        project.say(statement)
    assert before == project.stores["memory:a"].data
    commands_in(caught.value.messages)
    assert all(message.where for message in caught.value.messages)
    assert {message.name for message in caught.value.messages if not message.steps} <= SELF_EVIDENT
    return [message.name for message in caught.value.messages]


def steps(project: MemoryProject, statement: Statement) -> list[str]:
    """Return the commands that a refusal names."""
    with pytest.raises(Refused) as caught:
        prepare(project, statement)
    return commands_in(caught.value.messages)


def steps_shown(project: MemoryProject, statement: Statement) -> list[str]:
    """Return the commands that are named before a statement is appended."""
    return commands_in(prepare(project, statement).shown)


def status(project: MemoryProject, attempt: str) -> Status:
    """Return the status of an attempt."""
    return project.record_at().attempts[attempt].status


def names(project: MemoryProject, statement: Statement) -> list[str]:
    """Return the names of what is shown before a statement is appended."""
    shown = prepare(project, statement).shown
    commands_in(shown)
    return [message.name for message in shown]


class TestResolve:
    """Unknown outcomes are settled."""

    def test_settles_what_is_unknown(self) -> None:
        """Without --attempt, every unknown attempt that the pattern selects is settled."""
        project = project_with(*unknown("a", OFFERS), *unknown("b", LOANS))
        project.say(Resolve("europe/*", created=True))
        assert status(project, "a") is status(project, "b") is Status.LIVE

    @pytest.mark.parametrize("is_created", [True, False])
    def test_waits_until_the_call_is_settled(self, is_created: bool) -> None:
        """Before the call is settled at the latest nobody can say, and the message names the attempt."""
        project = project_with(*unknown("a", OFFERS, settled_by=NOW + 50))
        assert refusal(project, Resolve(OFFERS, created=is_created)) == ["resolve-too-early"]
        assert all("--attempt a" in command for command in steps(project, Resolve(OFFERS, created=is_created)))
        project.clock = NOW + 50
        assert project.say(Resolve(OFFERS, created=is_created)).facts

    def test_what_exists_without_its_secret_is_named(self) -> None:
        """The answer is lost, and with it the secret; one that is known already is not asked for."""
        project = project_with(*unknown("a", OFFERS), *unknown("b", LOANS))
        project.say(SetSecret(LOANS, "sealed", "b"))
        shown = prepare(project, Resolve("*/*/*", created=True)).shown
        (notice,) = (each for each in shown if each.name == "secret-lost")
        assert OFFERS == notice.where
        assert [f"reconciler secret set {OFFERS} --attempt a"] == commands_in([notice])
        assert "secret-lost" not in [each.name for each in prepare(project, Resolve("*/*/*", created=False)).shown]

    def test_only_not_created_weakens_a_gate(self) -> None:
        """What was not created is sent again."""
        project = project_with(*unknown("a", OFFERS))
        assert prepare(project, Resolve(OFFERS, created=False)).weakens
        assert "created-again" in names(project, Resolve(OFFERS, created=False))
        assert not prepare(project, Resolve(OFFERS, created=True)).weakens

    def test_pasted_again_settles_nothing_else(self) -> None:
        """A command that names an attempt has nothing left to do once that is settled."""
        project = project_with(*unknown("a", OFFERS))
        project.say(Resolve(OFFERS, created=False, attempts=("a",)))
        project.add(*unknown("b", OFFERS))
        assert project.say(Resolve(OFFERS, created=False, attempts=("a",))).facts == ()
        assert status(project, "b") is Status.UNKNOWN

    @pytest.mark.parametrize("is_created", [True, False])
    def test_contradicting_another_person_is_refused(self, is_created: bool) -> None:
        """The second of two people who say the contrary is told so."""
        project = project_with(*unknown("a", OFFERS))
        project.say(Resolve(OFFERS, created=is_created))
        contrary = Resolve(OFFERS, created=not is_created, attempts=("a",))
        assert refusal(project, contrary) == ["resolve-contradicted"]
        with pytest.raises(Refused, match=f"is already recorded as {'created' if is_created else 'not created'}"):
            project.say(contrary)

    def test_nothing_unresolved_is_told_with_what_it_is(self) -> None:
        """Without --attempt, what is settled already is neither taken back nor put back by --force, and said so."""
        project = project_with(*created("a", OFFERS))
        assert refusal(project, Resolve(OFFERS, created=False)) == ["resolve-contradicted"]
        assert names(project, Resolve(OFFERS, created=True)) == ["nothing-to-do"]
        assert names(project, Resolve("europe/*", created=False)) == ["nothing-unresolved"]
        project.say(ConfirmRemoval(OFFERS, attempts=("a",)))
        for force in (True, False):
            assert names(project, Resolve(OFFERS, created=True, force=force)) == ["recorded-as-removed"]

    def test_force_corrects_only_towards_created(self) -> None:
        """A wrong --not-created can be corrected, a --created not: created is never taken back so."""
        project = project_with(*unknown("a", OFFERS))
        project.say(Resolve(OFFERS, created=False))
        project.say(Resolve(OFFERS, created=True, attempts=("a",), force=True))
        assert status(project, "a") is Status.LIVE
        assert refusal(project, Resolve(OFFERS, created=False, attempts=("a",), force=True)) == ["resolve-contradicted"]

    def test_proof_overrules_force(self) -> None:
        """A notification at its own URL proves that it was created."""
        url = f"https://hooks.example/{ID}"
        heard = Received(at=time_of(NOW), base_url=API, url=url, code="ONB10001", first=time_of(NOW), last=time_of(NOW))
        project = project_with(*unknown(ID, OFFERS, url=url, template=OWN), heard)
        assert refusal(project, Resolve(OFFERS, created=False, attempts=(ID,), force=True)) == ["resolve-disproved"]

    def test_signs_need_force(self) -> None:
        """Notifications at its URL that nothing else explains are mere signs: --force overrules them."""
        now, url = time_of(NOW), URL.format("offers")
        heard = Received(at=now, base_url=API, url=url, code="ONB10001", first=now, last=now)
        project = project_with(*unknown("a", OFFERS), heard)
        assert refusal(project, Resolve(OFFERS, created=False)) == ["resolve-against-signs"]
        project.say(Resolve(OFFERS, created=False, attempts=("a",), force=True))
        assert status(project, "a") is Status.GONE

    def test_unknown_names_are_told(self) -> None:
        """What is no address, is not recorded, or names an attempt of elsewhere, is refused."""
        project = project_with(*unknown("a", OFFERS), *unknown("b", LOANS))
        assert refusal(project, Resolve("offers", created=True), SelectionError) == ["bad-address"]
        assert refusal(project, Resolve(f"{EU}/offer", created=True), SelectionError) == ["not-recorded"]
        assert refusal(project, Resolve(OFFERS, created=True, attempts=("b",))) == ["attempt-unknown"]


class TestImport:
    """What was created by other means is recorded."""

    def test_records_as_desired_and_skips_what_is_recorded(self) -> None:
        """Only the codes that are missing are recorded; said again, nothing is."""
        desired = desired_of({OFFERS: (("ONB10001", "ONB10002"), URL.format("offers"))})
        project = project_with(*created("a", OFFERS), desired=desired)
        outcome = project.say(Import(OFFERS))
        assert [fact.what.codes for fact in outcome.facts if isinstance(fact, Exists)] == [("ONB10002",)]
        assert project.say(Import(OFFERS)).facts == ()
        assert names(project, Import(OFFERS)) == ["recorded-already"]
        assert names(project, Import("*/*")) == ["nothing-to-do"]  # another one is of one address

    def test_several_weaken_a_gate(self) -> None:
        """One import a person can check at a glance, several not."""
        desired = desired_of({OFFERS: (("ONB10001",), URL.format("o")), LOANS: (("ONB10002",), URL.format("l"))})
        project = project_with(desired=desired)
        assert prepare(project, Import("*/*")).weakens
        assert not prepare(project, Import(OFFERS)).weakens

    def test_what_nobody_wants_needs_url_and_codes(self) -> None:
        """An address that config/ does not have is imported with a URL and codes."""
        project = project_with()
        assert refusal(project, Import(OFFERS), SelectionError) == ["not-desired"]
        assert refusal(project, Import(OFFERS, url=URL.format("x"))) == ["codes-needed"]
        project.say(Import(OFFERS, url=URL.format("x"), codes=("ONB10001",)))
        assert [attempt.url for attempt in project.record_at().attempts.values()] == [URL.format("x")]

    def test_template_needs_an_id(self) -> None:
        """Of a URL with {attempt} one says which it was, in one of two ways; both record the same."""
        desired = desired_of({OFFERS: (("ONB10001",), OWN)})
        project = project_with(desired=desired)
        assert refusal(project, Import(OFFERS)) == ["attempt-needed"]
        assert steps(project, Import(OFFERS)) == [
            f"reconciler state import {OFFERS} --attempt ID",
            f"reconciler state import {OFFERS} --url URL",
        ]
        by_url = prepare(project, Import(OFFERS, url=f"https://hooks.example/{ID}"))
        assert by_url.digest == prepare(project, Import(OFFERS, attempt=ID)).digest
        project.say(Import(OFFERS, attempt=ID))
        assert project.record_at().attempts[ID].own_url
        assert project.say(Import(OFFERS, attempt=ID)).facts == ()
        assert project.say(Import(OFFERS)).facts == ()

    @pytest.mark.parametrize("url", [f"https://HOOKS.example:443/{ID}", f"HTTPS://hooks.example/{ID}"])
    def test_url_as_somebody_spells_it(self, url: str) -> None:
        """A URL is recognised in every spelling that compares equal, or the next apply would create it again."""
        project = project_with(desired=desired_of({OFFERS: (("ONB10001",), OWN)}))
        project.say(Import(OFFERS, url=url))
        assert project.record_at().attempts[ID].own_url

    def test_id_of_another_address(self) -> None:
        """An attempt that is in force under another address is not taken for this one's: it was renamed, or is not."""
        desired = desired_of({OFFERS: (("ONB10001",), OWN), LOANS: (("ONB10002",), OWN)})
        project = project_with(desired=desired)
        project.say(Import(OFFERS, attempt=ID))
        assert steps(project, Import(LOANS, attempt=ID)) == [f"reconciler state mv {OFFERS} {LOANS}"]
        assert refusal(project, Import(LOANS, attempt=ID)) == ["recorded-elsewhere"]

    def test_removed_by_mistake_is_put_back(self) -> None:
        """What exists in spite of its confirmed removal is named by the import, and put back by `resolve --force`."""
        project = project_with(desired=desired_of({OFFERS: (("ONB10001",), OWN)}))
        project.say(Import(OFFERS, attempt=ID))
        project.say(ConfirmRemoval(OFFERS, attempts=(ID,)))
        assert steps(project, Import(OFFERS, attempt=ID)) == [
            f"reconciler state resolve {OFFERS} --created --attempt {ID} --force"
        ]
        assert refusal(project, Import(OFFERS, attempt=ID)) == ["recorded-as-gone"]
        assert names(project, Resolve(OFFERS, created=True, attempts=(ID,))) == ["recorded-as-removed"]
        project.say(Resolve(OFFERS, created=True, attempts=(ID,), force=True))
        assert status(project, ID) is Status.LIVE
        project.say(ConfirmRemoval(OFFERS, attempts=(ID,)))
        assert status(project, ID) is Status.GONE

    def test_own_url_of_before_names_its_attempt(self) -> None:
        """What was wrongly said not to be created is put back, though config/ has another URL by now; not beside it."""
        url = f"https://hooks.example/old/{ID}"
        facts = unknown(ID, OFFERS, url=url, template="https://hooks.example/old/{attempt}")
        project = project_with(*facts, desired=desired_of({OFFERS: (("ONB10001",), OWN)}))
        project.say(Resolve(OFFERS, created=False, attempts=(ID,)))
        assert steps(project, Import(OFFERS, url=url)) == [
            f"reconciler state resolve {OFFERS} --created --attempt {ID} --force"
        ]

    @pytest.mark.parametrize("template", [URL.format("offers"), OWN])
    def test_another_one_is_named_by_an_id(self, template: str) -> None:
        """A subscription beside the recorded one is recorded by an id, and delivered twice from then on, said once."""
        desired = desired_of({OFFERS: (("ONB10001",), template)})
        url = template.replace("{attempt}", "a")
        project = project_with(*created("a", OFFERS, url=url, template=template), desired=desired)
        (notice,) = prepare(project, Import(OFFERS)).shown
        (way,) = notice.steps
        assert way.command[:5] == ("reconciler", "state", "import", OFFERS, "--attempt")
        another = Import(OFFERS, attempt=ID if way.command[5] == "ID" else way.command[5])
        assert [fact.beside for fact in project.say(another).facts if isinstance(fact, Exists)] == [("a",)]
        assert project.say(another).facts == ()
        found = find_duplicates(project.record_at())
        assert (len(found.delivered), found.recorded) == (1, ())

    @pytest.mark.parametrize("template", [URL.format("old"), "https://hooks.example/old/{attempt}"])
    def test_another_one_at_a_url_of_before(self, template: str) -> None:
        """Nor need its URL be that of config/: named with the id, which stands for {attempt} if it is in the URL."""
        url = template.replace("{attempt}", "a")
        project = project_with(*created("a", OFFERS, url=url, template=template), desired=desired_of())
        assert project.say(Import(OFFERS, url=url, codes=("ONB10001",))).facts == ()
        (way,) = steps_shown(project, Import(OFFERS, url=url, codes=("ONB10001",)))
        assert way.startswith(f"reconciler state import {OFFERS} --url {url} --attempt ")
        another = Import(OFFERS, attempt=ID, url=template.replace("{attempt}", ID), codes=("ONB10001",))
        assert [fact.beside for fact in project.say(another).facts if isinstance(fact, Exists)] == [("a",)]
        assert project.say(another).facts == ()
        record = project.record_at()
        assert (template, "{attempt}" in template) == (record.attempts[ID].template, record.attempts[ID].own_url)
        assert (len(find_duplicates(record).delivered), find_duplicates(record).recorded) == (1, ())

    def test_id_and_url_that_contradict_each_other(self) -> None:
        """A URL with another id than the one named is refused."""
        project = project_with(desired=desired_of({OFFERS: (("ONB10001",), OWN)}))
        assert refusal(project, Import(OFFERS, url=f"https://hooks.example/{ID}", attempt="f" * 32)) == ["bad-attempt"]

    def test_unknown_create_may_be_what_was_imported(self) -> None:
        """A history that was merged brings a create which may be the import: that it exists makes no second one."""
        project = project_with(desired=desired_of({OFFERS: (("ONB10001",), URL.format("offers"))}))
        project.say(Import(OFFERS))
        project.add(*unknown("a", OFFERS))
        project.say(Resolve(OFFERS, created=True, attempts=("a",)))
        found = find_duplicates(project.record_at())
        assert (found.delivered, len(found.recorded)) == ((), 1)

    def test_what_replaced_an_import_removed_by_mistake_is_another(self) -> None:
        """The import and what was created in its place deliver twice: neither may be the other."""
        project = project_with(desired=desired_of({OFFERS: (("ONB10001",), URL.format("offers"))}))
        project.say(Import(OFFERS))
        (held,) = project.record_at().attempts
        project.say(ConfirmRemoval(OFFERS, attempts=(held,)))
        project.add(*created("a", OFFERS))
        assert steps_shown(project, Import(OFFERS))[0].endswith(f"--created --attempt {held} --force")
        project.say(Resolve(OFFERS, created=True, attempts=(held,), force=True))
        assert len(find_duplicates(project.record_at()).delivered) == 1

    def test_unknown_and_renamed_are_not_imported_twice(self) -> None:
        """A route that may exist already names `resolve`, one under another address `state mv`."""
        desired = desired_of({OFFERS: (("ONB10001",), URL.format("offers"))})
        project = project_with(*unknown("a", OFFERS), desired=desired)
        assert refusal(project, Import(OFFERS)) == ["outcome-unknown"]
        project = project_with(*created("a", LOANS, url=URL.format("offers")), desired=desired)
        assert steps(project, Import(OFFERS)) == [f"reconciler state mv {LOANS} {OFFERS}"]

    def test_pattern_leaves_a_changed_url_out(self) -> None:
        """What is recorded with another URL is imported only where its address is named."""
        desired = desired_of({OFFERS: (("ONB10001",), URL.format("new"))})
        project = project_with(*created("a", OFFERS), desired=desired)
        assert refusal(project, Import("*/*")) == ["recorded-otherwise"]
        assert project.say(Import(OFFERS)).facts

    def test_other_service_is_refused(self) -> None:
        """An import binds no target to another service."""
        desired = desired_of({OFFERS: (("ONB10009",), URL.format("o"))}, {EU: "https://other.example"})
        project = project_with(*created("a", OFFERS), desired=desired)
        assert refusal(project, Import(OFFERS)) == ["other-service"]

    def test_values_are_checked_as_in_config(self) -> None:
        """A URL or a code that config/ would not take is not recorded either; nor is a template."""
        project = project_with()
        bad = Import(OFFERS, url="http://hooks.example/x", codes=("onb1",))
        assert refusal(project, bad, SettingsError) == ["url-http", "bad-code"]
        assert refusal(project, Import(OFFERS, url=OWN, codes=("ONB10001",))) == ["attempt-needed"]

    @pytest.mark.parametrize("code", ["ONB10001", "LOA99999"])
    @pytest.mark.parametrize(
        "form",
        [
            "{},ONB10011", "{}1", "{} ", "{}\n", " {}", "A{}", "{}-", "{0}{0}", "", "ONB1000", "onb10001",
            "ONB\uff11\uff10\uff10\uff10\uff11",
        ],
    )  # fmt: skip
    def test_a_code_is_taken_whole(self, form: str, code: str) -> None:
        """More or less than one code is none, in whatever place among those given."""
        project = project_with()
        for codes in ((form.format(code),), (code, form.format(code)), (form.format(code), code)):
            assert refusal(project, Import(OFFERS, url=URL.format("o"), codes=codes), SettingsError) == ["bad-code"]

    def test_options_need_one_address(self) -> None:
        """--attempt, --url and --code say something of one subscription."""
        project = project_with(desired=desired_of({OFFERS: (("ONB10001",), URL.format("o"))}))
        assert refusal(project, Import("*/*", codes=("ONB10001",))) == ["import-one-address"]
        assert refusal(project, Import(OFFERS, attempt="x")) == ["bad-attempt"]


class TestMove:
    """Subscriptions are renamed."""

    def test_moves_every_attempt(self) -> None:
        """All attempts belong to the new address; said again, nothing is left to do."""
        project = project_with(*created("a", OFFERS), *unknown("b", OFFERS, "ONB10002"))
        project.say(Move(OFFERS, LOANS))
        assert {attempt.id for attempt in project.record_at().at_address(LOANS)} == {"a", "b"}
        assert project.say(Move(OFFERS, LOANS)).facts == ()

    def test_said_again_later(self) -> None:
        """Each rename that led to an address is recorded; the last one counts; one from where it never was is none."""
        third = f"{EU}/third"
        project = project_with(*created("a", OFFERS))
        project.say(Move(OFFERS, LOANS))
        project.say(Move(LOANS, third))
        assert [["nothing-to-do"]] * 2 == [names(project, Move(source, third)) for source in (OFFERS, LOANS)]
        assert ["not-recorded"] == refusal(project, Move(f"{EU}/offer", third), SelectionError)
        attempt = project.record_at().attempts["a"]
        assert (attempt.address, attempt.other_addresses) == (third, ())

    def test_settles_rival_names(self) -> None:
        """Of two names that two histories gave, one can be chosen, the one in use too."""
        names = [Renamed(at=time_of(NOW), attempts=("a",), to=to) for to in (f"{EU}/x", f"{EU}/y")]
        project = project_with(*created("a", OFFERS), *names)
        address = project.record_at().attempts["a"].address
        project.say(Move(address, address))
        assert project.record_at().attempts["a"].other_addresses == ()

    def test_address_in_use_is_refused(self) -> None:
        """Two subscriptions never become one by a rename."""
        project = project_with(*created("a", OFFERS), *created("b", LOANS))
        assert refusal(project, Move(OFFERS, LOANS)) == ["address-in-use"]

    def test_other_target_must_be_the_same_service(self) -> None:
        """To another target it moves only within one service."""
        targets = {EU: API, "usa/staging": API, "usa/production": "https://us.example"}
        project = project_with(*created("a", OFFERS), desired=desired_of(targets=targets))
        assert refusal(project, Move(OFFERS, "usa/production/offers")) == ["other-service"]
        project.say(Move(OFFERS, "usa/staging/offers"))
        assert project.record_at().attempts["a"].address == "usa/staging/offers"

    def test_a_misspelt_target_is_told_first(self) -> None:
        """A target that is neither declared nor in the record has no service to compare."""
        project = project_with(*created("a", OFFERS))
        assert refusal(project, Move(OFFERS, "europe/stagin/offers"), SelectionError) == ["target-unknown"]


class TestRebind:
    """A service has moved."""

    def test_names_what_the_settings_have(self) -> None:
        """It weakens a gate, and is nothing to do where the settings agree."""
        project = project_with(*created("a", OFFERS), desired=desired_of(targets={EU: "https://new.example"}))
        assert prepare(project, Rebind(EU)).weakens
        project.say(Rebind(EU))
        record = project.record_at()
        assert record.service_of("https://new.example") == record.service_of(API)
        assert project.say(Rebind(EU)).facts == ()

    def test_unites_services_that_two_histories_brought(self) -> None:
        """A target that is bound to two services, which nobody has said to be one, is bound to neither."""
        moved = created("b", OFFERS, "ONB10002", base_url="https://new.example")
        project = project_with(*created("a", OFFERS), *moved, desired=desired_of(targets={EU: "https://new.example"}))
        assert project.say(Rebind(EU)).facts
        assert project.record_at().service_of("https://new.example") == project.record_at().service_of(API)

    def test_another_account_counts(self) -> None:
        """The account is bound as well, and an undeclared target is refused."""
        project = project_with(*created("a", OFFERS, account="sha256:one"))
        assert project.say(Rebind(EU)).facts == ()
        project.known_accounts = {next(iter(project.desired.targets)): "sha256:two"}
        assert project.say(Rebind(EU)).facts
        assert refusal(project, Rebind("asia/staging"), SelectionError) == ["target-unknown"]
        assert refusal(project_with(), Rebind(EU)) == ["target-unbound"]

    def test_can_be_reviewed_without_the_client_id(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A job that has no credentials shows it with the digest that a job with them has; it is not "nothing"."""
        monkeypatch.setenv("CI", "true")
        project = project_with(*created("a", OFFERS, account="sha256:one"))
        shown = prepare(project, Rebind(EU))
        assert shown.facts
        project.known_accounts = {next(iter(project.desired.targets)): "sha256:two"}
        assert shown.digest == prepare(project, Rebind(EU)).digest
        project.say(Rebind(EU))
        assert project.say(Rebind(EU)).facts == ()


class TestLosses:
    """Losses are accepted and ended."""

    def accepted(self, *facts: AnyFact) -> LossOpened:
        """Return a loss that was accepted just now."""
        return LossOpened(at=time_of(NOW), loss="late", cause="accepted")

    def test_complete_names_what_it_ends(self) -> None:
        """Without --loss it ends those that are open; pasted late, it ends no other."""
        project = project_with(complete=False)
        proposal = prepare(project, Complete())
        assert proposal.weakens
        assert [fact.losses for fact in proposal.facts if isinstance(fact, Completed)] == [("begun",)]
        append(project, Complete(), proposal)
        project.add(LossOpened(at=time_of(NOW - 999), loss="later", cause="accepted"))
        assert project.say(Complete(("begun",))).facts == ()
        assert [loss.id for loss in project.record_at().open_losses] == ["later"]

    def test_complete_is_refused_while_something_is_unknown(self) -> None:
        """An unknown outcome comes first, wherever it is; one that was superseded does not count."""
        retry = created("b", OFFERS, supersedes=("a",))
        project = project_with(*unknown("a", OFFERS), complete=False)
        assert refusal(project, Complete()) == ["outcome-unknown"]
        assert project_with(*unknown("a", OFFERS), *retry, complete=False).say(Complete()).facts

    def test_complete_waits_for_calls_from_before_a_loss(self) -> None:
        """An accepted loss ends no sooner than the last call from before it."""
        project = project_with(self.accepted())
        assert refusal(project, Complete(("late",))) == ["loss-too-recent"]
        project.clock = NOW + 375
        assert project.say(Complete(("late",))).facts

    def test_complete_leaves_the_loss_of_a_copy(self) -> None:
        """Only the copy ends its loss; the others are named."""
        copy = LossOpened(at=time_of(NOW), loss="c", cause="copy", of="memory:b")
        project = project_with(copy, complete=False)
        assert refusal(project, Complete()) == ["loss-of-copy"]
        assert steps(project, Complete()) == [
            "reconciler state copy memory:b memory:a",
            "reconciler state complete --loss begun",
        ]
        assert project.say(Complete(("begun",))).facts
        assert refusal(project, Complete(("nothing",))) == ["loss-unknown"]

    def test_complete_shows_what_the_next_apply_creates(self) -> None:
        """What config/ desires beyond the record is shown before anybody agrees."""
        desired = desired_of({OFFERS: (("ONB10001",), URL.format("offers")), LOANS: (("ONB10001",), OWN)})
        project = project_with(*created("a", OFFERS), desired=desired, complete=False)
        shown = prepare(project, Complete()).shown
        beyond = [message.where for message in shown if message.name == "beyond-record"]
        (step,) = (step for message in shown if message.name == "beyond-record" for step in message.steps)
        assert step.command == ("reconciler", "state", "import", LOANS, "--attempt", "ID")
        assert beyond == [f"{LOANS}: ONB10001 to {OWN}"]

    def test_accept_loss_names_the_heads_missed(self) -> None:
        """A record that was set back goes on from what there is, with a loss open; waiting statements are refused."""
        project = project_with()
        before = project.stores["memory:a"].data
        project.add(*created("a", OFFERS))
        head = project.journal.read().record.head
        project.stores["memory:a"].data = before
        assert refusal(project, Complete()) == ["heads-missing"]
        assert prepare(project, AcceptLoss()).weakens
        project.say(AcceptLoss())
        assert project.record_at().contains(head)
        assert project.journal.read().standing.first_gate_open
        assert not project.plan_opens()

    def test_accept_loss_begins_a_missing_record_under_its_id(self) -> None:
        """From nothing it goes on under the id that the note names, and needs `complete`."""
        project = project_with(*created("a", OFFERS))
        head = project.record_at().head
        project.stores["memory:a"].data = None
        with pytest.raises(RecordMissing):
            project.say(Complete())
        project.say(AcceptLoss())
        assert (project.record_at().id, project.record_at().contains(head)) == (RECORD, True)
        assert not project.plan_opens()

    def test_accept_loss_makes_the_second_place_again(self) -> None:
        """A missing second place closes the gate until the loss is accepted."""
        project = project_with(*created("a", OFFERS))
        project.stores["memory:a"].second = ""
        assert refusal(project, RequestRemoval(OFFERS)) == ["second-missing"]
        project.say(AcceptLoss())
        assert project.stores["memory:a"].second == project.record_at().head

    def test_accept_loss_may_be_said_of_a_restored_record(self) -> None:
        """Whoever restored a bucket says so, though this machine misses nothing; pasted twice, it opens one loss."""
        project = project_with()
        assert project.say(AcceptLoss()).facts
        assert project.say(AcceptLoss()).facts == ()
        project.clock += 375
        assert project.say(AcceptLoss()).facts

    @pytest.mark.parametrize("cause", ["begun", "copy"])
    def test_accept_loss_beside_one_that_nobody_accepted(self, cause: Literal["begun", "copy"]) -> None:
        """A loss that was opened just now otherwise is another one."""
        assert project_with(LossOpened(at=time_of(NOW), loss="new", cause=cause)).say(AcceptLoss()).facts

    def test_accept_loss_needs_a_closed_record_to_be_lost_elsewhere(self) -> None:
        """Towards a place that continues it, it is refused; towards one that is missing or closed, it opens again."""
        project = project_with(Closed(at=time_of(NOW), to="memory:b", loss="begun"))
        assert refusal(project, Complete()) == ["record-closed"]
        project.stores["memory:b"] = MemoryStore(record_of(*created("a", OFFERS)))
        assert refusal(project, AcceptLoss()) == ["record-continues"]
        project.stores["memory:b"].data = record_of(Closed(at=time_of(NOW), to="memory:c"))
        project.say(AcceptLoss())
        assert project.record_at().closed_to == ""

    def test_accept_loss_needs_a_known_record(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where nothing is known, the record begins with `state init`, which a CI runner is not told."""
        assert steps(MemoryProject(), AcceptLoss()) == ["reconciler state init"]
        monkeypatch.setenv("CI", "true")
        assert steps(MemoryProject(), AcceptLoss()) == []

    def test_accept_loss_is_no_way_around_record(self) -> None:
        """A record that `record:` does not name stays refused."""
        project = project_with()
        project.journal.expected = "f" * 32
        assert refusal(project, AcceptLoss()) == ["other-record"]


class TestBegin:
    """A record begins."""

    def test_begins_with_a_loss(self) -> None:
        """A new record is not taken for complete, and tells its id for config/."""
        project = MemoryProject(desired=desired_of(state="memory:a"))
        project.flags = Flags()
        begin, outcome = prepare(project, Begin()), project.say(Begin())
        assert [type(fact) for fact in outcome.facts] == [Begun, LossOpened]
        assert [message.name for message in outcome.messages] == ["record-begun"]
        commands = commands_in(begin.shown)
        assert f"reconciler state complete --loss {begin.ids[0]}" in commands  # pasted late, it ends no later one
        assert project.journal.read().standing.first_gate_open
        assert not project.plan_opens()

    def test_rehearsal_names_no_record_in_config(self) -> None:
        """Where a variable or flag names the place, `record:` is not looked at: it stays that of the real record."""
        assert MemoryProject().say(Begin()).messages == ()

    def test_complete_weakens(self) -> None:
        """With --complete creates are open, and somebody must have said so."""
        project = MemoryProject()
        assert prepare(project, Begin(complete=True)).weakens
        assert names(project, Begin(complete=True)) == ["appends", "said-by-complete"]
        project.say(Begin(complete=True))
        assert project.plan_opens()

    def test_refused_where_a_record_is_known(self) -> None:
        """There is one, config/ names one, this machine or the second place knows one."""
        project = project_with()
        assert refusal(project, Begin()) == ["record-exists"]
        assert steps(project, Begin()) == ["reconciler state show"]
        begun = project_with(complete=False)
        assert steps(begun, Begin())[1:] == ["reconciler state complete --loss begun"]
        project.stores["memory:a"].data = None
        assert refusal(project, Begin()) == ["record-known"]
        fresh = MemoryProject(project.stores)
        fresh.journal.expected = RECORD
        assert refusal(fresh, Begin()) == ["record-named"]
        fresh = MemoryProject({"memory:a": MemoryStore(second=True)})
        fresh.stores["memory:a"].second = "f" * 64
        assert refusal(fresh, Begin()) == ["record-known"]

    def test_refused_where_the_services_have_a_record_elsewhere(self) -> None:
        """One service has one record on a machine, whatever its place."""
        project = MemoryProject()
        project.notes.write(Note(RECORD, ("https://api.example",), "memory:z", 2, "f" * 64))
        project.stores["memory:a"] = MemoryStore()
        assert refusal(project, Begin()) == ["record-known"]


class TestShown:
    """What a person agrees to."""

    def test_what_a_statement_means_is_shown_beside_its_facts(self) -> None:
        """The facts alone do not tell what follows from them, or what is left to do."""
        project = project_with(*created("a", OFFERS), desired=desired_of(targets={EU: "https://new.example"}))
        incomplete = project_with(complete=False)
        shown = [
            names(MemoryProject(), Begin())[2:], names(incomplete, AcceptLoss())[1:], names(incomplete, Complete())[1:],
            names(project, Rebind(EU))[1:], names(project, RequestRemoval(OFFERS))[1:],
        ]  # fmt: skip
        project.say(RequestRemoval(OFFERS))
        shown.append(names(project, CancelRemoval(OFFERS))[1:])
        expected = (
            "until-complete", "until-complete", "said-by-complete", "said-by-rebind", "send-request", "tell-operator",
        )  # fmt: skip
        assert [[name] for name in expected] == shown


class TestRemoval:
    """The operator is asked, and answers."""

    def test_request_cancel_confirm(self) -> None:
        """A request can be taken back; confirmed, the attempt is gone; said again, nothing is left to do."""
        project = project_with(*created("a", OFFERS))
        project.say(RequestRemoval(OFFERS))
        assert status(project, "a") is Status.AWAITING_REMOVAL
        assert project.say(RequestRemoval(OFFERS)).facts == ()
        project.say(CancelRemoval(OFFERS))
        assert status(project, "a") is Status.LIVE
        assert project.say(CancelRemoval(OFFERS)).facts == ()
        project.say(RequestRemoval(OFFERS))
        assert not prepare(project, ConfirmRemoval(OFFERS)).weakens
        project.say(ConfirmRemoval(OFFERS))
        assert status(project, "a") is Status.GONE
        assert project.say(ConfirmRemoval(OFFERS)).facts == ()

    def test_codes(self) -> None:
        """Some codes of a subscription can be removed, and of a request taken back."""
        project = project_with(*created("a", OFFERS, "ONB10001", "ONB10002", "ONB10003"))
        project.say(RequestRemoval(OFFERS, codes=("ONB10001", "ONB10002")))
        project.say(CancelRemoval(OFFERS, codes=("ONB10002",)))
        assert project.record_at().attempts["a"].requested_codes == ("ONB10001",)
        project.say(ConfirmRemoval(OFFERS, codes=("ONB10001",)))
        assert project.record_at().attempts["a"].codes == ("ONB10002", "ONB10003")
        assert refusal(project, RequestRemoval(OFFERS, codes=("ONB19999",))) == ["code-unknown"]

    @pytest.mark.parametrize("by_plan", [True, False])
    def test_rest_of_a_request(self, by_plan: bool) -> None:
        """What is not taken back is still requested by whom it was: a person's, which outlasts a plan's, stays."""
        codes = ("ONB10001", "ONB10002", "ONB10003")
        asked = RemovalRequested(at=time_of(NOW), attempt="a", codes=codes, by_plan=by_plan)
        project = project_with(*created("a", OFFERS, *codes), asked)
        for left in (2, 1):
            project.say(CancelRemoval(OFFERS, codes=codes[left:]))
            attempt = project.record_at().attempts["a"]
            assert (codes[:left], by_plan) == (attempt.requested_codes, attempt.by_plan)
        assert bool(project.say(RequestRemoval(OFFERS, codes=codes[:1])).facts) is by_plan
        assert not project.record_at().attempts["a"].by_plan

    def test_codes_said_again(self) -> None:
        """What is confirmed of some codes is recorded already, also where the same pattern has other subscriptions."""
        project = project_with(*created("a", OFFERS, "ONB10001", "ONB10002"), *created("b", LOANS, "ONB10003"))
        project.say(ConfirmRemoval(OFFERS, ("a",), codes=("ONB10001",)))
        for where, attempts in ((OFFERS, ("a",)), (OFFERS, ()), ("europe/*", ())):
            assert names(project, ConfirmRemoval(where, attempts, codes=("ONB10001",))) == ["nothing-to-do"]

    @pytest.mark.parametrize("verb", [RequestRemoval, CancelRemoval, ConfirmRemoval])
    def test_what_is_unknown_is_settled_first(self, verb: type[RequestRemoval]) -> None:
        """Where nothing else can be meant, it is not called recorded already; what is in force goes on without it."""
        project = project_with(*unknown("a", OFFERS), *created("b", LOANS))
        assert refusal(project, verb(OFFERS)) == ["outcome-unknown"]
        assert refusal(project, verb("europe/*", attempts=("a",))) == ["outcome-unknown"]
        project.say(RequestRemoval(LOANS))
        assert prepare(project, verb("europe/*")).shown

    def test_live_one_must_be_named(self) -> None:
        """`confirm` of a live one names it and weakens a gate; pasted again, it does not end what took its place."""
        project = project_with(*created("a", OFFERS))
        assert refusal(project, ConfirmRemoval(OFFERS)) == ["removal-not-requested"]
        assert refusal(project, ConfirmRemoval(f"{EU}/*")) == ["removal-not-requested"]
        assert prepare(project, ConfirmRemoval(OFFERS, ("a",))).weakens
        project.say(ConfirmRemoval(OFFERS, ("a",)))
        project.add(*created("b", OFFERS))
        for again in (ConfirmRemoval(OFFERS), ConfirmRemoval(OFFERS, ("a",))):
            assert project.say(again).facts == ()
        assert status(project, "b") is Status.LIVE

    def test_advice_to_confirm_names_the_codes(self) -> None:
        """Of a live one, those that were given, or those of a cancelled request: pasted, it must not end the rest."""
        project = project_with(*created("a", OFFERS, "ONB10001", "ONB10002"))
        confirm = f"reconciler removal confirm {OFFERS} --attempt a"
        assert steps(project, ConfirmRemoval(OFFERS)) == [confirm]
        one = ("ONB10002",)
        assert steps(project, ConfirmRemoval(OFFERS, codes=one)) == [f"{confirm} --code ONB10002"]
        project.say(RequestRemoval(OFFERS, codes=one))
        project.say(CancelRemoval(OFFERS, codes=one))
        assert steps(project, ConfirmRemoval(OFFERS)) == [f"{confirm} --code ONB10002"]

    @pytest.mark.parametrize("cancelled", [True, False])
    def test_advice_after_a_part_was_removed_is_not_the_command_that_gave_it(self, cancelled: bool) -> None:
        """It names each remaining code, and confirms their removal."""
        project = project_with(*created("a", OFFERS, "ONB10001", "ONB10002", "ONB10003"))
        if cancelled:
            project.say(RequestRemoval(OFFERS))
            project.say(CancelRemoval(OFFERS))
        project.say(ConfirmRemoval(OFFERS, ("a",), ("ONB10001",)))
        rest = ("ONB10002", "ONB10003")
        advised = " ".join(("reconciler removal confirm", OFFERS, "--attempt a", *(f"--code {code}" for code in rest)))
        assert [advised] == steps_shown(project, ConfirmRemoval(OFFERS, ("a",)))
        project.say(ConfirmRemoval(OFFERS, ("a",), rest))
        assert status(project, "a") is Status.GONE

    def test_a_subscription_that_is_recorded_twice_is_pointed_out(self) -> None:
        """Once one of the two is confirmed as removed, the other would go on counting as in force."""
        imported = Exists(at=time_of(NOW), attempt="b", what=what(LOANS, url=URL.format("offers"), settled_by=0))
        project = project_with(*created("a", OFFERS, "ONB10001", "ONB10002"), imported)
        assert "recorded-twice" in names(project, ConfirmRemoval(OFFERS, ("a",)))
        other = [f"reconciler removal confirm {LOANS} --attempt b"]
        for codes, advised in (((), other), (("ONB10001",), other), (("ONB10002",), [])):
            assert advised == steps_shown(project, ConfirmRemoval(OFFERS, ("a",), codes))
        assert [] == steps_shown(project, ConfirmRemoval(f"{EU}/*", ("a", "b")))

    def test_confirmed_codes_are_not_taken_for_the_rest(self) -> None:
        """Pasted again after surplus codes were confirmed, it does not end the rest."""
        project = project_with(*created("a", OFFERS, "ONB10001", "ONB10002"))
        project.say(RequestRemoval(OFFERS, codes=("ONB10001",)))
        project.say(ConfirmRemoval(OFFERS, ("a",)))
        assert project.say(ConfirmRemoval(OFFERS, ("a",))).facts == ()
        assert status(project, "a") is Status.LIVE


class TestSecretAndNotifications:
    """Secrets and notifications belong to attempts."""

    def test_secret(self) -> None:
        """A secret belongs to one attempt; its ciphertext does not count in the digest."""
        project = project_with(*created("a", OFFERS), *created("b", OFFERS, "ONB10002"))
        assert refusal(project, SetSecret(OFFERS, "sealed")) == ["attempt-ambiguous"]
        with pytest.raises(Refused, match="several subscriptions"):
            prepare(project, SetSecret(OFFERS, "sealed"))
        assert steps(project, SetSecret(OFFERS, "sealed")) == [
            f"reconciler secret set {OFFERS} --attempt {attempt}" for attempt in "ab"
        ]
        digests = {prepare(project, SetSecret(OFFERS, text, "a")).digest for text in ("sealed", "sealed otherwise")}
        assert len(digests) == 1
        project.say(SetSecret(OFFERS, "sealed", "a"))
        assert project.record_at().attempts["a"].secrets == ("sealed",)

    @pytest.mark.parametrize("texts", [("one", "other"), ("other", "one")])
    def test_secrets_of_one_second(self, texts: tuple[str, str]) -> None:
        """The one that was set last is the last."""
        project = project_with(*created("a", OFFERS))
        for text in texts:
            project.say(SetSecret(OFFERS, text))
        assert project.record_at().attempts["a"].secrets == texts

    def test_spans_that_are_known_are_left_out(self) -> None:
        """The same file observed twice appends once."""
        heard = Received(
            at="", base_url=API, url=URL.format("offers"), code="ONB10001", first=time_of(1), last=time_of(2)
        )
        project = project_with(*created("a", OFFERS))
        assert project.say(Observe((heard,))).facts
        assert project.say(Observe((heard,))).facts == ()


class TestAppending:
    """What was shown is appended, and nothing else."""

    def test_digest_leaves_out_time_person_and_new_ids(self) -> None:
        """What one person reviewed another one can append later; of other facts the digest differs."""
        desired = desired_of({OFFERS: (("ONB10001",), URL.format("o")), LOANS: (("ONB10002",), URL.format("l"))})
        project = project_with(desired=desired)
        other = MemoryProject(project.stores, desired)
        other.clock = NOW + 500
        other.person = "somebody else"
        digest = prepare(project, Import(OFFERS)).digest
        assert digest == prepare(other, Import(OFFERS)).digest
        assert digest != prepare(project, Import(LOANS)).digest
        with pytest.raises(Refused):
            refuse_unexpected(prepare(project, Import(LOANS)), digest)
        both = prepare(project, Import("*/*"))
        assert both.ids == tuple(fact.attempt for fact in both.facts if isinstance(fact, Exists))
        assert len({*both.ids}) == 2

    @pytest.mark.parametrize("statement", [Begin(), AcceptLoss(), Import(OFFERS)])
    def test_appends_the_ids_that_were_shown(self, statement: Statement) -> None:
        """A new record, loss or attempt has the id that a person was shown, after a conflict too."""
        desired = desired_of({OFFERS: (("ONB10001",), URL.format("o"))})
        project = MemoryProject(desired=desired) if statement == Begin() else project_with(desired=desired)
        proposal = prepare(project, statement)
        project.stores["memory:a"].declare_failures(MOVED)
        assert append(project, statement, proposal).facts == proposal.facts

    def test_appends_only_what_was_shown(self) -> None:
        """If the record has changed what a statement comes to, it is refused."""
        project = project_with(*unknown("a", OFFERS))
        statement = Resolve(OFFERS, created=False)
        proposal = prepare(project, statement)
        project.add(*unknown("b", OFFERS, "ONB10002"))
        assert raised(Refused, append, project, statement, proposal).name == "record-changed"

    def test_tells_when_somebody_said_it_meanwhile(self) -> None:
        """Two people who say the same of one attempt: the second has nothing left to do."""
        project = project_with(*unknown("a", OFFERS))
        proposal = prepare(project, Resolve(OFFERS, created=False))
        MemoryProject(project.stores).say(Resolve(OFFERS, created=False))
        assert append(project, Resolve(OFFERS, created=False), proposal).facts == ()

    def test_conflicts_are_proposed_again(self) -> None:
        """Another run's append changes nothing if the statement comes to the same; ten in a row end it."""
        project = project_with(*unknown("a", OFFERS))
        store = project.stores["memory:a"]
        store.declare_failures(MOVED, MOVED)
        assert project.say(Resolve(OFFERS, created=True)).facts
        store.declare_failures(*[HeadMoved(*MOVED.messages)] * CONFLICTS)
        assert refusal(project, RequestRemoval(OFFERS)) == ["too-many-conflicts"]

    @pytest.mark.parametrize("times", [1, 3, CONFLICTS - 1])
    @pytest.mark.parametrize(
        "statement",
        [Resolve(OFFERS, created=True), Import(LOANS), Move(OFFERS, LOANS), SetSecret(OFFERS, "sealed", "a")],
    )
    def test_goes_through_after_those_who_were_first(self, statement: Statement, times: int) -> None:
        """The record is read again after each conflict, with what the others appended."""
        desired = desired_of({LOANS: (("ONB10001",), URL.format("loans"))})
        project = project_with(*unknown("a", OFFERS), desired=desired)
        others = MemoryProject(project.stores)
        store = project.stores["memory:a"]
        proposal, appends = prepare(project, statement), store.append

        def overtaken(*arguments: Any, **second: Any) -> None:
            nonlocal times
            times -= 1
            store.append = appends  # type: ignore[method-assign]
            others.add(*created(f"other{times}", f"{EU}/other"))
            if times:
                store.append = overtaken  # type: ignore[method-assign]
            appends(*arguments, **second)

        store.append = overtaken  # type: ignore[method-assign]
        outcome = append(project, statement, proposal)
        assert (len(proposal.facts), outcome.head) == (len(outcome.facts), project.record_at().head)
        assert 0 == times

    @pytest.mark.parametrize("problem", [MOVED, DOWN])
    def test_lost_answer_is_believed_once_the_record_shows_it(self, problem: Exception) -> None:
        """An append that was done and reported as failed is not done twice."""
        project = project_with(*created("a", OFFERS))
        project.stores["memory:a"].declare_lost_answers(problem)
        assert project.say(RequestRemoval(OFFERS)).facts
        assert len(project.record_at().attempts["a"].requests) == 1

    def test_failure_is_raised_if_the_record_does_not_show_it(self) -> None:
        """A store that failed is believed."""
        project = project_with(*created("a", OFFERS))
        project.stores["memory:a"].declare_failures(DOWN)
        assert refusal(project, RequestRemoval(OFFERS), StoreUnavailable) == ["store-down"]

    def test_confirmed_facts_carry_time_and_person(self) -> None:
        """Each fact says when, and who said it."""
        project = project_with(*created("a", OFFERS))
        (fact,) = project.say(ConfirmRemoval(OFFERS, ("a",))).facts
        assert isinstance(fact, RemovalConfirmed)
        assert (fact.at, fact.by) == (time_of(NOW), {"user": "somebody"})


def test_what_survives_in_an_answer_alone() -> None:
    """`resolve` repeats the whole call, so a record that lost the intent learns it."""
    project = project_with(*unknown("a", OFFERS))
    (fact,) = project.say(Resolve(OFFERS, created=True, note="the operator says so")).facts
    assert isinstance(fact, Exists)
    assert fact.what == what(OFFERS)


class TestTwice:
    """Whatever is pasted again settles nothing else."""

    STATEMENTS = (
        *(Resolve(where, created=said, attempts=("u",)) for where in (OFFERS, "*/*") for said in (True, False)),
        *(kind(OFFERS, ("a",)) for kind in (RequestRemoval, CancelRemoval, ConfirmRemoval)),
        *(kind(OFFERS, ("a",), ("ONB10002",)) for kind in (RequestRemoval, CancelRemoval, ConfirmRemoval)),
        Import(LOANS), Move(OFFERS, f"{EU}/moved"), Rebind(EU), Complete(("begun",)), AcceptLoss(),
    )  # fmt: skip

    @settings(max_examples=150)
    @given(st.lists(st.sampled_from(STATEMENTS), min_size=1, max_size=6))
    def test_said_again_it_changes_nothing(self, statements: list[Statement]) -> None:
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


class TestFiles:
    """A record in a file belongs to one machine."""

    def project(self, path: Path) -> Project:
        """Return a project with a record in a file, and a loss open."""
        project = Project(Flags(state=str(path)), Sources({}, Path()))
        project.__dict__["desired"] = desired_of()
        return project

    def test_file_from_elsewhere_begins_with_accept_loss(self, tmp_path: Path) -> None:
        """A file that was copied by hand closes the first gate, until someone accepts it with a loss open."""
        project = self.project(tmp_path / "a.jsonl")
        append(project, Begin(complete=True), prepare(project, Begin(complete=True)))
        assert project.journal.read().standing.open
        (tmp_path / "b.jsonl").write_bytes((tmp_path / "a.jsonl").read_bytes())
        copied = self.project(tmp_path / "b.jsonl")
        assert raised(Refused, prepare, copied, Complete()).name == "file-not-from-here"
        append(copied, AcceptLoss(), prepare(copied, AcceptLoss()))
        assert copied.journal.read().standing.first_gate_open


@pytest.mark.parametrize("part", [slice(0), slice(7), slice(20), slice(-1), slice(None, None, -1), slice(7, None)])
def test_a_digest_is_expected_whole(part: slice) -> None:
    """A part of it, or nothing, is not what was reviewed; all of it is."""
    project = project_with(*unknown("a", OFFERS))
    proposal = prepare(project, Resolve(OFFERS, created=True))
    refuse_unexpected(proposal, proposal.digest)
    message = raised(Refused, refuse_unexpected, proposal, proposal.digest[part])
    assert ("proposal-changed", "--expect-digest") == (message.name, message.where)
