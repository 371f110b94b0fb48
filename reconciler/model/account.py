"""The account that a record belongs to, as messages show it."""

from __future__ import annotations

_SHOWN = len("sha256:") + 12


def short_account(account: str | None) -> str:
    """The beginning of the hash of a client id, by which two can be told apart: never the client id itself."""
    if account is None:
        return "no account"
    return account if len(account) <= _SHOWN else f"{account[:_SHOWN]}…"
