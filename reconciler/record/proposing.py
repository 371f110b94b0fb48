"""A proposal: the facts that a statement would append to a record, as a pure function."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.json import encode
from msgspec.structs import replace

from reconciler.errors import Message, Refused
from reconciler.record.descriptions import describe, subjects
from reconciler.record.facts import Rebound, SecretSet
from reconciler.record.obstacles import obstacle_messages
from reconciler.record.statement_rows import draft
from reconciler.record.statements import UNGATED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reconciler.record.facts import AnyFact
    from reconciler.record.statements import Case, Statement

_ID = re.compile(b"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")


class Proposal(Struct, frozen=True):
    """The facts that a statement would append; none if there is nothing left to do, which `shown` says.

    `shown` is a message for each fact and each notice. `weakens`: it weakens a gate, so a person must have agreed.
    `digest` covers the record and the facts without time, person, and ids newly drawn, which are `ids`.
    """

    facts: tuple[AnyFact, ...]
    shown: tuple[Message, ...]
    weakens: bool
    digest: str
    ids: tuple[str, ...] = ()


def propose(statement: Statement, case: Case, ids: Sequence[str] = ()) -> Proposal:
    """Return what a statement would append. Raises Refused and SelectionError, with messages that name the way on.

    `ids` are those of an earlier proposal, which was shown: new ones are drawn only after these.
    """
    if case.record is not None and not isinstance(statement, UNGATED) and not case.standing.first_gate_open:
        raise Refused(*obstacle_messages(case.record, case.standing, case.expected))
    drawn: list[str] = []

    def draw() -> str:
        drawn.append(ids[len(drawn)] if len(drawn) < len(ids) else case.new_id())
        return drawn[-1]

    made = draft(statement, replace(case, new_id=draw))
    facts = tuple(fact if fact.origin else replace(fact, by=case.by) for fact in made.facts)
    shown = [Message("appends", describe(fact), _subject(fact, case)) for fact in facts]
    if not (facts or made.notices):
        shown.append(Message("nothing-to-do", "nothing left to do: the record says so already", case.standing.place))
    record = case.record.id if case.record else ""
    return Proposal(facts, (*shown, *made.notices), made.weakens, digest_of(record, facts, drawn), tuple(drawn))


def digest_of(record: str, facts: Sequence[AnyFact], drawn: Sequence[str]) -> str:
    """Return the digest of facts to be appended to a record; `drawn` are the ids newly drawn for them."""
    bare = [_bare(replace(fact, at="", by={})) for fact in facts]
    numbers = {new.encode(): b"new %d" % number for number, new in enumerate(drawn)}
    text = _ID.sub(lambda found: numbers.get(found[0], found[0]), encode([record, bare]))
    return f"sha256:{sha256(text).hexdigest()}"


def _bare(fact: AnyFact) -> AnyFact:
    """Return a fact without what differs each time (a secret is encrypted anew), or is known only with credentials."""
    match fact:
        case SecretSet():
            return replace(fact, secret="")
        case Rebound():
            return replace(fact, account="")
        case _:
            return fact


def _subject(fact: AnyFact, case: Case) -> str:
    about = subjects(fact, case.record) if case.record else ()
    return about[0] if about else case.standing.place
