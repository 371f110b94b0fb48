"""The witness of heads that the settings name: read before the records are, told after the run what was appended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.errors import ReconcilerError, SettingsError
from reconciler.state.heads.witness import store_tag, text_of, witnessed_heads

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reconciler.operations.notices import Notices
    from reconciler.operations.variables import Variables
    from reconciler.state.heads.remembered import Heads
    from reconciler.state.heads.witness import Witness, WitnessedHead

VARIABLE = "RECONCILER_WITNESS"


def consult(heads: Heads, kind: str, variables: Variables, notices: Notices) -> None:
    """Have `heads` know what the witness of this kind has seen, and tell it at the end of the run what was appended.

    A witness that cannot be used is a warning. Raises SettingsError for a kind that does not exist.
    """
    make = _KINDS.get(kind)
    if make is None:
        raise SettingsError(f"unknown witness {kind!r}", where=VARIABLE, remedy=f"expected one of: {', '.join(_KINDS)}")
    try:
        witness = make(variables)
    except ReconcilerError as problem:
        heads.is_blind = True
        notices.warn(f"the witness is not used: {problem}; without it, {_DANGER}")
        return
    reading = witness.read()
    witnessed = heads.witnessed = witnessed_heads(reading.testimonies)
    notices.say_more(f"witness: {witness.name}, {len(witnessed)} heads")
    heads.is_blind = reading.gap is not None
    if reading.gap is not None:
        notices.warn(f"the witness could not be read completely: {reading.gap}; {_DANGER}")
    notices.at_end(lambda seconds: tell(notices, heads, witnessed, witness, seconds))


_DANGER = "a rolled back record is only detected if this machine has seen a later head"


def tell(notices: Notices, heads: Heads, witnessed: Sequence[WitnessedHead], witness: Witness, seconds: float) -> None:
    """Tell the witness what it has not seen of what was noted, or will not show much longer.

    It is a warning if that fails.
    """
    seen = {(known.record, known.head, known.store) for known in witnessed if not known.fading}
    news = {
        target: text_of(known, place)
        for target, (known, place) in heads.noted.items()
        if (known.record, known.head, store_tag(place)) not in seen
    }
    if not news:
        return
    try:
        witness.add(news, seconds)
    except ReconcilerError as problem:
        notices.warn(
            f"the witness could not record this run: {problem}; a machine without last known heads does not detect"
            " a rollback of what was appended"
        )


def _github(variables: Variables) -> Witness:
    from reconciler.operations.github_settings import access, run_url  # noqa: PLC0415

    found = access(variables)
    from reconciler.github.client import Client  # noqa: PLC0415 - an HTTP client takes longer to load than a plan
    from reconciler.github.statuses import CommitStatuses  # noqa: PLC0415

    return CommitStatuses(Client(found), run_url())


_KINDS: dict[str, Callable[[Variables], Witness]] = {"github": _github}
