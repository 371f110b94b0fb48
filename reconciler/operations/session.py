"""Builds an apply, and passes signals on to it."""

import gc
import logging
import os
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from msgspec.structs import replace

from reconciler.applying.account import needs_account, refuse_foreign
from reconciler.applying.context import Limits
from reconciler.applying.driver import Inbox
from reconciler.applying.protocol import TargetRun
from reconciler.applying.run import Account, Apply
from reconciler.applying.service_caller import ServiceCaller
from reconciler.errors import ReconcilerError, SettingsError, StateError
from reconciler.model.address import TargetName
from reconciler.model.entry import AnyEntry
from reconciler.model.record import Record
from reconciler.model.result import Applied
from reconciler.operations.failpoints import Failpoints
from reconciler.operations.interrupts import interrupts
from reconciler.operations.known_results import KnownResults, with_known_results
from reconciler.operations.plan import Planned
from reconciler.operations.workspace import Workspace
from reconciler.service.clock import now
from reconciler.state.heads.rereading import Rereader
from reconciler.state.heads.tracking import HeadTrackingStore
from reconciler.state.private.responses import ENCRYPTED, PrivateFiles, encrypt
from reconciler.state.private.unrecorded import check_keepable, keep_entries

log = logging.getLogger("reconciler.applying")

_PATIENCE, _PATIENCE_IN_CI = 5.0, 300.0
"""Seconds that creates of another run are given to end, none longer than its call may take; in a job nobody waits."""


class ApplySession:
    """A plan that is about to be applied, and all that it takes.

    Raises SettingsError for missing credentials and settings, RecordForeign, and StateError if responses could not be
    saved.
    """

    def __init__(self, workspace: Workspace, planned: Planned) -> None:
        workspace.notices.start_logging()
        self._workspace = workspace
        self._planned = planned
        self._unrecorded: list[str] = []
        self._failpoints = Failpoints(os.environ.get("RECONCILER_TEST_FAILPOINT", ""))
        targets = [planned.desired.targets[name] for name in planned.plan.targets]
        self._failpoints.refuse_real_services(url for target in targets for url in (target.auth_url, target.base_url))
        limits = Limits(parallelism=workspace.parallelism, call_timeout=workspace.timeout)
        self._limits = self._failpoints.limited(limits)
        self._accounts = _accounts(workspace, planned)
        for name in planned.plan.targets:
            account = self._accounts[name].account if name in self._accounts else None
            refuse_foreign(planned.desired.targets[name], planned.records[name], account)
        if self._accounts:
            _check_keeping(workspace, planned, self._accounts)

    def carry_out(self, observe: Callable[[TargetRun], None]) -> Applied:
        """Apply the plan as it was approved; `observe` is shown the progress."""
        workspace, planned, inbox = self._workspace, self._planned, Inbox()
        store = HeadTrackingStore(workspace.store, workspace.heads)
        gc.freeze()  # what was loaded and planned stays: it need not be looked through again and again
        with interrupts(inbox.interrupt) as caught:
            applied = Apply(
                planned.plan,
                planned.desired,
                planned.selection,
                store=store,
                read=lambda target: store.follow(workspace.read(target)),
                reread=partial(_reread, workspace, Rereader(workspace.store, workspace.heads)),
                accounts=self._accounts,
                clock=now,
                inbox=inbox,
                limits=self._limits,
                by=workspace.by(),
                save=self._save,
                observe=observe,
                reach=partial(self._failpoints.reach, handled=lambda: len(caught)),
                pause=time.sleep,
                patience=_PATIENCE_IN_CI if workspace.in_ci else _PATIENCE,
                counted=lambda record: with_known_results(workspace, record, self._unrecorded),
                recorded_services={name: record.base_url for name, record in planned.records.items()},
                unread=frozenset(unread.target for unread in planned.unread) - planned.records.keys(),
                on_reread=workspace.responses.forget_recorded,
            ).carry_out()
        return replace(applied, signal=caught[0]) if caught else applied

    def _save(self, target: TargetName, record: Record, entries: Sequence[AnyEntry], reason: str) -> str:
        to = None if record.closed is None else record.closed.to
        notice = keep_entries(self._workspace.data_directory, target, record.id, entries, reason, to)
        self._unrecorded.append(notice)
        return notice


def _check_keeping(workspace: Workspace, planned: Planned, targets: Iterable[TargetName]) -> None:
    """Raises StateError and SettingsError, which say that nothing was sent, if results could not be saved here."""
    try:
        for name in targets:
            workspace.responses.check_writable(planned.records[name].id, encrypted=bool(planned.desired.recipients))
        check_keepable(workspace.data_directory)
    except (StateError, SettingsError) as problem:
        raise type(problem)(f"{problem.what}; nothing was sent", where=problem.where, remedy=problem.remedy) from None


def _reread(workspace: Workspace, rereader: Rereader) -> Callable[[TargetName], Record]:
    """Begin to read records once more, with the creates that only this machine knows of."""
    read, known = rereader.begin(), KnownResults(workspace)

    def reread(target: TargetName) -> Record:
        record = read(target)
        workspace.say_what_was_read(record)
        return known.add_to(record)

    return reread


def _accounts(workspace: Workspace, planned: Planned) -> dict[TargetName, Account]:
    """Raises SettingsError that names all that is missing, for every target."""
    names = [name for name, target in planned.plan.targets.items() if needs_account(target)]
    if not names:
        return {}

    from reconciler.operations.service_client import ServiceClient  # noqa: PLC0415 - only creates need the service

    calling = ServiceClient(workspace)
    accounts, problems = {}, []
    for name in names:
        try:
            target = planned.desired.targets[name]
            caller = ServiceCaller(calling.service(target), _keeper(workspace, planned, name))
            accounts[name] = Account(calling.credentials(target).account(), caller)
        except SettingsError as problem:
            problems.append(problem)
    if problems:
        what = "; ".join(f"{problem.where}: {problem.what}" for problem in problems)
        raise SettingsError(what, remedy=problems[0].remedy)
    return accounts


def _keeper(workspace: Workspace, planned: Planned, name: TargetName) -> Callable[[str, bytes], str]:
    """What saves the responses of one target: encrypted in the record, or in private files."""
    recipients = planned.desired.recipients
    record = planned.records[name].id

    def keep(attempt: str, response: bytes) -> str:
        if recipients:
            sealed = encrypt(recipients, response)
            _keep_sealed(workspace.responses, record, attempt, sealed)
            return sealed
        workspace.responses.keep(record, attempt, "response", response)
        return "file"

    return keep


def _keep_sealed(responses: PrivateFiles, record: str, attempt: str, sealed: str) -> None:
    """Save an encrypted response until the record holds it; if that fails, the record still gets it."""
    try:
        responses.keep(record, attempt, ENCRYPTED, sealed.encode())
    except ReconcilerError as problem:
        log.warning("an encrypted response could not be saved before it is recorded: %s", problem)
