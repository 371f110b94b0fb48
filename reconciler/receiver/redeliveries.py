"""Which notifications were delivered before: the service retries what was not confirmed in time."""

from collections import OrderedDict
from hashlib import sha256
from threading import Lock

from msgspec import Struct

_CAPACITY = 50_000


class _Known(Struct):
    """The deliveries of one notification so far. `confirmed`: it is in the capture file, or about to be."""

    deliveries: int = 0
    confirmed: bool = False


class Redeliveries:
    """Deliveries by body and path, from any number of threads, of the last `capacity` notifications."""

    def __init__(self, capacity: int = _CAPACITY) -> None:
        self._capacity = capacity
        self._known: OrderedDict[bytes, _Known] = OrderedDict()
        self._lock = Lock()

    def count(self, target: str, body: bytes) -> int:
        """The number of this delivery of the notification, from 1."""
        with self._lock:
            known = self._find(target, body)
            known.deliveries += 1
            return known.deliveries

    def confirm(self, target: str, body: bytes) -> bool:
        """Mark a notification as confirmed; returns whether it was confirmed before."""
        with self._lock:
            known = self._find(target, body)
            before, known.confirmed = known.confirmed, True
            return before

    def withdraw(self, target: str, body: bytes) -> None:
        """Unmark a notification that could not be saved."""
        with self._lock:
            self._find(target, body).confirmed = False

    def _find(self, target: str, body: bytes) -> _Known:
        digest = sha256(body)
        digest.update(target.encode(errors="surrogatepass"))
        digest.update(len(body).to_bytes(8))
        key = digest.digest()
        known = self._known.setdefault(key, _Known())
        self._known.move_to_end(key)
        if len(self._known) > self._capacity:
            self._known.popitem(last=False)
        return known
