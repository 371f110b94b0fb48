"""Sending captured notifications again: in order, one after the other, each once."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from msgspec import Struct

from reconciler.errors import Refused, SettingsError
from reconciler.model.desired import Verification
from reconciler.notifications.signatures import is_key, sign
from reconciler.operations.input_files import read_input
from reconciler.operations.observe import warn_of_incomplete
from reconciler.operations.workspace import Workspace
from reconciler.receiver.captured import Captured, captured_in
from reconciler.receiver.endpoint import Answer, Endpoint
from reconciler.receiver.selection import Selection
from reconciler.values import Discreet

_SECRET_LIMIT = 64 * 1024


class Replayed(Struct, frozen=True):
    """A notification by the number of its line, and what the endpoint answered; None if it was not sent."""

    number: int
    captured: Captured
    answer: Answer | None


class Signer(Discreet, frozen=True):
    """Signs requests as `verification:` says, with one secret."""

    unprinted = ("secret",)

    verification: Verification
    secret: bytes

    def headers_of(self, captured: Captured, where: str) -> tuple[tuple[str, str], ...]:
        """The headers with a new signature, in the place of the old one. Raises Refused if it cannot be signed."""
        value = sign(self.verification, self.secret, captured.headers, captured.body)
        if value is None:
            raise Refused(
                "a header that is part of the signed content is missing",
                where=where,
                remedy="leave this line out, or replay without --sign-with",
            )
        name = self.verification.header.lower()
        headers = captured.sent_headers()
        places = [place for place, (sent_name, _) in enumerate(headers) if sent_name.lower() == name]
        if not places:
            return (*headers, (self.verification.header, value))
        kept = (pair for place, pair in enumerate(headers) if place not in places[1:])
        return tuple((sent, value) if sent.lower() == name else (sent, text) for sent, text in kept)


def read_signer(workspace: Workspace, path: Path) -> Signer:
    """What signs with the secret in a file, where a newline at the end is ignored; `-` is standard input.

    Raises SettingsError if the file has no secret, or `config/` no `verification:`, and ConfigError.
    """
    where = "--sign-with"
    verification = workspace.desired.verification
    if verification is None:
        raise SettingsError(
            "config/ has no `verification:` section",
            where=where,
            remedy="add one; to detect it from a captured notification, run: reconciler verification infer FILE",
        )
    try:
        secret = read_input(path, _SECRET_LIMIT).rstrip(b"\r\n")
    except OSError as problem:
        raise SettingsError(f"cannot be read: {problem.strerror}", where=f"{where} {path}") from None
    if not is_key(verification, secret):
        raise SettingsError(
            f"expected a secret in the key_encoding of `verification:`, {verification.key_encoding}", where=where
        )
    return Signer(verification, secret)


class Replay:
    """Sends what is selected of a file; `endpoint` is None to send nothing.

    `at` is the line that is being sent, or was sent last; `sent` how many were, and `failed` which of them were not
    answered with 2xx.
    """

    def __init__(
        self, workspace: Workspace, file: Path, selection: Selection, endpoint: Endpoint | None, signer: Signer | None
    ) -> None:
        self._notices = workspace.notices
        self._file = file
        self._selection = selection
        self._endpoint = endpoint
        self._signer = signer
        self.at = 0
        self.sent = 0
        self.failed: list[int] = []

    def run(self) -> Iterator[Replayed]:
        """Send each, and give it with its answer. Raises SettingsError for a file that cannot be read, and Refused."""
        captured = captured_in(self._file, partial(warn_of_incomplete, self._notices))
        for number, request in self._selection.of(captured):
            self.at = number
            answer = self._send(number, request)
            self.sent += 1
            if answer is not None and not answer.is_confirmation:
                self.failed.append(number)
            yield Replayed(number, request, answer)

    def _send(self, number: int, request: Captured) -> Answer | None:
        headers = request.sent_headers()
        if self._signer is not None:
            headers = self._signer.headers_of(request, f"{self._file}:{number}")
        return None if self._endpoint is None else self._endpoint.post(request.path, headers, request.body)
