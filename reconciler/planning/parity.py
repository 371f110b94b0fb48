"""Compares what is desired and in force in two targets, and decides whether one may follow the other.

Subscriptions are compared by name, codes and URL. The URL is compared as written, before substitution: two targets of
one configuration differ in their `vars`, not in their intent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from reconciler.errors import Message, SelectionError, Step
from reconciler.model.address import Address, TargetName, has_wildcard, matches, suggestion
from reconciler.model.record import Status
from reconciler.model.status import Difference, Pairs, Parity, Side, Unpaired, View
from reconciler.planning.blocking import foreign
from reconciler.values import stamp

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from reconciler.model.desired import Desired, ParityException, Subscription
    from reconciler.model.record import Attempt, Record

_WHENEVER = "9999"
"""A string that sorts after the time of every notification."""


def parity(  # noqa: PLR0913 - each is a question of its own
    desired: Desired,
    record: Record,
    a: str,
    b: str,
    *,
    now: float,
    gate: bool = False,
    proven: bool = False,
    soak: float | None = None,
    accounts: Mapping[TargetName, str] | None = None,
) -> Pairs:
    """Compare two targets, or two patterns of targets pair by pair.

    With `gate`, the differences are the subscriptions that `b` desires and that are not live in `a`. With `proven`,
    they include the subscriptions that `a` was not observed delivering by `soak` seconds before `now`. In both cases, a
    target of `a` without a counterpart in `b` is not a difference. `accounts` has a hash
    of the client id for each target with a client id. Raises SelectionError.
    """
    pairs, others = _pairs(a, b, desired.targets)
    observed_by = "" if not proven else _WHENEVER if soak is None else stamp(now - soak)
    if gate or proven:
        compared = tuple(_gate(desired, record, first, second, observed_by) for first, second in pairs)
    else:
        compared = tuple(_compare(desired, record, first, second) for first, second in pairs)
    unpaired = tuple(
        Unpaired(first, second, matters=not (gate or proven))
        if first in desired.targets
        else Unpaired(second, first, matters=True)
        for first, second in others
    )
    strange = [
        message
        for name, target in desired.targets.items()
        if any(name in pair for pair in pairs)
        for message in foreign(target, record, (accounts or {}).get(name))
    ]
    return Pairs(compared, unpaired, () if gate or proven else _unused_in_all(desired, compared), tuple(strange))


def _compare(desired: Desired, record: Record, a: TargetName, b: TargetName) -> Parity:
    wanted, there = (_sides(desired, a), _sides(desired, b)), (_in_force(record, a), _in_force(record, b))
    differences = [*_differences(View.DESIRED, *wanted), *_differences(View.IN_FORCE, *there)]
    compared = _declared(desired, a, b, differences)
    names = sorted({item.name for item in compared.differences if item.view is View.IN_FORCE})
    addresses = [Address.of(target, name) for target in (a, b) for name in names]
    return replace(
        compared,
        unapplied=tuple(address for address in addresses if _is_unapplied(desired, record, address)),
        leaving=tuple(address for address in addresses if _is_leaving(record, address)),
    )


def _gate(desired: Desired, record: Record, a: TargetName, b: TargetName, observed_by: str) -> Parity:
    """Return the subscriptions that `b` desires and `a` lacks.

    With `observed_by`, also return the subscriptions that `a` had not been observed delivering by that time.
    """
    here = {subscription.address.name: subscription for subscription in desired.by_target.get(a, ())}
    differences: list[Difference] = []
    unapplied: list[Address] = []
    for name, wanted in sorted(_sides(desired, b).items()):
        subscription = here.get(name)
        live = _live_here(record, subscription) if subscription else []
        codes = tuple(sorted({code for attempt in live for code in attempt.codes}))
        there = Side(codes, subscription.written) if subscription and live else None
        if not _covers(there, wanted):
            differences.append(Difference(name, View.GATE, there, wanted))
            if subscription and _covers(Side(subscription.codes, subscription.written), wanted):
                unapplied.append(subscription.address)
        elif observed_by:
            differences += _unproven(record, live, name, wanted, observed_by)
    compared = _declared(desired, a, b, differences)
    left = {Address.of(a, item.name) for item in compared.differences}
    return replace(compared, unused=(), unapplied=tuple(address for address in unapplied if address in left))


def _unproven(record: Record, live: Sequence[Attempt], name: str, wanted: Side, observed_by: str) -> list[Difference]:
    """Return a difference with the desired codes that had not been received by the time `observed_by`, if any."""
    first: dict[str, str] = {}
    for attempt in live:
        for code, (at, _) in record.received_by(attempt).items():
            first[code] = min(at, first.get(code, at))
    missing = {code: first.get(code, "") for code in wanted.codes if first.get(code, "~") > observed_by}
    seen = Side(tuple(code for code in wanted.codes if code not in missing), wanted.written)
    return [Difference(name, View.PROVEN, seen, wanted, missing)] if missing else []


def _sides(desired: Desired, target: TargetName) -> dict[str, Side]:
    return {wish.address.name: Side(wish.codes, wish.written) for wish in desired.by_target.get(target, ())}


def _in_force(record: Record, target: TargetName) -> dict[str, Side]:
    codes: dict[str, set[str]] = {}
    for attempt in record.attempts.values():
        if attempt.in_force and attempt.address.target == target:
            codes.setdefault(attempt.address.name, set()).update(attempt.codes)
    return {name: Side(tuple(sorted(given))) for name, given in codes.items()}


def _differences(view: View, a: Mapping[str, Side], b: Mapping[str, Side]) -> list[Difference]:
    return [Difference(name, view, a.get(name), b.get(name)) for name in sorted({*a, *b}) if a.get(name) != b.get(name)]


def _covers(there: Side | None, wanted: Side) -> bool:
    return there is not None and there.written == wanted.written and set(wanted.codes) <= set(there.codes)


def _live_here(record: Record, subscription: Subscription) -> list[Attempt]:
    """Return the live attempts of a subscription at its desired URL."""
    attempts = record.at_address(subscription.address)
    return [attempt for attempt in attempts if attempt.status is Status.LIVE and attempt.is_at(subscription.template)]


def _is_unapplied(desired: Desired, record: Record, address: Address) -> bool:
    """True if a plan would still create or remove something at an address."""
    wanted = desired.subscriptions.get(address)
    if wanted is None:
        return any(attempt.status is Status.LIVE for attempt in record.at_address(address))
    return not {code for attempt in _live_here(record, wanted) for code in attempt.codes}.issuperset(wanted.codes)


def _is_leaving(record: Record, address: Address) -> bool:
    return any(attempt.in_force and attempt.requested_codes for attempt in record.at_address(address))


def _declared(desired: Desired, a: TargetName, b: TargetName, differences: Iterable[Difference]) -> Parity:
    """Separate the declared differences from all others. A declaration about other targets does not count as unused."""
    left: list[Difference] = []
    ignored: list[tuple[Difference, ParityException]] = []
    used: list[ParityException] = []
    for difference in differences:
        addresses = (Address.of(a, difference.name), Address.of(b, difference.name))
        about = [rule for rule in desired.parity_ignore if any(_is_about(rule, address) for address in addresses)]
        used += about
        if about:
            ignored.append((difference, about[0]))
        else:
            left.append(difference)
    here = (rule for rule in desired.parity_ignore if _concerns(rule, a) or _concerns(rule, b))
    return Parity(a, b, tuple(left), tuple(ignored), tuple(rule for rule in here if rule not in used))


def _concerns(exception: ParityException, target: TargetName) -> bool:
    """True if a declaration may concern an address of this target."""
    pattern, _, _ = exception.address.rpartition("/")
    return not pattern or matches(pattern, target)


def _is_about(exception: ParityException, address: Address) -> bool:
    """True if a declaration concerns an address. A declaration has a name, or an address whose segments may be `*`."""
    return matches(exception.address, address if "/" in exception.address else address.name)


def _unused_in_all(desired: Desired, compared: Sequence[Parity]) -> tuple[ParityException, ...]:
    """Return the declared exceptions that are unused in every pair that they concern."""
    unused = []
    for exception in desired.parity_ignore:
        about = [pair for pair in compared if _concerns(exception, pair.a) or _concerns(exception, pair.b)]
        if about and all(exception in pair.unused for pair in about):
            unused.append(exception)
    return tuple(unused)


_Pair = tuple[TargetName, TargetName]


def _pairs(a: str, b: str, declared: Iterable[TargetName]) -> tuple[list[_Pair], list[_Pair]]:
    """Return the pairs of declared targets that `a` and `b` match, and the targets without a counterpart.

    If `a` and `b` are patterns, they must differ in exactly one segment, which has no wildcard. The two targets of a
    pair have the other segment in common. Raises SelectionError.
    """
    names = set(declared)
    if not has_wildcard(a + b):
        unknown = [name for name in (a, b) if name not in names]
        if unknown:
            raise SelectionError(
                *(_no_match(f"not declared{suggestion([name], names)}", name, names) for name in unknown)
            )
        return [(TargetName(a), TargetName(b))], []
    parts = a.split("/"), b.split("/")
    differing = [place for place in (0, 1) if list(map(len, parts)) == [2, 2] and parts[0][place] != parts[1][place]]
    if len(differing) != 1 or any(has_wildcard(part[differing[0]]) for part in parts):
        what = "expected two patterns that differ in exactly one segment, without a wildcard in it"
        example = Step("for example: '*/staging' '*/production'")
        raise SelectionError(Message("bad-pair", what, f"{a} {b}", (example,)))
    kept = 1 - differing[0]
    shared = {name.split("/")[kept] for name in names if matches(a, name) or matches(b, name)}
    if not shared:
        raise SelectionError(_no_match("no declared target matches either pattern", f"{a} {b}", names))
    pairs = [(_with(parts[0], kept, text), _with(parts[1], kept, text)) for text in sorted(shared)]
    return [pair for pair in pairs if names.issuperset(pair)], [pair for pair in pairs if not names.issuperset(pair)]


def _no_match(what: str, where: str, names: Iterable[str]) -> Message:
    return Message("no-match", what, where, (Step(f"declared targets: {', '.join(sorted(names)) or 'none'}"),))


def _with(parts: Sequence[str], kept: int, text: str) -> TargetName:
    return TargetName("/".join(text if place == kept else part for place, part in enumerate(parts)))
