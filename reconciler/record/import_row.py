"""The row for `import`: records subscriptions that were created by other means."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from reconciler.errors import Message, Refused, SelectionError, step
from reconciler.model.address import ADDRESS, Address, Selection, is_pattern, suggestion
from reconciler.model.record import Status
from reconciler.model.url import ATTEMPT, filled, has_attempt, normal_url
from reconciler.record.attempt_rows import in_force_with
from reconciler.record.facts import Exists, What
from reconciler.record.gates import resolve_step
from reconciler.record.statements import Draft

if TYPE_CHECKING:
    from reconciler.model.record import Attempt, Record
    from reconciler.record.statements import Import, StatementContext

_ID = re.compile(r"[0-9a-f]{32}")


class _Candidate(Struct, frozen=True):
    """A subscription that the statement selects.

    `template` may contain `{attempt}`, which is replaced with `attempt`; `url` is the URL as sent.
    """

    address: Address
    codes: tuple[str, ...]
    template: str
    url: str
    base_url: str
    attempt: str = ""

    @property
    def is_additional(self) -> bool:
        """True if the statement names an id that is not in the URL, and so adds a subscription with the same URL."""
        return bool(self.attempt) and not has_attempt(self.template)


def import_(statement: Import, context: StatementContext, record: Record) -> Draft:
    """Return facts for the subscriptions to record, and messages about the subscriptions that cannot be imported.

    Raises Refused if none can be imported. If the statement names an id, at most one attempt is recorded: the one with
    that id, unless it is already recorded.
    """
    facts, notices = [], []
    candidates = _candidates(statement, context, record)
    for candidate in candidates:
        codes, message = _codes_to_record(candidate, statement, record)
        if message is not None:
            notices.append(message)
        if codes:
            what = What(
                address=str(candidate.address),
                codes=codes,
                url=candidate.url,
                base_url=candidate.base_url,
                template=candidate.template if has_attempt(candidate.template) else "",
            )
            attempt = candidate.attempt or context.new_id()
            beside = in_force_with(what, record) if candidate.attempt else ()
            facts.append(Exists(at=context.at, attempt=attempt, what=what, beside=beside))
    if notices and not facts:
        raise Refused(*notices)
    if not facts and ADDRESS.fullmatch(statement.where):
        notices += (_already_recorded(each, statement, context, record) for each in candidates if not each.attempt)
    return Draft(tuple(facts), tuple(notices), weakens=len(facts) > 1)


def _candidates(statement: Import, context: StatementContext, record: Record) -> list[_Candidate]:
    """Return the subscriptions that a statement selects. Raises SelectionError and Refused."""
    _refuse_bad_options(statement)
    where, subscriptions = statement.where, context.desired.subscriptions
    if statement.url:
        desired = subscriptions.get(Address(where))
        codes = statement.codes or (desired.codes if desired else ())
        if not codes:
            raise Refused(Message("codes-needed", "not in config/: give its event codes with --code", where))
        base_url, template = _base_url(Address(where), context, record), desired.template if desired else ""
        return [_candidate(statement, base_url, Address(where), codes, template)]
    selection = Selection((where,))
    matching = [subscription for address, subscription in subscriptions.items() if selection.has(address)]
    if not matching:
        what = f"not in config/{suggestion([where], subscriptions)}"
        words = ("reconciler", "state", "import", where, "--url", "URL", "--code", "CODE")
        way = step("if it exists, give its URL and event codes", *words)
        raise SelectionError(Message("not-desired", what, where, (way,)))
    candidates = []
    for each in matching:
        base_url, codes = _base_url(each.address, context, record), statement.codes or each.codes
        candidates.append(_candidate(statement, base_url, each.address, codes, each.template))
    return candidates


def _refuse_bad_options(statement: Import) -> None:
    where = statement.where
    if not is_pattern(where):
        raise SelectionError(Message("bad-address", "expected region/environment/name, or a pattern", where))
    if (statement.attempt or statement.url or statement.codes) and not ADDRESS.fullmatch(where):
        raise Refused(Message("import-one-address", "--attempt, --url and --code require a single address", where))
    if statement.attempt and not _ID.fullmatch(statement.attempt):
        raise Refused(Message("bad-attempt", "expected 32 hexadecimal digits", "--attempt"))
    if has_attempt(statement.url):
        raise Refused(Message("attempt-needed", "expected the URL as it was sent, without {attempt}", "--url"))


def _candidate(statement: Import, base_url: str, address: Address, codes: tuple[str, ...], template: str) -> _Candidate:
    """Return the subscription to record, with its id if known. Raises Refused if the URL has a different id.

    If the URL holds an id in place of `{attempt}`, this id is used, even if `config/` no longer has the URL.
    """
    codes, attempt, id_in_url = tuple(sorted(set(codes))), statement.attempt, _id_in(statement.url, template)
    if statement.url and not id_in_url:
        template = statement.url.replace(attempt, ATTEMPT) if attempt else statement.url
        return _Candidate(address, codes, template, statement.url, base_url, attempt)
    if id_in_url and attempt not in ("", id_in_url):
        raise Refused(Message("bad-attempt", f"the URL contains a different id, {id_in_url}", "--attempt"))
    attempt = id_in_url or attempt
    return _Candidate(address, codes, template, filled(template, attempt) if attempt else template, base_url, attempt)


def _base_url(address: Address, context: StatementContext, record: Record) -> str:
    """Return a target's base URL from the settings or, if `config/` does not declare the target, from the record.

    Raises Refused if the service in the settings differs from the service that the record binds the target to.
    """
    bound = record.base_urls.get(address.target, ())
    if bound and address.target not in context.desired.targets:
        return bound[0]
    base_url = context.desired.target(address.target, address).base_url
    if bound and record.service_of(base_url) not in {record.service_of(url) for url in bound}:
        same = step("if both are the same service, run", "reconciler", "state", "rebind", "-t", address.target)
        what = f"recorded at {', '.join(bound)}, but the settings name {base_url}"
        raise Refused(Message("other-service", what, address.target, (same,)))
    return base_url


def _id_in(url: str, template: str) -> str:
    """Return the id that `url` has in the place of `{attempt}` in `template`, or "" if `url` does not match `template`.

    Normal forms are compared, as for all URLs, because a person may write the same URL differently.
    """
    if not has_attempt(template):
        return ""
    before, after = map(re.escape, normal_url(template).split(ATTEMPT, 1))
    match = re.fullmatch(f"{before}({_ID.pattern}){after}", normal_url(url))
    return match[1] if match else ""


def _codes_to_record(
    candidate: _Candidate, statement: Import, record: Record
) -> tuple[tuple[str, ...], Message | None]:
    """Return the codes that are not yet recorded, and a message if some or all of them cannot be imported.

    The order of the checks matters. If the attempt itself is recorded, nothing else is checked. Attempts with the
    same routes come next, because they determine which codes remain. An id is required only if a code remains.
    """
    known = record.attempts.get(candidate.attempt) or _gone_at(candidate, record)
    if known is not None:
        return (), _recorded_differently(known, candidate)
    holders, is_additional = _holders(candidate, record), candidate.is_additional
    codes = candidate.codes if is_additional else tuple(code for code in candidate.codes if code not in holders)
    for holder in holders.values():
        if holder.unresolved:
            exists = resolve_step(holder, "if it is the subscription to import, run", "--created")
            what = f"attempt {holder.id} with this URL has an unknown outcome"
            return (), Message("outcome-unknown", what, candidate.address, (exists,))
        if holder.address != candidate.address and not is_additional:
            return codes, _recorded_elsewhere(holder, candidate)
    if not codes:
        return (), None
    import_words = ("reconciler", "state", "import", candidate.address)
    if has_attempt(candidate.template) and not candidate.attempt:
        give_id = step("give the id in the URL of the subscription", *import_words, "--attempt", "ID")
        give_url = step("or give that URL", *import_words, "--url", "URL")
        what = "its URL contains {attempt}, but the id is not known"
        return (), Message("attempt-needed", what, candidate.address, (give_id, give_url))
    others = [attempt for attempt in record.at_address(candidate.address) if attempt.in_force]
    if statement.where != candidate.address and others and not holders:
        what = f"recorded with {others[-1].url}, but config/ has {candidate.template}"
        return (), Message("recorded-otherwise", what, candidate.address, (step("if both exist, run", *import_words),))
    return codes, None


def _gone_at(candidate: _Candidate, record: Record) -> Attempt | None:
    """Return the attempt that is recorded as gone and whose own URL is the URL of the candidate.

    Returns None if there is no such attempt, or if the statement names an id.
    """
    if candidate.attempt:
        return None
    url = normal_url(candidate.url)
    gone = (attempt for attempt in record.attempts.values() if attempt.own_url and attempt.status is Status.GONE)
    return next((attempt for attempt in gone if normal_url(attempt.url) == url), None)


def _holders(candidate: _Candidate, record: Record) -> dict[str, Attempt]:
    """Return, for each code, the attempt that delivers it, or may deliver it, from the same service to the same URL.

    If an id is known, the URLs as sent are compared; otherwise, the templates are compared.
    """
    is_exact = bool(candidate.attempt) or not has_attempt(candidate.template)
    url, service = normal_url(candidate.url), record.service_of(candidate.base_url)
    return {
        code: attempt
        for attempt in record.attempts.values()
        if (attempt.in_force or attempt.unresolved) and record.service_of(attempt.base_url) == service
        if normal_url(attempt.url if is_exact else attempt.template) == url
        for code in candidate.codes
        if code in attempt.codes
    }


def _already_recorded(candidate: _Candidate, statement: Import, context: StatementContext, record: Record) -> Message:
    """Return a message saying that nothing is left to record.

    One step imports a second subscription; the others are for attempts that exist although they are recorded as
    removed.
    """
    codes = [word for code in statement.codes for word in ("--code", code)]
    new_id = "ID" if has_attempt(candidate.template) else context.new_id()
    url = ("--url", statement.url) if statement.url else ()
    words = ("reconciler", "state", "import", candidate.address, *url, "--attempt", new_id, *codes)
    removed = (
        attempt
        for attempt in record.at_address(candidate.address)
        if attempt.removed and attempt.status is Status.GONE and attempt.is_at(candidate.template)
    )
    forced = (
        resolve_step(attempt, f"if attempt {attempt.id} was not removed, run", "--created", force=True)
        for attempt in removed
    )
    steps = (*forced, step("if a second one exists, run", *words))
    return Message("recorded-already", "nothing to do: already recorded", candidate.address, steps)


def _recorded_differently(attempt: Attempt, candidate: _Candidate) -> Message | None:
    """Return a message if the candidate's own attempt is recorded as gone or at another address, otherwise None."""
    if not attempt.in_force:
        return _recorded_as_gone(attempt)
    return _recorded_elsewhere(attempt, candidate) if attempt.address != candidate.address else None


def _recorded_elsewhere(attempt: Attempt, candidate: _Candidate) -> Message:
    rename = step("if it was renamed, run", "reconciler", "state", "mv", attempt.address, candidate.address)
    return Message("recorded-elsewhere", f"recorded as {attempt.address}", candidate.address, (rename,))


def _recorded_as_gone(attempt: Attempt) -> Message:
    """Return a message saying that an attempt is recorded as not in force, with the step to record that it exists."""
    exists = resolve_step(attempt, "if it exists, run", "--created", force=not attempt.unresolved)
    known = "removed" if attempt.removed else "not created"
    what = f"attempt {attempt.id} is already recorded{'' if attempt.unresolved else f', as {known}'}"
    return Message("recorded-as-gone", what, attempt.address, (exists,))
