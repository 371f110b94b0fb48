"""The JSON Schema of a file in `config/`, for editors: the loader's rules, as far as one file shows them.

A file that the loader accepts is valid under it. Mistakes that only show when all files are merged, in the YAML source
(a key twice, an anchor, `~` for `null`) or in the environment are for `reconciler validate`.
"""

from __future__ import annotations

from typing import Any, Final

from reconciler.desired.patches import CODE
from reconciler.desired.single_sections import CONTENT, PREFIX, RECIPIENT, TOKEN
from reconciler.desired.targets import RESERVED
from reconciler.desired.templates import VARIABLE
from reconciler.model.address import ADDRESS_PATTERN, NAME, TARGET, TARGET_PATTERN
from reconciler.model.desired import ALGORITHMS, ENCODINGS, KEY_ENCODINGS, Overlap, Replace

_LOOPBACK: Final = r"(([A-Za-z0-9_-]+\.)*[Ll][Oo][Cc][Aa][Ll][Hh][Oo][Ss][Tt]|127\.[0-9.]+|\[[0-9A-Fa-f:.]+\])"
_SERVER: Final = (
    r"([Hh][Tt][Tt][Pp][Ss]://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])|[Hh][Tt][Tt][Pp]://" + _LOOPBACK + ")(:[0-9]{1,5})?"
)
_BASE_URL: Final = _SERVER + '(/[!"$->@-~]*)?'
_URL: Final = _SERVER + '([/?][!"$-~]*)?'

_TEMPLATE: Final = rf"([^{{}}]|\{{\{{|\}}\}}|\{{{VARIABLE}\}})*"

_SCALAR: Final = ["string", "number", "boolean"]
"""Text that may read like a number or a boolean: the loader takes scalars as they are written."""

_Schema = dict[str, Any]


def schema() -> _Schema:
    """The schema, as a JSON document of draft 7, which the YAML language server of most editors reads."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "A file in the config/ of reconciler",
        "type": ["object", "null"],
        "additionalProperties": False,
        "properties": {
            "targets": _named(TARGET.pattern, _target(), "Where the service is: region/environment and its addresses."),
            "subscriptions": _named(
                TARGET_PATTERN.pattern,
                _named(NAME.pattern, _subscription(), "Subscriptions by name; null excludes one."),
                "Desired subscriptions by target or pattern: region/environment, either may be *.",
            ),
            "recipients": {
                "description": "age public keys to encrypt create responses to.",
                "type": "array",
                "minItems": 1,
                "uniqueItems": True,
                "items": _string(RECIPIENT),
            },
            "verification": _verification(),
            "parity": _parity(),
        },
    }


def _target() -> _Schema:
    return _mapping(
        {
            "auth_url": _string(_BASE_URL, "Tokens: POST {auth_url}/oauth/token."),
            "base_url": _string(_BASE_URL, "Subscriptions: POST {base_url}/notification/webhooksubscription."),
            "audience_base": _string(_BASE_URL, "A token's audience: {audience_base}/{api_name}; default: base_url."),
            "vars": {
                "description": "Your own variables, for webhookUrl.",
                "type": "object",
                "propertyNames": {"pattern": f"^{VARIABLE}$", "not": {"enum": sorted(RESERVED)}},
                "additionalProperties": {"type": _SCALAR},
            },
            "overlap": _word(
                Overlap, "May two subscriptions of one service have the same event code? Default: refuse."
            ),
            "replace": _word(
                Replace,
                "If a URL changes: overlap (default) creates the new subscription beside the old one; wait creates it"
                " after the old one is removed.",
            ),
        }
    )


def _subscription() -> _Schema:
    fields = _mapping(
        {
            "eventCodes": {
                "description": "Three capital letters and five digits each, such as ONB10011.",
                "type": "array",
                "minItems": 1,
                "uniqueItems": True,
                "items": _string(CODE.pattern),
            },
            "webhookUrl": {
                "description": "Where notifications are sent: {region}, {environment}, {name} and the target's vars"
                " are substituted.",
                "type": "string",
                "allOf": [{"pattern": f"^{_TEMPLATE}$"}, {"anyOf": [{"pattern": "[{}]"}, {"pattern": f"^{_URL}$"}]}],
            },
        }
    )
    return {**fields, "type": ["object", "null"]}


def _verification() -> _Schema:
    fields = _mapping(
        {
            "header": _scalar(TOKEN, "The HTTP header that has the signature."),
            "algorithm": _word(ALGORITHMS, "How the signature is computed."),
            "prefix": _scalar(PREFIX, "What precedes the signature in the header."),
            "encoding": _word(ENCODINGS, "Of the signature. Default: hex."),
            "key_encoding": _word(KEY_ENCODINGS, "Of the secret. Default: utf8."),
            "content": _string(CONTENT, "What is signed: {body}, {header:NAME} and text. Default: {body}."),
            "enforce": {"description": "Refuse what is not signed. Default: true.", "type": "boolean"},
        }
    )
    return {**fields, "description": "How notifications are signed.", "required": ["header", "algorithm"]}


def _parity() -> _Schema:
    exception = _mapping(
        {
            "address": _scalar(
                f"({ADDRESS_PATTERN.pattern}|{NAME.pattern})", "region/environment/name, where * matches, or a name."
            ),
            "reason": {"description": "Why the two may differ.", "type": _SCALAR, "pattern": r"\S"},
        }
    )
    ignored = {"type": "array", "items": {**exception, "required": ["address", "reason"]}}
    return {**_mapping({"ignore": ignored}), "description": "Intended differences between targets."}


def _mapping(properties: _Schema) -> _Schema:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _named(pattern: str, value: _Schema, description: str) -> _Schema:
    """A mapping whose keys are the user's own, in this spelling."""
    return {
        "description": description,
        "type": "object",
        "additionalProperties": False,
        "patternProperties": {f"^{pattern}$": value},
    }


def _word(allowed: Any, description: str) -> _Schema:
    return {"description": description, "enum": [str(word) for word in allowed]}


def _string(pattern: str, description: str | None = None) -> _Schema:
    explained = {} if description is None else {"description": description}
    return {**explained, "type": "string", "pattern": f"^{pattern}$"}


def _scalar(pattern: str, description: str) -> _Schema:
    return {**_string(pattern, description), "type": _SCALAR}
