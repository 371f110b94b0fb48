"""A choice by kind covers every kind: it ends in `assert_never`, so that mypy finds a new kind."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import reconciler

ROOT = Path(reconciler.__file__).parent


@cache
def kinds() -> set[str]:
    """The classes and enumerations of the package: what a choice can be about."""
    return {
        node.name
        for path in ROOT.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    }


def chosen(pattern: ast.pattern) -> set[str]:
    """The classes and enumerations that a pattern names."""
    named = {
        node.cls.id for node in ast.walk(pattern) if isinstance(node, ast.MatchClass) and type(node.cls) is ast.Name
    }
    values = [node.value for node in ast.walk(pattern) if isinstance(node, ast.MatchValue)]
    return named | {
        value.value.id for value in values if isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name)
    }


def open_choices(source: str) -> list[int]:
    """The lines of choices by kind that a new kind would pass through unnoticed."""
    lines = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Match):
            last = node.cases[-1]
            by_kind = set().union(*(chosen(case.pattern) for case in node.cases)) & kinds()
            if by_kind and not ast.unparse(last.body[-1]).startswith("assert_never("):
                lines.append(node.lineno)
    return lines


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_choice_by_kind_has_a_default(path: Path) -> None:
    """Errors aside, of which a caller handles those it knows."""
    source = path.read_text(encoding="utf-8")
    allowed = {"_explain"} if path.name == "main.py" else set()
    functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.name in allowed]
    spans = [range(node.lineno, (node.end_lineno or node.lineno) + 1) for node in functions]
    assert [] == [line for line in open_choices(source) if not any(line in span for span in spans)]


def test_no_action_is_taken_for_work_by_default() -> None:
    """Where an action does something, it is named: `is not Action.BLOCKED` would take any new one for work."""
    negated = re.compile(r"(?:is not|!=) Action\.\w+|not in \(?Action\b")
    found = {path.name: negated.findall(path.read_text(encoding="utf-8")) for path in ROOT.rglob("*.py")}
    assert {} == {name: uses for name, uses in found.items() if uses}


@pytest.mark.parametrize(
    ("last", "expected"),
    [("case _:\n  assert_never(x)", []), ("case _:\n  pass", [1]), ("case Action.RETIRE:\n  pass", [1])],
)
def test_a_choice_with_a_default_is_found(last: str, expected: list[int]) -> None:
    """One that ends in anything else than `assert_never` lets a new kind through."""
    cases = f"case Action.CREATE:\n  pass\n{last}".replace("\n", "\n ")
    assert expected == open_choices(f"match x:\n {cases}")
