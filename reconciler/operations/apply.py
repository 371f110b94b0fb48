"""`apply`: checks a plan before anything is sent, connects to the services, and carries the plan out."""

from __future__ import annotations

import os
import random
import signal
import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from reconciler.applying.driver import Inbox, Ports
from reconciler.applying.events import Limits
from reconciler.applying.execution import carry_out
from reconciler.errors import INTERRUPTING, Message, ReconcilerError, Refused, SettingsError, Step
from reconciler.model.outcome import Outcome
from reconciler.model.plan import SENDS, Done
from reconciler.operations.failpoints import VARIABLE, Failpoints
from reconciler.operations.plan import plaintext_refusal, plan_from
from reconciler.operations.recovery_file import save_facts
from reconciler.reports.words import counted
from reconciler.service.clock import now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from reconciler.applying.protocol import Run
    from reconciler.model.address import TargetName
    from reconciler.model.outcome import Answer
    from reconciler.model.plan import Applied, Plan
    from reconciler.operations.plan import Planned
    from reconciler.operations.project import Project
    from reconciler.operations.responses import Responses
    from reconciler.service.api import ServiceClient

_PATIENCE, _PATIENCE_IN_CI = 5.0, 300.0
"""Seconds to wait for the creates of another run to end. A run in CI waits longer, because nobody is watching it."""
_ADDRESSES = ("base_url", "auth_url", "audience_base")


def refuse_too_many(plan: Plan, most: int | None) -> None:
    """Raise Refused if a plan makes more than `most` creates."""
    count = sum(change.action in SENDS for change in plan.changes)
    if most is not None and count > most:
        what = f"the plan has {counted(count, 'create')}, but at most {most} are allowed; nothing was sent"
        review = Step("review the plan", ("reconciler", "plan", *plan.options))
        raise Refused(Message("too-many-creates", what, "--max-creates", (review,)))


def refuse_unpinned(project: Project, plan: Plan, *, plaintext: bool) -> None:
    """Raise Refused if service URLs or recipients are set only in `config/`; the message names the variables to set."""
    missing = [
        f"{name.variable_prefix}{field.upper()}"
        for name, planned in plan.targets.items()
        for field in _ADDRESSES
        if field not in planned.target.overridden
        and (field != "audience_base" or planned.target.audience_base != planned.target.base_url)
    ]
    if not project.sources.get("RECONCILER_RECIPIENTS") and not (plaintext and not plan.recipients):
        missing.append("RECONCILER_RECIPIENTS")
    if plan.targets and missing:
        steps = (Step("set these variables outside the checkout; values in config/ do not count"),)
        raise Refused(Message("not-pinned", f"not set: {', '.join(missing)}", "--pinned", steps))


class Session:
    """A plan that is about to be applied, with its store of responses and its connections to the service.

    Raises SettingsError with a message for each missing or invalid setting of any target, Refused if responses may not
    be kept unencrypted on this machine, and RecordError if they cannot be saved.
    """

    def __init__(self, project: Project, planned: Planned, *, plaintext: bool = False) -> None:
        refusal = None if plaintext else plaintext_refusal(project, planned.plan)
        if refusal is not None:
            raise Refused(refusal)
        self._project = project
        self._planned = planned
        self._failpoints = Failpoints(os.environ.get(VARIABLE, ""))
        targets = [plan.target for plan in planned.plan.targets.values()]
        self._failpoints.refuse_real_services(url for target in targets for url in (target.auth_url, target.base_url))
        self._responses, self._callers = _callers(project, planned)

    def carry_out(self, observe: Callable[[Run], None]) -> Applied:
        """Apply the approved plan; `observe` is called with the run after each event."""
        project, planned, inbox = self._project, self._planned, Inbox()
        journal = project.journal
        flags = project.flags
        limits = self._failpoints.limited(Limits(parallelism=flags.parallelism, call_timeout=flags.timeout))
        accounts = project.accounts()
        with interrupts(inbox.interrupt) as caught:
            ports = Ports(
                read=journal.read,
                extend=journal.extend,
                catch_up=journal.catch_up,
                replan=lambda reading: plan_from(reading, project, planned.selection, allow_empty=planned.allow_empty),
                callers=self._callers,
                save=partial(save_facts, project.data_directory, planned.plan.record, project.place),
                clock=now,
                new_id=project.new_id,
                jitter=random.random,
                pause=time.sleep,
                observe=observe,
                reach=lambda point: self._failpoints.reach(point, lambda: len(caught)),
                by=project.by(),
                account=lambda target: accounts.get(target, ""),
                inbox=inbox,
                patience=_PATIENCE_IN_CI if project.in_ci else _PATIENCE,
            )
            applied = carry_out(planned.plan, planned.reading, ports, limits)
        if self._responses:
            created = [result for result in applied.results if result.outcome is Done.CREATED and result.recorded]
            self._responses.forget_sealed(*(result.attempt for result in created if result.attempt))
        return replace(applied, signal=caught[0]) if caught else applied


class _ServiceCaller:
    """Makes the calls of one target and saves the responses."""

    def __init__(self, service: ServiceClient, responses: Responses) -> None:
        self._service = service
        self._responses = responses

    def authorise(self) -> None:
        self._service.authorise()

    def create(
        self, attempt: str, codes: Sequence[str], url: str, may_send: Callable[[], bool], *, renew: bool
    ) -> tuple[Answer, str | None, bool]:
        answer = self._service.create_subscription(codes, url, may_send, renew=renew)
        if answer.outcome is not Outcome.CREATED:
            return answer, None, False
        try:
            return answer, self._responses.keep(attempt, answer), False
        except ReconcilerError as problem:
            detail = f"the response, which may hold the only copy of a secret, could not be saved: {problem}"
            return replace(answer, detail=detail), None, True


def _callers(project: Project, planned: Planned) -> tuple[Responses | None, Mapping[TargetName, _ServiceCaller]]:
    """Return the store of responses and the caller for each target, or None and no callers if nothing is to be sent."""
    sending = [
        plan.target for plan in planned.plan.targets.values() if any(change.action in SENDS for change in plan.changes)
    ]
    if not sending:
        return None, {}
    from reconciler.operations.credentials import credentials_of  # noqa: PLC0415 - it loads pydantic
    from reconciler.operations.responses import Responses  # noqa: PLC0415 - it loads the encryption
    from reconciler.service.api import ServiceClient  # noqa: PLC0415 - it loads the HTTP client

    responses = Responses(project.data_directory / "responses", planned.plan.recipients)
    responses.prepare()
    callers: dict[TargetName, _ServiceCaller] = {}
    problems: list[Message] = []
    for target in sending:
        try:
            credentials = credentials_of(target.name, project.sources)
            service = ServiceClient(
                target, credentials, timeout=project.flags.timeout, cache_dir=project.cache_directory
            )
            callers[target.name] = _ServiceCaller(service, responses)
        except SettingsError as problem:
            problems += problem.messages
    if problems:
        raise SettingsError(*problems)
    return responses, callers


@contextmanager
def interrupts(ask: Callable[[], None]) -> Iterator[list[int]]:
    """Call `ask` for each interrupting signal that arrives inside the block; yield the list of signal numbers received.

    `ask` may run between any two steps of the main thread, so it may only set a flag or put an item into a SimpleQueue.
    """
    caught: list[int] = []

    def catch(number: int, _frame: object) -> None:
        ask()
        caught.append(number)

    before = {number: signal.getsignal(number) for number in INTERRUPTING}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:  # as in the background of a shell without job control, or under nohup
            signal.signal(number, catch)
    try:
        yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
