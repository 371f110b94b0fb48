"""Opens an object store by its location, `s3://BUCKET/PREFIX` or one like it, and the environment."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec import Struct

from reconciler.errors import SettingsError
from reconciler.state.stores.objects.client import Place, connector
from reconciler.state.stores.objects.objects import BucketStore
from reconciler.state.stores.store import StoreLocation

if TYPE_CHECKING:
    from collections.abc import Mapping

_SPEC = re.compile(r"(?P<scheme>s3|gs|az)://(?P<bucket>[a-z0-9][a-z0-9._-]*)(?:/(?P<prefix>.*))?", re.IGNORECASE)
_PREFIX = re.compile(r"[A-Za-z0-9_=+-][A-Za-z0-9._=+-]*(?:/[A-Za-z0-9_=+-][A-Za-z0-9._=+-]*)*")
_EXAMPLE = "use s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or az://CONTAINER/PREFIX; credentials go into the environment"
_NO_GOOGLE = "use gs://BUCKET/PREFIX, with credentials for Google Cloud"


class Scheme(Struct, frozen=True):
    """A kind of object store: the `variables` that its client takes, those of them that tell two places of one name
    apart (`at`), and those that hold credentials, for a message.
    """

    variables: frozenset[str]
    at: tuple[str, ...]
    credentials: str


SCHEMES = {
    "s3": Scheme(
        frozenset({
            "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION",
            "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT", "AWS_ENDPOINT_URL_STS", "AWS_ALLOW_HTTP",
            "AWS_VIRTUAL_HOSTED_STYLE_REQUEST", "AWS_ROLE_ARN", "AWS_ROLE_SESSION_NAME", "AWS_WEB_IDENTITY_TOKEN_FILE",
            "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
            "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "AWS_METADATA_ENDPOINT", "AWS_IMDSV1_FALLBACK",
            "AWS_REQUEST_PAYER", "AWS_CHECKSUM_ALGORITHM", "AWS_SERVER_SIDE_ENCRYPTION", "AWS_SSE_KMS_KEY_ID",
            "AWS_SSE_BUCKET_KEY_ENABLED", "AWS_SSE_CUSTOMER_KEY_BASE64", "AWS_UNSIGNED_PAYLOAD",
        }),
        ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
        "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION",
    ),
    "gs": Scheme(
        frozenset({
            "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_PATH",
            "GOOGLE_SERVICE_ACCOUNT_KEY", "GOOGLE_BEARER_TOKEN", "GOOGLE_BASE_URL", "GOOGLE_ALLOW_HTTP",
            "GOOGLE_SKIP_SIGNATURE",
        }),
        ("GOOGLE_BASE_URL",),
        "GOOGLE_APPLICATION_CREDENTIALS",
    ),
    "az": Scheme(
        frozenset({
            "AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_ACCESS_KEY",
            "AZURE_STORAGE_SAS_KEY", "AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_TOKEN", "AZURE_STORAGE_CLIENT_ID",
            "AZURE_STORAGE_CLIENT_SECRET", "AZURE_STORAGE_TENANT_ID", "AZURE_STORAGE_AUTHORITY_HOST",
            "AZURE_STORAGE_ENDPOINT", "AZURE_STORAGE_USE_EMULATOR", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET",
            "AZURE_TENANT_ID", "AZURE_AUTHORITY_HOST", "AZURE_ENDPOINT", "AZURE_FEDERATED_TOKEN_FILE",
            "AZURE_USE_AZURE_CLI", "AZURE_MSI_ENDPOINT", "AZURE_IDENTITY_ENDPOINT", "AZURE_OBJECT_ID",
            "AZURE_MSI_RESOURCE_ID", "AZURE_ALLOW_HTTP",
        }),
        ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT", "AZURE_STORAGE_ACCOUNT_NAME"),
        "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
    ),
}  # fmt: skip


def open_bucket(spec: str, environment: Mapping[str, str]) -> BucketStore:
    """The store that the URL names, with the settings of the environment.

    Raises SettingsError if it does not name one, and for Google Cloud Storage by another protocol than its own.
    """
    place = _parse(spec, environment)
    connect = connector(place, SCHEMES[place.scheme].credentials)
    there = _endpoint(place)
    at = f"{place.location} at {there}" if there else place.location
    return BucketStore(StoreLocation(at, normalized=_bucket_place), place.location, connect)


def _parse(spec: str, environment: Mapping[str, str]) -> Place:
    found = _SPEC.fullmatch(spec)
    prefix = (found["prefix"] or "").removesuffix("/") if found else ""
    if found is None or (prefix and not _PREFIX.fullmatch(prefix)):
        raise SettingsError("this does not name a place in an object store", where="--state", remedy=_EXAMPLE)
    scheme = found["scheme"].lower()
    settings = {name: environment[name] for name in SCHEMES[scheme].variables if environment.get(name)}
    place = Place(scheme, found["bucket"].lower(), prefix, settings)
    host = urlsplit(_endpoint(place)).hostname or ""
    if scheme == "s3" and f".{host}".endswith(".storage.googleapis.com"):
        what = "Google Cloud Storage ignores the conditions of S3, so two runs could both append"
        raise SettingsError(what, where=place.location, remedy=_NO_GOOGLE)
    return place


def _endpoint(place: Place) -> str:
    """What tells this bucket from one of the same name elsewhere, without credentials; "" if the name is enough."""
    named = [place.settings[name] for name in SCHEMES[place.scheme].at if name in place.settings]
    return re.sub(r"//[^/]*@", "//", re.sub(r"[?#].*", "", named[0]).rstrip("/")) if named else ""


def _bucket_place(location: str) -> str:
    """The location of an object store, which is written in one way only; "" for that of another store."""
    return location if location.partition("://")[0] in SCHEMES else ""
