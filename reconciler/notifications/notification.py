"""Event notifications: what the service posts to a partner's endpoint (SERVICE.md, sections 2.3 and 6)."""

import json
import re
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, NoReturn, Self
from uuid import UUID

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    PrivateAttr,
    StrictStr,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails

from reconciler.errors import ServiceError

OFFERS_PROVIDED = "ONB10011"

_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_INT_DIGITS = 4000  # the interpreter refuses to make an int of many more
_MISTAKES_SHOWN = 20


class Amount(Decimal):
    """A decimal number that was sent as a string; `text` is that string, to the letter."""

    text: str

    def __new__(cls, text: str) -> Self:
        amount = super().__new__(cls, text)
        amount.text = text
        return amount


def _amount(value: object) -> Amount:
    if not isinstance(value, str):
        raise ValueError("is not a string that holds a decimal number")  # noqa: TRY004 - pydantic wants a ValueError
    try:
        if _DECIMAL.fullmatch(value):
            return Amount(value)
    except InvalidOperation:  # an exponent beyond all bounds
        pass
    raise ValueError("does not hold a decimal number")


def _plain_uuid(value: object) -> object:
    """Refuse the other spellings that `UUID` accepts, such as braces and `urn:`."""
    if isinstance(value, UUID) or (isinstance(value, str) and _UUID.fullmatch(value)):
        return value
    raise ValueError("is not a UUID")


_Amount = Annotated[Amount, PlainValidator(_amount), PlainSerializer(lambda amount: amount.text, return_type=str)]
_Uuid = Annotated[UUID, BeforeValidator(_plain_uuid)]


class _Received(BaseModel):
    """Received data: nothing is coerced, and undocumented fields are kept.

    `model_dump(by_alias=True)` gives the names of SERVICE.md, section 2.3.
    """

    model_config = ConfigDict(extra="allow", frozen=True)


class Offer(_Received):
    """One offer made to a lead. The amounts are Decimals that remember how they were written (`Amount`)."""

    offer_id: _Uuid = Field(alias="OfferId")
    you_will_get: _Amount = Field(alias="YouWillGet")
    you_will_repay: _Amount = Field(alias="YouWillRepay")
    currency: StrictStr = Field(alias="CurrencyISOCode", pattern="^[A-Z]{3}$")
    sweep: _Amount = Field(alias="Sweep")


class OffersProvided(_Received):
    """The properties of the event ONB10011."""

    lead_id: _Uuid = Field(alias="LeadId")
    offers: tuple[Offer, ...] = Field(alias="Offers")


class Notification(_Received):
    """One notification. `properties` are as received, for every code.

    `offers_provided` is the typed view of the properties of ONB10011. It is None for other codes, whose properties are
    not documented, and for an ONB10011 that is not as documented; `mistakes` then lists what is wrong with it.
    """

    event_code: StrictStr = Field(alias="EventCode")
    message: StrictStr = Field(alias="Message")
    properties: dict[str, Any] = Field(alias="EventProperties")
    _offers_provided: OffersProvided | None = PrivateAttr(default=None)
    _mistakes: tuple[str, ...] = PrivateAttr(default=())

    @model_validator(mode="after")
    def _read_properties(self) -> Self:
        if self.event_code == OFFERS_PROVIDED:
            try:
                self._offers_provided = OffersProvided.model_validate(self.properties)
            except ValidationError as problem:
                self._mistakes = _mistakes_in(problem, "EventProperties.")
        return self

    @property
    def offers_provided(self) -> OffersProvided | None:
        return self._offers_provided

    @property
    def mistakes(self) -> tuple[str, ...]:
        return self._mistakes


def parse_notification(body: bytes) -> Notification:
    """The notification in a request body. Numbers that are not whole come as Decimal, so that none is rounded.

    Raises ServiceError for what is not a JSON object with the three fields of SERVICE.md, section 2.3; its text
    holds nothing of the body but the names of documented fields.
    """
    try:
        document = json.loads(body.decode(), parse_int=_whole, parse_float=Decimal, parse_constant=_refuse_constant)
    except (ValueError, InvalidOperation, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise ServiceError("not a JSON object", where="notification")
    try:
        return Notification.model_validate(document)
    except ValidationError as problem:
        mistakes = "; ".join(_mistakes_in(problem))
    # Outside of the handler, since the validation error holds the body.
    raise ServiceError(f"not as documented: {mistakes}", where="notification")


def _mistakes_in(problem: ValidationError, above: str = "") -> tuple[str, ...]:
    errors = problem.errors(include_url=False, include_input=False, include_context=False)
    return tuple(f"{above}{_path(error)} {_fault(error)}" for error in errors[:_MISTAKES_SHOWN])


def _path(error: ErrorDetails) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error["loc"]).removeprefix(".")


def _fault(error: ErrorDetails) -> str:
    match error["type"]:
        case "missing":
            return "is missing"
        case "value_error":
            return error["msg"].removeprefix("Value error, ")
        case "string_pattern_mismatch":
            return "is not three capital letters"
        case "string_type":
            return "is not a string"
        case "tuple_type":
            return "is not an array"
        case _:
            return "is not an object"


def _whole(text: str) -> int | Decimal:
    return int(text) if len(text) <= _INT_DIGITS else Decimal(text)


def _refuse_constant(name: str) -> NoReturn:
    """Python accepts NaN and Infinity; JSON has neither."""
    raise ValueError(name)
