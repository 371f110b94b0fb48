"""The names of targets and the addresses of subscriptions, and how each is written."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import Final

_SEGMENT = "[a-z0-9][a-z0-9-]*"
_ANY = rf"({_SEGMENT}|\*)"

NAME: Final = re.compile(_SEGMENT)
TARGET: Final = re.compile(f"{_SEGMENT}/{_SEGMENT}")
ADDRESS: Final = re.compile(f"{_SEGMENT}/{_SEGMENT}/{_SEGMENT}")
TARGET_PATTERN: Final = re.compile(f"{_ANY}/{_ANY}")
ADDRESS_PATTERN: Final = re.compile(f"{_ANY}/{_ANY}/{_ANY}")

SPELLING: Final = "use a-z, 0-9 and -, starting with a letter or digit"


class TargetName(str):
    """One region and environment of the service, written `region/environment`."""

    __slots__ = ()

    @property
    def region(self) -> str:
        return self.partition("/")[0]

    @property
    def environment(self) -> str:
        return self.partition("/")[2]

    @property
    def variable_prefix(self) -> str:
        """The beginning of the names of this target's environment variables: `RECONCILER_<REGION>_<ENVIRONMENT>_`."""
        return f"RECONCILER_{self}_".replace("/", "_").replace("-", "_").upper()


class Address(str):
    """`region/environment/name`: the identity of a subscription, whatever its codes and URL become."""

    __slots__ = ()

    @classmethod
    def of(cls, target: str, name: str) -> Address:
        return cls(f"{target}/{name}")

    @property
    def target(self) -> TargetName:
        return TargetName(self.rpartition("/")[0])

    @property
    def name(self) -> str:
        return self.rpartition("/")[2]


def matches(glob: str, name: str) -> bool:
    """True if a glob matches a target or an address segment by segment, so that `*` does not cross a slash."""
    globs, segments = glob.split("/"), name.split("/")
    return len(globs) == len(segments) and all(map(fnmatchcase, segments, globs))
