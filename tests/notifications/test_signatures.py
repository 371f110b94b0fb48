"""Signatures: what fits a scheme, and which scheme fits a signature."""

from __future__ import annotations

import base64
import hmac

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import astuple, replace

from reconciler.model.desired import ALGORITHMS, ENCODINGS, KEY_ENCODINGS, Verification
from reconciler.notifications.signatures import detect, sign, verify
from reconciler.sandbox.events import sign_notification

BODY = b'{"EventCode":"ONB10011","Message":"Offers Provided","EventProperties":{}}'
KEY = bytes(range(1, 33))
PLAIN = Verification("X-Signature", "hmac-sha256")
MOMENT = "1700000000"
CONTENTS = ("{body}", "{header:X-Timestamp}.{body}", "{header:X-Timestamp}{body}", "{header:X-Timestamp}:{body}")
PREFIXES = ("", "sha256=", "v1=", "v1,", "hmac=")

Pairs = list[tuple[str, str]]


def secret_of(key: bytes, key_encoding: str) -> bytes:
    """Return a secret of these bytes as it is written."""
    return base64.b64encode(key) if key_encoding == "base64" else key.hex().encode()


def signed(scheme: Verification, secret: bytes, body: bytes = BODY) -> Pairs:
    """Return the headers of a request signed so; made from the description of the fields, not by the program."""
    key = {
        "utf8": lambda: secret,
        "hex": lambda: bytes.fromhex(secret.decode()),
        "base64": lambda: base64.b64decode(secret),
    }[scheme.key_encoding]()
    content = scheme.content.encode().replace(b"{header:X-Timestamp}", MOMENT.encode()).replace(b"{body}", body)
    digest = hmac.new(key, content, scheme.algorithm.removeprefix("hmac-")).digest()
    text = digest.hex() if scheme.encoding == "hex" else base64.b64encode(digest).decode()
    return [("Host", "a.example"), ("X-Timestamp", MOMENT), (scheme.header, scheme.prefix + text)]


SCHEMES = st.builds(
    Verification, header=st.sampled_from(["X-Signature", "x-hub-signature-256", "Webhook-Signature"]),
    algorithm=st.sampled_from(list(ALGORITHMS)), prefix=st.sampled_from(PREFIXES), encoding=st.sampled_from(ENCODINGS),
    key_encoding=st.sampled_from(KEY_ENCODINGS), content=st.sampled_from(CONTENTS),
)  # fmt: skip


@pytest.mark.parametrize(("algorithm", "digest"), [
    ("hmac-sha256", "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
    ("hmac-sha1", "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"),
])  # fmt: skip
def test_known_answers(algorithm: str, digest: str) -> None:
    """The second test cases of RFC 4231 and RFC 2202 verify, and are made."""
    scheme, body = replace(PLAIN, algorithm=algorithm), b"what do ya want for nothing?"
    assert verify(scheme, [b"Jefe"], [("x-signature", digest)], body) is None
    assert digest == sign(scheme, b"Jefe", [], body)


@given(scheme=SCHEMES, body=st.binary(max_size=40))
@settings(max_examples=80)
def test_signed_request_verifies(scheme: Verification, body: bytes) -> None:
    """With another body or another secret it does not; what `sign` makes is the same."""
    secret = secret_of(KEY, scheme.key_encoding)
    headers = signed(scheme, secret, body)
    assert verify(scheme, [b"no secret", secret], headers, body) is None
    assert verify(scheme, [secret], headers, body + b" ") is not None
    assert verify(scheme, [secret_of(KEY[::-1], scheme.key_encoding)], headers, body) is not None
    assert headers[-1][1] == sign(scheme, secret, headers, body)


@given(scheme=SCHEMES)
@settings(max_examples=60)
def test_scheme_is_detected(scheme: Verification) -> None:
    """Every scheme that is tried is among those that fit; all that fit verify, also where the header comes twice."""
    secret = secret_of(KEY, scheme.key_encoding)
    headers = [*signed(scheme, secret), (scheme.header, "x"), ("X-Other", "00" * 64)]
    schemes = detect([b"another", secret], headers, BODY)
    assert scheme in schemes
    assert all(verify(other, [secret], headers, BODY) is None for other in schemes)


def test_sandbox_signs_as_it_says() -> None:
    """Its scheme reads in `config/` as its docstring has it."""
    scheme = Verification("X-Signature", "hmac-sha256", "sha256=", "hex")
    headers = [("x-signature", sign_notification(BODY, "s3cret"))]
    assert verify(scheme, [b"s3cret"], headers, BODY) is None
    assert [scheme] == [replace(found, header="X-Signature") for found in detect([b"s3cret"], headers, BODY)]


@pytest.mark.parametrize(("headers", "what"), [
    ([], "the header X-Signature is missing"), ([("X-Signature", "v1=00")], "has no hmac-sha256 signature"),
    ([("X-Signature", "v1=" + "0" * 64)], "part of the signed content is missing"),
    ([("X-Signature", "v1=" + "0" * 64), ("X-Timestamp", "1")], "matches no secret"),
    ([("X-Signature", "V1=" + "0" * 64), ("X-Timestamp", "1")], "after the prefix 'v1='"),
])  # fmt: skip
def test_problem_is_named(headers: Pairs, what: str) -> None:
    """A missing header, no signature and a wrong one are told apart, without the secret."""
    scheme = replace(PLAIN, prefix="v1=", content="{header:X-Timestamp}.{body}")
    if what.startswith("has no"):
        headers = [*headers, ("X-Timestamp", "1")]
    problem = verify(scheme, [b"s3cret"], headers, BODY) or ""
    assert what in problem
    assert "s3cret" not in problem


def test_one_item_of_several() -> None:
    """Any item that begins with the prefix may match, as may any secret."""
    right = hmac.digest(KEY, BODY, "sha256").hex()
    headers = [("X-Signature", f"t=1,{'v1=0,' * 99}v1={'0' * 64}, v1={right};v0=x")]
    assert verify(replace(PLAIN, prefix="v1="), [b"", b"x", KEY], headers, BODY) is None


@pytest.mark.parametrize("secrets", [[], [b""], [b"no base64!"]])
def test_empty_and_bad_secrets_match_nothing(secrets: list[bytes]) -> None:
    """Anyone could sign with an empty secret."""
    scheme = replace(PLAIN, key_encoding="base64")
    headers = [("X-Signature", hmac.digest(b"", BODY, "sha256").hex())]
    assert verify(scheme, secrets, headers, BODY) is not None


def test_sign_refuses() -> None:
    """A secret that is no key, and a header that is missing."""
    with pytest.raises(ValueError, match="the secret is not"):
        sign(replace(PLAIN, key_encoding="hex"), b"xyz", [], BODY)
    with pytest.raises(ValueError, match="header"):
        sign(replace(PLAIN, content="{header:X-Id}{body}"), b"xyz", [], BODY)


@pytest.mark.parametrize("most", [True, False])
@pytest.mark.parametrize("what", ["headers", "characters", "prefixes", "moments"])
def test_detection_is_bounded(what: str, most: bool) -> None:
    """What stands after the most that are tried is not found: headers made to be expensive are not."""
    digest = hmac.digest(KEY, BODY, "sha256").hex()
    count = {"headers": 200, "characters": 1024, "prefixes": 8, "moments": 12}[what] - 1 + (not most)
    headers = [("X-Signature", digest)]
    if what == "headers":
        headers = [("X", "y")] * count + headers
    if what == "characters":
        headers = [("X-Signature", digest + "," + "y" * (count - 64))]
    if what == "prefixes":
        headers = [("X-Signature", ",".join([*(f"p{number}={'0' * 64}" for number in range(count)), f"v1={digest}"]))]
    if what == "moments":
        digest = hmac.digest(KEY, b"7" + BODY, "sha256").hex()
        headers = [*((f"X-Time-{number}", "0") for number in range(count)), ("X-Time", "7"), ("X-Signature", digest)]
    assert bool(detect([KEY], headers, BODY)) is most


@pytest.mark.parametrize(("name", "value"), [
    ("X-Sent", MOMENT), ("X-Sent", "2026-03-01T12:00:00Z"), ("X-Request-Id", "a"), ("Webhook-Timestamp", "1"),
])  # fmt: skip
def test_a_moment_is_known_by_its_name_or_its_value(name: str, value: str) -> None:
    """The signed content may have it before the body; and what is found is sorted."""
    scheme = replace(PLAIN, content=f"{{header:{name}}}.{{body}}")
    headers = [(name, value), ("Z", MOMENT + "0")]
    headers += [(other, sign(scheme, KEY, headers, BODY)) for other in "YUXVW"]
    schemes = [replace(scheme, header=other) for other in "UVWXY"]
    assert schemes == detect([KEY], headers, BODY)
    again = [replace(each, content="{header:X-Id}.{body}") for each in schemes]
    assert sorted([*schemes, *again], key=astuple) == detect([KEY], [("X-Id", value), *headers], BODY)


@pytest.mark.parametrize("number", range(8))
def test_a_signature_in_either_alphabet(number: int) -> None:
    """Base64 is read with its padding or without; characters of neither alphabet make it none."""
    body = BODY + bytes([number])
    scheme, digest = replace(PLAIN, encoding="base64"), hmac.digest(KEY, body, "sha256")
    texts = [write(digest).decode() for write in (base64.b64encode, base64.urlsafe_b64encode)]
    for text in [*texts, *(text.rstrip("=") for text in texts)]:
        assert verify(scheme, [KEY], [("X-Signature", text)], body) is None
        for bad in (f"{text[:7]}!!!!{text[7:]}", f"={text}"):
            assert verify(scheme, [KEY], [("X-Signature", bad)], body) is not None


@pytest.mark.parametrize("value", ["p=0," * 9 + "v1={0}", "v1={0} w,{0}"])
def test_a_prefix_is_one_however_often_it_comes(value: str) -> None:
    """What comes nine times counts once; of two prefixes before one signature, the longer one is told."""
    headers = [("X-Signature", value.format(hmac.digest(KEY, BODY, "sha256").hex()))]
    assert [replace(PLAIN, prefix="v1=")] == detect([KEY], headers, BODY)


@pytest.mark.parametrize("encoding", KEY_ENCODINGS)
def test_a_key_may_end_with_a_newline(encoding: str) -> None:
    """In a file it often does; of plain text it is a part."""
    scheme = replace(PLAIN, key_encoding=encoding)
    secret = KEY if encoding == "utf8" else secret_of(KEY, encoding)
    headers = [("X-Signature", sign(scheme, secret, [], BODY))]
    assert (encoding != "utf8") is (verify(scheme, [secret + b"\n"], headers, BODY) is None)


def test_a_header_of_any_characters_is_signed() -> None:
    """One that no byte stands for on the wire counts as a question mark."""
    scheme = replace(PLAIN, content="{header:X-Id}{body}")
    values = [sign(scheme, KEY, [("X-Id", text)], BODY) for text in ("\u20ac", "?", "\xe9", "")]
    assert values[0] == values[1] != values[2] != values[3]
