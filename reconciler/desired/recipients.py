"""`recipients:` the age keys that responses are sealed to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from reconciler.desired import shapes
from reconciler.desired.mistakes import Mistakes, place

if TYPE_CHECKING:
    from reconciler.desired.nodes import Node

_RECIPIENT = re.compile("age1[0-9a-z]{58}")


def read(node: Node, mistakes: Mistakes) -> tuple[str, ...]:
    """The recipients in the order in which they are given. None is ever shown: it might be the secret half."""
    items = shapes.items(node, "recipients", mistakes)
    if items == []:
        mistakes.add(place(node), "recipients is empty", "add one, or remove the key")
    recipients: dict[str, Node] = {}
    for item in items or []:
        recipient = shapes.text(item, "recipients", mistakes)
        if recipient is None:
            continue
        remedy = _refusal(recipient)
        if remedy:
            mistakes.add(place(item), "recipients: not an age X25519 public key", remedy)
        elif recipients.setdefault(recipient, item) is not item:
            what = f"duplicate recipient: already listed at {place(recipients[recipient])}"
            mistakes.add(place(item), what, "remove one of them")
    return tuple(recipients)


def _refusal(recipient: str) -> str | None:
    """What to do about a text that nothing can be sealed to; None where it is a recipient."""
    if not _RECIPIENT.fullmatch(recipient):  # age takes it in capitals too: one key would then be two recipients
        return "use the public key (age1 and 58 characters), never the secret key"
    import pyrage  # type: ignore[import-untyped]  # noqa: PLC0415 - most starts need not pay for it

    try:
        pyrage.x25519.Recipient.from_str(recipient)
    except pyrage.RecipientError:
        return "its checksum does not match (a typo?); copy the line that `age-keygen -y` prints"
    return None
