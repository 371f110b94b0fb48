"""Write the pictures of a plan that the README shows, on a terminal and as a comment, light and dark, from real output.

A project is made in a temporary directory, and what `plan` prints there is drawn: in colour, and as Markdown. Nothing
is called: the subscriptions before the change are imported.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html import escape, unescape
from pathlib import Path
from tempfile import TemporaryDirectory

FOLDER = Path(__file__).parents[1] / ".github"
TARGETS = """\
targets:
  europe/production: {auth_url: https://login.lending.test, base_url: https://api.lending.test}
"""
BEFORE = """\
subscriptions:
  europe/production:
    agreements: {eventCodes: [LOA10013], webhookUrl: https://hooks.partner.test/agreements}
    applications: {eventCodes: [ONB10001, ONB10002], webhookUrl: https://old.partner.test/leads}
"""
AFTER = """\
subscriptions:
  europe/production:
    agreements: {eventCodes: [LOA10013, LOA10014], webhookUrl: https://hooks.partner.test/agreements}
    applications: {eventCodes: [ONB10001, ONB10002], webhookUrl: https://hooks.partner.test/leads}
    offers: {eventCodes: [ONB10011], webhookUrl: https://hooks.partner.test/offers}
"""
THEMES = {
    "light": {"back": "#ffffff", "edge": "#d0d7de", "0": "#1f2328", "31": "#cf222e", "32": "#116329", "33": "#7d4e00",
              "34": "#0550ae", "35": "#8250df", "36": "#0a5f66", "90": "#59636e"},
    "dark": {"back": "#0d1117", "edge": "#3d444d", "0": "#e6edf3", "31": "#ff7b72", "32": "#56d364", "33": "#e3b341",
             "34": "#79c0ff", "35": "#d2a8ff", "36": "#56d4dd", "90": "#9198a1"},
}  # fmt: skip
"""Colours by the number of the escape sequence; each reads well on its background."""
ESCAPE = re.compile(r"\x1b\[([\d;]*)m")
CHARACTER, LINE, MARGIN = 8.43, 20, 18
CODE = re.compile(r"<code>(.*?)</code>")


def plan() -> tuple[list[str], str]:
    """Return the lines that a plan prints, with escape sequences, and the command before them; and its Markdown."""
    with TemporaryDirectory() as folder:
        directory = Path(folder)
        environment = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": folder,
            "COLUMNS": "80",
            "LC_ALL": "C.UTF-8",
        }

        def run(*words: str) -> str:
            command = ("reconciler", *words)
            done = subprocess.run(  # noqa: S603 - no shell
                command, cwd=folder, env=environment, capture_output=True, text=True, check=True
            )
            return done.stdout

        (directory / "config").mkdir()
        file = directory / "config" / "all.yaml"
        file.write_text(TARGETS + BEFORE, encoding="utf-8")
        run("state", "init", "--complete", "--yes")
        run("state", "import", "*/*/*", "--yes")
        file.write_text(TARGETS + AFTER, encoding="utf-8")
        lines = ["\x1b[90m$\x1b[0m reconciler plan", *run("--color", "always", "plan").splitlines()]
        return lines, run("plan", "--format", "markdown")


def comment(text: str) -> list[str]:
    """Return the lines of Markdown as a comment shows them, with escape sequences: details closed, columns aligned."""
    text = re.sub(r"(?s)<details><summary>(.*?)</summary>.*?</details>", r"▸ \1", text.partition("\n")[2])
    text = re.sub("sha256(&#58;|:)[0-9a-f]{64}", r"sha256\1…", text)  # of the record, whose id is random
    lines = [re.sub("^### (.*)", "\x1b[1m\\1\x1b[0m", line) for line in text.splitlines() if line[:3] != "```"]
    cells = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line[:1] == "|" and line[:4] != "|---"
    ]
    widths = [max(len(shown(row[column])) for row in cells) for column in range(len(cells[0]))]
    rows = iter(
        [[cell + " " * (width - len(shown(cell))) for cell, width in zip(row, widths, strict=True)] for row in cells]
    )
    drawn = ["   \x1b[0m".join(next(rows)) if line[:1] == "|" else line for line in lines if line[:4] != "|---"]
    return [
        "\x1b[90mgithub-actions commented\x1b[0m",
        "",
        *(unescape(CODE.sub("\x1b[34m\\1\x1b[0m", line)) for line in drawn),
    ]


def shown(text: str) -> str:
    """Return the characters of a line of Markdown that are seen."""
    return unescape(CODE.sub(r"\1", text))


def drawing(lines: list[str], colours: dict[str, str]) -> str:
    """Return the lines as an SVG."""
    width = round(max(len(ESCAPE.sub("", line)) for line in lines) * CHARACTER + 2 * MARGIN)
    height = len(lines) * LINE + 2 * MARGIN - 4
    rows = []
    for number, line in enumerate(lines):
        spans = "".join(_spans(line, colours))
        rows.append(f'<text x="{MARGIN}" y="{MARGIN + 12 + number * LINE}">{spans}</text>')
    font = "font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'Liberation Mono',monospace;font-size:14px"
    frame = f'<rect x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="8"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">\n'
        f'{frame} fill="{colours["back"]}" stroke="{colours["edge"]}"/>\n'
        f'<g style="{font};white-space:pre" xml:space="preserve">\n' + "\n".join(rows) + "\n</g>\n</svg>\n"
    )


def _spans(line: str, colours: dict[str, str]) -> list[str]:
    """Return a line as spans, each with its colour and weight, at its own column: fonts differ in width."""
    spans, column, colour, weight = [], 0, "0", ""
    parts = ESCAPE.split(line)
    for number, part in enumerate(parts):
        if number % 2:
            for code in part.split(";"):
                if code in ("", "0"):
                    colour, weight = "0", ""
                elif code == "1":
                    weight = ' font-weight="bold"'
                elif code in colours:
                    colour = code
        elif part:
            left = len(part) - len(part.lstrip())
            place = f'x="{MARGIN + (column + left) * CHARACTER:.1f}" textLength="{len(part.strip()) * CHARACTER:.1f}"'
            spans.append(f'<tspan {place} fill="{colours[colour]}"{weight}>{escape(part.strip())}</tspan>')
            column += len(part)
    return spans


def main() -> None:
    """Write the pictures."""
    lines, markdown = plan()
    for theme, colours in THEMES.items():
        (FOLDER / f"plan-{theme}.svg").write_text(drawing(lines, colours), encoding="utf-8")
        (FOLDER / f"comment-{theme}.svg").write_text(drawing(comment(markdown), colours), encoding="utf-8")


if __name__ == "__main__":
    main()
