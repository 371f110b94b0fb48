"""A text from elsewhere is shown without secrets."""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.service.redaction import REDACTED, excerpt, redact, reveals

TOKEN = "abcDEF123456.ghiJKL7890.mnoPQR"
HARD = 's3cret/with+odd "characters"=='
SECRETS = st.text(st.characters(min_codepoint=33, max_codepoint=0x2FF), min_size=3, max_size=40)


@given(st.text(), SECRETS, st.text())
@settings(max_examples=100)
def test_no_secret_is_left(before: str, secret: str, after: str) -> None:
    """Whole, percent-encoded or escaped for JSON, a secret goes."""
    for form in (secret, quote(secret, safe=""), json.dumps(secret)[1:-1]):
        if form not in REDACTED:
            assert form not in redact(before + form + after, [secret]).replace(REDACTED, "\0")


@given(st.text())
@settings(max_examples=50)
def test_a_text_without_secrets_stays(text: str) -> None:
    """Nothing is taken out of a text that has nothing of the secrets."""
    assert (text, False) == (redact(text, ["\N{SNOWMAN}" * 9]), reveals(text, ["\N{SNOWMAN}" * 9]))


@given(st.text(), st.integers(1, 60))
@settings(max_examples=50)
def test_an_excerpt_is_one_short_printable_line(text: str, limit: int) -> None:
    """Whatever comes in, a person sees one line without control characters, of bounded length."""
    line = excerpt(text, limit=limit)
    assert line.isprintable()
    assert len(line) <= limit


@pytest.mark.parametrize(("text", "shown"), [
    ("bad token abcDEF123456", f"bad token {REDACTED}"),
    ("bad token abcDEF12... sent", f"bad token {REDACTED}... sent"),
    ("Authorization: Bearer zzzzzzzzzzzzzzzzzzzz", f"Authorization: Bearer {REDACTED}"),
    ("got eyJhbGciOiJI.eyJzdWIi.c2ln, eyJhbGciOiJJ", f"got {REDACTED}, {REDACTED}"),
    ("Basic dXNlcjpwYXNzd29yZA==", f"Basic {REDACTED}"),
    ("session ABCDEF123456.GHIJKL7890.MNOPQR", f"session {REDACTED}"), ("payload ghijkl7890", f"payload {REDACTED}"),
    ("Bearer token required", "Bearer token required"),
    ("eventCodes must be known, subscription refused", "eventCodes must be known, subscription refused"),
])  # fmt: skip
def test_parts_and_lookalikes(text: str, shown: str) -> None:
    """The beginning of a token, and what looks like a token, goes; plain words stay."""
    assert shown == redact(text, [TOKEN])


@pytest.mark.parametrize(("text", "shown"), [
    ("the subscription was refused", "the subscription was refused"), ("the subscription-secret", f"the {REDACTED}"),
    ("the SUBSCRIPTION-SECRET", f"the {REDACTED}"), ("the correcthorse", "the correcthorse"),
    ("the correcthorsebatter", f"the {REDACTED}"), ("the correcthrystaple", f"the {REDACTED}"),
])  # fmt: skip
def test_a_plain_word_of_a_secret(text: str, shown: str) -> None:
    """A word that is part of a secret is shown, the whole secret and what is too long for a word are not."""
    assert shown == redact(text, ["subscription-secret", "correcthorsebatterystaple"])


ENCODINGS: dict[str, Callable[[str], str]] = {
    "percent": lambda text: quote(text, safe=""),
    "percent, each letter": lambda text: "".join(f"%{byte:02x}" for byte in text.encode()),
    "percent, each letter, twice": lambda text: quote("".join(f"%{byte:02x}" for byte in text.encode())),
    "percent, twice": lambda text: quote(quote(text, safe=""), safe=""), "form": quote_plus,
    "JSON": lambda text: json.dumps(text)[1:-1],
    "JSON, each letter": lambda text: "".join(f"\\u{ord(letter):04X}" for letter in text),
    "JSON, twice": lambda text: json.dumps(json.dumps(text)), "hex": lambda text: text.encode().hex(),
    "half of the hex": lambda text: text.encode().hex()[: len(text)],
    "HEX": lambda text: text.encode().hex().upper(), "base64": lambda text: b64encode(text.encode()).decode(),
    "urlsafe base64": lambda text: urlsafe_b64encode(text.encode()).decode(),
    "base64 behind another text": lambda text: b64encode(b"a:" + text.encode() + b"!").decode(),
    "base64 without padding": lambda text: b64encode(b"x" + text.encode()).decode().rstrip("="),
    "base64 in a URL": lambda text: quote(b64encode(text.encode()).decode().rstrip("="), safe=""),
}  # fmt: skip


@pytest.mark.parametrize("secret", [HARD, TOKEN, "ünïcode-sécret-0815", "s3cret of 0815 w0rds"])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_an_encoded_secret(encoding: str, secret: str) -> None:
    """However a secret is encoded, no eight characters of it are left in a row, nor the end of an escape."""
    encoded = ENCODINGS[encoding](secret)
    shown = redact(f"before {encoded} after", [secret])
    assert (True, True) == (shown.startswith("before "), shown.endswith(" after"))
    assert "each letter" not in encoding or shown == f"before {REDACTED} after"
    assert all(encoded[at : at + 8] not in shown for at in range(len(encoded) - 8 + 1))


@pytest.mark.parametrize("at", range(len(TOKEN) - 8 + 1))
def test_any_eight_characters_of_a_secret(at: int) -> None:
    """They go, wherever in it they come from, its end too."""
    part = TOKEN[at : at + 8]
    assert part not in redact(f"before {part} after", [TOKEN])


@given(st.binary(max_size=9), st.text("0123456789abcdef", min_size=8, max_size=40), st.binary(max_size=9))
@settings(max_examples=100)
def test_a_secret_within_base64(before: bytes, secret: str, after: bytes) -> None:
    """Wherever it begins and ends, the groups of four letters that stand for the secret alone go."""
    encoded = b64encode(before + secret.encode() + after).decode()
    own = encoded[-(-len(before) // 3) * 4 : (len(before) + len(secret)) // 3 * 4]
    shown = redact(encoded, [secret])
    assert [] == [own[at : at + 8] for at in range(len(own) - 8 + 1) if own[at : at + 8] in shown]


@pytest.mark.parametrize("secret", ["k3y", "pa ss", "p  s", "x", "k\ty", "xyx", "correcthorse"])
def test_a_short_secret_or_a_word(secret: str) -> None:
    """It goes as a whole, wherever it stands, also over its own end, escaped, and in hex."""
    texts = [secret, secret.encode().hex(), secret.removesuffix(secret[0]) + secret]
    texts.append("".join(f"%{byte:02x}" for byte in secret.encode()))
    assert [f"-{REDACTED}-"] * 4 == [excerpt(f"-{text}-", [secret, ""]) for text in texts]
    assert [REDACTED] * 4 == [excerpt(text, [secret, ""]) for text in texts]


@pytest.mark.parametrize("at", range(180, 202, 3))
@pytest.mark.parametrize("secret", ["s3cret-of-twenty-chars", "eyJhbGciOiJIUzI1NiJ9.x.y", "Ab1!"])
def test_a_secret_where_an_excerpt_is_cut(at: int, secret: str) -> None:
    """It is found before the text is cut, so that no beginning of it is left."""
    shown = excerpt("-" * at + secret + "-" * 100, [secret])
    assert shown.rstrip("…").rstrip("-").removeprefix("-" * at) in REDACTED
    assert len(shown) <= 200
