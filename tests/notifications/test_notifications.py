"""Notifications: ONB10011 read in full, everything else passed through as it came."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.notified import OFFER, OFFERS, document, notification

from reconciler.errors import ServiceError
from reconciler.notifications.notification import Notification, parse_notification

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(), JSON, max_size=4)
DECIMALS = st.from_regex(r"[+-]?([0-9]{1,30}(\.[0-9]{0,20})?|\.[0-9]{1,20})([eE][+-]?[0-9]{1,4})?", fullmatch=True)


def offering(**changes: Any) -> Notification:
    """An ONB10011 with one offer, changed."""
    return parse_notification(notification(properties={**OFFERS, "Offers": [{**OFFER, **changes}]}))


class TestOffersProvided:
    """ONB10011, whose properties are documented."""

    def test_is_read_in_full(self) -> None:
        """Identifiers are UUIDs, amounts Decimals."""
        provided = parse_notification(notification()).offers_provided
        assert provided is not None
        (offer,) = provided.offers
        assert UUID("6f1f7a64-2d0c-4f0f-8a44-5d7d3f1b8c22") == provided.lead_id
        assert UUID("0b9d5d5c-8a57-4c0e-9a51-3f8f0f0d6a11") == offer.offer_id
        assert (Decimal("1000.50"), Decimal(1000), Decimal("0.12")) == (
            offer.you_will_get, offer.you_will_repay, offer.sweep,
        )  # fmt: skip
        assert isinstance(offer.sweep, Decimal)
        assert offer.currency == "EUR"

    def test_comes_out_as_it_came_in(self) -> None:
        """Every name and every number to the letter, by the typed view as by the properties."""
        read = parse_notification(notification())
        assert read.offers_provided is not None
        assert document() == json.loads(read.model_dump_json(by_alias=True))
        assert OFFERS == json.loads(read.offers_provided.model_dump_json(by_alias=True))

    @pytest.mark.parametrize("text", ["1000.50", "1E+3", "1e3", "+5", "-0", "0012.300", ".5", "5.", "1E-30"])
    def test_amount_keeps_its_text(self, text: str) -> None:
        """`Decimal` alone would write several of these differently."""
        provided = offering(Sweep=text).offers_provided
        assert provided is not None
        assert (Decimal(text), text) == (provided.offers[0].sweep, provided.offers[0].sweep.text)
        assert json.loads(provided.model_dump_json(by_alias=True))["Offers"][0]["Sweep"] == text

    @given(text=DECIMALS)
    @settings(max_examples=50, deadline=None)
    def test_any_decimal_survives(self, text: str) -> None:
        """However it is written."""
        provided = offering(YouWillGet=text).offers_provided
        assert provided is not None
        assert text == provided.model_dump(by_alias=True, mode="json")["Offers"][0]["YouWillGet"]

    def test_unknown_fields_are_kept(self) -> None:
        """On every level, in the typed view too."""
        properties = {**OFFERS, "Offers": [{**OFFER, "Fee": {"a": None}}], "offers": 1, "_x": [2]}
        read = parse_notification(notification(properties=properties))
        assert read.offers_provided is not None
        assert properties == json.loads(read.offers_provided.model_dump_json(by_alias=True))

    def test_a_typed_view_can_be_read_again(self) -> None:
        """Amounts that were read once are amounts."""
        provided = parse_notification(notification()).offers_provided
        assert provided is not None
        assert provided == type(provided).model_validate(provided.model_dump(by_alias=True))

    def test_no_offers_are_offers(self) -> None:
        """An empty array is one."""
        provided = parse_notification(notification(properties={**OFFERS, "Offers": []})).offers_provided
        assert provided is not None
        assert () == provided.offers


NUMBER = "does not hold a decimal number"
NO_STRING = "is not a string that holds a decimal number"
MALFORMED = [
    ({"YouWillGet": 1000.5}, f"YouWillGet {NO_STRING}"),
    ({"YouWillGet": 1000}, f"YouWillGet {NO_STRING}"),
    ({"YouWillGet": None}, f"YouWillGet {NO_STRING}"),
    ({"YouWillRepay": True}, f"YouWillRepay {NO_STRING}"),
    ({"Sweep": ""}, f"Sweep {NUMBER}"),
    ({"Sweep": "NaN"}, f"Sweep {NUMBER}"),
    ({"Sweep": "Infinity"}, f"Sweep {NUMBER}"),
    ({"Sweep": "1_000"}, f"Sweep {NUMBER}"),
    ({"Sweep": " 1"}, f"Sweep {NUMBER}"),
    ({"Sweep": "1\n"}, f"Sweep {NUMBER}"),
    ({"Sweep": "1,5"}, f"Sweep {NUMBER}"),
    ({"Sweep": "\uff11"}, f"Sweep {NUMBER}"),
    ({"Sweep": "1E+99999999999999999999"}, f"Sweep {NUMBER}"),
    ({"OfferId": "{0b9d5d5c-8a57-4c0e-9a51-3f8f0f0d6a11}"}, "OfferId is not a UUID"),
    ({"OfferId": 7}, "OfferId is not a UUID"),
    ({"CurrencyISOCode": "eur"}, "CurrencyISOCode is not three capital letters"),
    ({"CurrencyISOCode": "EURO"}, "CurrencyISOCode is not three capital letters"),
    ({"CurrencyISOCode": 978}, "CurrencyISOCode is not a string"),
]


class TestMalformedOffers:
    """An ONB10011 that is not as documented is reported as such, and kept."""

    @pytest.mark.parametrize(("changes", "mistake"), MALFORMED, ids=str)
    def test_each_mistake_is_named(self, changes: dict[str, Any], mistake: str) -> None:
        """With its place; the properties are there as they came."""
        read = offering(**changes)
        assert (None, (f"EventProperties.Offers[0].{mistake}",)) == (read.offers_provided, read.mistakes)
        assert {**OFFER, **changes} == read.properties["Offers"][0]

    @pytest.mark.parametrize(
        ("properties", "mistakes"),
        [
            ({}, ("EventProperties.LeadId is missing", "EventProperties.Offers is missing")),
            ({**OFFERS, "Offers": {}}, ("EventProperties.Offers is not an array",)),
            ({**OFFERS, "Offers": [7]}, ("EventProperties.Offers[0] is not an object",)),
        ],
    )
    def test_shapes(self, properties: dict[str, Any], mistakes: tuple[str, ...]) -> None:
        """What is missing, and what is of another kind."""
        assert mistakes == parse_notification(notification(properties=properties)).mistakes

    def test_not_every_mistake_of_thousands_is_told(self) -> None:
        """A notification can be wrong in more ways than anyone reads."""
        assert len(parse_notification(notification(properties={**OFFERS, "Offers": [{}] * 1000})).mistakes) == 20

    def test_all_is_well(self) -> None:
        """A right one has no mistakes."""
        assert () == parse_notification(notification()).mistakes


class TestOtherCodes:
    """Codes whose properties are not shown, and codes nobody has seen."""

    @given(properties=OBJECTS, code=st.sampled_from(["ONB10001", "LOA10013", "XYZ99999", "", "?"]))
    @settings(max_examples=60, deadline=None)
    def test_any_properties_survive(self, properties: dict[str, Any], code: str) -> None:
        """Nested, null, named like fields of our own: they are as they came."""
        read = parse_notification(notification(code, properties))
        assert (properties, None, ()) == (read.properties, read.offers_provided, read.mistakes)
        assert properties == read.model_dump(by_alias=True)["EventProperties"]

    @given(more=OBJECTS)
    @settings(max_examples=40, deadline=None)
    def test_unknown_fields_beside_the_three_survive(self, more: dict[str, Any]) -> None:
        """The three that are documented are found all the same."""
        whole = {**more, **document("LOA10013", {"a": 1})}
        assert whole == parse_notification(json.dumps(whole).encode()).model_dump(by_alias=True)

    def test_offers_of_another_code_are_not_judged(self) -> None:
        """Only of ONB10011 is it known what they should be."""
        assert () == parse_notification(notification("ONB10012", {"LeadId": 7})).mistakes

    @pytest.mark.parametrize("number", ["1E400", "0.1000000000000000000000001", "1.10", "9" * 5000, "-" + "9" * 5000])
    def test_no_number_is_rounded(self, number: str) -> None:
        """Numbers should come as strings; those that do not are not harmed either."""
        read = parse_notification(notification("LOA10013", {"n": "N"}).replace(b'"N"', number.encode()))
        assert Decimal(number) == Decimal(read.properties["n"])


class TestNoNotification:
    """What is not a notification at all."""

    @pytest.mark.parametrize("body", [b"", b"{", b"[]", b"7", b"\xff", b'{"a": NaN}', b"[" * 100_000])
    def test_what_is_no_json_object(self, body: bytes) -> None:
        """Is said to be none."""
        with pytest.raises(ServiceError, match=r"^notification: not a JSON object$"):
            parse_notification(body)

    @pytest.mark.parametrize(
        ("whole", "mistakes"),
        [
            ({}, "EventCode is missing; Message is missing; EventProperties is missing"),
            ({**document(), "EventCode": 7}, "EventCode is not a string"),
            ({**document(), "EventProperties": None}, "EventProperties is not an object"),
            ({**document(), "EventProperties": []}, "EventProperties is not an object"),
            ({"event_code": "ONB10001", "Message": "", "EventProperties": {}}, "EventCode is missing"),
        ],
    )
    def test_what_has_other_fields(self, whole: dict[str, Any], mistakes: str) -> None:
        """Each that is missing, or of another kind, is named."""
        with pytest.raises(ServiceError) as caught:
            parse_notification(json.dumps(whole).encode())
        assert f"notification: not as documented: {mistakes}" == str(caught.value)

    def test_its_contents_are_not_told(self) -> None:
        """Neither in the text of the error nor in what led to it."""
        with pytest.raises(ServiceError) as caught:
            parse_notification(b'{"EventCode": ["somebody"], "Message": "x", "EventProperties": {}}')
        assert "somebody" not in repr(caught.value)
        assert (None, None) == (caught.value.__cause__, caught.value.__context__)
