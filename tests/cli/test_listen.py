"""`reconciler listen`: the real executable, real senders, and a real sandbox that delivers again."""

from __future__ import annotations

import fcntl
import hmac
import json
import os
import signal
import socket
import subprocess
from contextlib import closing, suppress
from http.client import HTTPException
from typing import TYPE_CHECKING

import pyrage  # type: ignore[import-untyped]
import pytest
from support.lending_service import SIGNING_KEY
from support.notified import listening, notification, post, talk, wait_until
from support.ports import free_port
from support.project import EXECUTABLE, end

from reconciler.receiver.captured import captured_in
from reconciler.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.partner import Partner
    from support.project import Project

SIGNED = "verification: {header: X-Signature, algorithm: hmac-sha256, prefix: 'sha256='}\n"


def signature(secret: bytes, body: bytes) -> dict[str, str]:
    """The header of a notification that was signed as SIGNED says."""
    return {"X-Signature": f"sha256={hmac.digest(secret, body, 'sha256').hex()}"}


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    """A service that delivers again soon."""
    with Sandbox(retry_interval=0.3) as one:
        yield one


@pytest.fixture
def served(project: Project, sandbox: Sandbox) -> Project:
    """A project whose target is the sandbox."""
    project.environment.update(sandbox.variables())
    project.declare({})
    return project


class TestReceiving:
    """What arrives, and what is told of it."""

    def test_is_told_as_a_line_of_json(self, project: Project) -> None:
        """Off a terminal; the notification in it to the letter."""
        body = b'{"EventCode": "LOA10013",\r\n "Message": "##[error]\xc3\xa4\xe2\x80\xa8", '
        body += b'"EventProperties": {"n": 1.10, "m": 1E400}}'
        with listening(project, "--record", "r.jsonl", fork=False) as listen:
            assert (200, "") == post(f"{listen.url}/a?b", body)
            (told,) = listen.wait_told(1)
        raw = (project.path / "listen-0.out").read_bytes()
        assert b'"n": 1.10, "m": 1E400' in raw
        assert raw.isascii()
        assert b"##[" not in raw
        assert json.loads(body) == told.pop("notification")
        assert told.pop("at").endswith("Z")
        assert {
            "method": "POST", "path": "/a?b", "status": 200, "delivery": 1, "duplicate": False, "verified": None,
            "problem": None, "eventCode": "LOA10013", "mistakes": [],
        } == told  # fmt: skip
        assert [body] == [one.body for one in captured_in(project.path / "r.jsonl")]

    def test_bad_requests_are_told_apart(self, project: Project) -> None:
        """And what is accepted although it is not as documented says so."""
        offers = notification(properties={"LeadId": "x", "Offers": []})
        with listening(project, "--record", "r.jsonl") as listen:
            port = int(listen.url.rpartition(":")[2])
            answered = [
                post(listen.url, body).status for body in (b"{", b"\xff", b"[]", b"{}", offers, b"x" * 2_000_000)
            ]
            talk(port, b"nonsense\r\n\r\n", half_close=True)
            told = listen.wait_told(7)
        assert [400, 400, 400, 200, 200, 413] == answered
        assert [(400, None), (400, None), (400, None), (200, None), (200, "ONB10011"), (413, None), (400, None)] == [
            (one["status"], one["eventCode"]) for one in told
        ]
        assert [None, None, None, {}, json.loads(offers), None, None] == [one["notification"] for one in told]
        assert ["EventProperties.LeadId is not a UUID"] == told[4]["mistakes"]
        assert told[3]["mistakes"][0].startswith("not as documented: EventCode is missing")
        assert [b"{}", offers] == [one.body for one in captured_in(project.path / "r.jsonl")]

    def test_says_where_it_is(self, project: Project) -> None:
        """Its URL, that a tunnel is wanted, and where notifications are kept if nobody said: with the user's data."""
        with listening(project) as listen:
            post(listen.url, b"{}")
        kept = project.path.parent / "home" / "data" / "reconciler" / "notifications.jsonl"
        assert listen.said.startswith(f"Listening at {listen.url} on every path. ")
        assert f"Notifications are saved to {kept}." in listen.said
        assert f"forward a tunnel to {listen.url} " in listen.said
        assert [b"{}"] == [one.body for one in captured_in(kept)]

    def test_behaviour(self, project: Project) -> None:
        """Failing first, another status, and a wait before the answer."""
        with listening(
            project, "--record", "r.jsonl", "--fail-first", "1", "--respond", "202", "--delay", "0.3"
        ) as listen:
            assert [503, 202, 202] == [post(listen.url, notification()).status for _ in range(3)]
            told = listen.wait_told(3)
        assert [(1, False), (2, False), (3, True)] == [(one["delivery"], one["duplicate"]) for one in told]
        assert [False, True] == [one.duplicate for one in captured_in(project.path / "r.jsonl")]

    @pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
    def test_stops_when_it_is_told_to(self, project: Project, number: signal.Signals, code: int) -> None:
        """A delivery that is waiting for its answer gets it first, and nothing is left untold."""
        with listening(project, "--record", "r.jsonl", "--delay", "600", fork=False) as listen:
            port = int(listen.url.rpartition(":")[2])
            with socket.create_connection(("127.0.0.1", port), timeout=20) as sender:
                sender.sendall(b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}")
                wait_until(lambda: (project.path / "r.jsonl").stat().st_size, bool)
                assert code == end(listen.process, number).code
                assert sender.recv(100).startswith(b"HTTP/1.1 200 OK\r\n")
            assert [200] == [one["status"] for one in listen.told]
        assert listen.said.endswith("Interrupted.\n")

    def test_nobody_reads_its_output(self, project: Project) -> None:
        """It ends, since its reader has read enough."""
        line = "{ $reconciler listen --record r.jsonl 2>said; echo $? >code; } | head -n 1 & sleep 0.1; wait $!"
        process = subprocess.Popen(
            ["bash", "-c", line], cwd=project.path, env={**project.variables(), "reconciler": str(EXECUTABLE)},
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        said = project.path / "said"
        text = wait_until(lambda: said.read_text() if said.exists() else "", lambda one: "tunnel" in one)
        url = text.partition("Listening at ")[2].partition(" ")[0]
        code = project.path / "code"

        def posted() -> str:
            if code.exists():
                return code.read_text()
            with suppress(OSError, HTTPException):  # it may be ending
                post(url, b"{}")
            return ""

        assert "0\n" == wait_until(posted, bool)
        process.wait(20)

    @pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
    def test_stops_although_nobody_reads_its_output(self, project: Project, number: signal.Signals, code: int) -> None:
        """With a stdout that is full, it answers as before, and what it answered is on the disk."""
        reading, writing = os.pipe()
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
        process = project.start("listen", "--record", "r.jsonl", stdout=writing)
        os.close(writing)
        assert process.stderr is not None
        url = process.stderr.readline().decode().partition("Listening at ")[2].partition(" ")[0]
        assert [200] * 20 == [post(url, notification()).status for _ in range(20)]
        done = end(process, number)
        assert (code, True) == (done.code, "some deliveries were not printed because" in done.err)
        os.close(reading)
        assert 20 == len(list(captured_in(project.path / "r.jsonl")))


class TestRefusals:
    """What it does not start with."""

    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            (["--delay", "-1"], "Error: --delay: expected 0 to 3600 seconds"),
            (["--delay", "nan"], "Error: --delay: expected 0 to 3600 seconds"),
            (["--respond", "100"], "is not in the range 200<=x<=599"),
            (["--fail-first", "-1"], "is not in the range"),
            (["--identity", "key"], "--identity requires --verify"),
            (["--verify"], "Error: --verify: config/ has no `verification:` section"),
            (["--record", "config/all.yaml"], "config/all.yaml:1: invalid captured request: not a JSON object"),
            (["--record", "config"], "Error: config: cannot write: Is a directory"),
        ],
        ids=str,
    )
    def test_is_said(self, project: Project, arguments: list[str], told: str) -> None:
        """In one line, before anything is listened to."""
        project.declare({})
        done = project.run_fork("listen", *arguments)
        assert (1, "", True) == (done.code, done.out, told in done.err)
        assert "Traceback" not in done.err

    def test_a_port_that_is_taken(self, project: Project) -> None:
        """By somebody else."""
        with closing(socket.create_server(("127.0.0.1", 0))) as other:
            port = other.getsockname()[1]
            done = project.run_fork("listen", "--record", "r.jsonl", "--port", str(port))
        assert (1, True) == (done.code, f"127.0.0.1:{port}: cannot listen on this port" in done.err)

    def test_a_home_that_is_none(self, project: Project) -> None:
        """There is nowhere to keep notifications, unless a file is named."""
        project.write("data", "")
        project.environment["XDG_DATA_HOME"] = str(project.path / "data")
        done = project.run_fork("listen")
        assert (1, True) == (done.code, "choose another file with --record" in done.err)


class TestWithTheSandbox:
    """Deliveries of the service, with its retries."""

    def test_event_arrives(self, served: Project, sandbox: Sandbox) -> None:
        """From `sandbox trigger` to the record."""
        with listening(served, "--record", "r.jsonl") as listen:
            sandbox.world.commit_subscription("europe/staging", ("ONB10011",), f"{listen.url}/offers")
            assert "2 deliveries started\n" == served.step("sandbox", "trigger", "ONB10011", "--count", "2").out
            told = listen.wait_told(2)
        assert [(200, "ONB10011", [])] * 2 == [(one["status"], one["eventCode"], one["mistakes"]) for one in told]

    def test_killed_between_the_disk_and_the_answer(self, served: Project, sandbox: Sandbox) -> None:
        """Nothing is lost: it is on the disk, it comes again, and the second is named as what it is."""
        sandbox.deliveries._retry_interval = 2.5  # a slow machine needs seconds to start the second receiver
        port = str(free_port())
        sandbox.world.commit_subscription("europe/staging", ("ONB10011",), f"http://127.0.0.1:{port}/offers")
        record = served.path / "r.jsonl"
        with listening(served, "--port", port, "--record", "r.jsonl", "--delay", "60", fork=False) as listen:
            sandbox.deliveries.trigger("ONB10011")
            wait_until(lambda: record.stat().st_size, bool)
            listen.process.kill()
            listen.process.wait(10)
        with listening(served, "--port", port, "--record", "r.jsonl") as listen:
            (told,) = listen.wait_told(1)
            assert sandbox.deliveries.wait_idle(20)
        assert (200, True, 2) == (told["status"], told["duplicate"], told["delivery"])
        kept = list(captured_in(record))
        assert ([False, True], 1) == ([one.duplicate for one in kept], len({one.body for one in kept}))
        statuses = [one.status for one in sandbox.world.delivery_attempts]
        assert (None, 200) == (statuses[0], statuses[-1])

    def test_keeps_up(self, served: Project, sandbox: Sandbox) -> None:
        """Hundreds of deliveries, each confirmed the first time, none lost, none told twice."""
        with listening(served, "--record", "r.jsonl") as listen:
            sandbox.world.commit_subscription("europe/staging", ("ONB10011",), f"{listen.url}/offers")
            assert sandbox.deliveries.trigger("ONB10011", count=300) == 300
            assert sandbox.deliveries.wait_idle(60)
            told = listen.wait_told(300)
        assert {(1, 200)} == {(one.number, one.status) for one in sandbox.world.delivery_attempts}
        leads = {one["notification"]["EventProperties"]["LeadId"] for one in told}
        assert (300, 300, 300) == (len(told), len(leads), len(list(captured_in(served.path / "r.jsonl"))))


class TestVerifying:
    """`--verify`, with what the record holds."""

    @pytest.fixture
    def partner(self, partner: Partner) -> Partner:
        """A partner that says how notifications are signed, and has one subscription; its secrets are private files."""
        partner.begin(offers=["ONB10011"])
        partner.write("config/signed.yaml", SIGNED)
        partner.step("apply", "--auto-approve")
        return partner

    def test_signatures(self, partner: Partner, signing_key: bytes) -> None:
        """Right, bad, missing; signed with what is no secret."""
        body = notification()
        with listening(partner, "--record", "r.jsonl", "--verify") as listen:
            answers = [
                post(f"{listen.url}/offers", body, headers)
                for headers in (
                    signature(signing_key, body), signature(b"another", body), {}, signature(b"sub-1", body),
                    signature(b"ONB10011", body), signature(b"", body), {"X-Signature": "sha256="},
                )
            ]  # fmt: skip
            told = listen.wait_told(7)
        assert [200, 401, 401, 401, 401, 401, 401] == [one.status for one in answers]
        assert "bad signature: X-Signature matches no recorded secret of this endpoint" == answers[1].text
        assert "no signature: the header X-Signature is missing" == answers[2].text
        assert [True] + [False] * 6 == [one["verified"] for one in told]
        assert [None, answers[1].text, answers[2].text] == [one["problem"] for one in told[:3]]
        assert (
            "Verifying X-Signature with 2 candidate secrets; a notification with a bad signature is answered with 401"
            " and saved as unverified.\n" in listen.said
        )
        kept = list(captured_in(partner.path / "r.jsonl"))
        assert ([body] * 7, [one["verified"] for one in told]) == (
            [one.body for one in kept],
            [one.verified for one in kept],
        )
        observed = partner.step("state", "observe", "r.jsonl")
        assert "ignored 6 lines: wrong signature" in observed.err
        assert signing_key.decode() not in listen.said + partner.read("listen-0.out") + partner.read("r.jsonl")

    def test_not_enforced(self, partner: Partner) -> None:
        """Then it is told, and taken."""
        partner.write("config/signed.yaml", SIGNED.replace("}", ", enforce: false}"))
        with listening(partner, "--record", "r.jsonl", "--verify") as listen:
            assert [200, 400] == [post(listen.url, body).status for body in (b"{}", b"[")]
            told = listen.wait_told(2)
        assert [(200, False), (400, False)] == [(one["status"], one["verified"]) for one in told]
        assert "no signature: the header X-Signature is missing" == told[0]["problem"]
        assert [False] == [one.verified for one in captured_in(partner.path / "r.jsonl")]

    def test_a_header_that_is_signed_with_the_body(self, partner: Partner) -> None:
        """Is missed by its own name."""
        partner.write("config/signed.yaml", SIGNED.replace("}", ", content: '{header:X-Time}.{body}'}"))
        with listening(partner, "--record", "r.jsonl", "--verify") as listen:
            answer = post(listen.url, b"{}", {"X-Signature": "sha256=00"})
        assert (401, "no signature: a header that is part of the signed content is missing") == answer

    def test_secrets_that_were_set(self, partner: Partner, signing_key: bytes) -> None:
        """Any of them fits, and so do those of the response; by path, or by any where no path is this one."""
        partner.want(offers=["ONB10011"], other=["LOA10013"])
        partner.write("config/signed.yaml", SIGNED)
        partner.step("apply", "--auto-approve")
        for name, secret in (("offers", "first"), ("offers", "second"), ("other", "third")):
            partner.step("secret", "set", f"europe/staging/{name}", stdin=secret)
        with listening(partner, "--record", "r.jsonl", "--verify") as listen:
            sent = [
                ("offers", b"first"), ("offers", b"second?"), ("offers", b"second"), ("offers", signing_key),
                ("offers?x=1", b"first"), ("offers", b"third"), ("offers?x=1", b"third"), ("other", b"third"),
                ("elsewhere", b"third"),
            ]  # fmt: skip
            answers = [post(f"{listen.url}/{path}", b"{}", signature(secret, b"{}")).status for path, secret in sent]
        assert [200, 401, 200, 200, 200, 401, 401, 200, 200] == answers

    def test_a_url_without_a_path(self, partner: Partner) -> None:
        """Has the path `/`."""
        hooks = "https://hooks.partner.example"
        partner.declare({"offers": (["ONB10011"], f"{hooks}/offers"), "other": (["LOA10013"], hooks)})
        partner.write("config/signed.yaml", SIGNED)
        partner.step("apply", "--auto-approve")
        for name in ("offers", "other"):
            partner.step("secret", "set", f"europe/staging/{name}", stdin=f"that of {name}")
        with listening(partner, "--record", "r.jsonl", "--verify") as listen:
            answers = [
                post(f"{listen.url}/", b"{}", signature(secret, b"{}")).status
                for secret in (b"that of other", b"that of offers")
            ]
        assert [200, 401] == answers

    def test_what_is_created_meanwhile(self, partner: Partner) -> None:
        """Its secret is looked for when a signature does not fit."""
        with listening(partner, "--record", "r.jsonl", "--verify") as listen:
            partner.step("secret", "set", "europe/staging/offers", stdin="late")
            good = signature(b"late", b"{}")
            answer = wait_until(lambda: post(f"{listen.url}/offers", b"{}", good).status, lambda one: one == 200)
        assert answer == 200

    def test_the_record_breaks_meanwhile(self, partner: Partner, signing_key: bytes) -> None:
        """What was read before still holds, and that it could not be read again is told once."""
        with listening(partner, "--record", "r.jsonl", "--verify") as listen:
            partner.journal.write_bytes(b"{}\n")
            bad = signature(b"another", b"{}")
            wait_until(
                lambda: (post(f"{listen.url}/offers", b"{}", bad), listen.said)[1], lambda said: "re-read" in said
            )
            assert post(f"{listen.url}/offers", b"{}", signature(signing_key, b"{}")).status == 200
        assert listen.said.count("Warning: could not re-read the secrets: ") == 1

    def test_nothing_recorded_yet(self, partner: Partner) -> None:
        """Is no reason not to start: the subscription is created while it listens."""
        partner.environment["RECONCILER_STATE"] = "elsewhere"
        with listening(partner, "--record", "r.jsonl", "--verify") as listen:
            assert post(f"{listen.url}/offers", b"{}", signature(b"", b"{}")).status == 401
        assert "Warning: no secret is recorded yet, so every signature fails\n" in listen.said

    def test_private_files_of_another_machine(self, partner: Partner) -> None:
        """Are named, with what to do."""
        partner.environment["XDG_DATA_HOME"] = str(partner.path / "elsewhere")
        with listening(partner, "--record", "r.jsonl", "--verify") as listen:
            assert post(f"{listen.url}/offers", b"{}", signature(b"", b"{}")).status == 401
        assert "Warning: europe/staging/offers: its secret is in a private file of another machine" in listen.said

    def test_sealed_responses(self, partner: Partner, signing_key: bytes) -> None:
        """Are opened with the identity; without it the warning says what is wanted."""
        identity, recipient = age_key()
        partner.write("key.txt", f"# a comment\n{identity}\n")
        partner.want(offers=["ONB10011"], other=["LOA10013"])
        partner.write("config/signed.yaml", f"recipients: [{recipient}]\n{SIGNED}")
        partner.step("apply", "--auto-approve")
        partner.environment["XDG_DATA_HOME"] = str(partner.path / "elsewhere")
        partner.step("secret", "set", "europe/staging/offers", stdin="sealed too")
        for arguments, expected in ((["--identity", "key.txt"], [200, 200]), ([], [401, 401])):
            with listening(partner, "--record", "r.jsonl", "--verify", *arguments) as listen:
                assert expected == [
                    post(f"{listen.url}/{path}", b"{}", signature(secret, b"{}")).status
                    for path, secret in (("other", signing_key), ("offers", b"sealed too"))
                ]
        assert "Warning: europe/staging/other: no age identity; use --identity FILE" in listen.said


class TestIdentity:
    """The file that --identity names."""

    @pytest.mark.parametrize(("content", "told"), [(None, "No such file"), (b"\xff", "not UTF-8")])
    def test_cannot_be_read(self, project: Project, content: bytes | None, told: str) -> None:
        """Is an error at the start."""
        project.declare({})
        project.write("config/signed.yaml", SIGNED)
        if content is not None:
            project.write("key.txt", content)
        done = project.run_fork("listen", "--verify", "--identity", "key.txt")
        assert (1, True) == (done.code, f"--identity key.txt: cannot read the identity file: {told}" in done.err)


def age_key() -> tuple[str, str]:
    """A new identity, and its recipient."""
    identity = pyrage.x25519.Identity.generate()
    return str(identity), str(identity.to_public())


@pytest.fixture
def signing_key() -> bytes:
    """The secret in the responses of the lending service."""
    return SIGNING_KEY.encode()
