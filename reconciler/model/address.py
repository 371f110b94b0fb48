"""The names of targets, the addresses of subscriptions, and the selection by `-t`."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from reconciler.errors import Message, SelectionError, Step

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator


_SEGMENT = "[a-z0-9][a-z0-9-]*"
_ANY = rf"({_SEGMENT}|\*)"

NAME: Final = re.compile(_SEGMENT)
TARGET: Final = re.compile(f"{_SEGMENT}/{_SEGMENT}")
ADDRESS: Final = re.compile(f"{_SEGMENT}/{_SEGMENT}/{_SEGMENT}")
TARGET_PATTERN: Final = re.compile(f"{_ANY}/{_ANY}")
ADDRESS_PATTERN: Final = re.compile(f"{_ANY}/{_ANY}/{_ANY}")

SPELLING: Final = "use a-z, 0-9 and -, starting with a letter or digit"


class TargetName(str):
    """A region and environment of the service, written `region/environment`."""

    __slots__ = ()

    @property
    def region(self) -> str:
        return self.partition("/")[0]

    @property
    def environment(self) -> str:
        return self.partition("/")[2]

    @property
    def variable_prefix(self) -> str:
        """Return the prefix of this target's environment variables: `RECONCILER_<REGION>_<ENVIRONMENT>_`."""
        return f"RECONCILER_{self}_".replace("/", "_").replace("-", "_").upper()


class Address(str):
    """`region/environment/name`: the identity of a subscription, which stays the same if its codes or URL change."""

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
    """True if a glob matches a target or an address segment by segment; `*` does not match a slash."""
    globs, segments = glob.split("/"), name.split("/")
    return len(globs) == len(segments) and all(map(fnmatchcase, segments, globs))


_LIKE = 0.6  # of at most 1: two letters swapped, or one letter of four wrong
_MOST = 3


def suggestion(names: Iterable[str], known: Iterable[str]) -> str:
    """Return the known names most similar to the unknown ones, as a question in parentheses, or "" if none is similar.

    Names with several segments are similar only if every segment is similar, because all addresses of a target begin
    alike.
    """
    candidates = sorted(set(known))
    meant = [name for unknown in names for name in _alike(unknown, candidates)]
    return f" (did you mean {' or '.join(meant[:_MOST])}?)" if meant else ""


def _alike(unknown: str, known: Iterable[str]) -> list[str]:
    segments = unknown.split("/")
    scores = {name: _likeness(segments, name.split("/")) for name in known}
    return sorted((name for name, score in scores.items() if score >= _LIKE), key=lambda name: -scores[name])[:_MOST]


def _likeness(ours: list[str], theirs: list[str]) -> float:
    from difflib import SequenceMatcher  # noqa: PLC0415 - needed only to explain an error

    if len(ours) != len(theirs):
        return 0.0
    return min(1.0 if a == b else SequenceMatcher(None, a, b).ratio() for a, b in zip(ours, theirs, strict=True))


_WILDCARDS = frozenset("*?[")


def is_pattern(text: str) -> bool:
    """True if `text` has the two segments of a target or the three of an address, and no segment is empty."""
    return len(text.split("/")) in (2, 3) and "" not in text.split("/")


class Selection(Struct, frozen=True, dict=True):
    """Globs over targets (`europe/*`) and addresses (`*/production/offers`). Without globs, everything is selected."""

    patterns: tuple[str, ...] = ()

    @classmethod
    def of(cls, patterns: tuple[str, ...]) -> Selection:
        """Return a selection. Raises SelectionError for a pattern that does not have two or three segments."""
        for pattern in patterns:
            if not is_pattern(pattern):
                raise SelectionError(
                    Message(
                        "bad-pattern",
                        "expected a target region/environment or an address region/environment/name",
                        f"-t {pattern}",
                        (Step("for example: -t 'europe/*' or -t '*/production/offers'"),),
                    )
                )
        return cls(tuple(sorted(set(patterns))))

    def has(self, address: Address) -> bool:
        return not self.patterns or any(
            not _is_over_addresses(pattern) or matches(pattern, address) for pattern in self._concerning(address.target)
        )

    def touches(self, target: TargetName) -> bool:
        """True if the target is selected, or if an address on it may be selected."""
        return not self.patterns or bool(self._concerning(target))

    def unmatched(self, targets: Collection[TargetName], addresses: Collection[Address]) -> list[str]:
        """Return the patterns that match no known target or address."""
        return [
            pattern
            for pattern in self.patterns
            if not _matches_any(pattern, addresses if _is_over_addresses(pattern) else targets)
        ]

    def _concerning(self, target: TargetName) -> list[str]:
        """Return the patterns that match a target or may match an address on it."""
        if target not in self._by_target:
            globs = (pattern for over, pattern in self._globs if matches(over, target))
            self._by_target[target] = [*self._named.get(target, ()), *globs]
        return self._by_target[target]

    @cached_property
    def _by_target(self) -> dict[str, list[str]]:
        """Return the cache for `_concerning`, which is called for each address of a target."""
        return {}

    @cached_property
    def _named(self) -> dict[str, list[str]]:
        """Return the patterns that name exactly one target, by target."""
        named: dict[str, list[str]] = {}
        for over, pattern in self._targets_of_patterns:
            if _is_name(over):
                named.setdefault(over, []).append(pattern)
        return named

    @cached_property
    def _globs(self) -> list[tuple[str, str]]:
        """Return the patterns that may match several targets, each preceded by its first two segments."""
        return [(over, pattern) for over, pattern in self._targets_of_patterns if not _is_name(over)]

    @property
    def _targets_of_patterns(self) -> Iterator[tuple[str, str]]:
        return (("/".join(pattern.split("/")[:2]), pattern) for pattern in self.patterns)


def _is_over_addresses(pattern: str) -> bool:
    return pattern.count("/") == 2


def has_wildcard(glob: str) -> bool:
    """True if a glob has a wildcard and may therefore match several names."""
    return not _WILDCARDS.isdisjoint(glob)


def _is_name(glob: str) -> bool:
    return not has_wildcard(glob)


def _matches_any(pattern: str, names: Collection[str]) -> bool:
    return pattern in names if _is_name(pattern) else any(matches(pattern, name) for name in names)
