"""The log of changes to a record as text: who did what, and when."""

from collections.abc import Iterable, Mapping, Sequence
from typing import assert_never

from reconciler.model.address import Address, TargetName
from reconciler.model.entry import (
    REPLACED_BY,
    AnyEntry,
    Begun,
    Bound,
    Closed,
    Imported,
    Intent,
    Joined,
    Moved,
    Observed,
    Opened,
    Removed,
    Resealed,
    Resolved,
    Restored,
    Retired,
    RollbackAccepted,
    SecretSet,
    Settled,
    who,
)
from reconciler.model.selection import Selection
from reconciler.reports.line import Line, Row, Tone
from reconciler.reports.wording import counted

_HEAD = ("AT", "BY", "ADDRESS", "CHANGE")


def history_text(target: TargetName, entries: Iterable[AnyEntry], only: Selection | Address | None) -> list[Line]:
    """A line for each entry, or for each about the addresses `only`, under whichever names they had before."""
    entries, addresses = list(entries), dict[str, Address]()
    told = [(entry, _addresses(entry, addresses)) for entry in entries]
    replacements = _replacements(entries)
    if only is not None:
        has = only.has if isinstance(only, Selection) else only.__eq__
        told = _about(told, {address for _, about in told for address in about if has(address)})
    lines: list[Line] = [Line(target, Tone.HEADING)]
    for entry, about in told:
        names = f"  {about[0]}" if about else ""
        what = _replaced(entry, replacements) or _what(entry)
        cells = (entry.at, who(entry.by), about[0] if about else "", what)
        lines.append(Row(f"  {entry.at}  {cells[1]}{names}  {cells[3]}", Tone.PLAIN, _HEAD, cells))
    return lines


_Told = list[tuple[AnyEntry, list[Address]]]


def _about(told: _Told, names: set[Address]) -> _Told:
    """Those about `names`, and before a rename about the name it was renamed from: read from the end."""
    found: _Told = []
    for entry, about in reversed(told):
        if not names.isdisjoint(about):
            found.append((entry, about))
            if isinstance(entry, Moved) and entry.address in names:
                names.add(entry.source)
    return found[::-1]


def _replacements(entries: Sequence[AnyEntry]) -> dict[str, Intent]:
    """The create that has replaced each attempt: its outcome is recorded just before it requests the removal."""
    intents: dict[str, Intent] = {}
    replacements = {}
    last: Intent | None = None
    for entry in entries:
        if isinstance(entry, Intent):
            intents[entry.attempt] = entry
        elif isinstance(entry, Settled):
            last = intents.get(entry.attempt)
        elif isinstance(entry, Retired) and last is not None and entry.reason == f"{REPLACED_BY}{last.address}":
            replacements[entry.attempt] = last
    return replacements


def _replaced(entry: AnyEntry, replacements: Mapping[str, Intent]) -> str:
    """What is said of an entry that requests the removal of what was replaced; empty for any other.

    Its reason names the address, which both have.
    """
    if not isinstance(entry, Retired) or entry.attempt not in replacements:
        return ""
    if entry.reason is None or not entry.reason.startswith(REPLACED_BY):
        return ""
    new = replacements[entry.attempt]
    return f"removal requested: replaced by attempt {new.attempt} at {new.url} (attempt {entry.attempt})"


def _addresses(entry: AnyEntry, addresses: dict[str, Address]) -> list[Address]:
    """The addresses an entry is about; `addresses` holds that of each attempt so far, and is kept up to date."""
    match entry:
        case Begun() | Bound() | RollbackAccepted() | Joined() | Closed() | Opened():
            return []
        case Intent() | Imported():
            addresses[entry.attempt] = entry.address
            return [entry.address]
        case Observed():
            return [entry.address]
        case Moved():
            for attempt, address in addresses.items():
                if address == entry.source:
                    addresses[attempt] = entry.address
            return [entry.source, entry.address]
        case Settled() | Resolved() | Retired() | Restored() | Removed() | SecretSet() | Resealed():
            return [addresses[entry.attempt]] if entry.attempt in addresses else []
        case _:
            assert_never(entry)


def _what(entry: AnyEntry) -> str:  # noqa: C901, PLR0911, PLR0912 - one case for each kind of entry
    match entry:
        case Begun():
            return f"record {entry.record} initialized for the service at {entry.base_url}{_forced(entry)}"
        case Bound():
            account = " and an account" if entry.account else ""
            return f"bound to the service at {entry.base_url}{account}{_forced(entry)}"
        case Intent():
            return f"{entry.action} started: {', '.join(entry.codes)} to {entry.url} (attempt {entry.attempt})"
        case Settled():
            status = "" if entry.status is None else f" ({entry.status})"
            return f"{entry.outcome}{status}{_note(entry.detail)} (attempt {entry.attempt})"
        case Resolved():
            word = "created" if entry.created else "not created"
            return f"resolved manually as {word}{_forced(entry)}{_note(entry.note)} (attempt {entry.attempt})"
        case Imported():
            return f"imported: {', '.join(entry.codes)} to {entry.url} (attempt {entry.attempt})"
        case Retired():
            return f"removal requested{_note(entry.reason)} (attempt {entry.attempt})"
        case Restored():
            return f"removal cancelled (attempt {entry.attempt})"
        case Removed():
            return f"removed{_forced(entry)} (attempt {entry.attempt})"
        case Moved():
            return f"renamed to {entry.address}"
        case SecretSet():
            return f"secret set (attempt {entry.attempt})"
        case Resealed():
            keys = counted(len(entry.recipients), "recipient")
            return f"response or secret encrypted again, to {keys} (attempt {entry.attempt})"
        case RollbackAccepted():
            head = f"(head {entry.lost_head})"
            return f"accepted the loss of entries up to number {entry.lost_entries} {head}{_forced(entry)}"
        case Joined():
            count = counted(len(entry.lines), "entry", "entries")
            return f"merged {count} (above, up to head {entry.head}) from {entry.source}"
        case Observed():
            return f"notifications received at {entry.url}: {', '.join(sorted(entry.received))}"
        case Closed():
            return f"{'copied to' if entry.complete else 'closed, to be copied to'} {entry.to}{_forced(entry)}"
        case Opened():
            return f"opened at {entry.place}{_forced(entry)}"
        case _:
            assert_never(entry)


def _forced(entry: Begun | Bound | Resolved | Removed | RollbackAccepted | Closed | Opened) -> str:
    return ", forced" if entry.forced else ""


def _note(text: str | None) -> str:
    return "" if text is None else f": {text}"
