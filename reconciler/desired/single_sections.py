"""The sections that can be given only once: `recipients:`, `verification:` and `parity:`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from reconciler.desired import shapes
from reconciler.desired.mistakes import Mistakes, place, shown
from reconciler.model.address import ADDRESS_PATTERN, NAME
from reconciler.model.desired import ALGORITHMS, ENCODINGS, KEY_ENCODINGS, ParityException, Verification

if TYPE_CHECKING:
    from reconciler.desired.nodes import Node

RECIPIENT = "age1[0-9a-z]{58}"

_WORDS: Final = {"algorithm": tuple(ALGORITHMS), "encoding": ENCODINGS, "key_encoding": KEY_ENCODINGS}
VERIFICATION_KEYS: Final = ("header", "algorithm", "prefix", "encoding", "key_encoding", "content", "enforce")
_REQUIRED: Final = ("header", "algorithm")

TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # noqa: S105 - what RFC 9110, section 5.6.2, calls a token
CONTENT = rf"(?:[^{{}}]|\{{header:{TOKEN}\}})*\{{body\}}(?:[^{{}}]|\{{header:{TOKEN}\}})*"
PREFIX = "[ -~]*"

PARITY_KEYS: Final = ("address", "reason")


def read_recipients(node: Node, mistakes: Mistakes) -> tuple[str, ...]:
    """The recipients in the order in which they are given. None is ever shown: it might be the secret half."""
    items = shapes.items(node, "recipients", mistakes)
    if items == []:
        mistakes.add(place(node), "recipients is empty", "add one, or remove the key")
    listed: dict[str, Node] = {}
    for item in items or []:
        recipient = shapes.text(item, "recipients", mistakes)
        if recipient is None:
            continue
        remedy = recipient_remedy(recipient)
        if remedy:
            mistakes.add(place(item), "recipients: not an age X25519 public key", remedy)
        elif listed.setdefault(recipient, item) is not item:
            what = f"duplicate recipient: already listed at {place(listed[recipient])}"
            mistakes.add(place(item), what, "remove one of them")
    return tuple(listed)


def recipient_remedy(recipient: str) -> str | None:
    """What to do about a text that nothing can be sealed to; None where it is a recipient."""
    if not re.fullmatch(RECIPIENT, recipient):  # age takes it in capitals too: one key would then be two recipients
        return "use the public key (age1 and 58 characters), never the secret key"
    import pyrage  # type: ignore[import-untyped]  # noqa: PLC0415 - most starts need not pay for it

    try:
        pyrage.x25519.Recipient.from_str(recipient)
    except pyrage.RecipientError:
        return "its checksum does not match (a typo?); copy the line that `age-keygen -y` prints"
    return None


def read_verification(node: Node, mistakes: Mistakes) -> Verification | None:
    """How notifications are signed; None where that has a mistake."""
    given = shapes.fields(node, "verification", VERIFICATION_KEYS, mistakes)
    if given is None:
        return None
    missing = [field for field in _REQUIRED if field not in given]
    for field in missing:
        mistakes.add(place(node), f"verification: missing {field}", f"add `{field}`")
    values = {field: _verification_value(field, value, mistakes) for field, value in given.items()}
    if missing or None in values.values():
        return None
    return Verification(**values)  # type: ignore[arg-type]  # each field was read as what it is


def _verification_value(field: str, node: Node, mistakes: Mistakes) -> str | bool | None:
    match field:
        case "enforce":
            return _flag(node, mistakes)
        case "header":
            return _matching(field, node, TOKEN, "use an HTTP header name", mistakes)
        case "prefix":
            return _matching(field, node, PREFIX, "use printable ASCII", mistakes)
        case "content":
            remedy = "use {body} exactly once; otherwise only {header:NAME} and text without braces"
            return _matching(field, node, CONTENT, remedy, mistakes)
        case _:
            return shapes.choice(node, field, _WORDS[field], mistakes)


def _flag(node: Node, mistakes: Mistakes) -> bool | None:
    if shapes.is_plain(node, "true") or shapes.is_plain(node, "false"):
        return shapes.is_plain(node, "true")
    if shapes.text(node, "enforce", mistakes) is not None:
        mistakes.add(place(node), "enforce: invalid value", "expected true or false, without quotes")
    return None


def _matching(field: str, node: Node, rule: str, remedy: str, mistakes: Mistakes) -> str | None:
    value = shapes.text(node, field, mistakes)
    if value is None or re.fullmatch(rule, value):
        return value
    mistakes.add(place(node), f"{field}: invalid value {shown(value)}", remedy)
    return None


def read_parity(node: Node, mistakes: Mistakes) -> tuple[ParityException, ...]:
    """The exceptions under `parity: {ignore: […]}`, in the order in which they are given."""
    given = shapes.fields(node, "parity", ("ignore",), mistakes)
    if given is None or "ignore" not in given:
        return ()
    items = shapes.items(given["ignore"], "ignore", mistakes) or []
    exceptions = (_exception(item, mistakes) for item in items)
    return tuple(exception for exception in exceptions if exception is not None)


def _exception(node: Node, mistakes: Mistakes) -> ParityException | None:
    given = shapes.fields(node, "ignore", PARITY_KEYS, mistakes)
    if given is None:
        return None
    for field in PARITY_KEYS:
        if field not in given:
            mistakes.add(place(node), f"ignore: the exception is missing {field}", f"add `{field}`")
    address = _address(given["address"], mistakes) if "address" in given else None
    reason = _reason(given["reason"], mistakes) if "reason" in given else None
    return ParityException(address, reason, place(node)) if address and reason else None


def _address(node: Node, mistakes: Mistakes) -> str | None:
    address = shapes.text(node, "address", mistakes)
    if address is None or ADDRESS_PATTERN.fullmatch(address) or NAME.fullmatch(address):
        return address
    what = f"address: expected region/environment/name or a name, got {shown(address)}"
    mistakes.add(place(node), what, "for example: europe/staging/offers, */staging/offers or offers")
    return None


def _reason(node: Node, mistakes: Mistakes) -> str | None:
    reason = shapes.text(node, "reason", mistakes)
    words = " ".join((reason or "").split())
    if reason is not None and not (words and words.isprintable()):
        mistakes.add(place(node), "reason: expected printable text", "explain why the two may differ")
        return None
    return reason
