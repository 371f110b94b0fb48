"""Create responses and the secrets in them: sealed or private, shown to whoever may see them."""

from __future__ import annotations

import json
import os
import re
import time
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyrage import x25519  # type: ignore[import-untyped]
from support.lending_service import SIGNING_KEY
from support.notified import listening, wait_until
from support.terminal import at_terminal
from werkzeug import Response

from reconciler.model.address import TargetName
from reconciler.model.entry import SecretSet
from reconciler.state.heads.remembered import Heads
from reconciler.state.heads.tracking import append_entries, read_journal
from reconciler.state.private.responses import PrivateFiles
from reconciler.state.stores.files import FileStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.partner import Partner

OFFERS = "europe/staging/offers"
TOLD = {"subscriptionId": "sub-1", "signing": {"key": SIGNING_KEY}, "key": SIGNING_KEY, "state": "on"}


@pytest.fixture
def created(partner: Partner) -> Partner:
    """A partner with one create, whose response lies in a private file."""
    partner.begin(offers=["ONB10011"])
    partner.step("apply", "--auto-approve")
    return partner


@pytest.fixture
def sealed(partner: Partner) -> Partner:
    """A partner with one create, whose response is sealed to a recipient; the identity is in `key.txt`."""
    partner.want(offers=["ONB10011"])
    partner.seal()
    partner.write("other.txt", f"{x25519.Identity.generate()}\n")
    partner.step("state", "init")
    partner.environment["CI"] = "true"  # sealed, it may be applied on a runner
    partner.step("apply", "--auto-approve")
    return partner


def test_status_names_what_lacks_a_secret(created: Partner) -> None:
    """Where others of its target have one, in text and Markdown; not once it is set."""
    assert "no secret is recorded" not in created.step("status").out
    created.want(offers=["ONB10011"], loans=["LOA10013"])
    created.step("state", "import", "europe/staging/loans")
    advice = "no secret is recorded for europe/staging/loans; ask the operator for it, then run:"
    command = "secret set europe/staging/loans"
    for form in ("text", "markdown"):
        assert f"{advice} reconciler {command}" in " ".join(
            unescape(created.step("status", "--format", form).out).split()
        )
    created.step(*command.split(), stdin="hunter2")
    assert "no secret is recorded" not in created.step("status").out


class TestShow:
    """The response, or the secret that was set."""

    def test_the_response(self, created: Partner) -> None:
        """Just as it came; one field bare."""
        assert json.loads(created.step("secret", "show", OFFERS).out) == TOLD
        assert f"{SIGNING_KEY}\n" == created.step("secret", "show", OFFERS, "--field", "key").out
        assert '{"key": "' in created.step("secret", "show", OFFERS, "--field", "signing").out
        done = created.step("secret", "show", OFFERS, "--field", "nope", code=None)
        assert (1, "") == (done.code, done.out)
        told = "--field nope: field not found in the response; available fields: subscriptionId, signing, key, state"
        assert told in done.err
        assert SIGNING_KEY not in done.err

    def test_a_response_that_is_no_json(self, partner: Partner) -> None:
        """It is kept and shown as it is, to a program as to a person, who sees nothing that could act."""
        partner.begin(offers=["ONB10011"])
        partner.service.answer_next(Response(b"key=\x1b[31m\xe9", status=200))
        partner.step("apply", "--auto-approve")
        assert b"key=\x1b[31m\xe9\n" == partner.run_raw("secret", "show", OFFERS)
        assert r"key=\x1b[31m\xe9" in at_terminal(partner, "secret", "show", OFFERS).out
        partner.environment["GITHUB_ACTIONS"] = "true"
        assert b"| key=\\x1b[31m\\xe9\n" == partner.run_raw("secret", "show", OFFERS)
        done = partner.run_fork("secret", "show", OFFERS, "--field", "key")
        assert "field not found in the response; available fields: none" in done.err

    @pytest.mark.parametrize("open_with", [(), ("--identity", "key.txt")], ids=["private", "sealed"])
    @pytest.mark.parametrize("body", [b"", b'{"id": 7, "key": "hunter2"}', b"\r\n\r\n\xff"])
    def test_the_headers(self, partner: Partner, open_with: tuple[str, ...], body: bytes) -> None:
        """The whole answer is kept, since a header may tell what the body does not; nothing of them lies open."""
        if open_with:
            partner.seal()
        partner.begin(offers=["ONB10011"])
        headers = {"Location": "/subscriptions/hunter2-4711", "Set-Cookie": "a=hunter2", "Date": "Sun, 22 Nov 2026"}
        partner.service.answer_next(Response(body, status=202, headers=headers, content_type="application/json"))
        partner.step("apply", "--auto-approve")
        assert "hunter2" not in partner.journal.read_text(encoding="utf-8")
        head, _, shown = partner.run_raw("secret", "show", OFFERS, "--headers", *open_with).partition(b"\r\n\r\n")
        assert body == shown.removesuffix(b"\n")
        lines = head.decode().split("\r\n")
        assert "HTTP/1.1 202 ACCEPTED" == lines[0]
        assert {"Location: /subscriptions/hunter2-4711", "Set-Cookie: a=hunter2"} <= set(lines)
        if body:
            assert body == partner.run_raw("secret", "show", OFFERS, *open_with).removesuffix(b"\n")

    def test_a_response_without_a_body(self, partner: Partner) -> None:
        """It proves the create, and it is said where its secret may be."""
        partner.begin(offers=["ONB10011"])
        partner.service.answer_next(Response(b"", status=201, headers={"Location": "/4711"}))
        partner.step("apply", "--auto-approve")
        done = partner.run_fork("secret", "show", OFFERS)
        assert (1, "") == (done.code, done.out)
        assert (
            f"Error: {OFFERS}: the response has no body; to see its headers, run:\n"
            f"    reconciler secret show {OFFERS} --headers\n  or " in done.err
        )
        assert f"and run:\n    reconciler secret set {OFFERS}\n" in done.err
        partner.step("secret", "set", OFFERS, stdin="hunter2")
        assert "hunter2\n" == partner.step("secret", "show", OFFERS).out
        assert "Location: /4711" in partner.step("secret", "show", OFFERS, "--headers").out

    def test_a_response_that_an_earlier_version_kept(self, created: Partner) -> None:
        """Its body alone is there; it still opens, and it is said that the headers are not."""
        (file,) = (path for path in Path(created.variables()["XDG_DATA_HOME"]).rglob("*.response.1"))
        file.write_bytes(b'{"key": "as it was"}')
        assert "as it was\n" == created.step("secret", "show", OFFERS, "--field", "key").out
        done = created.step("secret", "show", OFFERS, "--headers")
        assert '{"key": "as it was"}\n' == done.out
        assert "the headers of this response were not saved" in done.err

    def test_headers_in_actions(self, created: Partner) -> None:
        """They are masked like the body, and no line of them is a command; they have no fields."""
        created.environment["GITHUB_ACTIONS"] = "true"
        done = created.step("secret", "show", OFFERS, "--headers")
        assert f"::add-mask::{SIGNING_KEY}\n" in done.err
        assert "::add-mask::application/vnd.service+json\n" in done.err
        assert [] == [line for line in done.out.splitlines() if not line.startswith("| ")]
        assert 1 == created.step("secret", "show", OFFERS, "--headers", "--field", "key", code=None).code

    def test_no_headers_of_a_secret_that_was_set(self, partner: Partner) -> None:
        """A secret came without a response: there is none to show."""
        partner.begin(offers=["ONB10011"])
        partner.step("state", "import", OFFERS)
        partner.step("secret", "set", OFFERS, stdin="hunter2")
        assert (
            f"Error: {OFFERS}: no attempt has a response or a secret; ask the operator for the secret, then run:\n"
            f"    reconciler secret set {OFFERS}\n"
        ) == partner.step("secret", "show", OFFERS, "--headers", code=1).err

    def test_elsewhere(self, created: Partner) -> None:
        """Another machine has not the file, and says where it is."""
        created.environment["XDG_DATA_HOME"] = str(created.path / "elsewhere")
        done = created.run_fork("secret", "show", OFFERS)
        assert 1 == done.code
        assert (
            f"Error: {OFFERS}: its secret is in a private file of another machine or user: the one that ran apply; run"
            f" this command there, or ask the operator for the secret and run:\n    reconciler secret set {OFFERS}\n"
        ) == done.err

    def test_sealed(self, sealed: Partner) -> None:
        """Nothing of it lies open in the journal, and only the identity opens it."""
        assert SIGNING_KEY not in sealed.journal.read_text(encoding="utf-8")
        assert {"subscriptionId": "sub-1"} == sealed.entries[-1]["fields"]
        shown = sealed.step("secret", "show", OFFERS, "--identity", "key.txt", "--field", "key")
        assert f"{SIGNING_KEY}\n" == shown.out
        for arguments, said in (
            ([], "no age identity; use --identity FILE"),
            (["--identity", "other.txt"], "no identity can decrypt this; "),
            (["--identity", "config"], "--identity config: cannot read the identity file: Is a directory"),
            (["--identity", "none.txt"], "--identity none.txt: cannot read the identity file: No such file"),
            (["--identity", "config/all.yaml"], "line 1 of identity file 1 is not an age identity; "),
        ):
            done = sealed.step("secret", "show", OFFERS, *arguments, code=None)
            assert (1, "") == (done.code, done.out)
            assert said in done.err

    def test_an_identity_in_another_encoding(self, sealed: Partner) -> None:
        """It is named, and not shown."""
        sealed.write("latin.txt", b"hunter2\xff")
        done = sealed.run_fork("secret", "show", OFFERS, "--identity", "latin.txt")
        assert "Error: --identity latin.txt: cannot read the identity file: not UTF-8\n" == done.err

    def test_in_actions_it_is_masked(self, created: Partner) -> None:
        """Every string of it, on stderr, before it is printed; and no line of it is a command."""
        created.environment["GITHUB_ACTIONS"] = "true"
        done = created.step("secret", "show", OFFERS)
        assert f"::add-mask::{SIGNING_KEY}\n" in done.err
        assert json.loads(done.out) == TOLD
        done = created.step("secret", "show", OFFERS, "--field", "key")
        assert (f"::add-mask::{SIGNING_KEY}\n", f"{SIGNING_KEY}\n") == (done.err, done.out)


class TestLost:
    """What exists, and whose response nobody has."""

    ADVICE = f"ask the operator for the secret, then run:\n    reconciler secret set {OFFERS}"

    @pytest.fixture
    def settled(self, partner: Partner) -> Partner:
        """A partner with one create that a person settled as created."""
        partner.begin(offers=["ONB10011"])
        partner.lose_answer()
        partner.step("state", "resolve", OFFERS, "--created")
        return partner

    def test_it_is_said_what_to_do(self, settled: Partner) -> None:
        """Until the secret is kept."""
        attempt = settled.attempt()
        for named in ([], ["--attempt", attempt]):
            done = settled.run_fork("secret", "show", OFFERS, *named)
            assert (1, "") == (done.code, done.out)
            assert f"{' '.join([self.ADVICE, *named])}\n" in done.err
        settled.step("secret", "set", OFFERS, stdin="hunter2")
        assert "hunter2\n" == settled.step("secret", "show", OFFERS).out

    def test_the_secret_of_an_earlier_one_is_not_shown_for_it(self, created: Partner) -> None:
        """It signs nothing of what is live now, and is shown by its attempt alone."""
        old = created.attempt()
        created.declare({"offers": (["ONB10011"], "https://hooks.partner.example/else")})
        created.lose_answer()
        created.step("state", "resolve", OFFERS, "--created")
        created.step("state", "retire", OFFERS, "--attempt", old)
        assert self.ADVICE in created.run_fork("secret", "show", OFFERS).err
        assert json.loads(created.step("secret", "show", OFFERS, "--attempt", old).out) == TOLD

    @pytest.mark.parametrize("unread", [False, True])
    def test_a_response_whose_run_died_is_found(self, partner: Partner, unread: bool) -> None:
        """It was kept before the outcome was recorded: it proves the create, and holds the secret."""
        partner.begin(offers=["ONB10011"])
        failpoint = {"RECONCILER_TEST_FAILPOINT": "before-append:2:kill,send_window=0.1,margin=0"}
        partner.environment, usual = {**partner.environment, **failpoint}, partner.environment
        partner.step("apply", "--auto-approve", "--timeout", "3", code=-9)
        partner.environment = usual
        if unread:
            partner.environment["XDG_DATA_HOME"] = str(partner.path / "elsewhere")
        time.sleep(3.2)
        denied = ("state", "resolve", OFFERS, "--not-created")
        if not unread:
            with partner.appending():
                done = partner.run_fork(*denied)
            assert (1, "") == (done.code, done.out)
            assert f"Error: {OFFERS}: this machine has the response to its create call, so it was created; " in done.err
            partner.step(*denied, "--force", code=1)
            planned = partner.step("plan").out
            assert f"so it was created; run:\n          reconciler state resolve {OFFERS} --created\n" in planned
            assert "--not-created" not in planned
        with partner.appending("resolved"):
            done = partner.step("state", "resolve", OFFERS, "--created")
        assert unread == ("No create response, and so no secret, is recorded" in done.err)
        done = partner.step("secret", "show", OFFERS, "--field", "key", code=None)
        assert ((1, "") if unread else (0, f"{SIGNING_KEY}\n")) == (done.code, done.out)

    def test_of_what_does_not_exist(self, created: Partner) -> None:
        """There is no secret to ask for."""
        done = created.run_fork("secret", "show", "europe/staging/none")
        assert (1, False) == (done.code, "operator" in done.err)


class TestSet:
    """A secret that came another way."""

    def test_from_a_pipe(self, created: Partner) -> None:
        """It is kept privately, without the newline, and shown from then on."""
        with created.appending("secret"):
            done = created.run_fork("secret", "set", OFFERS, stdin="12345678901234567890.10\r\n")
        assert (0, f"  {OFFERS}: secret saved\n", "") == (done.code, done.out, done.err)
        assert "12345678901234567890.10\n" == created.step("secret", "show", OFFERS).out
        with created.appending("secret"):
            created.step("secret", "set", OFFERS, stdin="another")
        assert "another\n" == created.step("secret", "show", OFFERS).out
        assert "secret set: 2" in created.step("state", "show", OFFERS).out

    @pytest.mark.parametrize(("answer", "code"), [("hunter2\n", 0), ("\x04", 1)])
    def test_at_a_terminal(self, created: Partner, answer: str, code: int) -> None:
        """What is typed is not shown; the end of the input is no secret."""
        done = at_terminal(created, "secret", "set", OFFERS, answers={"Secret: ": answer})
        assert code == done.code
        assert "hunter2" not in done.out

    def test_on_a_runner(self, created: Partner) -> None:
        """Its disk dies with the job, and that is said."""
        created.environment["CI"] = "true"
        done = created.step("secret", "set", OFFERS, stdin="hunter2")
        (path,) = responses().rglob("*.secret-*")
        assert (
            f"Warning: {OFFERS}: its secret is stored only on this machine: {path}; add `recipients:` to config/ to"
            " store secrets in the record, encrypted\n"
        ) == done.err

    def test_sealed(self, sealed: Partner) -> None:
        """To the recipients, like a response."""
        with sealed.appending("secret"):
            sealed.step("secret", "set", OFFERS, stdin="hunter2")
        assert "hunter2" not in sealed.journal.read_text(encoding="utf-8")
        assert "hunter2\n" == sealed.step("secret", "show", OFFERS, "--identity", "key.txt").out

    def test_of_what_is_not_in_force(self, created: Partner) -> None:
        """There is nothing that it could belong to; what is recorded of the address can be seen."""
        with created.appending():
            done = created.run_fork("secret", "set", f"{OFFERS}s", stdin="hunter2")
        told = f"Error: {OFFERS}s: no attempt in force; run:\n    reconciler state show {OFFERS}s\n"
        assert (1, "", told) == (done.code, done.out, done.err)

    def test_below_the_home_directory(self, created: Partner) -> None:
        """Private files are in `.local/share` there, unless XDG_DATA_HOME says where."""
        home = created.path / "home"
        created.environment |= {"XDG_DATA_HOME": "relative", "HOME": str(home)}
        created.step("secret", "set", OFFERS, stdin="hunter2")
        (file,) = (home / ".local" / "share" / "reconciler" / "responses").rglob("*.secret-*")
        assert b"hunter2" == file.read_bytes()

    def test_what_actions_would_take_for_a_command(self, created: Partner) -> None:
        """A value that begins as one is not printed there."""
        created.step("secret", "set", OFFERS, stdin='{"key": " ::set-output name=x::y"}')
        assert " ::set-output name=x::y\n" == created.step("secret", "show", OFFERS, "--field", "key").out
        created.environment["GITHUB_ACTIONS"] = "true"
        done = created.step("secret", "show", OFFERS, "--field", "key", code=None)
        assert (1, "") == (done.code, done.out)
        assert "workflow command" in done.err


class TestItsPrivateFile:
    """The record says which one it is."""

    ELSEWHERE = "in a private file of another machine or user: the one that saved it; "
    VERIFYING = "verification: {header: X-Signature, algorithm: hmac-sha256}\n"

    @pytest.fixture
    def twice(self, created: Partner) -> Partner:
        """A partner whose secret was set where it was applied, and then to another on another machine."""
        created.write("config/signed.yaml", self.VERIFYING)
        created.step("secret", "set", OFFERS, stdin="stale")
        with machine(created, "another"):
            created.step("secret", "set", OFFERS, stdin="fresh")
        return created

    def test_each_has_one_of_its_own(self, twice: Partner) -> None:
        """At random, so that two machines choose different ones."""
        first, second = (entry["secret"] for entry in twice.entries if entry["kind"] == "secret")
        assert first != second
        there = twice.path / "another" / "reconciler" / "responses"
        for place, directory, secret in ((first, responses(), "stale"), (second, there, "fresh")):
            assert re.fullmatch("file:[0-9a-f]{8}", place)
            (kept,) = directory.glob("*/*.secret*")
            assert (f"secret-{place[5:]}.1", secret) == (kept.name.partition(".")[2], kept.read_text())

    def test_only_the_last_is_shown(self, twice: Partner) -> None:
        """What was set before it is the secret no more; who has not the last is told where it is."""
        with machine(twice, "another"):
            assert "fresh\n" == twice.step("secret", "show", OFFERS).out
        done = twice.step("secret", "show", OFFERS, code=None)
        assert (1, "") == (done.code, done.out)
        assert f"Error: {OFFERS}: its secret is {self.ELSEWHERE}" in done.err
        assert "secret set: 2" in twice.step("state", "show", OFFERS).out

    def test_each_that_is_here_may_have_signed(self, twice: Partner) -> None:
        """Not the last alone; and it is said that there is one elsewhere."""
        with machine(twice, "another"):
            twice.step("secret", "set", OFFERS, stdin="fresher")
            self.assert_candidates(twice, 2)
        assert f"Warning: {OFFERS}: its secret is {self.ELSEWHERE}" in self.assert_candidates(twice, 3)

    def test_what_did_not_get_into_the_record_is_not_shown(self, created: Partner) -> None:
        """It was kept before the record could not be written, and nobody was told that it is the secret."""
        created.step("secret", "set", OFFERS, stdin="recorded")
        size = created.journal.stat().st_size
        created.before_steps = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))"
        with created.appending():
            created.step("secret", "set", OFFERS, stdin="refused", code=1)
        created.before_steps = ""
        assert {"recorded", "refused"} == {path.read_text() for path in responses().glob("*/*.secret*")}
        assert "recorded\n" == created.step("secret", "show", OFFERS).out

    def test_a_record_that_names_none(self, created: Partner) -> None:
        """The last that lies here is meant, until another is set; each may have signed."""
        created.write("config/signed.yaml", self.VERIFYING)
        append_unnamed(created, "one", "two")
        assert "two\n" == created.step("secret", "show", OFFERS).out
        self.assert_candidates(created, 4)
        with machine(created, "another"):
            assert self.ELSEWHERE in created.step("secret", "show", OFFERS, code=None).err
        created.step("secret", "set", OFFERS, stdin="three")
        assert "three\n" == created.step("secret", "show", OFFERS).out
        self.assert_candidates(created, 5)

    @staticmethod
    def assert_candidates(partner: Partner, count: int) -> str:
        """Hold that notifications are verified with so many secrets, and give what is said at that."""
        with listening(partner, "--verify") as listen:
            said = wait_until(lambda: listen.said, lambda said: "candidate" in said)
        assert f" with {count} candidate secrets; " in said
        return said


@contextmanager
def machine(partner: Partner, name: str) -> Iterator[None]:
    """What is run inside has the private files of another machine."""
    partner.environment["XDG_DATA_HOME"] = str(partner.path / name)
    yield
    del partner.environment["XDG_DATA_HOME"]


def responses() -> Path:
    """Where the machine of the tests has its private files."""
    return Path(os.environ["XDG_DATA_HOME"]) / "reconciler" / "responses"


def append_unnamed(partner: Partner, *secrets: str) -> None:
    """Set secrets by entries that name no file."""
    store, heads = FileStore(partner.path / "state"), Heads(partner.path / "cache")
    for secret in secrets:
        journal = read_journal(store, TargetName("europe/staging"), heads)
        record = journal.record()
        (attempt,) = record.attempts
        PrivateFiles(responses()).keep(record.id, attempt, "secret", secret.encode())
        entry = SecretSet(at="2026-11-20T13:30:02Z", by={"user": "ann"}, attempt=attempt, secret="file")
        append_entries(store, journal, [entry], heads, "secret set")


def test_several_responses_want_a_name(created: Partner) -> None:
    """Live ones come first; --attempt names any."""
    created.declare({"offers": (["ONB10011"], "https://hooks.partner.example/else")})
    created.step("apply", "--auto-approve")
    assert '"sub-2"' in created.step("secret", "show", OFFERS).out
    old = next(one["attempt"] for one in created.entries if one["kind"] == "outcome")
    assert '"sub-1"' in created.step("secret", "show", OFFERS, "--attempt", old).out
    created.want(offers=["ONB10011", "ONB10001"])
    created.step("state", "removed", OFFERS)
    created.declare({"offers": (["ONB10011", "ONB10001"], "https://hooks.partner.example/else")})
    created.step("apply", "--auto-approve")
    done = created.step("secret", "show", OFFERS, code=None)
    assert 1 == done.code
    assert "several attempts with a response or a secret; choose one with --attempt: " in done.err
