"""What a partner's own endpoint uses."""

from __future__ import annotations

import hmac
import json
from email.message import Message
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.endpoint import Endpoint
from support.notified import notification

from reconciler import receiver
from reconciler.receiver import BadSignature, NotANotification, RequestRefused, Verification, Verifier, attempt_of
from reconciler.receiver.verifier import fits

SCHEME = Verification(header="X-Signature", algorithm="hmac-sha256", prefix="sha256=", encoding="hex")
BODY = notification()
ID = "0123456789abcdef" * 2


def signature(secret: bytes = b"s3cret", body: bytes = BODY) -> str:
    """Return the value of the header."""
    return "sha256=" + hmac.digest(secret, body, "sha256").hex()


def message(**headers: str) -> Message:
    """Return headers as the standard library's server has them."""
    result = Message()
    for name, value in headers.items():
        result[name.replace("_", "-")] = value
    return result


# `Verifier` and its errors.


@pytest.mark.parametrize("headers", [
    {"x-signature": signature()}, message(X_Signature=signature()),
    [(b"host", b"a"), (b"x-signature", signature().encode())],
    [("X-Signature", "sha256=00"), ("X-Signature", f" {signature()} ")],
    [(b"x-city", b"K\xf6ln"), (b"X-SIGNATURE", signature().encode()), (b"\xff", bytes(range(256)))],
    [(b"x-signature", b"\xe9"), (b"x-signature", signature().encode()), (b"x-signature", b"sha256=\xff")],
])  # fmt: skip
def test_headers_of_any_server(headers: Any) -> None:
    """A mapping, a message, the pairs of ASGI, and a header that comes twice."""
    for body in (BODY, bytearray(BODY), memoryview(BODY)):
        assert "ONB10011" == Verifier(SCHEME, ["a", "b", b"s3cret"]).read(headers, body).event_code  # type: ignore[arg-type]


def test_spaces_around_a_value_are_not_signed() -> None:
    """They are not part of it, as a server gives them or not; all else is signed as its bytes are."""
    scheme = Verification(header="X-Signature", algorithm="hmac-sha256", content="{header:X-Time}.{body}")
    digest = hmac.digest("s3crét".encode(), b"\xe9." + BODY, "sha256")
    Verifier(scheme, ["s3crét"]).verify([(b"X-Signature", digest.hex().encode()), (b"X-Time", b" \xe9\t")], BODY)


@pytest.mark.parametrize("headers", [{}, {"X-Signature": ""}, {"X-Signature": signature(b"wrong")}])
def test_bad_signature(headers: dict[str, str]) -> None:
    """It is a 401, before the body is looked at, and holds no secret."""
    with pytest.raises(BadSignature) as caught:
        Verifier(SCHEME, ["s3cret"]).read(headers, b"nonsense")
    assert (401, True) == (caught.value.status, isinstance(caught.value, RequestRefused))
    assert "s3cret" not in str(caught.value)


def test_no_notification() -> None:
    """A body that is none, rightly signed, is a 400."""
    with pytest.raises(NotANotification) as caught:
        Verifier(SCHEME, ["s3cret"]).read({"X-Signature": signature(body=b"{}")}, b"{}")
    assert (400, True) == (caught.value.status, isinstance(caught.value, RequestRefused))


@pytest.mark.parametrize(
    "changes", [{"algorithm": "md5"}, {"encoding": "base32"}, {"key_encoding": "rot13"}, {"key_encoding": "hex"}]
)
def test_impossible_settings(changes: dict[str, str]) -> None:
    """Unknown names, and a secret that is not in the key encoding."""
    with pytest.raises(ValueError, match=r"expected one of|not in the key_encoding"):
        Verifier(Verification(**{"header": "X", "algorithm": "hmac-sha256", **changes}), ["s3cret"])  # type: ignore[arg-type]


def test_misuse() -> None:
    """No secret, one in place of several, and a body that is no bytes."""
    with pytest.raises(ValueError, match="no secret"):
        Verifier(SCHEME, iter(()))
    with pytest.raises(ValueError, match="secret 2 is empty"):
        Verifier(SCHEME, ["s3cret", ""])
    for alone in ("s3cret", b"s3cret"):
        with pytest.raises(TypeError):
            Verifier(SCHEME, alone)  # type: ignore[arg-type]
    for body in ("{}", 7):
        with pytest.raises(TypeError):
            Verifier(SCHEME, ["s3cret"]).verify({"X-Signature": signature(body=bytes(7))}, body)  # type: ignore[arg-type]


# `attempt_of`.


@pytest.mark.parametrize(("url", "template", "attempt"), [
    (f"https://a.example/x/{ID}", "https://a.example/x/{attempt}", ID),
    (f"HTTPS://A.example:443/x/{ID}", "https://a.example/x/{attempt}", ID),
    (f"/x/{ID}", "https://a.example/x/{attempt}", ID), (f"/x?a=1&k={ID}", "https://a.example/x?a=1&k={attempt}", ID),
    (f"/?{ID}", "https://a.example?{attempt}", ID), (f"https://{ID}.a.example/", "https://{attempt}.a.example", ID),
    (f"/{ID}/{ID}", "https://a.example/{attempt}/{attempt}", ID),
    (f"/{ID}/{'0' * 32}", "https://a.example/{attempt}/{attempt}", None),
    (f"/x/{ID[:-1]}", "https://a.example/x/{attempt}", None), (f"/x/{ID}0", "https://a.example/x/{attempt}", None),
    (f"/x/{ID.upper()}", "https://a.example/x/{attempt}", None),
    (f"/x/{ID}?more", "https://a.example/x/{attempt}", None), (f"/x.y/{ID}", "https://a.example/x+y/{attempt}", None),
    (f"https://b.example/x/{ID}", "https://a.example/x/{attempt}", None),
    (f"/x/{ID}\n", "https://a.example/x/{attempt}", None), ("/x", "https://a.example/x", None),
    ("http://[", "https://a.example/{attempt}", None), ("/x", "http://[{attempt}", None), ("", "", None),
])  # fmt: skip
def test_examples(url: str, template: str, attempt: str | None) -> None:
    """The id is what stands at `{attempt}` in a URL, or a path, that fits the template as a whole."""
    assert attempt == attempt_of(url, template)


def test_fits_without_attempt() -> None:
    """A template without `{attempt}` fits itself."""
    assert fits("/x?y", "https://a.example/x?y")
    assert fits("/x?", "https://a.example/x?")
    assert not fits("/x", "https://a.example/x?y")


@given(st.text(), st.text())
def test_any_text(url: str, template: str) -> None:
    """No text raises."""
    attempt_of(url, template + "{attempt}")


@given(st.from_regex(r"\A/[a-z.+?/]{0,9}\{attempt\}[a-z.+/]{0,9}\Z"), st.uuids())
def test_inverse(path: str, drawn: Any) -> None:
    """What was filled in is found, in the URL and in its path."""
    template = f"https://a.example{path}"
    for url in (template, path):
        assert drawn.hex == attempt_of(url.replace("{attempt}", drawn.hex), template)


def test_example_drops_only_what_is_superseded(tmp_path: Path) -> None:
    """The page's example drops what a live attempt supersedes, and handles all else."""
    template, unknown = "https://a.example/x/{attempt}", "f" * 32
    without_live = {"live": None, "supersedes": ["e" * 32]}
    addresses = {"europe/staging/a": {"live": "0" * 32, "supersedes": [ID]}, "europe/staging/b": without_live}
    endpoint = Endpoint(tmp_path / "endpoint")
    endpoint.take(json.dumps({"targets": {"europe/staging": {"addresses": addresses}}}))
    paths = [f"/x/{attempt}" for attempt in (ID, "0" * 32, "e" * 32, unknown)]
    assert [True, False, False, False] == [endpoint.is_surplus(path, template) for path in paths]
    assert not endpoint.is_surplus("/other", template)


def test_public_names() -> None:
    """What the package offers is what it imports, and no more."""
    names = {name for name, value in vars(receiver).items() if name[0] != "_" and not isinstance(value, ModuleType)}
    assert sorted(names) == receiver.__all__
