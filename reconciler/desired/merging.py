"""Merges patches into subscriptions, for each target from the most general pattern to the most specific."""

from __future__ import annotations

import re
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from reconciler.desired import urls
from reconciler.desired.mistakes import Mistakes, Positioned, listed, place, question, shown
from reconciler.desired.patches import Given, Patch, attempt_variables, patch_of
from reconciler.model.address import Address, TargetName
from reconciler.model.desired import Overlap, Subscription, Target, Unknown
from reconciler.model.url import ATTEMPT, has_attempt, normal_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from collections.abc import Set as AbstractSet

    from reconciler.desired.nodes import Node
    from reconciler.desired.sections import Pattern
    from reconciler.desired.targets import Declared


Layer = dict[str, Patch]

NOWHERE: Final = "https://nowhere.invalid/"
"""The start of the URL that replaces an invalid one; a configuration with mistakes is never applied."""

LIMIT: Final = 200_000
"""The maximum number of subscriptions on all targets. It bounds time and memory, because patterns can
expand a small file to many subscriptions."""

_PLACEHOLDER = re.compile(r"https?://([^/?:]*\.example)(?![^/?:])", re.IGNORECASE)


def merge(
    patterns: Mapping[str, Pattern], targets: Mapping[TargetName, Declared], mistakes: Mistakes
) -> dict[Address, Subscription]:
    """Return the desired subscriptions of all targets, sorted by address."""
    layers: dict[str, Layer] = {}
    for name, pattern in patterns.items():
        layers[name] = {member.key: patch_of(member, mistakes) for member in pattern.members.values()}
        for member in pattern.misnamed:  # only to report its mistakes, without its name, which may be anything
            patch_of(member, mistakes, "a subscription")
    unmatched = patterns.keys() - {match for target in targets for match in _patterns_of(target)}
    if unmatched and not mistakes.hidden:
        _refuse_undeclared(unmatched, patterns, targets, mistakes)
    lost = {name: patch for pattern in unmatched for name, patch in layers[pattern].items()}
    for url in [patch.url for pattern in unmatched for patch in layers[pattern].values() if patch.url]:
        if url.sound and "{" not in url.value:  # without a target there are no variables to substitute
            _has_fault(url.value, url.node, mistakes)
    wanted: list[Subscription] = []
    hosts: set[str] = set()
    for target, declared in targets.items():
        given = declared.variables
        usable = {name: value for name, value in (given or {}).items() if value is not None}
        unusable = None if given is None else given.keys() - usable
        subscriptions = _Merger(target, usable, unusable, mistakes, lost.keys(), hosts).merge(layers)
        if declared.unknown is not None and declared.target is not None and declared.target.unknown is Unknown.RETRY:
            _refuse_retry(target, declared.unknown, subscriptions, mistakes)
        wanted += subscriptions
        if len(wanted) > LIMIT:
            largest = max(patterns.values(), key=lambda pattern: len(pattern.members))
            what = f"the configuration defines more than {LIMIT} subscriptions"
            mistakes.hide("too-many-subscriptions", largest.keys[0], what, "split it into several projects")
            return {}
    wanted.sort(key=attrgetter("address"))
    return {subscription.address: subscription for subscription in wanted}


def _refuse_undeclared(
    unmatched: Iterable[str],
    patterns: Mapping[str, Pattern],
    targets: Mapping[TargetName, Declared],
    mistakes: Mistakes,
) -> None:
    remedy = f"declare it under `targets:`; declared targets: {listed(targets)}"
    for name in unmatched:
        what = f"{name} matches no declared target" if "*" in name else f"target {name} is not declared"
        for key in patterns[name].keys:
            mistakes.add("undeclared-target", key, what + question(mistakes.nearest(name, targets, key)), remedy)


def _has_fault(url: str, node: Node, mistakes: Mistakes) -> bool:
    """True if a webhook URL has a fault. The fault is reported unless its place already has a mistake."""
    fault = urls.fault(url)
    if fault is not None:
        mistakes.add_first(fault.name, node, f"webhookUrl {fault.what}: {shown(url)}", fault.remedy)
    return fault is not None


def _patterns_of(target: TargetName) -> tuple[str, str, str, str]:
    """Return the patterns that match a target, from `*/*` to the name of the target."""
    region, _, environment = target.partition("/")
    return "*/*", f"{region}/*", f"*/{environment}", target


def _refuse_retry(target: TargetName, node: Node, subscriptions: Iterable[Subscription], mistakes: Mistakes) -> None:
    """Report `unknown: retry` for a target that has webhook URLs without `{attempt}`."""
    fixed = [each.address for each in subscriptions if not has_attempt(each.template) and NOWHERE not in each.template]
    if fixed:
        what = f"`unknown: retry` needs {ATTEMPT} in every webhook URL of {target}; it is missing in {listed(fixed)}"
        remedy = f"add {ATTEMPT} to the path or the query of these URLs, or set `unknown: wait`"
        mistakes.add("retry-without-attempt", node, what, remedy)


class _Merger(Struct):
    """Merges the subscriptions of one target.

    `unusable` are the variables that have a mistake, or None if any variable may have one. `lost` are the names of
    subscriptions under patterns that match no target; they may be meant for this target. `hosts` are the placeholder
    hosts that have already caused a warning.
    """

    target: TargetName
    variables: dict[str, str]
    unusable: AbstractSet[str] | None
    mistakes: Mistakes
    lost: AbstractSet[str]
    hosts: set[str]

    def merge(self, layers: Mapping[str, Layer]) -> list[Subscription]:
        general, of_region, of_environment, particular = (layers.get(name, {}) for name in _patterns_of(self.target))
        merged = dict(general)
        between = of_region or of_environment
        if of_region and of_environment:
            between = self._agreed(of_region, of_environment)
        for layer in (between, particular):
            for name, patch in layer.items():
                merged[name] = patch.over(merged[name]) if name in merged else patch
        wanted = (self._complete(name, patch) for name, patch in merged.items() if patch.wanted)
        return [subscription for subscription in wanted if subscription is not None]

    def _agreed(self, of_region: Layer, of_environment: Layer) -> Layer:
        """Merge two equally specific layers. They may complete each other, but a contradiction is reported."""
        agreed = of_region | of_environment
        for name in of_region.keys() & of_environment.keys():
            first, later = sorted((of_region[name], of_environment[name]), key=lambda patch: place(patch.key))
            if first.wanted != later.wanted:
                what = f"only one of the two excludes {name} with null"
                self._refuse_conflict("null-conflict", what, first.key, later.key)
            self._compare(name, "eventCodes", first.codes, later.codes)
            self._compare(name, "webhookUrl", first.url, later.url)
            agreed[name] = first.over(later)
        return agreed

    def _compare(self, name: str, field: str, first: Given[Any] | None, later: Given[Any] | None) -> None:
        if first and later and first.sound and later.sound and first.value != later.value:
            self._refuse_conflict("rank-conflict", f"they set {field} of {name} differently", first.node, later.node)

    def _refuse_conflict(self, kind: str, conflict: str, first: Positioned, later: Positioned) -> None:
        what = f"conflicts with the equally specific pattern for {self.target} at {place(first)}: {conflict}"
        remedy = f"keep only one of the two, or define the subscription under {self.target} itself"
        self.mistakes.add(kind, later, what, remedy, once=f"{place(first)}: {conflict}")

    def _complete(self, name: str, patch: Patch) -> Subscription | None:
        """Return the subscription that the merged patches define, or None if they give no event codes.

        Missing fields and an invalid URL are reported.
        """
        codes, url = patch.codes, patch.url
        if codes is None or url is None:
            self._refuse_incomplete(name, patch)
        written = url.value if url else ""
        template = self._expand(name, written, url.node) if url and url.sound else None
        if codes is None:
            return None
        address = Address.of(self.target, name)
        return Subscription(address, codes.value, template or NOWHERE + address, written, place(patch.key))

    def _refuse_incomplete(self, name: str, patch: Patch) -> None:
        if self.mistakes.hidden or name in self.lost:
            return
        given = {"eventCodes": patch.codes, "webhookUrl": patch.url}
        what = f"missing {' and '.join(field for field, value in given.items() if value is None)}"
        remedy = "add what is missing, here or in a more general pattern"
        self.mistakes.add("missing-field", patch.key, f"{self.target}/{name}: {what}", remedy, once=what)

    def _expand(self, name: str, written: str, node: Node) -> str | None:
        url = written
        if "{" in written or "}" in written:
            try:
                self.variables["name"] = name
                url = written.format_map(self.variables)
            except KeyError as unknown:
                self._refuse_variable(unknown.args[0], node)
                return None
        if _has_fault(url, node, self.mistakes):
            return None
        if ATTEMPT in url and url.count(ATTEMPT) != attempt_variables(written):
            what = f"webhookUrl contains {ATTEMPT} as literal text, from a variable or from doubled braces"
            remedy = f"for the text, write %7Battempt%7D; for the attempt's id, write {ATTEMPT} in webhookUrl itself"
            self.mistakes.add_first("literal-attempt", node, what, remedy)
            return None
        if ".example" in url and (match := _PLACEHOLDER.match(url)) and match[1].lower() not in self.hosts:
            self.hosts.add(match[1].lower())
            what = "webhookUrl: the host is a placeholder, since no name under .example exists"
            self.mistakes.warn("placeholder-host", node, what, "replace it with the host of your endpoint")
        return url

    def _refuse_variable(self, name: str, node: Node) -> None:
        if self.unusable is None or name in self.unusable:
            return
        meant = question(self.mistakes.nearest(name, self.variables, node))
        what = f"webhookUrl: unknown variable {name} for {self.target}{meant}"
        remedy = f"available: {listed(self.variables)}; define more under `vars` of the target"
        self.mistakes.add_first("unknown-variable", node, what, remedy)


_Conflict = tuple[Subscription, Subscription, list[str]]


def refuse_overlaps(
    subscriptions: Iterable[Subscription], declared: Mapping[TargetName, Declared], mistakes: Mistakes
) -> None:
    """Report each pair of subscriptions of one service that share a code although they must not.

    Each mistake has the place of the later subscription.
    A variable that overrides `base_url` may have merged two services into one, so the message names such a variable.
    """
    targets = {name: each.target for name, each in declared.items() if each.target is not None}
    services = {name: target.service for name, target in targets.items()}
    firsts: dict[str, dict[str, Subscription]] = {service: {} for service in services.values()}
    shared: dict[tuple[str, str], list[Subscription]] = {}
    for subscription in subscriptions:
        service = services.get(subscription.address.target)
        if service is None:
            continue
        holders = firsts[service]
        for code in subscription.codes:
            first = holders.setdefault(code, subscription)
            if first is not subscription:
                shared.setdefault((service, code), [first]).append(subscription)
    conflicts: dict[tuple[str, str], _Conflict] = {}
    for (_, code), sharing in shared.items():
        for first, later in _conflicting(sorted(sharing, key=attrgetter("place", "address")), targets):
            conflicts.setdefault((first.address, later.address), (first, later, []))[2].append(code)
    alike: dict[tuple[object, ...], list[_Conflict]] = {}
    for first, later, codes in conflicts.values():
        same_url = normal_url(first.template) == normal_url(later.template)
        alike.setdefault((first.place, later.place, same_url, *codes), []).append((first, later, codes))
    for pairs in alike.values():
        _report(pairs, targets, mistakes)


def _conflicting(
    holders: list[Subscription], targets: Mapping[TargetName, Target]
) -> Iterator[tuple[Subscription, Subscription]]:
    """Yield each pair of conflicting subscriptions among the holders of one code, the earlier holder first.

    Two holders conflict if the target of either refuses overlaps, or if they have the same URL.
    """
    refusing: Subscription | None = None
    at_url: dict[str, Subscription] = {}
    for holder in holders:
        refuses = targets[holder.address.target].overlap is Overlap.REFUSE
        rival = at_url.setdefault(normal_url(holder.template), holder)
        if rival is holder:
            rival = holders[0] if refuses else refusing or holder
        if rival is not holder:
            yield rival, holder
        if refuses:
            refusing = refusing or holder


def _report(pairs: list[_Conflict], targets: Mapping[TargetName, Target], mistakes: Mistakes) -> None:
    """Report one mistake for all conflicting pairs that have the same two places, even on several targets."""
    first, later, codes = pairs[0]
    concerned = {subscription.address.target for pair in pairs for subscription in pair[:2]}
    others = concerned - {first.address.target, later.address.target}
    likewise = f" (likewise on {listed(others)})" if others else ""
    if normal_url(first.template) == normal_url(later.template):
        name, remedy = "same-route", "keep the codes in one of the two"
        what = f"{later.address} and {first.address} deliver the same event codes to the same URL: {listed(codes)}"
    else:
        name, remedy = "overlap", f"keep the codes in one of the two, or set `overlap: allow` under {listed(concerned)}"
        what = f"{later.address} and {first.address} have the same event codes at the same service: {listed(codes)}"
    overridden = [each for each in concerned if "base_url" in targets[each].overridden]
    if first.address.target != later.address.target and overridden:
        remedy = f"correct {listed(f'{each.variable_prefix}BASE_URL' for each in overridden)}; or {remedy}"
    mistakes.add(name, later.place, f"{what}{likewise}", remedy)
