"""Which targets and addresses a command selects: the patterns given with `-t`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from reconciler.errors import SelectionError
from reconciler.model.address import matches

if TYPE_CHECKING:
    from reconciler.model.address import Address, TargetName


def is_pattern(text: str) -> bool:
    """Whether `text` has the two segments of a target or the three of an address, none of them empty."""
    return len(text.split("/")) in (2, 3) and "" not in text.split("/")


class Selection(Struct, frozen=True):
    """Globs over targets (`europe/*`) and over addresses (`*/production/offers`); none means everything."""

    patterns: tuple[str, ...] = ()

    @classmethod
    def of(cls, patterns: tuple[str, ...]) -> Selection:
        """Raises SelectionError for a pattern that is neither `region/environment` nor `region/environment/name`."""
        for pattern in patterns:
            if not is_pattern(pattern):
                raise SelectionError(
                    "expected a target region/environment or an address region/environment/name",
                    where=f"-t {pattern}",
                    remedy="for example: -t 'europe/*' or -t '*/production/offers'",
                )
        return cls(tuple(sorted(set(patterns))))

    def has(self, address: Address) -> bool:
        if not self.patterns:
            return True
        target = address.target
        return any(matches(pattern, address if pattern.count("/") == 2 else target) for pattern in self.patterns)

    def touches(self, target: TargetName) -> bool:
        """Whether the target, or possibly an address on it, is selected."""
        return not self.patterns or any(matches("/".join(pattern.split("/")[:2]), target) for pattern in self.patterns)

    def unmatched(self, targets: list[TargetName], addresses: list[Address]) -> list[str]:
        """The patterns that match nothing that is known."""
        return [
            pattern
            for pattern in self.patterns
            if not any(matches(pattern, name) for name in (addresses if pattern.count("/") == 2 else targets))
        ]
