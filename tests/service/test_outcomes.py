"""The table of outcomes, written down independently of the code."""

from __future__ import annotations

import datetime as dt
import email.utils
import json
from base64 import b64encode

import pytest
import time_machine
from hypothesis import given, settings
from hypothesis import strategies as st
from support.journal_samples import AT, BY, TARGET, begun, imported, journal_bytes

from reconciler.model.entry import Settled
from reconciler.model.outcome import Outcome
from reconciler.service.exchange import Failure, Reply
from reconciler.service.outcomes import harmless_fields, outcome_of
from reconciler.state.journal.chain import parse

REJECTED = {301, 307, 308, *range(400, 500)} - {408, 499}
NOW = 1_900_000_000.0


def reply(status: int, body: bytes = b"{}", *, whole: bool = True, **headers: str) -> Reply:
    """A reply with headers whose names are written with underscores."""
    return Reply(status, {name.replace("_", "-"): value for name, value in headers.items()}, body, whole)


def expected(status: int) -> Outcome:
    """The whole table, for a body that is no HTML page."""
    if status in range(200, 300):
        return Outcome.CREATED
    return Outcome.REJECTED if status in REJECTED else Outcome.UNKNOWN


@pytest.mark.parametrize("status", [0, 99, 100, 101, 103, *range(200, 601), 700, 999])
def test_every_status(status: int) -> None:
    """Each status has the outcome that is promised."""
    answer = outcome_of(reply(status), ())
    assert (expected(status), status) == (answer.outcome, answer.status)


@pytest.mark.parametrize(("sent", "outcome"), [(False, Outcome.NOT_SENT), (True, Outcome.UNKNOWN)])
def test_no_status_line(sent: bool, outcome: Outcome) -> None:
    """Without a status line it counts whether anything was sent."""
    answer = outcome_of(Failure(sent, "no connection\nto here"), ())
    assert (outcome, None, "no connection to here") == (answer.outcome, answer.status, answer.detail)


@pytest.mark.parametrize(
    "page",
    [
        reply(200, content_type="text/html; charset=utf-8"),
        reply(201, content_type="Text/HTML"),
        reply(200, content_type="application/xhtml+xml"),
        reply(200, b"<!DOCTYPE html><p>Sign in"),
        reply(200, b"\xef\xbb\xbf\r\n  <HTML lang=en>", content_type="application/json"),
        reply(204, b"<html>"),
    ],
)
def test_an_html_page_is_not_the_api(page: Reply) -> None:
    """A page with a 2xx may be a login or maintenance page: nobody knows what became of the call."""
    answer = outcome_of(page, ())
    assert answer.outcome is Outcome.UNKNOWN
    assert "HTML page" in str(answer.detail)


@pytest.mark.parametrize("body", [b"", b"created", b"\xff\x00", b"[" * 100_000, b"<htmlish>", b'{"html": "<html>"}'])
def test_any_other_body_is_created(body: bytes) -> None:
    """A 2xx is created whatever its body."""
    answer = outcome_of(reply(201, body, date="Tue, 01 Jan 2030 00:00:00 GMT"), ())
    assert (Outcome.CREATED, None, body) == (answer.outcome, answer.detail, answer.body)
    assert answer.date == "Tue, 01 Jan 2030 00:00:00 GMT"


def test_a_broken_off_body_is_created_and_said() -> None:
    """A body that broke off is still created; the detail says so, since the secret may have been in it."""
    answer = outcome_of(reply(201, b"half", whole=False), ())
    assert (answer.outcome, answer.detail) == (Outcome.CREATED, "the response was cut off after 4 bytes")


@pytest.mark.parametrize(
    ("location", "host"),
    [
        ("https://login.example/path?token=abc", "login.example"),
        ("/elsewhere", "another path"),
        ("https://[bad", "an unreadable address"),
    ],
)
@pytest.mark.parametrize(
    ("status", "named"),
    [(301, "301 Moved Permanently"), (307, "307 Temporary Redirect"), (308, "308 Permanent Redirect")],
)
def test_a_redirect_says_where_it_points(status: int, named: str, location: str, host: str) -> None:
    """Only the host is named: the rest may hold anything."""
    detail = f"HTTP {named}: redirect to {host} not followed; check the address"
    assert detail == outcome_of(reply(status, location=location), ()).detail


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b'{"message": "no such code"}', "HTTP 400 Bad Request: no such code"),
        (b'{"title": "Invalid", "detail": "code\\nunknown"}', "HTTP 400 Bad Request: Invalid, code unknown"),
        (b'{"error": "x", "message": "x"}', "HTTP 400 Bad Request: x"),
        (b'{"error": {"code": 1}, "message": " "}', "HTTP 400 Bad Request"),
        (b'{"message": "bad hunter2hunter2"}', "HTTP 400 Bad Request: bad [redacted]"),
        (b"<p>no</p>", "HTTP 400 Bad Request"),
        (b'["message"]', "HTTP 400 Bad Request"),
    ],
)
def test_what_a_json_error_says(body: bytes, detail: str) -> None:
    """Of a JSON error its usual members are shown, in one line and redacted; of anything else nothing."""
    assert detail == outcome_of(reply(400, body), ["hunter2hunter2"]).detail


def test_a_detail_is_short() -> None:
    """However much a server says, the detail stays a line."""
    detail = str(outcome_of(reply(400, b'{"message": "%s"}' % (b"long " * 10_000)), ()).detail)
    assert f"HTTP 400 Bad Request: {'long ' * 40}"[: len(detail) - 1] + "…" == detail
    assert len(detail) < 300


def http_date(seconds: float) -> str:
    """An HTTP date that lies `seconds` from NOW."""
    return email.utils.format_datetime(dt.datetime.fromtimestamp(NOW + seconds, dt.UTC), usegmt=True)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0), (" 0 ", 0.0), ("1.5", 1.5), ("-3", 0.0), (http_date(30), 30.0), (http_date(-30), 0.0),
        ("soon", None), ("", None), ("nan", None), ("1e9", None), ("9" * 400, None),
        ("Mon, 99 Foo 2030 00:00:00 GMT", None),
    ],
)  # fmt: skip
def test_retry_after(value: str, seconds: float | None) -> None:
    """Seconds and dates are understood, the past is now, and nonsense is nothing."""
    with time_machine.travel(NOW, tick=False):
        answer = outcome_of(reply(429, retry_after=value), ())
    assert (Outcome.REJECTED, seconds) == (answer.outcome, answer.retry_after)


def test_retry_after_counts_for_429_only() -> None:
    """Elsewhere it asks for nothing that would be done."""
    assert outcome_of(reply(503, retry_after="5"), ()).retry_after is None


@given(
    st.integers(0, 999),
    st.binary(max_size=60),
    st.dictionaries(st.sampled_from(["retry-after", "location", "content-type", "date"]), st.text(max_size=30)),
)
@settings(max_examples=100, deadline=None)
def test_any_reply_has_an_outcome(status: int, body: bytes, headers: dict[str, str]) -> None:
    """Nothing a server can say makes the outcome fail; its words are one printable line."""
    answer = outcome_of(Reply(status, headers, body, whole=True), ["secret"])
    assert all(text is None or text.isprintable() for text in (answer.detail, answer.date))
    assert answer.outcome is not Outcome.NOT_SENT


def test_harmless_fields() -> None:
    """Identifiers and what was sent may lie open; everything else is taken for a secret."""
    body = b"""{"id": "a1", "SubscriptionId": 7, "partnerId": true, "ratioId": 0.5, "url": "https://x.example",
        "secret": "k3y", "secretKey": "k3y", "identity": "x", "nestedId": {"id": 1}, "listId": [1], "nullId": null,
        "hugeId": 1e999, "bigId": 99999999999999999999, "brokenId": "\\ud800", "lineId": "a\\nb", "co": "ONB10001"}"""
    assert harmless_fields(body, ["ONB10001", "https://x.example"]) == {
        "id": "a1", "SubscriptionId": 7, "partnerId": True, "ratioId": 0.5, "url": "https://x.example",
        "co": "ONB10001",
    }  # fmt: skip


TOKEN = "Abc1234567.Def1234567890abcdef.Ghi1234567"
UUID = "9b2e4c1a-7d55-4f0e-8f2b-0c8d5a1e6b37"
ARN = "arn:aws:lambda:eu-west-1:123456789012:function:partner-notifications-production:42"


@pytest.mark.parametrize("value", ["a1", 7, UUID, ARN, "x" * 64, "a:" * 64])
def test_an_identifier_lies_open(value: object) -> None:
    """What identifies lies open, up to 128 characters."""
    assert {"id": value} == harmless_fields(json.dumps({"id": value}).encode(), (), [TOKEN])


@pytest.mark.parametrize(
    "fields",
    [
        {"subscriptionId": TOKEN}, {"subscriptionId": TOKEN.swapcase()}, {"subscriptionId": TOKEN.encode().hex()},
        {"subscriptionId": b64encode(f"id:{TOKEN}".encode()).decode()}, {"subscriptionId": TOKEN.split(".")[1]},
        {f"{TOKEN}Id": "x"}, {"accountId": 4711471147114711}, {"id": "eyJhbGciOiJub25lIn0.e30."},
        {"id": "x" * 65}, {"id": ":".join(["part"] * 26)}, {"n" * 127 + "Id": "x"},
        {"sessionId": "x"}, {"refreshTokenId": "x"}, {"clientSecretId": "x"}, {"id": 10**400}, {"id": -(10**400)},
    ],
)  # fmt: skip
def test_what_may_be_a_credential_does_not(fields: dict[str, object]) -> None:
    """A known secret in any spelling, an opaque text and what is too long stays sealed, whatever its name."""
    assert {} == harmless_fields(json.dumps(fields).encode(), (), [TOKEN, "4711471147114711"])


KEY = "Zm9vYmFyYmF6cXV4LXNlY3JldA=="
TELLS_ITS_KEY = [{"secretKey": KEY}, {"data": [{"signing_key": KEY}]}, {"hmacKey": KEY}]


@pytest.mark.parametrize("key", TELLS_ITS_KEY, ids=["top", "nested", "by another name"])
@pytest.mark.parametrize(
    "told", [KEY, KEY.encode().hex(), f"https://x.example/{KEY}"], ids=["plain", "hex", "in a URL"]
)
def test_a_secret_of_the_response_lies_open_nowhere(key: dict[str, object], told: str) -> None:
    """What a response calls a secret is one wherever else it stands, in a field and in the words of an error."""
    body = json.dumps({"id": "sub-1", "correlationId": told, "message": f"there is {told}", **key}).encode()
    assert {"id": "sub-1"} == harmless_fields(body, ())
    detail = outcome_of(Reply(409, {}, body, whole=True), []).detail
    assert detail is not None
    assert told not in detail


def test_what_was_sent_lies_open_unless_it_is_a_secret() -> None:
    """The journal holds what was sent anyway, however long; a secret in it stays sealed all the same."""
    url = "https://h.example/" + "x" * 200
    body = json.dumps({"url": url, "of": "client-0815"}).encode()
    assert {"url": url} == harmless_fields(body, [url, "client-0815"], ["client-0815"])


def test_a_flood_of_fields_is_not_looked_through() -> None:
    """Where the first identifiers all may be credentials, none lies open: looking on would delay the record."""
    flood = {f"n{number}Id": TOKEN for number in range(30_000)}
    assert {} == harmless_fields(json.dumps({**flood, "id": "a1"}).encode(), (), [TOKEN])


def test_open_fields_are_few() -> None:
    """At most sixteen."""
    body = json.dumps({f"n{number}Id": number for number in range(100)}).encode()
    assert [f"n{number}Id" for number in range(16)] == list(harmless_fields(body, ()))


@pytest.mark.parametrize("body", [b"", b"[1]", b"{", b"\xff", b"[" * 100_000, b'{"id": %s}' % (b"9" * 5000)])
def test_no_fields_in_what_is_no_object(body: bytes) -> None:
    """A body that is no JSON object has none."""
    assert harmless_fields(body, ()) == {}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3) | st.just("id"), inner, max_size=4),
)


@settings(max_examples=80, deadline=None)
@given(st.binary(max_size=40) | json_values.map(lambda value: json.dumps(value).encode()))
def test_any_body(body: bytes) -> None:
    """Whatever the body is, its harmless fields can stand in a journal and come back."""
    settled = Settled(
        at=AT, by=BY, attempt="a2", outcome=Outcome.CREATED, status=200, fields=harmless_fields(body, ["ONB10011"])
    )
    read = parse(journal_bytes([begun(), imported("a2"), settled]), TARGET, "state")
    assert settled == read.lines[-1][0]
