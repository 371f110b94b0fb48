"""The letters to the operator about one subscription each, and what to run once they are answered.

The operator alone can see and delete subscriptions. Those in lines of text are at the end; every `Line` escapes what is
in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.model.clock import stamp
from reconciler.model.outcome import Outcome
from reconciler.planning.reasons import exchanged
from reconciler.reports.line import Line, Tone

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reconciler.model.address import Address
    from reconciler.model.record import Attempt

UNLESS_NEVER_SENT = "If you never sent the request to delete it, send nothing. Otherwise"
"""What precedes a letter to keep a subscription: somebody who was not asked to delete it has nothing to be told."""
KEEP_FIRST = (
    "If none of that was to be sent, go on with what follows now. Otherwise go on only after the operator has answered:"
)
"""What stands between letters to keep and requests to delete: both at once are easily confused."""
ALL_TO_KEEP = "For one message about all of that, and for what to run after the answer, run: reconciler removals"
"""What follows letters to keep, once their requests are withdrawn in the record."""
_IF_NOT_INTENDED = (
    "If it is not intended, put their URLs in config/ back and apply: that restores the old subscriptions, without"
    " creating them again, and requests the removal of any new ones instead."
)


def removal_request(attempt: Attempt, held: Iterable[Attempt] = ()) -> str:
    """The request to the operator, who alone can delete a subscription, as one line.

    It names the one to keep where of `held`, what its target has, another delivers the same to the same URL.
    """
    if not held:
        return f"Please delete the webhook subscription of {_described(attempt)}."
    from reconciler.planning.removals import staying_beside  # noqa: PLC0415 - most plans request no removal

    keep = "".join(f" {keep_other(other, 'Please')}." for other in staying_beside(attempt, held))
    return f"Please delete the webhook subscription of {_described(attempt)}.{keep}"


def keep_other(other: Attempt, please: str = "please") -> str:
    """The request to keep what differs from the one to delete in its age and ids only."""
    return f"{please} keep the other one with this URL: {_known(other)}"


def _described(attempt: Attempt) -> str:
    """All that is known of it by which the operator can find it."""
    return f"{attempt.address.target} that delivers {', '.join(attempt.codes)} to {attempt.url}, {_known(attempt)}"


def _known(attempt: Attempt) -> str:
    """By what it differs from others with the same codes and URL: when it was created, and its ids."""
    ids = ids_of(attempt)
    return f"{created_or_imported(attempt)}{f' ({ids})' if ids else ''}"


def ids_of(attempt: Attempt) -> str:
    """The ids that the service has given a subscription, as far as they are recorded; "" for none."""
    named = (f"{name} {value}" for name, value in sorted(attempt.fields.items()) if name.lower().endswith("id"))
    return ", ".join(named)


def created_or_imported(attempt: Attempt) -> str:
    """When it was created; for an import, or a create whose answer was lost, only what is known of that."""
    if not attempt.settled_by:
        return f"imported on {attempt.since}, date of creation unknown"
    if attempt.outcome is Outcome.CREATED:
        return f"created {attempt.since}"
    return f"create sent {attempt.since}, answer lost"


def after_deletion(attempt: Attempt) -> str:
    """What to run once the operator has deleted the subscription."""
    return f"after it is deleted, run: reconciler state removed {attempt.address} --attempt {attempt.id}"


def keeping_request(attempt: Attempt) -> str:
    """The request to keep what awaits removal and is wanted again, and whether it is too late for that, as one line."""
    return (
        f"Please do not delete the webhook subscription of {_described(attempt)}: we still need it, and our request"
        f" of {attempt.requested if attempt.withdrawn else attempt.at} to delete it is withdrawn. Does it still exist?"
    )


def after_keeping(attempt: Attempt) -> str:
    """What to run if the operator has deleted a subscription that an apply has restored."""
    return (
        f"if it is already deleted, run: reconciler state removed {attempt.address} --attempt {attempt.id} --force;"
        " the next apply then creates it again"
    )


def only_operator_knows(attempt: Attempt) -> bool:
    """Whether nothing here shows what became of a create of unknown outcome."""
    return attempt.unresolved and not (attempt.recovery_file or attempt.answered or attempt.received)


def created_when(attempt: Attempt) -> str:
    """When an attempt of unknown outcome has created its subscription, if it has."""
    since, until = attempt.since, attempt.settled_by
    return f"{f'between {since} and {stamp(until)}' if until else f'since {since}'} (UTC)"


def existence_question(attempt: Attempt) -> str:
    """The question to the operator whether a create of unknown outcome has created a subscription, as one line."""
    besides = " and ".join(map(the_one, attempt.twins))
    return (
        f"Does a webhook subscription of {attempt.address.target} exist that delivers {', '.join(attempt.codes)} to"
        f" {attempt.url}, created {created_when(attempt)}{f', besides {besides}' if besides else ''}?"
    )


def the_one(attempt: Attempt) -> str:
    """One that is not asked about, though a search for the URL of what is asked about finds it."""
    created, ids = created_or_imported(attempt), ids_of(attempt)
    return f"the one with {ids} ({created})" if ids else f"the one {created}"


def exchange_caution(pairs: Iterable[tuple[Address, ...]], *, message: bool = False) -> list[str]:
    """What is to be certain before the requests to delete are sent where URLs were exchanged; nothing if none were.

    `message`: the message with these requests follows.
    """
    found = [f"warning: {exchanged(*pair)}" for pair in pairs]
    if not found:
        return []
    return [
        *found,
        "Until you are certain, send the operator no request to delete.",
        _IF_NOT_INTENDED,
        f"If it is intended, send {'the message below' if message else 'what `removals` prints'}.",
    ]


def without_exchanged(attempts: Iterable[Attempt], pairs: Iterable[tuple[Address, ...]]) -> list[Attempt]:
    """`attempts` that await removal, without those whose addresses are in `pairs`, which exchanged their URLs."""
    addresses = {address for pair in pairs for address in pair}
    return [attempt for attempt in attempts if attempt.address not in addresses]


def unknown_cautions(attempt: Attempt, held: Sequence[Attempt]) -> list[str]:
    """What to do before the request to delete `attempt` is sent where a create of unknown outcome has its URL too."""
    if not any(other.unresolved for other in held):
        return []
    from reconciler.planning.removals import unknown_beside  # noqa: PLC0415 - most plans request no removal

    return [
        f"{other.address} (attempt {other.id}), a create of unknown outcome, has the same URL as attempt {attempt.id}:"
        " resolve it before you send the request to delete that, or the operator may delete the wrong one"
        for other in unknown_beside(attempt, held)
    ]


def removal_text(
    attempts: Iterable[Attempt], held: Sequence[Attempt] = (), pairs: Sequence[tuple[Address, ...]] = ()
) -> list[Line]:
    """The requests to the operator, and what to run after each was met; `held` as for `removal_request`.

    In place of those of addresses in `pairs`, which exchanged their URLs, it says what is to be certain first.
    """
    lines = [Line(f"  {text}", Tone.WARNING) for text in exchange_caution(pairs)]
    for attempt in without_exchanged(attempts, pairs):
        lines += [Line(f"  warning: {caution}", Tone.WARNING) for caution in unknown_cautions(attempt, held)]
        lines += [
            Line(f"  Send to the operator, for {attempt.address} (attempt {attempt.id}):", Tone.HEADING),
            Line(f"    {removal_request(attempt, held)}"),
            Line(f"    {after_deletion(attempt)}", Tone.FAINT),
        ]
    return lines


def keeping_lines(attempt: Attempt, indent: str) -> list[Line]:
    """The request to keep what awaits removal and is wanted again."""
    return [
        Line(
            f"{indent}{UNLESS_NEVER_SENT} send to the operator, for {attempt.address} (attempt {attempt.id}):",
            Tone.HEADING,
        ),
        Line(f"{indent}  {keeping_request(attempt)}"),
    ]


def question_lines(attempt: Attempt, indent: str, *, named: bool = False) -> list[Line]:
    """The question to the operator about a create of unknown outcome, if nobody else knows; `named`: with its name."""
    if not only_operator_knows(attempt):
        return []
    about = f", about {attempt.address} (attempt {attempt.id})" if named else ""
    return [
        Line(f"{indent}Ask the operator{about}:", Tone.HEADING),
        Line(f"{indent}  {existence_question(attempt)}"),
    ]


def kept_lines(attempts: Iterable[Attempt]) -> list[Line]:
    """The requests to keep what was restored, what to run where they come too late, and what shows them again."""
    lines = []
    for attempt in attempts:
        lines += [*keeping_lines(attempt, "  "), Line(f"    {after_keeping(attempt)}", Tone.FAINT)]
    return [*lines, Line(f"  {ALL_TO_KEEP}", Tone.FAINT)] if lines else []
