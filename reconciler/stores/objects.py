"""Stores a record in segments: objects with consecutive numbers, of which only the last is ever written.

The last segment is replaced, on the condition that it has not changed, until it is full. A full segment is never
written again; the next segment is created instead, on the condition that it does not exist. An append therefore
succeeds only if the head has not moved. The answer to a write is never trusted: the segment is read back. A listing or
a read may be stale, but the result is always a prefix of the record: segments that do not follow each other are read
again.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from datetime import timedelta
from functools import partial
from itertools import pairwise
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

import obstore
from msgspec import Struct
from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError
from obstore.store import AzureStore, GCSStore, S3Store

from reconciler.errors import Message, RecordDamaged, RecordError, SettingsError, Step, StoreUnavailable
from reconciler.record.chain import complete, last_head
from reconciler.record.store import Stored, has_head, head_moved, require_head
from reconciler.stores.waiting import at_once

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path


_FULL = 256 * 1024  # bytes at which a segment is full
_PAUSES = (0.0, 0.2, 1.0)
"""Seconds to wait before each read of the store, which may lag behind a write."""
_KEY = re.compile(r"(\d{6})\.jsonl")
_PLACE = re.compile(r"(?P<scheme>s3|gs|az)://(?P<bucket>[a-z0-9][a-z0-9._-]*)(?:/(?P<prefix>.*))?", re.IGNORECASE)
_PREFIX = re.compile(r"(?:(?!\.)[A-Za-z0-9._=+-]+(?:/(?!$)|$))*")
_FORM = Step("use s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or az://CONTAINER/PREFIX, with credentials in the environment")


def open_objects(place: str) -> ObjectStore:
    """Return the store for a URL. Its settings come from the environment. Raises SettingsError."""
    match = _PLACE.fullmatch(place)
    prefix = (match["prefix"] or "").removesuffix("/") if match else ""
    if match is None or not _PREFIX.fullmatch(prefix):
        what = "expected a bucket name and a prefix"
        raise SettingsError(Message("place-no-bucket", what, "--state", (_FORM,)))
    scheme, bucket = match["scheme"].lower(), match["bucket"].lower()
    named = f"{scheme}://{bucket}{f'/{prefix}' if prefix else ''}"
    return ObjectStore(Bucket(named, scheme, bucket, prefix))


class ObjectStore:
    """Stores the record under a prefix in a bucket. Threads may share a store."""

    path: Path | None = None

    def __init__(self, bucket: Bucket) -> None:
        self.place = bucket.place
        self._bucket = bucket
        self._seen: tuple[Held, ...] | None = None
        self._is_proven = False
        self._appending = Lock()

    def read(self) -> Stored:
        """Return the concatenated segments. Raises RecordDamaged if one is missing."""
        self._seen = seen = self._look()
        return Stored(b"".join(segment.data for segment in seen) if seen else None)

    def append(self, head: str | None, lines: bytes, summary: str, *, second: str | None = None) -> None:  # noqa: ARG002
        """Replace the last segment or, if it is full, create the next segment."""
        with self._appending:
            if not self._is_proven:
                self._prove()
            seen, self._seen = self._seen, None
            if seen is None or not has_head(seen[-1].data if seen else None, head):
                seen = self._look()
            last = seen[-1] if seen else None
            require_head(last.data if last else None, head, self.place)
            if not lines:
                return
            if last is None or _is_full(last.data):
                kept, data, version = seen, lines, None
            else:
                kept, data, version = seen[:-1], complete(last.data) + lines, last.version
            try:
                self._bucket.put(_key(len(kept) + 1), data, version)
            except Conflict:
                raise head_moved(self.place) from None
            self._confirm(kept, data)

    def prepare(self) -> None:
        """Check that the store enforces conditional writes. Raises RecordError if it does not."""
        self._prove()

    def check_writable(self) -> None:
        """Check, with a temporary object, that objects can be written."""
        self._prove()

    def _look(self) -> tuple[Held, ...]:
        """Return the current segments. Raises RecordDamaged if one is missing, StoreUnavailable if a request fails."""
        for pause in _PAUSES:
            time.sleep(pause)
            numbers = [int(match[1]) for match in map(_KEY.fullmatch, self._bucket.keys()) if match]
            segments = self._bucket.get([_key(number) for number in range(1, max(numbers, default=0) + 1)])
            while not segments or (segments[-1] and _is_full(segments[-1].data)):  # a list may be stale
                following = self._bucket.get([_key(len(segments) + 1)])
                if following == [None]:
                    break
                segments += following
            present = tuple(segment for segment in segments if segment)
            if len(present) == len(segments) and _follow(present):
                return present
        if None in segments:
            where = f"{self.place}/{_key(segments.index(None) + 1)}"
            restore = Step("restore the object from an earlier version or a backup of the bucket")
            raise RecordDamaged(Message("segment-missing", "a segment of the record is missing", where, (restore,)))
        return present  # the parser of the record names the line that does not follow

    def _confirm(self, kept: tuple[Held, ...], data: bytes) -> None:
        """Read back the last two segments. Raises StoreUnavailable if the store does not return what was written."""
        number = len(kept) + 1
        for pause in _PAUSES:
            time.sleep(pause)
            *before, written = self._bucket.get([_key(at) for at in range(max(1, number - 1), number + 1)])
            if (
                written
                and written.data.startswith(data)
                and [held.data for held in before if held] == [segment.data for segment in kept[-1:]]
            ):
                self._seen = (*kept, written)
                return
        what = "the object store acknowledged the lines, but does not return them"
        raise StoreUnavailable(Message("objects-not-seen", what, f"{self.place}/{_key(number)}"))

    def _prove(self) -> None:
        """Test with a temporary object that the store enforces conditional writes. Raises RecordError if it does not.

        Raises StoreUnavailable if a request fails.
        """
        key = f"probe-{os.urandom(16).hex()}"
        put = self._bucket.put
        try:
            put(key, b"created\n", None)
            (created,) = self._bucket.get([key])
            if created is None:
                raise self._distrust("does not return an object that was written")
            self._expect_conflict(lambda: put(key, b"created again\n", None), "overwrites an object that exists")
            put(key, b"replaced\n", created.version)
            self._expect_conflict(lambda: put(key, b"late\n", created.version), "overwrites an object that has changed")
        except Conflict:
            what = "the object store reports a conflict where there is none"
            raise StoreUnavailable(Message("objects-conflict", what, self.place)) from None
        finally:
            with suppress(StoreUnavailable):  # credentials may not permit deletion
                self._bucket.delete(key)
        self._is_proven = True

    def _expect_conflict(self, write: Callable[[], None], otherwise: str) -> None:
        try:
            write()
        except Conflict:
            return
        raise self._distrust(otherwise)

    def _distrust(self, what: str) -> RecordError:
        step = Step("use another object store, git or PostgreSQL: two runs could both append here")
        return RecordError(Message("objects-untrusted", f"the object store {what}", self.place, (step,)))


def _key(number: int) -> str:
    return f"{number:06}.jsonl"


def _is_full(data: bytes) -> bool:
    return len(data) >= _FULL and data.endswith(b"\n")


def _follow(segments: Sequence[Held]) -> bool:
    """True if the first line of every segment but the first names the head of the previous segment."""
    for before, after in pairwise(segments):
        first = after.data.partition(b"\n")[0]
        if f',"prev":"{last_head(before.data)}","hash":"'.encode() not in first:
            return False
    return True


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
"""Environment variables for the endpoint, the most specific first. On its own, obstore might use any of them."""
_CREDENTIALS = {
    "s3": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "az": "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
}
_NO_BUCKET = ("NoSuchBucket", "ContainerNotFound")


class Held(Struct, frozen=True):
    """An object that was read. A conditional write needs its `version`."""

    data: bytes
    version: Mapping[str, str]


class Conflict(Exception):
    """Raised if the condition of a write is not met, perhaps because an earlier attempt at the same write succeeded."""


class Bucket:
    """Reads and writes the objects directly under a prefix in a bucket. Threads may share a `Bucket`.

    Each operation raises StoreUnavailable if it fails or times out.
    """

    def __init__(self, place: str, scheme: str, bucket: str, prefix: str) -> None:
        """Raise SettingsError if the environment variables contain invalid settings."""
        self.place = place
        self._scheme = scheme
        for name in [name for name, value in os.environ.items() if name.startswith(_PREFIX_OF[scheme]) and not value]:
            del os.environ[name]  # obstore does not treat an empty variable as unset
        endpoint = next((os.environ[name] for name in _ENDPOINTS[scheme] if name in os.environ), None)
        allow_http = os.environ.get(f"{_PREFIX_OF[scheme]}ALLOW_HTTP", "").lower() in ("true", "1")
        make = partial(
            _MADE_BY[scheme],
            bucket,
            prefix=prefix or None,
            config={"endpoint": endpoint} if endpoint else None,
            client_options={**_CLIENT, "allow_http": allow_http},  # override the options of the environment
        )
        try:
            self._reading: Any = make(
                retry_config={"max_retries": _READ_RETRIES, "retry_timeout": timedelta(seconds=10)}
            )
            self._writing: Any = make(retry_config={"max_retries": 0})  # a retry would conflict with its own first try
        except (BaseError, ValueError):  # the exception's text quotes settings
            what = "the object store settings in the environment are not usable"
            step = Step(f"check {_CREDENTIALS[scheme]}, and the endpoint if one is set")
            raise SettingsError(Message("objects-settings", what, place, (step,))) from None

    def keys(self) -> list[str]:
        """Return the keys of the objects directly under the prefix, in any order and without the prefix."""
        listed = self._done([lambda: obstore.list_with_delimiter(self._reading)])[0]
        return [entry["path"].rpartition("/")[2] for entry in listed["objects"]]

    def get(self, keys: Sequence[str]) -> list[Held | None]:
        """Return the objects in the order of the keys, with None for each object that does not exist."""
        return self._done([partial(self._get, key) for key in keys])

    def put(self, key: str, data: bytes, version: Mapping[str, str] | None) -> None:
        """Write an object if it still has `version`, or if `version` is None and no such object exists.

        Raises Conflict otherwise.
        """
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
        """Return an error that says what failed, without secrets.

        `text` is obstore's message. It quotes responses and URLs, so only known words are taken from it.
        """
        status = re.search(r"status code: (\d{3})|\b(4\d\d|5\d\d) [A-Z]", text)
        code = re.search(r"<Code>(\w+)</Code>", text)
        number = (status[1] or status[2]) if status else ""
        named = " ".join(filter(None, (number, code[1] if code else "")))
        step = Step("check the connection and the endpoint")
        if any(name in text for name in _NO_BUCKET):
            what, step = "the bucket does not exist", Step("create the bucket, or correct the place of the record")
        elif re.match(r"[^\n]*169\.254\.|[^\n]*token request", text):
            what, step = "no credentials for the object store", Step(f"set {_CREDENTIALS[self._scheme]}")
        elif number in ("401", "403"):
            step = Step("check the credentials: they must allow listing the bucket, and reading and writing objects")
            what = f"access to the object store was denied ({named})"
        elif re.search(r"kind: Timeout|TimedOut|no answer", text):
            what = "the object store did not answer in time"
        else:
            what = f"the request to the object store failed{f' ({named})' if named else ''}"
        return StoreUnavailable(Message("objects-unavailable", what, self.place, (step,)))
