"""The account that a target's record belongs to."""

from __future__ import annotations

import hashlib


def account_hash(client_id: str) -> str:
    """Return `sha256:` and a hash of a client id: it tells clients apart, and may be stored."""
    return "sha256:" + hashlib.sha256(b"reconciler account\0" + client_id.encode()).hexdigest()
