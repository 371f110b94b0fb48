"""The commands around the record: shown, agreed to, appended."""

from __future__ import annotations

import getpass
import io
import json
import re
import time
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from support.command_line import CONFIG, CommandLine, Screen

from reconciler.cli.consent import Consent, _document
from reconciler.cli.terminal import Terminal
from reconciler.errors import Message
from reconciler.operations.project import Project
from reconciler.record import statements as said
from reconciler.record.chain import last_head
from reconciler.sandbox import Sandbox

OFFERS = "europe/staging/offers"


def statuses(project: CommandLine) -> dict[str, str]:
    """Return the status of each address, as `state show` has it."""
    return {found["address"]: found["status"] for found in project.fine("state", "show", "--format", "json").document}


def test_a_record_begins_with_a_loss_open(project: CommandLine) -> None:
    """Creates wait until someone has said that what exists is recorded."""
    begun = project.fine("state", "init")
    assert ("Note: config/: " in begun.out, "Add to config/: record: " in begun.out) == (True, True)
    assert "reconciler state complete" in project.fine("plan").out
    assert "reconciler state complete" in project.fine("state", "show").out
    assert re.match("(?s)Warning: .*reconciler state complete", project.fine("state", "verify").err)
    project.fine("state", "complete", "--yes")
    assert "Plan: 2 to create" in project.fine("plan").out
    assert project.fine("state", "verify").err == ""


@pytest.mark.parametrize(("words", "typed", "code", "is_complete"), [
    ("", "yes\n", 0, True), ("", "no\nyes\n", 0, False), ("", "no\nno\n", 1, None), ("--yes", "", 0, False),
    ("--complete", "yes\n", 0, True), ("--complete", "", 1, None), ("--complete --yes", "", 0, True),
    ("--dry-run", "", 0, None), ("--expect-digest sha256:0", "yes\n", 1, None),
])  # fmt: skip
def test_init_at_a_terminal(words: str, typed: str, code: int, is_complete: bool | None, project: CommandLine) -> None:
    """Whether nothing exists is asked, unless an option says so; who answers yes is not asked again."""
    project.answer(typed)
    assert project("state", "init", *words.split()).code == code
    ran = project("plan")
    assert ("Plan: 2 to create" in ran.out) is (is_complete is True)
    assert (ran.code == 1) is (is_complete is None)


def test_what_is_asked_about_is_shown(project: CommandLine) -> None:
    """With -q too; only what was agreed to beforehand is left out."""
    project.fine("state", "init")
    assert "  + " in project("state", "complete", "-q").err
    project.answer("no\n")
    assert "  + " in project("state", "complete", "-q").err
    assert "  + " not in project.fine("state", "accept-loss", "--yes", "-q").err


def test_in_ci_init_leaves_the_record_to_a_person(project: CommandLine) -> None:
    """A job does not know what exists, so no message names `state init` there. The steps are numbered."""
    assert "reconciler state init" in project.fine("init", "here").out
    project.environment.setenv("CI", "true")
    told = project.fine("init", "there").out
    assert "state init" not in told
    assert "Begin the record once, from your own machine" in told
    steps = told.partition("Next:\n\n")[2].splitlines()
    assert ["1.", "2.", "3.", "4."] == [line.split()[0] for line in steps if not line.startswith("  ")]


def test_target_without_facts_is_bound_to_nothing(project: CommandLine) -> None:
    """A rebind of it would say nothing, so another name of a service is not taken for that service."""
    project.fine("state", "init")
    refused = project("state", "rebind", "-t", "europe/staging")
    assert (1, True) == (refused.code, "bound to no service" in refused.err)


def test_what_weakens_a_gate_wants_to_be_agreed_to(project: CommandLine) -> None:
    """Off a terminal with --yes, or with the digest of what was reviewed."""
    project.fine("state", "init")
    refused = project("state", "complete")
    assert (1, "", True) == (refused.code, refused.out, "with --yes\n  Or with --expect-digest sha256:" in refused.err)
    assert "what exists is recorded: loss " in refused.err
    told = project("--log-format", "json", "state", "complete").err.splitlines()[-1]
    assert "no-terminal" == json.loads(told)["name"]
    shown = project.fine("state", "complete", "--dry-run").out
    digest = shown[shown.index("sha256:") :].split(". ")[0]
    assert f"--expect-digest {digest}\n" in refused.err
    assert project("state", "complete", "--expect-digest", "sha256:other").code == 1
    project.fine("state", "complete", "--expect-digest", digest)
    assert "Plan: 2 to create" in project.fine("plan").out


@pytest.mark.parametrize("words", [("complete",), ("import", OFFERS, "--attempt", "a" * 32)])
def test_what_another_run_recorded_is_not_appended_twice(words: tuple[str, ...], project: CommandLine) -> None:
    """The verdict counts what this run has appended."""
    project.fine("state", "init")

    class Slow(Screen):
        def readline(self, *_: Any) -> Any:
            project.environment.setattr("sys.stdin", Screen("yes\n"))
            told.append(project.fine("state", *words).out)
            return "yes\n"

    told: list[str] = []
    project.environment.setattr("sys.stdin", Slow())
    told.append(project.fine("state", *words).out)
    assert [1, 0] == [int(count) for text in told for count in re.findall(r"(\d+) facts? appended", text)]


@pytest.mark.parametrize(("words", "statement"), [
    ("state import w --attempt i --url u --code b --code a", said.Import("w", "i", "u", ("b", "a"))),
    ("state import w --code b", said.Import("w", "", "", ("b",))),
    ("state resolve w --created --note n --force", said.Resolve("w", True, (), "n", True)),
    ("state resolve w --not-created --attempt x --attempt y", said.Resolve("w", False, ("x", "y"), "", False)),
    ("state mv w v", said.Move("w", "v")), ("state rebind -t w", said.Rebind("w")),
    ("state init --complete", said.Begin(True)), ("state init", said.Begin(False)),
    ("state complete --loss x --loss y", said.Complete(("x", "y"))), ("state accept-loss", said.AcceptLoss()),
    *(
        (f"removal {name} w --attempt x --attempt y --code b --code a", kind("w", ("x", "y"), ("b", "a")))
        for name, kind in (
            ("request", said.RequestRemoval), ("cancel", said.CancelRemoval), ("confirm", said.ConfirmRemoval)
        )
    ),
])  # fmt: skip
def test_a_statement_is_what_its_options_say(words: str, statement: said.Statement, project: CommandLine) -> None:
    """All of them, in their order, and the consent to it."""
    append = Mock()
    for room in ("state", "removal"):
        project.environment.setattr(f"reconciler.cli.{room}.append_with_consent", append)
    for consent, given in ((Consent(), ""), (Consent(dry_run=True, expect_digest="d"), "--dry-run --expect-digest d")):
        project.fine(*words.split(), *given.split())
        assert append.call_args.args[1:] == (statement, consent)


def test_what_is_many_is_shown_in_part(project: CommandLine) -> None:
    """Twenty facts and how many more there are, but all of them in a dry run, and always all that is noted."""
    names = [f"{number}" for number in range(10, 35)]
    rows = "".join(f"    s{n}: {{eventCodes: [ONB100{n}], webhookUrl: https://h.test/{n}}}\n" for n in names)
    project.write_config(CONFIG.partition("    offers:")[0] + rows)
    project.fine("state", "init")
    out = project.fine("state", "import", "*/*/*", "--dry-run").out
    assert (out.count("  + "), out.count("attempt ID: ")) == (25, 25)
    assert project("state", "import", "*/*/*").err.count("attempt ID: ") == 20  # refused without consent
    err = project.fine("state", "import", "*/*/*", "--expect-digest", re.findall(r"sha256:\w+", out)[0]).err
    assert (err.count("  + "), "and 5 more" in err, "attempt ID: " in err) == (20, True, False)
    assert len(_document([Message(name, name) for name in names], "").body) == len(names)


def test_an_expected_digest_is_that_of_something(project: CommandLine) -> None:
    """Where nothing is left to append, the digest of what was reviewed is another."""
    project.fine("state", "init")
    shown = project.fine("state", "import", OFFERS, "--dry-run").out
    digest = shown[shown.index("sha256:") :].split(". ")[0]
    words = ("state", "import", OFFERS, "--expect-digest")
    assert [1, 0, 1] == [project(*words, each).code for each in ("sha256:0", digest, "sha256:0")]
    assert digest not in project.fine(*words, digest, "--dry-run").out  # which shows the one of now


def test_a_contradiction_is_recorded_with_force_alone(applied: CommandLine) -> None:
    """Consent does not stand for it."""
    applied.fine("removal", "request", OFFERS)
    applied.fine("removal", "confirm", OFFERS, "--yes")
    (shown,) = applied.fine("state", "show", OFFERS, "--format", "json").document
    words = ("state", "resolve", OFFERS, "--created", "--attempt", shown["attempt"], "--yes", "--note", "a ticket")
    assert applied.fine(*words).out.endswith("\n\nNothing was appended.\n")
    applied.fine(*words, "--force")
    assert ("a ticket" in applied.fine("state", "history").out, statuses(applied)[OFFERS]) == (True, "live")
    assert "expected --created or --not-created" in applied("state", "resolve", OFFERS, "--force").err


def test_a_command_that_has_changed_something_says_so(project: CommandLine, sandbox: Sandbox, tmp_path: Path) -> None:
    """Before its last text, and not earlier: if that alone cannot be printed, nobody is to repeat the command."""
    (project.directory / "lead").write_text("{}")
    place = str(tmp_path / "sandbox" / "state.jsonl")
    for words in (
        ("apply", "--auto-approve"), ("lead", "create", "-t", "europe/staging", "lead"),
        ("removal", "request", OFFERS), ("state", "copy", place, str(tmp_path / "new"), "--yes"),
    ):  # fmt: skip
        done: list[bool] = []
        with project.environment.context() as patch:
            patch.setattr(Terminal, "print", lambda terminal, _, done=done: done.append(terminal._is_done))
            project.fine(*words)
        assert done == [False] * (len(done) - 1) + [True], words


def test_an_unknown_outcome_is_resolved(project: CommandLine, sandbox: Sandbox) -> None:
    """The commands that the apply names are those that settle it."""
    sandbox.world.fail_next("500-after")
    text = project("apply", "--auto-approve", "-t", OFFERS).out
    command = next(line for line in text.splitlines() if "--created" in line).split()
    assert statuses(project) == {OFFERS: "unknown"}
    project.environment.setattr(Project, "now", staticmethod(lambda: time.time() + 3600))
    project.fine(*command[1:])
    assert statuses(project) == {OFFERS: "live"}


def test_a_subscription_is_renamed_without_a_create(applied: CommandLine) -> None:
    """The record has it under its new address; what is appended is shown of the old one."""
    ran = applied.fine("state", "mv", OFFERS, "europe/staging/loans")
    assert (f"+ {OFFERS}  attempt " in ran.err, ran.out[-18:]) == (True, "  reconciler plan\n")
    assert ": renamed to europe/staging/loans\n" in ran.out + ran.err
    assert set(statuses(applied)) == {"europe/staging/applications", "europe/staging/loans"}


@pytest.mark.parametrize("named", ["", f"record: {'0' * 32}\n", "state: git:reconciler-state\n"])
def test_a_record_beside_the_one_that_config_names_is_announced(project: CommandLine, named: str) -> None:
    """Its entries do not count for the other one, so it is for a rehearsal only."""
    project.write_config(named + CONFIG)
    assert bool(named) is ("rehearsal" in project.fine("state", "init", "--state", "other.jsonl", "--dry-run").out)


def test_settings_are_of_the_directory_of_the_command(project: CommandLine) -> None:
    """The `.env` beside another configuration belongs to another checkout."""
    (project.directory / "other").mkdir()
    (project.directory / "config").rename(project.directory / "other" / "config")
    for where, state in ((".", "own.jsonl"), ("other", "foreign.jsonl")):
        (project.directory / where / ".env").write_text(f"RECONCILER_STATE={state}\n")
    assert "own.jsonl" in project.fine("--config", "other/config", "state", "init", "--dry-run").out


def test_a_removal_is_requested_listed_and_confirmed(applied: CommandLine) -> None:
    """The list is ready to send, and names the command that confirms it."""
    assert "reconciler removal list" in applied.fine("removal", "request", OFFERS).out
    assert statuses(applied)[OFFERS] == "awaiting_removal"
    out = applied.fine("removal", "list").out
    assert "Please delete this webhook subscription of europe/staging:" in out
    command = next(line for line in out.splitlines() if "removal confirm" in line).split()
    applied.fine(*command[1:])
    assert OFFERS not in statuses(applied)


@pytest.mark.parametrize("words", [
    "parity {0} {0} --gate", "parity {0} {0}", "parity {0} {0} --proven", "removal list", "removal list --format json",
])  # fmt: skip
def test_an_older_record_answers_no_gate(words: str, applied: CommandLine, tmp_path: Path) -> None:
    """The subscription may be gone since, and the request to remove it may be withdrawn."""
    file = tmp_path / "sandbox" / "state.jsonl"
    applied.fine("removal", "request", OFFERS)
    older = file.read_bytes()
    applied.fine("removal", "cancel", OFFERS)
    file.write_bytes(older)
    ran = applied(*words.format("europe/staging").split())
    assert ran.code == 1 + words.startswith("parity")
    assert (True, False) == ("reconciler state accept-loss" in ran.out + ran.err, "Please delete" in ran.out)


def test_another_account_answers_no_gate(applied: CommandLine) -> None:
    """What the record says was created by another client may not be what this one would find."""
    for client, code in (("", 0), ("another", 2)):
        applied.environment.setenv("RECONCILER_EUROPE_STAGING_CLIENT_ID", client) if client else None
        for gate in ((), ("--gate",)):
            assert applied("parity", "europe/staging", "europe/staging", *gate).code == code


def test_another_record_answers_no_gate(project: CommandLine) -> None:
    """Not even where nothing is asked but whether two targets are alike; that it is closed as well is told too."""
    words = ("parity", "europe/staging", "europe/staging")
    project.fine("state", "init", "--complete", "--yes")
    project.fine(*words)
    project.write_config(f"record: {'0' * 32}\n{CONFIG}")
    assert (project(*words).code, "0" * 32 in project(*words).out) == (2, True)
    project.fine("state", "copy", "state.jsonl", "other.jsonl", "--yes", "--state", "state.jsonl")
    assert [text for text in ("continues at", "0" * 32) if text not in project("removal", "list").err] == []


def test_a_surplus_code_is_listed_until_its_removal_is_requested(applied: CommandLine) -> None:
    """With the command that asks for it; then it is in the message to the operator."""
    applied.write_config(CONFIG.replace(", LOA10013", ""))
    listed = applied.fine("removal", "list").out
    (command,) = (row.split() for row in listed.splitlines() if "removal request" in row)
    applied.fine(*command[1:])
    assert "Warning:" in listed
    assert "Warning:" not in applied.fine("removal", "list").out


def test_a_request_is_cancelled(applied: CommandLine) -> None:
    """What was to be removed stays."""
    for word in ("request", "cancel"):
        assert "reconciler removal list" in applied.fine("removal", word, OFFERS).out
    assert statuses(applied)[OFFERS] == "live"
    assert applied.fine("removal", "list", "--format", "json").document["targets"][0]["awaiting"] == []


def test_the_history_says_who_did_what(applied: CommandLine) -> None:
    """As a table and as JSON."""
    applied.fine("state", "mv", OFFERS, f"{OFFERS}2")
    events = applied.fine("state", "history", f"{OFFERS}2", "--format", "json").document
    assert [event["kind"] for event in events] == ["intended", "answered", "renamed"]
    told = applied.fine("state", "history", f"{OFFERS}2").out
    assert (told.count(getpass.getuser()), "{" in told, f"{OFFERS}2, {OFFERS}" in told) == (3, False, True)
    rows = [row.split()[0] for row in told.splitlines() if getpass.getuser() in row]
    assert rows == [str(event["entry"]) for event in events if event["what"] in told]


def test_a_torn_write_is_told(applied: CommandLine, tmp_path: Path) -> None:
    """With its size; the lines before it count, and are what the id and the head are of."""
    file = tmp_path / "sandbox" / "state.jsonl"
    whole = file.read_bytes()
    file.write_bytes(whole + b"{{{{")
    told = f"{len(whole.splitlines())} entries, 4 bytes of a torn write ignored; the chain is intact"
    record = json.loads(whole.partition(b"\n")[0])["record"]
    verified = applied.fine("state", "verify", "--state", "../sandbox/state.jsonl").out
    assert verified == f"{file}: {told}\nrecord {record}\nhead {last_head(whole)}\n"


def test_a_preview_shows_no_id_that_is_never_used(project: CommandLine) -> None:
    """What is appended later has another id, so a command to paste must not name the one of the preview."""
    begun = project.fine("state", "init", "--dry-run").out
    assert ("until loss ID ends" in begun, "--loss ID\n" in begun) == (True, True)
    project.fine("state", "init")
    shown = project.fine("state", "import", OFFERS, "--dry-run").out
    assert ("attempt ID: exists" in shown, re.findall(r"attempt [0-9a-f]{32}", shown)) == (True, [])
    told = project.fine("state", "import", OFFERS).err
    (found,) = project.fine("state", "show", "--format", "json").document
    assert f"attempt {found['attempt']}: exists" in told


def test_the_record_moves_to_another_place(applied: CommandLine, tmp_path: Path) -> None:
    """The old place names the new one, and refuses what is appended there."""
    old, new = str(tmp_path / "sandbox" / "state.jsonl"), str(tmp_path / "new.jsonl")
    shown = applied.fine("state", "copy", old, new, "--dry-run").out
    assert "merges" in shown
    digest = re.search(r"Digest: (sha256:\w{64})", shown)
    assert digest
    assert applied("state", "copy", old, f"{new}.other", "--expect-digest", digest[1]).code == 1
    told = applied.fine("state", "copy", old, new, "--expect-digest", digest[1]).out
    assert f"`RECONCILER_STATE` in the environment overrides `state:` in config/; change it to {new}" in told
    assert "is complete" in applied.fine("state", "copy", old, new, "--expect-digest", digest[1]).out
    assert applied("removal", "request", OFFERS).code == 1
    assert applied.fine("--state", new, "plan").out.endswith("No changes. 2 subscriptions match the configuration.\n")


def test_a_lost_record_is_begun_anew_with_a_loss_open(applied: CommandLine, tmp_path: Path) -> None:
    """What was lost is merged from a backup."""
    file, backup = tmp_path / "sandbox" / "state.jsonl", tmp_path / "backup.jsonl"
    file.rename(backup)
    assert "reconciler state accept-loss" in applied("plan").err
    applied.fine("state", "accept-loss", "--yes")
    assert "there is neither a file nor a record" in applied("state", "recover", "elsewhere.jsonl").err
    applied.environment.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    assert "Nothing was appended" in applied.fine("state", "observe", "-").out
    applied.fine("state", "recover", str(backup))
    assert "reconciler state complete" in applied.fine("plan").out
    assert len(statuses(applied)) == 2


@pytest.mark.parametrize("pattern", [
    "europe/staging/*", "*/*/offers", "europe/*/o*", "*/staging", "europe/staging/offer?", "europe/staging/[o]ffers",
])  # fmt: skip
def test_a_pattern_is_shown_as_a_table(pattern: str, applied: CommandLine) -> None:
    """A row for each, also where it matches one; only an address is shown whole."""
    whole = applied.fine("state", "show", "europe/staging/offers").out
    rows = applied.fine("state", "show").out.splitlines()
    shown = applied.fine("state", "show", pattern).out.splitlines()
    assert rows[0].split() == shown[0].split()
    assert whole.splitlines()[0] not in shown
