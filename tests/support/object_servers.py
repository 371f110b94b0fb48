"""Object stores of others on loopback: S3 as ministack has it, and Azurite."""

from __future__ import annotations

import base64
import hashlib
import hmac
import uuid
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import Request, urlopen

import pytest

from reconciler.state.stores.location import open_store
from support.components import component
from support.shared_server import shared_server

if TYPE_CHECKING:
    from reconciler.state.stores.store import Store

BUCKET = "records"
S3_SECRET = "hunter2/s3-secret"
AZURITE_ACCOUNT = "devstoreaccount1"
AZURITE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""What every Azurite has, as its documentation says."""


@dataclass(frozen=True)
class ObjectServer:
    """A server with one bucket, and the variables that lead to it."""

    scheme: str
    port: int
    environment: dict[str, str]
    prefix: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def spec(self) -> str:
        """A place that no other test has."""
        return f"{self.scheme}://{BUCKET}/{self.prefix}"

    def open(self, spec: str = "", **variables: str) -> Store:
        """The store in that place, or another; with other variables."""
        return open_store(spec or self.spec, Path("cache"), {**self.environment, **variables})


def s3_environment(port: int) -> dict[str, str]:
    """The variables for an S3 at a port of this machine."""
    return {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "AKIAOFTHETESTS",
        "AWS_SECRET_ACCESS_KEY": S3_SECRET,
    }


def azure_environment(port: int) -> dict[str, str]:
    """The variables for an Azurite at a port of this machine."""
    return {
        "AZURE_STORAGE_ENDPOINT": f"http://127.0.0.1:{port}/{AZURITE_ACCOUNT}",
        "AZURE_ALLOW_HTTP": "true",
        "AZURE_STORAGE_ACCOUNT_NAME": AZURITE_ACCOUNT,
        "AZURE_STORAGE_ACCOUNT_KEY": AZURITE_KEY,
    }


def _make_bucket(port: int) -> None:
    with urlopen(Request(f"http://127.0.0.1:{port}/{BUCKET}", method="PUT"), timeout=30) as answer:
        answer.read()


def _make_container(port: int) -> None:
    """Make the container, which obstore cannot; signed as Azure documents it under "Shared Key"."""
    headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-12-02"}
    listed = "".join(f"{name}:{value}\n" for name, value in sorted(headers.items()))
    resource = f"/{AZURITE_ACCOUNT}/{AZURITE_ACCOUNT}/{BUCKET}\nrestype:container"
    to_sign = "PUT" + "\n" * 12 + listed + resource  # none of eleven other headers
    digest = hmac.digest(base64.b64decode(AZURITE_KEY), to_sign.encode(), hashlib.sha256)
    headers["Authorization"] = f"SharedKey {AZURITE_ACCOUNT}:{base64.b64encode(digest).decode()}"
    url = f"http://127.0.0.1:{port}/{AZURITE_ACCOUNT}/{BUCKET}?restype=container"
    with urlopen(Request(url, headers=headers, method="PUT"), timeout=30) as answer:
        answer.read()


def _ministack_as(name: str, app: str, tmp_path_factory: pytest.TempPathFactory) -> int:
    component("ministack")
    hypercorn = str(component("hypercorn"))
    quiet = {"SERVICES": "s3", "IOT_MTLS_ENABLED": "0", "SFTP_ENABLED": "0", "LOG_LEVEL": "ERROR"}
    quiet["PYTHONPATH"] = str(Path(__file__).parent)
    return shared_server(
        tmp_path_factory, name, lambda port: [hypercorn, app, "-b", f"127.0.0.1:{port}"], quiet, _make_bucket
    )


@pytest.fixture(scope="session")
def _ministack(tmp_path_factory: pytest.TempPathFactory) -> int:
    return _ministack_as("ministack", "ministack.app:app", tmp_path_factory)


@pytest.fixture(scope="session")
def _lying_ministack(tmp_path_factory: pytest.TempPathFactory) -> int:
    return _ministack_as("lying-ministack", "lying_clock:app", tmp_path_factory)


@pytest.fixture(scope="session")
def _azurite(tmp_path_factory: pytest.TempPathFactory) -> int:
    azurite = str(component("azurite-blob"))
    options = ["--silent", "--skipApiVersionCheck", "--inMemoryPersistence", "--disableTelemetry"]
    return shared_server(
        tmp_path_factory,
        "azurite",
        lambda port: [azurite, "--blobHost", "127.0.0.1", "--blobPort", str(port), *options],
        {},
        _make_container,
    )


@pytest.fixture
def s3(_ministack: int) -> ObjectServer:
    """An S3 that honours conditions, with a bucket."""
    return ObjectServer("s3", _ministack, s3_environment(_ministack))


@pytest.fixture
def s3_with_a_lying_clock(_lying_ministack: int) -> ObjectServer:
    """The same, with a clock that lies."""
    return ObjectServer("s3", _lying_ministack, s3_environment(_lying_ministack))


@pytest.fixture
def azure(_azurite: int) -> ObjectServer:
    """Azure's blob storage, with a container."""
    return ObjectServer("az", _azurite, azure_environment(_azurite))
