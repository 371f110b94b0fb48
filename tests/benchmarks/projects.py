"""Configurations and records of any size, written as the program writes them and without its code.

So the same project can be given to any version of the program, and ten thousand records take a moment.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

from benchmarks.races import Runner

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

ONE = ("europe/staging",)
CREDENTIALS = {
    "RECONCILER_EUROPE_STAGING_CLIENT_ID": "the-client",
    "RECONCILER_EUROPE_STAGING_CLIENT_SECRET": "the-secret-of-the-client",
}
_ACCOUNT = f"sha256:{sha256(b'the-client').hexdigest()}"
_BY = {"user": "operator", "host": "workstation"}
_AT, _SENT = "2026-01-31T12:00:00Z", 1_769_860_800


@dataclass(frozen=True)
class Project:
    """A directory with `count` subscriptions for each of its targets, as `program` is run in it.

    The service is at `url`; with `apart`, each target has a service of its own there. `moved` subscriptions have
    another URL in the configuration than in the records. `imported` ones have one entry in the record, not an intent
    and an outcome.
    """

    program: Path
    directory: Path
    count: int
    targets: Sequence[str] = ONE
    url: str = "https://api.service.example"
    apart: bool = True
    moved: int = 0
    imported: bool = False

    @property
    def config(self) -> Path:
        return self.directory / "config" / "all.yaml"

    def journal(self, target: str) -> Path:
        return self.directory / "state" / f"{target}.jsonl"

    def runner(self, *arguments: str, **more: Any) -> Runner:
        """The program run in it; `more` as for a Runner."""
        return Runner([self.program, *arguments], self.directory, **more)

    def declare(self) -> Project:
        """Write the configuration."""
        self.config.parent.mkdir(parents=True)
        with self.config.open("w", encoding="utf-8") as file:
            file.writelines(self._yaml())
        return self

    def record(self) -> Project:
        """Write records that say that all of it exists."""
        for target in self.targets:
            path = self.journal(target)
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as file:
                file.writelines(_linked(self._entries(target)))
        return self

    def forget(self) -> None:
        """Make it as if nothing had been recorded, or seen, on this machine.

        What was is put aside: where files were deleted lately, some file systems take several times as long to make new
        ones.
        """
        for name in ("state", "home"):
            if (self.directory / name).exists():
                (self.directory / name).rename(mkdtemp(dir=self.directory, prefix=f"old-{name}-"))

    def _yaml(self) -> Iterator[str]:
        yield "targets:\n"
        for target in self.targets:
            yield f"  {target}:\n    auth_url: {self.url}/login\n    base_url: {self._base_url(target)}\n"
            yield f"    audience_base: {self.url}\n" + ("" if self.apart else "    overlap: allow\n")
        yield "subscriptions:\n"
        for target in self.targets:
            yield f"  {target}:\n"
            for number in range(self.count):
                url = _webhook(target, number) + ("/moved" if number < self.moved else "")
                yield f"    {_name(number)}:\n      eventCodes: [{_code(number)}]\n      webhookUrl: {url}\n"

    def _entries(self, target: str) -> Iterator[dict[str, Any]]:
        record, base_url = _id(target, 32), self._base_url(target)
        yield {"kind": "begun", "record": record, "target": target, "base_url": base_url, "format": 1}
        yield {"kind": "bound", "base_url": base_url, "account": _ACCOUNT}
        for number in range(self.count):
            attempt = {"attempt": _id(f"{target}/{number}", 16), "address": f"{target}/{_name(number)}"}
            wanted = {"eventCodes": [_code(number)], "webhookUrl": _webhook(target, number)}
            if self.imported:
                yield {"kind": "imported", **attempt, **wanted}
            else:
                yield from _create(attempt, wanted, _SENT + number)

    def _base_url(self, target: str) -> str:
        return f"{self.url}/{target}" if self.apart else f"{self.url}/api"


def _create(attempt: dict[str, str], wanted: dict[str, Any], at: int) -> Iterator[dict[str, Any]]:
    """The entries of a create that succeeded, in seconds since 1970."""
    sent = {"send_by": at + 60.359, "settled_by": at + 105.359, "run": "38260c73c1b44c38"}
    yield {"kind": "intent", **attempt, "action": "create", **wanted, **sent}
    told = {"status": 201, "date": "Sat, 31 Jan 2026 12:00:00 GMT", "fields": {"subscriptionId": attempt["attempt"]}}
    yield {"kind": "outcome", "attempt": attempt["attempt"], "outcome": "created", **told, "response": "file"}


def many_targets(count: int) -> list[str]:
    """The names of so many targets, in regions of two environments."""
    return [f"r{number // 2:04d}/e{number % 2}" for number in range(count)]


def _linked(entries: Iterator[dict[str, Any]]) -> Iterator[bytes]:
    """The lines of a journal, each with the hash of the one before."""
    previous = "0" * 64
    for number, entry in enumerate(entries, 1):
        fields = {"seq": number, "at": _AT, **entry, "by": _BY, "prev": previous}
        body = json.dumps(fields, separators=(",", ":"))[:-1].encode()
        previous = sha256(body).hexdigest()
        yield body + f',"hash":"{previous}"}}\n'.encode()


def _name(number: int) -> str:
    return f"s{number:05d}"


def _code(number: int) -> str:
    return f"ONB{number:05d}"


def _webhook(target: str, number: int) -> str:
    return f"https://hooks.partner.example/{target}/{_name(number)}"


def _id(what: str, length: int) -> str:
    return sha256(what.encode()).hexdigest()[:length]
