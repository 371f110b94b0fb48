"""Where GitHub's API is called: apart from the client, so that a value of it takes no HTTP client to load."""

from __future__ import annotations

from reconciler.values import Discreet


class Access(Discreet, frozen=True):
    """Where the API is, and the repository and the token to call it with."""

    unprinted = ("token",)

    api_url: str
    graphql_url: str
    repository: str
    token: str
