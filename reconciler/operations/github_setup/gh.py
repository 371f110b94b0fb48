"""Runs `gh`, the command-line client of GitHub, in the project's directory."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

from reconciler.errors import ReconcilerError, Refused, SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

REPOSITORY = "repos/{owner}/{repo}"
"""`gh` fills it in, from the remote of the clone."""

_STATUS = re.compile(r"\(HTTP (\d{3})\)")


class NotOffered(ReconcilerError):
    """GitHub refuses this for the repository: its plan does not have it, or its owner forbids it."""


class Gh:
    """The repository that a directory is a clone of."""

    def __init__(self, directory: Path) -> None:
        """Raises SettingsError without `gh`."""
        path = shutil.which("gh")
        if path is None:
            raise SettingsError(
                "gh, the command-line client of GitHub, is not installed",
                where="--apply",
                remedy="install it and run `gh auth login`, or set it up manually, as listed in"
                " .github/actions/reconcile/README.md of reconciler",
            )
        self._path, self._directory = path, directory

    def get(self, path: str) -> Any:
        """What is there; None if nothing is. Raises Refused, and NotOffered."""
        return self._api("GET", f"{REPOSITORY}{path}", None)

    def user(self) -> dict[str, object]:
        """Who is logged in. Raises Refused."""
        return dict(self._api("GET", "user", None))

    def send(self, method: str, path: str, body: Mapping[str, object] | None = None) -> None:
        """Raises Refused, and NotOffered."""
        self._api(method, f"{REPOSITORY}{path}", body)

    def set_secret(self, environment: str, name: str, value: str | None) -> None:
        """Set a secret, by default to what `gh` prompts for; it is never an argument. Raises Refused."""
        command = [self._path, "secret", "set", name, "--env", environment]
        done = subprocess.run(  # noqa: S603 - no shell
            command, cwd=self._directory, check=False, input=value and value.encode(), stderr=subprocess.PIPE
        )
        if done.returncode:
            raise Refused(_last_line(done.stderr), where=f"secret {name}", remedy="set it manually")

    def _api(self, method: str, path: str, body: Mapping[str, object] | None) -> Any:
        command = [self._path, "api", "--method", method, path]
        command += ["--input", "-"] if body is not None else []
        text = None if body is None else json.dumps(body).encode()
        done = subprocess.run(  # noqa: S603 - no shell
            command, cwd=self._directory, check=False, input=text or b"", capture_output=True
        )
        if done.returncode == 0:
            return json.loads(done.stdout) if done.stdout.strip() else {}
        said = _last_line(done.stderr)
        status = _STATUS.search(said)
        if status and status[1] == "404" and method == "GET":
            return None
        if status and status[1] in {"403", "422"}:
            raise NotOffered(said, where=f"{method} {path}")
        raise Refused(said, where="gh api", remedy="check `gh auth status` and that this is a clone of the repository")


def _last_line(text: bytes) -> str:
    lines = text.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "gh failed without saying why"
