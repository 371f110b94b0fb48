"""What patterns select, in commands that read no plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.errors import SelectionError
from reconciler.model.selection import Selection

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reconciler.model.address import Address, TargetName


def whole_selection(patterns: tuple[str, ...], targets: Iterable[TargetName]) -> list[TargetName]:
    """The targets that patterns over targets select. Raises SelectionError for patterns that match none."""
    known, selection = sorted(targets), Selection.of(patterns)
    refuse_unmatched(selection, known, [])
    return [name for name in known if selection.touches(name)]


def refuse_unmatched(selection: Selection, targets: list[TargetName], addresses: list[Address]) -> None:
    """Raises SelectionError for patterns that match none of what is to be selected from."""
    if missing := selection.unmatched(targets, addresses):
        from reconciler.model.spelling import suggestion  # noqa: PLC0415 - needed only to explain an error

        raise SelectionError(
            f"matches no target{' and no address' if addresses else ''}{suggestion(missing, [*targets, *addresses])}",
            where=" ".join(f"-t {pattern}" for pattern in missing),
            remedy=f"known targets: {', '.join(targets) or 'none'}",
        )
