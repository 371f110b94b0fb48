"""Whether the state records can be read and, if that is to be tried, written; nothing is remembered of them."""

import os
from collections.abc import Iterable, Mapping

from reconciler.applying.account import refuse_foreign
from reconciler.disk.mounts import host_only_locks
from reconciler.errors import ReconcilerError, RecordMissing, StoreUnavailable
from reconciler.model.address import TargetName
from reconciler.model.desired import Target
from reconciler.model.record import Record
from reconciler.model.result import Finding
from reconciler.operations.doctor.found import attempted, failed, failure, ok, skipped, warning
from reconciler.operations.workspace import Workspace
from reconciler.reports.wording import counted
from reconciler.service.credentials import Credentials
from reconciler.state.heads.tracking import check_journal, missing_records
from reconciler.state.private.unrecorded import check_keepable
from reconciler.state.stores.store import Store, Triable


class RecordChecks:
    """The checks of the records of some targets; `accounts` are the credentials of those that have any.

    `write` says whether to try writing, `encrypted` whether create responses are encrypted.
    """

    def __init__(
        self, workspace: Workspace, accounts: Mapping[TargetName, Credentials], *, write: bool, encrypted: bool
    ) -> None:
        self._workspace = workspace
        self._accounts = accounts
        self._write = write
        self._encrypted = encrypted

    def findings(self, store: Store, targets: Iterable[Target]) -> list[Finding]:
        """Everything about the records of these targets in a store."""
        findings, unavailable = _place(self._workspace, store), False
        for target in targets:
            if unavailable and store.path is None:
                findings.append(skipped("record", target.name, "the store is unavailable"))
                continue
            try:
                record = check_journal(store, target.name, self._workspace.heads).record()
            except RecordMissing:
                missing = missing_records(store, {target.name: self._workspace.heads.seen(target.name)})
                findings.append(failure("record", target.name, missing))
            except ReconcilerError as problem:
                unavailable = isinstance(problem, StoreUnavailable)
                findings.append(failure("record", target.name, problem))
            else:
                findings += [self._read(store, target, record), self._written(store, target.name)]
                findings += self._private(record)
        return findings

    def _read(self, store: Store, target: Target, record: Record) -> Finding:
        credentials = self._accounts.get(target.name)
        try:
            refuse_foreign(target, record, None if credentials is None else credentials.account())
        except ReconcilerError as problem:
            return failure("record", target.name, problem)
        return ok("record", target.name, f"read from {store.location}: {counted(record.entries, 'entry', 'entries')}")

    def _written(self, store: Store, target: TargetName) -> Finding:
        if self._write and isinstance(store, Triable):
            try:
                store.check_writable(target)
            except ReconcilerError as problem:
                return failure("write", target, problem)
            return ok("write", target, "an append would succeed, as far as can be tried without one")
        journal = store.journal_file(target)
        if journal is not None and not (os.access(journal, os.W_OK) and os.access(journal.parent, os.W_OK)):
            return failed("write", target, "this user may not write the state record", f"check who owns {journal}")
        return skipped(
            "write",
            target,
            "not tested; add --write to test it" if isinstance(store, Triable) else "this store cannot be tested",
        )

    def _private(self, record: Record) -> list[Finding]:
        """Whether create responses and recovery files could be saved on this machine."""
        if not self._write:
            return []
        workspace = self._workspace

        def find() -> list[Finding]:
            workspace.responses.check_writable(record.id, encrypted=self._encrypted)
            check_keepable(workspace.data_directory)
            return [ok("write", record.target, f"responses can be saved below {workspace.data_directory}")]

        return attempted("write", record.target, find)


def _place(workspace: Workspace, store: Store) -> list[Finding]:
    """What is to be said of where the store is."""
    if store.path is None:
        return []
    findings = []
    if workspace.in_ci:
        remedy = "use a branch: --state git:BRANCH; ignore this if the directory is on a disk that lasts"
        findings.append(warning("record", store.location, "the disk of a CI runner is lost with the job", remedy))
    if kind := host_only_locks(store.path):
        what = f"file locks on this file system ({kind}) may not work across hosts"
        findings.append(warning("record", store.location, what, "run reconciler on one host only"))
    return findings
