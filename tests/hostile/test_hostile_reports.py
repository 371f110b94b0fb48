"""Every format of every report, of values in which all text is hostile: it is shown, and acts as nothing but text."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html import escape, unescape
from typing import TYPE_CHECKING, Any

import pytest
from support.injections import EVERYTHING, INJECTIONS, assert_harmless
from support.report_values import FORMS, TABLES, laced, printed, values

from reconciler.reports.visible import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reconciler.model.status import TargetStatus
    from reconciler.reports.formats import Renderer

PLAIN = ("text", "json", "github")
"""The formats without markup."""


OWN = re.compile(r"<(style|script)>.*?</\1>", re.DOTALL)
DOCUMENT = re.compile(r'<script type="application/json" id="(?:plan|status)">([^<>&]*)</script>')


def without_own_elements(page: str) -> str:
    """A page without its style and script, which the policy names by their hashes, and the element of its document."""
    policy = page.partition('http-equiv="Content-Security-Policy" content="')[2].partition('"')[0]
    for element in OWN.finditer(page):
        source = element[0].partition(">")[2].rpartition("</")[0]
        assert b64encode(sha256(source.encode()).digest()).decode() in policy
    return DOCUMENT.sub(r"\1", OWN.sub("", page))


def assert_only_text(form: str, render: Renderer[Any], value: object) -> None:
    """Whatever is in a value, its report shows it, and neither a terminal, a runner nor a browser acts on it."""
    for injected in (*INJECTIONS.values(), EVERYTHING):
        report = printed(render(laced(value, injected)))
        if form == "github":  # whose lines are commands of the program's own
            report = re.sub(r"^::(error|warning) ", "", report, flags=re.MULTILINE)
        if form == "html":  # whose style and script are the program's own, and whose document is as harmless as JSON
            report = without_own_elements(report)
        assert_harmless(report)
        if form not in PLAIN:
            assert not [markup for markup in ("<script", "<img") if markup in report.lower()]
    assert "evil.example" in unescape(report)


@pytest.mark.parametrize(("table", "form"), FORMS)
def test_every_format_of_every_report(table: str, form: str) -> None:
    """A format that does not escape what is in a value, for a terminal or for its own markup, fails here."""
    assert_only_text(form, TABLES[table][form], values()[table])


def page(enough: Callable[[str], str]) -> Renderer[Sequence[TargetStatus]]:
    """A format of a status that does as much as `enough` to the URLs that it shows."""

    def render(standings: Sequence[TargetStatus]) -> str:
        urls = [attempt.attempt.url for standing in standings for attempt in standing.attempts]
        return "".join(f"<p>{enough(url)}</p>\n" for url in urls)

    return render


@pytest.mark.parametrize("enough", [visible, escape])
def test_a_format_that_forgets_to_escape_is_found(enough: Callable[[str], str]) -> None:
    """One that makes text harmless only to a terminal, or only as its own markup."""
    with pytest.raises(AssertionError):
        assert_only_text("page", page(enough), values()["STATUS"])


def test_a_format_that_escapes_passes() -> None:
    """Text that is made visible, and then no markup, is only text."""
    assert_only_text("page", page(lambda text: escape(visible(text))), values()["STATUS"])
