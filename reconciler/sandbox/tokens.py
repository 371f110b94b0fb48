"""Access tokens: JSON Web Tokens signed with HS256, made by hand."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def sign_token(claims: Mapping[str, object], key: bytes) -> str:
    """The compact form of a JWT (RFC 7519), signed with HMAC SHA-256."""
    signed = f"{_encode_json({'alg': 'HS256', 'typ': 'JWT'})}.{_encode_json(claims)}"
    return f"{signed}.{_encode(hmac.digest(key, signed.encode(), hashlib.sha256))}"


def _encode_json(document: Mapping[str, object]) -> str:
    return _encode(json.dumps(document, separators=(",", ":")).encode())


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
