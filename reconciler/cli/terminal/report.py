"""`--format`, and printing what a renderer makes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from reconciler.cli.terminal.terminal import Terminal
    from reconciler.reports.formats import Formats, Report

F = TypeVar("F", bound="Callable[..., Any]")


def format_option(formats: Formats[Any]) -> Callable[[F], F]:
    """Add `--format`, as `form`: one of `formats`, text by default."""
    choice = click.Choice(list(formats))
    return click.option("--format", "form", type=choice, default="text", help="Output format.  [text]")


def print_report(terminal: Terminal, report: Report) -> None:
    """Print a report on stdout. Raises ReconcilerError if it cannot be written."""
    match report:
        case str():
            terminal.print_document(report)
        case _:
            terminal.print_lines(report)
