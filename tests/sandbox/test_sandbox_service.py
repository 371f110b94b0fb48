"""The service's endpoints: what they answer, and what they refuse."""

from __future__ import annotations

import base64
import json
import os
import secrets
import stat
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.late_locks import during_the_wait
from support.notified import wait_until
from support.refusals import raised
from support.sandbox_client import STAGING, WANTED, ask_token, call, create, get_token

from reconciler.errors import SettingsError
from reconciler.http_messages import Request, Response
from reconciler.sandbox import Sandbox, world
from reconciler.sandbox.endpoints import Service
from reconciler.sandbox.events import Removed, Subscription
from reconciler.sandbox.faults import FaultPlan
from reconciler.sandbox.layout import DOCUMENTED_TARGETS, lay_out
from reconciler.sandbox.world import Memory, World

# The token endpoint.


def test_token_is_as_documented() -> None:
    """The answer has the three fields; the token is a JWT of that audience with the lifetime."""
    with Sandbox(token_lifetime=600) as sandbox:
        answer = ask_token(sandbox)
    assert ["no-store", "application/json"] == [answer.headers[name] for name in ("cache-control", "content-type")]
    assert 200 == answer.status
    token = answer.document["access_token"]
    assert {"access_token": token, "token_type": "Bearer", "expires_in": 600} == answer.document
    parts = token.split(".")[:2]
    head, claims = (json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))) for part in parts)
    assert {"alg": "HS256", "typ": "JWT"} == head
    assert {"iss", "sub", "aud", "iat", "exp", "jti"} == {*claims}
    assert 600 == claims["exp"] - claims["iat"]
    assert claims["aud"].endswith("/audience/staging/notification")


@pytest.mark.parametrize(("changes", "status", "error"), [
    *(({"grant_type": text}, 400, "unsupported_grant_type") for text in ("password", "client_credentials ")),
    ({"grant_type": None}, 400, "invalid_request"), ({"client_id": 7}, 400, "invalid_request"),
    ({"client_id": "nobody"}, 401, "invalid_client"), ({"client_secret": ""}, 400, "invalid_request"),
    ({"client_secret": "wrong"}, 401, "invalid_client"), ({"client_secret": "w\ud800"}, 401, "invalid_client"),
    ({"audience": "https://elsewhere.example/notification"}, 403, "access_denied"),
])  # fmt: skip
def test_refused(sandbox: Sandbox, changes: dict[str, Any], status: int, error: str) -> None:
    """Wrong, missing and odd parameters are refused as RFC 6749 has it."""
    answer = ask_token(sandbox, changes=changes)
    assert (status, error) == (answer.status, answer.document["error"])


def test_secret_of_another_client() -> None:
    """Each client has its own secret and provider, also where two share one; what it creates is its own."""
    with Sandbox(accounts={STAGING: ("one", "first"), "usa/staging": ("other", "second")}) as sandbox:
        answers = [ask_token(sandbox, STAGING, changes={"client_secret": text}) for text in ("first", "second")]
        variables = dict(sandbox.variables())
        create(sandbox, get_token(sandbox, "usa/staging"))
        production = sandbox.world.targets["europe/production"]
        strange = {"client_id": production.client_id, "client_secret": production.client_secret}
        answers.append(ask_token(sandbox, STAGING, changes=strange))
    assert ([200, 401, 401], "other") == ([answer.status for answer in answers], sandbox.world.created[0].account)
    assert "other" == variables["RECONCILER_USA_STAGING_CLIENT_ID"]


def test_staging_targets_share_a_provider(sandbox: Sandbox) -> None:
    """A token of Europe staging is good for USA staging, and not for production."""
    token = get_token(sandbox, "europe/staging")
    assert create(sandbox, token, name="usa/staging").status == 201
    assert create(sandbox, token, name="usa/production").status == 401


# Create subscription.


def test_answer(sandbox: Sandbox) -> None:
    """A 201 with what was sent, as it was sent, an id and a secret."""
    sent = {**WANTED, "eventCodes": ["ONB10001", "LOA10013", "ONB10001"]}
    answer = create(sandbox, body=sent)
    (created,) = sandbox.world.subscriptions()
    expected = {**sent, "subscriptionId": created.id, "secretKey": created.secret}
    assert (201, expected) == (answer.status, answer.document)
    assert (STAGING, sandbox.world.targets[STAGING].client_id) == (created.target, created.account)
    assert sent["eventCodes"] == [*created.codes]


@pytest.mark.parametrize("body", [
    {}, {**WANTED, "name": "x"}, [WANTED], b"", b'{"eventCodes": NaN}', b"[" * 100_000,
    json.dumps(WANTED).encode("utf-16"), *({**WANTED, "eventCodes": codes} for codes in (
        [], "ONB10001", ["ONB10001", "onb10001"], [10001], ["ONB100111"],
    )), *({**WANTED, "webhookUrl": url} for url in (
        "/relative", "ftp://a.example/", "https://a.example:0/", "https://[/", "https://a.example/a b",
        "https://a.example/ ", "https://a.example/\x7f", "https://:8443/",
    )),
], ids=range(20))  # fmt: skip
def test_bad_body(sandbox: Sandbox, body: object) -> None:
    """Anything but the two documented fields is a 400, and creates nothing."""
    answer = create(sandbox, body=body)
    assert (400, "invalid_request") == (answer.status, answer.document["error"])
    assert [] == sandbox.world.subscriptions()
    for scheme in ("http", "HTTP"):
        assert 201 == create(sandbox, body={**WANTED, "webhookUrl": f"{scheme}://a.example/"}).status


@pytest.mark.parametrize(("headers", "status"), [
    *(({"authorization": text}, 401) for text in ("", "Basic abc", "Bearers a", "Bearer ")),
    ({"authorization": "Bearer a.b.c"}, 401), ({"content-type": "text/plain"}, 415),
    ({"content-type": "text/plain; of=application/json"}, 415), ({"content-type": "text/plain, application/json"}, 415),
    ({"content-type": "Application/JSON; charset=utf-8"}, 201),
])  # fmt: skip
def test_bad_headers(sandbox: Sandbox, headers: dict[str, str], status: int) -> None:
    """A create needs a Bearer token, in a scheme of any case, and JSON."""
    answer = create(sandbox, headers={"authorization": f"bEARER  {get_token(sandbox)}", **headers})
    told = ' error="invalid_token"' if "a.b.c" in headers.get("authorization", "") else ""
    challenge = f"Bearer{told}" if status == 401 else None
    assert (status, challenge) == (answer.status, answer.headers.get("www-authenticate"))


def test_token_for_another_api(sandbox: Sandbox) -> None:
    """A token for leads creates no subscription; there is none for what is no API."""
    assert [403, 403] == [ask_token(sandbox, api_name=name).status for name in ("billing", "x/notification")]
    answer = create(sandbox, get_token(sandbox, api_name="onboarding"))
    assert (403, "insufficient_scope") == (answer.status, answer.document["error"])


def test_expired_token() -> None:
    """A token, in URL-safe letters, ends with its lifetime; one in place of a client's revoked one is spared."""
    now = 1000.5
    targets = lay_out("http://s", DOCUMENTED_TARGETS, {}, secrets.token_bytes)
    world = World(targets, FaultPlan({}), token_lifetime=60, clock=lambda: now)
    provider = targets[STAGING].provider
    texts = [world.issue_token(provider, client, api) for client in "ab" for api in "xy"]
    for text in (texts[0], texts[3], "never issued"):
        world.revoke_token(text)
    again = [world.issue_token(provider, client, api) for client in "ab" for api in "xy" for _ in range(2)]
    assert [True] * 2 + [False] * 4 + [True] * 2 == [world.tokens[text].spared for text in again]
    assert [] == [text for text in world.tokens if {*"+/="} & {*text}]
    known = (texts[0], again[0], "never issued")
    assert [False, True, False] == [world.find_token(text) is not None for text in known]
    now += 59.5
    assert [None] * 3 == [world.find_token(text) for text in known]


def test_lead(sandbox: Sandbox) -> None:
    """A lead is any JSON object, with a token for onboarding and `accept: application/json`."""
    url = f"{sandbox.world.targets['usa/staging'].base_url}/onboarding/leads"
    bearer = {"authorization": f"Bearer {get_token(sandbox, api_name='onboarding')}"}
    assert 406 == call("POST", url, {}, {**bearer, "accept": "*/*"}).status
    assert 400 == call("POST", url, b'{"Amount": NaN}', {**bearer, "accept": "application/json"}).status
    answer = call("POST", url, {"Amount": [1]}, {**bearer, "accept": "text/plain;q=0.5, application/json"})
    (lead,) = sandbox.world.leads
    assert (201, {"Amount": [1]}, "usa/staging") == (answer.status, lead.document, lead.target)
    assert sandbox.world.requests["lead", "usa/staging"] == 3


def test_other_paths_and_methods(sandbox: Sandbox) -> None:
    """What is not there is a 404; another method a 405 that names the right one."""
    for path in ("nothing", "_sandbox/state/", "_sandbox/State"):
        answer = call("GET", f"{sandbox.url}/{path}")
        assert (404, "not_found") == (answer.status, answer.document["error"])
    for method in ("GET", "HEAD", "PUT", "DELETE", "OPTIONS"):
        answer = call(method, f"{sandbox.world.targets[STAGING].base_url}/notification/webhooksubscription")
        assert (405, "POST") == (answer.status, answer.headers["allow"])
    assert 405 == call("POST", f"{sandbox.url}/_sandbox/state", {}).status


def test_body_without_a_length_is_refused(sandbox: Sandbox) -> None:
    """Framing that two parsers could read in two ways is a JSON 400."""
    headers = {"transfer-encoding": "identity", "authorization": f"Bearer {get_token(sandbox)}"}
    answer = create(sandbox, headers=headers)
    assert (400, "invalid_request") == (answer.status, answer.document["error"])
    problem = Response(413, b"too large\n")
    answered = Service(sandbox.world, sandbox.url).handle(Request(problem=problem))
    told = {"error": "invalid_request", "error_description": "too large"}
    assert (413, told) == (answered.status, json.loads(answered.body))


def test_defect_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the sandbox cannot do is in its state, so that it is not taken for a fault."""
    with Sandbox() as sandbox:
        monkeypatch.setattr(sandbox.world, "meet", lambda *_: 1 / 0)
        assert [500, 500] == [ask_token(sandbox).status for _ in range(2)]
        failures = call("GET", f"{sandbox.url}/_sandbox/state").document["failures"]
    assert [True, True] == ["ZeroDivisionError" in failure for failure in failures]


# What the operator of the service sees and does.


def test_state_and_removal(sandbox: Sandbox) -> None:
    """All that was created is shown, without secrets; one that was removed no longer exists."""
    answer = create(sandbox).document
    wanted = {"subscriptionId": answer["subscriptionId"]}
    values: list[object] = [None, 1, [], {}, [answer["subscriptionId"]], "", answer["subscriptionId"][:-1]]
    for other in [{}, *({"subscriptionId": value} for value in values)]:
        assert 404 == call("POST", f"{sandbox.url}/_sandbox/remove", other).status
    removed = [call("POST", f"{sandbox.url}/_sandbox/remove", wanted) for _ in range(2)]
    assert ([200, 404], "not_found") == ([each.status for each in removed], removed[1].document["error"])
    create(sandbox, name="europe/production")
    shown = [{"sequence": number, "at": created.at, "target": created.target, "subscriptionId": created.id, **WANTED,
              "removed": number == 1} for number, created in enumerate(sandbox.world.created, 1)]  # fmt: skip
    counts = {"create": {"europe/production": 1, STAGING: 1}, "token": {"europe-production": 1, "staging": 1}}
    others: dict[str, object] = {"tokens": 2, "leads": 0, "deliveries": [], "failures": []}
    state = {"subscriptions": shown, "requests": counts, **others}
    assert json.dumps(state).encode() == call("GET", f"{sandbox.url}/_sandbox/state").body


@pytest.mark.parametrize("event", [
    {}, {"code": "ONB100110"}, {"code": "ONB10011", "properties": []}, {"code": "ONB10011", "target": "asia/staging"},
    {"code": "ONB10011", "target": []}, {"code": "ONB10011", "count": 0}, {"code": "ONB10011", "count": 10_001},
    {"code": "ONB10011", "count": True}, {"code": "ONB10011", "extra": 1}, {"code": "ONB10011", "target": ""},
])  # fmt: skip
def test_bad_event(sandbox: Sandbox, event: dict[str, object]) -> None:
    """An event has a code, and perhaps properties, a target, of which all are told, and a count."""
    answer = call("POST", f"{sandbox.url}/_sandbox/trigger", event)
    assert (400, "target" in event) == (answer.status, all(name.encode() in answer.body for name in DOCUMENTED_TARGETS))


# The targets, their URLs and variables.


@pytest.mark.parametrize(("names", "message"), [
    ([], "no-targets"), (["europe"], "bad-target"), (["Europe/b"], "bad-target"), (["-a/b"], "bad-target"),
    (["a/b/c"], "bad-target"), (["a-b/c", "a/b-c"], "same-variables"),
])  # fmt: skip
def test_bad_names(names: list[str], message: str) -> None:
    """Names are `region/environment`, and each has variables of its own."""
    found = raised(SettingsError, Sandbox, 0, names)
    assert (message, names[-1:]) == (found.name, [found.where] if found.where else [])


def test_options() -> None:
    """Each reaches what it is for."""
    with closing(Sandbox()) as sandbox:
        names = ["europe/staging", "europe/production", "usa/staging", "usa/production"]
        assert (list(sandbox.world.targets), sandbox.world.token_lifetime) == (names, 86_400)
    accounts = {"usa/staging": ("me", "s3cret")}
    with closing(Sandbox(accounts=accounts, token_lifetime=5, retry_interval=2.5)) as sandbox:
        target, world = sandbox.world.targets["usa/staging"], sandbox.world
        assert (world.token_lifetime, world.retry_interval, sandbox._server._most) == (5, 2.5, 512)
        assert (target.client_id, target.client_secret) == ("me", "s3cret")


def test_urls() -> None:
    """Each target has a base URL of its own, with the id of the sandbox, and is printed without secrets."""
    targets = lay_out("http://127.0.0.1:1/abc", DOCUMENTED_TARGETS, {STAGING: ("me", "s3cret")}, bytes)
    assert "http://127.0.0.1:1/abc/europe-staging" == targets["europe/staging"].base_url
    assert 4 == len({target.base_url for target in targets.values()})
    assert [] == [text for text in ("key=", "s3cret") if text in repr(targets[STAGING])]


@given(
    st.lists(st.sampled_from([*DOCUMENTED_TARGETS, "europe/x-staging", "usa/x-staging"]), min_size=1, unique=True),
    st.sets(st.sampled_from(DOCUMENTED_TARGETS)),
)
def test_accounts(names: list[str], known: set[str]) -> None:
    """Each provider has accounts of its own; what has none is given one that its provider has, or a new one."""
    accounts = {name: (f"id-{name}", f"secret-{name}") for name in known}
    targets = lay_out("http://s", names, accounts, secrets.token_bytes)
    own = {name: (target.client_id, target.client_secret) for name, target in targets.items()}
    assert names == list(own)
    assert {name: own[name] for name in names if name in known} == {n: accounts[n] for n in names if n in known}
    for name, target in targets.items():
        shared = [accounts[other] for other in target.provider.targets if other in known and other in names]
        assert (own[name][1], own[name] in shared) == (target.provider.clients[own[name][0]], bool(shared))
    providers = {target.provider.name: target.provider for target in targets.values()}
    staging = sum(name.endswith("/staging") for name in names)
    assert len(names) - max(staging - 1, 0) == len(providers)
    clients = [client for provider in providers.values() for client in provider.clients.items()]
    for distinct in (*zip(*clients, strict=True), [each.key for each in providers.values()]):
        assert len(distinct) == len(set(distinct))


def test_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They point at targets, record and sandbox, from every directory; the file is private, and its name on disk."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("reconciler.sandbox.world.sync_directory", synced := Mock())
    with Sandbox(targets=["north-america/staging"], directory=Path("data")) as sandbox:
        variables = dict(sandbox.variables())
    target = sandbox.world.targets["north-america/staging"]
    settings = (target.client_id, target.client_secret, target.provider.auth_url, target.base_url)
    names = ("CLIENT_ID", "CLIENT_SECRET", "AUTH_URL", "BASE_URL", "AUDIENCE_BASE")
    assert variables == {
        f"RECONCILER_NORTH_AMERICA_STAGING_{name}": value
        for name, value in zip(names, (*settings, target.provider.audience_base), strict=True)
    } | {"RECONCILER_STATE": str(tmp_path / "data" / "state.jsonl"), "RECONCILER_SANDBOX_URL": sandbox.url}
    mode = stat.S_IMODE((tmp_path / "data" / "sandbox.jsonl").stat().st_mode)
    assert (0o600, (Path("data"),)) == (mode, synced.call_args.args)


# A sandbox with a directory continues after a restart.


def test_continues(tmp_path: Path) -> None:
    """Port, URLs, accounts, tokens and subscriptions, equal ones too, are the same, and none shows a secret."""
    with Sandbox(directory=tmp_path) as first:
        token = get_token(first)
        kept, gone = create(first, token).document, create(first, token).document
        first.world.remove(gone["subscriptionId"])
        variables = first.variables()
    with Sandbox(directory=tmp_path) as second:
        assert variables == second.variables()
        assert [kept["subscriptionId"]] == [created.id for created in second.world.subscriptions()]
        assert 201 == create(second, token).status
        assert [1, 2, 3] == [created.sequence for created in second.world.created]
    with closing(Memory(tmp_path)) as memory:
        secret_values = token, kept["secretKey"], dict(variables)["RECONCILER_EUROPE_STAGING_CLIENT_SECRET"]
        assert [] == [text for text in secret_values if text in repr(memory.events)]


def test_a_restart_changes_nothing(tmp_path: Path) -> None:
    """What exists, counts and was delivered; what was not delivered goes on with the attempt that is next."""
    clock, targets = Mock(return_value=1000.0), lay_out("http://s", DOCUMENTED_TARGETS, {}, secrets.token_bytes)
    with closing(Memory(tmp_path)) as memory:
        first = World(targets, FaultPlan({}), memory.append, clock=clock)
        made = [first.create(STAGING, ("ONB10011",), f"http://127.0.0.1/{number}", "me") for number in range(3)]
        first.add_lead(STAGING, {"Amount": "1"})
        for target in targets.values():
            first.revoke_token(first.issue_token(target.provider, "me", "x"))
            first.issue_token(target.provider, "me", "x")
        assert [6, 0] == [first.trigger(code, iter([b"1", b"2"]), None) for code in ("ONB10011", "LOA10013")]
        first.remove(made[0].id)
        for (delivery, to), status in zip(first.take_due(), (500, 200, None, 404), strict=False):
            first.settle(delivery, to, status, "", final=status is None)
    with closing(Memory(tmp_path)) as memory:
        second = World(targets, FaultPlan({}), clock=clock)
        second.restore(memory.events)
    for each in (first, second):
        assert (first.describe(), first.tokens, first.leads) == (each.describe(), each.tokens, each.leads)
        assert [False, True] * 4 == [each.find_token(text) is not None for text in each.tokens]
    clock.return_value += 15
    due = [[(delivery.body, to.id, delivery.number) for delivery, to in each.take_due()] for each in (first, second)]
    retried = [(b"1", made[0].id, 2), (b"2", made[0].id, 2)]
    assert [retried, [(b"2", made[1].id, 1), (b"2", made[2].id, 1), *retried]] == due


def test_continues_where_it_was_last(tmp_path: Path) -> None:
    """At the port and with the account of the run before, not of the first one, unless an account is given."""
    ports = []
    for port, client in ((0, "a"), (1, "b"), (0, None)):
        with closing(Sandbox()) as free:
            other = free._server.server_port
        accounts = {STAGING: (client, "x")} if client else None
        with closing(Sandbox(port and other, directory=tmp_path, accounts=accounts)) as sandbox:
            ports.append(sandbox._server.server_port)
        assert (client or "b") == sandbox.world.targets[STAGING].client_id
    assert ports[0] != ports[1] == ports[2]


def test_accounts_of_every_start(tmp_path: Path) -> None:
    """A target keeps what it has, though it was not served in between; one that is new shares its provider's."""
    last: dict[str, tuple[str, str]] = {}
    for number, names in enumerate((["usa/staging"], DOCUMENTED_TARGETS, ["usa/production"], DOCUMENTED_TARGETS), 1):
        with Sandbox(0, names, directory=tmp_path) as sandbox:
            served = sandbox.world.targets
            sandbox.world.create(names[0], (), "")
            assert number == len(sandbox.world.created)
        now = {name: (target.client_id, target.client_secret) for name, target in served.items()}
        assert {name: last[name] for name in now if name in last} == {n: now[n] for n in now if n in last}
        last |= now
    assert (last["europe/staging"], 3) == (last["usa/staging"], len(set(last.values())))


def test_torn_line(tmp_path: Path) -> None:
    """A last line that was not written completely is cut off."""
    with Sandbox(directory=tmp_path) as first:
        create(first)
    file = tmp_path / "sandbox.jsonl"
    whole = file.read_bytes()
    file.write_bytes(whole + b'{"type": "removed", "id": "' + b"x" * 5000)
    with Sandbox(directory=tmp_path) as second:
        assert 1 == len(second.world.subscriptions())
    after = file.read_bytes()
    assert (True, whole.count(b"\n") + 1) == (after.startswith(whole + b'{"type":"started"'), after.count(b"\n"))
    assert after.endswith(b"\n")
    second.world.add_lead(STAGING, {})  # a request that ends after the sandbox
    assert after == file.read_bytes()


def test_other_contents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that no sandbox wrote is an error that names the line; nothing stays taken, nor does it on a bad disk."""
    file = tmp_path / "sandbox.jsonl"
    file.write_text('{"type":"removed","id":"1"}\n{}\n')
    message = raised(SettingsError, Sandbox, directory=tmp_path)
    assert ("sandbox-data-unusable", f"{file}:2") == (message.name, message.where)
    file.write_text("")
    with monkeypatch.context() as patch:
        patch.setattr(os, "ftruncate", Mock(side_effect=PermissionError))
        assert "cannot be opened" == raised(SettingsError, Sandbox, directory=tmp_path).what
    Sandbox(directory=tmp_path).close()
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", Mock(side_effect=InterruptedError))
        with pytest.raises(InterruptedError) as _caught:  # its traceback keeps what would be collected
            Sandbox(directory=tmp_path)
    Sandbox(directory=tmp_path).close()


def test_directory_that_cannot_be(tmp_path: Path) -> None:
    """A file in the place of the directory is an error, and so is a link in the place of the file or directory."""
    (tmp_path / "data").write_text("")
    (tmp_path / "sandbox.jsonl").symlink_to(tmp_path / "data")
    (tmp_path / "link").symlink_to(tmp_path)
    names = {tmp_path / "data" / "below": "sandbox-data-unusable", tmp_path: "sandbox-data-unusable"}
    for directory, name in {**names, tmp_path / "link": "unsafe-directory"}.items():
        assert name == raised(SettingsError, Sandbox, directory=directory).name


def test_in_use(tmp_path: Path) -> None:
    """One sandbox at a time has a port or a directory; the next at that port has other URLs without its data."""
    with Sandbox(directory=tmp_path / "data") as first:
        message = raised(SettingsError, Sandbox, directory=tmp_path / "data")
        port, before = first._server.server_port, first.world.targets[STAGING].base_url
        assert "port-unusable" == raised(SettingsError, Sandbox, port, directory=tmp_path).name
    assert ("sandbox-data-unusable", "in use by another sandbox") == (message.name, message.what)
    assert str(tmp_path / "data" / "sandbox.jsonl") == message.where
    with closing(Sandbox(port, directory=tmp_path)) as second:
        assert before != second.world.targets[STAGING].base_url


def test_what_another_sandbox_wrote_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read by the next one, which reads only what no other can change any more."""
    lines = '{"type":"removed","id":"1"}\n'
    during_the_wait(monkeypatch, world, "flock", lambda: (tmp_path / "sandbox.jsonl").write_text(lines))
    with closing(Memory(tmp_path)) as memory:
        assert [Removed("1")] == memory.events


def test_what_cannot_be_stored_has_not_happened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither now nor after a restart, whatever is stored next."""
    with closing(Memory(tmp_path)) as memory:
        world = World({}, FaultPlan({}), memory.append)
        for problem in (OSError, KeyboardInterrupt):
            with monkeypatch.context() as patch:
                patch.setattr(os, "fsync", Mock(side_effect=problem))
                with pytest.raises(problem):
                    world.create(STAGING, ("ONB10011",), "http://127.0.0.1/a")
            assert ([], b"") == (world.created, (tmp_path / "sandbox.jsonl").read_bytes())
        world.record(Removed("1"), Removed("2"))
    with closing(Memory(tmp_path)) as memory:
        assert [Removed("1"), Removed("2")] == memory.events


def test_late_create_needs_no_socket() -> None:
    """The core is a state machine: with a clock of its own, a late create happens when its time has come."""
    now = 1000.0
    targets = lay_out("http://s", [STAGING], {}, bytes)
    world = World(targets, FaultPlan({"late": 1.0}), clock=lambda: now, entropy=bytes)
    target = targets[STAGING]
    token = world.issue_token(target.provider, "me", target.audience("notification"))
    headers = (("Authorization", f"Bearer {token}"), ("Content-Type", "application/json"))
    path = f"{target.base_url.removeprefix('http://s')}/notification/webhooksubscription"
    Service(world, "http://s").handle(Request("POST", path, headers, json.dumps(WANTED).encode()))
    world.take_due()
    assert ([], 2.0) == (world.subscriptions(), world.seconds_left())
    now += 1.5
    Service(world, "http://s").handle(Request("POST", path, headers, json.dumps(WANTED).encode()))
    now += 1
    assert 0.0 == world.seconds_left()
    world.take_due()
    assert ([1002.5], 1.0) == ([created.at for created in world.subscriptions()], world.seconds_left())
    now += 1
    world.take_due()
    late = [(created.at, created.account) for created in world.subscriptions()]
    assert ([(1002.5, "me"), (1003.5, "me")], None) == (late, world.seconds_left())


@pytest.mark.parametrize(("seconds", "before"), [(60.0, 0), (0.05, 1)])
def test_late_create_happens_by_itself(
    seconds: float, before: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody has to ask for it; when the sandbox stops, it happens at the latest, also if it is asked for only then."""
    with Sandbox(directory=tmp_path) as sandbox:
        sandbox.world.late_seconds = seconds
        sandbox.world.fail_next("late")
        with pytest.raises(ConnectionResetError):
            create(sandbox)
        assert wait_until(lambda: len(sandbox.world.subscriptions()) == before)
        monkeypatch.setattr(sandbox._server, "stop", lambda: sandbox.world.create_later(STAGING, (), "", ""))
    with closing(Memory(tmp_path)) as memory:
        assert 2 == sum(isinstance(event, Subscription) for event in memory.events)
