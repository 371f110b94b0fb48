"""Computes the state of a record from its facts; the order in which histories were merged does not matter.

Facts are grouped by attempt, and each attempt's state follows from its group. `created` takes precedence over `not
created`, and a notification at an attempt's own URL proves that the attempt exists. A confirmed removal ends the codes
that it names, unless a notification of one of them later arrives at the attempt's own URL, or a person disproves the
removal.
"""

from __future__ import annotations

from datetime import timedelta
from operator import itemgetter
from typing import TYPE_CHECKING, Any, assert_never

from msgspec import Struct, field
from msgspec.structs import replace

from reconciler.model.address import Address
from reconciler.model.outcome import Outcome
from reconciler.model.record import Attempt, Loss, Record, Said, Status
from reconciler.model.url import has_attempt, normal_url, service_key
from reconciler.record.facts import (
    Absent,
    Answered,
    Begun,
    Closed,
    Completed,
    Exists,
    Intended,
    Joined,
    LossOpened,
    OfAttempt,
    Rebound,
    Received,
    RemovalCancelled,
    RemovalConfirmed,
    RemovalRequested,
    Renamed,
    SecretSet,
)
from reconciler.record.gates import bindings
from reconciler.values import later

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from reconciler.record.chain import Line
    from reconciler.record.facts import Fact, FactOfRecord, Scalar, What

LATE_DELIVERY = timedelta(seconds=45)
"""How long a removed subscription may still deliver: three retries, 15 s apart (service description, section 8)."""

_STRENGTH = {Outcome.UNKNOWN: 0, Outcome.NOT_SENT: 1, Outcome.REJECTED: 2, Outcome.CREATED: 3}
_UNANSWERED: tuple[None, None, None, None, Mapping[str, Scalar]] = (None, None, None, None, {})


class _Group(Struct, gc=False):
    """The facts about one attempt, grouped by kind, with the first fact and the time of the last fact.

    Removal requests and confirmations are keyed by their ids.
    """

    first: Fact
    at: str
    answers: tuple[Answered, ...] = ()
    exists: tuple[Exists, ...] = ()
    absent: tuple[Absent, ...] = ()
    requests: dict[str, RemovalRequested] = field(default_factory=dict)
    cancels: tuple[RemovalCancelled, ...] = ()
    confirmed: dict[str, RemovalConfirmed] = field(default_factory=dict)
    secrets: tuple[tuple[str, str], ...] = ()

    def take(self, lines: Sequence[Line]) -> None:
        for line in lines:
            match line.fact:
                case Answered() as fact:
                    self.answers += (fact,)
                case Exists() as fact:
                    self.exists += (fact,)
                case Absent() as fact:
                    self.absent += (fact,)
                case RemovalRequested() as fact:
                    self.requests[line.id] = fact
                case RemovalCancelled() as fact:
                    self.cancels += (fact,)
                case RemovalConfirmed() as fact:
                    self.confirmed[line.id] = fact
                case SecretSet() as fact:
                    self.secrets += ((fact.at, fact.secret),)
        if len(lines) > 1:
            self.first = min((line.fact for line in lines), key=_earliest)
            self.at = max(line.fact.at for line in lines)
            self.answers = tuple(sorted(self.answers, key=_rank))


class _Parts(Struct):
    """The facts of a record, in order and grouped by kind. Lines with facts about one attempt are grouped by attempt.

    `whats` maps attempts to their create calls. The call in an intent takes precedence over calls in other facts.
    """

    record: str = ""
    groups: dict[str, list[Line]] = field(default_factory=dict)
    whats: dict[str, What] = field(default_factory=dict)
    losses: dict[str, LossOpened] = field(default_factory=dict)
    completions: list[Completed] = field(default_factory=list)
    rebounds: list[Rebound] = field(default_factory=list)
    renames: dict[str, Renamed] = field(default_factory=dict)
    spans: dict[tuple[str, str, str], list[tuple[str, str]]] = field(default_factory=dict)
    last_received: dict[str, dict[str, str]] = field(default_factory=dict)
    contained: set[str] = field(default_factory=set)
    missed: set[str] = field(default_factory=set)
    closed: Closed | None = None

    def add(self, fact: FactOfRecord, fact_id: str) -> None:
        """Add a fact that is not about a single attempt."""
        match fact:
            case Begun():
                self.record = self.record or fact.record
            case LossOpened():
                self.losses.setdefault(fact.loss, fact)
                self.missed.update(fact.heads)
                self.closed = self.closed if fact.origin else None
            case Completed():
                self.completions.append(fact)
            case Closed():
                self.closed = self.closed if fact.origin else fact
            case Joined():
                self.contained.update(fact.heads)
            case Rebound():
                self.rebounds.append(fact)
            case Renamed():
                self.renames[fact_id] = fact
            case Received():
                self._hear(fact)
            case _:
                assert_never(fact)

    def _hear(self, fact: Received) -> None:
        url = normal_url(fact.url)
        self.spans.setdefault((service_key(fact.base_url), url, fact.code), []).append((fact.first, fact.last))
        last = self.last_received.setdefault(url, {})
        last[fact.code] = max(fact.last, last.get(fact.code, ""))


def fold(lines: Sequence[Line]) -> Record:
    """Return the record that these lines describe. The first line begins the record, as `chain.parse` has checked."""
    parts = _Parts()
    groups, whats, contained = parts.groups, parts.whats, parts.contained
    for line in lines:
        fact = line.fact
        contained.add(line.hash)
        if fact.origin:
            contained.add(fact.origin)
        if not isinstance(fact, OfAttempt):
            parts.add(fact, line.id)
            continue
        if (group := groups.get(fact.attempt)) is None:
            groups[fact.attempt] = [line]
        else:
            group.append(line)
        if isinstance(fact, Intended) or (fact.attempt not in whats and isinstance(fact, (Answered, Exists))):
            whats[fact.attempt] = fact.what
    base_urls, accounts, services = bindings(whats.values(), parts.rebounds)
    return Record(
        id=parts.record,
        head=lines[-1].hash,
        entries=len(lines),
        attempts=_attempts(groups, whats, _renames(parts.renames) if parts.renames else {}, parts.last_received),
        losses=_losses(parts.losses, parts.completions),
        closed_to=parts.closed.to if parts.closed else "",
        base_urls=base_urls,
        accounts=accounts,
        services=services,
        contained=contained,
        received={key: tuple(sorted(set(spans))) for key, spans in parts.spans.items()},
        missed=frozenset(parts.missed),
        closed_for=parts.closed.loss if parts.closed else "",
    )


def _renames(facts: Mapping[str, Renamed]) -> dict[str, list[tuple[bool, str, str]]]:
    """Return the renames of each attempt as sorted tuples (replaced, address, fact id).

    `replaced` is true if a later rename replaced the rename. After a merge of two histories, several renames of an
    attempt may be in effect.
    """
    replaced = {replaced for fact in facts.values() for replaced in fact.replaces}
    found: dict[str, list[tuple[bool, str, str]]] = {}
    for fact_id, fact in facts.items():
        for attempt in fact.attempts:
            found.setdefault(attempt, []).append((fact_id in replaced, fact.to, fact_id))
    return {attempt: sorted(renames) for attempt, renames in found.items()}


def _attempts(
    groups: dict[str, list[Line]],
    whats: Mapping[str, What],
    renamed: Mapping[str, list[tuple[bool, str, str]]],
    last_received: Mapping[str, Mapping[str, str]],
) -> dict[str, Attempt]:
    """Return the attempts by id, oldest first. Empties `groups` to save memory."""
    successors: dict[str, list[str]] = {}
    retries: list[str] = []
    attempts: dict[str, Attempt] = {}
    for attempt, what in whats.items():
        for superseded in what.supersedes:
            successors.setdefault(superseded, []).append(attempt)
        count = 0
        if what.supersedes:
            retries.append(attempt)
            count = len(_generations(what, whats))
        attempts[attempt] = _decide(attempt, groups.pop(attempt), what, renamed.get(attempt, ()), last_received, count)
    for attempt in successors.keys() & attempts.keys():
        standing = tuple(sorted(retry for retry in successors[attempt] if _stands(retry, successors, attempts)))
        attempts[attempt] = replace(attempts[attempt], superseded_by=standing)
    for attempt in retries:
        if attempts[attempt].unresolved:
            needless = {*attempts[attempt].superseded_by, *_delivering(attempts[attempt], whats, attempts)}
            attempts[attempt] = replace(attempts[attempt], superseded_by=tuple(sorted(needless)))
    return dict(sorted(sorted(attempts.items(), key=itemgetter(0)), key=lambda item: item[1].since))


def _stands(attempt: str, successors: Mapping[str, Sequence[str]], attempts: Mapping[str, Attempt]) -> bool:
    """True if an attempt, or a direct or indirect retry of it, exists or may exist."""
    waiting, seen = [attempt], set[str]()
    while waiting:
        found = waiting.pop()
        if found in attempts and attempts[found].status is not Status.GONE:
            return True
        if found not in seen:
            seen.add(found)
            waiting += successors.get(found, ())
    return False


def _generations(what: What, whats: Mapping[str, What]) -> list[tuple[str, ...]]:
    """Return the attempts that a retry superseded, then the attempts that these superseded, and so on up to a cycle."""
    generations: list[tuple[str, ...]] = []
    earlier, seen = what.supersedes, set[str]()
    while earlier and not seen.issuperset(earlier):
        generations.append(earlier)
        seen.update(earlier)
        earlier = tuple(before for attempt in earlier if attempt in whats for before in whats[attempt].supersedes)
    return generations


def _delivering(retry: Attempt, whats: Mapping[str, What], attempts: Mapping[str, Attempt]) -> list[str]:
    """Return the ids of the attempts in force that led to a retry, if together they deliver all routes of the retry.

    Otherwise, return an empty list.
    """
    earlier = [attempt for generation in _generations(whats[retry.id], whats) for attempt in generation]
    delivering = [attempt for attempt in earlier if attempt in attempts and attempts[attempt].in_force]
    delivered = {route for attempt in delivering for route in attempts[attempt].routes}
    return delivering if retry.routes <= delivered else []


def _decide(
    attempt: str,
    lines: Sequence[Line],
    what: What,
    renames: Sequence[tuple[bool, str, str]],
    last_received: Mapping[str, Mapping[str, str]],
    retries: int,
) -> Attempt:
    group = _Group(lines[0].fact, lines[0].fact.at)
    group.take(lines)
    template = what.template or what.url
    heard = last_received.get(normal_url(what.url), {}) if has_attempt(template) else {}
    answer = group.answers[-1] if group.answers else None
    asked, codes, more = _removal(group, what, heard)
    current = [(to, fact_id) for is_replaced, to, fact_id in renames if not is_replaced]
    if heard:
        more["received"] = max(heard.values())
    if group.exists:
        more["exists"] = _said(group.exists)
        more["beside"] = tuple(sorted({other for fact in group.exists for other in fact.beside}))
    if group.absent:
        more["absent"] = _said(group.absent)
    if what.supersedes:
        more |= {"supersedes": what.supersedes, "retries": retries}
    if renames:
        more["other_addresses"] = tuple(Address(to) for to, _ in current[1:])
        more["former_addresses"] = (what.address, *(to for is_replaced, to, _ in renames if is_replaced))
        more["renames"] = tuple(fact_id for _, fact_id in current)
    if answer is not None:
        more["responses"] = tuple(dict.fromkeys(fact.response for fact in group.answers if fact.response))
    if group.secrets:
        more["secrets"] = tuple(dict.fromkeys(secret for _, secret in sorted(group.secrets)))
    return Attempt(  # positional arguments: with keywords, this call takes six times as long in a long record
        attempt,
        Address(current[0][0] if current else what.address),
        codes,
        what.url,
        template,
        what.base_url,
        _status(group, answer, codes, asked, is_proven=bool(heard)),
        group.first.at,
        group.at,
        group.first.by,
        what.account,
        what.action,
        what.send_by,
        what.settled_by,
        *((answer.outcome, answer.status, answer.date, answer.detail, answer.fields) if answer else _UNANSWERED),
        **more,
    )


def _removal(group: _Group, what: What, heard: Mapping[str, str]) -> tuple[set[str], tuple[str, ...], dict[str, Any]]:
    """Return the codes whose removal was requested, the delivered codes, and the attempt's fields about removals.

    A confirmation ends the codes that it names and the earlier requests for them. It is disproved by a later
    notification of one of these codes, or of a code that the attempt does not have.
    """
    if not (group.requests or group.confirmed or group.cancels):
        return set(), what.codes, {}
    confirmed = group.confirmed.values()
    ended = {code: fact.at for fact in sorted(confirmed, key=lambda fact: fact.at) for code in fact.codes}
    contradicted = {id_ for id_, fact in group.confirmed.items() if _is_disproved(fact, what, heard)}
    disproved = contradicted.union(*(fact.disproves for fact in group.exists))
    taken_back = {request for fact in group.cancels for request in fact.requests}
    requests = {id_: fact for id_, fact in group.requests.items() if id_ not in taken_back}
    asked = {id_: {code for code in fact.codes if fact.at > ended.get(code, "")} for id_, fact in requests.items()}
    open_requests = [requests[id_] for id_, codes in asked.items() if codes]
    said = max(confirmed, key=_earliest, default=None)
    gone = {code for id_, fact in group.confirmed.items() if id_ not in disproved for code in fact.codes}
    requested = set().union(*asked.values())
    codes = tuple(code for code in what.codes if code not in gone)
    cancelled = sorted(
        (code, fact.at)
        for fact in group.cancels
        for request in group.requests.keys() & fact.requests
        for code in group.requests[request].codes
        if code in codes and code not in requested and fact.at > ended.get(code, "")
    )
    return (
        requested,
        codes,
        {
            "removed": Said(said.at, said.by) if said else None,
            "removed_codes": tuple(sorted(gone)),
            "confirmations": tuple(sorted(group.confirmed)),
            "revived": any(not gone.issuperset(group.confirmed[id_].codes) for id_ in contradicted),
            "requests": tuple(sorted(id_ for id_, left in asked.items() if left)),
            "requested_codes": tuple(code for code in codes if code in requested),
            "requested": max((fact.at for fact in open_requests), default=""),
            "by_plan": bool(open_requests) and all(fact.by_plan for fact in open_requests),
            "cancelled": dict(cancelled),
        },
    )


def _is_disproved(fact: RemovalConfirmed, what: What, heard: Mapping[str, str]) -> bool:
    expected = set(what.codes).difference(fact.codes)
    return any(at > repeated_until(fact.at) for code, at in heard.items() if code not in expected)


def _status(
    group: _Group, answer: Answered | None, codes: Sequence[str], asked: set[str], *, is_proven: bool
) -> Status:
    exists = is_proven or bool(group.exists) or (answer is not None and answer.outcome is Outcome.CREATED)
    if not exists and (group.absent or (answer is not None and answer.outcome is not Outcome.UNKNOWN)):
        return Status.GONE
    if group.confirmed and not codes:
        return Status.GONE
    if not exists:
        return Status.UNKNOWN if answer is not None else Status.PENDING
    return Status.AWAITING_REMOVAL if asked and asked.issuperset(codes) else Status.LIVE


def _rank(fact: Answered) -> tuple[int, str, str, str, int, str]:
    """Return the key that sorts the answers of one attempt: CREATED ranks highest, and UNKNOWN lowest."""
    text = fact.response or "", fact.detail or ""
    return _STRENGTH[fact.outcome], fact.at, *text, fact.status or 0, fact.date or ""


def _earliest(fact: Fact) -> tuple[str, list[tuple[str, str]]]:
    """Return the sort key of a fact: its time, then its author, so that the order of the lines does not matter."""
    return fact.at, sorted(fact.by.items())


def repeated_until(at: str) -> str:
    """Return the time after which a delivery can no longer be a retry of a delivery made before `at`."""
    return later(at, LATE_DELIVERY)


def _said(facts: Sequence[Exists | Absent]) -> Said:
    last = max(facts, key=lambda fact: (*_earliest(fact), fact.note)) if len(facts) > 1 else facts[0]
    return Said(last.at, last.by, last.note)


def _losses(opened: Mapping[str, LossOpened], completions: Iterable[Completed]) -> dict[str, Loss]:
    ordered = sorted(completions, key=_earliest)
    ended = {loss: Said(fact.at, fact.by) for fact in ordered for loss in fact.losses}
    return {
        loss: Loss(loss, fact.cause, fact.at, fact.by, fact.heads, fact.of, ended.get(loss))
        for loss, fact in sorted(opened.items(), key=lambda item: (item[1].at, item[0]))
    }
