"""What the commands that edit the record share: read, draft, append, and retry after a conflict."""

import time
from collections.abc import Callable, Mapping, Sequence

from reconciler.errors import HeadMoved, Refused, StateError
from reconciler.model.address import ADDRESS, Address, TargetName
from reconciler.model.clock import stamp
from reconciler.model.entry import AnyEntry
from reconciler.model.record import Attempt, Record
from reconciler.operations.workspace import Workspace
from reconciler.state.heads.tracking import append_entries
from reconciler.state.journal.chain import Journal

_RETRIES = 20


def record_entries(
    workspace: Workspace, target: TargetName, draft: Callable[[Record], Sequence[AnyEntry]], note: str
) -> Record:
    """Append what `draft` makes of the record as it is, and give the record as it is then.

    After a conflict with another run the record is read and drafted for again. Raises what `draft` raises, and
    StateError.
    """
    return append_drafted(
        workspace, target, workspace.read_or_explain, lambda journal: draft(journal.record()), note
    ).record()


def append_drafted(
    workspace: Workspace,
    target: TargetName,
    read: Callable[[TargetName], Journal],
    draft: Callable[[Journal], Sequence[AnyEntry]],
    note: str,
) -> Journal:
    """As `record_entries`, of a journal that `read` gives."""
    workspace.within.refuse_others([target])
    for _ in range(_RETRIES):
        journal = read(target)
        entries = draft(journal)
        if not entries:
            return journal
        try:
            journal = append_entries(workspace.store, journal, entries, workspace.heads, f"{target}: {note}")
        except HeadMoved:
            continue
        workspace.notices.work_is_done()
        return journal
    raise StateError("too many conflicts: other runs keep appending to the record", where=target, remedy="retry later")


def now_by(workspace: Workspace) -> tuple[str, Mapping[str, str]]:
    """When and by whom, for an entry."""
    return stamp(time.time()), workspace.by()


def parse_address(text: str, remedy: str = "to list recorded subscriptions, run: reconciler state list") -> Address:
    """Raises Refused for what is not an address."""
    if not ADDRESS.fullmatch(text):
        raise Refused("expected an address region/environment/name (a-z, 0-9 and -)", where=text, remedy=remedy)
    return Address(text)


def not_recorded(address: str | None, record: Record | None = None) -> Refused:
    """The error for what names nothing recorded, with the addresses in the record that are spelt alike."""
    from reconciler.model.spelling import suggestion  # noqa: PLC0415 - needed only to explain an error

    known = {attempt.address for attempt in record.attempts.values()} if record else set()
    return Refused(
        f"not in the state record{suggestion([address] if address else [], known)}",
        where=address,
        remedy="to list recorded subscriptions, run: reconciler state list",
    )


def pick(attempts: Sequence[Attempt], named: str | None, address: Address, what: str) -> Attempt:
    """The one attempt that is meant. Raises Refused if there is none, or several and none is `named` by its id."""
    if named is not None:
        attempts = [attempt for attempt in attempts if attempt.id == named]
    if not attempts:
        id_named = "" if named is None else f" with the id {named}"
        raise Refused(f"no attempt{id_named} {what}", where=address, remedy=f"run: reconciler state show {address}")
    if len(attempts) > 1:
        choices = "; ".join(
            f"{attempt.id} ({attempt.since}, {', '.join(attempt.codes)} to {attempt.url})" for attempt in attempts
        )
        raise Refused(f"several attempts {what}", where=address, remedy=f"choose one with --attempt: {choices}")
    return attempts[0]
