"""A partner's credentials."""

import hashlib

from reconciler.values import Discreet


class Credentials(Discreet, frozen=True):
    """A client identifier and its secret, as the operator issued them (SERVICE.md, section 5)."""

    unprinted = ("client_secret",)

    client_id: str
    client_secret: str

    def account(self) -> str:
        """The account that a state record belongs to: `sha256:` and a hash of the client id, which is no secret."""
        return "sha256:" + hashlib.sha256(b"reconciler account\0" + self.client_id.encode()).hexdigest()
