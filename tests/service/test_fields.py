"""Some fields of a response may be stored in the clear."""

from __future__ import annotations

import json
from base64 import b64encode

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.service.redaction import error_text, storable_fields

TOKEN = "Abq7391846.Def5820471936abcdef.Ghi4402957"
ARN = "arn:aws:lambda:eu-west-1:123456789012:function:partner-notifications-production:42"
KEY = "Zm9vYmFyYmF6cXV4LXNlY3JldA=="


def clear(document: object, *secrets: str) -> dict[str, object]:
    """Return the fields of a document that may be stored in the clear, where nothing of it was sent."""
    return {**storable_fields(json.dumps(document).encode(), (), secrets)}


def test_identifiers_and_what_was_sent() -> None:
    """Only they are in the clear; everything else is taken for a secret."""
    body = b"""{"id": "a1", "SubscriptionId": 7, "partnerId": true, "ratioId": 0.5, "url": "https://x.example",
        "secret": "k3y", "secretKey": "k3y", "identity": "x", "nestedId": {"id": 1}, "listId": [1], "nullId": null,
        "saidId": "[redacted]", "bigId": 99999999999999999999, "lineId": "a\\nb", "paid": "x", "co": "ONB10001"}"""
    assert storable_fields(body, ["ONB10001", "https://x.example"]) == {
        "id": "a1", "SubscriptionId": 7, "partnerId": True, "ratioId": 0.5, "url": "https://x.example",
        "saidId": "[redacted]", "co": "ONB10001",
    }  # fmt: skip


@pytest.mark.parametrize("value", ["a1", 7, "9b2e4c1a-7d55-4f0e-8f2b-0c8d5a1e6b37", ARN, "x" * 64, "a:" * 64])
def test_an_identifier(value: object) -> None:
    """Up to 128 characters, in the clear."""
    assert {"id": value} == clear({"id": value}, TOKEN)


@pytest.mark.parametrize("fields", [
    {"subscriptionId": TOKEN}, {"subscriptionId": TOKEN.swapcase()}, {"subscriptionId": TOKEN.encode().hex()},
    {"subscriptionId": b64encode(f"id:{TOKEN}".encode()).decode()}, {"subscriptionId": TOKEN.split(".")[1]},
    {f"{TOKEN}Id": "x"}, {"accountId": 4711471147114711}, {"id": "eyJhbGciOiJub25lIn0.e30."}, {"id": "x:" + "y" * 65},
    {"id": ":".join(["part"] * 26)}, {"n" * 127 + "Id": "x"}, {"sessionId": "x"}, {"refreshTokenId": "x"},
    {"clientSecretId": "x"}, {"id": 10**400}, {"id": -(10**30)},
])  # fmt: skip
def test_a_possible_credential(fields: dict[str, object]) -> None:
    """A known secret in any encoding, an opaque text and what is too long stay sealed, whatever their names."""
    assert {} == clear(fields, TOKEN, "4711471147114711")


SECRET_NAMES = (
    "sessionId", "refresh_token", "clientSecret", "Password", "credentials", "sign-key", "signing_key", "hmacKey",
    "private_key", "apiKey", "accessKey", "verification_key", "x" * 129,
)  # fmt: skip


@pytest.mark.parametrize("name", SECRET_NAMES)
@pytest.mark.parametrize("shown", [KEY, KEY.encode().hex(), f"https://x.example/{KEY}"], ids=["plain", "hex", "URL"])
def test_a_secret_of_the_body_itself(name: str, shown: str) -> None:
    """A value that a body calls a secret is one wherever else it stands, in a field and in the words of an error."""
    document = {"id": "sub-1", "correlationId": shown, "message": f"there is {shown}", "data": [{name: KEY}]}
    assert {"id": "sub-1"} == clear(document)
    assert shown not in error_text(json.dumps(document).encode(), ())


def test_a_secret_too_short_to_be_one() -> None:
    """It would hide whatever has that letter or digit in it."""
    assert {"id": "sub-1"} == clear({"id": "sub-1", "secretKey": "1", "token": "s"})


def test_what_was_sent_unless_it_is_a_secret() -> None:
    """The record holds what was sent anyway, however long, under a proper name; a secret in it stays sealed."""
    url = "https://h.example/" + "x" * 200
    body = json.dumps({"url": url, "accessKey": url, "of": "client-0815", "n" * 129: url, "li\ne": url}).encode()
    assert {"url": url, "accessKey": url} == storable_fields(body, [url, "client-0815"], ["client-0815"])


@pytest.mark.parametrize("flood", [
    {f"n{number}Id": TOKEN for number in range(30_000)}, {"secret": "x" * 5000},
    {"secrets": [{"token": f"{number:09}"} for number in range(900)]},
], ids=["identifiers", "a long secret", "many secrets"])  # fmt: skip
def test_a_flood(flood: dict[str, object]) -> None:
    """A body that cannot be searched for secrets in time has nothing in the clear, and no word of it is shown."""
    document = {**flood, "id": "a1", "message": "hello"}
    assert {} == clear(document, TOKEN)
    assert error_text(json.dumps(document).encode(), ()) == ""


def test_at_most_sixteen() -> None:
    """Only the first identifiers are in the clear, not counting those that are credentials."""
    fields = {f"t{number}Id": TOKEN for number in range(40)} | {f"n{number}Id": number for number in range(100)}
    assert [f"n{number}Id" for number in range(16)] == list(clear(fields, TOKEN))


@pytest.mark.parametrize("body", [b"", b"[1]", b"{", b"\xff", b"[" * 100_000, b'{"id": %s}' % (b"9" * 5000)])
def test_no_object(body: bytes) -> None:
    """A body that is no JSON object has no fields."""
    assert storable_fields(body, ()) == {}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3) | st.just("id"), inner, max_size=4),
)


@settings(max_examples=80)
@given(st.binary(max_size=40) | json_values.map(lambda value: json.dumps(value).encode()))
def test_any_body(body: bytes) -> None:
    """Its fields can be stored in a record and come back."""
    fields = storable_fields(body, ["ONB10011"])
    assert fields == msgspec.json.decode(msgspec.json.encode(fields))
