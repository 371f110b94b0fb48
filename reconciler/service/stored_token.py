"""An access token as a value, and its encrypted form on disk."""

import base64
import hashlib
import json
from typing import Any

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from msgspec import Struct
from msgspec.structs import astuple

from reconciler.model.clock import Instant
from reconciler.values import Discreet

_FORMAT = "reconciler token 1"


class Purpose(Struct, frozen=True):
    """The identity provider, client and audience of a token. Targets that share all three share the token."""

    auth_url: str
    client_id: str
    audience: str

    @property
    def key(self) -> str:
        """A file name for the purpose: 64 hexadecimal digits."""
        return hashlib.sha256(json.dumps([_FORMAT, *astuple(self)]).encode()).hexdigest()


class Token(Discreet, frozen=True):
    """A token, the time before it was requested (in the boot with the id `boot`), and its lifetime in seconds."""

    unprinted = ("value",)

    value: str
    issued: Instant
    boot: str
    lifetime: float

    def is_fresh(self, now: Instant, boot: str) -> bool:
        """Whether it can be used: with a margin of a tenth of its lifetime, five minutes at most.

        The wall clock may have been set since; within one boot, the steady clock must agree.
        """
        usable = self.lifetime - min(300.0, self.lifetime / 10)
        fresh = 0 <= now.wall - self.issued.wall < usable
        if boot and boot == self.boot:
            return fresh and 0 <= now.steady - self.issued.steady < usable
        return fresh


def encrypt(token: Token, purpose: Purpose, secret: str) -> bytes:
    """The content of the file for `token`, encrypted under a key derived from the client `secret`."""
    content = {
        "for": astuple(purpose),
        "token": token.value,
        "wall": token.issued.wall,
        "steady": token.issued.steady,
        "boot": token.boot,
        "lifetime": token.lifetime,
    }
    return _cipher(purpose, secret).encrypt(json.dumps(content).encode())


def decrypt(data: bytes, purpose: Purpose, secret: str) -> Token | None:
    """The token in `data`; None if it is damaged, for another purpose or encrypted under another secret."""
    try:
        content: dict[str, Any] = json.loads(_cipher(purpose, secret).decrypt(data))
        if content["for"] != list(astuple(purpose)):
            return None
        issued = Instant(wall=float(content["wall"]), steady=float(content["steady"]))
        return Token(str(content["token"]), issued, str(content["boot"]), float(content["lifetime"]))
    except (InvalidToken, ValueError, KeyError, TypeError):
        return None


def _cipher(purpose: Purpose, secret: str) -> Fernet:
    derivation = HKDF(SHA256(), length=32, salt=_FORMAT.encode(), info=purpose.key.encode())
    return Fernet(base64.urlsafe_b64encode(derivation.derive(secret.encode())))
