"""The service shuts down at the worst moment of a create, for each row of the table of outcomes; and comes back.

Whatever the moment, the outcome is what the table says, nothing is created twice, and a person recovers plainly.
"""

from __future__ import annotations

import signal
import socket
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum, auto
from threading import Thread
from typing import TYPE_CHECKING, Self

import pytest
from support.ports import free_port
from support.project import Finished, Project
from support.raw_server import read_request, reset, wait_for_hangup
from support.rude_service import json_response, response
from support.sandbox_project import HERE, THERE, SandboxProject, subscriptions

from reconciler.model.outcome import Outcome
from reconciler.model.record import Status
from reconciler.sandbox.exchange import Request

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from reconciler.sandbox.exchange import Response

    Make = Callable[..., "Falling"]


class Moment(Enum):
    """How far an exchange gets before the service shuts down."""

    ACCEPTED = auto()
    ASKED_FOR_A_TUNNEL = auto()
    GREETED = auto()
    """The client has begun with TLS."""
    IN_REQUEST = auto()
    READ = auto()
    DONE = auto()
    """What is asked for is done, and nothing of an answer sent."""
    MUTE = auto()
    """As DONE, but the connection stays open until the client goes."""
    IN_STATUS_LINE = auto()
    AFTER_STATUS_LINE = auto()
    IN_HEADERS = auto()
    AFTER_HEAD = auto()
    IN_BODY = auto()
    ANSWERED = auto()


@dataclass(frozen=True)
class Fall:
    """How the service shuts down in an exchange: at which moment.

    `answer` stands in the place of its own; `commits` says whether what is asked for is done; `alone`, that its other
    gate stays open; `back`, that it is there again at once, as one that is restarted.
    """

    moment: Moment
    answer: bytes | None = None
    commits: bool = True
    alone: bool = False
    back: bool = False


def part(answer: bytes, moment: Moment) -> bytes:
    """What of an answer goes out until then."""
    line, head = answer.index(b"\r\n") + 2, answer.index(b"\r\n\r\n") + 4
    ends = {
        Moment.IN_STATUS_LINE: len(b"HTTP/1.1 20"),
        Moment.AFTER_STATUS_LINE: line,
        Moment.IN_HEADERS: (line + head) // 2,
        Moment.AFTER_HEAD: head,
        Moment.IN_BODY: (head + len(answer)) // 2,
        Moment.ANSWERED: len(answer),
    }
    return answer[: ends[moment]]


def as_request(data: bytes) -> Request:
    """The request that was read, as the sandbox takes it."""
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return Request(first.split()[0], first.split()[1], headers, lambda: body)


def as_bytes(answer: Response) -> bytes:
    """What the sandbox answers, as bytes."""
    return response(answer.body, f"{answer.status} Said", *(f"{name}: {value}" for name, value in answer.headers))


class Gate:
    """A port of the service. It shuts as its `falls` have it, one for each connection that is used, and can open again.

    With a `context` it speaks TLS: at once, or behind the tunnel that is asked for.
    """

    def __init__(self, handle: Callable[[Request], Response], context: ssl.SSLContext | None = None) -> None:
        self.falls: deque[Fall] = deque()
        self.beside: list[Gate] = []
        self.port = free_port()
        self.connections = 0
        self._handle = handle
        self._context = context
        self._open: dict[socket.socket, Thread] = {}
        self._acceptors: list[Thread] = []
        self._listener: socket.socket | None = None
        self.open()

    def open(self) -> None:
        """Listen, unless it does."""
        if self._listener is None:
            self._listener = socket.create_server(("127.0.0.1", self.port))
            self._acceptors.append(Thread(target=self._accept, args=(self._listener,)))
            self._acceptors[-1].start()

    def shut(self, but: socket.socket | None = None) -> None:
        """Refuse connections from here on, and drop those there are, but for one."""
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        for connection in set(self._open) - {but}:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Shut, and wait for what was under way."""
        self.shut()
        for acceptor in self._acceptors:
            acceptor.join(10)
        for thread in list(self._open.values()):
            thread.join(10)
        assert {} == self._open

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open[connection] = Thread(target=self._serve, args=(connection,))
            self._open[connection].start()

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(20)
        with suppress(OSError), connection:
            # A client that is reset before it has connected has sent nothing, nor has one that does not use what it
            # opened ahead.
            if connection.recv(1, socket.MSG_PEEK):
                self._use(connection, self.falls.popleft() if self.falls else None)
        del self._open[connection]

    def _use(self, connection: socket.socket, fall: Fall | None) -> None:
        if self._context is None:
            self._exchange(connection, fall)
        else:
            self._exchange_secured(connection, fall, self._context)

    def _exchange_secured(self, connection: socket.socket, fall: Fall | None, context: ssl.SSLContext) -> None:
        if connection.recv(7, socket.MSG_PEEK) == b"CONNECT":
            read_request(connection)
            if self._falls(connection, fall, Moment.ASKED_FOR_A_TUNNEL):
                return
            connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            connection.recv(1, socket.MSG_PEEK)
        if self._falls(connection, fall, Moment.GREETED):
            return
        with context.wrap_socket(connection, server_side=True) as secured:
            self._exchange(secured, fall)

    def _exchange(self, connection: socket.socket, fall: Fall | None) -> None:
        if self._falls(connection, fall, Moment.ACCEPTED):
            return
        if fall is not None and fall.moment is Moment.IN_REQUEST:
            connection.recv(16)
        if self._falls(connection, fall, Moment.IN_REQUEST):
            return
        request = read_request(connection)
        if not request or self._falls(connection, fall, Moment.READ):
            return
        answer = as_bytes(self._handle(as_request(request))) if fall is None or fall.commits else b""
        if fall is None:
            connection.sendall(answer)
        elif not self._falls(connection, fall, Moment.DONE):
            self._fall_in_answer(connection, fall, fall.answer or answer)

    def _fall_in_answer(self, connection: socket.socket, fall: Fall, answer: bytes) -> None:
        """Shut before the last of the answer is out: whoever has read it finds the service gone, or back."""
        if fall.moment is Moment.MUTE:
            wait_for_hangup(connection)
        self._fall(fall, connection)
        if fall.moment is not Moment.MUTE:
            connection.sendall(part(answer, fall.moment))

    def _falls(self, connection: socket.socket, fall: Fall | None, moment: Moment) -> bool:
        """Whether this is the moment; then the gate is shut, and the connection reset."""
        if fall is None or fall.moment is not moment:
            return False
        self._fall(fall, connection)
        reset(connection)
        return True

    def _fall(self, fall: Fall, connection: socket.socket) -> None:
        gates = [self] if fall.alone else [self, *self.beside]
        for gate in gates:
            gate.shut(connection)
        for gate in gates if fall.back else ():
            gate.open()


class Falling:
    """A scene in which europe/staging is behind two gates: its `identity` provider, and its `api`.

    `secured` is the TLS of the api, and `host` the name it is then called by, if any.
    """

    def __init__(
        self,
        scene: SandboxProject,
        secured: ssl.SSLContext | None = None,
        host: str = "127.0.0.1:{port}",
    ) -> None:
        self.scene = scene
        handle, target = scene.sandbox._routes.handle, scene.sandbox.world.targets[HERE]
        self.identity, self.api = Gate(handle), Gate(handle, secured)
        self.gates = [self.identity, self.api]
        self.identity.beside, self.api.beside = [self.api], [self.identity]
        api = f"http{'s' if secured else ''}://{host.format(port=self.api.port)}"
        placed = {
            "RECONCILER_EUROPE_STAGING_AUTH_URL": (target.provider.auth_url, f"http://127.0.0.1:{self.identity.port}"),
            "RECONCILER_EUROPE_STAGING_BASE_URL": (target.base_url, api),
        }
        urls = {name: url.replace(scene.sandbox.url, place) for name, (url, place) in placed.items()}
        self.project = Project(scene.project.path, {**scene.project.environment, **urls})
        scene.project = self.project

    def __enter__(self) -> Self:
        self.scene.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        for gate in self.gates:
            gate.close()
        self.scene.__exit__(None, None, None)

    def apply(self, *arguments: str, failpoint: str = "", timeout: str = "5") -> Finished:
        """Apply; by the time that it has ended, nothing is under way at the service any more."""
        environment = dict(self.project.environment)
        self.project.environment["RECONCILER_TEST_FAILPOINT"] = failpoint
        arguments = ("--auto-approve", "--format", "json", "--timeout", timeout, *arguments)
        done = self.project.step("apply", *arguments, code=None)
        self.project.environment = environment
        for gate in self.gates:
            gate.close()
        return done

    def recover(self) -> int:
        """The service is back, and people do what is to be done; how many outcomes they settled."""
        for gate in self.gates:
            gate.falls.clear()
            gate.open()
        return self.scene.recover()

    def outcomes(self) -> list[Outcome | None]:
        """What is recorded to have become of each attempt."""
        return [attempt.outcome for attempt in self.scene.attempts()]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Makes a scene with so many subscriptions whose service can fall."""
    return lambda count=1, targets=(HERE,), **how: Falling(
        SandboxProject(tmp_path, subscriptions(count), targets), **how
    )


@dataclass(frozen=True)
class Case:
    """How creates and requests for tokens fall, in their order, and what comes of it.

    `committed` counts the creates that were carried out, `calls` the connections for one.
    """

    creates: Sequence[Fall] = ()
    tokens: Sequence[Fall] = ()
    outcome: str = "unknown"
    committed: int = 0
    calls: int = 1
    status: int | None = None
    failpoint: str = ""
    timeout: str = "5"


CODES = {"created": 0, "rejected": 1, "not_sent": 1, "unknown": 3}
SOON = "send_window=1.4"  # what was not sent is not tried again for long


def check(falling: Falling, case: Case) -> Finished:
    """Apply as the service falls so; see that the record, the exit code and the service are as they should; recover."""
    with falling:
        falling.api.falls.extend(case.creates)
        falling.identity.falls.extend(case.tokens)
        done = falling.apply(failpoint=case.failpoint, timeout=case.timeout)
        assert CODES[case.outcome] == done.code, done
        assert [(case.outcome, case.status)] == [(one["outcome"], one["status"]) for one in done.document["results"]]
        assert [case.outcome] == falling.outcomes()
        assert (case.committed, case.calls) == (len(falling.scene.sandbox.world.commits), falling.api.connections)
        assert int(case.outcome == "unknown") == falling.recover()
    return done


def cases(**named: Case) -> pytest.MarkDecorator:
    """A test for each case; a name that ends in `_soak` is left out by default."""
    found = []
    for name, case in named.items():
        usual = name.removesuffix("_soak")
        marks = () if usual == name else pytest.mark.soak
        found.append(pytest.param(case, id=usual.replace("_", " "), marks=marks))
    return pytest.mark.parametrize("case", found)


def said(status: str, *headers: str) -> bytes:
    """An answer in JSON that says nothing in particular."""
    return json_response({"message": "as it is said"}, status, *headers)


PAGE = response("<!DOCTYPE html><html><body>Back soon</body></html>", "200 OK", "Content-Type: text/html")
CHUNKED = b'HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n1f\r\n{"subscriptionId":"1"}'


def created(fall: Fall, status: int = 201) -> Case:
    """It is created, whatever else."""
    return Case([fall], outcome="created", committed=1, status=status)


@cases(
    whole_201=created(Fall(Moment.ANSWERED)),
    head_of_a_201_soak=created(Fall(Moment.AFTER_HEAD)),
    half_the_body_of_a_201=created(Fall(Moment.IN_BODY)),
    in_a_chunk_of_a_201=created(Fall(Moment.ANSWERED, CHUNKED)),
    half_the_body_of_a_200_soak=created(Fall(Moment.IN_BODY, said("200 OK")), 200),
    whole_202_that_is_empty_soak=created(Fall(Moment.ANSWERED, response("", "202 Accepted")), 202),
    whole_204_soak=created(Fall(Moment.ANSWERED, b"HTTP/1.1 204 No Content\r\n\r\n"), 204),
    half_a_299_that_is_no_json_soak=created(Fall(Moment.IN_BODY, response("thank you", "299 Fine")), 299),
)
def test_a_service_that_falls_after_a_2xx_has_created(make: Make, case: Case) -> None:
    """2xx, whatever the body: `created`, and nothing of it is lost where the body breaks off."""
    check(make(), case)


def not_sent(fall: Fall) -> Case:
    """The call is not sent, and not tried again for long."""
    return Case([fall], outcome="not_sent", failpoint=SOON)


def test_a_service_that_is_gone_before_the_call_was_sent_nothing(make: Make) -> None:
    """No connection, since the service fell as soon as it had given a token: `not_sent`."""
    fallen = Case(tokens=[Fall(Moment.ANSWERED)], outcome="not_sent", calls=0, failpoint=SOON)
    check(make(), fallen)


def test_a_service_that_is_back_for_a_repeat_creates_once(
    make: Make, tls: ssl.SSLContext, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was not sent is sent again after a moment, and by then the service is there."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    fall = Fall(Moment.GREETED, back=True)
    check(make(secured=tls), Case([fall, fall], outcome="created", committed=1, calls=3, status=201))


def test_a_service_that_falls_in_the_tls_handshake_was_sent_nothing(
    make: Make, tls: ssl.SSLContext, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TLS failed: `not_sent`."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    check(make(secured=tls), not_sent(Fall(Moment.GREETED)))


@cases(
    accepted=not_sent(Fall(Moment.ASKED_FOR_A_TUNNEL)),
    tunnelled=not_sent(Fall(Moment.GREETED)),
    sent=Case([Fall(Moment.DONE)], committed=1),
)
def test_a_service_that_falls_behind_a_proxy(
    make: Make, tls: ssl.SSLContext, certificate: Path, monkeypatch: pytest.MonkeyPatch, case: Case
) -> None:
    """What the proxy, or TLS behind it, fails at was not sent; what fails after that is unknown."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    falling = make(secured=tls, host="service.localhost")
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{falling.api.port}")
    check(falling, case)


NAMES = """
import socket
resolve = socket.getaddrinfo
def answer(host, *more, **named):
    if host in ("service.localhost", b"service.localhost"):
        if {gone}:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        host = "127.0.0.1"
    return resolve(host, *more, **named)
socket.getaddrinfo = answer
"""


def test_a_service_whose_name_goes_with_it_was_sent_nothing(
    make: Make, tls: ssl.SSLContext, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Name resolution failed: `not_sent`."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with make(secured=tls, host="service.localhost:{port}") as falling:
        falling.project.before_steps = NAMES.format(gone=True)
        done = falling.apply(failpoint=SOON)
        assert (1, [Outcome.NOT_SENT], 0) == (done.code, falling.outcomes(), falling.api.connections)
        assert "Name or service not known" in done.document["results"][0]["detail"]
        falling.project.before_steps = NAMES.format(gone=False)
        assert 0 == falling.recover()
        assert 1 == falling.api.connections


@pytest.mark.parametrize(
    "fall",
    [
        *map(Fall, (Moment.ACCEPTED, Moment.DONE, Moment.IN_BODY)),
        Fall(Moment.ANSWERED, PAGE),
        Fall(Moment.DONE, back=True),
        *(
            pytest.param(fall, marks=pytest.mark.soak)
            for fall in (
                *map(Fall, (Moment.IN_REQUEST, Moment.READ, Moment.MUTE)),
                *map(Fall, (Moment.IN_STATUS_LINE, Moment.IN_HEADERS, Moment.AFTER_HEAD)),
                Fall(Moment.IN_BODY, back=True),
            )
        ),
    ],
    ids=lambda fall: fall.moment.name.lower().replace("_", " ") + (", again and again" if fall.back else ""),
)
def test_an_identity_provider_that_falls_leaves_nothing_open(make: Make, fall: Fall) -> None:
    """No token to be had, whenever its answer breaks off: `not_sent`, and no intent is recorded."""
    with make() as falling:
        falling.identity.falls.extend([fall] * 5)
        done = falling.apply(timeout="0.4")
        assert 1 == done.code, done
        assert ["not_sent"] == [one["outcome"] for one in done.document["results"]]
        assert ([], 0) == (falling.outcomes(), falling.api.connections)
        assert 0 == falling.recover()


def test_an_identity_provider_that_falls_concerns_its_own_targets_only(make: Make) -> None:
    """No token for one target: the other goes on."""
    with make(targets=(HERE, THERE)) as falling:
        falling.identity.shut()
        done = falling.apply()
        assert 1 == done.code, done
        outcomes = {one["address"]: one["outcome"] for one in done.document["results"]}
        assert {f"{HERE}/s0": "not_sent", f"{THERE}/s0": "created"} == outcomes
        assert [Outcome.CREATED] == falling.outcomes()
        assert 0 == falling.recover()


def test_an_identity_provider_that_falls_after_the_token_is_not_missed(make: Make) -> None:
    """Gone between the token and the create, it takes nothing with it: `created`."""
    case = Case(tokens=[Fall(Moment.ANSWERED, alone=True)], outcome="created", committed=1, status=201)
    check(make(), case)


DENIED = said("401 Unauthorized")
ONCE_DENIED = Fall(Moment.ANSWERED, DENIED, commits=False, back=True)


@cases(
    before_the_new_token=Case(
        [Fall(Moment.ANSWERED, DENIED, commits=False)], outcome="rejected", status=401
    ),
    with_half_of_the_401_soak=Case(
        [Fall(Moment.IN_BODY, DENIED, commits=False)], outcome="rejected", status=401
    ),
    while_the_new_token_is_issued_soak=Case(
        [ONCE_DENIED], [Fall(Moment.ANSWERED, alone=True, back=True), Fall(Moment.DONE)],
        outcome="rejected", status=401,
    ),
    before_the_repeat=Case(
        [Fall(Moment.ANSWERED, DENIED, commits=False, alone=True)], outcome="not_sent", failpoint=SOON
    ),
    in_the_repeat=Case([ONCE_DENIED, Fall(Moment.DONE)], committed=1, calls=2),
    in_the_answer_to_the_repeat_soak=Case(
        [ONCE_DENIED, Fall(Moment.IN_BODY)], outcome="created", committed=1, calls=2, status=201
    ),
    in_the_second_401=Case(
        [ONCE_DENIED, Fall(Moment.IN_BODY, DENIED, commits=False)], outcome="rejected", calls=2, status=401
    ),
    and_is_back_for_the_repeat=Case([ONCE_DENIED], outcome="created", committed=1, calls=2, status=201),
    in_the_head_of_the_401=Case([Fall(Moment.IN_HEADERS, DENIED, commits=False, back=True)]),
)  # fmt: skip
def test_a_service_that_falls_around_a_401(make: Make, case: Case) -> None:
    """401: the call is repeated once with a new token, then `rejected`; without a token there is no repeat."""
    check(make(), case)


BUSY = said("429 Too Many Requests", "Retry-After: 0")
ONCE_BUSY = Fall(Moment.ANSWERED, BUSY, commits=False, back=True)


@cases(
    before_the_repeat=Case([replace(ONCE_BUSY, back=False)], outcome="not_sent", failpoint=SOON),
    with_half_of_the_429_soak=Case(
        [Fall(Moment.IN_BODY, BUSY, commits=False)], outcome="not_sent", failpoint=SOON
    ),
    in_the_repeat=Case([ONCE_BUSY, Fall(Moment.DONE)], committed=1, calls=2),
    in_the_answer_to_the_repeat_soak=Case(
        [ONCE_BUSY, Fall(Moment.AFTER_HEAD)], outcome="created", committed=1, calls=2, status=201
    ),
    and_is_back_for_the_repeat=Case([ONCE_BUSY], outcome="created", committed=1, calls=2, status=201),
    and_is_busy_for_good=Case(
        [ONCE_BUSY] * 3 + [replace(ONCE_BUSY, back=False)], outcome="rejected", calls=4, status=429
    ),
    and_asks_for_years=Case(
        [Fall(Moment.ANSWERED, said("429 Too Many Requests", "Retry-After: 99999999"), commits=False)],
        outcome="rejected", status=429,
    ),
    in_the_head_of_the_429=Case([Fall(Moment.IN_HEADERS, BUSY, commits=False, back=True)]),
)  # fmt: skip
def test_a_service_that_falls_around_a_429(make: Make, case: Case) -> None:
    """429: repeated as Retry-After says, then `rejected`; a repeat that finds no service was not sent."""
    check(make(), case)


def rejected(status: str, *headers: str, moment: Moment = Moment.ANSWERED) -> Case:
    """It is refused with this status."""
    fall = Fall(moment, said(status, *headers), commits=False)
    return Case([fall], outcome="rejected", status=int(status[:3]))


@cases(
    whole_400_soak=rejected("400 Bad Request"),
    head_of_a_403_soak=rejected("403 Forbidden", moment=Moment.AFTER_HEAD),
    half_the_body_of_a_404_soak=rejected("404 Not Found", moment=Moment.IN_BODY),
    half_the_body_of_a_409=rejected("409 Conflict", moment=Moment.IN_BODY),
    whole_422_soak=rejected("422 Unprocessable Entity"),
    whole_301=rejected("301 Moved Permanently", "Location: /elsewhere"),
    head_of_a_307_soak=rejected("307 Temporary Redirect", "Location: /elsewhere", moment=Moment.AFTER_HEAD),
    half_the_body_of_a_308_soak=rejected("308 Permanent Redirect", "Location: /elsewhere", moment=Moment.IN_BODY),
)
def test_a_service_that_falls_after_it_refused_has_created_nothing(make: Make, case: Case) -> None:
    """Other 4xx, 301, 307 and 308: `rejected`; the next apply tries again; on 409, `state import` is named."""
    done = check(make(), case)
    assert ("state import" in done.document["results"][0]["detail"]) == (case.status == 409)


def lost(moment: Moment, *, committed: bool = True) -> Case:
    """Nothing is heard of it."""
    return Case([Fall(moment, commits=committed)], committed=int(committed))


def unknown(answer: bytes, moment: Moment = Moment.ANSWERED, *, committed: bool = True) -> Case:
    """What is heard of it says nothing."""
    status = int(answer.split()[1])
    return Case([Fall(moment, answer, commits=committed)], committed=int(committed), status=status)


@cases(
    accepted=lost(Moment.ACCEPTED, committed=False),
    in_the_request_soak=lost(Moment.IN_REQUEST, committed=False),
    with_the_request_soak=lost(Moment.READ, committed=False),
    created=lost(Moment.DONE),
    in_the_status_line=lost(Moment.IN_STATUS_LINE),
    after_the_status_line_soak=lost(Moment.AFTER_STATUS_LINE),
    in_the_headers_soak=lost(Moment.IN_HEADERS),
    mute=Case([Fall(Moment.MUTE)], committed=1, timeout="1.5"),
    whole_500_soak=unknown(said("500 Internal Server Error"), committed=False),
    whole_500_created=unknown(said("500 Internal Server Error")),
    half_the_body_of_a_503_soak=unknown(said("503 Service Unavailable", "Retry-After: 0"), Moment.IN_BODY),
    head_of_a_502_soak=unknown(said("502 Bad Gateway"), Moment.AFTER_HEAD),
    whole_408_soak=unknown(said("408 Request Timeout"), committed=False),
    half_the_body_of_a_499_soak=unknown(said("499 Client Closed Request"), Moment.IN_BODY),
    whole_303_soak=unknown(said("303 See Other", "Location: /elsewhere")),
    head_of_a_302_soak=unknown(said("302 Found", "Location: /elsewhere"), Moment.AFTER_HEAD),
    whole_page=unknown(PAGE, committed=False),
    half_a_page_soak=unknown(PAGE, Moment.IN_BODY),
    head_of_a_page_soak=unknown(PAGE, Moment.AFTER_HEAD),
)
def test_a_service_that_falls_without_a_clear_word_leaves_it_unknown(make: Make, case: Case) -> None:
    """5xx, 408, 499, other 3xx, a page, no answer, or none whose head is whole: `unknown`, and not repeated."""
    check(make(), case)


@pytest.mark.parametrize(
    ("failpoint", "committed"),
    [("after-append:1:kill", 0), ("before-send:1:kill", 0), ("after-send:1:kill", 1), ("before-append:2:kill", 1)],
)
def test_a_service_that_falls_as_the_program_dies_leaves_it_open(make: Make, failpoint: str, committed: int) -> None:
    """Killed after the intent, before or after the call, a 201 not yet recorded among them: a person has to settle."""
    with make() as falling:
        falling.api.falls.append(Fall(Moment.ANSWERED))
        assert -signal.SIGKILL == falling.apply(failpoint=failpoint).code
        assert [Status.PENDING] == [attempt.status for attempt in falling.scene.attempts()]
        assert committed == len(falling.scene.sandbox.world.commits)
        assert 1 == falling.recover()


TOLD_LATE = Fall(Moment.DONE, back=True)


@pytest.mark.parametrize(
    ("falls", "outcomes", "committed"),
    [
        ([TOLD_LATE] * 3, ["skipped"] * 2 + ["unknown"] * 3, 3),
        pytest.param(
            [TOLD_LATE] * 2 + [Fall(Moment.DONE)], ["skipped"] * 2 + ["unknown"] * 3, 3, marks=pytest.mark.soak
        ),
        ([TOLD_LATE, Fall(Moment.DONE)], ["not_sent"] * 3 + ["unknown"] * 2, 2),
        ([TOLD_LATE, TOLD_LATE, Fall(Moment.ANSWERED, back=True)], ["created"] * 3 + ["unknown"] * 2, 5),
    ],
    ids=["three times", "and for good at the third", "and for good at the second", "and is well at the third"],
)
def test_a_service_that_falls_again_and_again_is_left_alone(
    make: Make, falls: list[Fall], outcomes: list[str], committed: int
) -> None:
    """Three unknown outcomes in a row: `skipped` for the rest; what was not sent is not among the three."""
    with make(count=5) as falling:
        falling.api.falls.extend(falls)
        done = falling.apply(failpoint=SOON)
        assert 3 == done.code, done
        assert outcomes == sorted(one["outcome"] for one in done.document["results"])
        assert committed == len(falling.scene.sandbox.world.commits)
        assert outcomes.count("unknown") == falling.recover()
