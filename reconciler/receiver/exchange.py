"""Requests and responses as values."""

from collections.abc import Mapping

from msgspec import Struct, field


class Request(Struct, frozen=True):
    """One request. `target` is path and query; `headers` have their names as sent, each name once.

    `fields` are the headers as they were sent, in order, if `headers` differs from that, since a name came twice.
    `problem` is the answer to a request that cannot be read completely, or is not HTTP; the body is empty then.
    """

    method: str
    target: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    problem: "Response | None" = None
    fields: tuple[tuple[str, str], ...] = ()

    def header(self, name: str) -> str | None:
        return next((value for sent_name, value in self.headers.items() if sent_name.lower() == name.lower()), None)


class Response(Struct, frozen=True):
    """One response; `text` is the reason if it is not a 2xx."""

    status: int
    text: str = ""
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def is_confirmation(self) -> bool:
        """Whether it tells the service that the notification has arrived (SERVICE.md, section 4.4)."""
        return 200 <= self.status < 300
