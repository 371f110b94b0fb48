"""Patches -> subscriptions: for each target, from the general pattern to the particular one."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Final

from reconciler.desired import templates, urls
from reconciler.desired.mistakes import Mistakes, Positioned, listed, place, shown, suggest
from reconciler.desired.patches import Codes, Patch, Url, read
from reconciler.model.address import Address, TargetName
from reconciler.model.desired import Subscription

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reconciler.desired.nodes import Node
    from reconciler.desired.sections import Pattern
    from reconciler.desired.targets import Declared

Layer = dict[str, Patch]

NOWHERE: Final = "https://nowhere.invalid/"
"""Begins what stands for a URL that has a mistake; a configuration with one is never applied."""

ROUTE_LIMIT: Final = 500_000
"""Routes on all targets, which bound time and memory: a small file can want very many things on very many targets."""


def merge(
    patterns: Mapping[str, Pattern], targets: Mapping[TargetName, Declared], mistakes: Mistakes
) -> dict[Address, Subscription]:
    """The subscriptions wanted on every target, sorted by address."""
    layers = {name: read(pattern, mistakes) for name, pattern in patterns.items()}
    unmatched = patterns.keys() - {match for target in targets for match in _patterns_of(target)}
    _refuse_undeclared(unmatched, patterns, targets, mistakes)
    lost: dict[str, list[Patch]] = {}
    for pattern in unmatched:
        for name, patch in layers[pattern].items():
            lost.setdefault(name, []).append(patch)
            _check_literal(patch.url, mistakes)
    if _are_too_many(layers, targets):
        _refuse_too_many(patterns, mistakes)
        return {}
    wanted: list[Subscription] = []
    for target, declared in targets.items():
        wanted += _Merger(target, declared.variables, mistakes, lost).merge(layers)
    wanted.sort(key=attrgetter("address"))
    return {subscription.address: subscription for subscription in wanted}


def _refuse_undeclared(
    unmatched: Iterable[str],
    patterns: Mapping[str, Pattern],
    targets: Mapping[TargetName, Declared],
    mistakes: Mistakes,
) -> None:
    if mistakes.hidden:
        return
    remedy = f"declare it under `targets:`; declared targets: {listed(targets)}"
    for name in unmatched:
        what = f"{name} matches no declared target" if "*" in name else f"target {name} is not declared"
        for key in patterns[name].keys:
            at = place(key)
            mistakes.add(at, what if mistakes.crowd(at) else what + suggest(name, targets), remedy)


def _check_literal(url: Url | None, mistakes: Mistakes) -> None:
    """Report what is wrong with a URL without variables: no target is there to substitute any."""
    if url is not None and url.value is not None and "{" not in url.value:
        _refuse_faulty(url.value, url.node, mistakes)


def _refuse_faulty(url: str, node: Node, mistakes: Mistakes) -> bool:
    """Whether a webhook URL has a fault, which is reported unless a mistake is known there."""
    fault = urls.fault(url)
    if fault is not None:
        mistakes.add_first(place(node), f"webhookUrl {fault.what}: {shown(url)}", fault.remedy)
    return fault is not None


def _are_too_many(layers: Mapping[str, Layer], targets: Iterable[TargetName]) -> bool:
    """Whether the patterns come to more routes than are taken; something without codes counts as one."""
    sizes = {
        name: sum(len(patch.codes.value or "-") if patch.codes else 1 for patch in layer.values())
        for name, layer in layers.items()
    }
    return sum(sizes.get(name, 0) for target in targets for name in _patterns_of(target)) > ROUTE_LIMIT


def _refuse_too_many(patterns: Mapping[str, Pattern], mistakes: Mistakes) -> None:
    largest = max(patterns.values(), key=lambda pattern: len(pattern.members))
    what = f"the configuration defines more than {ROUTE_LIMIT} routes"
    mistakes.hide(place(largest.keys[0]), what, "split it, with a separate state record for each part")


def _patterns_of(target: TargetName) -> tuple[str, str, str, str]:
    """The patterns that match a target: one general, two between, one particular."""
    return "*/*", f"{target.region}/*", f"*/{target.environment}", target


class _Merger:
    """The subscriptions of one target."""

    def __init__(
        self,
        target: TargetName,
        variables: Mapping[str, str | None] | None,
        mistakes: Mistakes,
        lost: Mapping[str, list[Patch]],
    ) -> None:
        """`lost` are the patches of patterns that match no target, by name: they may be meant for this one."""
        self._target = target
        self._lost = lost
        given = variables if variables is not None else {"region": target.region, "environment": target.environment}
        self._variables = {name: value for name, value in given.items() if value is not None}
        self._unusable = None if variables is None else variables.keys() - self._variables
        self._mistakes = mistakes

    def merge(self, layers: Mapping[str, Layer]) -> list[Subscription]:
        general, of_region, of_environment, particular = (layers.get(name, {}) for name in _patterns_of(self._target))
        merged = dict(general)
        for layer in (self._agreed(of_region, of_environment), particular):
            for name, patch in layer.items():
                merged[name] = patch.over(merged[name]) if name in merged else patch
        wanted = (self._complete(name, patch) for name, patch in merged.items() if patch.wanted)
        return [subscription for subscription in wanted if subscription is not None]

    def _agreed(self, of_region: Layer, of_environment: Layer) -> Layer:
        """Two layers of one rank as one: they may complete each other, and not differ."""
        agreed = of_region | of_environment
        for name in of_region.keys() & of_environment.keys():
            first, later = sorted((of_region[name], of_environment[name]), key=lambda patch: place(patch.key))
            if first.wanted != later.wanted:
                self._refuse_conflict(f"only one of the two excludes {name} with null", first.key, later.key)
            if first.codes and later.codes and first.codes.sound and later.codes.sound:
                self._compare(name, "eventCodes", first.codes, later.codes)
            self._compare(name, "webhookUrl", first.url, later.url)
            agreed[name] = first.over(later)
        return agreed

    def _compare(self, name: str, field: str, first: Codes | Url | None, later: Codes | Url | None) -> None:
        if first is None or later is None or first.value is None or later.value is None:
            return
        if first.value != later.value:
            self._refuse_conflict(f"they set {field} of {name} differently", first.node, later.node)

    def _refuse_conflict(self, conflict: str, first: Positioned, later: Positioned) -> None:
        what = f"conflicts with the pattern of the same rank for {self._target} at {place(first)}: {conflict}"
        remedy = f"keep it in one of the two patterns, or set it under {self._target} itself"
        self._mistakes.add(place(later), what, remedy, once=f"{place(first)}: {conflict}")

    def _complete(self, name: str, patch: Patch) -> Subscription | None:
        """The subscription that merged patches come to, with what is sound of it: its codes may clash with others."""
        codes, url = patch.codes, patch.url
        if codes is None or url is None:
            self._refuse_incomplete(name, patch)
        template = url.value if url else None
        expanded = self._expand(name, template, url.node) if url and template is not None else None
        if codes is None:
            return None
        address = Address.of(self._target, name)
        return Subscription(address, codes.value, expanded or NOWHERE + address, template or "", place(patch.key))

    def _refuse_incomplete(self, name: str, patch: Patch) -> None:
        if self._mistakes.hidden:
            return
        lost = self._lost.get(name, ())
        given = {
            "eventCodes": patch.codes or any(other.codes for other in lost),
            "webhookUrl": patch.url or any(other.url for other in lost),
        }
        missing = [field for field, value in given.items() if not value]
        if missing:
            what = f"missing {' and '.join(missing)}"
            remedy = "add it here or in a more general pattern"
            self._mistakes.add(place(patch.key), f"{self._target}/{name}: {what}", remedy, once=what)

    def _expand(self, name: str, template: str, node: Node) -> str | None:
        try:
            self._variables["name"] = name
            url = templates.expand(template, self._variables, urls.LENGTH_LIMIT)
        except KeyError as unknown:
            self._refuse_variable(unknown.args[0], node)
            return None
        return None if _refuse_faulty(url, node, self._mistakes) else url

    def _refuse_variable(self, name: str, node: Node) -> None:
        if self._unusable is None or name in self._unusable:
            return
        at = place(node)
        known = [] if self._mistakes.crowd(at) else [*self._variables]
        what = f"webhookUrl: unknown variable {name} for {self._target}{suggest(name, known)}"
        self._mistakes.add_first(at, what, f"available: {listed(known)}; define more under `vars` of the target")
