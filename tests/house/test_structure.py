"""The structure of the package: no circles, short functions and files, and a size that grows by decision only."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import reconciler

ROOT = Path(reconciler.__file__).parent
MODULES = {
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(ROOT.rglob("*.py"))
}
ROOMS = sorted({name.split(".")[1] for name in MODULES if name.count(".") > 1})
LARGEST = {"lines of code": 15_409, "modules": 153}
"""What the whole package may have at most; lower it when less is needed."""
DOORS = {
    # What `--help` does not load, and what completion, colour, a format or an error needs.
    "cli.commands": {"click.shell_completion", "reconciler"}, "cli.invocation": {"pathlib", "reconciler"},
    "cli.main": {"reconciler"}, "cli.plan": {"reconciler"}, "cli.progress": {"rich.console", "rich.progress"},
    "cli.project": {"click.shell_completion"}, "cli.terminal": {"reconciler"}, "desired.credentials": {"json"},
    "desired.mistakes": {"difflib"}, "model.address": {"difflib"}, "operations.project": {"getpass", "pwd"},
    "operations.settings": {"dotenv.parser"}, "reports.differences": {"deepdiff"}, "reports.html": {"jinja2"},
    "reports.terminal": {"textwrap"},
    # Calls to the service, encryption, and stores whose library not everybody has.
    "desired.sections": {"pyrage"}, "operations.apply": {"reconciler"}, "operations.doctor": {"reconciler"},
    "operations.init": {"importlib.metadata", "jinja2", "pyrage"}, "operations.responses": {"pyrage"},
    "stores.location": {"reconciler"},
}  # fmt: skip
"""The modules that may import inside a function, since most runs do without it, and what: libraries, or other modules
of the package."""
VALUES = {"Struct", "Discreet", "Fact", "OfAttempt"}
"""What values are made of."""
MUTABLE = {
    "Call", "Mistakes", "Pattern", "Positioned", "Sections", "_Batch", "_Builder", "_Coded", "_Documented", "_Line",
    "_Group", "_Merger", "_Parts", "_Reader",
}  # fmt: skip
"""The structs that something is collected in, or that are read and thrown away."""
SEEN_OTHERWISE = {
    "bad-pattern", "codes-move", "demo-failed", "failpoint", "home-missing",
    "lead-answer-cut", "lead-not-json", "no-answer", "no-verification", "not-agreed", "not-approved", "nothing-lost",
    "notification-ambiguous", "os-error", "plan-not-saved", "record-aside", "recovery-unreadable", "removal-cancelled",
    "secret-not-masked", "sent-again", "sent-again-later", "setting-out-of-range", "surplus-requested",
    "target-undeclared", "to-be-replaced", "usage", "waits-for-removal",
}  # fmt: skip
"""The messages of which tests look at what they say, or at what they do, and not at the name."""
_QUIET = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
_SCOPES = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Return the nodes of a file, its module first."""
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def imports_of(path: Path) -> set[str]:
    """Return the project's modules that a file imports anywhere in it, in functions and for types alone too."""
    imported: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom):
            module = node.module or ""
            names = {f"{module}.{alias.name}" for alias in node.names}
            imported |= {name if name in MODULES else module for name in names}
        elif isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
    return imported & MODULES.keys()


def lines_of_code(path: Path) -> int:
    """Count the lines of a file without blanks, comments and docstrings."""
    source = path.read_text(encoding="utf-8")
    docstrings = {
        line
        for node in nodes(path)
        if isinstance(node, _SCOPES) and ast.get_docstring(node, clean=False) is not None
        for line in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
    }
    lines = {
        line
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type not in _QUIET
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(lines - docstrings)


@pytest.mark.parametrize("room", ROOMS)
def test_no_circles(room: str) -> None:
    """Within a room, no module imports one that imports it, directly or through others."""
    inside = {name for name in MODULES if name.split(".")[1:2] == [room]}
    graph = {name: imports_of(MODULES[name]) & inside - {name} for name in inside}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as problem:
        pytest.fail(" imports ".join(reversed(problem.args[1])))


def test_functions_and_files_are_short() -> None:
    """No function has more than 50 lines, and no file more than 400."""
    for path in MODULES.values():
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 400, path
        for node in nodes(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
                assert node.end_lineno - node.lineno < 50, f"{path}:{node.lineno}"


def test_few_files_of_tests_know_a_function() -> None:
    """At most ten import any one function, so that a new name for it is a small change."""
    functions = {
        f"{name}.{node.name}"
        for name, path in MODULES.items()
        for node in ast.iter_child_nodes(nodes(path)[0])
        if isinstance(node, ast.FunctionDef)
    }
    users: dict[str, set[str]] = {}
    for path in Path(__file__).parents[1].rglob("*.py"):
        for node in nodes(path):
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    users.setdefault(f"{node.module}.{alias.name}", set()).add(path.name)
    assert {} == {name: sorted(users[name]) for name in functions & users.keys() if len(users[name]) > 10}


def test_growth_is_a_decision() -> None:
    """The package has no more lines of code and no more modules than is written down here."""
    size = {"lines of code": sum(map(lines_of_code, MODULES.values())), "modules": len(MODULES)}

    assert {} == {what: count for what, count in size.items() if count > LARGEST[what]}


def test_values_are_frozen() -> None:
    """Every struct is, but for those listed: nobody changes a value that others hold."""
    kinds = {}
    for path in MODULES.values():
        for node in nodes(path):
            if isinstance(node, ast.ClassDef) and {ast.unparse(base) for base in node.bases} & VALUES:
                words = {word.arg: ast.unparse(word.value) for word in node.keywords}
                kinds[node.name] = words.get("frozen") == "True"

    assert {name for name, frozen in kinds.items() if not frozen} == MUTABLE


def test_what_fills_a_screen_or_is_secret_is_not_printed() -> None:
    """A value that leaves fields out where it is printed leaves out those with bytes, the record, or a secret."""
    private = re.compile(r"\bbytes\b|\bReading\b|\bSettings\b|\w*(secret|token|environ)\b")
    for path in MODULES.values():
        for node in nodes(path):
            if isinstance(node, ast.ClassDef) and "Discreet" in {ast.unparse(base) for base in node.bases}:
                fields = [part for part in node.body if isinstance(part, ast.AnnAssign)]
                hidden = next(ast.literal_eval(part.value) for part in node.body if isinstance(part, ast.Assign))
                found = {
                    ast.unparse(part.target)
                    for part in fields
                    if private.search(ast.unparse(part.annotation)) or private.fullmatch(ast.unparse(part.target))
                }
                assert found <= {*hidden}, f"{path}: {node.name}"


def test_each_message_is_named_by_a_test() -> None:
    """Messages are compared by name: one that no test names may say anything."""
    names = {
        str(node.args[0].value)
        for path in MODULES.values()
        for node in nodes(path)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Message"
        if node.args and isinstance(node.args[0], ast.Constant)
    }
    there = Path(__file__).parents[1].rglob("*.py")
    text = "".join(path.read_text(encoding="utf-8") for path in there if path != Path(__file__))

    assert {name for name in names if f'"{name}"' not in text} <= SEEN_OTHERWISE


def test_docstrings_say_what_a_thing_does_or_returns() -> None:
    """No docstring begins with What, Whether or Of."""
    for path in MODULES.values():
        for node in nodes(path):
            text = ast.get_docstring(node) if isinstance(node, _SCOPES) else None
            assert not (text or "").startswith(("What ", "Whether ", "Of ")), f"{path}: {text}"


def test_loop_variables_say_what_they_hold() -> None:
    """None is named for how it was come by."""
    for path in MODULES.values():
        for node in nodes(path):
            if isinstance(node, ast.For | ast.comprehension):
                names = {part.id for part in ast.walk(node.target) if isinstance(part, ast.Name)}
                assert set() == names & {"found", "one", "stray", "told"}, path


def test_imports_in_functions_are_listed() -> None:
    """An import stands at the top of its file, but for those that speed needs: a list without leftovers."""
    found: dict[str, set[str]] = {}
    for name, path in MODULES.items():
        for function in nodes(path):
            for node in ast.walk(function) if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) else ():
                if isinstance(node, ast.Import | ast.ImportFrom):
                    imported = (node.module or "") if isinstance(node, ast.ImportFrom) else node.names[0].name
                    what = "reconciler" if imported.startswith("reconciler") else imported
                    found.setdefault(name.removeprefix("reconciler."), set()).add(what)

    assert found == DOORS


@pytest.mark.parametrize("room", ["applying", "notifications", "receiver", "record", "service", "stores"])
def test_threads_decode_with_decoders_made_before(room: str) -> None:
    """msgspec describes a type on its first use, and crashes if two threads do so at once."""
    late = [
        (name, node.lineno)
        for name, path in MODULES.items()
        if name.split(".")[1:2] == [room]
        for node in nodes(path)
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "decode"
        if any(keyword.arg == "type" for keyword in node.keywords)
    ]
    assert [] == late


def test_no_test_sleeps_for_long() -> None:
    """Where a test must let time pass, that is 0.2 s at most in one call; those that kill processes at random aside."""
    sleeps = [
        ast.unparse(node)
        for path in Path(__file__).parents[1].rglob("*.py")
        if path.parent.name != "crash"
        for node in nodes(path)
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "sleep"
        for number in re.findall(r"\d+\.?\d*", ast.unparse(node))
        if float(number) > 0.2
    ]
    assert [] == sleeps
