"""A partner whose set-up is in order: the sandbox as the service, webhooks over TLS, a record; to be spoilt."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

from support.certificates import write_certificate
from support.raw_server import RawServer, say
from support.sandbox_project import HERE, SandboxProject

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from support.project import Finished

TAKEN = b"HTTP/1.1 405 Method Not Allowed\r\nAllow: POST\r\nContent-Length: 0\r\n\r\n"
"""How a receiver answers what is no notification."""


class SetUp(SandboxProject):
    """One target and two subscriptions at the partner's receiver, which is trusted by its certificate."""

    def __init__(self, path: Path) -> None:
        super().__init__(path / "project", {"offers": ["ONB10011"], "loans": ["ONB10001"]})
        self.path = path
        self.project.environment["RECONCILER_TIMEOUT"] = "5"
        self.receivers: list[RawServer] = []
        self.receiver = self.serve()
        self.hook(offers=f"{self.receiver.url}/offers", loans=f"{self.receiver.url}/loans")

    def serve(self, days: int = 30, *, trusted: bool = True) -> RawServer:
        """A receiver whose certificate expires in so many days."""
        certificate = write_certificate(self.path / f"receiver-{len(self.receivers)}.pem", days)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        if trusted:
            known = self.path / "trusted.pem"
            known.write_bytes((known.read_bytes() if known.exists() else b"") + certificate.read_bytes())
            self.project.environment["SSL_CERT_FILE"] = str(known)
        self.receivers.append(RawServer(say(TAKEN), context))
        return self.receivers[-1]

    def hook(self, **urls: str) -> None:
        """Have these subscriptions delivered elsewhere."""
        self.urls |= urls
        self.declare(self.wanted)

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        for receiver in self.receivers:
            receiver.close()
        super().__exit__(kind, problem, trace)

    def doctor(self, *arguments: str, code: int | None = None) -> Findings:
        """What `doctor` finds."""
        return Findings(self.project.step("doctor", "--format", "json", *arguments, code=code))

    @property
    def variable(self) -> str:
        """The beginning of the variables of the target."""
        return f"RECONCILER_{HERE.upper().replace('/', '_')}_"


class Findings:
    """The findings of a run, by check and result."""

    def __init__(self, finished: Finished) -> None:
        self.code = finished.code
        self.all: list[dict[str, str]] = finished.document["findings"]
        self.summary: dict[str, int] = finished.document["summary"]

    def of(self, check: str, result: str | None = None) -> list[dict[str, str]]:
        return [one for one in self.all if one["check"] == check and result in (None, one["result"])]

    @property
    def checks(self) -> set[str]:
        """Which checks there were."""
        return {one["check"] for one in self.all}

    @property
    def troubles(self) -> list[tuple[str, str]]:
        """The checks that failed or warn, with how."""
        return [(one["check"], one["result"]) for one in self.all if one["result"] in ("warning", "failed")]
