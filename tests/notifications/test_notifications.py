"""Notifications: what of them is read, and that nothing is lost or rounded."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.notified import OFFER, OFFERS, notification

from reconciler.notifications.notification import NotANotification, Notification, parse_notification

OBJECTS = st.dictionaries(
    st.text(max_size=5),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=5,
    ),
    max_size=4,
)
DECIMALS = st.from_regex(r"\A[+-]?([0-9]{1,9}(\.[0-9]{0,9})?|\.[0-9]{1,9})([eE][+-]?[0-9]{1,3})?\Z")


def offering(**changes: Any) -> Notification:
    """Return an ONB10011 with one offer, which has these changes."""
    return parse_notification(notification(properties={**OFFERS, "Offers": [{**OFFER, **changes}]}))


def test_documented_properties() -> None:
    """ONB10011 has a typed view: ids as UUID, amounts as Decimal."""
    read = parse_notification(notification(eventCode=1))
    assert ("ONB10011", "Offers Provided", OFFERS, {"eventCode": 1}) == (
        read.event_code, read.message, read.properties, read.others
    )  # fmt: skip
    assert read.offers_provided is not None
    (offer,) = read.offers_provided.offers
    assert UUID(OFFERS["LeadId"]) == read.offers_provided.lead_id  # type: ignore[arg-type]
    assert (Decimal("1000.50"), Decimal(1000), "EUR") == (offer.you_will_get, offer.you_will_repay, offer.currency)


@given(text=DECIMALS)
@settings(max_examples=60)
def test_any_decimal_survives(text: str) -> None:
    """An amount is the number, and remembers how it was written."""
    provided = offering(Sweep=text).offers_provided
    assert provided is not None
    assert (Decimal(text), text) == (provided.offers[0].sweep, provided.offers[0].sweep.text)


@pytest.mark.parametrize(("changes", "place"), [
    ({"YouWillGet": 1000.5}, "$.Offers[0].YouWillGet"), ({"YouWillGet": None}, "$.Offers[0].YouWillGet"),
    *(({"Sweep": text}, "$.Offers[0].Sweep") for text in ("", "NaN", "1_000", " 1", "1\n", "1,5", "\uff11")),
    ({"Sweep": "1E+99999999999999999999"}, "$.Offers[0].Sweep"),
    ({"OfferId": "{0b9d5d5c-8a57-4c0e-9a51-3f8f0f0d6a11}"}, "$.Offers[0].OfferId"),
    ({"OfferId": 7}, "$.Offers[0].OfferId"), ({"YouWillRepay": 1000}, "$.Offers[0].YouWillRepay"),
    ({"CurrencyISOCode": "eur"}, "$.Offers[0].CurrencyISOCode"),
    ({"CurrencyISOCode": "EUR\n"}, "$.Offers[0].CurrencyISOCode"),
], ids=str)  # fmt: skip
def test_offer_that_is_not_as_documented(changes: dict[str, Any], place: str) -> None:
    """It has no typed view; the mistake names its place, and the properties are there as they came."""
    read = offering(**changes)
    assert read.offers_provided is None
    assert place in (read.mistake or "")
    assert {**OFFER, **changes} == read.properties["Offers"][0]


def test_missing_field() -> None:
    """A documented property that is missing is named."""
    assert "`LeadId`" in (parse_notification(notification(properties={})).mistake or "")


@given(properties=OBJECTS, others=OBJECTS)
@settings(max_examples=60)
def test_undocumented_content_survives(properties: dict[str, Any], others: dict[str, Any]) -> None:
    """Properties of other codes and fields beside the three are kept as they came."""
    body = json.dumps({**others, "EventCode": "LOA10013", "Message": "m", "EventProperties": properties}).encode()
    read = parse_notification(body)
    others = {name: value for name, value in others.items() if name not in ("EventCode", "Message", "EventProperties")}
    assert (properties, others, None, None) == (read.properties, read.others, read.offers_provided, read.mistake)


@pytest.mark.parametrize("number", ["1E400", "0.1000000000000000000000001", "1.10", "-" + "9" * 30])
def test_no_number_is_rounded(number: str) -> None:
    """Numbers should come as strings; those that do not are kept exactly. Only the code tells what is documented."""
    read = parse_notification(notification("LOA10013", {"n": "N"}).replace(b'"N"', number.encode()))
    assert (Decimal(number), None) == (Decimal(read.properties["n"]), read.mistake)


@pytest.mark.parametrize("body", [
    b"", b"{", b"[]", b"\xff", b'{"a": NaN}', b"[" * 100_000, b'{"a":' * 100_000, b'{"a": 1e9999999999999999999}',
], ids=range(8))  # fmt: skip
def test_body_that_is_no_object(body: bytes) -> None:
    """It is refused, with the status to answer with."""
    with pytest.raises(NotANotification) as caught:
        parse_notification(body)
    assert 400 == caught.value.status


def test_error_holds_nothing_of_the_body() -> None:
    """Neither its text nor what led to it."""
    with pytest.raises(NotANotification, match=r"EventCode") as caught:
        parse_notification(b'{"EventCode": ["somebody"], "Message": "x", "EventProperties": {}}')
    assert "somebody" not in repr(caught.value)
    assert (None, None) == (caught.value.__cause__, caught.value.__context__)
