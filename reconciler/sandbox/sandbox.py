"""Builds, starts and closes the sandbox."""

from __future__ import annotations

import secrets
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Self

from reconciler.http_server import Server
from reconciler.sandbox.endpoints import Service
from reconciler.sandbox.events import Started
from reconciler.sandbox.faults import FaultPlan, transmit
from reconciler.sandbox.layout import DOCUMENTED_TARGETS, check_names, lay_out
from reconciler.sandbox.notification_sender import NotificationSender
from reconciler.sandbox.world import Memory, World

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_CONNECTIONS = 512


class Sandbox:
    """The lending service on a port of 127.0.0.1. The port is bound at once.

    Requests are answered from `start` until `close`. The sandbox stores its state in `directory`, if given. A later
    sandbox with the same directory has the same URLs, accounts and subscriptions, and repeats unfinished deliveries. A
    `port` of 0 means the same port as before or, in a new sandbox, any free port. Faults and request counts are not
    stored.

    `retry_interval` and `token_lifetime` are in seconds. `faults` maps fault names to probabilities (see the module
    `faults`), and `seed` makes the choice of faults repeatable. `accounts` maps targets to a client id and secret;
    missing accounts are chosen at random. Raises SettingsError.
    """

    def __init__(
        self,
        port: int = 0,
        targets: Sequence[str] = DOCUMENTED_TARGETS,
        *,
        directory: Path | None = None,
        retry_interval: float = 15.0,
        faults: Mapping[str, float] | None = None,
        seed: int | None = None,
        accounts: Mapping[str, tuple[str, str]] | None = None,
        token_lifetime: int = 86_400,
    ) -> None:
        check_names(targets)
        plan = FaultPlan(faults or {}, seed)
        self._directory = directory
        with ExitStack() as stack:
            memory = None if directory is None else stack.enter_context(closing(Memory(directory)))
            earlier = [] if memory is None else memory.events
            starts = [event for event in earlier if isinstance(event, Started)]
            # Each sandbox has URLs of its own, so that two successive sandboxes on one port count as two services.
            instance, last_port = (starts[-1].instance, starts[-1].port) if starts else (secrets.token_hex(8), 0)
            self._server = Server(
                port or last_port,
                lambda request: self._service.handle(request),  # noqa: PLW0108 - its URLs need the port
                failed=lambda problem: self.world.failures.append(repr(problem)),
                transmit=transmit,
                connections=_CONNECTIONS,
            )
            stack.callback(self._server.stop)
            self.url = self._server.url
            known = {name: account for start in starts for name, account in start.accounts.items()}
            laid_out = lay_out(f"{self.url}/{instance}", targets, known | dict(accounts or {}), secrets.token_bytes)
            append = (lambda _: None) if memory is None else memory.append
            self.world = World(laid_out, plan, append, token_lifetime=token_lifetime, retry_interval=retry_interval)
            self.world.restore(earlier)
            used = {name: (target.client_id, target.client_secret) for name, target in laid_out.items()}
            self.world.record(Started(instance, self._server.server_port, used))
            self._service = Service(self.world, self.url)
            self._sender = NotificationSender(self.world)
            self._stack = stack.pop_all()

    def variables(self) -> list[tuple[str, str]]:
        """Return the environment variables that point a client at this sandbox, as pairs of name and value."""
        variables = [pair for target in self.world.targets.values() for pair in target.variables()]
        if self._directory is not None:
            variables.append(("RECONCILER_STATE", str(self._directory.absolute() / "state.jsonl")))
        return [*variables, ("RECONCILER_SANDBOX_URL", self.url)]

    def wait_idle(self, timeout: float) -> bool:
        """Wait up to `timeout` seconds, and return True if every delivery has succeeded or has been given up."""
        with self.world.changed:
            return self.world.changed.wait_for(lambda: not self.world.unfinished, timeout)

    def start(self) -> None:
        self._server.__enter__()
        self._sender.start()

    def close(self) -> None:
        """End all connections, deliveries and threads within a few seconds. May be called more than once."""
        self._server.stop()
        self._sender.close()
        self._stack.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
