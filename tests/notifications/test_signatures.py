"""Signatures: what fits a scheme, and which scheme fits a signature."""

from __future__ import annotations

import base64
import hmac
import time
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from reconciler.model.desired import ALGORITHMS, ENCODINGS, KEY_ENCODINGS, Verification
from reconciler.notifications.signatures import SignatureMatch, infer, verify
from reconciler.sandbox.notification import sign_notification

BODY = b'{"EventCode":"ONB10011","Message":"Offers Provided","EventProperties":{}}'
KEY = bytes(range(1, 33))
PLAIN = Verification("X-Signature", "hmac-sha256")
MOMENT = "1700000000"
CONTENTS = ("{body}", "{header:X-Timestamp}.{body}", "{header:X-Timestamp}{body}", "{header:X-Timestamp}:{body}")
PREFIXES = ("", "sha256=", "sha512=", "sha1=", "v1=", "v1,", "hmac=")
OTHERS = {"Host": "hooks.partner.example", "Content-Type": "application/json", "Content-Length": "73"}


def secret_of(key: bytes, key_encoding: str) -> bytes:
    """How a secret of these bytes is written."""
    written = {"utf8": key.hex().encode(), "hex": key.hex().encode(), "base64": base64.b64encode(key)}
    return written[key_encoding]


def signed(how: Verification, secret: bytes, body: bytes = BODY) -> dict[str, str]:
    """The headers of a request signed so; written from the description of the fields, not from the program."""
    key = {
        "utf8": lambda: secret,
        "hex": lambda: bytes.fromhex(secret.decode()),
        "base64": lambda: base64.b64decode(secret),
    }[how.key_encoding]()
    content = how.content.encode().replace(b"{header:X-Timestamp}", MOMENT.encode()).replace(b"{body}", body)
    digest = hmac.new(key, content, how.algorithm.removeprefix("hmac-")).digest()
    text = digest.hex() if how.encoding == "hex" else base64.b64encode(digest).decode()
    return {**OTHERS, "X-Timestamp": MOMENT, how.header: how.prefix + text}


SCHEMES = st.builds(
    Verification,
    header=st.sampled_from(["X-Signature", "x-hub-signature-256", "Webhook-Signature"]),
    algorithm=st.sampled_from(list(ALGORITHMS)),
    prefix=st.sampled_from(PREFIXES),
    encoding=st.sampled_from(ENCODINGS),
    key_encoding=st.sampled_from(KEY_ENCODINGS),
    content=st.sampled_from(CONTENTS),
)


class TestVerify:
    """Whether a secret signed a request."""

    @pytest.mark.parametrize(
        ("algorithm", "digest"),
        [
            ("hmac-sha256", "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
            ("hmac-sha1", "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"),
            (
                "hmac-sha512",
                (
                    "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554"
                    "9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737"
                ),
            ),
        ],
    )
    def test_known_answers(self, algorithm: str, digest: str) -> None:
        """The second test cases of RFC 4231 and RFC 2202."""
        how = replace(PLAIN, algorithm=algorithm)
        headers = {"X-Signature": digest}
        assert SignatureMatch.MATCH == verify(how, [b"Jefe"], headers, b"what do ya want for nothing?")

    @given(how=SCHEMES, body=st.binary(max_size=40))
    @settings(max_examples=80, deadline=None)
    def test_what_was_signed_matches(self, how: Verification, body: bytes) -> None:
        """And with another body, or another secret, it does not."""
        secret = secret_of(KEY, how.key_encoding)
        headers = signed(how, secret, body)
        assert SignatureMatch.MATCH == verify(how, [secret], headers, body)
        assert SignatureMatch.MISMATCH == verify(how, [secret], headers, body + b" ")
        assert SignatureMatch.MISMATCH == verify(how, [secret_of(KEY[::-1], how.key_encoding)], headers, body)

    def test_the_sandbox_signs_as_it_says(self) -> None:
        """Its own words on how its scheme reads in `config/`."""
        how = Verification("X-Signature", "hmac-sha256", "sha256=", "hex")
        headers = {"x-signature": sign_notification(BODY, "s3cret")}
        assert SignatureMatch.MATCH == verify(how, [b"s3cret"], headers, BODY)

    def test_any_of_several_secrets(self) -> None:
        """As after a rotation; one that is no base64 among them hinders nothing."""
        how = replace(PLAIN, key_encoding="base64")
        headers = signed(how, secret_of(KEY, "base64"))
        assert SignatureMatch.MATCH == verify(
            how, [b"no base64!", b"", secret_of(KEY, "base64"), b"AAAA"], headers, BODY
        )
        assert SignatureMatch.MISMATCH == verify(how, [b"no base64!", b""], headers, BODY)
        assert SignatureMatch.MISMATCH == verify(how, [], headers, BODY)

    @pytest.mark.parametrize(
        "content", ["{body}.{header:X-Timestamp}", "{header:X-Id}.{header:X-Timestamp}.{body}", "v1{body}v2"]
    )
    def test_content_around_the_body(self, content: str) -> None:
        """What is before and after the body is signed with it, in its place."""
        how = replace(PLAIN, content=content)
        headers = {**signed(replace(how, content=content.replace("{header:X-Id}", "n7")), KEY), "X-Id": "n7"}
        assert SignatureMatch.MATCH == verify(how, [KEY], headers, BODY)

    def test_an_empty_secret_is_none(self) -> None:
        """Anyone could sign with it."""
        headers = {"X-Signature": hmac.digest(b"", BODY, "sha256").hex()}
        assert SignatureMatch.MISMATCH == verify(PLAIN, [b""], headers, BODY)

    def test_what_is_missing(self) -> None:
        """The header itself, or one that is signed with the body."""
        dated = replace(PLAIN, content="{header:X-Timestamp}.{body}")
        headers = signed(dated, b"key")
        assert SignatureMatch.MATCH == verify(dated, [b"key"], headers, BODY)
        del headers["X-Timestamp"]
        assert SignatureMatch.MISSING == verify(dated, [b"key"], headers, BODY)
        assert SignatureMatch.MISSING == verify(PLAIN, [b"key"], OTHERS, BODY)

    @pytest.mark.parametrize("value", ["", "sha256=", "v1=", "zz", "=", "é", "sha256=0", ",,;; ,"])
    def test_what_is_no_signature(self, value: str) -> None:
        """Fits nothing, and breaks nothing."""
        for encoding in ENCODINGS:
            how = replace(PLAIN, encoding=encoding)
            assert SignatureMatch.MISMATCH == verify(how, [b"key"], {"X-Signature": value}, BODY)

    @pytest.mark.parametrize("form", ["{}", " {} ", "{},{}", "x={}, v1={};y=1", "v1=00 v1={}"])
    def test_one_item_among_several(self, form: str) -> None:
        """Old and new signature in one header, or other things beside it."""
        how = replace(PLAIN, prefix="v1=" if "v1=" in form else "")
        good = hmac.digest(b"key", BODY, "sha256").hex()
        bad = "0" * 64
        value = form.format(bad, good) if form.count("{}") == 2 else form.format(good)
        assert SignatureMatch.MATCH == verify(how, [b"key"], {"X-Signature": value}, BODY)

    def test_letters_of_hex_in_either_case(self) -> None:
        """And base64 in either alphabet, with or without its padding."""
        digest = hmac.digest(b"key\x07", BODY, "sha256")
        assert SignatureMatch.MATCH == verify(PLAIN, [b"key\x07"], {"X-Signature": digest.hex().upper()}, BODY)
        coded = replace(PLAIN, encoding="base64")
        for text in (base64.urlsafe_b64encode(digest).decode(), base64.b64encode(digest).decode().rstrip("=")):
            assert SignatureMatch.MATCH == verify(coded, [b"key\x07"], {"X-Signature": text}, BODY)

    @pytest.mark.parametrize(("value", "raw"), [("caf\xe9", b"caf\xe9"), ("\u20ac", "\u20ac".encode())])
    def test_signed_headers_are_bytes(self, value: str, raw: bytes) -> None:
        """As they were on the wire; what cannot have been there is UTF-8."""
        how = replace(PLAIN, content="<{header:X-Who}>{body}")
        headers = {"X-Who": value, "X-Signature": hmac.digest(b"key", b"<" + raw + b">" + BODY, "sha256").hex()}
        assert SignatureMatch.MATCH == verify(how, [b"key"], headers, BODY)

    def test_compares_in_constant_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """By the function made for it, on bytes of one length."""
        compared = []

        def compare(one: bytes, other: bytes) -> bool:
            compared.append((one, other))
            return False

        monkeypatch.setattr(hmac, "compare_digest", compare)
        verify(PLAIN, [b"key"], {"X-Signature": "00" * 32}, BODY)
        assert [(hmac.digest(b"key", BODY, "sha256"), bytes(32))] == compared

    def test_a_long_header_takes_no_long_time(self) -> None:
        """A sender chooses what is in it."""
        begun = time.process_time()
        for value in ("a," * 30_000, "v1=" * 20_000, "v1," * 20_000, "=" * 60_000):
            verify(replace(PLAIN, prefix="v1,", encoding="base64"), [b"key"], {"X-Signature": value}, BODY)
        assert time.process_time() - begun < 5


class TestInfer:
    """Which schemes fit a captured request."""

    @given(how=SCHEMES)
    @settings(max_examples=80, deadline=None)
    def test_the_scheme_that_signed_is_found(self, how: Verification) -> None:
        """That one, and no other."""
        secret = secret_of(KEY, how.key_encoding)
        assert [how] == infer([secret], signed(how, secret), BODY)

    def test_every_scheme_of_the_usual_kind(self) -> None:
        """All combinations, exhaustively, with one header."""
        missed = []
        for parts in product(ALGORITHMS, PREFIXES, ENCODINGS, KEY_ENCODINGS, CONTENTS):
            how = Verification("X-Signature", *parts)
            secret = secret_of(KEY, how.key_encoding)
            if [how] != infer([secret], signed(how, secret), BODY):
                missed.append(how)
        assert [] == missed

    def test_the_right_one_of_several_secrets(self) -> None:
        """A response has many strings."""
        assert [PLAIN] == infer([b"live", b"key", b"", b"zz"], signed(PLAIN, b"key"), BODY)

    def test_nothing_fits(self) -> None:
        """Another secret, another body, no signature at all."""
        assert [] == infer([b"other"], signed(PLAIN, b"key"), BODY)
        assert [] == infer([b"key"], signed(PLAIN, b"key"), BODY + b"\n")
        assert [] == infer([b"key"], OTHERS, BODY)

    def test_several_fit(self) -> None:
        """The same signature in two headers."""
        headers = {**signed(PLAIN, b"key"), "X-Hub-Signature": signed(PLAIN, b"key")["X-Signature"]}
        assert ["X-Hub-Signature", "X-Signature"] == [how.header for how in infer([b"key"], headers, BODY)]

    @pytest.mark.parametrize(
        ("form", "prefix"),
        [("t=1700000000,v1={}", "v1="), ("v1,{} v1,AAAA", "v1,"), ("a=1;b={}", "b="), ("{},{}", ""), ("x {}", "")],
    )
    def test_a_signature_among_other_things(self, form: str, prefix: str) -> None:
        """The prefix is what stands before it, as far as it is a word."""
        digest = hmac.digest(b"key", BODY, "sha256").hex()
        found = infer([b"key"], {"X-Signature": form.replace("{}", digest)}, BODY)
        assert [replace(PLAIN, prefix=prefix)] == found

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("X-Request-Timestamp", "x"), ("Date", "Fri, 20 Nov 2026 14:00:00 GMT"), ("Webhook-Id", "msg_1"),
            ("X-Whatever", "1700000000.5"), ("X-Sent", "2026-11-20T14:00:00Z"),
        ],
    )  # fmt: skip
    def test_what_looks_like_a_moment(self, name: str, value: str) -> None:
        """By its name or by its value; it is tried before the body."""
        digest = hmac.digest(b"key", f"{value}.".encode() + BODY, "sha256").hex()
        (how,) = infer([b"key"], {name: value, "X-Signature": digest}, BODY)
        assert f"{{header:{name}}}.{{body}}" == how.content

    def test_headers_that_no_scheme_can_name(self) -> None:
        """Are left out: `config/` would refuse them."""
        headers = {"Bad {name}": signed(PLAIN, b"key")["X-Signature"], "X Time": MOMENT}
        assert [] == infer([b"key"], headers, BODY)

    def test_time_is_bounded(self) -> None:
        """However many headers there are, and whatever they hold, with a body of the greatest size."""
        hostile = {f"X-Time-{number}": "v1=" + "0" * 64 + ",a=1;" * 190 for number in range(300)}
        begun = time.process_time()
        assert [] == infer([b"key"], {**hostile, **signed(PLAIN, b"other")}, b"x" * 1_048_576)
        assert time.process_time() - begun < 20
