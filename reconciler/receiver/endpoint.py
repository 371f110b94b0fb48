"""The endpoint that requests are passed on to: its URL, what is sent there, and its answer."""

import time
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct

from reconciler.errors import SettingsError
from reconciler.model.url import is_loopback
from reconciler.posting import NoAnswer, Post
from reconciler.receiver.exchange import Request, Response

_HOP_BY_HOP = frozenset(
    (
        "connection", "expect", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te",
        "trailer", "transfer-encoding", "upgrade",
    )
)  # fmt: skip
"""Headers that are for the connection they came on (RFC 9110, section 7.6.1)."""


class Answer(Struct, frozen=True):
    """What an endpoint answered. `status` is None without an answer, and `problem` says why; `late`: it took too long.

    `milliseconds` is the time it took.
    """

    milliseconds: int
    status: int | None = None
    problem: str | None = None
    late: bool = False

    @property
    def is_confirmation(self) -> bool:
        """Whether it is a 2xx, after which the service does not deliver again."""
        return self.status is not None and 200 <= self.status < 300

    @property
    def text(self) -> str:
        """The status and how long it took, or why there is none."""
        return self.problem or f"{self.status} in {self.milliseconds} ms"

    def response(self) -> Response:
        """The answer to the service: the endpoint's status; as of a proxy, 502 without an answer, 504 if it is late."""
        if self.status is None:
            return Response(504 if self.late else 502, f"the endpoint: {self.problem}")
        if not 200 <= self.status <= 599:
            return Response(502, f"the endpoint answered {self.status}")
        return Response(self.status, f"the endpoint answered {self.status}" if self.status >= 400 else "")


class Endpoint:
    """An endpoint by its URL, which may lack `http://`. A call may take so many `seconds` in all.

    Without a path in the URL, requests go to the path that they were received at; with one, all go there. A query in
    the URL replaces theirs. Raises SettingsError, with `where`, for a URL that cannot be used.
    """

    def __init__(self, url: str, seconds: float, where: str) -> None:
        self._parts = _split(url, where)
        self._seconds = seconds

    @property
    def url(self) -> str:
        return self._parts.geturl()

    def pass_on(self, request: Request) -> Answer:
        """Send a request that was just received."""
        return self.post(request.target, request.fields or tuple(request.headers.items()), request.body)

    def post(self, target: str, headers: tuple[tuple[str, str], ...], body: bytes) -> Answer:
        """Send a request that was received at `target`; hop-by-hop headers are left out, and Host is the endpoint's."""
        post = Post(self._url_of(target), body, end_to_end(headers), self._seconds)
        started = time.monotonic()
        try:
            status = post.send()
        except NoAnswer as problem:
            return Answer(_since(started), problem=problem.reason, late=problem.late)
        return Answer(_since(started), status)

    def _url_of(self, target: str) -> str:
        path, mark, query = target.partition("?")
        if self._parts.query:
            mark, query = "?", self._parts.query
        path = self._parts.path or (path if path.startswith("/") else f"/{path}")
        return f"{self._parts.scheme}://{self._parts.netloc}{path}{mark}{query}"


def end_to_end(headers: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """The headers that a proxy passes on."""
    named = {
        word.strip().lower() for name, value in headers if name.lower() == "connection" for word in value.split(",")
    }
    dropped = _HOP_BY_HOP | (named - {"content-length", "host"})
    return tuple((name, value) for name, value in headers if name.lower() not in dropped)


def _since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)


def _split(url: str, where: str) -> SplitResult:
    remedy = "use a URL such as http://127.0.0.1:8000/hooks"
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        host = parts.hostname or ""
        usable = parts.scheme in ("http", "https") and host and parts.port != 0 and url.isascii() and url.isprintable()
    except ValueError:
        usable = False
    if not usable or " " in url or "@" in parts.netloc or parts.fragment:
        raise SettingsError("expected an http or https URL without user info and fragment", where=where, remedy=remedy)
    if parts.scheme == "http" and not is_loopback(host):
        raise SettingsError("http is allowed for loopback addresses only", where=where, remedy="use https")
    return parts
