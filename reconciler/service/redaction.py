"""Makes text from the service safe to show: one short line without secrets."""

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property, lru_cache
from urllib.parse import quote, quote_plus, unquote, unquote_plus

REDACTED = "[redacted]"

_LIMIT = 200
_CONSIDERED = 4096  # characters: the rest is never shown, and a hostile text must not cost time
_SHORTEST = 8  # characters that count as a part of a secret, or as an encoded one
_LAYERS = 2  # encodings that are undone, one within the other
_SECRETS = 16  # whose forms are kept: those of a run are looked for in every answer, those of an answer in each part
_CHUNKS = 64  # whose decodings are kept: the names of fields are the same in every answer
_SEGMENT = 16  # characters from which a segment of a token is a secret of its own
_LONG_WORD = 16
_AUTHORIZATION = re.compile(r"\b(bearer|basic)\s+[\w.~+/=-]{16,}", re.IGNORECASE)
_JSON_WEB_TOKEN = re.compile(r"(?<![A-Za-z0-9])eyJ[\w-]{5,}(\.[\w-]*){0,2}")
_CHUNK = re.compile(r"[^\s\"'<>]{8,}")
_WORD = re.compile(r"[\w~+/=-]{8,}(\.[\w~+/=-]+)*")
_PLAIN_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_EQUAL_TO_ASCII = re.compile("[\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}\u0131\u017f\u212a]")  # as I, i, s and k are
_ESCAPE = re.compile(r"\\+u([0-9a-fA-F]{4})")
_SAME_IN_ALL = re.compile(r"[A-Za-z0-9._~-]*")  # encoded for a URL or as JSON, it stays what it is
_URL_SAFE = str.maketrans("+/", "-_")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2}){8,}")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{11,}={0,2}")


def redact(text: str, secrets: Collection[str]) -> str:
    """`text` without any of `secrets`, whole, in part or encoded, and without anything that looks like a credential.

    Upper and lower case make no difference. The encodings are percent, JSON escapes, hex and base64. A part counts from
    eight characters on, since services like to echo the beginning of a token they refuse; a plain word of a language
    counts from sixteen.
    """
    if len(text) < _SHORTEST:  # too short for a part or an encoding of any secret, and for a longer one as it is
        secrets = [secret for secret in secrets if len(secret) <= len(text)]
    return _redact(text, _forms_of_all(frozenset(secrets)), _LAYERS)


def reveals(text: str, secrets: Collection[str]) -> bool:
    """Whether `redact` would remove something."""
    return redact(text, secrets) != text


def excerpt(text: str, secrets: Collection[str] = (), limit: int = _LIMIT) -> str:
    """`text` as one redacted line of at most `limit` characters, without control or invisible characters.

    The terminal sets a command that follows "run: " or "see: " on a line of its own: what the service says must not
    look so.
    """
    redacted = redact(text[:_CONSIDERED], secrets)
    shown = "".join(character if character.isprintable() else " " for character in redacted)
    line = " ".join(shown.split()).replace("run: ", "run:").replace("see: ", "see:")
    return line if len(line) <= limit else line[: limit - 1] + "…"


class _AnyOf:
    """Some forms of one secret. That none of them stands in a text can be seen without a pattern, if all are ASCII, and
    the text has none of the letters that are equal to ASCII ones in another case.
    """

    def __init__(self, forms: Collection[str]) -> None:
        self.forms = sorted(forms, key=len)
        self._lowered = [form.lower() for form in self.forms]
        self._is_ascii = "".join(self.forms).isascii()
        self._joined = "\n".join(self._lowered)

    def has_part(self, lowered_word: str) -> bool:
        """Whether a word, on one line and in lower case, is part of a form."""
        return lowered_word in self._joined

    def is_absent(self, lowered: str) -> bool:
        """Whether none stands in a text, given in lower case and without such letters, for certain."""
        if not self._is_ascii:
            return False
        for form in self._lowered:
            if len(form) > len(lowered):
                return True
            if form in lowered:
                return False
        return True


class _AnyOfAll:
    """Hides the longest that stands at a place, in any case, of the forms of all secrets."""

    def __init__(self, parts: Sequence[_AnyOf]) -> None:
        self._parts = parts

    def hide(self, text: str) -> str:
        # Compiling costs more than a whole call, and each response with a secret of its own takes another pattern.
        lowered = text.lower()
        if not _EQUAL_TO_ASCII.search(text) and all(part.is_absent(lowered) for part in self._parts):
            return text
        return self._pattern.sub(REDACTED, text)

    def has_part(self, lowered_word: str) -> bool:
        return any(part.has_part(lowered_word) for part in self._parts)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        forms = sorted({form for part in self._parts for form in part.forms}, key=len, reverse=True)
        return re.compile("|".join(map(re.escape, forms)) or r"(?!)", re.IGNORECASE)


class _Forms:
    """The forms in which a text may contain secrets."""

    def __init__(self, secrets: Collection[str]) -> None:
        parts = [_forms_of(secret) for secret in secrets if secret]
        self.plain, self.base64 = (_AnyOfAll([part[number] for part in parts]) for number in range(2))

    def has_part(self, word: str) -> bool:
        """Whether a word, on one line, is part of a secret, and not a plain word that any text may contain."""
        if len(word) < _LONG_WORD and _PLAIN_WORD.fullmatch(word):
            return False
        lowered = word.lower()
        return self.plain.has_part(lowered) or self.base64.has_part(lowered)


@lru_cache(maxsize=_SECRETS)
def _forms_of_all(secrets: frozenset[str]) -> _Forms:
    return _Forms(secrets)


def _redact(text: str, forms: _Forms, layers: int) -> str:
    text = forms.plain.hide(text)
    if layers:
        text = _CHUNK.sub(lambda chunk: REDACTED if _hides(chunk[0], forms, layers - 1) else chunk[0], text)
    text = forms.base64.hide(text)
    text = _AUTHORIZATION.sub(rf"\1 {REDACTED}", text)
    text = _JSON_WEB_TOKEN.sub(REDACTED, text)
    return _WORD.sub(lambda word: REDACTED if forms.has_part(word[0]) else word[0], text)


def _hides(chunk: str, forms: _Forms, layers: int) -> bool:
    """Whether `chunk`, after an encoding is undone, contains something to redact."""
    return any(_redact(decoded, forms, layers) != decoded for decoded in _decoded(chunk))


@lru_cache(maxsize=_CHUNKS)
def _decoded(chunk: str) -> tuple[str, ...]:
    """`chunk`, or a run of letters in it, decoded from each encoding that it may be in."""
    return tuple(_decodings(chunk))


def _decodings(chunk: str) -> Iterator[str]:
    for decoded in (unquote(chunk), unquote_plus(chunk), _ESCAPE.sub(lambda found: chr(int(found[1], 16)), chunk)):
        if decoded != chunk:
            yield decoded
    for run in _HEX.findall(chunk):
        yield bytes.fromhex(run).decode(errors="replace")
    for run in _BASE64.findall(chunk):
        digits = run.rstrip("=").translate(str.maketrans("-_", "+/"))
        usable = len(digits) - (len(digits) % 4 == 1)
        yield b64decode(digits[:usable] + "===").decode(errors="replace")


@lru_cache(maxsize=_SECRETS)
def _forms_of(secret: str) -> tuple[_AnyOf, _AnyOf]:
    """The plain forms of a secret and of its pieces, and those in base64."""
    pieces = _pieces(secret)
    plain = {form for piece in pieces for form in _plain_forms(piece)}
    return _AnyOf(plain), _AnyOf({form for piece in pieces for form in _base64_forms(piece)})


def _pieces(secret: str) -> list[str]:
    """A secret, and each segment of a token, such as the payload of a JSON Web Token."""
    return [secret, *(segment for segment in secret.split(".") if len(segment) >= _SEGMENT)]


def _plain_forms(piece: str) -> list[str]:
    encoded = piece.encode(errors="surrogatepass")
    if _SAME_IN_ALL.fullmatch(piece):
        return [piece, encoded.hex()]
    return [piece, quote(encoded, safe=""), quote_plus(encoded), json.dumps(piece)[1:-1], encoded.hex()]


def _base64_forms(piece: str) -> Iterator[str]:
    plain = piece.encode(errors="surrogatepass")
    for offset in range(3):  # the text before it shifts the bits
        start, end = 4 if offset else 0, (offset + len(plain)) // 3 * 4
        if end - start >= _SHORTEST:
            form = b64encode(bytes(offset) + plain).decode()[start:end]
            yield form
            yield form.translate(_URL_SAFE)
