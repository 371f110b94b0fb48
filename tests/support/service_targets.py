"""A target and its credentials, for tests that call a service of their own."""

from __future__ import annotations

from typing import NamedTuple

from pydantic import SecretStr

from reconciler.errors import Place
from reconciler.model.address import TargetName
from reconciler.model.desired import Overlap, Replace, Target, Unknown
from support.lending_service import AUDIENCE_BASE

SECRET = "s3cret/with+odd characters=="
"""A client secret that looks different in JSON and in a URL."""


class StubCredentials(NamedTuple):
    """Credentials as the settings have them."""

    client_id: str = "client-1"
    client_secret: SecretStr = SecretStr(SECRET)


def make_target(url: str, base_url: str = "", name: str = "europe/staging") -> Target:
    """Return a target whose identity provider is at `url`, and its service there too, or at `base_url`."""
    base = base_url or f"{url}/eu/v9"
    place = Place("config/targets.yaml", 1, 1)
    return Target(
        TargetName(name), f"{url}/tenant", base, AUDIENCE_BASE, Overlap.REFUSE, Replace.OVERLAP, Unknown.WAIT, place
    )
