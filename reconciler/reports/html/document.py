"""The page as text: a template whose every expression is escaped, for a browser and for a terminal.

The browser loads nothing and runs nothing but the page's own style and script, which the policy names by their hashes.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from typing import TYPE_CHECKING
from zlib import compress

from reconciler.reports.visible import visible, without_commands

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reconciler.reports.html.contents import Contents

LIMIT = 60_000
"""Characters of a JSON document that are embedded as they are; a longer one is compressed."""


AT_MOST = {"calls": 8, "codes": 6, "first": 3, "tasks": 10, "effects": 20, "others": 6}
"""Items of each list, `first` on the first screen; the tables have what it leaves out, which is counted."""

_BREAKS = re.compile(r"(?<=[^…]/)(?=[^/])")
"""Where a line may end within an address or a URL."""

_SHORT = 16
"""Characters that fit into a line wherever they are."""


def rendered(title: str, contents: Contents, document: Mapping[str, object], **options: object) -> str:
    """A page: its title, what is in it, and the JSON document that it has for programs."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - it loads much that is not pure

    files = PackageLoader("reconciler.reports.html", "page")
    environment = Environment(
        loader=files,
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["pieces"] = _pieces
    style, script = (files.get_source(environment, name)[0] for name in ("page.css", "page.js"))
    return environment.get_template("page.html").render(
        title=title,
        contents=contents,
        overview=contents.overview,
        style=style,
        script=script,
        policy=f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}';"
        " base-uri 'none'; form-action 'none'",
        document=_embedded(document),
        limits=AT_MOST,
        **options,
    )


def _shown(value: object) -> object:
    """Text from elsewhere as text that is visible; what the template itself has made is markup already."""
    return visible(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _pieces(text: str) -> list[str]:
    return _BREAKS.split(text) if len(text) > _SHORT else [text]


def _hash(source: str) -> str:
    return f"sha256-{b64encode(sha256(source.encode()).digest()).decode()}"


def _embedded(document: Mapping[str, object]) -> str:
    """A document as JSON that no element ends within: `{"zlib": …}` with the base64 of it, if it is long."""
    text = json.dumps(document, separators=(",", ":"))
    if len(text) > LIMIT:
        text = json.dumps({"zlib": b64encode(compress(text.encode(), 9)).decode()}, separators=(",", ":"))
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return without_commands(text)
