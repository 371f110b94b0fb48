"""The desired state: what `config/` says, read, merged and checked."""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from reconciler.model.url import service_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reconciler.mistake import Mistake, Place
    from reconciler.model.address import Address, TargetName

API_NAMES = ("onboarding", "notification", "prequalification", "loan", "preapproval", "testsupport")
"""The names that an audience ends with (SERVICE.md, section 5)."""

ALGORITHMS = {"hmac-sha256": "sha256", "hmac-sha512": "sha512", "hmac-sha1": "sha1"}
"""Each algorithm of a signature, with the name that `hashlib` has for its hash."""

ENCODINGS = ("base64", "hex")
"""Of a signature."""

KEY_ENCODINGS = ("utf8", *ENCODINGS)
"""Of a secret."""


class Overlap(StrEnum):
    """Whether two subscriptions of one service may have the same event code."""

    REFUSE = "refuse"
    ALLOW = "allow"


class Replace(StrEnum):
    """When a subscription with a new URL is created: beside the old one, or after that was removed."""

    OVERLAP = "overlap"
    WAIT = "wait"


class Target(Struct, frozen=True):
    """One declared target with the addresses in use for it (the settings override `config/`).

    `base_url` and `auth_url` carry no trailing slash. An audience is `audience_base`, a slash and one of API_NAMES.
    """

    name: TargetName
    auth_url: str
    base_url: str
    audience_base: str
    overlap: Overlap
    replace: Replace
    place: Place


class Subscription(Struct, frozen=True, gc=False):
    """One desired subscription. `codes` are sorted; `template` is the URL as written, before substitution."""

    address: Address
    codes: tuple[str, ...]
    url: str
    template: str
    place: Place


class Verification(Struct, frozen=True):
    """How notifications are signed, as `verification:` in `config/` says it."""

    header: str
    algorithm: str
    prefix: str = ""
    encoding: str = "hex"
    key_encoding: str = "utf8"
    content: str = "{body}"
    enforce: bool = True


class ParityException(Struct, frozen=True):
    """A declared difference between two targets: an address, and why it may differ."""

    address: str
    reason: str
    place: Place


class Desired(Struct, frozen=True, dict=True):
    """The whole of `config/`. Targets and subscriptions are keyed and sorted by name and address.

    `unread` are warnings of files there that are not read, which only `validate` gives.
    """

    targets: Mapping[TargetName, Target]
    subscriptions: Mapping[Address, Subscription]
    recipients: tuple[str, ...] = ()
    verification: Verification | None = None
    parity_ignore: tuple[ParityException, ...] = ()
    warnings: tuple[Mistake, ...] = ()
    unread: tuple[Mistake, ...] = ()

    def of_target(self, target: TargetName) -> list[Subscription]:
        """The subscriptions desired on one target, sorted by address."""
        return self._by_target.get(target, [])

    @cached_property
    def _by_target(self) -> dict[TargetName, list[Subscription]]:
        subscriptions: dict[TargetName, list[Subscription]] = {}
        for address, desired in self.subscriptions.items():
            subscriptions.setdefault(address.target, []).append(desired)
        return subscriptions

    def of_services(self, base_urls: Iterable[str], bound: Mapping[TargetName, str]) -> set[TargetName]:
        """The targets of the services at `base_urls`: what any of them has recorded exists there.

        They are those declared at such a service, and those whose records are bound to one: `bound` has the base URLs
        of records by target. A record stays what it is if its target is no longer declared, or declared elsewhere.
        """
        services = self.by_service(bound)
        return {name for base_url in base_urls for name in services.get(service_key(base_url), ())}

    def by_service(self, bound: Mapping[TargetName, str]) -> dict[str, set[TargetName]]:
        """The targets of each service, as `of_services` gives them, by what its base URLs have in common."""
        services: dict[str, set[TargetName]] = {}
        declared = ((name, target.base_url) for name, target in self.targets.items())
        for name, base_url in (*declared, *bound.items()):
            services.setdefault(service_key(base_url), set()).add(name)
        return services
