"""`reconciler verification infer`: from one captured request to the lines in `config/`."""

from __future__ import annotations

import base64
import hmac
import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from support.lending_service import SIGNING_KEY
from support.notified import notification
from support.project import finish

from reconciler.desired import load
from reconciler.model.desired import Verification
from reconciler.receiver.captured import LINE_LIMIT

if TYPE_CHECKING:
    from pathlib import Path

    from support.partner import Partner
    from support.project import Project

BODY = notification()
KEY = base64.b64encode(b"key of the subscription").decode()
SIGNATURE = base64.b64encode(hmac.digest(base64.b64decode(KEY), b"1700000000." + BODY, "sha512")).decode()
SCHEME = Verification("X-Sig", "hmac-sha512", "v1=", "base64", "base64", "{header:X-Time}.{body}")


def captured(**headers: str) -> dict[str, Any]:
    """A captured request; `X_Y` becomes the header X-Y."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return {"at": "2026-11-20T14:00:00Z", "path": "/offers", "headers": named, "body": BODY.decode()}


SIGNED = captured(Host="a.example", X_Sig=f"v1={SIGNATURE}", X_Time="1700000000")


@pytest.fixture
def captor(project: Project) -> Project:
    """A project with one captured request, and its secret in the environment."""
    project.write("one.json", json.dumps(SIGNED) + "\n")
    project.environment["HOOK_SECRET"] = KEY
    return project


class TestSecretVariable:
    """With the secret from the environment."""

    def test_the_scheme_that_fits(self, captor: Project, tmp_path: Path) -> None:
        """Is printed such that `config/` takes it; where it goes is said beside it, and in the help."""
        done = captor.step("verification", "infer", "one.json", "--secret-variable", "HOOK_SECRET")
        assert "Add this at the top level of any file in config/.\n" == done.err
        assert "" == captor.step("verification", "infer", "one.json", "--secret-variable", "HOOK_SECRET", "-q").err
        told = " ".join(captor.step("verification", "infer", "--help").out.split())
        assert "any file of config/, at the top level" in told
        assert done.out.startswith("verification:\n  header: X-Sig\n  algorithm: hmac-sha512\n")
        assert load(captor.write("found.yaml", done.out), lambda *_: None).verification == SCHEME

    @pytest.mark.parametrize(
        "text",
        [
            json.dumps(SIGNED) + "\n\n",
            json.dumps(SIGNED),
            json.dumps(SIGNED) + "\r\n",
            json.dumps(SIGNED, indent=2),
            json.dumps(SIGNED).replace(': {"', ':\n{"'),
            json.dumps({**SIGNED, "body": None, "body_base64": base64.b64encode(BODY).decode()}),
        ],
        ids=["line", "no newline", "CRLF", "indented", "braces on lines of their own", "base64"],
    )
    def test_forms_of_the_file(self, captor: Project, text: str) -> None:
        """The file contains one object, in any layout, and the result is the scheme of that request."""
        captor.write("one.json", text)
        done = captor.step("verification", "infer", "one.json", "--secret-variable", "HOOK_SECRET")
        assert load(captor.write("found.yaml", done.out), lambda *_: None).verification == SCHEME

    def test_from_standard_input(self, captor: Project) -> None:
        """As `-`, so that one line of many can be piped into it; what is wrong with that is told of it."""
        arguments = ["verification", "infer", "-", "--secret-variable", "HOOK_SECRET"]
        assert captor.step(*arguments, stdin=captor.read("one.json")).out.startswith("verification:\n")
        for given, told in (
            ("", "invalid captured request: not a"),
            (captor.read("one.json") * 2, "the file contains more"),
        ):
            done = captor.step(*arguments, stdin=given, code=None)
            assert (1, "", True) == (done.code, done.out, f"Error: standard input: {told}" in done.err)
        assert "to pass one line, run:\n    tail -n 1 FILE | reconciler verification infer -\n" in done.err

    def test_from_a_dotenv(self, captor: Project) -> None:
        """As every variable."""
        captor.environment.clear()
        captor.write(".env", f"HOOK_SECRET={KEY}\n")
        captor.step("verification", "infer", "one.json", "--secret-variable", "HOOK_SECRET")

    def test_none_fits(self, captor: Project) -> None:
        """Exit code 1, nothing on stdout, and what to look at."""
        captor.environment["HOOK_SECRET"] = "another"
        done = captor.run_fork("verification", "infer", "one.json", "--secret-variable", "HOOK_SECRET")
        assert (1, "") == (done.code, done.out)
        assert (
            "Error: no scheme matches this request; check that the secret belongs to the subscription that sent it and"
            " that headers and body are unchanged\n"
        ) == done.err
        assert "another" not in done.err

    def test_several_fit(self, captor: Project) -> None:
        """Exit code 1, nothing on stdout, and both on stderr."""
        digest = hmac.digest(KEY.encode(), BODY, "sha256").hex()
        captor.write("one.json", json.dumps(captured(X_A=digest, X_B=f"sha256={digest}")))
        done = captor.run_fork("verification", "infer", "one.json", "--secret-variable", "HOOK_SECRET")
        assert (1, "") == (done.code, done.out)
        assert (2, 1, 1) == tuple(
            done.err.count(one) for one in ("verification:\n", "  header: X-A\n", "  header: X-B\n")
        )
        remedy = "capture another notification and run this again with it"
        assert done.err.endswith(f"\nError: 2 schemes match this request; {remedy}\n")


class TestAddress:
    """With the secret from the record."""

    @pytest.fixture
    def partner(self, partner: Partner) -> Partner:
        """A partner with one subscription, and a request that was signed with the secret in its response."""
        partner.begin(offers=["ONB10011"])
        partner.step("apply", "--auto-approve")
        digest = hmac.digest(SIGNING_KEY.encode(), BODY, "sha256").hex()
        partner.write("one.json", json.dumps(captured(X_Signature=digest)))
        return partner

    def test_from_a_private_file(self, partner: Partner) -> None:
        """Which of the strings in the response it is, nobody has to know."""
        done = partner.step("verification", "infer", "one.json", "--address", "europe/staging/offers")
        assert "header: X-Signature\n  algorithm: hmac-sha256\n  prefix: ''\n  encoding: hex\n" in done.out
        assert SIGNING_KEY not in done.out + done.err

    def test_from_a_secret_that_was_set(self, partner: Partner) -> None:
        """Any that lies here, whichever was set last; where none does, it is said where it is."""
        partner.write("one.json", json.dumps(captured(X_Signature=hmac.digest(b"first", BODY, "sha256").hex())))
        arguments = ["verification", "infer", "one.json", "--address", "europe/staging/offers"]
        for machine, secrets in (("a", ["first", "second"]), ("b", ["third"])):
            partner.environment["XDG_DATA_HOME"] = str(partner.path / machine)
            for secret in secrets:
                partner.step("secret", "set", "europe/staging/offers", stdin=secret)
        for machine, code, told in (("a", 0, ""), ("b", 1, "no scheme matches"), ("c", 1, "another machine or user")):
            partner.environment["XDG_DATA_HOME"] = str(partner.path / machine)
            done = partner.run_fork(*arguments)
            assert (code, True) == (done.code, told in done.err)

    def test_from_a_sealed_response(self, partner: Partner) -> None:
        """With the identity."""
        partner.want(offers=["ONB10011"], other=["LOA10013"])
        partner.seal()
        partner.step("apply", "--auto-approve")
        arguments = ["verification", "infer", "one.json", "--address", "europe/staging/other"]
        done = partner.run_fork(*arguments)
        assert (1, True) == (
            done.code,
            "no age identity; use --identity FILE" in done.err,
        )
        partner.step(*arguments, "--identity", "key.txt")

    def test_a_later_attempt_that_cannot_be_read(self, partner: Partner) -> None:
        """Is said, though an earlier one can be read and has no secret."""
        (kept,) = (partner.path.parent / "home" / "data" / "reconciler" / "responses").glob("*/*.response.1")
        kept.chmod(0o600)
        kept.write_text("7")
        partner.step("state", "retire", "europe/staging/offers")
        partner.step("state", "removed", "europe/staging/offers")
        partner.seal()
        partner.step("apply", "--auto-approve")
        done = partner.run_fork("verification", "infer", "one.json", "--address", "europe/staging/offers")
        assert (1, True) == (done.code, "no age identity; use --identity FILE" in done.err)

    def test_a_response_with_nothing_to_sign_with(self, partner: Partner) -> None:
        """No JSON, too deep, no strings, others: it is no secret, and no failure."""
        (kept,) = (partner.path.parent / "home" / "data" / "reconciler" / "responses").glob("*/*.response.1")
        kept.chmod(0o600)
        nothing = "no secret is recorded; if you have it, run:\n    reconciler secret set europe/staging/offers\n"
        for response, told in (
            ("", nothing),
            ("[" * 5000, nothing),
            ("7", nothing),
            ('["ONB10011", 1, {"a": "sub"}]', "no scheme matches"),
        ):
            kept.write_text(response)
            done = partner.run_fork("verification", "infer", "one.json", "--address", "europe/staging/offers")
            assert (1, "", True) == (done.code, done.out, told in done.err)

    def test_of_what_nothing_is_recorded(self, partner: Partner) -> None:
        """Is said, with what to do."""
        for address, told in (
            ("europe/staging/none", "no secret is recorded"),
            ("europe/production/offers", "state init"),
            ("offers", "expected an address region/environment/name"),
        ):
            done = partner.run_fork("verification", "infer", "one.json", "--address", address)
            assert (1, "", True) == (done.code, done.out, told in done.err)


class TestMistakes:
    """Arguments and files that cannot be used."""

    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            ([], "expected --address or --secret-variable"),
            (["--address", "a/b/c", "--secret-variable", "X"], "expected --address or --secret-variable"),
            (["--secret-variable", "X", "--identity", "key"], "--identity requires --address"),
            (["--secret-variable", "NOT_SET"], "--secret-variable NOT_SET: this variable is not set"),
        ],
    )
    def test_arguments(self, captor: Project, arguments: list[str], told: str) -> None:
        """One secret, from one place."""
        done = captor.run_fork("verification", "infer", "one.json", *arguments)
        assert (1, "", True) == (done.code, done.out, told in done.err)

    @pytest.mark.parametrize(
        ("content", "told"),
        [
            (None, "one.json: cannot be read: No such file or directory"),
            ("", "one.json: invalid captured request: not a JSON object"),
            ("{}", "one.json: invalid captured request: `at` is missing"),
            (
                (json.dumps(SIGNED) + "\n") * 2,
                (
                    "one.json: the file contains more than one captured request; to pass one line, run:\n"
                    "    tail -n 1 FILE | reconciler verification infer -\n"
                ),
            ),
            (
                json.dumps(SIGNED) + " " * 17_000_000,
                "one.json: the file contains more than one captured request; to pass one",
            ),
            (
                json.dumps(SIGNED, indent=2) * 2,
                "one.json: the file contains more than one captured request; to pass one",
            ),
        ],
        ids=range(6),
    )
    def test_files(self, captor: Project, content: str | None, told: str) -> None:
        """One request, and no more."""
        (captor.path / "one.json").unlink()
        if content is not None:
            captor.write("one.json", content)
        done = captor.run_fork("verification", "infer", "one.json", "--secret-variable", "HOOK_SECRET")
        assert (1, "", True) == (done.code, done.out, told in done.err)

    def test_a_pipe_that_stays_open(self, captor: Project) -> None:
        """Is read no further than one request may be long."""
        os.mkfifo(captor.path / "pipe")
        process = captor.start("verification", "infer", "pipe", "--secret-variable", "HOOK_SECRET")
        with (captor.path / "pipe").open("wb", buffering=0) as pipe:
            pipe.write(b" " * (LINE_LIMIT + 1))
            done = finish(process)
        assert (1, True) == (done.code, "pipe: the file contains more than one captured request; " in done.err)
