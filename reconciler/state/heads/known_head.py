"""The last known head of one record, and the file on this machine that remembers it."""

from __future__ import annotations

import json
import os
import shlex
from errno import ELOOP
from typing import TYPE_CHECKING

from msgspec import Struct

from reconciler.disk.durable import open_regular
from reconciler.errors import SettingsError
from reconciler.model.address import TargetName
from reconciler.model.url import same_service
from reconciler.state.journal.chain import count_entries

if TYPE_CHECKING:
    from pathlib import Path

    from reconciler.state.stores.store import StoreLocation

_LIMIT = 1 << 20
"""Bytes of such a file that are read; one with the most locations remembered has a few thousand."""


class KnownHead(Struct, frozen=True):
    """The last known head of one record: the hash of its `entries`-th line, and the store it was read from.

    `resolved` is `location` with its symbolic links resolved at that time: either may be missing now.
    `base_url` is the service the record was bound to, "" if an earlier version did not write it. `places` are the
    locations of other stores that the record was seen in, such as clones of one repository.
    """

    record: str
    target: TargetName
    head: str
    entries: int
    location: str
    resolved: str = ""
    base_url: str = ""
    places: tuple[str, ...] = ()

    @property
    def length(self) -> str:
        """The number of its entries, in words."""
        return count_entries(self.entries)

    @property
    def read_here(self) -> bool:
        """Whether this machine has read it, so that it was durable."""
        return True

    @property
    def source(self) -> str:
        """Who has seen it, in words."""
        return "on this machine"

    def was_at(self, place: StoreLocation) -> bool:
        """Whether it was seen in the store at `place`."""
        return place.has_any((self.location, self.resolved, *self.places))

    def elsewhere_than(self, place: StoreLocation) -> str:
        """What to try before a record that is missing at `place` is given up: where it was last seen, "" if there."""
        if place.has_any((self.location, self.resolved)):
            return ""
        return f"it was last seen at {self.location}: if it continues there, use that store with --state; "

    def concerns(self, base_url: str) -> bool:
        """Whether the record's subscriptions may exist at the service at `base_url`."""
        return not self.base_url or same_service(self.base_url, base_url)


def load_known_head(path: Path) -> KnownHead | None:
    """The head that a file remembers, None if the file does not exist.

    Raises SettingsError for a file that cannot be read: without it, an older record would pass.
    """
    try:
        descriptor = open_regular(path, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            size = min(os.fstat(descriptor).st_size, _LIMIT)  # a read takes memory for all that it may read
            return _from_fields(json.loads(os.read(descriptor, size)), path.stem)
        finally:
            os.close(descriptor)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as problem:
        trouble = "it is a symbolic link" if problem.errno == ELOOP else problem.strerror or str(problem)
    except (ValueError, RecursionError):
        trouble = "it is empty or contains something else"
    raise SettingsError(
        f"cannot read the last known head of state record {path.stem}: {trouble}",
        where=path,
        remedy="without it, a rolled back record cannot be detected; restore the file or its permissions; or verify"
        " that the record is complete (version control, a backup), then run:"
        f" rm -r {shlex.quote(str(path))}",
    )


def _from_fields(fields: object, record: str) -> KnownHead:
    """Raises ValueError if the fields are not those of a head of that record."""
    match fields:
        case {
            "record": str(name),
            "target": str(target),
            "head": str(head),
            "entries": int(entries),
            "location": str(location),
            **others,
        } if name == record:
            real_path, base_url = (_text(others.get(key)) for key in ("resolved", "base_url"))
            listed = others.get("places")
            places = tuple(place for place in listed if isinstance(place, str)) if isinstance(listed, list) else ()
            return KnownHead(record, TargetName(target), head, entries, location, real_path, base_url, places)
    raise ValueError("no head of that record")


def _text(value: object) -> str:
    """A field that earlier versions did not write."""
    return value if isinstance(value, str) else ""
