"""`parity:` the differences between targets that are meant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reconciler.desired import shapes
from reconciler.desired.mistakes import Mistakes, place, shown
from reconciler.model.address import ADDRESS_PATTERN, NAME
from reconciler.model.desired import ParityException

if TYPE_CHECKING:
    from reconciler.desired.nodes import Node

_KEYS: Final = ("address", "reason")


def read(node: Node, mistakes: Mistakes) -> tuple[ParityException, ...]:
    """The exceptions under `parity: {ignore: […]}`, in the order in which they are given."""
    given = shapes.fields(node, "parity", ("ignore",), mistakes)
    if given is None or "ignore" not in given:
        return ()
    items = shapes.items(given["ignore"], "ignore", mistakes) or []
    exceptions = (_exception(item, mistakes) for item in items)
    return tuple(exception for exception in exceptions if exception is not None)


def _exception(node: Node, mistakes: Mistakes) -> ParityException | None:
    given = shapes.fields(node, "ignore", _KEYS, mistakes)
    if given is None:
        return None
    for field in _KEYS:
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
