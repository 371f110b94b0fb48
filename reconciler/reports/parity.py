"""Builds the document of `parity`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.model.status import View
from reconciler.reports import document as doc
from reconciler.reports.differences import differences
from reconciler.reports.document import alerts
from reconciler.reports.words import counted, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reconciler.model.address import Address
    from reconciler.model.status import Difference, Pairs, Parity, Side
    from reconciler.reports.differences import FieldValues


def parity_document(pairs: Pairs) -> doc.Document:
    """Return the document of a comparison. It shows how the second target of each pair differs from the first."""
    unused = tuple((exception.address, f"declared at {exception.place}") for exception in pairs.unused)
    unpaired = [
        doc.Paragraph(f"{left.target} has no counterpart: {left.counterpart} is not declared.", doc.Tone.WARNING)
        for left in pairs.unpaired
    ]
    waiting = sorted({address for parity in pairs.compared for address in parity.unapplied})
    leaving = sorted({address for parity in pairs.compared for address in parity.leaving})
    steps = [
        doc.Todo(f"To see the {what} of {listed(addresses, 5)}, run", (("reconciler", *words, *_options(addresses)),))
        for what, addresses, words in (
            ("pending changes", waiting, ["plan"]),
            ("awaited removals", leaving, ["removal", "list"]),
        )
        if addresses
    ]
    ignored = (
        f"Not compared, by parity.ignore: {parity.b}/{difference.name} ({exception.reason})"
        for parity in pairs.compared
        for difference, exception in parity.ignored
    )
    return doc.Document(
        "parity",
        _verdict(pairs),
        doc.Tone.ADDED if pairs.in_line else doc.Tone.WARNING,
        alerts=(*unpaired, *alerts(pairs.gates, "Blocked"), *alerts(pairs.foreign, "Warning")),
        body=tuple(block for parity in pairs.compared for block in _blocks(parity, alone=len(pairs.compared) == 1)),
        summary=tuple(map(doc.Paragraph, dict.fromkeys(ignored))),
        next=doc.Commands(tuple(steps)) if steps else None,
        details=(doc.Details("Declared exceptions that are not needed", (doc.Facts(unused),)),) if unused else (),
    )


def _options(addresses: Iterable[Address]) -> Iterator[str]:
    return (word for address in addresses for word in ("-t", address))


def _verdict(pairs: Pairs) -> str:
    if pairs.gates:
        return "Not comparable: the record may not say what is in force."
    if pairs.foreign:
        return "Not comparable: the settings name another service or account than the record."
    if len(pairs.compared) == 1 and not pairs.unpaired:
        (parity,) = pairs.compared
        names = {difference.name for difference in parity.differences}
        differ = f"differ in {counted(len(names), 'subscription')}" if names else "match"
        return f"{parity.a} and {parity.b} {differ}."
    matching = sum(parity.in_line for parity in pairs.compared)
    lacking = (
        [counted(len(pairs.unpaired), "target has no counterpart", "targets have no counterpart")]
        if pairs.unpaired
        else []
    )
    return f"{listed([f'{matching} of {len(pairs.compared)} pairs match', *lacking])}."


def _blocks(parity: Parity, *, alone: bool) -> Iterator[doc.Block]:
    if parity.in_line:
        if not alone:  # otherwise the verdict already says so
            yield doc.Paragraph(f"{parity.a} and {parity.b} match.", doc.Tone.ADDED)
        return
    yield doc.Heading(f"From {parity.a} to {parity.b}")
    views: dict[tuple[str, str, tuple[doc.Field, ...]], list[View]] = {}
    for difference in parity.differences:  # a difference that is both desired and in force is shown once
        key = (difference.name, _side_note(parity, difference), _fields(difference))
        views.setdefault(key, []).append(difference.view)
    for (name, only, fields), seen in views.items():
        yield doc.Changed("~", name, f"{_views_text(parity, seen)}{only}", doc.Tone.CHANGED, fields)


def _side_note(parity: Parity, difference: Difference) -> str:
    if difference.view in (View.GATE, View.PROVEN) or (difference.a and difference.b):
        return ""
    return f" in {parity.a if difference.b is None else parity.b} only"


def _views_text(parity: Parity, views: list[View]) -> str:
    if View.PROVEN in views:
        return f"desired in {parity.b}, not yet proven in {parity.a}"
    if View.GATE in views:
        return f"desired in {parity.b}, not fully in force in {parity.a}"
    return " and ".join(views)


def _fields(difference: Difference) -> tuple[doc.Field, ...]:
    if difference.view is View.PROVEN:
        return tuple(
            doc.Field(code, after=f"first observed {at}" if at else "never observed")
            for code, at in sorted(difference.unproven.items())
        )
    return differences(_field_values(difference.a), _field_values(difference.b))


def _field_values(side: Side | None) -> FieldValues:
    if side is None:
        return {}
    return {"eventCodes": set(side.codes), **({"webhookUrl": side.written} if side.written else {})}
