"""Defines the targets of the sandbox and their identity providers, with their URLs and credentials."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from reconciler.errors import Message, SettingsError
from reconciler.values import Discreet

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

DOCUMENTED_TARGETS = ("europe/staging", "europe/production", "usa/staging", "usa/production")

# Defined here rather than imported from the client, so that the two definitions check each other.
API_NAMES = ("onboarding", "notification", "prequalification", "loan", "preapproval", "testsupport")

_TARGET_NAME = re.compile(r"[a-z0-9][a-z0-9-]*/[a-z0-9][a-z0-9-]*")


class Provider(Discreet, frozen=True):
    """An identity provider. `clients` maps client ids to secrets, and `key` signs the tokens."""

    unprinted = ("clients", "key")

    name: str
    auth_url: str
    audience_base: str
    targets: tuple[str, ...]
    clients: Mapping[str, str]
    key: bytes


class Target(Discreet, frozen=True):
    """A region and environment, with the partner's credentials."""

    unprinted = ("client_secret",)

    name: str
    base_url: str
    provider: Provider
    client_id: str
    client_secret: str

    def audience(self, api_name: str) -> str:
        """Return the audience of the tokens for one of the six APIs."""
        return f"{self.provider.audience_base}/{api_name}"

    def variables(self) -> list[tuple[str, str]]:
        """Return the environment variables that point a client at this target."""
        provider, names = self.provider, ("CLIENT_ID", "CLIENT_SECRET", "AUTH_URL", "BASE_URL", "AUDIENCE_BASE")
        values = self.client_id, self.client_secret, provider.auth_url, self.base_url, provider.audience_base
        return [(f"{_prefix(self.name)}_{name}", value) for name, value in zip(names, values, strict=True)]


def check_names(names: Sequence[str]) -> None:
    """Raise SettingsError if there are no names, if a name is invalid, or if two names yield the same variables."""
    seen: dict[str, str] = {}
    for name in names:
        if not _TARGET_NAME.fullmatch(name):
            raise SettingsError(Message("bad-target", "expected a target, in the form region/environment", name))
        if (other := seen.setdefault(_prefix(name), name)) != name:
            raise SettingsError(Message("same-variables", f"it uses the same variables as {other}", name))
    if not names:
        raise SettingsError(Message("no-targets", "the sandbox has no target"))


def lay_out(
    root: str, names: Sequence[str], accounts: Mapping[str, tuple[str, str]], entropy: Callable[[int], bytes]
) -> dict[str, Target]:
    """Return the targets by name. All their URLs begin with `root`.

    The staging targets share one identity provider, one audience base and one account; every other target has its own
    (service description, sections 4.1 and 5). `accounts` maps targets to a client id and secret; a provider gets a
    random account if `accounts` has no entry for its targets.
    """
    members: dict[str, list[str]] = {}
    for name in names:
        environment = name.partition("/")[2]
        members.setdefault(environment if environment == "staging" else name.replace("/", "-"), []).append(name)
    targets = {}
    for provider_name, sharing in members.items():
        new = f"sandbox-{entropy(8).hex()}", entropy(24).hex()
        shared = next((accounts[name] for name in sharing if name in accounts), new)
        own = {name: accounts.get(name, shared) for name in sharing}
        provider = Provider(
            provider_name,
            f"{root}/identity/{provider_name}",
            f"{root}/audience/{provider_name}",
            tuple(sharing),
            dict(own.values()),
            entropy(32),
        )
        for name, (client_id, client_secret) in own.items():
            targets[name] = Target(name, f"{root}/{name.replace('/', '-')}", provider, client_id, client_secret)
    return {name: targets[name] for name in names}


def _prefix(target: str) -> str:
    return "RECONCILER_" + target.upper().replace("-", "_").replace("/", "_")
