"""The result of one exchange with a server: a reply, or a failure that says whether the request was sent."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from reconciler.values import Discreet, Keyed

BODY_LIMIT = 1 << 20


class Reply(Discreet, Keyed, frozen=True, eq=False):
    """A response whose status line and headers arrived, whether or not its body did.

    Header names are in lower case, and the values of one that came several times are one list (RFC 9110, section 5.3).
    `head` is the status line and the headers as received, including the blank line. `body` is what arrived of the body,
    at most BODY_LIMIT bytes; `whole` says whether that is all of it.
    """

    unprinted = ("headers", "body", "head")

    status: int
    headers: Mapping[str, str]
    body: bytes
    whole: bool
    head: bytes = b""

    @property
    def key(self) -> tuple[object, ...]:
        """All but the head."""
        return self.status, self.headers, self.body, self.whole


class Failure(Struct, frozen=True):
    """No status line arrived. If `sent` is false, no byte of the request was sent; otherwise the outcome is unknown."""

    sent: bool
    reason: str


def reply_of(version: bytes, status: int, reason: bytes, headers: Iterable[tuple[bytes, bytes]]) -> Reply:
    """A reply of which only the head has arrived."""
    head, values = b"%s %d %s\r\n" % (version, status, reason), dict[str, str]()
    for name, value in headers:
        head += b"%s: %s\r\n" % (name, value)
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        values[key] = f"{values[key]}, {text}" if key in values else text
    return Reply(status, values, b"", whole=False, head=head + b"\r\n")
