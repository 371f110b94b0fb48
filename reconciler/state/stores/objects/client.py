"""A bucket through obstore: requests with bounded waits, and its errors without what they may hold of credentials."""

from __future__ import annotations

import re
from datetime import timedelta
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    NotSupportedError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
)
from obstore.store import AzureStore, GCSStore, S3Store

from reconciler.errors import SettingsError, StoreUnavailable
from reconciler.state.stores.objects.bucket import Answer
from reconciler.state.stores.objects.threads import at_once
from reconciler.values import Discreet

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_REQUEST = timedelta(seconds=15)  # for one request, from connecting to the end of its answer
_CONNECT = timedelta(seconds=5)
_RETRIES = 3  # of a read: reads may be repeated, writes are repeated by those who know what for
_RETRYING = timedelta(seconds=10)
_PARALLEL = 32  # requests at once, if there are many
_MADE_BY = {"s3": S3Store, "gs": GCSStore, "az": AzureStore}
_ABSENT = ("NoSuchBucket", "ContainerNotFound")
_UNUSABLE = re.compile(
    r"Missing \w+|Account must be specified|Unable to (?:open|decode) service account file|Invalid Access Key"
    r"|is not a valid [\w ]+|No CA certificates were loaded from the system"
)
_RETRY = "check the connection and the endpoint, then run the command again"


class Place(Discreet, frozen=True):
    """A prefix of a bucket, and the settings of the clients for it."""

    unprinted = ("settings",)

    scheme: str
    bucket: str
    prefix: str
    settings: Mapping[str, str]

    @property
    def location(self) -> str:
        """What `--state` takes."""
        return f"{self.scheme}://{self.bucket}{'/' if self.prefix else ''}{self.prefix}"


class ObjectClient:
    """A client of a bucket, see Bucket; `connect` makes what obstore calls a store, for that many retries."""

    def __init__(self, where: str, credentials: str, connect: Callable[[int], Any]) -> None:
        self._where = where
        self._credentials = credentials
        self._connect = connect
        self._reading = connect(_RETRIES)

    @cached_property
    def _writing(self) -> Any:
        """One that sends nothing twice: a retry would meet what it has written itself."""
        return self._connect(0)

    def create(self, key: str, data: bytes, until: float) -> Answer:
        """See Bucket.create."""

        def send(key: str) -> Answer:
            try:
                obstore.put(self._writing, key, data, mode="create", use_multipart=False)
            except (AlreadyExistsError, PreconditionError):
                return Answer("conflict")
            except (PermissionDeniedError, UnauthenticatedError) as problem:
                return self._answer("refused", problem)
            except (NotSupportedError, FileNotFoundError) as problem:
                raise self._failure(problem) from None
            except BaseError as problem:
                return self._answer("unknown", problem)
            return Answer("created")

        return at_once(send, [key], 1, until, self._where)[0]

    def get(self, keys: Sequence[str], until: float) -> list[bytes | None]:
        """See Bucket.get."""

        def get(key: str) -> bytes | None:
            try:
                return bytes(obstore.get(self._reading, key).bytes())
            except FileNotFoundError as problem:
                if any(code in str(problem) for code in _ABSENT):
                    raise self._failure(problem) from None
                return None
            except BaseError as problem:
                raise self._failure(problem) from None

        return at_once(get, keys, _PARALLEL, until, self._where)

    def keys(self, folder: str, after: str, until: float) -> list[str]:
        """See Bucket.keys."""

        def list_all(folder: str) -> list[str]:
            try:
                found = obstore.list(self._reading, folder, offset=after or None).collect()
            except (BaseError, FileNotFoundError) as problem:
                raise self._failure(problem) from None
            return [entry["path"] for entry in found if entry["path"] > after]  # not every server knows offsets

        return at_once(list_all, [folder], 1, until, self._where)[0]

    def folders(self, folder: str, until: float) -> list[str]:
        """See Bucket.folders."""

        def list_folders(folder: str) -> list[str]:
            try:
                found = obstore.list_with_delimiter(self._reading, folder or None)["common_prefixes"]
            except (BaseError, FileNotFoundError) as problem:
                raise self._failure(problem) from None
            return [path.rstrip("/").rpartition("/")[2] for path in found]

        return at_once(list_folders, [folder], 1, until, self._where)[0]

    def _answer(self, end: Literal["refused", "unknown"], problem: Exception) -> Answer:
        failure = self._failure(problem)
        return Answer(end, failure.what, failure.remedy or "")

    def _failure(self, problem: Exception) -> StoreUnavailable:
        """What went wrong, of the library's text only what cannot be a secret: it quotes answers, URLs and settings."""
        text = str(problem)
        status = re.search(r"status code: (\d{3})", text)
        code = re.search(r"<Code>(\w+)</Code>", text)
        named = " ".join(found[1] for found in (status, code) if found)
        remedy = _RETRY
        if code and code[1] in _ABSENT:
            what, remedy = (
                "the bucket does not exist",
                "create it, or check --state and the settings in the environment",
            )
        elif re.match(r"[^\n]*169\.254\.|[^\n]*token request", text):
            what, remedy = "no credentials for the object store", f"set {self._credentials}"
        elif status and status[1] in ("401", "403"):
            what = f"access denied ({named})"
            remedy = "check the credentials; they must allow to list the bucket, and to get and create objects"
        elif status:
            what = f"the object store failed ({named})"
        elif re.search(r"kind: Timeout|TimedOut", text):
            what = "the object store did not answer in time"
        elif "kind: Connect" in text:
            what = "cannot connect to the object store"
        else:
            what = f"the request to the object store failed ({type(problem).__name__})"
        return StoreUnavailable(what, where=self._where, remedy=remedy)


def connector(place: Place, credentials: str) -> Callable[[], ObjectClient]:
    """Makes clients, each with connections of its own.

    To make one raises SettingsError for settings that cannot be used.
    """

    def connect() -> ObjectClient:
        try:
            return ObjectClient(place.location, credentials, partial(_connected, place))
        except (BaseError, ValueError) as problem:
            found = _UNUSABLE.search(str(problem).partition("\n")[0])
            what = "the settings in the environment cannot be used" + (f": {found[0]}" if found else "")
            raise SettingsError(what, where=place.location, remedy=f"check {credentials}") from None

    return connect


def _connected(place: Place, retries: int) -> Any:
    """A client of obstore."""
    config: dict[str, Any] = dict(place.settings)
    if place.scheme == "s3":
        config["conditional_put"] = "etag"
    return _MADE_BY[place.scheme](
        place.bucket,
        prefix=place.prefix or None,
        config=config,
        client_options={"timeout": _REQUEST, "connect_timeout": _CONNECT},
        retry_config={"max_retries": retries, "retry_timeout": _RETRYING},
    )
