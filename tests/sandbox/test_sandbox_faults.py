"""Injected faults: what is created, and what the client sees."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from textwrap import dedent
from unittest.mock import Mock

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.notified import wait_until
from support.refusals import raised
from support.sandbox_client import STAGING, ask_token, call, create, get_token

from reconciler.cli.sandbox import serve
from reconciler.errors import SettingsError
from reconciler.http_messages import Response
from reconciler.sandbox import Sandbox, faults
from reconciler.sandbox.faults import FAULT_NAMES, FAULTS, FaultPlan


def test_names_are_documented() -> None:
    """Each fault stands in the table of the module's docstring."""
    documented = (faults.__doc__ or "").replace("400 …", "").replace(":", " ").replace(",", " ").split()
    assert set() == set(FAULTS) - set(documented) - {"400"}
    assert f"or for {faults.HANG_SECONDS:.0f} s" in str(faults.__doc__)


def test_names_in_the_help_are_those() -> None:
    """The help of `sandbox serve` names each fault, and no other."""
    listed = dedent((serve.help or "").partition("from 0 to 1:\n")[2]).splitlines()
    rows = [line for line in listed if not line.startswith(" ")]  # the others continue one
    named = {word for row in rows for word in row.partition("  ")[0].replace(",", " ").split()}
    assert named == {*FAULTS, "token-NAME", "lead-NAME"}


@pytest.mark.parametrize(("name", "status", "created"), [("lead-500", 500, 0), ("lead-500-after", 500, 1)])
def test_fault_of_a_lead(sandbox: Sandbox, name: str, status: int, created: int) -> None:
    """A lead to the target of a fault meets it if it has its own prefix; creates do not."""
    sandbox.world.fail_next(name, target=STAGING)
    bearer = {"authorization": f"Bearer {get_token(sandbox, api_name='onboarding')}", "accept": "application/json"}
    url = f"{sandbox.world.targets[STAGING].base_url}/onboarding/leads"
    assert (status, created) == (call("POST", url, {}, bearer).status, len(sandbox.world.leads))


@pytest.mark.parametrize(("name", "status", "created"), [
    *((str(status), status, 0) for status in (400, 401, 403, 404, 408, 409, 422, 429, 499, 500, 503)),
    ("429-retry-after", 429, 0), ("429-forever", 429, 0), ("401-once", 401, 0), ("html-200", 200, 0),
    ("redirect", 307, 0), ("redirect-303", 303, 0), ("500-after", 500, 1), ("502-after", 502, 1), ("html", 502, 1),
    ("empty", 201, 1), ("huge", 201, 1),
])  # fmt: skip
def test_fault_with_an_answer(sandbox: Sandbox, name: str, status: int, created: int) -> None:
    """The client sees the status once; what is created is what the name says, and so are the headers."""
    sandbox.world.fail_next(name)
    answer, kind = create(sandbox), "text/html; charset=utf-8" if "html" in name else "application/json"
    headers = {"429-retry-after": ("1", None), "429-forever": ("99999999", None)}
    assert (status, kind) == (answer.status, answer.headers["content-type"])
    assert headers.get(name, (None, "/elsewhere" if "redirect" in name else None)) == (
        answer.headers.get("retry-after"), answer.headers.get("location"),
    )  # fmt: skip
    if status >= 400 and not created:
        assert "sandbox_fault" == answer.document["error"]
    assert created == len(sandbox.world.subscriptions())
    assert 201 == create(sandbox).status


def test_what_becomes_of_the_answer() -> None:
    """It is sent in part with its headers; `empty` has no body, `huge` has 32 MiB of white space after it."""
    answer = Response(201, b"{}", (("A", "b"),))
    spoiled = [FAULTS[name].spoil(answer) for name in ("half", "drip", "empty", "huge")]
    assert [(201, answer.headers)] * 4 == [(each.status, each.headers) for each in spoiled]
    sizes = [(b"{}", 2), (b"{}", 2), (b"", 0), (b"{}", 2 + (1 << 25))]
    assert sizes == [(each.body.rstrip(b" "), len(each.body)) for each in spoiled]


@pytest.mark.parametrize(("name", "created"), [
    ("reset-before", 0), ("reset-after", 1), ("half", 1), ("hang", 0), ("hang-after", 1), ("drip", 1),
])  # fmt: skip
def test_no_answer(sandbox: Sandbox, name: str, created: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection ends in a reset, also after half of an answer, or the client waits in vain until it ends it."""
    monkeypatch.setattr(faults, "DRIP_INTERVAL", 0.15)
    token, is_reset = get_token(sandbox), name in ("reset-before", "reset-after", "half")
    sandbox.world.fail_next(name)
    with pytest.raises(ConnectionResetError if is_reset else TimeoutError):
        create(sandbox, token, timeout=10 if is_reset else 0.1)
    assert created == len(sandbox.world.subscriptions())


@pytest.mark.parametrize(("manner", "sent", "waits"), [
    ("RESET", b"", []), ("HANG", b"", [300.0]), ("DRIP", b"headbody", [1.0] * 8), ("HALF", b"headbo", []),
])  # fmt: skip
def test_what_is_sent_back(manner: str, sent: bytes, waits: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing, or a part of it, or all of it byte by byte, whatever else is sent; then the connection is closed."""
    is_gone = faults._is_gone
    monkeypatch.setattr(faults, "_is_gone", waiting := Mock(side_effect=lambda it, _: is_gone(it, 0.001)))
    ours, client = socket.socketpair()
    with client:
        client.sendall(b"more" * len(waits))
        faults.transmit(ours, b"head", faults.Spoiled(201, b"body", manner=faults.Manner[manner]))
        assert (sent, -1) == (b"".join(iter(lambda: client.recv(99), b"")), ours.fileno())
    assert waits == [call.args[1] for call in waiting.call_args_list]


def test_nothing_drips_to_who_is_gone() -> None:
    """A client that sends no more counts as gone."""
    ours, client = socket.socketpair()
    with client:
        client.shutdown(socket.SHUT_WR)
        faults.transmit(ours, b"head", faults.Spoiled(201, b"body", manner=faults.Manner.DRIP))
        assert b"" == client.recv(99)


def test_revoked_token() -> None:
    """`401-once` revokes the token: the old one stays invalid, the next one is good, and exempt from this alone."""
    with Sandbox(faults={"401-once": 1.0}) as other:
        token = get_token(other)
        assert [401] * 2 == [create(other, token, headers={"authorization": f"bEARER {token}"}).status for _ in "12"]
        assert 201 == create(other, get_token(other)).status
        assert 401 == create(other, get_token(other, "europe/production"), name="europe/production").status
        assert 3 == call("GET", f"{other.url}/_sandbox/state").document["tokens"]
    plan = FaultPlan({"401-once": 0.5, "500": 0.5}, 1)
    assert {None, FAULTS["500"]} == {plan.draw("create", (), spared=True) for _ in range(50)}


@pytest.mark.parametrize(
    ("name", "status", "issued"), [("token-429", 429, 0), ("token-html-200", 200, 0), ("token-500-after", 500, 1)]
)
def test_token_faults(sandbox: Sandbox, name: str, status: int, issued: int) -> None:
    """The token endpoint has its own faults, which no create meets."""
    sandbox.world.fail_next(name)
    assert (status, issued) == (ask_token(sandbox).status, len(sandbox.world.tokens))
    assert 201 == create(sandbox).status


def test_a_fault_meets_a_request_that_is_refused_otherwise(sandbox: Sandbox) -> None:
    """A rehearsal with wrong credentials meets it too, and it does not wait; one after the creation hides nothing."""
    sandbox.world.fail_next("500-after")
    assert 400 == create(sandbox, body={}).status
    for name in ("429", "token-429", "lead-429"):
        sandbox.world.fail_next(name)
    target = sandbox.world.targets[STAGING]
    urls = [f"{target.base_url}/{path}" for path in ("onboarding/leads", "notification/webhooksubscription")]
    for statuses in ([429] * 3, [401, 401, 400]):
        answers = [call("POST", url, b"{") for url in (*urls, f"{target.provider.auth_url}/oauth/token")]
        assert statuses == [answer.status for answer in answers]


def test_fault_of_one_target(sandbox: Sandbox) -> None:
    """Scripted faults wait for a request to their target, or to its identity provider, each as often as is said."""
    sandbox.world.fail_next("409", target="usa/production")
    for name, count in (("503", 2), ("500", 1)):
        sandbox.world.fail_next(name, count, target="usa/staging")
    names = (STAGING, *["usa/staging"] * 4, "usa/production")
    assert [201, 503, 503, 500, 201, 409] == [create(sandbox, name=name).status for name in names]
    sandbox.world.fail_next("token-503", target="usa/staging")
    assert [200, 503, 200] == [ask_token(sandbox, name).status for name in ("usa/production", STAGING, STAGING)]


@pytest.mark.parametrize(("probabilities", "message"), [
    ({"nonsense": 0.5}, "unknown-fault"), ({"token-401-once": 0.5}, "unknown-fault"),
    ({"token-late": 0.5}, "unknown-fault"), ({"500": -0.1}, "bad-probability"),
    ({"token-500": float("nan")}, "bad-probability"), ({"500": 0.6, "503": 0.6}, "bad-probability"),
])  # fmt: skip
def test_bad_probabilities(probabilities: dict[str, float], message: str, tmp_path: Path) -> None:
    """Unknown names and impossible probabilities are refused, before anything is stored."""
    found = raised(SettingsError, Sandbox, faults=probabilities, directory=tmp_path / "data")
    assert [] == [*tmp_path.iterdir()]
    assert (message, ", ".join(probabilities), 2 - len(probabilities)) == (found.name, found.where, len(found.steps))


@given(st.integers(), st.dictionaries(st.sampled_from(FAULT_NAMES), st.floats(0, 0.01), max_size=9))
@settings(max_examples=30)
@example(7, {"500": 0.5, "403": 0.5, "503": 0.0})
def test_one_seed_is_one_sequence(seed: int, probabilities: dict[str, float]) -> None:
    """Two plans of one seed draw the same, in whatever order faults are given, and whatever another endpoint draws."""
    one, other = FaultPlan(probabilities, seed), FaultPlan(dict(reversed(probabilities.items())), seed)
    drawn = [one.draw("create", ()) for _ in range(50)]
    for fault in drawn:
        other.draw("token", ())
        assert fault is other.draw("create", ())


def test_each_endpoint_has_its_own_sequence() -> None:
    """A fault of the token is no sign of one of the create."""
    plan = FaultPlan({"500": 0.5, "token-500": 0.5, "lead-500": 0.5}, 1)
    assert 3 == len({tuple(plan.draw(kind, ()) is None for _ in range(50)) for kind in ("create", "token", "lead")})


def test_probability_is_kept() -> None:
    """Of a thousand requests, about one in ten meets a fault of 0.1, and each one where they add up to 1."""
    plan = FaultPlan({"500": 0.1, "token-400": 0.05, "token-401": 0.8, "token-403": 0.05, "token-500": 0.1}, 1)
    assert 60 < sum(plan.draw("create", ()) is not None for _ in range(1000)) < 140
    assert None not in [plan.draw("token", ()) for _ in range(1000)]


def test_stop_ends_what_hangs() -> None:
    """A sandbox stops though a client waits for an answer, which then sees its connection end."""
    with ThreadPoolExecutor() as pool:
        with Sandbox() as sandbox:
            sandbox.world.fail_next("hang")
            answer = pool.submit(create, sandbox)
            assert wait_until(lambda: sandbox.world.requests["create", STAGING] > 0)
        with pytest.raises(ConnectionError):
            answer.result()
