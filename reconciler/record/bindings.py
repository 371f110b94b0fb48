"""The services and accounts that a target is bound to, by its creates or by the word of a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.model.url import service_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reconciler.record.facts import Rebound, What


def bindings(
    whats: Iterable[What], rebounds: Iterable[Rebound]
) -> tuple[dict[str, tuple[str, ...]], dict[str, frozenset[str]], dict[str, str]]:
    """Return the base URLs and the accounts of each target, and which services are the same."""
    urls: dict[str, set[str]] = {}
    accounts: dict[str, set[str]] = {}
    for target, base_url, account in {(what.address.rpartition("/")[0], what.base_url, what.account) for what in whats}:
        urls.setdefault(target, set()).add(base_url)
        if account:
            accounts.setdefault(target, set()).add(account)
    for fact in rebounds:
        urls.setdefault(fact.target, set()).add(fact.base_url)
        if fact.account:
            accounts.setdefault(fact.target, set()).add(fact.account)
    return (
        {target: tuple(sorted(found)) for target, found in sorted(urls.items())},
        {target: frozenset(found) for target, found in accounts.items()},
        _same_services(rebounds, urls),
    )


def _same_services(rebounds: Iterable[Rebound], urls: Mapping[str, set[str]]) -> dict[str, str]:
    """Map the key of each service to the least key of those that someone has said are one with it."""
    classes: dict[str, set[str]] = {}
    for fact in rebounds:
        united = {service_key(url) for url in urls[fact.target]}
        for key in list(united):
            united |= classes.get(key, set())
        for key in united:
            classes[key] = united
    return {key: min(united) for key, united in classes.items()}
