"""Secrets where they have no business: looked for in output and in files, in every spelling they may have."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode, urlsafe_b64encode
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

_PIECE = 12
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{16,}={0,2}")


def spellings(secret: str) -> set[bytes]:
    """A secret as it may stand in a text: plain, escaped for JSON, for a URL, as base64 or hex; its two ends alone."""
    plain = secret.encode()
    found = {plain, json.dumps(secret)[1:-1].encode(), quote(secret, safe="").encode(), quote_plus(secret).encode()}
    found |= {plain.hex().encode(), repr(secret)[1:-1].encode()}
    for offset in range(3):  # where it stands in a longer text moves the bits
        for encode in (b64encode, urlsafe_b64encode):
            found.add(encode(b"\0" * offset + plain)[4 if offset else 0 : (offset + len(plain)) // 3 * 4])
    return {one for one in found | {plain[:_PIECE], plain[-_PIECE:]} if len(one) >= 8}


class Secrets:
    """Known secrets, looked for in bytes."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._spellings = {spelling: secret for secret in secrets for spelling in spellings(secret)}
        assert self._spellings

    def leaked_in(self, data: bytes) -> set[str]:
        """The secrets that some bytes hold, as they are or one layer of base64 deeper."""
        layers = [data, *filter(None, map(_decoded, _BASE64.findall(data)))]
        return {secret for layer in layers for spelling, secret in self._spellings.items() if spelling in layer}

    def leaked_below(self, folder: Path, allowed: Callable[[Path], bool] = lambda _: False) -> dict[str, set[str]]:
        """The files below a folder that hold secrets, and which; but for those that are `allowed` to."""
        looked_at = {path: self.leaked_in(path.read_bytes()) for path in _files(folder) if not allowed(path)}
        assert looked_at
        return {str(path.relative_to(folder)): found for path, found in looked_at.items() if found}


def is_private_response(path: Path) -> bool:
    """Whether this is one of the files that may hold a create response: their owner's alone, in the data directory."""
    return "responses" in path.parts and path.stat().st_mode & 0o777 == 0o600


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def _decoded(text: bytes) -> bytes:
    try:
        return b64decode(text.translate(bytes.maketrans(b"-_", b"+/")) + b"===")
    except ValueError:
        return b""
