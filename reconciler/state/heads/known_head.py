"""What was last seen of one record, and the file on this machine that remembers it."""

from __future__ import annotations

import json
import os
import shlex
import stat
from dataclasses import dataclass
from errno import ELOOP
from pathlib import Path

from reconciler.errors import SettingsError
from reconciler.model.address import TargetName
from reconciler.model.url import same_service
from reconciler.state.stores.git.places import branch_place

_LIMIT = 1 << 20
"""Bytes that such a file has at most; one with as many places as are kept has a few thousand."""


@dataclass(frozen=True, slots=True)
class KnownHead:
    """The last head seen of one record: the hash of its `entries`-th line, and the store it was read from.

    `resolved` is a `location` that is a path without the links in it, as it led then: either may be gone by now.
    `base_url` is the service the record was bound to, "" where an earlier version did not note it. `places` are the
    names of other stores that the record was seen in, as of clones of one repository.
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
        """How many entries it had, in words."""
        return f"{self.entries} entr{'y' if self.entries == 1 else 'ies'}"

    def was_at(self, names: frozenset[str]) -> bool:
        """Whether it was seen in the store of these names (see `names_of`)."""
        places = (self.location, self.resolved, *self.places)
        return not names.isdisjoint((*places, *map(branch_place, places)))

    def concerns(self, base_url: str) -> bool:
        """Whether what it holds may exist at the service at `base_url`."""
        return not self.base_url or same_service(self.base_url, base_url)


def resolved(location: str) -> str:
    """Where an absolute path really leads; nothing for any other location."""
    return os.path.realpath(location) if Path(location).is_absolute() else ""


def names_of(location: str) -> frozenset[str]:
    """What a store may be remembered by: a place is the same by each name it was, or is, called."""
    return frozenset((location, resolved(location), branch_place(location))) - {""}


def load_known_head(path: Path) -> KnownHead | None:
    """What a file remembers, None where there is none.

    Raises SettingsError for a file that cannot be read: taken for none, it would let an older record pass.
    """
    try:
        return _from_fields(json.loads(_read_regular(path)), path.stem)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as problem:
        trouble = "it is a symbolic link" if problem.errno == ELOOP else problem.strerror or str(problem)
    except (ValueError, RecursionError):
        trouble = "it is empty, or does not hold the head of that record"
    raise SettingsError(
        f"the last head seen of the state record {path.stem} cannot be read: {trouble}",
        where=path,
        remedy="without it, an older copy of that record would be taken for the newest. Restore the file, or its"
        " permissions; or make sure, with version control or a backup, that the record lost no entries, and then:"
        f" rm -r {shlex.quote(str(path))}",
    )


def _read_regular(path: Path) -> bytes:
    """Raises OSError for anything but a regular file, a pipe that would never answer among them."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError("it is not a regular file")
    with os.fdopen(descriptor, "rb") as file:
        return file.read(_LIMIT)


def _from_fields(fields: object, record: str) -> KnownHead:
    """Raises ValueError for what is not the head of that record."""
    match fields:
        case {
            "record": str(name),
            "target": str(target),
            "head": str(head),
            "entries": int(entries),
            "location": str(location),
            **others,
        } if name == record:
            led, base_url = (_text(others.get(key)) for key in ("resolved", "base_url"))
            listed = others.get("places")
            places = tuple(one for one in listed if isinstance(one, str)) if isinstance(listed, list) else ()
            return KnownHead(record, TargetName(target), head, entries, location, led, base_url, places)
    raise ValueError("no head of that record")


def _text(value: object) -> str:
    """A field that earlier versions did not write."""
    return value if isinstance(value, str) else ""
