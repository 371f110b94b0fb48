"""Creating a lead."""

import json
from pathlib import Path
from threading import Lock
from typing import Self

from reconciler.errors import Interrupted, SettingsError
from reconciler.model.desired import Target
from reconciler.model.outcome import Outcome
from reconciler.operations.input_files import read_input, refuse_constant
from reconciler.operations.service_client import ServiceClient
from reconciler.operations.workspace import Workspace
from reconciler.service.api import LeadAnswer, lead_failure


def read_lead(path: Path) -> bytes:
    """The bytes of a file with JSON. Raises SettingsError."""
    try:
        lead = read_input(path)
    except OSError as problem:
        raise SettingsError(f"cannot read the lead file: {problem.strerror}", where=path) from None
    try:
        json.loads(lead.decode(), parse_constant=refuse_constant)
    except json.JSONDecodeError as problem:
        fault, where = problem.msg, f"{path}:{problem.lineno}:{problem.colno}"
    except UnicodeDecodeError:
        fault, where = "it is not UTF-8", str(path)
    except (ValueError, RecursionError):
        fault, where = "it contains NaN or Infinity, or is nested too deeply", str(path)
    else:
        return lead
    raise SettingsError(f"the lead is not JSON: {fault}", where=where, remedy="nothing was sent; correct the file")


class LeadCreation:
    """Creates one lead. As a context it reports, if the command is interrupted, that the lead may exist."""

    def __init__(self, workspace: Workspace, target: Target) -> None:
        self._workspace = workspace
        self._target = target
        self._lock = Lock()
        self._closed = False
        self._sent = False

    def send(self, lead: bytes) -> LeadAnswer:
        """Send the lead, once. Raises SettingsError, TokenError and CallFailed."""
        with ServiceClient(self._workspace) as client:
            return client.service(self._target).create_lead(lead, self._may_send)

    def _may_send(self) -> bool:
        """Called by another thread just before the first byte: nothing is sent after an interrupt."""
        with self._lock:
            self._sent = self._sent or not self._closed
            return not self._closed

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: object) -> None:
        with self._lock:
            self._closed = True
        if self._sent and isinstance(problem, Interrupted):
            self._workspace.notices.print_problem(lead_failure(Outcome.UNKNOWN, "interrupted", self._target))
