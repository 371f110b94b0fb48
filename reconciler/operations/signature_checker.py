"""Checking the signatures of notifications against the recorded secrets."""

import time
from pathlib import Path
from threading import Lock
from typing import assert_never

from reconciler.errors import ReconcilerError, SettingsError
from reconciler.model.desired import Verification
from reconciler.notifications.signatures import SignatureMatch, verify
from reconciler.operations.kept_secrets import Recorded, read_identity, secrets_of_all
from reconciler.operations.workspace import Workspace
from reconciler.receiver.exchange import Request
from reconciler.reports.wording import counted

_REREAD_SECONDS = 2.0


class SignatureChecker:
    """Checks whether a notification was signed with a recorded secret of its endpoint, from any number of threads.

    After a mismatch the record is read again, at most every two seconds: a subscription may have been created since.
    Raises ConfigError, StateError, and SettingsError if `config/` has no `verification:` section.
    """

    def __init__(self, workspace: Workspace, identity: Path | None) -> None:
        self.verification = _verification(workspace)
        self._workspace = workspace
        self._identities = read_identity(identity)
        self._reading = Lock()
        self._warnings: set[str] = set()
        self._read()

    def __call__(self, request: Request) -> str | None:
        """What is wrong with the request's signature; None if it is right."""
        header = self.verification.header
        match self._match(request):
            case SignatureMatch.MATCH:
                return None
            case SignatureMatch.MISSING if request.header(header) is None:
                return f"no signature: the header {header} is missing"
            case SignatureMatch.MISSING:
                return "no signature: a header that is part of the signed content is missing"
            case SignatureMatch.MISMATCH:
                return f"bad signature: {header} matches no recorded secret of this endpoint"
            case never:
                assert_never(never)

    def _match(self, request: Request) -> SignatureMatch:
        known = self._recorded
        match = self._match_recorded(request)
        if match is SignatureMatch.MISMATCH and self._read_again(known):
            return self._match_recorded(request)
        return match

    def _match_recorded(self, request: Request) -> SignatureMatch:
        recorded = self._recorded
        path = request.target.partition("?")[0]
        # A tunnel changes the host, so that only paths can be compared; an unknown path may be any endpoint's.
        secrets = {secret for attempt in recorded if attempt.path == path for secret in attempt.secrets}
        secrets = secrets or {secret for attempt in recorded for secret in attempt.secrets}
        return verify(self.verification, secrets, request.headers, request.body)

    def _read_again(self, known: list[Recorded]) -> bool:
        """Whether the secrets differ from the `known` ones, after another read if it is time for one."""
        with self._reading:
            if time.monotonic() - self._read_at > _REREAD_SECONDS:
                try:
                    self._read()
                except ReconcilerError as problem:
                    self._warn(f"could not re-read the secrets: {problem}")
            return self._recorded is not known

    def _read(self) -> None:
        recorded = secrets_of_all(self._workspace, self._identities)
        self._read_at = time.monotonic()
        self._recorded = recorded
        for attempt in recorded:
            if attempt.problem:
                self._warn(str(attempt.problem))
        if not any(attempt.secrets for attempt in recorded):
            self._warn("no secret is recorded yet, so every signature fails")

    def _warn(self, text: str) -> None:
        """Warn, once of each text."""
        if text not in self._warnings:
            self._warnings.add(text)
            self._workspace.notices.warn(text)

    def announce(self) -> None:
        """Print what is verified, and with how many secrets."""
        verification = self.verification
        count = len({secret for attempt in self._recorded for secret in attempt.secrets})
        secrets = counted(count, "candidate secret")
        effect = "answered with 401 and saved as unverified" if verification.enforce else "reported and accepted"
        self._workspace.notices.say(
            f"Verifying {verification.header} with {secrets}; a notification with a bad signature is {effect}."
        )


def _verification(workspace: Workspace) -> Verification:
    if workspace.desired.verification is None:
        raise SettingsError(
            "config/ has no `verification:` section",
            where="--verify",
            remedy="add one; to detect it from a captured notification, run: reconciler verification infer FILE",
        )
    return workspace.desired.verification
