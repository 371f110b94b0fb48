"""The desired state: the contents of `config/`, merged and checked."""

from __future__ import annotations

import hashlib
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from reconciler.errors import Message, SelectionError, Step
from reconciler.model.address import TargetName, suggestion
from reconciler.model.url import service_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reconciler.errors import Place
    from reconciler.model.address import Address


API_NAMES = ("onboarding", "notification", "prequalification", "loan", "preapproval", "testsupport")
"""The API names at the end of an audience (service description, section 5)."""

ALGORITHMS = {"hmac-sha256": "sha256", "hmac-sha512": "sha512", "hmac-sha1": "sha1"}
"""The signature algorithms, each with the name of its hash in `hashlib`."""

ENCODINGS = ("base64", "hex")
"""The encodings of a signature."""

KEY_ENCODINGS = ("utf8", *ENCODINGS)
"""The encodings of a secret."""


class Overlap(StrEnum):
    """The rule for an event code shared by two subscriptions of one service: report an error, or allow it."""

    REFUSE = "refuse"
    ALLOW = "allow"


class Replace(StrEnum):
    """The rule for a new URL: create the new subscription at once, or only after the old one has been removed."""

    OVERLAP = "overlap"
    WAIT = "wait"


class Unknown(StrEnum):
    """The rule for an unknown outcome: wait for a person, or retry as a new attempt."""

    WAIT = "wait"
    RETRY = "retry"


class Target(Struct, frozen=True):
    """A declared target, with the URLs in use: environment variables override the URLs in `config/`.

    `base_url` and `auth_url` have no trailing slash. An audience is `audience_base`, a slash and one of API_NAMES.
    `overridden` names the fields among `base_url`, `auth_url` and `audience_base` that a variable overrides.
    """

    name: TargetName
    auth_url: str
    base_url: str
    audience_base: str
    overlap: Overlap
    replace: Replace
    unknown: Unknown
    place: Place
    overridden: tuple[str, ...] = ()

    @property
    def service(self) -> str:
        """Return the key of the target's service: targets with the same key use the same service."""
        return service_key(self.base_url)


class Subscription(Struct, frozen=True, gc=False):
    """A desired subscription. `codes` are sorted.

    `template` is the URL after substitution of everything except `{attempt}`, which each create replaces with the id of
    its attempt. `written` is the URL in `config/`, before substitution.
    """

    address: Address
    codes: tuple[str, ...]
    template: str
    written: str
    place: Place


class Verification(Struct, frozen=True):
    """The signature scheme of notifications, from `verification:` in `config/`."""

    header: str
    algorithm: str
    prefix: str = ""
    encoding: str = "hex"
    key_encoding: str = "utf8"
    content: str = "{body}"
    enforce: bool = True


class ParityException(Struct, frozen=True):
    """A declared difference between two targets: an address, and the reason why it may differ."""

    address: str
    reason: str
    place: Place


class Desired(Struct, frozen=True, dict=True):
    """The contents of `config/`. Targets are sorted by name, and subscriptions by address.

    `state` and `record` are the place and the id of the record that `config/` names, or "" if it names none. `unread`
    are warnings about files that are not read; only `validate` shows them.
    """

    targets: Mapping[TargetName, Target]
    subscriptions: Mapping[Address, Subscription]
    state: str = ""
    record: str = ""
    recipients: tuple[str, ...] = ()
    verification: Verification | None = None
    parity_ignore: tuple[ParityException, ...] = ()
    warnings: tuple[Message, ...] = ()
    unread: tuple[Message, ...] = ()

    def target(self, name: str, where: str) -> Target:
        """Return the declared target with this name. Raises SelectionError, which names `where`, if there is none."""
        target = self.targets.get(TargetName(name))
        if target is None:
            what = f"target not declared in config/{suggestion([name], self.targets)}"
            declared = Step(f"declared targets: {', '.join(self.targets) or 'none'}")
            raise SelectionError(Message("target-unknown", what, where, (declared,)))
        return target

    @property
    def services(self) -> frozenset[str]:
        """Return the keys of the services of all declared targets."""
        return frozenset(target.service for target in self.targets.values())

    @cached_property
    def by_target(self) -> Mapping[TargetName, list[Subscription]]:
        """Return the subscriptions by target, sorted by address; targets without subscriptions are omitted."""
        subscriptions: dict[str, list[Subscription]] = {}
        for address, desired in self.subscriptions.items():
            subscriptions.setdefault(address.rpartition("/")[0], []).append(desired)
        return {TargetName(name): wanted for name, wanted in subscriptions.items()}


def account_hash(client_id: str) -> str:
    """Return `sha256:` followed by a hash of a client id. The hash identifies the client and may be stored."""
    return "sha256:" + hashlib.sha256(b"reconciler account\0" + client_id.encode()).hexdigest()
