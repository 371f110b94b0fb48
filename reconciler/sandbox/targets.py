"""The targets of the sandbox, their identity providers, and the URLs and credentials of both."""

import re
import secrets
from collections.abc import Mapping, Sequence

from reconciler.errors import SettingsError
from reconciler.values import Discreet

DOCUMENTED_TARGETS = ("europe/staging", "europe/production", "usa/staging", "usa/production")

# Written again rather than shared with the client, so that each checks the other.
API_NAMES = ("onboarding", "notification", "prequalification", "loan", "preapproval", "testsupport")

_TARGET_NAME = re.compile(r"[a-z0-9][a-z0-9-]*/[a-z0-9][a-z0-9-]*")


class Provider(Discreet, frozen=True):
    """An identity provider. `clients` are secrets by client id; `key` signs its tokens."""

    unprinted = ("clients", "key")

    name: str
    auth_url: str
    audience_base: str
    targets: tuple[str, ...]
    clients: Mapping[str, str]
    key: bytes

    @property
    def audiences(self) -> frozenset[str]:
        """The audiences that a token can be requested for: one for each API."""
        return frozenset(f"{self.audience_base}/{name}" for name in API_NAMES)


class Target(Discreet, frozen=True):
    """One region and environment, and the credentials of the partner there."""

    unprinted = ("client_secret",)

    name: str
    base_url: str
    provider: Provider
    client_id: str
    client_secret: str

    def audience(self, api_name: str) -> str:
        return f"{self.provider.audience_base}/{api_name}"

    def variables(self) -> list[tuple[str, str]]:
        """The environment variables that point a client at this target, in a fixed order."""
        prefix = _variable_prefix(self.name)
        return [
            (f"{prefix}_CLIENT_ID", self.client_id),
            (f"{prefix}_CLIENT_SECRET", self.client_secret),
            (f"{prefix}_AUTH_URL", self.provider.auth_url),
            (f"{prefix}_BASE_URL", self.base_url),
            (f"{prefix}_AUDIENCE_BASE", self.provider.audience_base),
        ]


def check_names(names: Sequence[str]) -> None:
    """Raises SettingsError for names that are not `region/environment`, or whose variables would be the same."""
    seen: dict[str, str] = {}
    for name in names:
        if not _TARGET_NAME.fullmatch(name):
            raise SettingsError(
                "expected a target region/environment",
                where=name,
                remedy="use one such as europe/staging",
            )
        prefix = _variable_prefix(name)
        if prefix in seen:
            raise SettingsError(
                f"it uses the same variables as {seen[prefix]}", where=name, remedy="remove one of them"
            )
        seen[prefix] = name
    if not names:
        raise SettingsError("the sandbox has no target", remedy="pass at least one, for example europe/staging")


def lay_out(
    root: str, names: Sequence[str], credentials: Mapping[str, tuple[str, str]] | None = None
) -> dict[str, Target]:
    """The targets by name, all below the URL `root`.

    The staging targets share one identity provider, one audience base and one account; every other target has its own
    (SERVICE.md, sections 4.1 and 5). `credentials` are client id and secret by target; they are random if none
    are given for any target of a provider.
    """
    given = credentials or {}
    members: dict[str, list[str]] = {}
    for name in names:
        members.setdefault(_provider_name(name), []).append(name)
    targets = {}
    for provider_name, sharing in members.items():
        shared = next((given[name] for name in sharing if name in given), None) or _random_credentials()
        accounts = {name: given.get(name, shared) for name in sharing}
        provider = Provider(
            provider_name,
            f"{root}/identity/{provider_name}",
            f"{root}/audience/{provider_name}",
            tuple(sharing),
            dict(accounts.values()),
            secrets.token_bytes(32),
        )
        for name, (client_id, client_secret) in accounts.items():
            targets[name] = Target(name, f"{root}/{name}/api", provider, client_id, client_secret)
    return {name: targets[name] for name in names}


def _provider_name(target: str) -> str:
    environment = target.partition("/")[2]
    return environment if environment == "staging" else target


def _random_credentials() -> tuple[str, str]:
    return f"sandbox-{secrets.token_hex(8)}", secrets.token_urlsafe(32)


def _variable_prefix(target: str) -> str:
    return "RECONCILER_" + target.upper().replace("-", "_").replace("/", "_")
