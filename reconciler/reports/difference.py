"""What differs between a subscription as it is and as it is wanted, for people.

deepdiff is imported here alone, and only once there is a pair that differs: it is what makes `plan` slow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reconciler.model.parity import View

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from reconciler.model.address import TargetName
    from reconciler.model.parity import Difference, Parity
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
    words = {"+": "{name}: {after}", "-": "{name}: {before}", "~": "{name}: {before} -> {after}"}
    return _rows(before, after, words)


def _rows(before: Mapping[str, object], after: Mapping[str, object], words: Mapping[str, str]) -> list[tuple[str, str]]:
    rows = [(sign, words[sign].format_map(found)) for sign, found in _different(before, after)]
    return sorted(rows, key=lambda row: (row[1], row[0]))


def _different(before: Mapping[str, object], after: Mapping[str, object]) -> Iterator[tuple[str, dict[str, object]]]:
    """Everything that differs: its sign, with its `name`, and what is `before` and `after`."""
    if before == after:
        return
    from deepdiff import DeepDiff  # noqa: PLC0415 - it costs more to import than a plan takes

    for kind, levels in DeepDiff(before, after, view="tree").items():
        for level in levels:
            found = {"name": level.path(output_format="list")[0], "before": level.t1, "after": level.t2}
            match kind:
                case "set_item_added" | "dictionary_item_added":
                    yield "+", found
                case "set_item_removed" | "dictionary_item_removed":
                    yield "-", found
                case _:
                    yield "~", found


@dataclass(frozen=True, slots=True)
class Disparity:
    """One subscription that two targets differ in: how, in words, and (sign, text) rows where both have it."""

    name: str
    how: str
    rows: tuple[tuple[str, str], ...]


def disparities(parity: Parity) -> list[Disparity]:
    """What two targets differ in; what is the same of a subscription as desired and in force is said once."""
    found: dict[tuple[str, TargetName | None, tuple[tuple[str, str], ...]], list[View]] = {}
    for one in parity.differences:
        found.setdefault((one.name, _only_one(parity, one), _parity_rows(parity, one)), []).append(one.what)
    return [Disparity(name, _how(parity, views, only), rows) for (name, only, rows), views in found.items()]


def declared_disparities(parity: Parity) -> list[tuple[str, str, str]]:
    """What differs and is declared to: the name, in which views, and the reason."""
    found: dict[tuple[str, str], list[View]] = {}
    for one, declared in parity.ignored:
        found.setdefault((one.name, declared.reason), []).append(one.what)
    return [(name, " and ".join(views), reason) for (name, reason), views in found.items()]


def _only_one(parity: Parity, difference: Difference) -> TargetName | None:
    """The target that alone has the subscription; None where both do."""
    if difference.a is None:
        return parity.b
    return parity.a if difference.b is None else None


def _how(parity: Parity, views: list[View], only: TargetName | None) -> str:
    if View.GATE in views:
        state = "in force otherwise" if only is None else "not in force"
        return f"desired in {parity.b}, {state} in {parity.a}"
    return " and ".join(views) + ("" if only is None else f" in {only} only")


def _parity_rows(parity: Parity, difference: Difference) -> tuple[tuple[str, str], ...]:
    if difference.a is None or difference.b is None:
        return ()
    a = f"{parity.a} {'desires' if difference.what is View.DESIRED else 'has'}"
    b = f"{parity.b} {'has' if difference.what is View.IN_FORCE else 'desires'}"
    words = {
        "+": f"{{name}}: {{after}} in {parity.b} only",
        "-": f"{{name}}: {{before}} in {parity.a} only",
        "~": f"{{name}}: {a} {{before}}, {b} {{after}}",
    }
    return tuple(_rows(_comparable(difference.a), _comparable(difference.b), words))


def _comparable(side: Mapping[str, object]) -> dict[str, object]:
    return {name: set(value) if isinstance(value, list) else value for name, value in side.items()}
