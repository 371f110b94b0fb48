"""Builds the document of a plan: its changes, why changes are blocked, and the next command."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeVar, assert_never

from reconciler.errors import Message, step
from reconciler.model.plan import LOCAL, SENDS, Action, Block
from reconciler.record.gates import removal_options
from reconciler.reports import document as doc
from reconciler.reports.differences import differences
from reconciler.reports.document import alerts, todos
from reconciler.reports.words import SIGNS, capital, counted, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from reconciler.errors import Step
    from reconciler.model.desired import Subscription
    from reconciler.model.plan import Change, Duplicate, Plan, Request, Surplus, TargetPlan
    from reconciler.model.record import Attempt
    from reconciler.reports.differences import FieldValues

    Cells = dict[tuple[str, str], dict[str, str]]
    """The texts of table cells, by subscription name and event code, then by target."""


_TONES = {Action.CREATE: doc.Tone.ADDED, Action.REMOVE: doc.Tone.REMOVED, Action.BLOCKED: doc.Tone.PLAIN}
_Item = TypeVar("_Item")
_IN_THE_DIFFERENCE = ("nothing-in-force", "new-codes", "url-changed", "not-desired")
"""The names of reasons that are not shown, because the fields that differ already show them."""


def plan_document(
    plan: Plan, warnings: Iterable[Message] = (), saved: str = "", desired: Iterable[Subscription] = ()
) -> doc.Document:
    """Return the document of a plan.

    `warnings` are added to the document, and `saved` is the file that holds the plan, if any. With `desired`, the
    document includes the table of all event codes.
    """
    changes = sorted(plan.changes, key=lambda change: change.action is not Action.BLOCKED)
    work = [change for change in changes if change.action is not Action.BLOCKED]
    idle_tone = doc.Tone.ADDED if is_in_line(plan) else doc.Tone.WARNING
    return doc.Document(
        "plan",
        verdict(plan),
        doc.Tone.PLAIN if plan.changes else idle_tone,
        facts=(
            ("Targets", listed(sorted(plan.targets), 8) or "none"),
            *([("Selection", listed(plan.selection))] if plan.selection else ()),
            ("Digest", plan.digest),
        ),
        alerts=tuple(blocked_alerts(plan)),
        body=tuple(map(change_block, changes)),
        summary=(*alerts(warnings, "Warning"), *_summary(plan)),
        next=doc.Commands(following) if (following := tuple(_next(plan, saved, applies=bool(work)))) else None,
        details=tuple(_details(plan, desired)),
    )


def is_in_line(plan: Plan) -> bool:
    """True if everything in force is known to be exactly what is desired."""
    foreign = any(target.foreign for target in plan.targets.values())
    return not (plan.changes or plan.gates or foreign or describe_differences(plan) or _unresolved(plan))


def _unresolved(plan: Plan) -> list[str]:
    """Return a list with a phrase about unresolved creates on undeclared targets, or an empty list if none exist."""
    count = sum(attempt.blocks for attempt in plan.undeclared)
    return [counted(count, "unresolved create") + " on targets not in config/"] if count else []


def describe_differences(plan: Plan) -> list[str]:
    """Return phrases that count the differences from `config/` that an apply cannot remove, one for each kind."""
    surplus = across_targets(plan, lambda target: target.surplus)
    duplicates = across_targets(plan, lambda target: target.duplicates)
    awaiting = across_targets(plan, lambda target: target.awaiting_removal)
    twice = {(attempt, route.code) for route in duplicates for attempt in route.attempts}
    codes = sum((item.attempt, code) not in twice for item in surplus for code in item.codes)
    undeclared = [attempt.address.target for attempt in plan.undeclared if attempt.in_force]
    since = [attempt.requested for attempt in awaiting if attempt.requested]
    when = f" since {min(since)}" if since else ""
    words = [
        counted(len(duplicates), "route delivered twice", "routes delivered twice") if duplicates else "",
        counted(codes, "surplus code") if codes else "",
        f"{counted(len(undeclared), 'subscription')} in force on {listed(sorted(set(undeclared)))}, not in config/"
        if undeclared
        else "",
        counted(len(awaiting), "removal") + f" awaited{when}" if awaiting else "",
    ]
    return [word for word in words if word]


def across_targets(plan: Plan, part: Callable[[TargetPlan], Iterable[_Item]]) -> list[_Item]:
    """Return the items that `part` returns for the targets of a plan, as one list."""
    return [item for name in sorted(plan.targets) for item in part(plan.targets[name])]


def awaits_operator(plan: Plan) -> bool:
    """True if the plan contains a requested removal of a subscription or of some of its codes."""
    surplus = across_targets(plan, lambda target: target.surplus)
    return bool(across_targets(plan, lambda target: target.awaiting_removal)) or any(item.requested for item in surplus)


def verdict(plan: Plan) -> str:
    """Return one or two sentences that say what a plan changes and what else differs."""
    if is_in_line(plan):
        matching = counted(plan.unchanged, "subscription matches", "subscriptions match")
        return f"No changes. {matching} the configuration."
    counts = Counter(change.action for change in plan.changes)
    blocked = counts.pop(Action.BLOCKED, 0)
    rest = [*([f"{blocked} blocked"] if blocked else []), *_unresolved(plan), *describe_differences(plan)]
    if not counts:
        closed = ["no create is possible" if plan.gates else "a target belongs to another service or account"]
        return f"Nothing to apply. {capital(listed(rest or closed))}."
    words = ", ".join(f"{counts[action]} to {action}" for action in Action if counts[action])
    calls = sum(counts[action] for action in SENDS)
    sent = f"; {counted(calls, 'create call')}" if set(counts) - {Action.CREATE} else ""
    return " ".join([f"Plan: {words}{sent}.", *([f"{capital(listed(rest))}."] if rest else [])])


def change_block(change: Change) -> doc.Changed:
    """Return the block for a change, with the fields that differ and a note for each consequence."""
    is_blocked = change.action is Action.BLOCKED  # the alerts give its reasons, once for all changes that share them
    reasons = [message for message in change.reasons if not is_blocked and message.name not in _IN_THE_DIFFERENCE]
    notes = [doc.Paragraph(message.what, doc.Tone.FAINT) for message in reasons]
    notes += [doc.Paragraph(message.what, doc.Tone.WARNING) for message in change.warnings]
    steps = [advice for message in (*reasons, *change.warnings) for advice in message.steps]
    tone = _TONES.get(change.action, doc.Tone.CHANGED)
    return doc.Changed(
        SIGNS[change.action], change.address, change.action, tone, _fields(change), tuple(notes), todos(steps)
    )


def _fields(change: Change) -> tuple[doc.Field, ...]:
    desired = [wanted] if (wanted := change.after or change.request) else []
    match change.action:
        case Action.REMOVE:
            going = [attempt for attempt in change.before if attempt.id in change.concerns]
            return differences({**_field_values(going), "webhookUrl": {attempt.url for attempt in going}}, {})
        case Action.RESTORE:
            return ()
        case Action.RETRY:
            return differences({}, _field_values(desired))
        case Action.EXTEND:
            before = _field_values(change.before)
            added = set(change.request.codes) if change.request else set()
            return differences(before, {**before, "eventCodes": {*_codes(change.before), *added}})
        case Action.CREATE | Action.REPLACE | Action.BLOCKED:
            return differences(_field_values(change.before), _field_values(desired))
        case _:
            assert_never(change.action)


def _codes(attempts: Iterable[Attempt]) -> set[str]:
    return {code for attempt in attempts for code in attempt.codes}


def _field_values(parts: Iterable[Attempt | Request]) -> FieldValues:
    parts = tuple(parts)
    urls = ", ".join(sorted({part.template for part in parts}))
    return {"eventCodes": {code for part in parts for code in part.codes}, "webhookUrl": urls} if parts else {}


def blocked_alerts(plan: Plan) -> Iterator[doc.Alert]:
    """Yield alerts that say why changes are blocked. A cause precedes its consequences."""
    yield from alerts(plan.gates, "Blocked")
    yield from alerts(across_targets(plan, lambda target: target.foreign), "Blocked")
    blocked = [change for change in plan.changes if change.action is Action.BLOCKED]
    said = {Block.GATE} if plan.gates else set()
    for change in blocked:
        if change.block is Block.FOREIGN and plan.targets[change.address.target].foreign:
            said.add(Block.FOREIGN)
    reasons = [(change, message) for change in blocked if change.block not in said for message in change.reasons]
    located = [
        Message(message.name, message.what, change.address, message.steps)
        for change, message in reasons
        if message.name not in _IN_THE_DIFFERENCE
    ]
    yield from alerts(sorted(located, key=lambda message: message.name == "waits-for-blocked"), "Blocked")


def surplus_messages(plan: Plan, duplicates: Sequence[Duplicate]) -> Iterator[Message]:
    """Yield messages about the codes that several attempts deliver, then about each attempt's other surplus codes.

    The messages contain the commands that request the removal of these codes, unless it has already been requested.
    """
    every = across_targets(plan, lambda target: target.surplus)
    groups: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for route in duplicates:
        groups.setdefault((route.target, route.url, route.attempts), []).append(route.code)
    for (target, url, attempts), shared in groups.items():
        what = f"{listed(shared)} {'is' if len(shared) == 1 else 'are'} delivered twice to {url}"
        here = (surplus for surplus in every if surplus.attempt in attempts and surplus.address.target == target)
        requests = (_request_step(surplus, [code for code in surplus.codes if code in shared]) for surplus in here)
        steps = tuple(filter(None, requests))
        yield Message("delivered-twice", f"{what}, by attempts {listed(attempts)}", target, steps)
    twice = {(attempt, route.code) for route in duplicates for attempt in route.attempts}
    for surplus in every:
        codes = [code for code in surplus.codes if surplus.requested or (surplus.attempt, code) not in twice]
        if surplus.requested:
            what = f"delivers {', '.join(codes)} until the operator carries out the requested removal"
            yield Message("surplus-requested", what, surplus.address)
        elif request := _request_step(surplus, codes):
            what = f"delivers {counted(len(codes), 'surplus code')}: {', '.join(codes)}"
            yield Message("surplus", what, surplus.address, (request,))


def _request_step(surplus: Surplus, codes: Sequence[str]) -> Step | None:
    """Return the step that requests the removal of some surplus codes, or None if no request is needed."""
    if surplus.requested or not codes:
        return None
    command = ("reconciler", "removal", "request", surplus.address, *removal_options((surplus.attempt,), codes))
    return step("to request the removal of surplus codes, run", *command)


def superseded_alerts(attempts: Iterable[Attempt]) -> tuple[doc.Alert, ...]:
    """Return notes saying that attempts may exist in addition to their retries, and how to find out."""
    what = "may exist too: record a notification with `state observe`, or ask the operator with `removal list`"
    places = (f"{attempt.address} (attempt {attempt.id}, {attempt.url})" for attempt in attempts)
    return alerts((Message("superseded", what, place) for place in places), "Note")


def _summary(plan: Plan) -> Iterator[doc.Block]:
    duplicates = across_targets(plan, lambda target: target.duplicates)
    yield from alerts(surplus_messages(plan, duplicates), "Warning")
    for attempt in across_targets(plan, lambda target: target.awaiting_removal):
        partial = set(attempt.requested_codes) < set(attempt.codes)
        codes = f" of {', '.join(attempt.requested_codes)}" if partial else ""
        since = f" since {attempt.requested}" if attempt.requested else ""
        text = f"{attempt.address}: removal{codes} awaited{since} (attempt {attempt.id})"
        yield doc.Paragraph(text, doc.Tone.WARNING)
    yield from superseded_alerts(plan.superseded) if plan.superseded else ()
    if overridden := _urls(plan, overridden=True):
        yield doc.Paragraph("Service URLs set outside config/:", doc.Tone.WARNING)
        yield doc.Facts(overridden)


def _urls(plan: Plan, *, overridden: bool) -> tuple[tuple[str, str], ...]:
    """Return the service URLs that are set in `config/` or, if `overridden`, outside it, each with its fields."""
    fields: dict[tuple[str, str], list[str]] = {}
    for name in sorted(plan.targets):
        target = plan.targets[name].target
        for field in ("base_url", "auth_url", "audience_base"):
            if (field in target.overridden) is overridden:
                fields.setdefault((name, getattr(target, field)), []).append(field)
    return tuple((f"{name} {', '.join(same)}", url) for (name, url), same in fields.items())


def _next(plan: Plan, saved: str, *, applies: bool) -> Iterator[doc.Todo]:
    if applies and saved:
        yield doc.Todo(f"Saved to {saved}. To apply exactly this plan, run", (("reconciler", "apply", saved),))
    elif applies:
        yield doc.Todo("To carry it out, run", (("reconciler", "apply", *plan.options),))
    elif awaits_operator(plan):
        command = ("reconciler", "removal", "list", *plan.options)
        yield doc.Todo("To see the message to the operator, run", (command,))


def _details(plan: Plan, desired: Iterable[Subscription]) -> Iterator[doc.Details]:
    if any(change.action is not Action.BLOCKED for change in plan.changes):
        command = ("reconciler", "apply", *plan.options, "--expect-digest", plan.digest)
        todo = doc.Todo("This command refuses to apply if anything differs from this plan", (command,))
        yield doc.Details("Apply exactly this plan, by its digest", (doc.Commands((todo,)),))
    if desired and (cells := _cells(plan, desired)):
        yield doc.Details("Event codes by subscription and target", (matrix(cells, sorted(plan.targets)),))
    rows = [*_urls(plan, overridden=False)]
    rows += [("responses encrypted to", recipient) for recipient in plan.recipients]
    rows += [("record", plan.place), ("record id", plan.record), ("head", f"{plan.head}, {plan.entries} entries")]
    yield doc.Details("Service addresses, recipients and record", (doc.Facts(tuple(rows)),))


def _cells(plan: Plan, desired: Iterable[Subscription]) -> Cells:
    """Return the cells of the table of event codes. The codes of unchanged subscriptions are shown as in force."""
    cells: Cells = {}
    planned = [subscription for subscription in desired if subscription.address.target in plan.targets]
    for subscription in planned:
        for code in subscription.codes:
            cells.setdefault((subscription.address.name, code), {})[subscription.address.target] = "in force"
    for change in plan.changes if planned else ():
        word = f"{SIGNS[change.action]} {change.action}"
        for code in _changing(change):
            cells.setdefault((change.address.name, code), {})[change.address.target] = word
    for surplus in across_targets(plan, lambda target: target.surplus) if planned else ():
        for code in surplus.codes:
            cells.setdefault((surplus.address.name, code), {})[surplus.address.target] = "surplus"
    return cells


def _changing(change: Change) -> set[str]:
    """Return the codes that a change affects, except those that stay in force as desired."""
    wanted = change.after or change.request
    concerned = [each for each in change.before if each.id in change.concerns or change.action is Action.BLOCKED]
    others = [each for each in change.before if each.id not in change.concerns]
    kept = [each for each in others if wanted and each.is_at(wanted.template)]
    staying = {code for each in kept for code in each.codes if code not in each.requested_codes}
    sent = wanted.codes if wanted and change.action not in LOCAL else ()
    return _codes(concerned).union(sent) - staying


def matrix(cells: Cells, names: Sequence[str]) -> doc.Table:
    """Return a table of subscriptions and codes, with a column for each target."""
    rows = tuple((*key, *(cells[key].get(name, "") for name in names)) for key in sorted(cells))
    return doc.Table(("subscription", "code", *names), rows)
