"""A record that was closed, since it is copied to another store: what must not happen to it, and what to do instead."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from reconciler.errors import RecordClosed
from reconciler.model.entry import who

if TYPE_CHECKING:
    from reconciler.model.record import Record


def refuse_closed(record: Record, where: str) -> None:
    """Raises RecordClosed if the record was closed; `where` is its location, for messages."""
    closed = record.closed
    if closed is None:
        return
    source, to = quote(closed.source), quote(closed.to)
    finish = f"run: reconciler state copy {source} {to} -t {record.target}"
    if closed.complete:
        what = f"the state record of {record.target} is closed here: it was copied to {closed.to}"
        use = f"use it there, with --state {to}; or, for all commands, run: export RECONCILER_STATE={to}"
        remedy = f"{use}; if it is closed there too, that copy was interrupted; {finish}"
    else:
        started = f"a copy to {closed.to} was started at {closed.at} by {who(closed.by)}"
        what = f"the state record of {record.target} is closed: {started}"
        keep = f"reconciler state copy {source} {source} -t {record.target} --force"
        remedy = f"wait for it; if it was interrupted, {finish}; or, to use {closed.source} again, run: {keep}"
    raise RecordClosed(what, where=where, remedy=remedy)
