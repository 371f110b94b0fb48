"""Which targets and addresses a command selects: the patterns given with `-t`."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from reconciler.errors import Message, SelectionError, Step
from reconciler.model.address import matches

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from reconciler.model.address import Address, TargetName

_WILDCARDS = frozenset("*?[")


def is_pattern(text: str) -> bool:
    """True if `text` has the two segments of a target or the three of an address, none of them empty."""
    return len(text.split("/")) in (2, 3) and "" not in text.split("/")


class Selection(Struct, frozen=True, dict=True):
    """Globs over targets (`europe/*`) and over addresses (`*/production/offers`); none means everything."""

    patterns: tuple[str, ...] = ()

    @classmethod
    def of(cls, patterns: tuple[str, ...]) -> Selection:
        """Raises SelectionError for a pattern that is neither `region/environment` nor `region/environment/name`."""
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
        """True if the target, or possibly an address on it, is selected."""
        return not self.patterns or bool(self._concerning(target))

    def unmatched(self, targets: Collection[TargetName], addresses: Collection[Address]) -> list[str]:
        """The patterns that match nothing that is known."""
        return [
            pattern
            for pattern in self.patterns
            if not _matches_any(pattern, addresses if _is_over_addresses(pattern) else targets)
        ]

    def _concerning(self, target: TargetName) -> list[str]:
        """The patterns that match a target, or may match an address on it."""
        if target not in self._by_target:
            globs = (pattern for over, pattern in self._globs if matches(over, target))
            self._by_target[target] = [*self._named.get(target, ()), *globs]
        return self._by_target[target]

    @cached_property
    def _by_target(self) -> dict[str, list[str]]:
        """The results of `_concerning`: it is asked for each address of a target."""
        return {}

    @cached_property
    def _named(self) -> dict[str, list[str]]:
        """The patterns that name one target, by target: there may be one for each."""
        named: dict[str, list[str]] = {}
        for over, pattern in self._targets_of_patterns:
            if _is_name(over):
                named.setdefault(over, []).append(pattern)
        return named

    @cached_property
    def _globs(self) -> list[tuple[str, str]]:
        """The other patterns, each after the part of it that is over targets."""
        return [(over, pattern) for over, pattern in self._targets_of_patterns if not _is_name(over)]

    @property
    def _targets_of_patterns(self) -> Iterator[tuple[str, str]]:
        return (("/".join(pattern.split("/")[:2]), pattern) for pattern in self.patterns)


def _is_over_addresses(pattern: str) -> bool:
    return pattern.count("/") == 2


def has_wildcard(glob: str) -> bool:
    """True if a glob may match more than itself."""
    return not _WILDCARDS.isdisjoint(glob)


def _is_name(glob: str) -> bool:
    return not has_wildcard(glob)


def _matches_any(pattern: str, names: Collection[str]) -> bool:
    return pattern in names if _is_name(pattern) else any(matches(pattern, name) for name in names)
