"""HTML: one file that needs nothing else, for a reviewer who would rather look than read.

Values are counted and put into words in `contents.py`, and laid out by the template in `page/`, which escapes all text.
Without its script the page has everything; the script adds filters, sorting and buttons that copy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.reports.html.contents import Contents, plan_title, status_title
from reconciler.reports.html.document import rendered

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reconciler.model.overview import Overview


def plan_page(overview: Overview, document: Mapping[str, object]) -> str:
    """A plan as a page; `document` is what its JSON has."""
    contents = Contents(overview)
    return rendered(plan_title(contents), contents, document, of="plan")


def status_page(overview: Overview, document: Mapping[str, object]) -> str:
    """The status of targets as a page; `document` is what its JSON has."""
    contents = Contents(overview)
    return rendered(status_title(contents), contents, document, of="status")
