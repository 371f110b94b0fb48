"""The client for the service: HTTP, tokens, and the credentials of each target.

Imported only by commands that call the service, just before they do: an HTTP client takes longer to load than a plan.
"""

from typing import Self

from reconciler.model.desired import Target
from reconciler.operations.settings import credentials
from reconciler.operations.workspace import Workspace
from reconciler.service.api import Service
from reconciler.service.credentials import Credentials
from reconciler.service.token_cache import TokenCache
from reconciler.service.tokens import Tokens
from reconciler.service.transport import Transport


class ServiceClient:
    """One HTTP client and one token cache for all targets of a run."""

    def __init__(self, workspace: Workspace) -> None:
        workspace.notices.start_logging()
        self._workspace = workspace
        self._transport = Transport()
        self._tokens = Tokens(self._transport, TokenCache(workspace.cache_directory / "tokens"), workspace.timeout)

    def credentials(self, target: Target) -> Credentials:
        """A target's credentials. Raises SettingsError that names the missing variables."""
        return credentials(target.name, self._workspace.variables)

    def service(self, target: Target) -> Service:
        """The service with the credentials of one target. Raises SettingsError."""
        return Service(self._transport, self._tokens, target, self.credentials(target), self._workspace.timeout)

    def token(self, target: Target, api: str) -> str:
        """An access token for one API. Raises SettingsError and TokenError."""
        return self._tokens.token(target, self.credentials(target), api)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._transport.close()
