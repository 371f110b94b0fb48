"""What every format says alike: signs, counts and advice."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from reconciler.model.clock import stamp
from reconciler.model.parity import View
from reconciler.model.plan import SENDS, Action, Plan, Surplus
from reconciler.model.record import Attempt, Record, Status
from reconciler.model.result import Applied, Done, Result
from reconciler.planning.reasons import (
    after_flight,
    create_calls,
    evidence_of,
    how_to_resolve,
    how_to_resolve_attempt,
    no_record,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from enum import StrEnum

    from reconciler.mistake import Validation
    from reconciler.model.parity import Difference, Pairs, Parity, Unpaired
    from reconciler.model.status import ObservedAttempt, TargetStatus

SIGNS = {
    Action.CREATE: "+",
    Action.EXTEND: "~",
    Action.REPLACE: "±",
    Action.RESTORE: "↺",
    Action.RETIRE: "-",
    Action.BLOCKED: "!",
}


def surplus_advice(surplus: Surplus) -> str:
    """Which event codes are delivered that are not wanted, and how to request the removal."""
    if surplus.twin:
        return duplicate_advice(surplus)
    return (
        f"{surplus.address} delivers surplus event codes {', '.join(surplus.codes)} (attempt {surplus.attempt});"
        f" to have it removed, run: reconciler state retire {surplus.address} --attempt {surplus.attempt}"
    )


def duplicate_advice(duplicate: Surplus) -> str:
    """That a subscription exists twice, which of the two to keep, and how to request the removal of the other."""
    keep = (
        f"keep {duplicate.twin}, whose secret is stored; to have the other one removed"
        if duplicate.twin_alone_verifiable
        else f"keep the one whose secret the endpoint has; to have {duplicate.attempt} removed"
    )
    return (
        f"{duplicate.address} exists twice: attempts {duplicate.twin} and {duplicate.attempt}, same URL and event"
        f" codes; {keep}, run: reconciler state retire {duplicate.address} --attempt {duplicate.attempt}"
    )


def changes_left(standing: TargetStatus) -> str:
    """How many changes are left to apply to a target, and what the operator is left to delete."""
    if not standing.recorded:
        return no_record(standing.name)
    plan, selected = standing.plan, f" -t {standing.name}" if standing.declared else ""
    left = "up to date" if standing.declared else "not declared in config/: not managed"
    if plan.changes:
        left = f"{counted(len(plan.changes), 'pending change')}; run: reconciler plan{selected}"
    if not plan.to_remove:
        return left
    return f"{left}; {await_removal(len(plan.to_remove))}; run: reconciler removals{selected}"


def withdrawn_advice(standing: TargetStatus) -> str:
    """That removal requests were withdrawn lately, and the command that tells what to ask."""
    is_one = len(standing.withdrawn) == 1
    requests = counted(len(standing.withdrawn), "removal request was", "removal requests were")
    sent, about = ("it was", "it was") if is_one else ("any of them was", "that was")
    selected = f" -t {standing.name}" if standing.declared else ""
    return (
        f"{requests} withdrawn lately; if {sent} sent, ask the operator whether what {about} about still exists; run:"
        f" reconciler removals{selected}"
    )


def secrets_missing(standing: TargetStatus) -> str:
    """Which live subscriptions of a target have no secret recorded though others have; "" if none, or all."""
    live = [known.attempt for known in standing.attempts if known.attempt.status is Status.LIVE]
    without = [attempt.address for attempt in live if not (attempt.response or attempt.secrets)]
    if len(without) in (0, len(live)):
        return ""
    address = without[0] if len(without) == 1 else "ADDRESS"
    return (
        f"no secret is recorded for {', '.join(without)}; ask the operator for it, then run:"
        f" reconciler secret set {address}"
    )


def status_word(attempt: Attempt) -> str:
    """The status of an attempt, in words."""
    return "unknown" if attempt.unresolved else in_words(attempt.status)


def in_words(value: StrEnum) -> str:
    """A status or an outcome, as people read it."""
    return value.value.replace("_", " ")


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """A number of things, such as "1 change" or "2 changes"."""
    return f"{count} {noun if count == 1 else plural or f'{noun}s'}"


def listed(records: Iterable[Record]) -> list[Attempt]:
    """The attempts that `state list` shows: all that exist, or may, by address and age."""
    attempts = [
        attempt for record in records for attempt in record.attempts.values() if attempt.status is not Status.GONE
    ]
    return sorted(attempts, key=lambda attempt: (attempt.address, attempt.since))  # then as recorded


def needs_attention(outcome: Done) -> bool:
    """Whether a person has to look at a result."""
    match outcome:
        case Done.UNKNOWN | Done.REJECTED | Done.NOT_SENT:
            return True
        case Done.CREATED | Done.RESTORED | Done.RETIRED | Done.SKIPPED:
            return False
        case _:
            assert_never(outcome)


def resolve_advice(standing: ObservedAttempt) -> str:
    """How to resolve an attempt with an unknown outcome; notifications received since are evidence that it exists."""
    attempt = standing.attempt
    if attempt.answered and not attempt.recovery_file:
        return evidence_of(attempt) or ""
    if standing.has_evidence and not attempt.recovery_file:
        resolve = f"{after_flight(attempt)}run: reconciler state resolve {attempt.address} --created"
        return f"its notifications arrive, so it exists; {resolve}"
    return how_to_resolve_attempt(attempt)


def result_advice(result: Result) -> str:
    """How to resolve a result with an unknown outcome."""
    return how_to_resolve(result.address, stamp(result.settled_by) if result.settled_by else "")


def plan_summary(plan: Plan) -> str:
    """A plan in a sentence or two; `pending` says what else there is to do."""
    if not plan.changes:
        verb = "matches" if plan.unchanged == 1 else "match"
        return f"No changes. {counted(plan.unchanged, 'subscription')} {verb} the configuration."
    actions = [change.action for change in plan.changes]
    words = [create_calls(actions)] if any(action in SENDS for action in actions) else []
    words += [_WITHOUT_CALL[action](count) for action in _WITHOUT_CALL if (count := actions.count(action))]
    return f"Plan: {', '.join(words)}, {plan.unchanged} unchanged."


_WITHOUT_CALL: dict[Action, Callable[[int], str]] = {
    Action.RESTORE: "{} restored".format,
    Action.RETIRE: lambda count: counted(count, "retirement"),
    Action.BLOCKED: "{} blocked".format,
}


def pending(counts: Plan | Applied) -> list[str]:
    """What a person has to act on though no apply changes it, each with the command that tells how."""
    lines = []
    if counts.awaiting_removal:
        lines.append(f"{await_removal(counts.awaiting_removal)}; run: reconciler removals")
    if counts.surplus:
        deliver = counted(counts.surplus, "subscription delivers", "subscriptions deliver")
        lines.append(f"{deliver} surplus event codes; run: reconciler status")
    return lines


def await_removal(count: int) -> str:
    """How many subscriptions await removal."""
    return f"{counted(count, 'subscription awaits', 'subscriptions await')} removal"


def applied_summary(applied: Applied) -> str:
    """What an apply came to, in a sentence: the calls with their outcomes, then everything else."""
    calls = [result for result in applied.results if result.action in SENDS and result.outcome is not Done.SKIPPED]
    others = [result for result in applied.results if result not in calls]
    words = _outcome_counts(calls)
    if calls:
        words[0] = f"{create_calls(result.action for result in calls)}: {words[0]}"
    words += _outcome_counts(others)
    return f"Applied: {'; '.join(words)}." if words else "Nothing to do."


def _outcome_counts(results: Iterable[Result]) -> list[str]:
    """How many of `results` have each outcome, and of how many the record does not say so."""
    results, words = list(results), []
    for outcome in Done:
        having = [result for result in results if result.outcome is outcome]
        count = len(having)
        lost = sum(not result.recorded for result in having)
        text = counted(count, "retirement") if outcome is Done.RETIRED else f"{count} {in_words(outcome)}"
        of_them = f"{lost} of them " if lost < count else ""
        words += [f"{text}, {of_them}not recorded" if lost else text] if having else []
    return words


def validation_summary(validation: Validation) -> str:
    """Whether the configuration is valid, in a sentence."""
    if validation.count:
        return f"The configuration has {counted(validation.count, 'mistake')}."
    of_targets = counted(validation.targets, "target")
    return f"The configuration is valid: {counted(validation.subscriptions, 'subscription')} on {of_targets}."


def parity_summary(parity: Parity) -> str:
    """Whether two targets match, in a sentence; a subscription that differs in both views counts once."""
    if parity.in_line:
        declared = len({difference.name for difference, _ in parity.ignored})
        exceptions = f" ({counted(declared, 'declared exception')})" if declared else ""
        return f"{parity.a} and {parity.b} match{exceptions}."
    count = len({difference.name for difference in parity.differences})
    return f"{parity.a} and {parity.b} differ in {counted(count, 'subscription')}."


def parity_steps(parity: Parity) -> list[str]:
    """What to do next about two targets, with the command for it, but for what `ignore_block` has an answer to."""
    steps = []
    if parity.unrecorded:
        have, they = ("has", "it") if len(parity.unrecorded) == 1 else ("have", "they")
        steps.append(
            f"only what is desired is compared: {', '.join(parity.unrecorded)} {have} no state record; if {they} never"
            f" had one, run: reconciler state init{''.join(f' -t {target}' for target in parity.unrecorded)}"
        )
    applied = (("not applied on", parity.unapplied, "apply"), ("awaiting removal on", parity.leaving, "removals"))
    for words, addresses, command in applied:
        for target in sorted({address.target for address in addresses}):
            names = _names(address.name for address in addresses if address.target == target)
            steps.append(f"{words} {target}: {names}; run: reconciler {command} -t {target}")
    differences = parity.differences
    if undesired := _names(
        found.name for found in differences if found.what is View.GATE and not _is_pending(parity, found)
    ):
        steps.append(
            f"not desired on {parity.a} as on {parity.b}: {undesired}; define it in config/, then run: reconciler apply"
            f" -t {parity.a}"
        )
    unproven = [found for found in differences if found.what is View.PROVEN]
    if unseen := _names(found.name for found in unproven if None in found.unproven.values()):
        steps.append(
            f"no notification recorded on {parity.a}: {unseen}; when they have been received, run: reconciler state"
            " observe FILE"
        )
    if recent := _names(found.name for found in unproven if None not in found.unproven.values()):
        steps.append(f"observed on {parity.a}, but not for long enough yet: {recent}; repeat this command later")
    return steps


def _names(names: Iterable[str]) -> str:
    return ", ".join(sorted(set(names)))


def _is_pending(parity: Parity, difference: Difference) -> bool:
    """Whether a difference is one of what was applied, and will be none without a change in `config/`."""
    pending = {address.name for address in (*parity.unapplied, *parity.leaving)}
    return difference.what is not View.DESIRED and difference.name in pending


def unpaired_words(left: Unpaired) -> str:
    """A target without a counterpart."""
    return f"{left.target} has no counterpart: {left.counterpart} is not declared"


def pairs_summary(pairs: Pairs) -> str:
    """How many pairs match, in a sentence."""
    matching = sum(parity.in_line for parity in pairs.compared)
    words = [f"{matching} of {counted(len(pairs.compared), 'pair')} match{'es' if len(pairs.compared) == 1 else ''}"]
    words += [counted(len(pairs.unpaired), "target has", "targets have") + " no counterpart"] if pairs.unpaired else []
    return f"{', '.join(words)}."


def ignore_block(parity: Parity) -> list[str]:
    """What to write into config/ if the targets are meant to differ: YAML, after a line that says where to."""
    meant = [found for found in parity.differences if found.what is not View.PROVEN and not _is_pending(parity, found)]
    names = sorted({difference.name for difference in meant})
    if not names:
        return []
    items = []
    for name in names:
        items += [f"    - address: {parity.b}/{name}", "      reason: say here why the two may differ"]
    if parity.declared_at is not None:
        return [f"If they are meant to differ, add this to the list at {parity.declared_at}:", *items]
    return ["If they are meant to differ, put this into a file in config/:", "parity:", "  ignore:", *items]
