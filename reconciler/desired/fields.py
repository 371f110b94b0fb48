"""The table of all keys in `config/`. The reader, its messages and the JSON Schema are derived from it."""

from __future__ import annotations

import re
from enum import Enum
from typing import Any, Final

from msgspec import Struct

from reconciler.model.address import ADDRESS_PATTERN, NAME, SPELLING, TARGET, TARGET_PATTERN
from reconciler.model.desired import ALGORITHMS, ENCODINGS, KEY_ENCODINGS, Overlap, Replace, Unknown


class Shape(Enum):
    """The shape of a value. The keys of a MAPPING are fixed; the user chooses the keys of NAMES."""

    TEXT, FLAG, LIST, MAPPING, NAMES = range(5)


class Field(Struct, frozen=True):
    """A key: its name, and the shape and meaning of its value.

    - `pattern` is a regular expression for the text or for the keys of NAMES; `expected` describes it in words.
    - `remedy` says how to correct a wrong value.
    - `words` are the allowed words, and `keys` the keys of a MAPPING.
    - `item` describes each element of a LIST, or each value of NAMES.
    - `required` is true if the mapping must have the key; `nullable` is true if `null` is a valid value.
    """

    name: str
    shape: Shape = Shape.TEXT
    description: str = ""
    pattern: str = ".*"
    expected: str = ""
    remedy: str = ""
    words: tuple[str, ...] = ()
    keys: tuple[Field, ...] = ()
    item: Field | None = None
    required: bool = False
    nullable: bool = False

    @property
    def known(self) -> dict[str, Field]:
        """Return the keys of a MAPPING by name."""
        return {key.name: key for key in self.keys}


_TEXT, _FLAG, _LIST, _MAPPING, _NAMES = Shape

RESERVED: Final = ("attempt", "environment", "name", "region")
"""The variables that every webhook URL has."""

VARIABLE: Final = "[a-z][a-z0-9_]*"
"""The name of a variable, as a regular expression."""

FAMILIES: Final = ("LOA", "ONB")
"""The documented prefixes of event codes; other codes get a warning."""

_HOST = r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])"
_LOOPBACK = r"(([A-Za-z0-9_-]+\.)*[Ll][Oo][Cc][Aa][Ll][Hh][Oo][Ss][Tt]|127\.[0-9.]+|\[[0-9A-Fa-f:.]+\])"
_SERVER = rf"([Hh][Tt][Tt][Pp][Ss]://{_HOST}|[Hh][Tt][Tt][Pp]://{_LOOPBACK})(:[0-9]{{1,5}})?"
_BASE_URL = _SERVER + '(/[!"$->@-~]*)?'
_TEMPLATE = rf"([^{{}}]|\{{\{{|\}}\}}|\{{{VARIABLE}\}})*"
_WEBHOOK_URL = (
    r"(?!.*\{attempt\}.*\{attempt\})"
    rf"((?=[^{{}}]*$){_SERVER}([/?][!\"$-~]*)?|(?=[^{{}}]*[{{}}]){_TEMPLATE})"
)

CODE: Final = Field(
    "eventCodes", _TEXT, "", "[A-Z]{3}[0-9]{5}", "three capital letters and five digits", "for example: ONB10011"
)
EVENT_CODES: Final = Field("eventCodes", _LIST, "The events to be notified of, such as ONB10011.", item=CODE)
WEBHOOK_URL: Final = Field(
    "webhookUrl", _TEXT,
    "Where notifications are sent; {region}, {environment}, {name}, {attempt} and the target's vars are substituted.",
    _WEBHOOK_URL, "", "use {region}, {environment}, {name}, {attempt} or a variable of the target; write {{ and }} for"
    " literal braces",
)  # fmt: skip
SUBSCRIPTION: Final = Field("a subscription", _MAPPING, keys=(EVENT_CODES, WEBHOOK_URL), nullable=True)
PATTERN: Final = Field(
    "a pattern", _NAMES, "Subscriptions by name; null excludes one.",
    NAME.pattern, "a subscription name", SPELLING, item=SUBSCRIPTION,
)  # fmt: skip
SUBSCRIPTIONS: Final = Field(
    "subscriptions", _NAMES, "Desired subscriptions by target or pattern: region/environment; either part may be *.",
    TARGET_PATTERN.pattern, "a pattern region/environment (either may be *)", SPELLING, item=PATTERN,
)  # fmt: skip

AUTH_URL: Final = Field("auth_url", _TEXT, "Tokens: POST {auth_url}/oauth/token.", _BASE_URL)
BASE_URL: Final = Field(
    "base_url", _TEXT, "Subscriptions: POST {base_url}/notification/webhooksubscription.", _BASE_URL
)
AUDIENCE_BASE: Final = Field(
    "audience_base", _TEXT, "A token's audience: {audience_base}/{api_name}; default: base_url.", _BASE_URL
)
VARS: Final = Field(
    "vars", _NAMES, "Your own variables, for webhookUrl.", f"(?!({'|'.join(RESERVED)})$){VARIABLE}", "a variable name",
    f"use a-z, 0-9 and _, starting with a letter; {', '.join(RESERVED)} are reserved",
    item=Field("vars", _TEXT, "", r"[\s\S]{0,2048}", "printable text of at most 2048 characters"),
)  # fmt: skip
OVERLAP: Final = Field(
    "overlap", _TEXT, "One event code in two subscriptions of one service: refuse (default) or allow.",
    words=tuple(Overlap),
)  # fmt: skip
REPLACE: Final = Field(
    "replace", _TEXT, "If a URL changes: overlap (default) creates the new subscription beside the old one; wait"
    " creates it after the old one is removed.", words=tuple(Replace),
)  # fmt: skip
UNKNOWN: Final = Field(
    "unknown", _TEXT, "If the outcome of a create is unknown: wait (default) for a person, or retry, for which every"
    " webhookUrl needs {attempt}.", words=tuple(Unknown),
)  # fmt: skip
TARGET_KEYS: Final = (AUTH_URL, BASE_URL, AUDIENCE_BASE, VARS, OVERLAP, REPLACE, UNKNOWN)
TARGETS: Final = Field(
    "targets", _NAMES, "The addresses of the service, by region/environment.", TARGET.pattern,
    "a target region/environment", SPELLING, item=Field("a target", _MAPPING, keys=TARGET_KEYS),
)  # fmt: skip

STATE: Final = Field(
    "state", _TEXT, "Where the record is: a file, git:BRANCH, s3://BUCKET/PREFIX, gs://…, az://…, postgresql://….",
    r"\S([\s\S]*\S)?", "a path or a URL", "for example: state.jsonl or git:reconciler-state",
)  # fmt: skip
RECORD: Final = Field(
    "record", _TEXT, "The id of the record, as `reconciler state init` prints it.", "[0-9a-f]{32}",
    "32 hexadecimal digits", "copy the id that `reconciler state init` prints",
)  # fmt: skip
RECIPIENT: Final = Field("recipients", pattern="age1[0-9a-z]{58}")
RECIPIENTS: Final = Field("recipients", _LIST, "age public keys, which encrypt create responses.", item=RECIPIENT)

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # noqa: S105 - a token of RFC 9110, section 5.6.2
_CONTENT = rf"([^{{}}]|\{{header:{_TOKEN}\}})*\{{body\}}([^{{}}]|\{{header:{_TOKEN}\}})*"
_SIGNATURE = (
    Field("header", _TEXT, "The HTTP header with the signature.", _TOKEN, "an HTTP header name", required=True),
    Field("algorithm", _TEXT, "How the signature is computed.", words=tuple(ALGORITHMS), required=True),
    Field("prefix", _TEXT, "Text before the signature in the header.", "[ -~]*", "printable ASCII"),
    Field("encoding", _TEXT, "The signature's encoding; default: hex.", words=ENCODINGS),
    Field("key_encoding", _TEXT, "The secret's encoding; default: utf8.", words=KEY_ENCODINGS),
    Field(
        "content", _TEXT, "The signed text: {body}, {header:NAME} and other text; default: {body}.", _CONTENT,
        "{body} exactly once; otherwise only {header:NAME} and text without braces",
    ),
    Field(
        "enforce", _FLAG, "Refuse notifications without a valid signature; default: true.", "true|false",
        "true or false, without quotes",
    ),
)  # fmt: skip
VERIFICATION: Final = Field("verification", _MAPPING, "How notifications are signed.", keys=_SIGNATURE)
_ADDRESS = Field(
    "address", _TEXT, "region/environment/name, of which each part may be *, or a name alone.",
    f"({ADDRESS_PATTERN.pattern}|{NAME.pattern})", "region/environment/name or a name",
    "for example: europe/staging/offers, */staging/offers or offers", required=True,
)  # fmt: skip
_REASON = Field("reason", _TEXT, "Why this is intended.", r"[\s\S]*\S[\s\S]*", "printable text", required=True)
IGNORED: Final = Field("ignore", _MAPPING, keys=(_ADDRESS, _REASON))
IGNORE: Final = Field("ignore", _LIST, "Exceptions, each with an address and a reason.", item=IGNORED)
PARITY: Final = Field("parity", _MAPPING, "Intended differences between targets.", keys=(IGNORE,))

_SECTIONS = (STATE, RECORD, TARGETS, SUBSCRIPTIONS, RECIPIENTS, VERIFICATION, PARITY)
FILE: Final = Field("a file", _MAPPING, keys=_SECTIONS)


_SCALAR = ["string", "number", "boolean"]
"""The JSON types of text that may look like a number or a boolean. The loader reads all scalars as text."""


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 7, which most editors' YAML language servers read) as a document."""
    root = _schema_of(FILE)
    head = {"$schema": "http://json-schema.org/draft-07/schema#", "title": "A file in the config/ of reconciler"}
    return {**head, **root, "type": ["object", "null"]}


def _schema_of(field: Field) -> dict[str, Any]:
    schema: dict[str, Any] = {"description": field.description} if field.description else {}
    match field.shape:
        case Shape.TEXT if field.words:
            schema["enum"] = list(map(str, field.words))
        case Shape.TEXT:
            like_number = any(re.fullmatch(field.pattern, digits) for digits in ("1", "1" * 32))
            schema |= {"type": _SCALAR if like_number else "string", "pattern": f"^({field.pattern})$"}
        case Shape.FLAG:
            schema["type"] = "boolean"
        case Shape.LIST if field.item:
            schema |= {"type": "array", "items": _schema_of(field.item)}
            if field.item.shape is Shape.TEXT:
                schema |= {"minItems": 1, "uniqueItems": True}
        case Shape.NAMES if field.item:
            named = {f"^({field.pattern})$": _schema_of(field.item)}
            schema |= {"type": "object", "additionalProperties": False, "patternProperties": named}
        case Shape.MAPPING:
            schema |= {"type": ["object", "null"] if field.nullable else "object", "additionalProperties": False}
            schema["properties"] = {name: _schema_of(key) for name, key in field.known.items()}
            schema["required"] = [key.name for key in field.keys if key.required]
        case _:
            raise AssertionError(field.name)
    return schema
