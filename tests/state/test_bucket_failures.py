"""An object store that is away, slow, full of other people's rules, or not there; and answers lost on the way."""

from __future__ import annotations

import re
import socket
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from support.journal_samples import TARGET, entries, imported, journal, journal_bytes
from support.object_servers import AZURITE_KEY, S3_SECRET, ObjectServer, s3_environment
from support.ports import free_port
from support.prompt_server import PromptServer
from support.tcp_proxy import Proxy
from werkzeug import Request, Response

from reconciler.errors import HeadMoved, StateError, StoreUnavailable
from reconciler.state.journal.chain import link, parse
from reconciler.state.stores.objects import client
from reconciler.state.stores.objects.objects import BucketStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LINES = link(journal(2).head, 2, [imported("a3")])[0]


def opened(server: ObjectServer, spec: str = "", **variables: str) -> BucketStore:
    """A store, as the program opens it."""
    store = server.open(spec, **variables)
    assert isinstance(store, BucketStore)
    return store


@pytest.fixture
def begun(s3: ObjectServer) -> ObjectServer:
    """An S3 with a journal of two entries."""
    s3.open().append(TARGET, None, 1, journal_bytes(entries(2)), "begin")
    return s3


def through(server: ObjectServer, port: int) -> BucketStore:
    """The store by way of another port."""
    return opened(server, **s3_environment(port))


# On the way


@pytest.mark.parametrize(
    "mishaps",
    [["lose-answer"], ["lose-request"], ["lose-request", "lose-answer"], ["hold-request"], ["lose-request"] * 3],
)
def test_an_append_survives_what_is_lost_on_the_way(begun: ObjectServer, mishaps: list[str]) -> None:
    """It is sent again if it is not there, and found if it is; what arrives late does no harm."""
    with Proxy(begun.port, b"PUT ") as proxy:
        proxy.mishaps = [*mishaps]  # type: ignore[list-item]
        store = through(begun, proxy.port)
        store.append(TARGET, journal(2).head, 3, LINES, "append")
        assert [] == proxy.mishaps
        proxy.release()
    assert journal_bytes(entries(3)) == begun.open().read(TARGET)


def test_an_answer_that_never_comes(begun: ObjectServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a while the store is asked what is there."""
    monkeypatch.setattr(client, "_REQUEST", timedelta(seconds=0.3))
    with Proxy(begun.port, b"PUT ") as proxy:
        proxy.mishaps = ["silence"]
        through(begun, proxy.port).append(TARGET, journal(2).head, 3, LINES, "append")
    assert journal_bytes(entries(3)) == begun.open().read(TARGET)


def test_an_append_whose_answer_is_lost_to_somebody_faster(begun: ObjectServer) -> None:
    """The request is lost, another run appends, and then it is sent again: a conflict, and nothing of it is left."""
    other = link(journal(2).head, 2, [imported("b3")])[0]
    with Proxy(begun.port, b"PUT ") as proxy:
        proxy.mishaps = ["lose-request"]
        proxy.meanwhile = lambda: begun.open().append(TARGET, journal(2).head, 3, other, "faster")
        with pytest.raises(HeadMoved):
            through(begun, proxy.port).append(TARGET, journal(2).head, 3, LINES, "append")
    assert journal_bytes(entries(2)) + other == begun.open().read(TARGET)


# Away, or slow


def test_away(s3: ObjectServer) -> None:
    """Nobody listens."""
    store = through(s3, free_port())
    for act in (lambda: store.read(TARGET), store.targets, store.prepare, append_to(store)):
        with pytest.raises(StoreUnavailable, match="cannot connect to the object store"):
            act()


def append_to(store: BucketStore) -> Callable[[], object]:
    """An append for a head that it has to look for."""
    return lambda: store.append(TARGET, journal(2).head, 3, LINES, "append")


@pytest.fixture
def silent() -> Iterator[int]:
    """The port of something that takes connections, and says nothing."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as server:
        yield server.getsockname()[1]


def test_silence(silent: int, s3: ObjectServer) -> None:
    """A call ends when its time is over, and the next one sooner: an apply makes several, and must end."""
    store = through(s3, silent)
    store._patience = 0.2
    with pytest.raises(StoreUnavailable, match="did not answer in time"):
        store.read(TARGET)
    assert 5.0 == store._patience
    for act in (store.targets, append_to(store)):
        store._patience = 0.2
        with pytest.raises(StoreUnavailable, match="did not answer in time"):
            act()


def test_patience_comes_back(begun: ObjectServer) -> None:
    """After a call that was answered."""
    store = opened(begun)
    store._patience = 5.0
    store.read(TARGET)
    assert 30.0 == store._patience


# What is not allowed, or not there


ACCESS_DENIED = "<Error><Code>AccessDenied</Code><Message>hunter2 may not</Message></Error>"
EMPTY = "<ListBucketResult><Name>records</Name><IsTruncated>false</IsTruncated></ListBucketResult>"


@pytest.fixture
def read_only(s3: ObjectServer) -> Iterator[tuple[ObjectServer, list[str]]]:
    """An S3 that may be read, and is empty; and what was sent to it to be written."""
    written: list[str] = []

    def answer(request: Request) -> Response:
        if request.method == "PUT":
            written.append(request.path)
            return Response(ACCESS_DENIED, 403)
        if "list-type" in request.args:
            return Response(EMPTY, 200)
        return Response("<Error><Code>NoSuchKey</Code></Error>", 404)

    server = PromptServer(host="127.0.0.1", port=0, threaded=True)
    server.expect_request(re.compile("/.*")).respond_with_handler(answer)
    server.start()
    yield ObjectServer("s3", server.port, s3_environment(server.port)), written
    server.stop()


def test_read_only(read_only: tuple[ObjectServer, list[str]]) -> None:
    """It is read; an append is refused, after one request, and the message says what is missing."""
    server, written = read_only
    store = opened(server)
    assert (None, []) == (store.read(TARGET), store.targets())
    with pytest.raises(StoreUnavailable, match=r"access denied \(403 AccessDenied\); check the credentials") as caught:
        store.append(TARGET, None, 1, journal_bytes(entries(2)), "begin")
    assert 1 == len(written)
    assert "hunter2" not in str(caught.value)
    with pytest.raises(StoreUnavailable, match="access denied"):
        store.prepare()


def test_wrong_credentials(azure: ObjectServer) -> None:
    """They are refused, and not shown."""
    store = opened(azure, AZURE_STORAGE_ACCOUNT_KEY="aHVudGVyMi9odW50ZXIy")
    for act in (lambda: store.read(TARGET), store.targets, append_to(store), store.prepare):
        with pytest.raises(StoreUnavailable, match="access denied") as caught:
            act()
        assert not any(secret in repr(caught.value) for secret in ("aHVudGVyMi", AZURITE_KEY, "Signature"))


@pytest.mark.parametrize("spec", ["s3://nowhere/x", "az://nowhere/x"])
def test_no_bucket(spec: str, s3: ObjectServer, azure: ObjectServer) -> None:
    """It is not an empty one: a mistyped name must not look like a record that was never begun."""
    store = opened(s3 if spec.startswith("s3") else azure, spec)
    begin = lambda: store.append(TARGET, None, 1, journal_bytes(entries(1)), "begin")  # noqa: E731
    for act in (lambda: store.read(TARGET), store.targets, append_to(store), begin, store.prepare):
        with pytest.raises(StoreUnavailable, match="the bucket does not exist; create it, or check --state") as caught:
            act()
        assert "nowhere" in str(caught.value.where)


def test_no_secret_in_what_is_raised(s3: ObjectServer) -> None:
    """Not even where the library quotes the request."""
    store = opened(s3, "s3://nowhere/x")
    with pytest.raises(StateError) as caught:
        store.read(TARGET)
    assert S3_SECRET not in f"{caught.value!r} {caught.value.__cause__!r}"
    assert caught.value.__suppress_context__


# Many entries


def test_ten_thousand_entries(s3: ObjectServer) -> None:
    """Written in a hundred appends, and read by others in two large requests and a few small ones."""
    told = entries(10_000)
    store, head = opened(s3), None
    for number in range(0, 10_000, 100):
        lines, after = link(head, number, told[number : number + 100])
        store.append(TARGET, head, number + 1, lines, "fill")
        head = after
    other = opened(s3)
    data = other.read(TARGET)
    assert data is not None
    assert (head, 10_000) == ((found := parse(data, TARGET, "s3")).head, len(found.lines))
    assert 100 - 65 == other._known[TARGET].loose
