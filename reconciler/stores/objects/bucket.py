"""The few operations on objects that a record needs, through obstore: bounded in time, and free of credentials."""

from __future__ import annotations

import os
import re
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import obstore
from msgspec import Struct
from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError
from obstore.store import AzureStore, GCSStore, S3Store

from reconciler.errors import Message, SettingsError, Step, StoreUnavailable
from reconciler.stores.waiting import at_once

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

T = TypeVar("T")

_PATIENCE = 30.0  # seconds for one operation
_CLIENT: dict[str, Any] = {"timeout": timedelta(seconds=15), "connect_timeout": timedelta(seconds=5)}
_READ_RETRIES = 3
_MADE_BY = {"s3": S3Store, "gs": GCSStore, "az": AzureStore}
_PREFIX_OF = {"s3": "AWS_", "gs": "GOOGLE_", "az": "AZURE_"}
_ENDPOINTS = {
    "s3": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
    "gs": (),
    "az": ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"),
}
"""Variables for one setting, the most particular first: obstore takes any of them."""
_CREDENTIALS = {
    "s3": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "az": "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
}
_NO_BUCKET = ("NoSuchBucket", "ContainerNotFound")


class Held(Struct, frozen=True):
    """An object as it was read; `version` is what a write on the condition that it has not changed takes."""

    data: bytes
    version: Mapping[str, str]


class Conflict(Exception):
    """The condition of a write was not met, or an earlier try of the same write was: the two look alike."""


class Bucket:
    """The objects directly below one prefix of a bucket. Threads may share it.

    Each operation raises StoreUnavailable if it failed or was not answered in time.
    """

    def __init__(self, place: str, scheme: str, bucket: str, prefix: str) -> None:
        """Raise SettingsError if the variables of the environment cannot be used."""
        self.place = place
        self._scheme = scheme
        for name in [name for name, value in os.environ.items() if name.startswith(_PREFIX_OF[scheme]) and not value]:
            del os.environ[name]  # obstore, which reads them itself, does not take an empty variable for an unset one
        endpoint = next((os.environ[name] for name in _ENDPOINTS[scheme] if name in os.environ), None)
        allow_http = os.environ.get(f"{_PREFIX_OF[scheme]}ALLOW_HTTP", "").lower() in ("true", "1")
        make = partial(
            _MADE_BY[scheme],
            bucket,
            prefix=prefix or None,
            config={"endpoint": endpoint} if endpoint else None,
            client_options={**_CLIENT, "allow_http": allow_http},  # these options replace those of the environment
        )
        try:
            self._reading: Any = make(
                retry_config={"max_retries": _READ_RETRIES, "retry_timeout": timedelta(seconds=10)}
            )
            self._writing: Any = make(retry_config={"max_retries": 0})  # a retry would meet what it wrote itself
        except (BaseError, ValueError):  # its text quotes settings
            what = "the settings of the object store in the environment cannot be used"
            step = Step(f"check {_CREDENTIALS[scheme]}, and the endpoint if one is set")
            raise SettingsError(Message("objects-settings", what, place, (step,))) from None

    def keys(self) -> list[str]:
        """Return the keys below the prefix, in any order."""
        listed = self._done([lambda: obstore.list_with_delimiter(self._reading)])[0]
        return [entry["path"].rpartition("/")[2] for entry in listed["objects"]]

    def get(self, keys: Sequence[str]) -> list[Held | None]:
        """Return these objects, in that order; None for one that does not exist."""
        return self._done([partial(self._get, key) for key in keys])

    def put(self, key: str, data: bytes, version: Mapping[str, str] | None) -> None:
        """Write an object on the condition that it has this version; None: that there is none. Raises Conflict."""
        mode: Any = version or "create"

        def write() -> bool:
            try:
                obstore.put(self._writing, key, data, mode=mode, use_multipart=False)
            except (AlreadyExistsError, PreconditionError):
                return False
            return True

        if not self._done([write])[0]:
            raise Conflict

    def delete(self, key: str) -> None:
        """Delete an object."""
        self._done([lambda: obstore.delete(self._writing, key)])

    def _get(self, key: str) -> Held | None:
        try:
            answer = obstore.get(self._reading, key)
            data, meta = bytes(answer.bytes()), answer.meta
        except FileNotFoundError as problem:
            if any(code in str(problem) for code in _NO_BUCKET):
                raise
            return None
        name = "version" if self._scheme == "gs" else "e_tag"
        return Held(data, {name: str(meta[name])})  # type: ignore[literal-required]

    def _done(self, jobs: Sequence[Callable[[], T]]) -> list[T]:
        try:
            return at_once(jobs, _PATIENCE)
        except (BaseError, FileNotFoundError, TimeoutError) as problem:
            raise self._failure(str(problem)) from None

    def _failure(self, text: str) -> StoreUnavailable:
        """Say what went wrong; of the library's text only what cannot be secret: it quotes answers and URLs."""
        status = re.search(r"status code: (\d{3})|\b(4\d\d|5\d\d) [A-Z]", text)
        code = re.search(r"<Code>(\w+)</Code>", text)
        number = (status[1] or status[2]) if status else ""
        named = " ".join(filter(None, (number, code[1] if code else "")))
        step = Step("check the connection and the endpoint")
        if any(name in text for name in _NO_BUCKET):
            what, step = "the bucket does not exist", Step("create it, or correct the place of the record")
        elif re.match(r"[^\n]*169\.254\.|[^\n]*token request", text):
            what, step = "no credentials for the object store", Step(f"set {_CREDENTIALS[self._scheme]}")
        elif number in ("401", "403"):
            step = Step("check the credentials: they must permit to list the bucket, and to get and put objects")
            what = f"access to the object store was denied ({named})"
        elif re.search(r"kind: Timeout|TimedOut|no answer", text):
            what = "the object store did not answer in time"
        else:
            what = f"the request to the object store failed{f' ({named})' if named else ''}"
        return StoreUnavailable(Message("objects-unavailable", what, self.place, (step,)))
