"""The page in a browser, as a person uses it, and what checkers of HTML and of accessibility say about it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from support.pages import DESKTOP, PAPER, PHONE, View, examine, write_pages
from support.servers import component

AXE = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
OWN = ("plan", "status", "calm")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the files of all pages by name."""
    return write_pages(tmp_path_factory.mktemp("pages"))


def test_the_first_screen_has_the_verdict_the_targets_the_digest_and_the_first_change(pages: dict[str, Path]) -> None:
    """Nobody has to scroll for them, on a desktop or a phone, and the page is not wider than either."""
    script = """return [
        page.querySelector("header").getBoundingClientRect().bottom,
        page.querySelector(".changes li").getBoundingClientRect().bottom,
        page.documentElement.scrollWidth]"""
    sizes = (DESKTOP, PHONE)
    found = examine(*(View(pages["plan"], script, size) for size in sizes))
    for size, (header, change, width) in zip(sizes, found, strict=True):
        assert max(header, change) <= size[1]
        assert width <= size[0]


def test_a_page_passes_its_own_policy_and_runs_nothing_else(pages: dict[str, Path]) -> None:
    """Its style and script are in force: a button follows all that is to be copied; text from elsewhere is text."""
    script = """const all = [...page.querySelectorAll(".cmd")];
        return [
        all.length > 0 && all.every((box) => box.nextElementSibling.type === "button"),
        page.title.startsWith("<script>"), page.images.length,
        view.getComputedStyle(page.querySelector(".changes")).listStyleType]"""
    assert examine(View(pages["hostile"], script)) == [[True, True, 0, "none"]]


@pytest.mark.parametrize(("media", "size"), [("", PHONE), ("dark", DESKTOP)], ids=["phone", "dark"])
def test_axe_finds_nothing(pages: dict[str, Path], media: str, size: tuple[int, int]) -> None:
    """Everybody can read and use the pages, in both colour schemes."""
    axe = Path(component("html-validate")).parent.parent / "axe-core" / "axe.min.js"
    script = f"""const found = await view.axe.run(page, {json.dumps(AXE)});
        return found.violations.map((violation) => [violation.id, violation.nodes[0].html])"""
    views = [View(pages[name], script, size, media, axe.read_text(encoding="utf-8")) for name in OWN]
    assert examine(*views) == [[]] * len(OWN)


def test_a_table_is_no_wider_than_a_desktop(pages: dict[str, Path]) -> None:
    """Nobody has to scroll sideways to read an id."""
    script = """const boxes = [...page.querySelectorAll(".scroll")];
        return boxes.filter((box) => box.scrollWidth > box.clientWidth).length"""
    assert examine(*(View(pages[name], script) for name in OWN)) == [0] * len(OWN)


def test_both_colour_schemes_have_their_own_colours(pages: dict[str, Path]) -> None:
    """Dark mode has a dark page."""
    script = "return view.getComputedStyle(page.documentElement).backgroundColor"
    found = examine(View(pages["plan"], script), View(pages["plan"], script, media="dark"))
    assert found == ["rgb(255, 255, 255)", "rgb(13, 17, 23)"]


def test_paper_clips_no_command_and_shows_what_is_folded(pages: dict[str, Path]) -> None:
    """Commands wrap, buttons are gone, nothing is beyond the margin, and afterwards all is folded as before."""
    script = """const boxes = [...page.querySelectorAll("details")], opened = boxes.map((box) => box.open);
        const print = (when) => view.dispatchEvent(new Event(when));
        print("beforeprint"); print("afterprint");
        const changed = boxes.filter((box, number) => box.open !== opened[number]).length;
        boxes.forEach((box) => { box.open = true; });
        print("beforeprint"); print("afterprint");
        const closed = boxes.filter((box) => !box.open).length;
        boxes.forEach((box, number) => { box.open = opened[number]; });
        print("beforeprint");
        return [changed, closed,
            [...page.querySelectorAll(".cmd, td")].filter((cell) => cell.scrollWidth > cell.clientWidth + 1).length,
            [...page.querySelectorAll("details > *")].filter((block) => block.offsetHeight === 0).length,
            [...page.querySelectorAll("button")].filter((button) => button.offsetHeight > 0).length,
            page.documentElement.scrollWidth]"""
    for *seen, width in examine(*(View(pages[name], script, PAPER, "print") for name in OWN)):
        assert seen == [0] * 5
        assert width <= PAPER[0]


def test_a_button_copies_the_whole_command(pages: dict[str, Path]) -> None:
    """It selects what it copies, for browsers that refuse the clipboard."""
    script = """const command = page.querySelector(".cmd");
        command.nextElementSibling.click();
        return [command.textContent, String(view.getSelection())]"""
    ((command, selected),) = examine(View(pages["plan"], script))
    assert command.startswith("reconciler ")
    assert selected == command


def test_two_checkers_of_html_find_nothing(pages: dict[str, Path]) -> None:
    """One does not calculate the hashes of a policy, which a browser does, so it is not asked about them."""
    own = [str(pages[name]) for name in OWN]
    assert said(component("vnu"), "--filterpattern", ".*Content Security Policy.*", *own) == (0, "")
    (pages["plan"].parent / ".htmlvalidate.json").write_text(json.dumps({"extends": ["html-validate:recommended"]}))
    assert said(component("html-validate"), *own) == (0, "")


def said(*command: str) -> tuple[int, str]:
    """Return the exit code of a checker, and what it says about the pages."""
    environment = {**os.environ, "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xss8m"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False, env=environment)
    beside = ("npm warn", "NOTE: Picked up JDK_JAVA_OPTIONS")
    lines = [line for line in (done.stdout + done.stderr).splitlines() if not line.startswith(beside)]
    return done.returncode, "\n".join(lines)
