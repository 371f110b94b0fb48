"""What the commands that mend the record share: read it, decide, append; and again if somebody else was first."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from reconciler.errors import HeadMoved, Refused, StateError
from reconciler.model.address import Address
from reconciler.model.clock import stamp
from reconciler.state.heads.tracking import append_entries

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from reconciler.model.address import TargetName
    from reconciler.model.entry import AnyEntry
    from reconciler.model.record import Attempt, Record
    from reconciler.operations.workspace import Workspace

_TRIES = 20
_ADDRESS = re.compile(r"[a-z0-9][a-z0-9-]*(/[a-z0-9][a-z0-9-]*){2}")


def record_entries(
    workspace: Workspace, target: TargetName, draft: Callable[[Record], Sequence[AnyEntry]], note: str
) -> Record:
    """Append what `draft` makes of the record as it is, and give the record as it is then.

    Where another run appends first, the record is read and drafted for again. Raises what `draft` raises, and
    StateError.
    """
    for _ in range(_TRIES):
        journal = workspace.read(target)
        entries = draft(journal.record())
        if not entries:
            return journal.record()
        try:
            journal = append_entries(workspace.store, journal, entries, workspace.heads, f"{target}: {note}")
        except HeadMoved:
            continue
        workspace.notices.work_is_done()
        return journal.record()
    raise StateError("other runs keep appending to the record", where=target, remedy="try again")


def now_by(workspace: Workspace) -> tuple[str, Mapping[str, str]]:
    """When and by whom, for an entry."""
    return stamp(time.time()), workspace.by()


def parse_address(text: str, remedy: str = "see: reconciler state list") -> Address:
    """Raises Refused for what is no address."""
    if not _ADDRESS.fullmatch(text):
        raise Refused(
            "an address is written region/environment/name, each with a-z, 0-9 and -",
            where=text,
            remedy=remedy,
        )
    return Address(text)


def pick(attempts: Sequence[Attempt], wanted: str | None, address: Address, what: str) -> Attempt:
    """The one attempt that is meant. Raises Refused where there is none, or several and none is named."""
    if wanted is not None:
        attempts = [one for one in attempts if one.id == wanted]
    if not attempts:
        named = "" if wanted is None else f" with the id {wanted}"
        raise Refused(f"it has no attempt{named} {what}", where=address, remedy=f"see: reconciler state show {address}")
    if len(attempts) > 1:
        ids = ", ".join(one.id for one in attempts)
        raise Refused(f"it has several attempts {what}", where=address, remedy=f"name one with --attempt: {ids}")
    return attempts[0]
