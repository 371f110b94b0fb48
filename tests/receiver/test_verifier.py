"""What `reconciler.receiver` gives to an endpoint's own code, and the examples of RECEIVER.md."""

from __future__ import annotations

import asyncio
import hmac
import json
import os
import re
import runpy
import subprocess
import sys
from email.message import Message
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace
from support.notified import notification, post, wait_until

from reconciler.errors import ConfigError, SettingsError
from reconciler.receiver import (
    NotANotification,
    Notification,
    RequestRefused,
    Verification,
    Verifier,
    read_verification,
)  # fmt: skip

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.project import Project

PAGE = Path(__file__).parents[2] / ".github" / "RECEIVER.md"
SCHEME = Verification(header="X-Signature", algorithm="hmac-sha256", prefix="sha256=")
SECTION = "verification: {header: X-Signature, algorithm: hmac-sha256, prefix: 'sha256='}\n"
BODY = notification()
NO_SIGNATURE = "X-Signature has no hmac-sha256 signature in hex after the prefix 'sha256='"
NO_MATCH = "X-Signature does not match any of the 2 secrets, or the body is not as it was sent"


def signed(body: bytes = BODY, secret: str = "new") -> dict[str, str]:
    """The headers of a request that the sandbox's way of signing was used for."""
    return {"X-Signature": f"sha256={hmac.digest(secret.encode(), body, 'sha256').hex()}"}


def problem(call: Callable[[], object]) -> tuple[int, str]:
    """The status and the text of a refusal."""
    with pytest.raises(RequestRefused) as refused:
        call()
    return refused.value.status, str(refused.value)


class TestVerifier:
    """One request, judged."""

    @pytest.mark.parametrize("secret", ["old", "new"])
    def test_any_of_the_secrets(self, secret: str) -> None:
        """Both are right while one is replaced by the other."""
        read = Verifier(SCHEME, ["old", b"new"]).read(signed(secret=secret), BODY)
        assert isinstance(read, Notification)
        assert ("ONB10011", "EUR") == (
            read.event_code,
            read.offers_provided and read.offers_provided.offers[0].currency,
        )

    def test_headers_as_servers_have_them(self) -> None:
        """A mapping, a message, pairs of text or bytes, in any case."""
        value = signed()["X-Signature"]
        message = Message()
        message["x-signature"] = value
        pairs = [(b"host", b"a"), (b"x-SIGNATURE", value.encode())]
        for headers in ({"X-SIGNATURE": f" {value} "}, message, pairs, iter(pairs), [("X-Signature", value)]):
            Verifier(SCHEME, ["new"]).verify(headers, BODY)

    def test_a_signature_among_others(self) -> None:
        """Of a header that came twice, one is enough."""
        Verifier(SCHEME, ["new"]).verify([("X-Signature", "sha256=00"), *signed().items()], BODY)

    @pytest.mark.parametrize(
        ("headers", "text"),
        [
            ({}, "the header X-Signature is missing"),
            ({"X-Signature": "00"}, "X-Signature has no hmac-sha256 signature in hex after the prefix 'sha256='"),
            (
                {"X-Signature": "sha256=00"},
                "X-Signature has no hmac-sha256 signature in hex after the prefix 'sha256='",
            ),
            (signed(secret="x"), "X-Signature does not match any of the 2 secrets, or the body is not as it was sent"),
            (signed(BODY + b" "), "X-Signature does not match any of the 2 secrets, or the body is not as it was sent"),
        ],
    )
    def test_what_is_wrong(self, headers: dict[str, str], text: str) -> None:
        """Is named, with the status to answer with."""
        verifier = Verifier(SCHEME, ["old", "new"])
        assert (401, text) == problem(lambda: verifier.verify(headers, BODY))
        assert (401, text) == problem(lambda: verifier.read(headers, BODY))

    def test_a_signed_header_is_missing(self) -> None:
        """It is named, and not the signature."""
        scheme = replace(SCHEME, content="{header:X-Time}.{body}")
        text = "the header X-Time is missing"
        assert (401, text) == problem(lambda: Verifier(scheme, ["new"]).verify(signed(), BODY))

    @pytest.mark.parametrize("body", [b"", b"\xff", b"[]", b"{}", b"[" * 100_000])
    def test_a_signed_body_that_is_none(self, body: bytes) -> None:
        """Is another error: the sender is who it should be."""
        with pytest.raises(NotANotification) as refused:
            Verifier(SCHEME, ["new"]).read(signed(body), body)
        assert 400 == refused.value.status

    @pytest.mark.parametrize("body", ["{}", {"EventCode": "ONB10011"}, None])
    def test_the_raw_body_is_required(self, body: Any) -> None:
        """A text or a document has lost what was signed; that is a mistake in the code, not in the request."""
        with pytest.raises(TypeError, match="expected the raw body as bytes, as it was received, not "):
            Verifier(SCHEME, ["new"]).verify(signed(), body)

    @pytest.mark.parametrize(
        ("change", "secrets", "text"),
        [
            ({"algorithm": "md5"}, ["new"], "unknown algorithm 'md5': expected one of hmac-sha256, "),
            ({"encoding": "base32"}, ["new"], "unknown encoding 'base32'"),
            ({"key_encoding": "raw"}, ["new"], "unknown key_encoding 'raw'"),
            ({}, [], "no secret: every request would be refused"),
            ({}, ["new", ""], "secret 2 is empty or not in the key_encoding utf8"),
            ({"key_encoding": "hex"}, ["s3cret"], "secret 1 is empty or not in the key_encoding hex"),
        ],
    )
    def test_settings_that_cannot_be_right(self, change: dict[str, str], secrets: list[str], text: str) -> None:
        """Are refused at the start, not with the first request; no secret is shown."""
        with pytest.raises(ValueError, match=re.escape(text)) as refused:
            Verifier(replace(SCHEME, **change), secrets)
        assert "s3cret" not in str(refused.value)

    def test_one_secret_that_is_no_list(self) -> None:
        """Would be taken letter by letter."""
        with pytest.raises(TypeError, match="expected several secrets"):
            Verifier(SCHEME, "new")

    def test_compares_in_constant_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """With the function that is made for it."""
        compared, compare = [], hmac.compare_digest

        def noted(one: bytes, other: bytes) -> bool:
            compared.append(one)
            return compare(one, other)

        monkeypatch.setattr(hmac, "compare_digest", noted)
        Verifier(SCHEME, ["old", "new"]).verify(signed(), BODY)
        assert 2 == len(compared)


class TestSettings:
    """`verification:` of `config/`."""

    def test_are_read(self, project: Project) -> None:
        """Without the environment, and whatever else there is."""
        project.declare({})
        project.write(
            "config/v.yaml", "verification: {header: X-Signature, algorithm: hmac-sha256, prefix: 'sha256='}\n"
        )
        assert SCHEME == read_verification(project.path / "config")

    def test_are_missing(self, project: Project) -> None:
        """Is said, and so are mistakes."""
        project.declare({})
        with pytest.raises(SettingsError, match="there is no `verification:` section"):
            read_verification(str(project.path / "config"))
        project.write("config/v.yaml", "verification: {}\n")
        with pytest.raises(ConfigError):
            read_verification(project.path / "config")


def test_loads_little() -> None:
    """No command line, no client of the service, and the model of notifications only when one is read."""
    program = "import json, sys; import reconciler.receiver; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, check=True)
    loaded = {name.partition(".")[0] for name in json.loads(done.stdout)}
    heavy = {"click", "rich", "httpx", "pydantic", "yaml", "cryptography", "pyrage", "asyncio"}
    assert set() == loaded & heavy


def example(name: str) -> str:
    """A file that the page shows."""
    found = re.search(rf"<!-- file: {re.escape(name)} -->\n```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert found
    return found[1]


REQUESTS = [
    (signed(), BODY, 204),
    (signed(secret="old"), BODY, 204),
    (signed(secret="other"), BODY, 401),
    ({}, BODY, 401),
    (signed(), BODY + b" ", 401),
    (signed(b"\xff"), b"\xff", 400),
]
"""What an endpoint may get, and the answer."""


def test_the_example_with_the_standard_library(project: Project) -> None:
    """As the page has it, in twenty lines or so, over HTTP."""
    text = example("endpoint.py")
    assert len(text.splitlines()) <= 24
    project.write("endpoint.py", text.replace('int(os.environ["PORT"])), Endpoint)', "0), Endpoint)"))
    program = (
        "import http.server, runpy; serve = http.server.ThreadingHTTPServer.serve_forever\n"
        "http.server.ThreadingHTTPServer.serve_forever = lambda s: (print(s.server_port, flush=True), serve(s))\n"
        "runpy.run_path('endpoint.py')"
    )
    variables = {**os.environ, "WEBHOOK_SECRETS": "old new"}
    with (project.path / "out").open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-c", program], cwd=project.path, env=variables, stdout=out, stderr=subprocess.DEVNULL
        )
    try:
        port = wait_until((project.path / "out").read_text, lambda told: told.endswith("\n")).strip()
        answers = [post(f"http://127.0.0.1:{port}/offers", body, headers).status for headers, body, _ in REQUESTS]
    finally:
        process.kill()
        process.wait()
    assert [status for _, _, status in REQUESTS] == answers
    assert 2 == (project.path / "out").read_text().count("ONB10011 ")


def test_the_example_for_asgi(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the page has it, with a body that comes in parts."""
    project.declare({})
    project.write("config/v.yaml", SECTION)
    project.write("app.py", example("app.py"))
    monkeypatch.chdir(project.path)
    monkeypatch.setenv("WEBHOOK_SECRETS", "old new")
    app = runpy.run_path("app.py")["app"]

    async def answer(headers: dict[str, str], body: bytes) -> int:
        parts = iter([(body[:5], True), (body[5:], False)])
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            part, more = next(parts)
            return {"type": "http.request", "body": part, "more_body": more}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        await app({"type": "http", "headers": raw}, receive, send)
        return int(sent[0]["status"])

    answers = [asyncio.run(answer(headers, body)) for headers, body, _ in REQUESTS]
    assert [status for _, _, status in REQUESTS] == answers
