"""A project whose record is in an object store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.model.address import TargetName
from reconciler.state.journal.chain import parse
from support.sandbox_project import HERE, SandboxProject

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from reconciler.model.record import Record
    from support.object_servers import ObjectServer


class BucketProject(SandboxProject):
    """A project whose record is at `server`; what goes to it may go by way of another port. Responses are sealed."""

    def __init__(
        self, path: Path, server: ObjectServer, wanted: Mapping[str, Sequence[str]], variables: Mapping[str, str]
    ) -> None:
        super().__init__(path, wanted)
        self.project.seal()
        self._server = server
        self.project.environment |= {**server.environment, "RECONCILER_STATE": server.spec, **variables}

    def record(self, target: str = HERE) -> Record:
        """See SandboxProject.record; read without the program's command line."""
        data = self._server.open().read(TargetName(target))
        assert data is not None
        return parse(data, TargetName(target), "the scene").record()
