"""Parses the notifications that the service posts to an endpoint (service description, sections 2.3 and 6)."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, Self
from uuid import UUID  # noqa: TC003 - msgspec reads the annotation

import msgspec
from msgspec import Struct, field

OFFERS_PROVIDED = "ONB10011"

_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


_DECODER = msgspec.json.Decoder(dict[str, Any], float_hook=Decimal)


class RequestRefused(Exception):
    """Raised if an endpoint should not accept a request. `status` is the HTTP status to answer with.

    The text says what is wrong. It contains no secrets, and nothing from the body but the names of documented fields.
    """

    status = 400


class NotANotification(RequestRefused):
    """Raised if the body is not a notification of the service."""


class Amount(Decimal):
    """A decimal number that was sent as a string. `text` is the string as it was sent."""

    text: str

    def __new__(cls, text: object) -> Self:
        if not isinstance(text, str) or not _DECIMAL.fullmatch(text):
            raise ValueError("Expected a string that holds a decimal number")
        try:
            amount = super().__new__(cls, text)
        except InvalidOperation:  # an exponent out of range
            raise ValueError("Expected a decimal number within bounds") from None
        amount.text = text
        return amount


class Offer(Struct, frozen=True, rename="pascal"):
    """An offer made to a lead."""

    offer_id: UUID
    you_will_get: Amount
    you_will_repay: Amount
    currency: Annotated[str, msgspec.Meta(pattern=r"\A[A-Z]{3}\Z")] = field(name="CurrencyISOCode")
    sweep: Amount


class OffersProvided(Struct, frozen=True, rename="pascal"):
    """The properties of the event ONB10011."""

    lead_id: UUID
    offers: tuple[Offer, ...]


class Notification(Struct, frozen=True):
    """A notification. `properties` are kept as received; `others` holds undocumented fields.

    `offers_provided` is the typed view of the properties of ONB10011. It is None for other codes, whose properties are
    not documented, and for an ONB10011 that deviates from its documentation; `mistake` then describes the deviation.
    """

    event_code: str
    message: str
    properties: dict[str, Any]
    others: dict[str, Any]
    offers_provided: OffersProvided | None = None
    mistake: str | None = None


class _Documented(Struct, rename="pascal"):
    event_code: str
    message: str
    event_properties: dict[str, Any]


for _kind in (_Documented, OffersProvided):
    msgspec.json.Decoder(_kind)  # describes the type now: msgspec crashes if two threads use a type for the first time


def parse_notification(body: bytes) -> Notification:
    """Return the notification in a request body. Fractions are returned as Decimal, so that nothing is rounded.

    Raises NotANotification unless the body is a JSON object with the three fields of section 2.3.
    """
    problem = "not JSON"
    try:
        document = _DECODER.decode(body)
        known = msgspec.convert(document, _Documented)
    except msgspec.ValidationError as mismatch:
        problem = f"not as documented: {mismatch}"
    except (ValueError, InvalidOperation, RecursionError):
        pass
    else:
        others = {name: value for name, value in document.items() if name not in _Documented.__struct_encode_fields__}
        offers, mistake = _read_offers(known)
        return Notification(known.event_code, known.message, known.event_properties, others, offers, mistake)
    raise NotANotification(problem)  # outside of the handler, whose error may contain parts of the body


def _read_offers(known: _Documented) -> tuple[OffersProvided | None, str | None]:
    if known.event_code != OFFERS_PROVIDED:
        return None, None
    try:
        return msgspec.convert(known.event_properties, OffersProvided, dec_hook=lambda kind, text: kind(text)), None
    except msgspec.ValidationError as mismatch:
        return None, str(mismatch)
