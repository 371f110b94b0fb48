"""What every test of the service room needs: servers, certificates, targets and credentials."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

import pytest

from reconciler.mistake import Place
from reconciler.model.address import TargetName
from reconciler.model.desired import Overlap, Replace, Target
from reconciler.service.credentials import Credentials
from reconciler.service.token_cache import TokenCache
from reconciler.service.tokens import Tokens
from reconciler.service.transport import Transport
from support.certificates import write_certificate
from support.raw_server import RawServer

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator
    from pathlib import Path


SECRET = "s3cret/with+odd characters=="
"""The client secret: odd enough to look different in JSON and in a URL."""


@pytest.fixture
def serve() -> Iterator[Callable[..., RawServer]]:
    """Start a RawServer with a script, and optionally a TLS context; it is closed with the test."""
    servers: list[RawServer] = []

    def start(script: Callable[[socket.socket], None], context: ssl.SSLContext | None = None) -> RawServer:
        servers.append(RawServer(script, context))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def transport() -> Iterator[Transport]:
    """A transport, closed with the test."""
    with Transport() as opened:
        yield opened


@pytest.fixture
def credentials() -> Credentials:
    """Credentials with a secret that has odd characters."""
    return Credentials("client-1", SECRET)


def make_target(url: str, name: str = "europe/staging") -> Target:
    """A target whose identity provider and service are both at `url`."""
    place = Place("config/targets.yaml", 1, 1)
    return Target(
        TargetName(name), f"{url}/tenant", f"{url}/eu/v9", "https://api.example", Overlap.REFUSE, Replace.OVERLAP, place
    )


@pytest.fixture
def target_at() -> Callable[..., Target]:
    """Makes a target whose identity provider and service are both at a URL."""
    return make_target


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate for 127.0.0.1, with its key, in one PEM file."""
    return write_certificate(tmp_path_factory.mktemp("tls") / "server.pem")


@pytest.fixture
def tls(certificate: Path) -> ssl.SSLContext:
    """A server's TLS context with that certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


@pytest.fixture
def tokens(transport: Transport, tmp_path: Path) -> Tokens:
    """Tokens with a cache of their own, and hardly any pause between requests."""
    return Tokens(transport, TokenCache(tmp_path / "tokens"), timeout=5, pauses=(0.01, 0.01))
