"""Text from elsewhere, made fit to be shown: one short line without secrets."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Collection

REDACTED = "[redacted]"

_LIMIT = 200
_AUTHORIZATION = re.compile(r"\b(bearer|basic)\s+[\w.~+/=-]{16,}", re.IGNORECASE)
_JSON_WEB_TOKEN = re.compile(r"\beyJ[\w-]{5,}(\.[\w-]*){0,2}")
_WORD = re.compile(r"[\w~+/=-]{8,}(\.[\w~+/=-]+)*")


def redact(text: str, secrets: Collection[str]) -> str:
    """`text` without any of `secrets`, whole, escaped or in part, and without whatever looks like a credential.

    A part counts from eight characters on: services like to echo the beginning of a token they refuse.
    """
    forms = {
        form for secret in secrets if secret for form in (secret, quote(secret, safe=""), json.dumps(secret)[1:-1])
    }
    for form in sorted(forms, key=len, reverse=True):
        text = text.replace(form, REDACTED)
    text = _AUTHORIZATION.sub(rf"\1 {REDACTED}", text)
    text = _JSON_WEB_TOKEN.sub(REDACTED, text)
    return _WORD.sub(lambda word: REDACTED if any(word[0] in form for form in forms) else word[0], text)


def excerpt(text: str, secrets: Collection[str] = (), limit: int = _LIMIT) -> str:
    """`text` as one redacted line of at most `limit` characters, without control or invisible characters."""
    shown = "".join(character if character.isprintable() else " " for character in redact(text, secrets))
    line = " ".join(shown.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
