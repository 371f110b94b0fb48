"""The sandbox as a whole: how it is built, started and closed."""

import time
from collections.abc import Callable, Mapping, Sequence
from threading import Event
from typing import Self

from reconciler.sandbox.deliveries import Deliveries
from reconciler.sandbox.events import Started
from reconciler.sandbox.faults import FaultPlan
from reconciler.sandbox.memory import Memory
from reconciler.sandbox.routes import Routes
from reconciler.sandbox.shell import Server
from reconciler.sandbox.targets import DOCUMENTED_TARGETS, check_names, lay_out
from reconciler.sandbox.world import World


class Sandbox:
    """The lending service on a port of 127.0.0.1 (0: any free one), bound at once and served from `start` on.

    `retry_interval` is in seconds; `faults` are probabilities by name (see `faults`), and `seed` repeats their draws;
    `credentials` are client id and secret by target, random if not given; `token_lifetime` is in seconds. `warn` gets
    the server's warnings. Raises SettingsError for an invalid name or probability, or a port that cannot be used.
    """

    def __init__(
        self,
        port: int = 0,
        targets: Sequence[str] = DOCUMENTED_TARGETS,
        retry_interval: float = 15.0,
        faults: Mapping[str, float] | None = None,
        seed: int | None = None,
        credentials: Mapping[str, tuple[str, str]] | None = None,
        token_lifetime: int = 86_400,
        warn: Callable[[str], object] = lambda _: None,
    ) -> None:
        check_names(targets)
        plan = FaultPlan(faults or {}, seed)
        self._closed = Event()
        self._server = Server(port, warn)
        self.url = self._server.url
        self.world = World(lay_out(self.url, targets, credentials), plan, token_lifetime=token_lifetime)
        self.deliveries = Deliveries(self.world, retry_interval)
        self._routes = Routes(self.world, self.deliveries, self.url)

    def continue_from(self, memory: Memory) -> None:
        """Continue where an earlier run stopped, and remember what happens from now on; to be called before `start`.

        Faults and counts of requests begin anew. The run had the same URLs and accounts if the port and the credentials
        are those of `memory`.
        """
        accounts = {name: (target.client_id, target.client_secret) for name, target in self.world.targets.items()}
        memory.append(Started(self._server.server_port, accounts))
        self.world.continue_from(memory.events, memory.append)
        self.deliveries.restore(memory.events)

    def start(self) -> None:
        self._server.start(self._routes.handle, self.world.log_failure)

    def variables(self) -> list[tuple[str, str]]:
        """The environment variables that point a client at this sandbox, as (name, value)."""
        targets = [pair for target in self.world.targets.values() for pair in target.variables()]
        return [*targets, ("RECONCILER_SANDBOX_URL", self.url)]

    def serve_forever(self) -> None:
        """Wait until `close` is called, or a signal handler raises; close in either case. Call `start` first."""
        try:
            # Short sleeps: an unlimited wait would miss a signal that arrives just before it.
            while not self._closed.is_set():
                time.sleep(0.2)
        finally:
            self.close()

    def close(self) -> None:
        """End every connection, delivery and thread, within seconds. Idempotent."""
        if not self._closed.is_set():
            self._closed.set()
            self._server.stop()
            self.deliveries.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
