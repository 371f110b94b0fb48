"""What operations refuse: each message by its name, where it points, and the command of each step, if it has one."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable
from http.client import BadStatusLine
from pathlib import Path
from unittest.mock import Mock, patch

import pytest
from msgspec.structs import replace
from support.command_line import commands_in
from support.memory_project import EU, URL, MemoryProject, created, desired_of, project_with, unknown
from support.memory_record import MemoryStore, record_of
from support.plan_values import change, plan
from support.refusals import raised

from reconciler.errors import Message, ReconcilerError, Refused
from reconciler.model.address import TargetName
from reconciler.model.outcome import Answer, Outcome
from reconciler.model.plan import Action, Change, Request
from reconciler.operations.apply import Session, refuse_too_many, refuse_unpinned
from reconciler.operations.doctor import examine
from reconciler.operations.listening import detect_signature
from reconciler.operations.plan import has_work, make_plan, plaintext_refusal
from reconciler.operations.plan_file import (
    SavedChange,
    SavedPlan,
    SavedRecord,
    load_plan,
    refuse_changed,
    refuse_overwriting,
    unreviewed_changes,
)
from reconciler.operations.project import Flags, Project
from reconciler.operations.record import find_attempts, list_entries
from reconciler.operations.recovery_file import recover_statement, recovery_messages, save_facts
from reconciler.operations.responses import Responses
from reconciler.operations.sandbox import list_subscriptions, sandbox_served
from reconciler.operations.secrets import response_of, secret_statement, secrets_of
from reconciler.operations.settings import Sources
from reconciler.record.facts import AnyFact
from reconciler.record.statements import ConfirmRemoval

OFFERS, LOANS, LOST = f"{EU}/offers", f"{EU}/loans", f"{EU}/lost"
A, B, D = "a" * 32, "b" * 32, "d" * 32
FACTS = [*created(A, OFFERS), *created(B, OFFERS, "ONB10002"), *created("c" * 32, LOANS)]


class Refusals:
    """A project with two attempts at one address, an empty directory, and what may be done wrong there."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.project = MemoryProject({"memory:a": MemoryStore(record_of(*FACTS))})
        self.project.journal.read()
        self.responses = Responses(self.project.data_directory / "responses")
        self.elsewhere = plan(change(), place="s3://bucket/record")

    def file(self, name: str, data: bytes = b"") -> Path:
        """Write a file."""
        path = self.directory / name
        path.write_bytes(data)
        return path

    def kept(self, *attempts: str) -> list[str]:
        """Keep a response to these attempts."""
        return [self.responses.keep(attempt, Answer(Outcome.CREATED, body=b"{}")) for attempt in attempts]

    def having(self, *facts: AnyFact) -> MemoryProject:
        """Return the project, whose record says these facts too."""
        self.project.add(*facts)
        return self.project

    def gone(self) -> list[str]:
        """Let nothing be in force at the address; return the attempts there."""
        self.project.say(ConfirmRemoval(OFFERS, (A, B)))
        return [A, B]


def differ(at: Refusals) -> None:
    """Apply a plan of two patterns where the reviewed one had nothing to do."""
    planned = plan(change(), selection=("europe/*", "usa/*"))
    refuse_changed(planned, "sha256:0123456789abcdef", SavedPlan("2.0", "", (), ()), at.directory / "p")


def edited(at: Refusals) -> None:
    """Apply a saved plan in which somebody changed a request, but not its digest."""
    planned = plan(change(digest="x"))
    row = SavedChange(OFFERS, Action.CREATE, "x", {"eventCodes": ["ONB19999"], "webhookUrl": "u"})
    refuse_changed(planned, planned.digest, SavedPlan("2.0", planned.digest, (), (row,)), at.directory / "p")


def pinned(at: Refusals) -> None:
    """Apply with addresses and recipients of `config/` alone, but for one."""
    refuse_unpinned(at.project, plan(change(), overridden=("auth_url",)), plaintext=False)


def not_recovered(at: Refusals) -> object:
    """Read a record that lacks what an apply has saved."""
    save_facts(at.project.data_directory, at.project.journal.read().record.id, "memory:a", created(D, LOANS), "")
    return [*recovery_messages(at.project, at.project.journal.read()).values()]


def unreadable_input(at: Refusals) -> None:
    """Recover from a standard input that fails."""
    with patch("sys.stdin", Mock(buffer=Mock(read=Mock(side_effect=OSError(5, "broken"))))):
        recover_statement(at.project, "-")


def served(at: Refusals, interval: float = 15.0, env_file: Path | None = None) -> None:
    """Serve a sandbox."""
    with sandbox_served(0, [EU], None, env_file, interval):
        pass


def unanswered(_: Refusals) -> object:
    """Ask a server that says nonsense."""
    with patch("http.client.HTTPConnection.request", side_effect=BadStatusLine("")):
        return list_subscriptions("http://[::1]")


def unreadable(at: Refusals) -> object:
    """Open a response whose file is a directory."""
    name = at.kept(A)[0].removeprefix("file:")
    (at.project.data_directory / "responses" / name).unlink()
    (at.project.data_directory / "responses" / name).mkdir()
    return at.responses.open(f"file:{name}", None)


PLAN, SHOW = "reconciler plan", "reconciler state show"
SET, SHOWN = f"reconciler secret set {OFFERS}", f"reconciler secret show {OFFERS}"
SERVE, NO_URL = "reconciler sandbox serve", "--url or RECONCILER_SANDBOX_URL"
DATA, KEPT = "{}/home/data/reconciler", f"{A}-response-"
SAVED = b'{"format_version": "2.0", "digest": "TEXT", "selection": [], "changes": []}'
Row = tuple["Callable[[Refusals], object]", str, str, list[str]]
REFUSED: list[Row] = [
    (lambda at: refuse_too_many(plan(change()), 0), "too-many-creates", "--max-creates", [PLAN]),
    (lambda at: refuse_too_many(plan(change(), change(), selection=("europe/*",)), 1), "too-many-creates",
     "--max-creates", [f"{PLAN} -t 'europe/*'"]),
    (lambda at: make_plan(MemoryProject(), ("offers",)), "bad-pattern", "-t offers", [""]),
    (lambda at: Session(at.project, make_plan(tried(at))), "failpoint", "RECONCILER_TEST_FAILPOINT", [""]),
    (pinned, "not-pinned", "--pinned", [""]),
    (edited, "plan-edited", "{}/p", [""]),
    (differ, "plan-changed", "sha256:0123456789ab", ["", f"{PLAN} -t 'europe/*' -t 'usa/*' --out {{}}/p"]),
    (lambda at: refuse_overwriting(at.file("p", b"{}")), "plan-would-overwrite", "--out {}/p", [""]),
    (lambda at: refuse_overwriting(at.file("p", SAVED.replace(b"TEXT", b"\xff"))), "plan-would-overwrite",
     "--out {}/p", [""]),
    (lambda at: load_plan(at.directory / "p"), "plan-file-unreadable", "{}/p", [f"{PLAN} --out plan.json"]),
    (lambda at: load_plan(at.file("p", SAVED.replace(b"TEXT", b"\xff"))), "plan-file-invalid", "{}/p",
     [f"{PLAN} --out plan.json"]),
    (lambda at: load_plan(at.file("p", b"\xff")), "plan-file-invalid", "{}/p", [f"{PLAN} --out plan.json"]),
    (lambda at: load_plan(at.file("p", SAVED.replace(b"2.0", b"3.%099d" % 0))),
     "plan-file-other-version", "{}/p", [f"{PLAN} --out plan.json"]),
    (lambda at: plaintext_refusal(at.project, at.elsewhere), "plaintext-responses", "recipients",
     ["reconciler init --age-key", "reconciler apply --allow-plaintext-responses"]),
    (lambda at: Session(at.project, make_plan(wanting(at.project), ("europe/*",))), "plaintext-responses", "recipients",
     ["reconciler init --age-key", "reconciler apply -t 'europe/*' --allow-plaintext-responses"]),
    (lambda at: at.project.desired.target("usa/staging", "-t usa/staging"), "target-unknown", "-t usa/staging", [""]),
    (lambda at: recover_statement(at.project, str(at.directory)), "nothing-to-recover", "{}", []),
    (lambda at: recover_statement(at.project, str(at.directory / "f")), "nothing-to-recover", "{}/f", []),
    (lambda at: recover_statement(at.project, str(at.file("f", record_of().replace(b"begun", b"begin", 1)))),
     "record-damaged", "{}/f:1", ["reconciler state verify"]),
    (lambda at: recover_statement(at.project, str(at.file("f", b" \n\n"))), "not-recoverable", "{}/f", []),
    (lambda at: recover_statement(at.project, str(at.file("f", b'{"record": "\xff"}'))), "not-recoverable", "{}/f:1",
     [""]),
    (lambda at: recover_statement(at.project, str(at.file("f", b"\n\nx\n"))), "not-recoverable", "{}/f:3", [""]),
    (unreadable_input, "recovery-unreadable", "-", []),
    (not_recovered, "not-recovered", "memory:a", [f"reconciler state recover {DATA}/unrecorded/*.jsonl"]),
    (lambda at: at.responses.open(f"file:{A}-response-00", None), "response-elsewhere", "", ["", ""]),
    (lambda at: at.responses.open(f"file:{KEPT}00000000", None), "response-elsewhere", f"{KEPT}*", ["", ""]),
    (unreadable, "response-unreadable", f"{DATA}/responses/{KEPT}*", []),
    (lambda at: response_of(at.project, f"{EU}/x", (), None), "not-recorded", f"{EU}/x", [SHOW]),
    (lambda at: response_of(at.project, OFFERS, (A[:8],), None), "not-recorded", OFFERS, [SHOW]),
    (lambda at: response_of(at.project, OFFERS, (), None), "no-response", OFFERS, [SET]),
    (lambda at: response_of(at.project, OFFERS, (A,), None), "no-response", OFFERS, [f"{SET} --attempt {A}"]),
    (lambda at: secret_statement(at.project, OFFERS, (A,), b"x\ny"), "secret-of-lines", OFFERS, [""]),
    (lambda at: (at.gone(), at.kept(A, B), response_of(at.project, OFFERS, (A, B), None)), "several-responses", OFFERS,
     [f"{SHOWN} --attempt {A}", f"{SHOWN} --attempt {B}"]),
    (lambda at: (at.kept(A, B), response_of(at.having(*created(D, OFFERS, "ONB10003")), OFFERS, (), Path("key"))),
     "several-responses", OFFERS, [f"{SHOWN} --identity key --attempt {A}", f"{SHOWN} --identity key --attempt {B}"]),
    (lambda at: secret_statement(at.project, OFFERS, (), b"x"), "several-attempts", OFFERS,
     [f"{SET} --attempt {A}", f"{SET} --attempt {B}"]),
    (lambda at: (at.gone(), secret_statement(at.project, OFFERS, (A,), b"x")), "none-in-force", OFFERS, []),
    (lambda at: secret_statement(at.having(*unknown(D, LOST)), LOST, (), b"x"), "none-in-force", LOST,
     [f"reconciler secret set {LOST} --attempt {D}"]),
    (lambda at: secret_statement(at.project, OFFERS, (A,), b' {"id": "1",\n "key": "x"}'), "secret-is-object", OFFERS,
     [f"{SHOWN} --attempt {A} --field NAME"]),
    (lambda at: secrets_of(at.project, OFFERS, None), "no-secret", OFFERS, [SET]),
    (lambda at: find_attempts(at.project, "offer*"), "bad-address", "offer*", []),
    (lambda at: find_attempts(at.project, f"{EU}/x"), "not-recorded", f"{EU}/x", [SHOW]),
    (lambda at: list_entries(at.project, "usa/*"), "not-recorded", "usa/*", [SHOW]),
    (lambda at: detect_signature([], [b"x"]), "no-scheme", "", [""]),
    (lambda at: served(at, 86_400.5), "bad-interval", "--retry-interval", []),
    (lambda at: served(at, -0.5), "bad-interval", "--retry-interval", []),
    (lambda at: served(at, float("nan")), "bad-interval", "--retry-interval", []),
    (lambda at: served(at, env_file=at.file("e", b"X=1")), "env-file-unusable", "--env-file {}/e", [""]),
    (lambda at: served(at, env_file=at.directory), "env-file-unusable", "--env-file {}", [""]),
    (lambda at: served(at, env_file=at.directory / "x/e"), "env-file-unusable", "--env-file {}/x/e", []),
    (lambda at: list_subscriptions("https://a.test"), "no-sandbox-url", NO_URL, [SERVE]),
    (unanswered, "no-sandbox", "http://[::1]", [SERVE]),
    (lambda at: list_subscriptions("http://me@127.0.0.1:1"), "no-sandbox", "http://127.0.0.1:1", [SERVE]),
]  # fmt: skip
"""What is done, the name of the message, where it points ({}: the directory), and the command of each step."""


def wanting(project: MemoryProject) -> MemoryProject:
    """Return the project with a subscription that is not there yet."""
    project.__dict__["desired"] = desired_of({f"{EU}/new": (("ONB10003",), URL.format("new"))})
    return project


def tried(at: Refusals) -> MemoryProject:
    """Return the project whose services are on loopback, all but one of a target that has no changes."""
    desired = wanting(at.project).desired
    here = "http://127.0.0.1:1"
    targets = {
        name: replace(target, base_url=here, auth_url=here if name == EU else target.auth_url)
        for name, target in desired_of(targets={EU: here, "usa/staging": here}).targets.items()
    }
    at.project.__dict__["desired"] = replace(desired, targets=targets)
    return at.project


def said(at: Refusals, act: Callable[[Refusals], object]) -> Message:
    """Return the one message that an act is refused with, or that it returns."""
    try:
        answer = act(at)
    except ReconcilerError as problem:
        (message,) = problem.messages
        return message
    if isinstance(answer, list):
        (answer,) = answer
    assert isinstance(answer, Message)
    return answer


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: row[1])
def test_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: Row) -> None:
    """The message has its name, its place and its steps."""
    act, *expected = row
    monkeypatch.setenv("RECONCILER_TEST_FAILPOINT", "any:99:0" if row[1] == "failpoint" else "")
    message = said(Refusals(tmp_path), act)
    named = [shlex.join(step.command) for step in message.steps]
    where, *commands = (
        re.sub("(response-|unrecorded/)[0-9a-f]+", "\\1*", text.replace(str(tmp_path), "{}"))
        for text in (message.where, *named)
    )
    is_odd = "None" in message.what or "0" * 99 in message.what
    assert (expected, False) == ([message.name, where, commands], is_odd)


@pytest.mark.parametrize(("overridden", "base", "recipients", "plaintext", "of_config", "missing"), [
    (("auth_url", "base_url", "audience_base"), "", "age1x", False, "", []),
    (("auth_url", "base_url"), "https://api.staging.example", "age1x", False, "", []),
    (("auth_url", "base_url"), "https://api.other.example", "age1x", False, "", ["AUDIENCE_BASE"]),
    (("base_url",), "", "", True, "", ["AUTH_URL", "AUDIENCE_BASE"]),
    (("auth_url", "audience_base"), "", "", False, "", ["BASE_URL", "RECIPIENTS"]),
    (("auth_url", "base_url", "audience_base"), "", "", False, "age1y", ["RECIPIENTS"]),
    (("auth_url", "base_url", "audience_base"), "", "", True, "age1y", ["RECIPIENTS"]),
])  # fmt: skip
@pytest.mark.parametrize("actions", [[Action.CREATE], [Action.BLOCKED], []])
def test_what_is_not_pinned(
    overridden: tuple[str, ...], base: str, recipients: str, plaintext: bool, of_config: str, missing: list[str],
    actions: list[Action],
) -> None:  # fmt: skip
    """Each variable that is missing is named: the audience if it is not the base URL, recipients if there need be."""
    planned = plan(*map(change, actions), recipients=(of_config,) if of_config else ())
    ((name, of_target),) = planned.targets.items()
    there = replace(of_target.target, overridden=overridden, audience_base=base or "https://audience.example")
    complete = replace(there, overridden=("auth_url", "base_url", "audience_base"))
    targets = {TargetName("a/a"): replace(of_target, target=complete), name: replace(of_target, target=there)}
    planned = replace(planned, targets=targets)
    project = Project(Flags(), Sources({"RECONCILER_RECIPIENTS": recipients}, Path()))
    refuse_unpinned(project, replace(planned, targets={}), plaintext=plaintext)
    try:
        refuse_unpinned(project, planned, plaintext=plaintext)
        named = []
    except Refused as problem:
        named = re.findall("RECONCILER_(?:EUROPE_STAGING_)?([A-Z_]+)", problem.messages[0].what)
    assert missing == named


@pytest.mark.parametrize("most", [1, 2, None])
def test_only_creates_are_counted(most: int | None) -> None:
    """A plan that makes as many as are allowed, whatever else it does, is not refused."""
    refuse_too_many(plan(change(), change(Action.BLOCKED), change(Action.REMOVE), change(Action.RESTORE)), most)


def test_where_responses_may_be_kept() -> None:
    """Unencrypted only in a file beside a record that this machine keeps, as doctor says; only creates have any."""
    project = MemoryProject()
    for in_ci in (True, False):
        for path in (None, Path("state.jsonl")):
            project.in_ci, project.journal.store.path = in_ci, path
            others = plan(change(), recipients=("age1x",)), plan(change(Action.REMOVE), change(Action.BLOCKED))
            told = [plaintext_refusal(project, each) is not None for each in (plan(change()), *others)]
            assert [in_ci or path is None, False, False] == told
            for recipients, health in (((), "failed" if told[0] else "ok"), (("age1x",), "ok")):
                project.__dict__["desired"] = desired_of(recipients=recipients)
                (found,) = (each for each in examine(project, ()) if each.check == "responses")
                assert (health, ["reconciler init --age-key"][health == "ok" :]) == (
                    found.health, commands_in([found.message])
                )  # fmt: skip


@pytest.mark.parametrize("action", [*Action])
def test_what_an_apply_has_to_do(action: Action) -> None:
    """Facts to append are work too, blocked changes are none."""
    assert (action is not Action.BLOCKED) == has_work(plan(change(Action.BLOCKED), change(action)))


def test_account_of_another_blocks_the_plan() -> None:
    """The client ids in the settings count."""
    wanted = desired_of({OFFERS: (("ONB10001", "ONB10002"), URL.format("offers"))})
    project = project_with(*created(A, OFFERS, account="sha256:one"), desired=wanted)
    for account, action in (("sha256:one", Action.EXTEND), ("sha256:two", Action.BLOCKED)):
        project.known_accounts = {TargetName(EU): account}
        assert [action] == [each.action for each in make_plan(project).plan.changes]


def test_differences_from_the_reviewed_plan(tmp_path: Path) -> None:
    """All are told: what is gone, what is new, and what of each change is another; a link or a device is no plan."""

    def saved(name: str, action: Action, digest: str = "old", **fields: object) -> SavedChange:
        return SavedChange(f"{EU}/{name}", action, digest, **fields)

    def new(name: str, action: Action, *codes: str, url: str = "u", digest: str = "new") -> Change:
        return change(action, f"{EU}/{name}", digest=digest, after=Request(codes, url), request=None)

    reviewed = (
        saved("y", Action.CREATE), saved("b", Action.REMOVE), saved("same", Action.CREATE, "x"),
        saved("n", Action.RETRY, request={"eventCodes": ["A"], "webhookUrl": "u"}),
        saved("m", Action.REPLACE, after={"eventCodes": ["A"], "webhookUrl": "v"}),
        saved("k", Action.EXTEND, request={"eventCodes": ["A", "B"]}, after={"eventCodes": ["A"], "webhookUrl": "u"}),
        saved("e", Action.CREATE, request=1), saved("blocked", Action.BLOCKED, "x"),
    )  # fmt: skip
    now = plan(
        new("m", Action.REPLACE, "A"), new("k", Action.EXTEND, "A", "B"), new("n", Action.RETRY, "A"),
        new("b", Action.CREATE), new("c", Action.REMOVE), new("same", Action.CREATE, digest="x"),
        new("e", Action.CREATE, "A"), new("blocked", Action.BLOCKED, digest="x"),
    )  # fmt: skip
    message = raised(Refused, refuse_changed, now, "sha256:other", SavedPlan("1.0", "", (), reviewed), tmp_path / "p")
    told = [re.sub(rf"^(\w+) {EU}/(\w+): (?:changed: )?", "\\1 \\2 ", step.text) for step in message.steps]
    unseen = "the record, the service URLs or the recipients"
    assert told[:-1] == [
        "remove b no longer planned", "create y no longer planned", "create b not in the reviewed plan",
        "remove c not in the reviewed plan",
        'create e eventCodes null -> ["A"]; webhookUrl null -> "u"', 'extend k eventCodes ["A"] -> ["A","B"]',
        'replace m webhookUrl "v" -> "u"', f"retry n {unseen}",
    ]  # fmt: skip
    same = SavedPlan("1.0", "", (), (saved("same", Action.CREATE, "x"),))
    message = raised(Refused, refuse_changed, plan(new("same", Action.CREATE, digest="x")), "sha256:other", same)
    assert message.steps[0].text == f"{unseen} have changed"
    changes = [new(name, Action.EXTEND) for name in "kmr"]
    planned = plan(*changes, *(change(address=f"{EU}/{name}", digest="new") for name in "qs"))
    edits = (saved(name, Action.EXTEND, "new", request=x) for name, x in zip("kmrq", (1, 2, None, None), strict=True))
    message = raised(Refused, refuse_changed, planned, planned.digest, SavedPlan("2.0", "", (), (*edits,)))
    assert message.what.endswith(f" {EU}/k, {EU}/m, {EU}/q")
    (tmp_path / "p").write_bytes(SAVED.replace(b"2.0", b"2.9"))
    assert "TEXT" == load_plan(tmp_path / "p").digest
    for path in (tmp_path, tmp_path / "none", Path(os.devnull)):
        refuse_overwriting(path)


def test_one_plan_on_this_record_is_enough() -> None:
    """Of the plans of a review that show a change, any may have been made from a head of this record; each is shown."""
    both = SavedPlan("1.0", "", (), tuple(SavedChange(LOANS, each, each) for each in ("remove", "create", "blocked")))
    assert [(each, "never shown") for each in both.changes[:2]] == unreviewed_changes(both, [], "a".__eq__)
    shown = [SavedPlan("1.0", "", (), (SavedChange(LOANS, "create", "d"),), SavedRecord(head)) for head in "ab"]
    for known in "ab":
        assert [] == unreviewed_changes(shown[0], [shown], known.__eq__)
        assert [] != unreviewed_changes(shown[0], [[*shown, both]], known.__eq__)  # one of another record differs
    other = SavedPlan("1.0", "", (), (SavedChange(OFFERS, "create", "o"),), SavedRecord("a"))
    for reviews in ([shown], [shown, [other]], [[other], shown, []]):
        ((_, why),) = unreviewed_changes(shown[0], reviews, "c".__eq__)
        assert why == "shown for a version of the record that this one does not contain"
