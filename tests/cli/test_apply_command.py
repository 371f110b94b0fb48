"""`plan` and `apply`: what is approved is what is applied."""

from __future__ import annotations

import json
import logging
import os
from functools import partial
from html import unescape
from itertools import count
from typing import Any

import pytest
from pyrage.x25519 import Identity  # type: ignore[import-untyped]
from support.command_line import CONFIG, CommandLine

from reconciler.applying.events import Limits
from reconciler.errors import Message, StoreUnavailable
from reconciler.operations.sandbox import list_subscriptions
from reconciler.sandbox import Sandbox
from reconciler.stores.files import FileStore

NEW = "    new: {eventCodes: [ONB10012], webhookUrl: https://hooks.partner.test/new}\n"
OTHER = CONFIG.replace("ONB10011", "ONB10011, ONB10012")


def created(sandbox: Sandbox) -> int:
    """Count what exists in the sandbox."""
    return len(list_subscriptions(sandbox.url))


@pytest.mark.parametrize("way", ["auto-approve", "digest", "file"])
@pytest.mark.parametrize("is_asked", [True, False])
def test_a_flag_a_digest_or_a_file_approves(way: str, is_asked: bool, project: CommandLine, sandbox: Sandbox) -> None:
    """Each is a way without a question, also at a terminal; done once more, it has nothing to send, and says so."""
    ran = project.fine("plan", "--out", "plan.json", "--format", "json")
    digest = ran.document["digest"]
    assert json.loads((project.directory / "plan.json").read_text(encoding="utf-8")) == ran.document
    words = {"auto-approve": ["--auto-approve"], "digest": ["--expect-digest", digest], "file": ["plan.json"]}[way]
    if is_asked:
        project.answer("")
    nothing = "No changes. 2 subscriptions match the configuration."
    for given, told in ((words, "Applied: 2 created."), (words, nothing), ((), nothing)):
        out = project.fine("apply", *given).out
        assert (told in out, "+ europe/staging/offers  create" in out) == (True, told != nothing)
        assert created(sandbox) == 2
    project.fine("plan", "--out", "again.json")
    project.fine("apply", "again.json")


@pytest.mark.parametrize("form", ["text", "json"])
def test_without_approval_nothing_is_sent(form: str, project: CommandLine, sandbox: Sandbox) -> None:
    """Off a terminal the message names the ways, for what was selected."""
    ran = project("apply", "-t", "*/*/offers", "--format", form)
    assert (1, "", True) == (ran.code, ran.out, "reconciler plan -t '*/*/offers' --out plan.json" in ran.err)
    assert (True, 0) == ("--auto-approve or --expect-digest" in ran.err, created(sandbox))


@pytest.mark.parametrize("form", ["json", "markdown"])
@pytest.mark.parametrize("is_asked", [True, False])
def test_the_report_is_the_only_document(form: str, is_asked: bool, project: CommandLine, sandbox: Sandbox) -> None:
    """The plan that is asked about is told on stderr, with -q too; one that is approved is not."""
    project.answer("yes\n" if is_asked else "")
    ran = project.fine("apply", "-q", "--format", form, *(() if is_asked else ("--auto-approve",)))
    assert ("+ europe/staging/offers  create" in ran.err) is is_asked
    assert (
        ran.document["summary"]["created"] == 2 if form == "json" else ran.out.startswith("<!-- reconciler:apply -->")
    )


def test_an_error_beside_a_document_is_told(project: CommandLine, sandbox: Sandbox) -> None:
    """On stderr; in text it is a part of the report, and is not told twice."""
    project.environment.setenv("RECONCILER_EUROPE_STAGING_CLIENT_SECRET", "x")
    for form in ("json", "markdown", "text"):
        ran = project("apply", "--auto-approve", "--format", form)
        assert (ran.code, "Error: " in ran.err, "Error: " in ran.out) == (1, form != "text", form == "text"), form


def test_a_removal_is_in_the_document_of_its_apply(applied: CommandLine) -> None:
    """With the message to the operator; it too wants approval."""
    applied.write_config(CONFIG.partition("    applications:")[0])
    assert (1, "") == applied("apply")[:2]
    (letter,) = applied.fine("apply", "--auto-approve", "--format", "json").document["removal_requests"]
    assert letter["address"] == "europe/staging/applications"
    assert "https://hooks.partner.test/a/" in letter["text"]


def test_a_target_without_subscriptions_is_emptied_only_by_its_own_option(applied: CommandLine) -> None:
    """Approval does not stand for it, neither in a plan nor in an apply."""
    applied.write_config(CONFIG.partition("subscriptions:")[0])
    for more, removes in (((), False), (("--allow-empty",), True)):
        assert ("2 to remove" in applied("plan", *more).out) is removes
        applied.fine("plan", *more, "--out", "plan.json", "--allow-empty")
        assert applied("apply", "plan.json").code == 1
        assert ("requested" in applied("apply", "--auto-approve", *more).out) is removes


@pytest.mark.parametrize(("typed", "code", "count"), [("yes\n", 0, 2), ("y\n", 1, 0), ("", 1, 0)])
def test_the_answer_is_yes_in_full(typed: str, code: int, count: int, project: CommandLine, sandbox: Sandbox) -> None:
    """The plan is shown, without the command that applies it."""
    project.answer(typed)
    ran = project("apply")
    assert ran.code == code
    assert (True, False) == ("+ europe/staging/offers  create" in ran.out, "To carry it out" in ran.out)
    assert created(sandbox) == count


@pytest.mark.parametrize("change", [
    ("hooks.", "hooks2."), ("LOA10013", "LOA10013, ONB10012"), ("", ""), ("    app", f"{NEW}    app"),
])  # fmt: skip
def test_what_cannot_be_undone_is_said(change: tuple[str, str], applied: CommandLine) -> None:
    """Of a plan with any call, also beside a removal; of a removal alone it is not."""
    rest = "".join(row for row in CONFIG.splitlines(keepends=True) if "offers:" not in row)
    applied.write_config(rest.replace(*change))
    applied.answer("no\n")
    ran = applied("apply")
    assert (ran.code, "cannot be undone" in ran.err) == (1, any(change))


@pytest.mark.parametrize("words", [("--expect-digest", "sha256:0"), ("-t", "*/*/offers")])
def test_a_plan_file_is_not_all_that_is_said(words: tuple[str, ...], project: CommandLine, sandbox: Sandbox) -> None:
    """A digest or a selection beside it counts as well."""
    project.fine("plan", "--out", "plan.json")
    ran = project("apply", "plan.json", *words)
    assert (ran.code, "the plan has changed" in ran.err, created(sandbox)) == (1, True, 0)


@pytest.mark.parametrize("saved", ["", "plan.json", "plan.json --expect-digest {digest}"])
def test_a_plan_that_has_changed_is_refused(saved: str, project: CommandLine, sandbox: Sandbox) -> None:
    """Before any call; with the file, it is said what changed, also beside the digest of the plan of now."""
    digest = project.fine("plan", "--out", "plan.json", "--format", "json").document["digest"]
    project.write_config(OTHER)
    now = saved.format_map(project.fine("plan", "--format", "json").document).split()
    ran = project("apply", "--auto-approve", *(now or ["--expect-digest", digest]))
    assert (1, True) == (ran.code, "the plan has changed" in ran.err)
    told = ("Create europe/staging/offers: changed: eventCodes", "reconciler plan --out plan.json")
    assert [bool(saved)] * 2 == [text in ran.err for text in told]
    assert created(sandbox) == 0


@pytest.mark.parametrize("beside", ["", "--expect-digest {digest}", "-t */*/offers"])
def test_a_plan_file_brings_its_selection(beside: str, project: CommandLine, sandbox: Sandbox) -> None:
    """What was not planned is not applied, also beside the digest or the selection."""
    planned = project.fine("plan", "--out", "plan.json", "-t", "*/*/offers", "--format", "json").document
    project.fine("apply", "plan.json", *beside.format_map(planned).split())
    assert created(sandbox) == 1


@pytest.mark.parametrize("edited", ["", "sha256:0"])
def test_a_saved_plan_without_its_digest_approves_nothing(edited: str, project: CommandLine, sandbox: Sandbox) -> None:
    """Whatever else the file says; what is no plan at all is told how to be saved."""
    (project.directory / "plan.json").write_text("{}", encoding="utf-8")
    assert "reconciler plan --out plan.json" in project("apply", "plan.json").err
    document = project.fine("plan", "--format", "json").document
    (project.directory / "plan.json").write_text(json.dumps(document | {"digest": edited}), encoding="utf-8")
    ran = project("apply", "plan.json")
    assert (1, True, 0) == (ran.code, "the plan has changed" in ran.err, created(sandbox))
    project.fine("state", "accept-loss", "--yes")
    assert "reconciler state complete" in project("apply", "plan.json").out  # nothing is left that a digest approves


@pytest.mark.parametrize("words", [("--expect-digest", ""), ("--expect-digest=",), ("--state", ""), ("-t", "")])
def test_an_empty_value_is_a_usage_error(words: tuple[str, ...], project: CommandLine, sandbox: Sandbox) -> None:
    """A shell variable that is not set must not stand for an option that is not given."""
    ran = project("apply", "--auto-approve", *words)
    assert (1, True, 0) == (ran.code, "an option or argument is empty" in ran.err, created(sandbox))
    for given in ("--expect-digest==", "plan="):
        assert "is empty" not in project("apply", "--auto-approve", given).err


@pytest.mark.parametrize(
    ("words", "meant"), [(("apply", "--yes"), "'--auto-approve'"), (("state", "init", "--auto-approve"), "'--yes'")]
)
def test_consent_by_the_option_of_another_command(words: tuple[str, ...], meant: str, project: CommandLine) -> None:
    """The usage error names the command's own, and its help; for any other unknown option, it names none of these."""
    told = f"No such option '{words[-1]}'. Did you mean {meant}?", f"reconciler {' '.join(words[:-1])} --help\n"
    assert [text for text in told if text not in project(*words).err] == []
    assert meant not in project(*words[:-1], "--zzz").err
    for word in ("-auto-approve", "-target=europe/staging", "-out=plan.json", "-detailed-exitcode"):
        assert f"{word} has one dash; write -{word.partition('=')[0]}" in project("apply", word).err


def test_a_plan_replaces_a_plan_only(project: CommandLine) -> None:
    """A record, or any other file with content, stays as it is."""
    project.fine("state", "init", "--complete", "--yes")
    record = (project.directory / "state.jsonl").read_bytes()
    (project.directory / "record").symlink_to("state.jsonl")
    assert [project("plan", "--out", name).code for name in ("state.jsonl", "record")] == [1, 1]
    assert record == (project.directory / "state.jsonl").read_bytes()
    plan, link, other = (project.directory / name for name in ("sub/plan.json", "link", "other"))
    plan.parent.mkdir()
    plan.touch()
    link.symlink_to(plan)
    other.hardlink_to(plan)
    for name in ("sub/plan.json", "link"):
        assert f"reconciler apply {name}\n" in project.fine("plan", "--out", name).out
        assert (link.is_symlink(), other.read_bytes(), plan.stat().st_mode & 0o777) == (True, b"", 0o644)
    assert "digest" in json.loads(link.read_text())


def test_a_plan_is_written_into_a_pipe(project: CommandLine, sandbox: Sandbox) -> None:
    """Also through a link, as /dev/stdout is one; neither is replaced."""
    os.mkfifo("pipe")
    (project.directory / "link").symlink_to("pipe")
    reader = os.open("pipe", os.O_RDWR)
    project.fine("plan", "--out", "link")
    assert "digest" in json.loads(os.read(reader, 65_536))
    os.close(reader)


def test_a_plan_that_cannot_be_saved_is_an_error(project: CommandLine, sandbox: Sandbox) -> None:
    """Nothing else is printed."""
    for name in ("missing/plan.json", "config/a.yaml/plan.json"):
        ran = project("plan", "--out", name)
        assert (1, "", True) == (ran.code, ran.out, f"--out {name}: cannot write the plan" in ran.err)


def test_pinned_refuses_addresses_that_stand_in_config_alone(project: CommandLine, sandbox: Sandbox) -> None:
    """Also where nothing is left to do; it names the variables, and recipients need none if plaintext is allowed."""
    words = ("apply", "--auto-approve", "--pinned")
    for _ in range(2):
        with project.environment.context() as patch:
            patch.delenv("RECONCILER_EUROPE_STAGING_BASE_URL")
            ran = project(*words, "--allow-plaintext-responses")
        told = "not set: RECONCILER_EUROPE_STAGING_BASE_URL\n"
        assert (ran.code, told in ran.err, "RECONCILER_RECIPIENTS" in project(*words).err) == (1, True, True)
        project.fine(*words, "--allow-plaintext-responses")


def test_in_ci_responses_are_not_kept_in_the_clear(project: CommandLine, sandbox: Sandbox) -> None:
    """The plan says so beforehand, and a flag allows it."""
    project.environment.setenv("CI", "true")
    assert "--allow-plaintext-responses" in project.fine("plan").out
    assert project("apply", "--auto-approve").code == 1
    assert project("apply", "--auto-approve", "--allow-plaintext-responses").code == 0


def test_verbose_says_each_result_as_it_comes(project: CommandLine, sandbox: Sandbox) -> None:
    """On stderr, and each call; the table of all codes is on stdout."""
    project.write_config(CONFIG.replace("ONB10001, ", ""))
    project.fine("apply", "--auto-approve", "-t", "*/*/applications")
    assert "in force" in project.fine("plan", "-v").out
    ran = project.fine("apply", "--auto-approve", "-v")
    assert "Note: + europe/staging/offers created 201" in ran.err
    assert "POST http" in ran.err
    for words in (("doctor",), ("token", "-t", "europe/staging")):
        logging.getLogger("reconciler").handlers = []
        assert "POST http" in project(*words, "-v", "--cache-dir", words[0]).err


@pytest.mark.parametrize("recorded", [0, 1, 2])
def test_a_sealed_response_is_kept_until_it_is_recorded(recorded: int, project: CommandLine, sandbox: Sandbox) -> None:
    """Of results that the record does not take, copies stay on the disk, and `secret show` finds them all."""
    key, append, outcomes = Identity.generate(), FileStore.append, count(1)
    (project.directory / "key").write_text(str(key))
    project.write_config(f"recipients: [{key.to_public()}]\n{CONFIG}")

    def fail(store: FileStore, head: str | None, lines: bytes, summary: str, **rest: Any) -> None:
        if b'"outcome":' in lines and next(outcomes) > recorded:
            raise StoreUnavailable(Message("record-unwritable", "full", store.place))
        append(store, head, lines, summary, **rest)

    project.environment.setattr(FileStore, "append", fail)
    project.environment.setattr("reconciler.operations.apply.Limits", partial(Limits, backoff=(0.01,), batch_delay=0.0))
    ran = project("apply", "--auto-approve", "--parallelism", "1")
    there = {subscription.url: subscription.secret for subscription in sandbox.world.subscriptions()}
    kept = [*(project.directory.parent / "home" / "data").rglob("*-response-*")]
    assert (0 if recorded == 2 else 3, len(there) - recorded) == (ran.code, len(kept))
    shown = [
        project("secret", "show", f"europe/staging/{name}", "--field", "secretKey", "--identity", "key").out.strip()
        for name in ("applications", "offers")
    ]
    assert sorted(there.values()) == sorted(filter(None, shown))


@pytest.mark.parametrize("wrong", ["CLIENT_SECRET", "BASE_URL"])
def test_equal_errors_are_told_once(wrong: str, project: CommandLine, sandbox: Sandbox) -> None:
    """Sixteen creates that fail for one reason are one error, and each address is named."""
    names = [f"s{number}" for number in range(10, 26)]
    text = "".join(f"    {n}: {{eventCodes: [ONB100{n[1:]}], webhookUrl: https://h.test/{n}}}\n" for n in names)
    project.write_config(CONFIG.partition("    offers:")[0] + text)
    project.environment.setenv(f"RECONCILER_EUROPE_STAGING_{wrong}", "http://127.0.0.1:9" if "URL" in wrong else "x")
    ran = project("apply", "--auto-approve")
    assert (1, 1) == (ran.code, ran.out.count("Error: "))
    assert all(f"europe/staging/{name}" in ran.out.partition("Error: ")[2] for name in names)


@pytest.mark.parametrize("form", ["text", "html"])
def test_no_warning_hides_another(form: str, project: CommandLine, sandbox: Sandbox) -> None:
    """Those of `config/`, and the refusal of plaintext, are all told with a plan."""
    project.write_config(CONFIG.replace("ONB10011", "ONB10011, XYZ10011").replace("LOA10013", "ABC10013"))
    project.environment.setenv("CI", "true")
    warnings = project.fine("validate", "--format", "json").document["warnings"]
    told = unescape(project.fine("plan", "--format", form, "-v").out)
    assert 2 == len(warnings)
    assert [warning["what"] for warning in warnings if warning["what"] not in told] == []
    assert "--allow-plaintext-responses" in told


def test_a_mistake_hides_no_warning(project: CommandLine) -> None:
    """A file that is not read may be why a target is not declared."""
    (project.directory / "config" / "a.yaml").rename(project.directory / "config" / "a.YAML")
    (project.directory / "config" / "b.yaml").write_text("subscriptions: {europe/staging: {}}")
    ran, annotated = (project("validate", "--format", form) for form in ("json", "github"))
    project.write_config("".join(f"unknown-{number}: 1\n" for number in range(130)))
    assert "131 mistakes" in project("validate").out  # of which a hundred are shown
    found = [[message["name"] for message in ran.document[kind]] for kind in ("mistakes", "warnings")]
    assert (1, [["undeclared-target"], ["config-not-read"]]) == (ran.code, found)
    assert (1, ["::e", "::w"]) == (annotated.code, [row[:3] for row in annotated.out.splitlines()])
