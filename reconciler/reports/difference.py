"""What differs between a subscription as it is and as it is wanted, for people.

deepdiff is imported here alone, and only once there is a pair that differs: it is what makes `plan` slow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reconciler.model.parity import Difference
    from reconciler.model.plan import Change


def change_rows(change: Change) -> list[tuple[str, str]]:
    """The difference that a change makes to an address that has something in force: (sign, text) rows."""
    if change.after is None or not change.before:
        return []
    concerned = [one for one in change.before if one.id in change.concerns] or change.before
    urls = sorted({one.url for one in concerned})
    before = {
        "eventCodes": {code for one in concerned for code in one.codes},
        "webhookUrl": urls[0] if len(urls) == 1 else " and ".join(urls),
    }
    return differences(before, {"eventCodes": set(change.after.codes), "webhookUrl": change.after.url})


def differences(before: Mapping[str, object], after: Mapping[str, object]) -> list[tuple[str, str]]:
    """`+`, `-` and `~` rows for two mappings of scalars and sets of strings; sorted; none where they are equal."""
    if before == after:
        return []
    from deepdiff import DeepDiff  # noqa: PLC0415 - it costs more to import than a plan takes

    tree = DeepDiff(before, after, view="tree")
    rows = []
    for kind, levels in tree.items():
        for level in levels:
            name = level.path(output_format="list")[0]
            match kind:
                case "set_item_added" | "dictionary_item_added":
                    rows.append(("+", f"{name}: {level.t2}"))
                case "set_item_removed" | "dictionary_item_removed":
                    rows.append(("-", f"{name}: {level.t1}"))
                case _:
                    rows.append(("~", f"{name}: {level.t1} -> {level.t2}"))
    return sorted(rows, key=lambda row: (row[1], row[0]))


def parity_rows(difference: Difference) -> list[tuple[str, str]]:
    """What the second target has otherwise than the first: (sign, text) rows; none where one of them has nothing."""
    if difference.a is None or difference.b is None:
        return []
    return differences(_comparable(difference.a), _comparable(difference.b))


def _comparable(side: Mapping[str, object]) -> dict[str, object]:
    return {name: set(value) if isinstance(value, list) else value for name, value in side.items()}
