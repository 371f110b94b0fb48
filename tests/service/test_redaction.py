"""What is shown of a text from elsewhere."""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.cli.terminal.commands import apart, with_flags
from reconciler.service import redaction
from reconciler.service.redaction import REDACTED, excerpt, redact

if TYPE_CHECKING:
    from collections.abc import Callable

TOKEN = "abcDEF123456.ghiJKL7890.mnoPQR"
SECRETS = st.text(st.characters(min_codepoint=33, max_codepoint=0x2FF), min_size=3, max_size=40)


@given(st.text(), SECRETS, st.text())
@settings(max_examples=50, deadline=None)
def test_no_secret_is_left(before: str, secret: str, after: str) -> None:
    """Whole, percent-encoded or escaped for JSON, a secret goes."""
    for form in (secret, quote(secret, safe=""), json.dumps(secret)[1:-1]):
        if form not in REDACTED:
            assert form not in redact(before + form + after, [secret]).replace(REDACTED, "\0")


@given(st.text(), st.integers(1, 60))
@settings(max_examples=50, deadline=None)
def test_an_excerpt_is_one_short_printable_line(text: str, limit: int) -> None:
    """Whatever comes in, a person sees one line without control characters, of bounded length."""
    line = excerpt(text, limit=limit)
    assert line.isprintable()
    assert len(line) <= limit


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("bad token abcDEF123456", f"bad token {REDACTED}"),
        ("bad token abcDEF12... sent", f"bad token {REDACTED}... sent"),
        ("Authorization: Bearer zzzzzzzzzzzzzzzzzzzz", f"Authorization: Bearer {REDACTED}"),
        ("got eyJhbGciOiJI.eyJzdWIi.c2ln", f"got {REDACTED}"),
        ("session ABCDEF123456.GHIJKL7890.MNOPQR", f"session {REDACTED}"),
        ("payload ghijkl7890", f"payload {REDACTED}"),
        ("Bearer token required", "Bearer token required"),
        ("eventCodes must be known, subscription refused", "eventCodes must be known, subscription refused"),
    ],
)
def test_what_looks_like_a_credential_goes(text: str, shown: str) -> None:
    """The beginning of a token, and what looks like a credential, goes; plain words stay."""
    assert shown == redact(text, [TOKEN])


HARD = 's3cret/with+odd "characters"=='
ENCODINGS: dict[str, Callable[[str], str]] = {
    "percent": lambda text: quote(text, safe=""),
    "percent, each letter": lambda text: "".join(f"%{byte:02x}" for byte in text.encode()),
    "form": quote_plus,
    "JSON": lambda text: json.dumps(text)[1:-1],
    "JSON, each letter": lambda text: "".join(f"\\u{ord(letter):04X}" for letter in text),
    "hex": lambda text: text.encode().hex(),
    "HEX": lambda text: text.encode().hex().upper(),
    "base64": lambda text: b64encode(text.encode()).decode(),
    "urlsafe base64": lambda text: urlsafe_b64encode(text.encode()).decode(),
    "base64 behind another text": lambda text: b64encode(b"client-1:" + text.encode() + b"!").decode(),
    "base64 without padding": lambda text: b64encode(b"x" + text.encode()).decode().rstrip("="),
    "base64 of base64": lambda text: b64encode(b64encode(b"a:" + text.encode())).decode(),
    "base64 in percent": lambda text: quote(b64encode(b"ab" + text.encode()).decode(), safe=""),
    "swapped case": str.swapcase,
}


@pytest.mark.parametrize("encode", ENCODINGS.values(), ids=ENCODINGS)
@pytest.mark.parametrize("secret", [HARD, TOKEN])
def test_an_encoded_secret_goes(secret: str, encode: Callable[[str], str]) -> None:
    """However a secret is spelled, nothing of it is left, and the words around it stay."""
    assert f"before {REDACTED} after" == redact(f"before {encode(secret)} after", [secret])


@pytest.mark.parametrize(
    "word", ["webhooks", "Production", "STAGING-2", "0123456789", "a/b/c/d/e", "ONB10011,LOA10013"]
)
def test_ordinary_text_stays(word: str) -> None:
    """A word that happens to be part of a client id, and what only looks encoded, stays."""
    assert word == redact(word, ["partner-webhooks-production-0815", TOKEN, HARD])


def test_an_empty_secret_is_none() -> None:
    """An empty secret hides nothing."""
    assert redact("text", [""]) == "text"


def test_line_breaks_and_direction_marks_become_spaces() -> None:
    """What could begin a line of its own, or turn the text around, is a space."""
    assert excerpt("a\r\n::add-mask::b\u202ec\u2028d") == "a ::add-mask::b c d"


def test_an_empty_secret_hides_nothing() -> None:
    """It stands everywhere, and says nothing."""
    assert "no such code" == redact("no such code", ["", "hunter2hunter2"])


@pytest.mark.parametrize(
    ("part", "shown"), [("abcdefghijklmno", "abcdefghijklmno"), ("abcdefghijklmnop", "[redacted]")]
)
def test_a_plain_word_counts_from_sixteen_letters(part: str, shown: str) -> None:
    """A shorter one may stand there by chance."""
    assert shown == redact(part, ["abcdefghijklmnopqrstuvwxyz"])


@pytest.mark.parametrize("word", ["run", "see"])
def test_an_excerpt_names_no_command(word: str) -> None:
    """A service cannot have a command of its choice shown on a line of its own, as the program shows its own."""
    text = excerpt(f"no\n {word}:  reconciler state resolve europe/staging/offers --not-created; so there")
    assert text == apart(with_flags(text, {"state": "records"}))


@given(st.text(max_size=7), st.lists(st.text(min_size=1, max_size=12), max_size=4))
@settings(max_examples=100, deadline=None)
def test_a_short_text_is_hidden_like_any_other(text: str, secrets: list[str]) -> None:
    """In few characters there is room for a short secret as it is, and for nothing else."""
    expected = redaction._redact(text, redaction._forms_of_all(frozenset(secrets)), redaction._LAYERS)
    assert expected == redact(text, secrets)


LETTERS = st.text("iIsSkKab1\u0130\u0131\u017f\u212a\u0307\xb5\u03bc\xe9\n", max_size=12)


@given(LETTERS | st.text(max_size=60), st.lists(LETTERS.filter(bool) | st.text(min_size=1, max_size=30), max_size=3))
@settings(max_examples=300, deadline=None)
def test_what_is_not_looked_for_would_not_be_found(text: str, secrets: list[str]) -> None:
    """A pattern is only made where one of its forms may stand: it would find nothing elsewhere."""
    forms = redaction._forms_of_all(frozenset(secrets))
    for any_of in (forms.plain, forms.base64):
        assert any_of._pattern.sub(redaction.REDACTED, text) == any_of.hide(text)
