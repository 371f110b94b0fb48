"""What goes wrong when it is told to: what is committed, and what the client sees."""

from __future__ import annotations

import socket
import time
from http.client import HTTPConnection, IncompleteRead
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sandbox_client import STAGING, WANTED, ask_token, call, create, create_url, get_token

from reconciler.errors import SettingsError
from reconciler.sandbox import Sandbox, wire
from reconciler.sandbox.faults import FAULT_NAMES, FAULTS, FaultPlan, Kind, Stage

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCUMENTED = {
    "refuse", "reset-before", "reset-after", "hang", "hang-after", "drip", "half", "400", "401", "401-once", "403",
    "404", "408", "409", "422", "429", "429-retry-after", "429-forever", "499", "500", "503", "500-after", "502-after",
    "html", "html-200", "empty", "huge", "redirect", "redirect-303",
}  # fmt: skip


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    """A sandbox of the four documented targets that serves."""
    with Sandbox() as one:
        yield one
    assert one.world.failures == []


def test_all_faults_have_their_names() -> None:
    """The table holds the names that are documented; token requests have all but the one about tokens in use."""
    assert set(FAULTS) == DOCUMENTED
    assert {f"token-{name}" for name in DOCUMENTED - {"401-once"}} == set(FAULT_NAMES) - DOCUMENTED


@pytest.mark.parametrize(
    ("name", "status", "commits"),
    [
        *((name, int(name), 0) for name in ("400", "401", "403", "404", "408", "409", "422", "429", "499")),
        ("500", 500, 0),
        ("503", 503, 0),
        ("429-retry-after", 429, 0),
        ("429-forever", 429, 0),
        ("401-once", 401, 0),
        ("html-200", 200, 0),
        ("redirect", 307, 0),
        ("redirect-303", 303, 0),
        ("500-after", 500, 1),
        ("502-after", 502, 1),
        ("html", 502, 1),
        ("empty", 201, 1),
        ("huge", 201, 1),
    ],
)
def test_fault_with_an_answer(sandbox: Sandbox, name: str, status: int, commits: int) -> None:
    """The client sees the status that was told, once; what is committed is what the name says."""
    sandbox.world.fail_next(name)

    assert status == create(sandbox).status
    assert commits == len(sandbox.world.commits)
    assert create(sandbox).status == 201


@pytest.mark.parametrize(
    ("name", "header", "value"),
    [
        ("429", "retry-after", None),
        ("429-retry-after", "retry-after", "1"),
        ("429-forever", "retry-after", "99999999"),
        ("redirect", "location", "/elsewhere"),
        ("redirect-303", "location", "/elsewhere"),
        ("html", "content-type", "text/html; charset=utf-8"),
        ("html-200", "content-type", "text/html; charset=utf-8"),
    ],
)
def test_fault_with_a_header(sandbox: Sandbox, name: str, header: str, value: str | None) -> None:
    """Retry-After, Location and Content-Type are what the name says."""
    sandbox.world.fail_next(name)

    assert value == create(sandbox).headers.get(header)


def test_empty_and_huge_bodies(sandbox: Sandbox) -> None:
    """`empty` has no body at all; `huge` is 100 MB, and still the answer."""
    token = get_token(sandbox)
    sandbox.world.fail_next("empty")
    sandbox.world.fail_next("huge")

    assert create(sandbox, token).body == b""
    huge = create(sandbox, token)
    assert len(huge.body) == 100_000_000
    assert sandbox.world.commits[1].id == huge.document["subscriptionId"]


@pytest.mark.parametrize(("name", "commits"), [("refuse", 0), ("reset-before", 0), ("reset-after", 1)])
def test_reset_is_a_reset(sandbox: Sandbox, name: str, commits: int) -> None:
    """The client gets an RST, not an orderly end, and no byte of an answer."""
    token = get_token(sandbox)
    sandbox.world.fail_next(name)

    with pytest.raises(ConnectionResetError) as raised:
        create(sandbox, token)
    assert ConnectionResetError is raised.type
    assert commits == len(sandbox.world.commits)


def test_refuse_does_not_wait_for_the_body(sandbox: Sandbox) -> None:
    """`refuse` comes before the body is read, `reset-before` only once it is."""
    for name, waits in (("refuse", False), ("reset-before", True)):
        sandbox.world.fail_next(name)
        with socket.create_connection(("127.0.0.1", urlsplit(sandbox.url).port or 0)) as client:
            client.settimeout(0.3)
            client.sendall(f"POST {urlsplit(create_url(sandbox)).path} HTTP/1.1\r\nContent-Length: 9\r\n\r\n".encode())
            with pytest.raises(TimeoutError if waits else ConnectionResetError):
                client.recv(1)


def test_hang_swallows_what_else_is_sent(sandbox: Sandbox) -> None:
    """A second request on a connection that hangs is not answered either."""
    sandbox.world.fail_next("hang")
    request = f"POST {urlsplit(create_url(sandbox)).path} HTTP/1.1\r\nContent-Length: 2\r\n\r\n{{}}".encode()
    with socket.create_connection(("127.0.0.1", urlsplit(sandbox.url).port or 0)) as client:
        client.settimeout(0.2)
        client.sendall(request)
        with pytest.raises(TimeoutError):
            client.recv(1)
        client.sendall(request)
        with pytest.raises(TimeoutError):
            client.recv(1)
    assert sandbox.world.requests["create", STAGING] == 1


@pytest.mark.parametrize(("name", "commits"), [("hang", 0), ("hang-after", 1)])
def test_hang_never_answers(sandbox: Sandbox, name: str, commits: int) -> None:
    """The client waits until its patience ends; the next request is served all the same."""
    token = get_token(sandbox)
    sandbox.world.fail_next(name)

    with pytest.raises(TimeoutError):
        create(sandbox, token, timeout=0.3)
    assert commits == len(sandbox.world.commits)
    assert create(sandbox, token).status == 201


def test_hang_ends_at_last(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that never goes is let go of after some time, without an answer."""
    monkeypatch.setattr(wire, "HANG_SECONDS", 0.1)
    token = get_token(sandbox)
    sandbox.world.fail_next("hang")

    with pytest.raises(ConnectionError):
        create(sandbox, token)


def test_drip_is_a_byte_a_second(sandbox: Sandbox) -> None:
    """Of the answer to what was committed, two bytes take two seconds, and no more have come by then."""
    token = get_token(sandbox)
    sandbox.world.fail_next("drip")
    parts = urlsplit(create_url(sandbox))
    started = time.monotonic()
    with socket.create_connection(("127.0.0.1", parts.port or 0)) as client:
        body = b'{"eventCodes": ["ONB10001"], "webhookUrl": "https://hooks.partner.example/"}'
        head = f"POST {parts.path} HTTP/1.1\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"
        client.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)

        assert [client.recv(100), client.recv(100)] == [b"H", b"T"]
        assert 1.9 < time.monotonic() - started < 6
        assert len(sandbox.world.commits) == 1


def test_drip_comes_whole_in_the_end(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits gets the whole answer."""
    monkeypatch.setattr(wire, "DRIP_INTERVAL", 0.001)
    sandbox.world.fail_next("drip")

    assert sandbox.world.commits == []
    assert create(sandbox).document["subscriptionId"] == sandbox.world.commits[0].id


def test_half_breaks_off_in_the_body(sandbox: Sandbox) -> None:
    """Status line and headers arrive, then half of what Content-Length promised."""
    token = get_token(sandbox)
    sandbox.world.fail_next("half")
    parts = urlsplit(create_url(sandbox))
    connection = HTTPConnection("127.0.0.1", parts.port, timeout=5)
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    body = b'{"eventCodes": ["ONB10001"], "webhookUrl": "https://hooks.partner.example/"}'
    connection.request("POST", parts.path, body, headers)
    with connection.getresponse() as response:
        promised = int(response.headers["content-length"])
        received = response.read1(promised)

        assert (201, promised // 2) == (response.status, len(received))
        with pytest.raises((ConnectionResetError, IncompleteRead)):
            response.read()
    connection.close()
    assert len(sandbox.world.commits) == 1


def test_renewed_token_is_spared(sandbox: Sandbox) -> None:
    """401-once kills the token it meets; where it comes by chance, the one that replaces it is left alone."""
    with Sandbox(faults={"401-once": 1.0}) as failing:
        dead, other = get_token(failing), get_token(failing)
        assert [create(failing, dead).status, create(failing, dead).status] == [401, 401]
        renewed = get_token(failing)
        assert [create(failing, renewed).status, create(failing, renewed).status] == [201, 201]
        assert create(failing, other).status == 401


def test_scripted_401_once_spares_nobody(sandbox: Sandbox) -> None:
    """A script is carried out, whatever token it meets."""
    for _ in range(2):
        token = get_token(sandbox)
        sandbox.world.fail_next("401-once")
        assert [create(sandbox, token).status, create(sandbox, token).status] == [401, 401]


def test_wrong_request_is_refused_before_it_could_be_committed(sandbox: Sandbox) -> None:
    """A fault after the commit does not befall what is never committed; one before it befalls anything."""
    sandbox.world.fail_next("500-after")
    assert create(sandbox, body={}).status == 400
    sandbox.world.fail_next("503")
    assert create(sandbox, body={}).status == 503


def test_script_keeps_count_order_and_target(sandbox: Sandbox) -> None:
    """Scripted faults come as often as told, in their order, and to their target only."""
    token = get_token(sandbox)
    sandbox.world.fail_next("503", count=2)
    sandbox.world.fail_next("404", target="usa/staging")
    sandbox.world.fail_next("409")

    assert [create(sandbox, token).status for _ in range(4)] == [503, 503, 409, 201]
    assert [create(sandbox, token, name="usa/staging").status for _ in range(2)] == [404, 201]


def test_script_goes_before_chance() -> None:
    """What was scripted happens first, even where chance leaves no choice."""
    with Sandbox(faults={"503": 1.0}) as failing:
        failing.world.fail_next("409")

        assert [create(failing).status for _ in range(3)] == [409, 503, 503]


@pytest.mark.parametrize(
    ("name", "status", "issued"),
    [("token-503", 503, 0), ("token-401", 401, 0), ("token-500-after", 500, 1), ("token-empty", 200, 1)],
)
def test_fault_of_the_token_endpoint(sandbox: Sandbox, name: str, status: int, issued: int) -> None:
    """With `token-` before it, a fault befalls the token endpoint and leaves creates alone."""
    token = get_token(sandbox)
    sandbox.world.fail_next(name, target="usa/staging")

    assert create(sandbox, token).status == 201
    assert status == ask_token(sandbox, STAGING).status
    assert 1 + issued == len(sandbox.world.tokens)
    assert ask_token(sandbox, STAGING).status == 200


def test_token_endpoint_can_be_reset(sandbox: Sandbox) -> None:
    """The token endpoint resets connections too, another provider's does not."""
    sandbox.world.fail_next("token-reset-before", target="usa/production")

    assert ask_token(sandbox).status == 200
    with pytest.raises(ConnectionResetError):
        ask_token(sandbox, "usa/production")


def _statuses(seed: int) -> list[int]:
    with Sandbox(faults={"503": 0.3, "409": 0.3, "token-500": 0.5}, seed=seed) as failing:
        token = failing.world.issue_token(
            failing.world.targets[STAGING].provider, "partner", failing.world.targets[STAGING].audience("notification")
        )
        return [
            call("POST", create_url(failing), WANTED, {"authorization": f"Bearer {token}"}).status for _ in range(20)
        ]


def test_seed_repeats_what_happens() -> None:
    """The same seed gives the same faults in the same order, another one others."""
    assert _statuses(7) == _statuses(7)
    assert _statuses(7) != _statuses(8)
    assert {201, 409, 503} == set(_statuses(7))


def test_draws_of_one_kind_do_not_disturb_the_other() -> None:
    """How many tokens are asked for makes no difference to what creates meet."""
    odds = {"503": 0.5, "token-500": 0.5}
    alone, mixed = FaultPlan(odds, seed=3), FaultPlan(odds, seed=3)
    expected = [alone.draw(Kind.CREATE, ()) for _ in range(20)]
    actual = [(mixed.draw(Kind.TOKEN, ()), mixed.draw(Kind.CREATE, ()))[1] for _ in range(20)]

    assert expected == actual


@settings(max_examples=30, deadline=None)
@given(name=st.sampled_from(sorted(FAULTS)), probability=st.sampled_from([0.0, 0.25, 1.0]), seed=st.integers())
def test_probability_is_how_often_it_happens(name: str, probability: float, seed: int) -> None:
    """Never at 0, always at 1, and about a quarter of the time at 0.25."""
    plan = FaultPlan({name: probability}, seed)
    happened = sum(plan.draw(Kind.CREATE, ()) is FAULTS[name] for _ in range(400))

    assert abs(happened - 400 * probability) <= (0 if probability in (0, 1) else 70)


def test_probabilities_may_come_to_exactly_one() -> None:
    """Ten faults at a tenth each are no more than certain; something happens each time."""
    names = sorted(FAULTS)[:10]
    plan = FaultPlan(dict.fromkeys(names, 0.1), seed=1)

    assert all(plan.draw(Kind.CREATE, ()) is not None for _ in range(1000))


@pytest.mark.parametrize(
    ("faults", "part"),
    [
        ({"explode": 0.5}, "unknown fault; valid faults: refuse, "),
        ({"token-401-once": 0.5}, "token-401-once: unknown fault"),
        ({"500": -0.1}, "500: not a probability: -0.1"),
        ({"500": 1.1}, "500: not a probability: 1.1"),
        ({"500": float("nan")}, "500: not a probability: nan"),
        ({"500": 0.6, "503": 0.5}, "500, 503: the fault probabilities of create requests"),
        ({"token-500": 0.6, "token-503": 0.5}, "500, 503: the fault probabilities of token requests"),
    ],
)
def test_impossible_faults_are_refused(faults: dict[str, float], part: str) -> None:
    """An unknown name (with the known ones), no probability, or more than certainty: an error, and no server."""
    with pytest.raises(SettingsError) as raised:
        Sandbox(faults=faults)
    assert part in str(raised.value)


def test_impossible_scripts_are_refused(sandbox: Sandbox) -> None:
    """A script names a known fault, and a count of at least 1."""
    with pytest.raises(SettingsError, match="unknown fault"):
        sandbox.world.fail_next("explode")
    with pytest.raises(SettingsError, match="invalid count 0"):
        sandbox.world.fail_next("500", count=0)


def test_stages_are_what_the_names_say() -> None:
    """Only what is documented as committed is."""
    committed = {name for name, fault in FAULTS.items() if fault.stage is Stage.COMMITTED}

    assert {
        "reset-after",
        "hang-after",
        "drip",
        "half",
        "500-after",
        "502-after",
        "html",
        "empty",
        "huge",
    } == committed
