"""Printing deliveries: formatted on a terminal, otherwise each as one line of JSON."""

from __future__ import annotations

import json
import re
import sys
from queue import SimpleQueue
from threading import Semaphore, Thread
from time import sleep
from typing import TYPE_CHECKING

from reconciler.errors import Interrupted, ServiceError
from reconciler.notifications.notification import parse_notification
from reconciler.operations.interrupts import interrupts
from reconciler.reports.visible import visible

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from reconciler.cli.terminal.terminal import Terminal
    from reconciler.notifications.notification import Notification, OffersProvided
    from reconciler.receiver.endpoint import Answer
    from reconciler.receiver.receiver import Delivery

_QUEUE_LIMIT = 1000
_PATIENCE = 5.0  # seconds for a reader of stdout to make room
_MOST_LINES = 200
_BEYOND_ASCII = re.compile("[^\x00-\x7f]+")


class DeliveryPrinter:
    """Prints deliveries to stdout in a thread of its own, so that answers do not wait for a slow reader."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._print = _print_function(terminal)
        self._queue: SimpleQueue[Delivery | None] = SimpleQueue()
        self._room = Semaphore(_QUEUE_LIMIT)
        self._dropped = 0
        self._problem: Exception | None = None
        self._thread = Thread(target=self._print_all, name="delivery-printer", daemon=True)

    def add(self, delivery: Delivery) -> None:
        """Have a delivery printed; it is dropped if stdout stays blocked, since answers would wait for it."""
        if self._room.acquire(timeout=_PATIENCE):
            self._queue.put(delivery)
        else:
            self._dropped += 1

    def wait(self) -> None:
        """Wait for a signal, and raise Interrupted; or until deliveries can no longer be printed."""
        with interrupts(lambda: None) as signals:
            while not signals and self._thread.is_alive():
                sleep(0.1)
        if signals:
            raise Interrupted(signals[0])

    def _print_all(self) -> None:
        try:
            for delivery in iter(self._queue.get, None):
                self._room.release()
                self._print(delivery)
                if self._terminal.reader_has_left():
                    return
        except Exception as problem:  # noqa: BLE001 - raised where the command ends
            self._problem = problem

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: object) -> None:
        """Print what is left, and raise what stopped the thread."""
        self._queue.put(None)
        self._terminal.wait_for_reader(self._thread, "stdout")
        if self._thread.is_alive():
            self._terminal.warn(
                "some deliveries were not printed because standard output was blocked; all confirmed deliveries are"
                " saved"
            )
        if self._dropped:
            self._terminal.warn(f"{self._dropped} deliveries were not printed because standard output was blocked")
        if self._problem is not None and kind is None:
            raise self._problem


def _print_function(terminal: Terminal) -> Callable[[Delivery], None]:
    if not sys.stdout.isatty():
        return lambda delivery: terminal.print_document(delivery_line(delivery))
    from rich.console import Console  # noqa: PLC0415 - of no use without a terminal

    console = Console(color_system="auto" if terminal.wants_colour() else None, highlight=False)
    return lambda delivery: _print(console, delivery)


def delivery_line(delivery: Delivery) -> str:
    """A delivery as a line of JSON, pure ASCII. It contains the notification as received, but for white space."""
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
        **({} if delivery.endpoint is None else {"endpoint": _endpoint_fields(delivery.endpoint)}),
    }
    line = f'{json.dumps(document)[:-1]}, "notification": {_embedded(delivery)}}}'
    return line.replace("##[", r"##\u005b")  # only a string can contain it, and a runner of Actions would execute it


def _endpoint_fields(answer: Answer) -> dict[str, object]:
    return {"status": answer.status, "milliseconds": answer.milliseconds, "problem": answer.problem}


def _embedded(delivery: Delivery) -> str:
    """The body as JSON on one line; null for a request that was refused unread."""
    if delivery.number is None:
        return "null"
    # A line break can only be outside of strings, and a character beyond ASCII only within them.
    text = delivery.request.body.decode().replace("\r", " ").replace("\n", " ")
    return _BEYOND_ASCII.sub(lambda found: json.dumps(found[0])[1:-1], text)


def _read(delivery: Delivery) -> tuple[Notification | None, list[str]]:
    """The notification, and how it differs from what is documented."""
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
        return delivery.method or "not an HTTP request"
    return f"{notification.event_code} {notification.message}"


def _remarks(delivery: Delivery) -> str:
    verified = {True: "verified", False: "unverified", None: ""}[delivery.request.verified]
    retried = f"delivery {delivery.number}" if (delivery.number or 1) > 1 else ""
    duplicate = "duplicate" if delivery.request.duplicate else ""
    answer = delivery.endpoint
    passed_on = f"endpoint: {answer.text}" if answer else ""
    return "".join(f"  {remark}" for remark in (verified, retried, duplicate, passed_on) if remark)


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
