"""Creating subscriptions and leads, and what is refused."""

from __future__ import annotations

import base64
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.sandbox_client import STAGING, WANTED, Answer, call, create, create_url, get_token

from reconciler.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import Iterator

URL = "https://hooks.partner.example/offers"


@pytest.fixture(scope="module")
def shared() -> Iterator[Sandbox]:
    """A sandbox for tests that only get refusals."""
    with Sandbox() as one:
        yield one
    assert (one.world.commits, one.world.failures) == ([], [])


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    """A sandbox of the four documented targets that serves."""
    with Sandbox() as one:
        yield one
    assert one.world.failures == []


def test_create_answers_with_what_was_created(sandbox: Sandbox) -> None:
    """201 with an id, what was sent, and a secret key of 32 bytes."""
    answer = create(sandbox)
    document = answer.document

    assert answer.status == 201
    assert {"subscriptionId", "eventCodes", "webhookUrl", "secretKey"} == set(document)
    assert {name: document[name] for name in ("eventCodes", "webhookUrl")} == WANTED
    assert len(base64.b64decode(document["secretKey"], validate=True)) == 32


def test_create_is_kept_in_the_commit_log(sandbox: Sandbox) -> None:
    """The log says in what order, where, and what was committed, secret included; its repr leaves that out."""
    document = create(sandbox, name="usa/production").document
    commit = sandbox.world.commits[0]

    assert (commit.sequence, commit.target) == (1, "usa/production")
    assert (("ONB10001", "LOA10013"), WANTED["webhookUrl"]) == (commit.codes, commit.url)
    assert (document["subscriptionId"], document["secretKey"]) == (commit.id, commit.secret)
    assert commit.secret not in repr(commit)


def test_create_is_not_idempotent(sandbox: Sandbox) -> None:
    """The same create sent twice makes two subscriptions."""
    token = get_token(sandbox)
    first, second = create(sandbox, token).document, create(sandbox, token).document

    assert first["subscriptionId"] != second["subscriptionId"]
    assert first["secretKey"] != second["secretKey"]
    assert [commit.sequence for commit in sandbox.world.commits] == [1, 2]


def test_creates_at_once_are_all_committed(sandbox: Sandbox) -> None:
    """Forty creates from sixteen threads are forty commits with distinct ids and an unbroken sequence."""
    token = get_token(sandbox)
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: create(sandbox, token), range(40)))

    assert [answer.status for answer in answers] == [201] * 40
    assert {answer.document["subscriptionId"] for answer in answers} == {one.id for one in sandbox.world.commits}
    assert len({one.id for one in sandbox.world.commits}) == 40
    assert list(range(1, 41)) == [one.sequence for one in sandbox.world.commits]
    assert sandbox.world.requests["create", STAGING] == 40


@pytest.mark.parametrize(
    "authorization", ["", "Bearer", "Bearer ", "Basic dXNlcjpwYXNz", "Bearer not.a.token", "Bearer \xff"]
)
def test_create_without_a_good_token_is_401(shared: Sandbox, authorization: str) -> None:
    """No token, another scheme or a token nobody issued: 401 with a challenge."""
    answer = create(shared, "x", headers={"authorization": authorization})

    assert (answer.status, answer.document["error"]) == (401, "invalid_token")
    assert answer.headers["www-authenticate"].startswith("Bearer")


def test_create_with_no_authorization_at_all_is_401(shared: Sandbox) -> None:
    """The header may not even be there."""
    assert call("POST", create_url(shared), WANTED).status == 401


def test_create_with_a_forged_token_is_401(shared: Sandbox) -> None:
    """A token whose signature was changed is worthless."""
    token = get_token(shared)
    forged = token[:-2] + ("AA" if not token.endswith("AA") else "BB")

    assert create(shared, forged).status == 401


def test_create_with_a_token_for_another_api_is_403(shared: Sandbox) -> None:
    """The audience has to be the Notification API."""
    assert create(shared, get_token(shared, api_name="onboarding")).status == 403


@pytest.mark.parametrize(
    "content_type", ["", "text/plain", "application/x-www-form-urlencoded", "application/json, text/html"]
)
def test_create_that_is_not_called_json_is_415(shared: Sandbox, content_type: str) -> None:
    """The content type is application/json and no other."""
    assert create(shared, headers={"content-type": content_type}).status == 415


def test_content_type_may_have_parameters(sandbox: Sandbox) -> None:
    """A charset does not change what the type is."""
    assert create(sandbox, headers={"content-type": "Application/JSON; charset=utf-8"}).status == 201


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"{}\x00",
        b'{"eventCodes": NaN}',
        b"[" * 500_000,
        b'{"a":' * 200_000,
        b"9" * 10_000,
        [],
        "text",
        7,
        b"null",
        {},
        {"eventCodes": ["ONB10001"]},
        {"webhookUrl": URL},
        {"eventCodes": ["ONB10001"], "webhookUrl": URL, "secret": "mine"},
        {"eventCodes": "ONB10001", "webhookUrl": URL},
        {"eventCodes": [], "webhookUrl": URL},
        {"eventCodes": [10001], "webhookUrl": URL},
        {"eventCodes": ["onb10001"], "webhookUrl": URL},
        {"eventCodes": ["ONB1000"], "webhookUrl": URL},
        {"eventCodes": ["ONB10001\n"], "webhookUrl": URL},
        {"eventCodes": ["ONB\uff110001"], "webhookUrl": URL},
        {"eventCodes": ["ONB10001"], "webhookUrl": None},
        {"eventCodes": ["ONB10001"], "webhookUrl": ""},
        {"eventCodes": ["ONB10001"], "webhookUrl": "/offers"},
        {"eventCodes": ["ONB10001"], "webhookUrl": "https:///offers"},
        {"eventCodes": ["ONB10001"], "webhookUrl": "ftp://hooks.partner.example"},
        {"eventCodes": ["ONB10001"], "webhookUrl": "https://hooks.partner.example:port/"},
        {"eventCodes": ["ONB10001"], "webhookUrl": "https://hooks.partner.example/a b"},
        {"eventCodes": ["ONB10001"], "webhookUrl": "https://hooks.partner.example/\r\n"},
        {"eventCodes": ["ONB10001"], "webhookUrl": "https://[hooks/"},
    ],
    ids=lambda body: repr(body)[:40],
)
def test_malformed_create_is_400(shared: Sandbox, body: object) -> None:
    """Whatever is not the object of SERVICE.md, section 2.2, is a 400 with a JSON error."""
    answer = create(shared, body=body)

    assert (answer.status, answer.document["error"]) == (400, "invalid_request")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    body=JSON | st.binary(max_size=64) | st.fixed_dictionaries({"eventCodes": JSON, "webhookUrl": JSON | st.just(URL)})
)
def test_any_other_body_is_400_or_401(shared: Sandbox, body: object) -> None:
    """No body that is not a right one is ever committed, or leaves the request without an answer."""
    token = next(iter(shared.world.tokens), None) or get_token(shared)

    assert create(shared, token, body).status == 400


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    codes=st.lists(st.from_regex(r"\A[A-Z]{3}[0-9]{5}\Z"), min_size=1, max_size=5),
    path=st.text("abc/~%é", max_size=10),
)
def test_any_right_body_is_committed_as_sent(codes: list[str], path: str, sandbox: Sandbox) -> None:
    """Codes and URL come back just as they were sent."""
    token = next(iter(sandbox.world.tokens), None) or get_token(sandbox)
    wanted = {"eventCodes": codes, "webhookUrl": f"https://hooks.partner.example/{path}"}
    answer = create(sandbox, token, wanted)

    assert (201, wanted) == (answer.status, {name: answer.document[name] for name in wanted})


def _lead(sandbox: Sandbox, api_name: str = "onboarding", body: object = None, **headers: str) -> Answer:
    sent = {"authorization": f"Bearer {get_token(sandbox, api_name=api_name)}", "accept": "application/json", **headers}
    url = f"{sandbox.world.targets[STAGING].base_url}/onboarding/leads"
    return call("POST", url, {"name": "Borrower"} if body is None else body, sent)


def test_lead_is_created(sandbox: Sandbox) -> None:
    """Any JSON object makes a lead: 201 and its id."""
    answer = _lead(sandbox)

    assert (201, sandbox.world.leads[0].id) == (answer.status, answer.document["leadId"])
    assert sandbox.world.leads[0].document == {"name": "Borrower"}
    assert sandbox.world.requests["lead", STAGING] == 1


def test_lead_needs_token_accept_and_json(sandbox: Sandbox) -> None:
    """Another API's token 403, no accept 406, another type 415, no object 400; no lead comes of it."""
    assert _lead(sandbox, authorization="Bearer none").status == 401
    assert _lead(sandbox, "notification").status == 403
    assert _lead(sandbox, accept="text/html").status == 406
    assert _lead(sandbox, **{"content-type": "text/plain"}).status == 415
    assert _lead(sandbox, body=b"[]").status == 400
    assert sandbox.world.leads == []
