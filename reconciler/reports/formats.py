"""The formats of every report: for each kind of value, one table from the name of a format to its renderer.

The text and JSON of a report cost little to import; Markdown is loaded when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from reconciler.reports.documents import (
    applied_document,
    list_document,
    parity_document,
    plan_document,
    render,
    status_document,
)
from reconciler.reports.line import Line
from reconciler.reports.text import applied_text, list_text, parity_text, plan_text, status_text

if TYPE_CHECKING:
    from reconciler.model.parity import Parity
    from reconciler.model.plan import Plan
    from reconciler.model.record import Record
    from reconciler.model.result import Applied
    from reconciler.model.status import TargetStatus

T = TypeVar("T")

Report: TypeAlias = Sequence[Line] | str
"""Lines, which a terminal may colour, or a document, which is printed as it is."""

Renderer: TypeAlias = Callable[[T], Report]
Formats: TypeAlias = Mapping[str, Renderer[T]]


def _json(document: Callable[[T], object]) -> Renderer[T]:
    return lambda value: render(document(value))


def _plan_markdown(plan: Plan) -> str:
    from reconciler.reports.markdown import plan_markdown  # noqa: PLC0415 - see above

    return plan_markdown(plan)


def _applied_markdown(applied: Applied) -> str:
    from reconciler.reports.markdown import applied_markdown  # noqa: PLC0415 - see above

    return applied_markdown(applied)


def _status_markdown(standings: Sequence[TargetStatus]) -> str:
    from reconciler.reports.markdown import status_markdown  # noqa: PLC0415 - see above

    return status_markdown(standings)


def _parity_markdown(parity: Parity) -> str:
    from reconciler.reports.markdown import parity_markdown  # noqa: PLC0415 - see above

    return parity_markdown(parity)


PLAN: Formats[Plan] = {"text": plan_text, "json": _json(plan_document), "markdown": _plan_markdown}
APPLIED: Formats[Applied] = {"text": applied_text, "json": _json(applied_document), "markdown": _applied_markdown}
STATUS: Formats[Sequence[TargetStatus]] = {
    "text": status_text,
    "json": _json(status_document),
    "markdown": _status_markdown,
}
PARITY: Formats[Parity] = {"text": parity_text, "json": _json(parity_document), "markdown": _parity_markdown}
LIST: Formats[Sequence[Record]] = {"text": list_text, "json": _json(list_document)}
