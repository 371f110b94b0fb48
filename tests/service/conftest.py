"""Fixtures for tests of the service room: servers, certificates, a target and its credentials."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.certificates import write_certificate
from support.lending_service import LendingService
from support.raw_server import RawServer
from support.service_targets import StubCredentials, make_target

from reconciler.model.desired import Target
from reconciler.service import tokens
from reconciler.service.api import ServiceClient
from reconciler.service.transport import Transport


@pytest.fixture(autouse=True)
def _trusted(monkeypatch: pytest.MonkeyPatch, certificate: Path) -> None:
    """Trust the servers of the tests and nobody else, and hardly pause between token requests."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    monkeypatch.setattr(tokens, "PAUSES", (0.01, 0.01))


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
    opened = Transport()
    yield opened
    opened.close()


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
def lending_service() -> Iterator[LendingService]:
    """A lending service with its usual responses, closed with the test."""
    service = LendingService()
    yield service
    service.close()


@pytest.fixture
def open_service(tmp_path: Path) -> Iterator[Callable[..., ServiceClient]]:
    """Open the service of a target, with one token cache for the test."""
    opened: list[ServiceClient] = []

    def start(target: Target, credentials: StubCredentials | None = None, timeout: float = 5) -> ServiceClient:
        given = credentials or StubCredentials()
        opened.append(ServiceClient(target, given, timeout=timeout, cache_dir=tmp_path / "cache"))
        return opened[-1]

    yield start
    for service in opened:
        service.close()


@pytest.fixture
def service(open_service: Callable[..., ServiceClient], lending_service: LendingService) -> ServiceClient:
    """The lending service as a target's credentials see it."""
    return open_service(make_target(lending_service.url))
