"""The tables of formats: complete, used by every command that has `--format`, and loaded only as far as needed."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from importlib import import_module
from pkgutil import walk_packages

import click
import pytest
from support.report_values import FORMS, TABLES, values

import reconciler.cli
from reconciler.model.parity import View
from reconciler.model.plan import Action
from reconciler.model.result import Done, Health
from reconciler.model.status import Proof
from reconciler.reports import difference, documents, findings, text, wording
from reconciler.reports.html import marks, tasks
from reconciler.reports.line import Line

PAGES = ["html"]
COMMENTED = ["text", "json", "markdown"]
HAS = {
    **dict.fromkeys(("PLAN", "APPLIED", "STATUS", "REMOVALS", "PARITY"), COMMENTED),
    **dict.fromkeys(("PLAN_PAGE", "STATUS_PAGE"), PAGES),
    "LIST": ["text", "json"],
    "FINDINGS": ["text", "json"],
    "VALIDATION": ["text", "json", "github"],
}
"""The formats of each table; a listing is no comment and no summary, so it has no Markdown.

A page takes more than the other formats of the same command, so it has a table of its own.
"""

MARKERS = {"PLAN": "plan", "APPLIED": "apply", "STATUS": "status", "REMOVALS": "removals", "PARITY": "parity"}
"""What the comment that begins a Markdown report says that it is of."""


def test_the_tables_are_complete() -> None:
    """Each table has the formats that are meant for it, and there is a value to test it with."""
    assert HAS == {table: list(forms) for table, forms in TABLES.items()}
    assert set(HAS) == set(values())


@pytest.mark.parametrize(("table", "form"), FORMS)
def test_every_renderer(table: str, form: str) -> None:
    """Each renders its value in its own format: lines, JSON, or Markdown that says what it is of."""
    report = TABLES[table][form](values()[table])
    match form:
        case "text":
            assert report
            assert all(isinstance(line, Line) for line in report)
        case "json":
            assert isinstance(report, str)
            assert isinstance(json.loads(report), dict | list)
        case "markdown":
            assert isinstance(report, str)
            assert report.startswith(f"<!-- reconciler:{MARKERS[table]}")
        case "html":
            assert isinstance(report, str)
            assert report.startswith("<!DOCTYPE html>\n")
        case "github":
            assert isinstance(report, str)
            assert all(line.startswith(("::error ", "::warning ")) for line in report.splitlines())
        case _:
            pytest.fail(f"say here how to recognise {form}")


def test_json_is_the_document() -> None:
    """The JSON of each kind of value is its document, in full."""
    shown = values()
    documented = {
        "PLAN": documents.plan_document(shown["PLAN"]),
        "APPLIED": documents.applied_document(shown["APPLIED"]),
        "STATUS": documents.status_document(shown["STATUS"]),
        "REMOVALS": documents.removals_document(shown["REMOVALS"]),
        "PARITY": documents.parity_document(shown["PARITY"]),
        "LIST": documents.list_document(shown["LIST"]),
        "FINDINGS": documents.findings_document(shown["FINDINGS"]),
        "VALIDATION": documents.validation_document(shown["VALIDATION"]),
    }
    rendered = {name: table["json"](shown[name]) for name, table in TABLES.items() if "json" in table}
    assert documented == {name: json.loads(str(text)) for name, text in rendered.items()}


def test_every_command_takes_its_formats_from_a_table() -> None:
    """No command has a `--format` of its own, and each table is used."""
    modules = [import_module(one.name) for one in walk_packages(reconciler.cli.__path__, "reconciler.cli.")]
    commands = [command for module in modules if isinstance(command := vars(module).get("command"), click.Command)]
    choices = [
        option.type.choices
        for command in commands
        for option in command.params
        if "--format" in option.opts and isinstance(option.type, click.Choice)
    ]
    offered: dict[str, list[str]] = {name.removesuffix("_PAGE"): [] for name in TABLES}
    for name, table in TABLES.items():
        offered[name.removesuffix("_PAGE")] += list(table)
    assert sorted(offered.values()) == sorted(map(list, choices))


@pytest.mark.parametrize(
    ("table", "kinds"),
    [
        (wording.SIGNS, Action),
        (text._ACTION_TONES, Action),
        (text._OUTCOME_TONES, Done),
        (text._PROOF_TONES, Proof),
        (difference._VERBS, View),
        (findings._HEALTH_TONES, Health),
        (marks.SIGN, marks.Kind),
        (marks.WORD, marks.Kind),
        (marks.MEANING, marks.Kind),
        (marks._OF_PROOF, Proof),
        (tasks._WARNED, Action),
    ],
    ids=["signs", "actions", "outcomes", "proofs", "views", "healths", "kinds", "words", "meanings", "seen", "warned"],
)
def test_every_kind_has_its_words(
    table: dict[object, object], kinds: type[Action | Done | Proof | View | Health | marks.Kind]
) -> None:
    """A new action, outcome or view cannot be shown as another."""
    assert list(kinds) == list(table)


PROGRAM = """
import os, pickle, sys
from reconciler.reports import formats
values = pickle.load(sys.stdin.buffer)
before = set(sys.modules)
for table, value in values.items():
    for form, render in vars(formats)[table].items():
        if os.fork() == 0:
            render(value)
            loaded = {name for name in set(sys.modules) - before if name.startswith(("deepdiff", "reconciler."))}
            print(table, form, *sorted(loaded), flush=True)
            os._exit(0)
        os.wait()
"""
"""Renders each value in each format, each in a process of its own, and prints what that loaded."""


def test_a_format_pays_for_itself_only() -> None:
    """Text and JSON are loaded from the start, any other format when it is asked for, and deepdiff for differences."""
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], input=pickle.dumps(values(differing=False)), capture_output=True, check=True
    )
    own = {form: [] if form in ("text", "json") else [f"reconciler.reports.{form}"] for _, form in FORMS}
    parts = [f"html.{name}" for name in ("contents", "document", "effects", "marks", "matrix", "tasks", "twice")]
    own["html"] = [f"reconciler.reports.{name}" for name in ("commands", "html", *parts, "questions", "times")]
    own["markdown"] = [f"reconciler.reports.{name}" for name in ("difference", "markdown", "paper", "questions")]
    of_text = {"PLAN": ["difference", "questions"], "FINDINGS": ["findings"], "PARITY": ["difference", "parity"]}
    own_text = {(table, "text"): [f"reconciler.reports.{name}" for name in names] for table, names in of_text.items()}
    asking = [each for each in FORMS if each[0].startswith(("STATUS", "PLAN_PAGE"))]
    asking += [("REMOVALS", form) for form in ("text", "markdown")]
    requests = {each: ["reconciler.planning.removals"] for each in asking}
    until = [f"reconciler.planning.{name}" for name in ("evidence", "exchanges", "status")]
    until.append("reconciler.reports.removals")
    own_text |= {("REMOVALS", form): [*own[form], *until] for form in ("text", "markdown", "json")}
    assert [
        [table, form, *sorted([*requests.get((table, form), []), *own_text.get((table, form), own[form])])]
        for table, form in FORMS
    ] == [line.split() for line in ran.stdout.decode().splitlines()]
