"""The formats of every report: for each kind of value, one table from the name of a format to its renderer.

The text and JSON of a report cost little to import; any other format is loaded when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from reconciler.reports.documents import (
    applied_document,
    findings_document,
    list_document,
    parity_document,
    plan_document,
    removals_document,
    render,
    status_document,
    validation_document,
)
from reconciler.reports.line import Line
from reconciler.reports.text import (
    applied_text,
    list_text,
    plan_text,
    status_text,
    validation_text,
)

if TYPE_CHECKING:
    from types import ModuleType

    from reconciler.mistake import Validation
    from reconciler.model.overview import Overview
    from reconciler.model.parity import Pairs, Parity
    from reconciler.model.plan import Plan
    from reconciler.model.record import Record
    from reconciler.model.removal import RemovalRequest
    from reconciler.model.result import Applied, Finding
    from reconciler.model.status import TargetStatus

T = TypeVar("T")

Report: TypeAlias = Sequence[Line] | str
"""Lines, which a terminal may colour, or a document, which is printed as it is."""

Renderer: TypeAlias = Callable[[T], Report]
Formats: TypeAlias = Mapping[str, Renderer[T]]


def _json(document: Callable[[T], object]) -> Renderer[T]:
    return lambda value: render(document(value))


def _markdown() -> ModuleType:
    from reconciler.reports import markdown  # noqa: PLC0415 - see above

    return markdown


def _html() -> ModuleType:
    from reconciler.reports import html  # noqa: PLC0415 - see above

    return html


def _removals() -> ModuleType:
    from reconciler.reports import removals  # noqa: PLC0415 - see above

    return removals


def _findings() -> ModuleType:
    from reconciler.reports import findings  # noqa: PLC0415 - see above

    return findings


def _parity() -> ModuleType:
    from reconciler.reports import parity  # noqa: PLC0415 - see above

    return parity


def _github() -> ModuleType:
    from reconciler.reports import github  # noqa: PLC0415 - see above

    return github


def _status_document(overview: Overview) -> Mapping[str, object]:
    return status_document(target.standing for target in overview.targets)


PLAN: Formats[Plan] = {
    "text": plan_text,
    "json": _json(plan_document),
    "markdown": lambda plan: _markdown().plan_markdown(plan),
}
PLAN_PAGE: Formats[Overview] = {
    "html": lambda overview: _html().plan_page(overview, plan_document(overview.plan)),
}
"""The formats of a plan that show what is in force beside it."""

APPLIED: Formats[Applied] = {
    "text": applied_text,
    "json": _json(applied_document),
    "markdown": lambda applied: _markdown().applied_markdown(applied),
}
STATUS: Formats[Sequence[TargetStatus]] = {
    "text": status_text,
    "json": _json(status_document),
    "markdown": lambda standings: _markdown().status_markdown(standings),
}
STATUS_PAGE: Formats[Overview] = {
    "html": lambda overview: _html().status_page(overview, _status_document(overview)),
}
REMOVALS: Formats[Sequence[RemovalRequest]] = {
    "text": lambda requests: _removals().removals_text(requests),
    "json": _json(removals_document),
    "markdown": lambda requests: _markdown().removals_markdown(requests),
}
PARITY: Formats[Parity | Pairs] = {
    "text": lambda parity: _parity().parity_text(parity),
    "json": _json(parity_document),
    "markdown": lambda parity: _markdown().parity_markdown(parity),
}
LIST: Formats[Sequence[Record]] = {"text": list_text, "json": _json(list_document)}
FINDINGS: Formats[Sequence[Finding]] = {
    "text": lambda findings: _findings().findings_text(findings),
    "json": _json(findings_document),
}
VALIDATION: Formats[Validation] = {
    "text": validation_text,
    "json": _json(validation_document),
    "github": lambda validation: _github().validation_github(validation),
}
