"""Renders a document as an HTML page that loads nothing and runs only the script that its policy allows.

The template escapes every value; `visible` escapes invisible characters and characters that reverse the text.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from itertools import groupby
from typing import TYPE_CHECKING

from reconciler.reports.document import Changed
from reconciler.reports.words import command_line, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reconciler.reports.document import Block, Document


def render(document: Document, flags: Sequence[str] = ()) -> str:
    """Return a document as HTML. `flags` are the global flags of the current command."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - few commands need it

    loader = PackageLoader("reconciler.reports", "page")
    environment = Environment(
        loader=loader, autoescape=True, finalize=_shown, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["grouped"] = _grouped
    environment.filters["command"] = lambda command: command_line(command, flags)
    environment.filters["kind"] = lambda block: type(block).__name__
    style, script = (loader.get_source(environment, name)[0] for name in ("page.css", "page.js"))
    return environment.get_template("page.html").render(
        document=document,
        style=style,
        script=script,
        policy=f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}';"
        " base-uri 'none'; form-action 'none'",
    )


def _grouped(blocks: Iterable[Block]) -> list[tuple[bool, list[Block]]]:
    """Return groups of consecutive blocks. True marks a group of changes, False a group of other blocks."""
    return [(kind, list(group)) for kind, group in groupby(blocks, lambda block: isinstance(block, Changed))]


def _shown(value: object) -> object:
    """Return a string with its invisible characters escaped. Markup and other values are returned unchanged."""
    return visible(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _hash(source: str) -> str:
    return f"sha256-{b64encode(sha256(source.encode()).digest()).decode()}"
