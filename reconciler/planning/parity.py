"""Whether two targets are in line: what is desired of both, and what is in force in both.

Subscriptions are compared by name, by codes, and by the URL as written before substitution, since two targets of one
configuration differ in their `vars` and not in their intent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from reconciler.model.address import Address, matches
from reconciler.model.parity import Difference, Parity, View
from reconciler.model.record import Status
from reconciler.model.url import normal_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reconciler.model.address import TargetName
    from reconciler.model.desired import Desired, ParityException, Subscription
    from reconciler.model.record import Record


def compare(desired: Desired, records: Mapping[TargetName, Record], a: TargetName, b: TargetName) -> Parity:
    """Desired against desired, and where both have a record, what is in force against what is in force."""
    differences = _differences(View.DESIRED, _wanted(desired, a), _wanted(desired, b))
    if a in records and b in records:
        differences += _differences(View.IN_FORCE, _in_force(records[a]), _in_force(records[b]))
    return _declared(desired, a, b, differences)


def gate(desired: Desired, records: Mapping[TargetName, Record], a: TargetName, b: TargetName) -> Parity:
    """Whether all that `b` desires is in force in `a` already, so that `b` may follow."""
    there = _live_as_wanted(desired, records[a]) if a in records else {}
    differences = [
        Difference(name, View.GATE, there.get(name), wanted)
        for name, wanted in sorted(_wanted(desired, b).items())
        if not _covers(there.get(name), wanted)
    ]
    return replace(_declared(desired, a, b, differences), unused=())  # a gate looks at one side of what they declare


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
        attempts = [attempt for attempt in record.at_address(wanted.address) if attempt.status is Status.LIVE]
        here = [attempt for attempt in attempts if normal_url(attempt.url) == normal_url(wanted.url)]
        if here:
            codes = sorted({code for attempt in here for code in attempt.codes})
            found[wanted.address.name] = {"eventCodes": codes, "webhookUrl": wanted.template}
    return found


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
