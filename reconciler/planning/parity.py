"""Whether two targets are in line: what is desired of both, and what is in force in both.

Subscriptions are compared by name, by codes, and by the URL as written before substitution, since two targets of one
configuration differ in their `vars` and not in their intent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from msgspec.structs import replace

from reconciler.errors import SelectionError
from reconciler.model.address import Address, TargetName, matches
from reconciler.model.parity import Difference, Parity, View
from reconciler.model.record import Status
from reconciler.model.selection import has_wildcard
from reconciler.model.url import normal_url
from reconciler.planning.evidence import first_evidence

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from reconciler.model.desired import Desired, ParityException, Subscription
    from reconciler.model.record import Attempt, Record


def compare(desired: Desired, records: Mapping[TargetName, Record], a: TargetName, b: TargetName) -> Parity:
    """Desired against desired, and where both have a record, what is in force against what is in force."""
    differences = _differences(View.DESIRED, _wanted(desired, a), _wanted(desired, b))
    if a in records and b in records:
        differences += _differences(View.IN_FORCE, _in_force(records[a]), _in_force(records[b]))
    parity = _declared(desired, a, b, differences)
    names = sorted({found.name for found in parity.differences if found.what is View.IN_FORCE})
    sides = [(records[target], Address.of(target, name)) for target in (a, b) for name in names]
    return replace(
        parity,
        unapplied=tuple(address for record, address in sides if _is_unapplied(desired, record, address)),
        leaving=tuple(address for record, address in sides if _is_leaving(record, address)),
        unrecorded=tuple(target for target in (a, b) if target not in records),
    )


def gate(
    desired: Desired,
    records: Mapping[TargetName, Record],
    a: TargetName,
    b: TargetName,
    observed_by: str | None = None,
) -> Parity:
    """Whether all that `b` desires is in force in `a` already, so that `b` may follow.

    With `observed_by` (UTC, ISO 8601 with a Z), each code must have been observed in `a` by then, delivered by an
    attempt that was in force from then on: what was observed of another URL, or of an earlier attempt, does not count.
    """
    there = _live_as_wanted(desired, records[a]) if a in records else {}
    differences = []
    for name, wanted in sorted(_wanted(desired, b).items()):
        if not _covers(there.get(name), wanted):
            differences.append(Difference(name, View.GATE, there.get(name), wanted))
        elif observed_by is not None:
            differences += _unproven(desired, records[a], name, wanted, observed_by)
    parity = _declared(desired, a, b, differences)
    there_too = _wanted(desired, a)
    missing = (found for found in parity.differences if found.what is View.GATE and found.b is not None)
    unapplied = (Address.of(a, found.name) for found in missing if _covers(there_too.get(found.name), found.b or {}))
    return replace(parity, unused=(), unapplied=tuple(unapplied))  # a gate looks at one side of what they declare


def _is_unapplied(desired: Desired, record: Record, address: Address) -> bool:
    """Whether a plan would still create or retire something at an address."""
    wanted = desired.subscriptions.get(address)
    if wanted is None:
        return any(attempt.status is Status.LIVE for attempt in record.at_address(address))
    delivered = {code for attempt in _live_here(record, wanted) for code in attempt.codes}
    return not delivered.issuperset(wanted.codes)


def _is_leaving(record: Record, address: Address) -> bool:
    return any(attempt.status is Status.AWAITING_REMOVAL for attempt in record.at_address(address))


def _unproven(
    desired: Desired, record: Record, name: str, wanted: Mapping[str, object], observed_by: str
) -> list[Difference]:
    """What of a subscription that is in force was not observed by then, as one difference or none."""
    subscription = desired.subscriptions[Address.of(record.target, name)]
    first: dict[str, str] = {}
    for attempt in _live_here(record, subscription):
        for code, at in first_evidence(record, attempt).items():
            first[code] = min(at, first.get(code, at))
    codes = [str(code) for code in cast("list[object]", wanted["eventCodes"])]
    missing = {code: first.get(code) for code in codes if code not in first or first[code] > observed_by}
    proven = {"eventCodes": [code for code in codes if code not in missing]}
    return [Difference(name, View.PROVEN, proven, {"eventCodes": codes}, missing)] if missing else []


def unused_in_all(desired: Desired, compared: Sequence[Parity]) -> list[ParityException]:
    """The declared exceptions that none of the pairs they are about needs."""
    unused = []
    for exception in desired.parity_ignore:
        about = [parity for parity in compared if _concerns(exception, parity.a) or _concerns(exception, parity.b)]
        if about and all(exception in parity.unused for parity in about):
            unused.append(exception)
    return unused


def pair_up(
    a: str, b: str, declared: Iterable[TargetName]
) -> tuple[list[tuple[TargetName, TargetName]], list[tuple[TargetName, TargetName]]]:
    """The pairs of declared targets that two patterns name, and the (missing, declared) ones of the other pairs.

    The patterns differ in one segment, which has no wildcard; the other says which targets, and is the same in a pair.
    Raises SelectionError for other patterns, and for those that match nothing.
    """
    parts = a.split("/"), b.split("/")
    differing = [place for place in (0, 1) if list(map(len, parts)) == [2, 2] and parts[0][place] != parts[1][place]]
    if len(differing) != 1 or any(has_wildcard(part[differing[0]]) for part in parts):
        raise SelectionError(
            "expected two patterns that differ in one segment, without a wildcard in it",
            where=f"{a} {b}",
            remedy="for example: '*/staging' '*/production'",
        )
    names = set(declared)
    shared = {name.split("/")[1 - differing[0]] for name in names if matches(a, name) or matches(b, name)}
    if not shared:
        raise SelectionError(
            "no declared target matches either pattern",
            where=f"{a} {b}",
            remedy=f"declared targets: {', '.join(sorted(names)) or 'none'}",
        )
    pairs = [(_with(parts[0], differing[0], text), _with(parts[1], differing[0], text)) for text in sorted(shared)]
    return [pair for pair in pairs if names.issuperset(pair)], [pair for pair in pairs if not names.issuperset(pair)]


def _with(parts: Sequence[str], kept: int, text: str) -> TargetName:
    return TargetName("/".join(part if place == kept else text for place, part in enumerate(parts)))


def _wanted(desired: Desired, target: TargetName) -> dict[str, Mapping[str, object]]:
    return {wanted.address.name: _as_written(wanted) for wanted in desired.of_target(target)}


def _as_written(wanted: Subscription) -> dict[str, object]:
    return {"eventCodes": list(wanted.codes), "webhookUrl": wanted.template}


def _in_force(record: Record) -> dict[str, Mapping[str, object]]:
    codes: dict[str, set[str]] = {}
    for attempt in record.attempts.values():
        if attempt.in_force:
            codes.setdefault(attempt.address.name, set()).update(attempt.codes)
    return {name: {"eventCodes": sorted(found)} for name, found in codes.items()}


def _live_as_wanted(desired: Desired, record: Record) -> dict[str, Mapping[str, object]]:
    """What is live of each subscription at the URL that is desired for it, with that URL as written."""
    found: dict[str, Mapping[str, object]] = {}
    for wanted in desired.of_target(record.target):
        here = _live_here(record, wanted)
        if here:
            codes = sorted({code for attempt in here for code in attempt.codes})
            found[wanted.address.name] = {"eventCodes": codes, "webhookUrl": wanted.template}
    return found


def _live_here(record: Record, wanted: Subscription) -> list[Attempt]:
    """The live attempts of a subscription at the URL that is desired for it."""
    attempts = [attempt for attempt in record.at_address(wanted.address) if attempt.status is Status.LIVE]
    return [attempt for attempt in attempts if normal_url(attempt.url) == normal_url(wanted.url)]


def _covers(there: Mapping[str, object] | None, wanted: Mapping[str, object]) -> bool:
    if there is None or there["webhookUrl"] != wanted["webhookUrl"]:
        return False
    codes, needed = there["eventCodes"], wanted["eventCodes"]
    return isinstance(codes, list) and isinstance(needed, list) and set(needed) <= set(codes)


def _differences(
    what: View, a: Mapping[str, Mapping[str, object]], b: Mapping[str, Mapping[str, object]]
) -> list[Difference]:
    return [Difference(name, what, a.get(name), b.get(name)) for name in sorted({*a, *b}) if a.get(name) != b.get(name)]


def _declared(desired: Desired, a: TargetName, b: TargetName, differences: Iterable[Difference]) -> Parity:
    """Set aside what is declared to differ. Declarations about other targets are not called unused."""
    left: list[Difference] = []
    ignored: list[tuple[Difference, ParityException]] = []
    used: set[ParityException] = set()
    ignore = desired.parity_ignore
    for difference in differences:
        addresses = (Address.of(a, difference.name), Address.of(b, difference.name))
        declared = [exception for exception in ignore if any(_is_about(exception, address) for address in addresses)]
        used.update(declared)
        if declared:
            ignored.append((difference, declared[0]))
        else:
            left.append(difference)
    here = [exception for exception in ignore if _concerns(exception, a) or _concerns(exception, b)]
    unused = tuple(exception for exception in here if exception not in used)
    return Parity(a, b, tuple(left), tuple(ignored), unused, ignore[0].place if ignore else None)


def _concerns(exception: ParityException, target: TargetName) -> bool:
    """Whether a declaration may be about an address of this target."""
    pattern, _, _ = exception.address.rpartition("/")
    return not pattern or matches(pattern, target)


def _is_about(exception: ParityException, address: Address) -> bool:
    """Whether a declaration (an address whose segments may be `*`, or a bare name) is about an address."""
    return matches(exception.address, address if "/" in exception.address else address.name)
