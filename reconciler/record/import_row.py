"""The row for `import`: records subscriptions that were created by other means."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from reconciler.errors import Message, Refused, SelectionError, step
from reconciler.model.address import ADDRESS, Address, Selection, is_pattern, suggestion
from reconciler.model.record import Status
from reconciler.model.url import ATTEMPT, filled, has_attempt, normal_url
from reconciler.record.attempt_rows import in_force_with, resolve_step
from reconciler.record.facts import Exists, What
from reconciler.record.statements import Draft

if TYPE_CHECKING:
    from reconciler.model.record import Attempt, Record
    from reconciler.record.statements import Import, StatementContext

_ID = re.compile(r"[0-9a-f]{32}")


class _Wanted(Struct, frozen=True):
    """A subscription to record.

    `template` may contain `{attempt}`, which `attempt` fills in; `url` is the URL as sent.
    """

    address: Address
    codes: tuple[str, ...]
    template: str
    url: str
    base_url: str
    attempt: str = ""


def import_(statement: Import, context: StatementContext, record: Record) -> Draft:
    """Return facts for the subscriptions not yet recorded, and messages about those that cannot be imported.

    Raises Refused if none can be imported. An import with an id is about that attempt only, which must be new.
    """
    facts, notices = [], []
    selected = _wanted(statement, context, record)
    for wanted in selected:
        codes, message = _unrecorded(wanted, statement, record)
        if message is not None:
            notices.append(message)
        if codes:
            attempt = wanted.attempt or context.new_id()
            template = wanted.template if has_attempt(wanted.template) else ""
            what = What(
                address=str(wanted.address), codes=codes, url=wanted.url, base_url=wanted.base_url, template=template
            )
            beside = in_force_with(what, record) if wanted.attempt else ()
            facts.append(Exists(at=context.at, attempt=attempt, what=what, beside=beside))
    if notices and not facts:
        raise Refused(*notices)
    if not facts and ADDRESS.fullmatch(statement.where):
        notices += (_if_another_exists(row, statement, context, record) for row in selected if not row.attempt)
    return Draft(tuple(facts), tuple(notices), weakens=len(facts) > 1)


def _wanted(statement: Import, context: StatementContext, record: Record) -> list[_Wanted]:
    """Return the subscriptions that a statement selects. Raises SelectionError and Refused."""
    where, subscriptions = statement.where, context.desired.subscriptions
    if not is_pattern(where):
        raise SelectionError(Message("bad-address", "expected region/environment/name, or a pattern", where))
    if statement.attempt or statement.url or statement.codes:
        if not ADDRESS.fullmatch(where):
            raise Refused(Message("import-one-address", "--attempt, --url and --code require a single address", where))
        if statement.attempt and not _ID.fullmatch(statement.attempt):
            raise Refused(Message("bad-attempt", "expected 32 hexadecimal digits", "--attempt"))
    if statement.url:
        if has_attempt(statement.url):
            raise Refused(Message("attempt-needed", "expected the URL as it was sent, without {attempt}", "--url"))
        desired = subscriptions.get(Address(where))
        codes = statement.codes or (desired.codes if desired else ())
        if not codes:
            raise Refused(Message("codes-needed", "not in config/: give its event codes with --code", where))
        pairs = [(Address(where), codes, desired.template if desired else "")]
    else:
        selection = Selection((where,))
        matching = [wish for address, wish in subscriptions.items() if selection.has(address)]
        if not matching:
            what = f"not in config/{suggestion([where], subscriptions)}"
            words = ("reconciler", "state", "import", where, "--url", "URL", "--code", "CODE")
            raise SelectionError(
                Message("not-desired", what, where, (step("if it exists, give its URL and event codes", *words),))
            )
        pairs = [(wish.address, statement.codes or wish.codes, wish.template) for wish in matching]
    return [_located(statement, context, record, *pair) for pair in pairs]


def _located(
    statement: Import,
    context: StatementContext,
    record: Record,
    address: Address,
    codes: tuple[str, ...],
    template: str,
) -> _Wanted:
    """Return the subscription to record, with its service and id. Raises Refused if the service is a different one.

    If the URL holds an id in place of `{attempt}`, that id is used, even if `config/` no longer has the URL.
    """
    bound = record.base_urls.get(address.target, ())
    is_only_bound = bound and address.target not in context.desired.targets
    base_url = bound[0] if is_only_bound else context.desired.target(address.target, address).base_url
    if bound and record.service_of(base_url) not in {record.service_of(url) for url in bound}:
        same = step("if both are the same service, run", "reconciler", "state", "rebind", "-t", address.target)
        what = f"recorded at {', '.join(bound)}, but the settings name {base_url}"
        raise Refused(Message("other-service", what, address.target, (same,)))
    codes, attempt = tuple(sorted(set(codes))), statement.attempt
    if statement.url:
        parts = normal_url(template).split(ATTEMPT, 1)
        fit = re.fullmatch("([0-9a-f]{32})".join(map(re.escape, parts)), normal_url(statement.url))
        if fit is None or not has_attempt(template):
            template = statement.url.replace(attempt, ATTEMPT) if attempt else statement.url
            return _Wanted(address, codes, template, statement.url, base_url, attempt)
        if attempt not in ("", fit[1]):
            raise Refused(Message("bad-attempt", f"the URL contains a different id, {fit[1]}", "--attempt"))
        attempt = fit[1]
    return _Wanted(address, codes, template, filled(template, attempt) if attempt else template, base_url, attempt)


def _unrecorded(wanted: _Wanted, statement: Import, record: Record) -> tuple[tuple[str, ...], Message | None]:
    """Return the codes that are not yet recorded, and a message if some or all of them cannot be imported."""
    known = record.attempts.get(wanted.attempt) or _gone_from(wanted, record)
    if known is not None and not known.in_force:
        return (), _recorded_as_gone(known)
    if known is not None:
        return (), None if known.address == wanted.address else _recorded_elsewhere(known, wanted)
    holders = _holders(wanted, record)
    is_another = bool(wanted.attempt) and not has_attempt(wanted.template)
    codes = wanted.codes if is_another else tuple(code for code in wanted.codes if code not in holders)
    import_words = ("reconciler", "state", "import", wanted.address)
    for holder in holders.values():
        if holder.unresolved:
            exists = resolve_step(holder, "if it is this one, run", "--created")
            what = f"attempt {holder.id} with this URL has an unknown outcome"
            return (), Message("outcome-unknown", what, wanted.address, (exists,))
        if holder.address != wanted.address and not is_another:
            return codes, _recorded_elsewhere(holder, wanted)
    if codes and has_attempt(wanted.template) and not wanted.attempt:
        steps = (
            step("give the id in the URL that was created", *import_words, "--attempt", "ID"),
            step("or give that URL", *import_words, "--url", "URL"),
        )
        return (), Message(
            "attempt-needed", "its URL contains {attempt}, and the id is not known", wanted.address, steps
        )
    others = [attempt for attempt in record.at_address(wanted.address) if attempt.in_force]
    if codes and statement.where != wanted.address and others and not holders:
        what = f"recorded with {others[-1].url}, but config/ has {wanted.template}"
        return (), Message("recorded-otherwise", what, wanted.address, (step("if both exist, run", *import_words),))
    return codes, None


def _gone_from(wanted: _Wanted, record: Record) -> Attempt | None:
    """Return the attempt that is recorded as gone and alone has this URL, if the statement names no id."""
    url = "" if wanted.attempt else normal_url(wanted.url)
    gone = (attempt for attempt in record.attempts.values() if attempt.own_url and attempt.status is Status.GONE)
    return next((attempt for attempt in gone if normal_url(attempt.url) == url), None)


def _holders(wanted: _Wanted, record: Record) -> dict[str, Attempt]:
    """Return, for each code, an attempt at the same service and URL.

    If an id is known, the URL as sent is compared, otherwise the template.
    """
    is_exact = bool(wanted.attempt) or not has_attempt(wanted.template)
    url, service = normal_url(wanted.url), record.service_of(wanted.base_url)
    return {
        code: attempt
        for attempt in record.attempts.values()
        if (attempt.in_force or attempt.unresolved) and record.service_of(attempt.base_url) == service
        if normal_url(attempt.url if is_exact else attempt.template) == url
        for code in wanted.codes
        if code in attempt.codes
    }


def _if_another_exists(wanted: _Wanted, statement: Import, context: StatementContext, record: Record) -> Message:
    """Return the message about how to record another subscription, or an attempt recorded as removed."""
    codes = [word for code in statement.codes for word in ("--code", code)]
    new_id = "ID" if has_attempt(wanted.template) else context.new_id()
    url = ("--url", statement.url) if statement.url else ()
    words = ("reconciler", "state", "import", wanted.address, *url, "--attempt", new_id, *codes)
    removed = (
        attempt
        for attempt in record.at_address(wanted.address)
        if attempt.removed and attempt.status is Status.GONE and attempt.is_at(wanted.template)
    )
    forced = (
        resolve_step(attempt, f"if attempt {attempt.id} was not removed, run", "--created") for attempt in removed
    )
    steps = (*(step(way.text, *way.command, "--force") for way in forced), step("if a second one exists, run", *words))
    return Message("recorded-already", "nothing to do: already recorded", wanted.address, steps)


def _recorded_elsewhere(attempt: Attempt, wanted: _Wanted) -> Message:
    rename = step("if it was renamed, run", "reconciler", "state", "mv", attempt.address, wanted.address)
    return Message("recorded-elsewhere", f"recorded as {attempt.address}", wanted.address, (rename,))


def _recorded_as_gone(attempt: Attempt) -> Message:
    """Return the message about how to record that an attempt exists although the record says it is not in force."""
    exists = resolve_step(attempt, "if it exists, run", "--created")
    if not attempt.unresolved:
        exists = step(exists.text, *exists.command, "--force")
    known = "removed" if attempt.removed else "not created"
    what = f"attempt {attempt.id} is already recorded{'' if attempt.unresolved else f', as {known}'}"
    return Message("recorded-as-gone", what, attempt.address, (exists,))
