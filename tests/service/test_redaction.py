"""What is shown of a text from elsewhere."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.service.redaction import REDACTED, excerpt, redact

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
        ("Bearer token required", "Bearer token required"),
        ("eventCodes must be known, subscription refused", "eventCodes must be known, subscription refused"),
    ],
)
def test_what_looks_like_a_credential_goes(text: str, shown: str) -> None:
    """The beginning of a token, and what looks like a credential, goes; plain words stay."""
    assert shown == redact(text, [TOKEN])


def test_an_empty_secret_is_none() -> None:
    """An empty secret hides nothing."""
    assert redact("text", [""]) == "text"


def test_line_breaks_and_direction_marks_become_spaces() -> None:
    """What could begin a line of its own, or turn the text around, is a space."""
    assert excerpt("a\r\n::add-mask::b\u202ec\u2028d") == "a ::add-mask::b c d"
