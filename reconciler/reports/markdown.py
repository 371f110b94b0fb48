"""Markdown, for pull-request comments and job summaries."""

from collections.abc import Iterable, Iterator, Sequence

from reconciler.model.clock import stamp
from reconciler.model.parity import Pairs, Parity
from reconciler.model.plan import Action, Change, Plan, TargetPlan
from reconciler.model.record import Attempt
from reconciler.model.removal import RemovalRequest
from reconciler.model.result import Applied, Done, Result
from reconciler.model.status import ObservedAttempt, TargetStatus
from reconciler.reports.destinations import deviations, recipients_line, service_addresses
from reconciler.reports.difference import Disparity, declared_disparities, delivery, disparities
from reconciler.reports.letters import (
    ALL_TO_KEEP,
    KEEP_FIRST,
    UNLESS_NEVER_SENT,
    after_deletion,
    after_keeping,
    exchange_caution,
    keeping_request,
    removal_request,
    unknown_cautions,
    without_exchanged,
)
from reconciler.reports.paper import Paper, code
from reconciler.reports.questions import after_answers, asked_together, existence_message, to_ask, unproven
from reconciler.reports.wording import (
    SIGNS,
    applied_summary,
    changes_left,
    in_words,
    needs_attention,
    pairs_summary,
    parity_steps,
    parity_summary,
    pending,
    plan_summary,
    resolve_advice,
    secrets_missing,
    status_word,
    surplus_advice,
    unpaired_words,
    withdrawn_advice,
)

_TABLE = "| | address | action | event codes | URL |\n|---|---|---|---|---|\n"
_STANDINGS = "| address | status | URL | notifications |\n|---|---|---|---|\n"
_RESULTS = "| | address | outcome | status | detail |\n|---|---|---|---|---|\n"


def plan_markdown(plan: Plan) -> str:
    """A plan: the warnings, a table for each target, and the details folded away."""
    paper = Paper(f"<!-- reconciler:plan {plan.digest} -->\n", f"### {plan_summary(plan)}\n")
    targets = [plan.targets[name] for name in sorted(plan.targets)]
    changed = [f"- {code(text)}\n" for text in deviations(plan)]
    paper.bullets("Warnings", changed + [row for target in targets for row in _warnings(target)])
    destinations = [row for target in targets for row in _destination(target)]
    paper.bullets("Service and keys in use", [*destinations, f"- {code(recipients_line(plan))}\n"])
    paper.bullets("Send to the operator", [_keeping(attempt) for target in targets for attempt in target.restored])
    paper.bullets("Waiting for you", [f"- {code(text)}\n" for text in pending(plan)])
    for target in targets:
        if target.changes:
            paper.block(f"\n#### {code(target.name)}\n\n{_TABLE}", [_change_row(change) for change in target.changes])
    paper.fold("Details", [block for target in targets for block in _details(target)])
    awaiting = [
        f"- {code(attempt.address)}: {code(', '.join(attempt.codes))} to {code(attempt.url)}"
        f" (attempt {code(attempt.id)})\n"
        for target in targets
        for attempt in target.to_remove
    ]
    paper.fold("Awaiting removal by the operator", awaiting)
    return paper.text(f"\nDigest: {code(plan.digest)}\n")


def _destination(target: TargetPlan) -> list[str]:
    if target.destination is None:
        return []
    words = ", ".join(f"{purpose} {code(url)}" for purpose, url in service_addresses(target.destination))
    return [f"- {code(target.name)} {words}\n"]


def _warnings(target: TargetPlan) -> list[str]:
    rows = [
        f"- {code(change.address)} is blocked: {code(reason)}\n"
        for change in target.changes
        if change.action is Action.BLOCKED
        for reason in change.reasons
    ]
    rows += questions(target.unresolved)
    rows += [f"- {code(change.address)}: {code(warning)}\n" for change in target.changes for warning in change.warnings]
    return rows + _surplus(target)


def _surplus(target: TargetPlan) -> list[str]:
    return [f"- {code(surplus_advice(surplus))}\n" for surplus in target.surplus]


def _change_row(change: Change) -> str:
    request = change.request or change.after
    codes = code(", ".join(request.codes)) if request else ""
    url = code(request.url) if request else ""
    return f"| {SIGNS[change.action]} | {code(change.address)} | {change.action} | {codes} | {url} |\n"


def _details(target: TargetPlan) -> Iterator[str]:
    restored = {attempt.id for attempt in target.restored}
    for change in target.changes:
        found = delivery(change, restored)
        rows = [f"  - {code(row)}\n" for row in (*found.sent, *found.left)]
        reasons = [f"  - {code(reason)}\n" for reason in change.reasons]
        yield f"- {SIGNS[change.action]} {code(change.address)}\n{''.join(rows)}{''.join(reasons)}"


def applied_markdown(applied: Applied) -> str:
    """The results of an apply: what needs attention, then every address, then the requests to the operator."""
    paper = Paper(
        "<!-- reconciler:apply -->\n",
        f"### {applied_summary(applied)}\n",
    )
    trouble = [_trouble(result) for result in applied.results if needs_attention(result.outcome)]
    trouble += questions(applied.unknown)
    trouble += [f"- {code(notice)}\n" for notice in applied.unrecorded]
    paper.bullets("Needs attention", trouble)
    if applied.results:
        paper.block(f"\n{_RESULTS}", [_result_row(result) for result in applied.results])
    kept = [f"{_keeping(attempt)}  - {code(after_keeping(attempt))}\n" for attempt in applied.restored]
    kept += _listed([ALL_TO_KEEP]) if kept else []
    paper.bullets("Send nothing yet", _listed(exchange_caution(applied.exchanged)))
    removal = without_exchanged(applied.removal, applied.exchanged)
    order = [f"- {KEEP_FIRST}\n"] if kept and removal else []
    paper.bullets("Send to the operator", [*kept, *order, *(_request(attempt) for attempt in removal)])
    paper.bullets("Waiting for you", [f"- {code(text)}\n" for text in pending(applied)])
    return paper.text("")


def _request(attempt: Attempt, held: Sequence[Attempt] = ()) -> str:
    request = f"- {code(attempt.address)} (attempt {code(attempt.id)}): {code(removal_request(attempt, held))}\n"
    beside = [*unknown_cautions(attempt, held), after_deletion(attempt)]
    return "".join([request, *(f"  - {code(text)}\n" for text in beside)])


def _keeping(attempt: Attempt) -> str:
    to_keep = code(keeping_request(attempt))
    return f"- {UNLESS_NEVER_SENT} send, for {code(attempt.address)} (attempt {code(attempt.id)}): {to_keep}\n"


def questions(attempts: Iterable[Attempt]) -> list[str]:
    """The questions to the operator about creates of unknown outcome, as far as nothing here tells."""
    return [row for asked in to_ask(attempts).values() for row in _question(asked)]


def _question(attempts: Sequence[Attempt]) -> list[str]:
    """The rows of the question about attempts of one target: one, or its title and each line of the message."""
    first, *rest = existence_message(attempts)
    if not rest:
        about = f"{code(attempts[0].address)} (attempt {code(attempts[0].id)})"
        return [f"- Ask the operator, about {about}: {code(first)}\n"]
    rows = [f"  > {code(line) if line else ''}<br>\n" for line in (first, *rest)]
    ways = [f"  - {code(way)}\n" for way in after_answers(attempts)]
    return [f"- Ask the operator, {code(asked_together(attempts))}:\n\n", *rows, "\n", *ways]


def _trouble(result: Result) -> str:
    detail = "" if result.detail is None else f": {code(result.detail)}"
    resolve = ""
    if result.outcome is Done.UNKNOWN and result.recorded:  # else the notice of the recovery file says what to do
        command = f"reconciler state resolve {result.address}"
        wait = f"wait until {stamp(result.settled_by)}, then " if result.settled_by else ""
        resolve = (
            f" Check with the operator. If the subscription exists, run: {code(f'{command} --created')};"
            f" if it certainly does not, {wait}run: {code(f'{command} --not-created')}."
        )
    return f"- {code(result.address)} {in_words(result.outcome)}{detail}.{resolve}\n"


def _result_row(result: Result) -> str:
    status = "" if result.status is None else str(result.status)
    detail = "" if result.detail is None else code(result.detail)
    return f"| {SIGNS[result.action]} | {code(result.address)} | {in_words(result.outcome)} | {status} | {detail} |\n"


def parity_markdown(parity: Parity | Pairs) -> str:
    """Whether two targets match, and how they differ; of two patterns what has no counterpart, then each pair."""
    if isinstance(parity, Pairs):
        return _pairs(parity)
    paper = Paper("<!-- reconciler:parity -->\n", f"### {code(parity_summary(parity))}\n")
    _write_parity(paper, parity)
    return paper.text("")


def _pairs(pairs: Pairs) -> str:
    paper = Paper("<!-- reconciler:parity -->\n", f"### {code(pairs_summary(pairs))}\n")
    paper.bullets("Without a counterpart", [f"- {code(unpaired_words(left))}\n" for left in pairs.unpaired])
    for parity in pairs.compared:
        paper.block("\n", [f"#### {code(parity_summary(parity))}\n"])
        _write_parity(paper, parity)
    return paper.text("")


def _write_parity(paper: Paper, parity: Parity) -> None:
    paper.bullets("Differences", [_disparity(disparity) for disparity in disparities(parity)])
    paper.bullets("What to do", [f"- {code(step)}\n" for step in parity_steps(parity)])
    declared = [f"- {code(name)} {views}: {code(reason)}\n" for name, views, reason in declared_disparities(parity)]
    paper.fold("Declared exceptions", declared)


def _disparity(disparity: Disparity) -> str:
    rows = "".join(f"  - {sign} {code(text)}\n" for sign, text in disparity.rows)
    return f"- {code(disparity.name)} {code(disparity.how)}\n{rows}"


def status_markdown(standings: Iterable[TargetStatus]) -> str:
    """The status of every target: what needs attention first, and how many changes are left."""
    standings = list(standings)
    paper = Paper("<!-- reconciler:status -->\n", "### Subscription status\n")
    unknown = [attempt for standing in standings for attempt in standing.attempts if attempt.attempt.unresolved]
    advice = [f"- {code(attempt.attempt.address)}: {code(resolve_advice(attempt))}\n" for attempt in unknown]
    advice += [row for standing in standings for row in questions(unproven(standing))]
    paper.bullets("Unknown outcomes", advice)
    warnings = [row for standing in standings for row in _surplus(standing.plan)]
    warnings += [f"- {code(withdrawn_advice(standing))}\n" for standing in standings if standing.withdrawn]
    warnings += [f"- {code(missing)}\n" for missing in map(secrets_missing, standings) if missing]
    paper.bullets("Warnings", warnings)
    paper.bullets("Targets", [f"- {code(standing.name)}: {code(changes_left(standing))}\n" for standing in standings])
    for standing in (standing for standing in standings if standing.recorded):
        rows = [_standing_row(attempt) for attempt in standing.attempts]
        paper.block(f"\n#### {code(standing.name)}\n\n{_STANDINGS}", rows)
    requests = [_keeping(attempt) for standing in standings for attempt in standing.plan.restored]
    exchanged = [pair for standing in standings for pair in standing.exchanged_of(standing.plan.to_remove)]
    requests += [
        _request(attempt, [known.attempt for known in standing.attempts])
        for standing in standings
        for attempt in without_exchanged(standing.plan.to_remove, exchanged)
    ]
    paper.bullets("Send nothing yet", _listed(exchange_caution(exchanged)))
    paper.fold("Send to the operator", requests)
    return paper.text("")


def _standing_row(standing: ObservedAttempt) -> str:
    attempt = standing.attempt
    evidence = code(", ".join(f"{name} {heard.proof}" for name, heard in standing.evidence.items()))
    return f"| {code(attempt.address)} | {status_word(attempt)} | {code(attempt.url)} | {evidence} |\n"


def removals_markdown(requests: Sequence[RemovalRequest]) -> str:
    """The messages to the operator, each in a block of its own, and what to run after the deletion."""
    from reconciler.reports.removals import removals_summary  # noqa: PLC0415 - no other report needs it

    paper = Paper("<!-- reconciler:removals -->\n", f"### {removals_summary(requests)}\n")
    for request in requests:
        head = f"\n#### {code(request.target)}\n\n"
        for rows, after in _parts_of(request):
            paper.block(head, rows, after)
            head = "\n" if rows else head
    return paper.text("")


def _parts_of(request: RemovalRequest) -> Iterator[tuple[list[str], str]]:
    """What is about one target: what is to be asked first, the message with what precedes it, and what is on hold."""
    from reconciler.reports import removals  # noqa: PLC0415 - no other report needs it

    if request.withdrawn:
        title, message = code(removals.keeping_title(request.target)), removals.keeping_message(request)
        yield [f"{title}\n\n", *_quoted(message)], "\nAfter the answer:\n"
        yield _listed(removals.after_answer(request)), ""
    if request.to_delete:
        yield _listed(removals.cautions(request)), "\n"
        after = f"\nAfter they are deleted, run: {code(removals.removed_command(request))}\n"
        yield _quoted(removals.removal_message(request)), after
    if request.to_restore:
        yield _listed([*removals.on_hold(request), removals.after_hold(request)]), ""


def _listed(lines: Iterable[str]) -> list[str]:
    return [f"- {code(line)}\n" for line in lines]


def _quoted(message: Iterable[str]) -> list[str]:
    return [f"> {code(line) if line else ''}<br>\n" for line in message]
