"""What waits for a person, by who that is."""

from __future__ import annotations

import shlex
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from reconciler.model.plan import LOCAL, SENDS, Action, Block
from reconciler.model.record import Status
from reconciler.model.url import same_service
from reconciler.planning.reasons import BOTH_DELIVER, create_calls, rebind_to_service, second_secret, unresolved
from reconciler.reports.html.marks import concerned_attempts
from reconciler.reports.html.twice import asked_on
from reconciler.reports.letters import (
    UNLESS_NEVER_SENT,
    after_deletion,
    exchange_caution,
    existence_question,
    keeping_request,
    removal_request,
    unknown_cautions,
)
from reconciler.reports.questions import asked_together, existence_message, to_ask, unproven
from reconciler.reports.wording import counted, resolve_advice, surplus_advice, withdrawn_advice

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from reconciler.model.address import Address
    from reconciler.model.overview import Overview, TargetOverview
    from reconciler.model.plan import Change, Plan
    from reconciler.model.record import Attempt
    from reconciler.model.status import TargetStatus


class Who(StrEnum):
    """Who has to act, in the order in which a page lists them."""

    MAINTAINER = "Maintainer"
    REVIEWER = "Reviewer"
    OPERATOR = "Service's operator"
    ENDPOINT = "Owner of the endpoint"


class When(StrEnum):
    """When it is to be done, in the order in which a page lists them."""

    BEFORE = "Before the apply"
    NOW = "Now"
    AFTER = "After the apply"


class Task(NamedTuple):
    """Something for a person: in a few words (`brief`), about an address or a target, and in full with its commands.

    Tasks of one `brief` are listed as one on the first screen, each with its `codes` and its `detail`, which say what
    of the address it is about. `letter` is for the operator, with the `lines` after its first, and `then` what the
    maintainer does after that.
    """

    who: Who
    brief: str
    about: str
    what: str
    when: When = When.NOW
    codes: tuple[str, ...] = ()
    detail: str = ""
    letter: str = ""
    lines: tuple[str, ...] = ()
    then: str = ""


_RESOLVE = "resolve an unknown outcome (was it created?)"
_ASK = "ask which unknown outcomes exist"
_READ = "read a warning"
_DELETE = "delete the subscription"
_DELETE_OLD = "delete the old subscription"
_KEEP = "keep the subscription"
_EXCHANGED = "be certain that an exchange of URLs was meant"
_WITHDRAWN = "ask what a withdrawn request was about"
_UNKNOWN_BESIDE = "resolve an unknown outcome before a request to delete is sent"
_SURPLUS = "decide on surplus codes (in force, not asked for by config/)"
_WARNED = {
    Action.CREATE: (Who.REVIEWER, _READ),
    Action.EXTEND: (Who.ENDPOINT, "accept a second signing secret"),
    Action.REPLACE: (Who.REVIEWER, _READ),
    Action.RESTORE: (Who.MAINTAINER, "cancel a request with the operator"),
    Action.RETIRE: (Who.REVIEWER, _READ),
    Action.BLOCKED: (Who.MAINTAINER, _READ),
}
"""Whom the warnings of a change concern, and for what."""


def tasks(overview: Overview) -> list[Task]:
    """All that waits for a person, by when and by whom; but for the approval of the plan."""
    found = [Task(Who.MAINTAINER, "repair a record", name, problem) for name, problem in overview.unusable.items()]
    for target in overview.targets:
        found += [*_message(target.standing), *_of_changes(target), *_of_record(target), *_removals(target)]
    people, times = list(Who), list(When)
    return sorted(found, key=lambda task: (times.index(task.when), people.index(task.who)))


def approval(plan: Plan) -> Task | None:
    """The approval that a plan waits for; None if an apply would do nothing."""
    actions = [change.action for change in plan.changes]
    parts = [create_calls(actions)] if any(action in SENDS for action in actions) else []
    local = sum(action in LOCAL for action in actions)
    parts += [f"{counted(local, 'change')} of the record"] if local else []
    if not parts:
        return None
    selection = "".join(f"-t {shlex.quote(pattern)} " for pattern in plan.selection)
    what = f"Approve or refuse {' and '.join(parts)}, which cannot be undone. To apply this plan and no other, run:"
    return Task(
        Who.REVIEWER,
        "approve or refuse the plan",
        "",
        f"{what} reconciler apply {selection}--expect-digest {plan.digest}",
        When.BEFORE,
    )


def _of_record(target: TargetOverview) -> Iterator[Task]:
    standing = target.standing
    if target.declared is not None and not same_service(target.service, target.declared.base_url):
        yield Task(
            Who.MAINTAINER,
            "look at a service address",
            standing.name,
            f"the record belongs to the service at {target.service}, but the settings use {target.declared.base_url}:"
            f" apply refuses this; {rebind_to_service(standing.name, target.service, target.declared.base_url)}",
            When.BEFORE,
        )
    planned = {change.address for change in standing.plan.changes if change.action is Action.BLOCKED}
    questions = _questions(standing)
    for observed in standing.attempts:
        attempt = observed.attempt
        if attempt.unresolved and (observed.has_evidence or attempt.address not in planned):
            what = resolve_advice(observed) if observed.has_evidence else unresolved(attempt)
            letter = "" if observed.has_evidence else questions.get(attempt.address, "")
            yield Task(Who.MAINTAINER, _RESOLVE, attempt.address, what, letter=letter)
    for extra in standing.plan.surplus:
        yield Task(Who.MAINTAINER, _SURPLUS, extra.address, surplus_advice(extra), codes=extra.codes)


def _message(standing: TargetStatus) -> Iterator[Task]:
    """One question to the operator about several attempts: it comes before what to do with the answer."""
    for asked in _asked(standing, several=True):
        letter, *lines = existence_message(asked)
        what = f"to ask the service's operator, {asked_together(asked)}, send"
        yield Task(Who.MAINTAINER, _ASK, standing.name, what, letter=letter, lines=tuple(lines))


def _asked(standing: TargetStatus, *, several: bool) -> list[list[Attempt]]:
    """What the operator is asked about, if that is several attempts, or if it is one."""
    return [asked for asked in to_ask(unproven(standing)).values() if (len(asked) > 1) == several]


def _of_changes(target: TargetOverview) -> Iterator[Task]:
    heard = {known.attempt.address for known in target.standing.attempts if known.has_evidence}
    questions = _questions(target.standing)
    for change in target.standing.plan.changes:
        if change.action is Action.BLOCKED and not (change.block is Block.UNRESOLVED and change.address in heard):
            brief = _RESOLVE if change.block is Block.UNRESOLVED else "clear what blocks a change"
            letter = questions.get(change.address, "") if change.block is Block.UNRESOLVED else ""
            for reason in change.reasons:
                yield Task(Who.MAINTAINER, brief, change.address, reason, letter=letter)
        for warning in change.warnings:
            if warning != BOTH_DELIVER:  # what arrives twice says it
                who, brief = _WARNED[change.action]
                when = When.NOW if change.action is Action.BLOCKED else When.BEFORE
                yield Task(who, brief, change.address, _in_full(change, warning), when)


def _questions(standing: TargetStatus) -> dict[Address, str]:
    """What to ask about the one attempt of a target of which only the operator knows, by its address."""
    return {asked[0].address: existence_question(asked[0]) for asked in _asked(standing, several=False)}


def _in_full(change: Change, warning: str) -> str:
    request = change.request if change.action is Action.EXTEND else None
    if request is None or warning != second_secret(request.url):
        return warning
    return (
        f"{request.url} must accept two signing secrets from the apply on: the one that it has, and that of the"
        " subscription that is sent. An endpoint that knows only the first refuses what is signed with the second."
        f" After the apply, for the second, run: reconciler secret show {change.address}"
    )


def _removals(target: TargetOverview) -> Iterator[Task]:
    standing = target.standing
    staying = _staying(standing)
    held = [known.attempt for known in standing.attempts]
    if standing.withdrawn:
        yield Task(Who.MAINTAINER, _WITHDRAWN, standing.name, withdrawn_advice(standing))
    caution = exchange_caution(standing.exchanged_of(standing.plan.to_remove))
    if caution:
        yield Task(Who.MAINTAINER, _EXCHANGED, standing.name, " ".join(caution))
    for attempt in standing.plan.to_remove:
        for warning in unknown_cautions(attempt, held):
            yield Task(Who.MAINTAINER, _UNKNOWN_BESIDE, attempt.address, warning)
        yield _removal(attempt, held, staying, When.NOW, asked_on(attempt))
    for attempt in standing.plan.restored:
        what = f"attempt {attempt.id}. {UNLESS_NEVER_SENT} send"
        letter = keeping_request(attempt)
        yield Task(Who.OPERATOR, _KEEP, attempt.address, what, When.BEFORE, detail=f"at {attempt.url}", letter=letter)
    for change in standing.plan.changes:
        goes = change.action in (Action.REPLACE, Action.RETIRE)
        for attempt in change.before:
            if goes and attempt.id in change.concerns and attempt.status is Status.LIVE:
                yield _removal(attempt, held, staying, When.AFTER)


def _staying(standing: TargetStatus) -> set[Address]:
    """The addresses that still have a subscription after the plan: what is deleted of them is the old one."""
    concerned = concerned_attempts(standing)
    live = {
        known.attempt.address
        for known in standing.attempts
        if concerned.get(known.attempt.id, known.attempt.status) in (Status.LIVE, Action.RESTORE)
    }
    return live | {change.address for change in standing.plan.changes if change.request is not None}


def _removal(
    attempt: Attempt, held: Sequence[Attempt], staying: Container[Address], when: When, asked: str = ""
) -> Task:
    """The request to delete `attempt`, which names the one to keep of `held`, all that its target has."""
    return Task(
        Who.OPERATOR,
        _DELETE_OLD if attempt.address in staying else _DELETE,
        attempt.address,
        f"attempt {attempt.id}{f', {asked}' if asked else ''}",
        when,
        detail=f"at {attempt.url}{f' ({asked})' if asked else ''}",
        letter=removal_request(attempt, held),
        then=after_deletion(attempt),
    )
