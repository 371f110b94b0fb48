"""`plan` and `apply`: what is approved is what is applied."""

from __future__ import annotations

import json
from functools import partial
from html import unescape
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from pyrage.x25519 import Identity  # type: ignore[import-untyped]
from support.command_line import CONFIG

from reconciler.applying.events import Limits
from reconciler.errors import Message, StoreUnavailable
from reconciler.operations.sandbox import list_subscriptions
from reconciler.stores.files import FileStore

if TYPE_CHECKING:
    from support.command_line import CommandLine

    from reconciler.sandbox import Sandbox

OTHER = CONFIG.replace("ONB10011", "ONB10011, ONB10012")


def created(sandbox: Sandbox) -> int:
    """Count what exists in the sandbox."""
    return len(list_subscriptions(sandbox.url))


@pytest.mark.parametrize("way", ["auto-approve", "digest", "file"])
def test_an_apply_is_approved_by_a_flag_a_digest_or_a_file(way: str, project: CommandLine, sandbox: Sandbox) -> None:
    """Each is a way without a terminal."""
    digest = project.fine("plan", "--out", "plan.json", "--format", "json").document["digest"]
    words = {"auto-approve": ["--auto-approve"], "digest": ["--expect-digest", digest], "file": ["plan.json"]}[way]
    ran = project.fine("apply", *words)
    assert "Applied: 2 created." in ran.out
    assert created(sandbox) == 2


def test_without_approval_nothing_is_sent(project: CommandLine, sandbox: Sandbox) -> None:
    """Off a terminal the message names the ways."""
    ran = project("apply")
    assert (ran.code, ran.out) == (1, "")
    assert "--auto-approve or --expect-digest" in ran.err
    assert created(sandbox) == 0


@pytest.mark.parametrize(("typed", "code", "count"), [("yes\n", 0, 2), ("y\n", 1, 0), ("", 1, 0)])
def test_at_a_terminal_the_answer_is_yes_in_full(
    typed: str, code: int, count: int, project: CommandLine, sandbox: Sandbox
) -> None:
    """The plan is shown, without the command that applies it."""
    project.answer(typed)
    ran = project("apply")
    assert ran.code == code
    assert "+ europe/staging/offers  create" in ran.out
    assert "To carry it out" not in ran.out
    assert created(sandbox) == count


@pytest.mark.parametrize("creates", [True, False])
def test_what_cannot_be_undone_is_said(creates: bool, applied: CommandLine) -> None:
    """Of a plan with any create, also beside a removal; of a removal alone it is not."""
    new = "    new: {eventCodes: [ONB10012], webhookUrl: https://hooks.partner.test/new}\n" if creates else ""
    applied.write_config("".join(row for row in CONFIG.splitlines(keepends=True) if "offers:" not in row) + new)
    applied.answer("no\n")
    ran = applied("apply")
    assert (ran.code, "cannot be undone" in ran.err) == (1, creates)


@pytest.mark.parametrize("saved", [True, False])
def test_a_plan_that_has_changed_is_refused(saved: bool, project: CommandLine, sandbox: Sandbox) -> None:
    """Before any call; with the file, it is said what changed."""
    digest = project.fine("plan", "--out", "plan.json", "--format", "json").document["digest"]
    project.write_config(OTHER)
    ran = project("apply", "plan.json") if saved else project("apply", "--expect-digest", digest)
    assert ran.code == 1
    assert "the plan has changed" in ran.err
    assert ("Create europe/staging/offers: changed: eventCodes" in ran.err) is saved
    assert created(sandbox) == 0


@pytest.mark.parametrize("way", ["digest", "file"])
def test_an_apply_that_is_already_done_needs_no_approval(way: str, project: CommandLine, sandbox: Sandbox) -> None:
    """Run once more, with the digest or the file of before, it has nothing to send, and says so with exit code 0."""
    digest = project.fine("plan", "--out", "plan.json", "--format", "json").document["digest"]
    words = {"digest": ["--expect-digest", digest], "file": ["plan.json"]}[way]
    project.fine("apply", *words)
    assert "No changes." in project.fine("apply", *words).out
    assert created(sandbox) == 2


def test_a_plan_file_brings_its_selection(project: CommandLine, sandbox: Sandbox) -> None:
    """What was not planned is not applied."""
    project.fine("plan", "--out", "plan.json", "-t", "*/*/offers")
    project.fine("apply", "plan.json")
    assert created(sandbox) == 1


def test_a_file_that_is_no_plan_is_refused(project: CommandLine, sandbox: Sandbox) -> None:
    """The message says how to save one."""
    (project.directory / "plan.json").write_text("{}", encoding="utf-8")
    ran = project("apply", "plan.json")
    assert ran.code == 1
    assert "reconciler plan --out plan.json" in ran.err


@pytest.mark.parametrize("edited", ["", "sha256:0"])
def test_a_saved_plan_without_its_digest_approves_nothing(edited: str, project: CommandLine, sandbox: Sandbox) -> None:
    """Whatever else the file says."""
    document = project.fine("plan", "--format", "json").document
    (project.directory / "plan.json").write_text(json.dumps(document | {"digest": edited}), encoding="utf-8")
    ran = project("apply", "plan.json")
    assert ran.code == 1
    assert "the plan has changed" in ran.err
    assert created(sandbox) == 0


@pytest.mark.parametrize("words", [("--expect-digest", ""), ("--expect-digest=",), ("--state", ""), ("-t", "")])
def test_an_empty_value_is_a_usage_error(words: tuple[str, ...], project: CommandLine, sandbox: Sandbox) -> None:
    """A shell variable that is not set must not stand for an option that is not given."""
    ran = project("apply", "--auto-approve", *words)
    assert ran.code == 1
    assert "an option or argument is empty" in ran.err
    assert created(sandbox) == 0


@pytest.mark.parametrize(
    ("words", "meant"), [(("apply", "--yes"), "'--auto-approve'"), (("state", "init", "--auto-approve"), "'--yes'")]
)
def test_consent_by_the_option_of_another_command(words: tuple[str, ...], meant: str, project: CommandLine) -> None:
    """The usage error names the command's own; for any other unknown option, it names none of these."""
    assert f"No such option '{words[-1]}'. Did you mean {meant}?" in project(*words).err
    assert meant not in project(*words[:-1], "--zzz").err


def test_the_saved_plan_is_the_document_of_plan(project: CommandLine, sandbox: Sandbox) -> None:
    """`--out` writes what `--format json` prints."""
    ran = project.fine("plan", "--out", "plan.json", "--format", "json")
    assert json.loads((project.directory / "plan.json").read_text(encoding="utf-8")) == ran.document


def test_a_plan_replaces_a_plan_only(project: CommandLine) -> None:
    """A record, or any other file with content, stays as it is."""
    project.fine("state", "init", "--complete", "--yes")
    record = (project.directory / "state.jsonl").read_bytes()
    assert project("plan", "--out", "state.jsonl").code == 1
    assert record == (project.directory / "state.jsonl").read_bytes()
    (project.directory / "plan.json").touch()
    for _ in range(2):
        project.fine("plan", "--out", "plan.json")


def test_a_plan_that_cannot_be_saved_is_an_error(project: CommandLine, sandbox: Sandbox) -> None:
    """Nothing else is printed."""
    ran = project("plan", "--out", "missing/plan.json")
    assert (ran.code, ran.out) == (1, "")
    assert "cannot write the plan" in ran.err


def test_more_creates_than_allowed_are_refused(project: CommandLine, sandbox: Sandbox) -> None:
    """Before any call."""
    assert project("apply", "--auto-approve", "--max-creates", "1").code == 1
    assert created(sandbox) == 0


def test_pinned_refuses_addresses_that_stand_in_config_alone(project: CommandLine, sandbox: Sandbox) -> None:
    """The message names the variables that are missing."""
    project.environment.delenv("RECONCILER_EUROPE_STAGING_BASE_URL")
    ran = project("apply", "--auto-approve", "--pinned")
    assert ran.code == 1
    assert "RECONCILER_EUROPE_STAGING_BASE_URL" in ran.err


def test_in_ci_responses_are_not_kept_in_the_clear(project: CommandLine, sandbox: Sandbox) -> None:
    """The plan says so beforehand, and a flag allows it."""
    project.environment.setenv("CI", "true")
    assert "--allow-plaintext-responses" in project.fine("plan").out
    assert project("apply", "--auto-approve").code == 1
    assert project("apply", "--auto-approve", "--allow-plaintext-responses").code == 0


@pytest.mark.parametrize("form", ["json", "markdown"])
def test_the_report_of_an_apply_is_the_only_document(form: str, project: CommandLine, sandbox: Sandbox) -> None:
    """The plan is not printed beside it."""
    ran = project.fine("apply", "--auto-approve", "--format", form)
    if form == "json":
        assert ran.document["summary"]["created"] == 2
    else:
        assert ran.out.startswith("<!-- reconciler:apply -->\n### Applied: 2 created.")


def test_verbose_says_each_result_as_it_comes(project: CommandLine, sandbox: Sandbox) -> None:
    """On stderr."""
    err = project.fine("apply", "--auto-approve", "-v").err
    assert "Note: + europe/staging/offers created 201" in err


@pytest.mark.parametrize("recorded", [0, 1, 2])
def test_a_sealed_response_is_kept_until_it_is_recorded(
    recorded: int, project: CommandLine, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of results that the record does not take, copies stay on the disk, and `secret show` finds them all."""
    key, append, outcomes = Identity.generate(), FileStore.append, count(1)
    (project.directory / "key").write_text(str(key))
    project.write_config(f"recipients: [{key.to_public()}]\n{CONFIG}")

    def fail(store: FileStore, head: str | None, lines: bytes, summary: str, **rest: Any) -> None:
        if b'"outcome":' in lines and next(outcomes) > recorded:
            raise StoreUnavailable(Message("record-unwritable", "full", store.place))
        append(store, head, lines, summary, **rest)

    monkeypatch.setattr(FileStore, "append", fail)
    monkeypatch.setattr("reconciler.operations.apply.Limits", partial(Limits, backoff=(0.01,), batch_delay=0.0))
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
    assert ran.code == 1
    assert ran.out.count("Error: ") == 1
    assert all(f"europe/staging/{name}" in ran.out.partition("Error: ")[2] for name in names)


def test_an_apply_repeats_nothing(applied: CommandLine, sandbox: Sandbox) -> None:
    """With nothing to do it needs no approval, and says that all matches."""
    ran = applied.fine("apply")
    assert ran.out.endswith("No changes. 2 subscriptions match the configuration.\n")
    assert created(sandbox) == 2


def test_a_change_is_shown_as_a_difference(applied: CommandLine) -> None:
    """Only the code that is missing is sent."""
    applied.write_config(OTHER)
    out = applied.fine("plan").out
    assert "  ~ europe/staging/offers  extend\n      eventCodes: + ONB10012\n" in out


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
    ran = project("validate", "--format", "json")
    found = [[message["name"] for message in ran.document[kind]] for kind in ("mistakes", "warnings")]
    assert (1, [["undeclared-target"], ["config-not-read"]]) == (ran.code, found)
