"""Verifying notifications with the secrets that are recorded."""

from __future__ import annotations

import time
from threading import Lock
from typing import TYPE_CHECKING

from reconciler.errors import ReconcilerError, SettingsError
from reconciler.operations.kept_secrets import read_identity, secrets_of_all
from reconciler.receiver.receiver import Signature
from reconciler.service.signatures import Verdict, verify

if TYPE_CHECKING:
    from pathlib import Path

    from reconciler.model.desired import Verification
    from reconciler.operations.kept_secrets import Recorded
    from reconciler.operations.workspace import Workspace
    from reconciler.receiver.exchange import Request

_FRESH_SECONDS = 2.0


class Verifier:
    """Says whether a notification was signed with a recorded secret of its endpoint; for any number of threads.

    Where one does not fit, the record is read again, though not every moment: a subscription may have been created
    since. Raises ConfigError, StateError, and SettingsError where `config/` does not say how notifications are signed.
    """

    def __init__(self, workspace: Workspace, identity: Path | None) -> None:
        self.how = _how(workspace)
        self._workspace = workspace
        self._identities = read_identity(identity)
        self._reading = Lock()
        self._told: set[str] = set()
        self._read()

    def __call__(self, request: Request) -> Signature:
        known = self._recorded
        verdict = self._verify(request)
        if verdict is Verdict.MISMATCH and self._read_again(known):
            verdict = self._verify(request)
        match verdict:
            case Verdict.MATCH:
                return Signature()
            case Verdict.MISSING if request.header(self.how.header) is None:
                return Signature(f"no signature: the header {self.how.header} is missing")
            case Verdict.MISSING:
                return Signature("no signature: a header is missing that is signed with the body")
            case _:
                return Signature(f"bad signature: {self.how.header} fits no recorded secret of this endpoint")

    def _verify(self, request: Request) -> Verdict:
        recorded = self._recorded
        path = request.target.partition("?")[0]
        # Behind a tunnel the host is another; where no path is this one either, any endpoint may be meant.
        secrets = {secret for one in recorded if one.path == path for secret in one.secrets}
        secrets = secrets or {secret for one in recorded for secret in one.secrets}
        return verify(self.how, secrets, request.headers, request.body)

    def _read_again(self, known: list[Recorded]) -> bool:
        """Whether there is something other than what was `known`."""
        with self._reading:
            if time.monotonic() - self._read_at > _FRESH_SECONDS:
                try:
                    self._read()
                except ReconcilerError as problem:
                    self._warn(f"the secrets could not be read again: {problem}")
            return self._recorded is not known

    def _read(self) -> None:
        found = secrets_of_all(self._workspace, self._identities)
        self._read_at = time.monotonic()
        self._recorded = found
        for problem in [one.problem for one in found if one.problem]:
            self._warn(str(problem))
        if not any(one.secrets for one in found):
            self._warn("no secret is recorded yet, so no signature can be right")

    def _warn(self, text: str) -> None:
        """Warn once of each."""
        if text not in self._told:
            self._told.add(text)
            self._workspace.notices.warn(text)

    def tell(self) -> None:
        """Say what is verified, and with how much."""
        count = len({secret for one in self._recorded for secret in one.secrets})
        what = "is refused with 401, and kept as unverified" if self.how.enforce else "is told, and taken all the same"
        secrets = "1 candidate secret" if count == 1 else f"{count} candidate secrets"
        self._workspace.notices.say(
            f"Verifying {self.how.header} with {secrets}; a signature that does not fit {what}."
        )


def _how(workspace: Workspace) -> Verification:
    if workspace.desired.verification is None:
        raise SettingsError(
            "config/ does not say how notifications are signed",
            where="--verify",
            remedy="add `verification:`; to detect it from a captured notification, run:"
            " reconciler verification infer FILE",
        )
    return workspace.desired.verification
