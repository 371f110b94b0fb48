"""How a delivery is shown: for people on a terminal, as a line of JSON off one."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING

from reconciler.errors import ServiceError
from reconciler.reports.visible import visible
from reconciler.service.notifications import parse_notification

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from reconciler.cli.terminal.terminal import Terminal
    from reconciler.receiver.receiver import Delivery
    from reconciler.service.notifications import Notification, OffersProvided

_MOST_LINES = 200
_BEYOND_ASCII = re.compile("[^\x00-\x7f]+")


def deliveries_shown(terminal: Terminal) -> Callable[[Delivery], None]:
    """What shows a delivery on stdout."""
    if not sys.stdout.isatty():
        return lambda delivery: terminal.print_document(delivery_line(delivery))
    from rich.console import Console  # noqa: PLC0415 - only where a terminal is there to see it

    console = Console(color_system="auto" if terminal.wants_colour() else None, highlight=False)
    return lambda delivery: _print(console, delivery)


def delivery_line(delivery: Delivery) -> str:
    """A delivery as a line of JSON, pure ASCII. The notification is in it to the letter, but for white space."""
    notification, mistakes = _read(delivery)
    request = delivery.request
    document = {
        "at": request.at,
        "method": delivery.method,
        "path": request.path,
        "status": delivery.status,
        "delivery": delivery.number,
        "duplicate": request.duplicate,
        "verified": request.verified,
        "problem": delivery.problem,
        "eventCode": None if notification is None else notification.event_code,
        "mistakes": mistakes,
    }
    line = f'{json.dumps(document)[:-1]}, "notification": {_embedded(delivery)}}}'
    return line.replace("##[", r"##\u005b")  # which can stand in a string only, and commands a runner of Actions


def _embedded(delivery: Delivery) -> str:
    """The body as JSON on one line; null for what was refused before it was read."""
    if delivery.number is None:
        return "null"
    # Outside of strings alone can there be a line break, and within strings alone a letter beyond ASCII.
    text = delivery.request.body.decode().replace("\r", " ").replace("\n", " ")
    return _BEYOND_ASCII.sub(lambda found: json.dumps(found[0])[1:-1], text)


def _read(delivery: Delivery) -> tuple[Notification | None, list[str]]:
    """The notification, and what is not as documented about it."""
    if delivery.number is None:
        return None, []
    try:
        notification = parse_notification(delivery.request.body)
    except ServiceError as problem:
        return None, [problem.what]
    return notification, list(notification.mistakes)


def _print(console: Console, delivery: Delivery) -> None:
    notification, mistakes = _read(delivery)
    _print_head(console, delivery, notification)
    for text in [*([delivery.problem] if delivery.problem else []), *mistakes]:
        _print_line(console, f"    {visible(text)}", "yellow")
    if notification is not None and notification.offers_provided is not None:
        _print_offers(console, notification.offers_provided)
    elif delivery.number is not None:
        _print_body(console, delivery.request.body.decode() if notification is None else _properties(notification))


def _print_head(console: Console, delivery: Delivery, notification: Notification | None) -> None:
    from rich.text import Text  # noqa: PLC0415

    request = delivery.request
    head = Text(f"{request.at[11:19]}  {delivery.status}  ", "green" if 200 <= delivery.status < 300 else "red")
    head.append(visible(_title(delivery, notification)), "bold").append(f"  {visible(request.path)}", "default")
    console.print(head.append(_remarks(delivery), "yellow"), soft_wrap=True)


def _print_line(console: Console, text: str, style: str) -> None:
    from rich.text import Text  # noqa: PLC0415

    console.print(Text(text, style), soft_wrap=True)


def _title(delivery: Delivery, notification: Notification | None) -> str:
    if notification is None:
        return delivery.method or "no request"
    return f"{notification.event_code} {notification.message}"


def _remarks(delivery: Delivery) -> str:
    verified = {True: "verified", False: "not verified", None: ""}[delivery.request.verified]
    repeated = f"delivery {delivery.number}" if (delivery.number or 1) > 1 else ""
    duplicate = "duplicate" if delivery.request.duplicate else ""
    return "".join(f"  {one}" for one in (verified, repeated, duplicate) if one)


def _print_offers(console: Console, provided: OffersProvided) -> None:
    from rich.padding import Padding  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    table = Table("OfferId", box=None, pad_edge=False)
    for name in ("YouWillGet", "YouWillRepay", "Sweep"):
        table.add_column(name, justify="right")
    for offer in provided.offers[:_MOST_LINES]:
        amounts = (offer.you_will_get, offer.you_will_repay)
        shown = [f"{amount.text} {offer.currency}" for amount in amounts]
        table.add_row(str(offer.offer_id), *shown, offer.sweep.text)
    _print_line(console, f"    LeadId {provided.lead_id}", "default")
    console.print(Padding(table, (0, 0, 0, 4)))
    _print_rest(console, len(provided.offers))


def _properties(notification: Notification) -> str:
    return json.dumps(notification.properties, indent=2, ensure_ascii=False, default=str)


def _print_body(console: Console, text: str) -> None:
    lines = text.split("\n")
    for line in lines[:_MOST_LINES]:
        _print_line(console, f"    {visible(line)}", "dim")
    _print_rest(console, len(lines))


def _print_rest(console: Console, count: int) -> None:
    if count > _MOST_LINES:
        _print_line(console, f"    … and {count - _MOST_LINES} more", "dim")
