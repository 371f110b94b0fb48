"""The pages hold: their commands run, what they name exists, and they stay short."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import pytest
import yaml
from support.command_line import commands

from reconciler.applying.events import Limits
from reconciler.cli.main import cli
from reconciler.desired import load
from reconciler.record.fold import LATE_DELIVERY
from reconciler.record.gates import IN_FLIGHT_AFTER_LOSS

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "reconciler"
GITHUB = ROOT / ".github"

WORDS = {
    "README.md": 1_100, ".github/ARCHITECTURE.md": 1_200, ".github/BAD_DAY.md": 2_300, ".github/BENCHMARKS.md": 300,
    ".github/CONTRIBUTING.md": 750, ".github/GUARANTEES.md": 1_250, ".github/RECEIVER.md": 800,
    ".github/RECIPES.md": 900, ".github/SECURITY.md": 800, ".github/SERVICE.md": 600, ".github/STORES.md": 1_200,
    ".github/actions/reconcile/README.md": 1_000, "config/README.md": 950,
}  # fmt: skip
"""The pages, and the words that each may have."""
IN_ALL = 12_000
UNCOUNTED = (".github/REFERENCE.md", "CHANGELOG.md")
PAGES = {name: (ROOT / name).read_text(encoding="utf-8") for name in (*WORDS, *UNCOUNTED)}
README = PAGES["README.md"]

BLOCK = re.compile(r"(?ms)(?P<left_out><!-- not run: [^\n]*-->\n)?^ *```(?P<kind>[^\n]*)\n(?P<text>.*?)^ *```$")
SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")
LINK = re.compile(r"\]\(([^)\s]+)\)")
FILE = re.compile(
    r"(?:[\w.-]+/)+[\w.-]+\.(?:py|md|ya?ml|toml|jsonl)|[\w-]+\.(?:py|toml)|(?:tests|\.ci|reconciler)/[\w./-]*"
)
ELSEWHERE = {
    "GITHUB_WORKSPACE", "SHELL", "GITHUB_ACTOR", "GITHUB_TRIGGERING_ACTOR", "GITHUB_SHA", "GITHUB_RUN_ID", "TERM",
}  # fmt: skip
"""Variables that a runner or a shell sets, and nobody else."""


def blocks(page: str, *kinds: str) -> Iterator[re.Match[str]]:
    """Yield the code blocks of these kinds that are to be run or read."""
    for block in BLOCK.finditer(PAGES[page]):
        if block["kind"].split(" ")[0] in kinds:
            yield block


def spans(page: str) -> list[str]:
    """Return what a page writes as code within a line, each in one line."""
    return [" ".join(text.split()) for text in SPAN.findall(BLOCK.sub("", PAGES[page]))]


def script(name: str) -> ModuleType:
    """Return a script of `.ci` as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / ".ci" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def find(words: list[str]) -> tuple[click.Command, list[str]] | None:
    """Return the command that the words name and the words after it, None if there is none."""
    command: click.Command = cli
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        if words[0].isupper():  # COMMAND
            return command, []
        following = command.get_command(click.Context(command), words[0])
        if following is None:
            return None
        command, words = following, words[1:]
    return command, words


def exists(line: str) -> bool:
    """True if the words begin with a command and each option among them is one that it takes."""
    words = shlex.split(line.partition("|")[0], comments=True)
    while words and words[0] in ("--config", "--state", "--cache-dir", "--timeout", "--parallelism", "--color"):
        words = words[2:]
    named = find(words)
    if named is None:
        return False
    command, rest = named
    options = {text for param in command.params for text in (*param.opts, *param.secondary_opts)} | {"--help"}
    return {word.partition("=")[0] for word in rest if word.startswith("-") and word != "-"} <= options


def slug(heading: str) -> str:
    """Return the anchor that GitHub gives a heading."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)|`", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def anchors(text: str) -> set[str]:
    """Return the anchors of a page."""
    return {slug(title) for title in re.findall(r"^#+ (.*)$", BLOCK.sub("", text), re.MULTILINE)}


@pytest.mark.parametrize("page", WORDS)
def test_page_within_budget(page: str) -> None:
    """Each page has no more words than its reader has patience for."""
    assert len(PAGES[page].split()) <= WORDS[page]


def test_pages_within_budget_together() -> None:
    """All pages together are an hour of reading."""
    assert sum(len(PAGES[page].split()) for page in WORDS) <= IN_ALL


def test_no_page_beside() -> None:
    """Every page of the project is one of these."""
    found = [*ROOT.glob("*.md"), *GITHUB.rglob("*.md"), *(ROOT / "config").glob("*.md")]
    assert {path.relative_to(ROOT).as_posix() for path in found} == set(PAGES)


def test_readme_is_short() -> None:
    """The README fits on a few screens."""
    assert len(README.splitlines()) <= 150


@pytest.mark.parametrize("page", PAGES)
def test_links_and_anchors(page: str) -> None:
    """Each link to a file leads to one that exists, and each anchor to a heading."""
    wrong = []
    for link in LINK.findall(BLOCK.sub("", PAGES[page])):
        if "://" in link:
            continue
        target, _, anchor = link.partition("#")
        path = ROOT / page if not target else (ROOT / page).parent / target
        if not path.exists() or (anchor and anchor not in anchors(path.read_text(encoding="utf-8"))):
            wrong.append(link)
    assert wrong == []


def test_every_page_is_linked() -> None:
    """The README leads to every page."""
    links = {os.path.normpath(link.partition("#")[0]) for link in LINK.findall(README) if "://" not in link}
    assert {page for page in PAGES if page != "README.md"} <= links


@pytest.mark.parametrize("page", PAGES)
def test_commands_exist(page: str) -> None:
    """Each command on a page exists, with its options."""
    lines = [text for text in spans(page) if text.startswith("reconciler ") and not text.startswith("reconciler is")]
    for block in blocks(page, "sh", "console"):
        text = block["text"].replace("\\\n", " ")
        lines += re.findall(r"^(?:\$ )?\s*(reconciler .*?)(?: &| [<>].*)?$", text, re.MULTILINE)
    assert [line for line in lines if not exists(line.removeprefix("reconciler "))] == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [("plan -t 'europe/*'", True), ("state nothing", False), ("plan --nothing", False), ("--state x plan", True)],
)
def test_commands_that_do_not_exist_are_found(line: str, expected: bool) -> None:
    """A command or an option that does not exist is noticed."""
    assert exists(line) is expected


@pytest.mark.parametrize("page", ["ARCHITECTURE", "CONTRIBUTING", "GUARANTEES"])
def test_named_files_exist(page: str) -> None:
    """Each file that a page for contributors names exists."""
    names = [text for text in spans(f".github/{page}.md") if FILE.fullmatch(text)]
    assert [name for name in names if not any((place / name).exists() for place in (ROOT, PACKAGE))] == []
    assert names


def test_every_room_is_described() -> None:
    """The tree of ARCHITECTURE has each room and each module at the top of the package."""
    tree = next(blocks(".github/ARCHITECTURE.md", "text"))["text"]
    rooms = {path.name for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert set(re.findall(r"^([\w.]+?)/? ", tree, re.MULTILINE)) == rooms - {"__init__.py"}


def test_layers_are_those_of_the_contract() -> None:
    """The layers of ARCHITECTURE are those that import-linter holds."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (layers,) = (contract["layers"] for contract in contracts if contract["type"] == "layers")
    assert "".join(f"{layer}\n" for layer in layers) == list(blocks(".github/ARCHITECTURE.md", "text"))[1]["text"]


def test_reference_is_up_to_date() -> None:
    """REFERENCE is what `python .ci/reference.py` writes."""
    assert script("reference").page() == PAGES[".github/REFERENCE.md"]


def test_pictures_are_up_to_date() -> None:
    """The pictures of the README show what `plan` prints today; `python .ci/picture.py` draws them."""
    picture = script("picture")
    lines, markdown = picture.plan()
    for theme, colours in picture.THEMES.items():
        comment = picture.drawing(picture.comment(markdown), colours)
        assert comment == (GITHUB / f"comment-{theme}.svg").read_text(encoding="utf-8")
        assert picture.drawing(lines, colours) == (GITHUB / f"plan-{theme}.svg").read_text(encoding="utf-8")


def test_reference_has_every_command() -> None:
    """Each command and each group has a section, with each of its options."""
    page = PAGES[".github/REFERENCE.md"]
    for words, command in commands():
        for count in range(1, len(words) + 1):
            section = page.partition(f"### {' '.join(('reconciler', *words[:count]))}\n")[2].partition("\n### ")[0]
            assert section, words
        options = [param.opts[-1] for param in command.params if isinstance(param, click.Option)]
        shown = section + page.partition("## Settings")[2]
        assert [name for name in options if name not in shown] == []


def test_reference_has_every_variable() -> None:
    """Each variable that the program reads stands in REFERENCE, or, for a store, in STORES."""
    named = re.compile(
        r"environ(?:\.get\(|\[)\s*\"([A-Z][A-Z_]+)\"|\"((?:RECONCILER|XDG|SSL)_[A-Z_]+)\"|getenv\(\"(\w+)\""
    )
    read = {
        next(filter(None, names))
        for path in PACKAGE.rglob("*.py")
        for names in named.findall(path.read_text(encoding="utf-8"))
    }
    tests_only = {name for name in read if name.startswith("RECONCILER_TEST_")}
    shown = PAGES[".github/REFERENCE.md"] + PAGES[".github/STORES.md"]
    assert {name for name in read - ELSEWHERE - tests_only - {"PATH", "HOME"} if f"`{name}`" not in shown} == set()


def test_bad_day_quotes_the_program() -> None:
    """What one sees on a bad day is what the program says."""
    table = PAGES[".github/BAD_DAY.md"].partition("| you see |")[2].partition("\n\n")[0]
    quoted = [text for row in table.splitlines() for text in SPAN.findall(row.split("|")[1] if "|" in row else "")]
    source = "".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    fragments = {part.strip() for text in quoted for part in re.split(r"…|line \d+|\d+ ", text) if part.strip()}
    assert {fragment for fragment in fragments if fragment not in source} == set()


def test_guarantees_name_the_limits() -> None:
    """The seconds that GUARANTEES promises are those of the program."""
    page, limits = PAGES[".github/GUARANTEES.md"], Limits()
    assert f"starting its call ({limits.send_window:.0f} s later)" in page
    assert f"{limits.margin:.0f} s for clocks that differ" in page
    assert f"{IN_FLIGHT_AFTER_LOSS:.0f} s" in page
    assert f"more than {LATE_DELIVERY.total_seconds():.0f} s after the confirmation" in page


def test_service_has_the_sections_that_are_cited() -> None:
    """Each section of the service description that a docstring cites is on the page."""
    page = PAGES[".github/SERVICE.md"]
    sections = set(re.findall(r"^## (\d)|\b(\d\.\d)\b", page, re.MULTILINE))
    present = {number for pair in sections for number in pair if number}
    cited = {
        number
        for path in PACKAGE.rglob("*.py")
        for text in re.findall(r"service description, sections? ([\d., and]+)", path.read_text(encoding="utf-8"))
        for number in re.findall(r"\d(?:\.\d)?", text)
    }
    assert cited - present == set()
    assert cited


def test_stores_has_the_table() -> None:
    """The SQL for an administrator makes the table that the program would make."""
    store: Any = pytest.importorskip("reconciler.stores.postgres")
    statement = store._CREATE.replace("IF NOT EXISTS ", "").format(table=store._TABLE)
    assert f"{statement};\n" in PAGES[".github/STORES.md"]


def test_examples_in_yaml_are_valid(tmp_path: Path) -> None:
    """The configuration of the README has no mistakes."""
    (block,) = blocks("README.md", "yaml")
    file = tmp_path / "config.yaml"
    file.write_text(block["text"], encoding="utf-8")
    assert ["europe/staging/offers"] == [str(address) for address in load(file).subscriptions]
    assert len(block["text"].splitlines()) == 10


def test_hook_of_pre_commit() -> None:
    """The hook that the README names exists."""
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert [f"`{hook['id']}`" in README for hook in hooks] == [True]


def test_ci_runs_the_test_command() -> None:
    """The README's test command is the one that `.ci/run` calls."""
    command = [block["text"] for block in blocks("README.md", "sh") if "pytest" in block["text"]]
    assert [text in (ROOT / ".ci" / "run").read_text(encoding="utf-8") for text in command] == [True]


def pattern_of(shown: str) -> re.Pattern[str]:
    """Return what output must match: a line … stands for any lines, … within a line for any text."""
    lines = ["(?:.*\\n)*?" if line == "…\n" else re.escape(line).replace("…", ".*") for line in shown.splitlines(True)]
    return re.compile("".join(lines))


def test_readme_commands_run(tmp_path: Path) -> None:
    """The README's commands, run in order in an empty directory, print what the README shows."""
    parts = ["trap 'kill $(jobs -p) 2>/dev/null' EXIT\n"]
    expected: list[tuple[str, str]] = []
    for block in blocks("README.md", "sh", "console"):
        if block["left_out"]:
            continue
        if block["kind"] == "sh":
            parts.append(block["text"])
            continue
        for step in re.split(r"^\$ ", block["text"], flags=re.MULTILINE)[1:]:
            command, _, shown = step.partition("\n")
            expected.append((command, shown))
            parts.append(f'{{ {command}; }} 2>&1; echo "=== $?"\n')
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "NO_COLOR": "1", "COLUMNS": "80"}
    ran = subprocess.run(
        ["bash", "-c", "".join(parts)], cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, check=False, timeout=100,
    )  # fmt: skip
    outputs = re.split(r"^=== 0\n", ran.stdout, flags=re.MULTILINE)
    assert len(outputs) == len(expected) + 1, ran.stdout + ran.stderr
    for (command, shown), output in zip(expected, outputs, strict=False):
        assert pattern_of(shown).fullmatch(output), f"{command}\n{output}"
