"""The differences between two descriptions of a subscription, as rows for people.

Only this module imports deepdiff, and only for a pair that differs: the import takes longer than a plan.
"""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from reconciler.model.address import TargetName
from reconciler.model.parity import Difference, Parity, View
from reconciler.model.plan import Change


def change_rows(change: Change) -> list[tuple[str, str]]:
    """The difference that a change makes to an address that has something in force: (sign, text) rows."""
    if change.after is None or not change.before:
        return []
    concerned = [attempt for attempt in change.before if attempt.id in change.concerns] or change.before
    urls = sorted({attempt.url for attempt in concerned})
    before = {
        "eventCodes": {code for attempt in concerned for code in attempt.codes},
        "webhookUrl": urls[0] if len(urls) == 1 else " and ".join(urls),
    }
    return differences(before, {"eventCodes": set(change.after.codes), "webhookUrl": change.after.url})


_WORDS = {"+": "{name}: {after}", "-": "{name}: {before}", "~": "{name}: {before} -> {after}"}


def differences(
    before: Mapping[str, object], after: Mapping[str, object], words: Mapping[str, str] = _WORDS
) -> list[tuple[str, str]]:
    """`+`, `-` and `~` rows for two mappings of scalars and sets of strings; sorted; none if they are equal."""
    rows = [(sign, words[sign].format_map(fields)) for sign, fields in _different(before, after)]
    return sorted(rows, key=lambda row: (row[1], row[0]))


def _different(before: Mapping[str, object], after: Mapping[str, object]) -> Iterator[tuple[str, dict[str, object]]]:
    """Every difference: its sign, and the `name`, `before` and `after` of what differs."""
    if before == after:
        return
    from deepdiff import DeepDiff  # noqa: PLC0415 - it costs more to import than a plan takes

    # The hasher of deepdiff itself raises for a lone surrogate, which a journal can hold.
    for kind, levels in DeepDiff(before, after, view="tree", hasher=hash).items():
        for level in levels:
            fields = {"name": level.path(output_format="list")[0], "before": level.t1, "after": level.t2}
            match kind:
                case "set_item_added" | "dictionary_item_added":
                    yield "+", fields
                case "set_item_removed" | "dictionary_item_removed":
                    yield "-", fields
                case _:  # whichever other kind deepdiff reports, the value is not what it was
                    yield "~", fields


class Disparity(Struct, frozen=True):
    """One subscription that two targets differ in: how, in words, and (sign, text) rows if both have it."""

    name: str
    how: str
    rows: tuple[tuple[str, str], ...]


def disparities(parity: Parity) -> list[Disparity]:
    """The subscriptions that two targets differ in; the same difference as desired and in force is one."""
    views: dict[tuple[str, TargetName | None, tuple[tuple[str, str], ...]], list[View]] = {}
    for difference in parity.differences:
        key = (difference.name, _only_target(parity, difference), _parity_rows(parity, difference))
        views.setdefault(key, []).append(difference.what)
    return [Disparity(name, _how(parity, seen, only), rows) for (name, only, rows), seen in views.items()]


def declared_disparities(parity: Parity) -> list[tuple[str, str, str]]:
    """The declared exceptions that differ: the name, in which views, and the reason."""
    views: dict[tuple[str, str], list[View]] = {}
    for difference, exception in parity.ignored:
        views.setdefault((difference.name, exception.reason), []).append(difference.what)
    return [(name, " and ".join(seen), reason) for (name, reason), seen in views.items()]


def _only_target(parity: Parity, difference: Difference) -> TargetName | None:
    """The target that alone has the subscription; None if both have it."""
    if difference.a is None:
        return parity.b
    return parity.a if difference.b is None else None


def _how(parity: Parity, views: list[View], only: TargetName | None) -> str:
    if View.GATE in views:
        state = "in force differently" if only is None else "not in force"
        return f"desired in {parity.b}, but {state} in {parity.a}"
    return " and ".join(views) + ("" if only is None else f" in {only} only")


_VERBS = {View.DESIRED: ("desires", "desires"), View.IN_FORCE: ("has", "has"), View.GATE: ("has", "desires")}
"""What the first and the second target do with what is compared."""


def _parity_rows(parity: Parity, difference: Difference) -> tuple[tuple[str, str], ...]:
    if difference.a is None or difference.b is None:
        return ()
    a, b = _VERBS[difference.what]
    words = {
        "+": f"{{name}}: {{after}} in {parity.b} only",
        "-": f"{{name}}: {{before}} in {parity.a} only",
        "~": f"{{name}}: {parity.a} {a} {{before}}, {parity.b} {b} {{after}}",
    }
    return tuple(differences(_comparable(difference.a), _comparable(difference.b), words))


def _comparable(side: Mapping[str, object]) -> dict[str, object]:
    return {name: set(value) if isinstance(value, list) else value for name, value in side.items()}
