"""The page in a browser, as a person uses it; and what checkers of HTML and of accessibility say of it."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from support.browser import DESKTOP, PHONE, Browser, browser
from support.components import component
from support.injections import EVERYTHING
from support.report_values import laced, overview_of, values
from support.value_scene import EUROPE, Scene, hooks, target

from reconciler.model.address import TargetName
from reconciler.reports.formats import PLAN_PAGE, STATUS_PAGE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PRODUCTION = TargetName("europe/production")
PAPER = {"width": 794, "height": 1123}
AXE = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
BROKEN = """
Array.from(document.querySelectorAll(".answers span, .answers b"), (name) => {
  const lines = new Range();
  return [...name.childNodes].filter((part) => part.nodeType === Node.TEXT_NODE).filter((part) => {
    lines.selectNode(part);
    return lines.getClientRects().length > 1 && !part.textContent.includes(" ");
  }).map((part) => part.textContent);
}).flat()
"""
"""The words of the first screen's addresses that go over the end of a line."""
ROWS = "Array.from(document.querySelectorAll('.matrix tbody tr:not([hidden]) th'), (cell) => cell.textContent)"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser for all tests of this file."""
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A page of a plan with everything, of its status, of a plan without changes, and one of hostile text."""
    scene = Scene({name: target(name, base_url=f"https://{name.environment}.example") for name in (EUROPE, PRODUCTION)})
    for name in ("applications", "offers", "leads"):
        scene.want(f"{EUROPE}/{name}", "ONB10011", hooks(name))
        scene.hold(f"{EUROPE}/{name}", "ONB10011", hooks(name))
    calm = overview_of(scene, unusable={})
    scene.want(f"{PRODUCTION}/offers", "ONB10011", hooks("offers"))
    scene.want(f"{EUROPE}/offers", "ONB10011", hooks("moved"))
    scene.lose(f"{PRODUCTION}/lost", "ONB10001", hooks("lost"))
    overview = overview_of(scene)
    texts = {
        "plan": PLAN_PAGE["html"](overview),
        "status": STATUS_PAGE["html"](overview),
        "calm": PLAN_PAGE["html"](calm),
        "all": PLAN_PAGE["html"](values()["PLAN_PAGE"]),
        "hostile": PLAN_PAGE["html"](laced(values()["PLAN_PAGE"], EVERYTHING)),
    }
    folder = tmp_path_factory.mktemp("pages")
    found = {name: folder / f"{name}.html" for name in texts}
    for name, path in found.items():
        path.write_text(str(texts[name]), encoding="utf-8")
    return found


@pytest.mark.parametrize("name", ["plan", "status", "calm", "all", "hostile"])
def test_a_page_asks_for_nothing(chromium: Browser, pages: dict[str, Path], name: str) -> None:
    """Its style and script pass its own policy; it loads nothing, and whatever text is in it runs nothing."""
    chromium.complaints.clear()
    page = chromium.open(pages[name])
    assert [] == chromium.complaints
    assert "none" == page.evaluate("getComputedStyle(document.querySelector('.answers > li')).listStyleType")
    assert page.query_selector(".filters")


@pytest.mark.parametrize(
    "name", ["all", "status", *(pytest.param(name, marks=pytest.mark.soak) for name in ("plan", "calm"))]
)
@pytest.mark.parametrize(("scheme", "viewport"), [("light", PHONE), ("dark", DESKTOP)], ids=["phone", "dark"])
def test_accessibility(
    chromium: Browser, pages: dict[str, Path], name: str, scheme: str, viewport: dict[str, int]
) -> None:
    """Axe finds nothing, on a desktop and on a phone; both colour schemes have their own colours."""
    axe = component("html-validate").parent.parent / "axe-core" / "axe.min.js"
    page = chromium.open(pages[name], viewport=viewport, color_scheme=scheme, bypass_csp=True)
    page.evaluate(axe.read_text(encoding="utf-8"))
    found = page.evaluate(f"axe.run(document, {json.dumps(AXE)})")["violations"]
    assert [] == [(violation["id"], violation["nodes"][0]["html"]) for violation in found]
    assert viewport["width"] >= page.evaluate("document.documentElement.scrollWidth")
    paper = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert {"light": "rgb(255, 255, 255)", "dark": "rgb(13, 17, 23)"}[scheme] == paper


def test_markup(pages: dict[str, Path]) -> None:
    """Two checkers of HTML find nothing.

    The one does not calculate the hashes of a policy, which the browser does; the other takes slashes out of names,
    which an address has.
    """
    own = [path for name, path in pages.items() if name != "hostile"]
    vnu: list[Path | str] = [component("vnu"), "--filterpattern", ".*Content Security Policy.*", *own]
    assert (0, "") == _said(vnu)
    (own[0].parent / ".htmlvalidate.json").write_text(
        json.dumps({"extends": ["html-validate:recommended"], "rules": {"valid-id": ["error", {"relaxed": True}]}})
    )
    assert (0, "") == _said([component("html-validate"), *own])


def _said(command: list[Path | str]) -> tuple[int, str]:
    environment = {**os.environ, "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xss8m"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False, env=environment)
    beside = ("npm warn", "NOTE: Picked up JDK_JAVA_OPTIONS")
    lines = [line for line in (done.stdout + done.stderr).splitlines() if not line.startswith(beside)]
    return done.returncode, "\n".join(lines)


@pytest.mark.parametrize("name", ["plan", "status", "calm"])
def test_the_first_screen(chromium: Browser, pages: dict[str, Path], name: str) -> None:
    """What is sent, what arrives twice and who must act is seen without scrolling; no address is broken in a word."""
    page = chromium.open(pages[name])
    assert DESKTOP["height"] >= page.evaluate("document.querySelector('.answers').getBoundingClientRect().bottom")
    assert [] == page.evaluate(BROKEN)


def test_without_script(chromium: Browser, pages: dict[str, Path]) -> None:
    """All is there, what is folded away opens with the keyboard, and an anchor leads to an address."""
    page = chromium.open(pages["plan"], java_script_enabled=False)
    assert page.query_selector(".filters, button") is None
    row = page.locator("details .matrix tbody tr").first
    assert not row.is_visible()
    page.locator("summary").focus()
    page.keyboard.press("Enter")
    assert row.is_visible()
    page.goto(f"{pages['plan'].as_uri()}#europe/production/offers")
    assert "+ create" in page.locator("td:target").inner_text()


@pytest.mark.parametrize("scripts", [True, False])
def test_print(chromium: Browser, pages: dict[str, Path], scripts: bool) -> None:
    """What is folded away is on paper, within its margins, and what is of no use there is not."""
    page = chromium.open(pages["plan"], java_script_enabled=scripts, viewport=PAPER)
    page.emulate_media(media="print")
    assert PAPER["width"] >= page.evaluate("document.documentElement.scrollWidth")
    assert page.locator("details .matrix tbody tr").first.is_visible()
    assert not page.locator(".filters").is_visible()


def test_filters(chromium: Browser, pages: dict[str, Path]) -> None:
    """Any of the kinds chosen, and any of the words; what is folded away opens if it has some of it."""
    page = chromium.open(pages["plan"])
    assert ["lost", "offers", "applications", "leads"] == page.evaluate(ROWS)
    page.locator("label", has_text="? outcome unknown").locator("input").check()
    assert ["lost"] == page.evaluate(ROWS)
    page.locator("label", has_text="+ create").locator("input").check()
    assert ["lost", "offers"] == page.evaluate(ROWS)
    assert "2 of 4 rows" == page.locator("[role=status]").inner_text()
    for kind in ("? outcome unknown", "+ create"):
        page.locator("label", has_text=kind).locator("input").uncheck()
    page.locator("input[type=search]").fill("leads ONB10001")
    assert ["lost", "leads"] == page.evaluate(ROWS)
    assert page.locator("details .matrix tbody tr:not([hidden])").is_visible()
    page.locator("input[type=search]").fill("hooks.partner.example/moved")
    assert ["offers"] == page.evaluate(ROWS)
    page.locator("input[type=search]").fill("")
    page.locator("label", has_text="europe/production").locator("input").check()
    assert ["lost", "offers"] == page.evaluate(ROWS)


def test_sort(chromium: Browser, pages: dict[str, Path]) -> None:
    """By any column, both ways, and a screen reader is told."""
    page = chromium.open(pages["calm"])
    assert ["applications", "leads", "offers"] == page.evaluate(ROWS)
    heading = page.locator(".matrix thead button").first
    for order, names in (
        ("ascending", ["applications", "leads", "offers"]),
        ("descending", ["offers", "leads", "applications"]),
    ):
        heading.click()
        assert names == page.evaluate(ROWS)
        assert order == page.locator(".matrix thead th").first.get_attribute("aria-sort")


def test_copy(chromium: Browser, pages: dict[str, Path]) -> None:
    """A button takes the whole command; a click into it does too, without script."""
    page = chromium.open(pages["plan"])
    command = page.locator(".cmd").first.inner_text()
    page.locator(".cmd + button").first.click()
    assert command == page.evaluate("getSelection().toString()")
    plain = chromium.open(pages["plan"], java_script_enabled=False)
    assert "all" == plain.evaluate("getComputedStyle(document.querySelector('.cmd')).userSelect")
