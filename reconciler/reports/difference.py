"""What a change does to what is delivered, and the differences between two subscriptions, as rows for people.

Only this module imports deepdiff, and only for a pair that differs: the import takes longer than a plan.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import assert_never

from msgspec import Struct

from reconciler.model.address import TargetName
from reconciler.model.parity import Difference, Parity, View
from reconciler.model.plan import Action, Change, Request
from reconciler.model.record import Attempt, Status
from reconciler.model.url import normal_url


class Delivery(Struct, frozen=True):
    """What a change does to what is delivered, in rows: what is `sent` and then delivered, and what is `left`.

    What is left is delivered until the operator has removed it, some of it twice.
    """

    sent: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def delivery(change: Change, restored: Collection[str] = ()) -> Delivery:
    """What a change sends, what is then delivered where, and what is delivered until the operator acts.

    `restored` are the ids of what another change of the plan restores.
    """
    match change.action:
        case Action.CREATE:  # what is sent is all
            return Delivery()
        case Action.EXTEND | Action.REPLACE:
            going = [one for one in change.before if one.id not in restored and _is_left(one, change)]
            return Delivery(tuple(_sent(change, going)), tuple(_left(change, going)))
        case Action.RETIRE:
            return Delivery(left=tuple(_left(change, _concerned(change))))
        case Action.RESTORE:
            rows = [f"keeps delivering {_route(attempt)} (attempt {attempt.id})" for attempt in _concerned(change)]
            return Delivery(tuple(rows))
        case Action.BLOCKED:
            after = change.after
            is_new = all(Request(attempt.codes, attempt.url) != after for attempt in change.before)
            return Delivery((f"desired: {_route(after)}",) if after is not None and change.before and is_new else ())
        case _:
            assert_never(change.action)


def _concerned(change: Change) -> list[Attempt]:
    return [attempt for attempt in change.before if attempt.id in change.concerns]


def _is_left(attempt: Attempt, change: Change) -> bool:
    """Whether a create leaves an attempt behind, which the operator has to remove."""
    if attempt.id in change.concerns:
        return True
    comes_in_its_place = change.action is Action.REPLACE or not _codes(change).isdisjoint(attempt.codes)
    return attempt.status is Status.AWAITING_REMOVAL and comes_in_its_place


def _codes(change: Change) -> set[str]:
    return set(change.request.codes) if change.request else set()


def _sent(change: Change, going: Sequence[Attempt]) -> Iterator[str]:
    request = change.request
    if request is None:
        return
    yield f"sends {_route(request)}"
    url = normal_url(request.url)
    staying = [attempt for attempt in change.before if attempt not in going and normal_url(attempt.url) == url]
    there = _codes(change).union(*(attempt.codes for attempt in staying))
    if len(there) > len(request.codes):
        yield f"then delivers {', '.join(sorted(there))} to {request.url}"


def _left(change: Change, going: Sequence[Attempt]) -> Iterator[str]:
    for attempt in going:
        yield f"delivers {_route(attempt)} until the operator removes attempt {attempt.id}"
    staying = [attempt.codes for attempt in change.before if attempt not in going]
    others = _codes(change).union(*staying)
    twice = sorted(others.intersection(code for attempt in going for code in attempt.codes))
    if twice:
        yield f"delivers {', '.join(twice)} twice until then"


def _route(what: Attempt | Request) -> str:
    return f"{', '.join(what.codes)} to {what.url}"


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
    if View.PROVEN in views:
        return f"desired in {parity.b}, but not yet proven in {parity.a}"
    if View.GATE in views:
        state = "in force differently" if only is None else "not in force"
        return f"desired in {parity.b}, but {state} in {parity.a}"
    return " and ".join(views) + ("" if only is None else f" in {only} only")


_VERBS = {
    View.DESIRED: ("desires", "desires"),
    View.IN_FORCE: ("has", "has"),
    View.GATE: ("has", "desires"),
    View.PROVEN: ("proves", "desires"),
}
"""What the first and the second target do with what is compared."""


def _parity_rows(parity: Parity, difference: Difference) -> tuple[tuple[str, str], ...]:
    if difference.what is View.PROVEN:
        return tuple(
            ("-", f"{code}: never observed") if at is None else ("~", f"{code}: first observed {at}")
            for code, at in difference.unproven.items()
        )
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
