"""The tables of formats: complete, used by every command that has `--format`, and loaded only as far as needed."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import click
import pytest
from support.value_scene import EUROPE, USA, Scene, address_of, hooks

import reconciler.cli
from reconciler.model.parity import Difference, Parity, View
from reconciler.model.plan import Action
from reconciler.model.result import Applied, Done, Result, Verdict
from reconciler.model.status import Proof
from reconciler.planning.status import status_of
from reconciler.reports import difference, documents, formats, text, wording
from reconciler.reports.line import Line

FORMATS = {"text", "json", "markdown"}
ABSENT = {("LIST", "markdown")}
"""What a format does not render, on purpose: a listing is no comment and no summary."""

TABLES: dict[str, formats.Formats[object]] = {
    name: value for name, value in vars(formats).items() if name.isupper() and isinstance(value, dict)
}


def values() -> dict[str, Any]:
    """Something to render with each table."""
    scene = Scene()
    scene.want("offers", "ONB10011", hooks("offers"))
    scene.lose("lost", "ONB10001", hooks("lost"))
    record, plan = scene.records[EUROPE], scene.plan()
    return {
        "PLAN": plan,
        "APPLIED": Applied(
            (Result(address_of("offers"), Action.CREATE, Done.UNKNOWN, 502, "a1"),), (), Verdict.UNRESOLVED
        ),
        "STATUS": [status_of(record, plan.targets[EUROPE], datetime(2026, 11, 21, tzinfo=UTC))],
        "PARITY": Parity(EUROPE, USA, (Difference("offers", View.DESIRED, {"eventCodes": ["X"]}, None),), (), ()),
        "LIST": [record],
    }


def test_the_tables_are_complete() -> None:
    """Each kind of value has each format, but for those that are declared to be absent."""
    rendered = {(table, form) for table in TABLES for form in TABLES[table]}
    assert rendered == {(table, form) for table in values() for form in FORMATS} - ABSENT


@pytest.mark.parametrize(("table", "form"), [(table, form) for table in TABLES for form in TABLES[table]])
def test_every_renderer(table: str, form: str) -> None:
    """Each renders its value in its own format: lines, JSON, or Markdown that says what it is of."""
    value = values()[table]
    report = TABLES[table][form](value)
    match form:
        case "text":
            assert report
            assert all(isinstance(line, Line) for line in report)
        case "json":
            assert isinstance(report, str)
            assert isinstance(json.loads(report), dict | list)
        case _:
            assert isinstance(report, str)
            names = {"PLAN": "plan", "APPLIED": "apply", "STATUS": "status", "PARITY": "parity"}
            assert report.startswith(f"<!-- reconciler:{names[table]}")


def test_json_is_the_document() -> None:
    """The JSON of each kind of value is its document, in full."""
    shown = values()
    rendered = {
        "PLAN": documents.plan_document(shown["PLAN"]),
        "APPLIED": documents.applied_document(shown["APPLIED"]),
        "STATUS": documents.status_document(shown["STATUS"]),
        "PARITY": documents.parity_document(shown["PARITY"]),
        "LIST": documents.list_document(shown["LIST"]),
    }
    assert rendered == {name: json.loads(str(TABLES[name]["json"](shown[name]))) for name in TABLES}


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
    assert sorted(list(table) for table in TABLES.values()) == sorted(map(list, choices))


@pytest.mark.parametrize(
    ("table", "kinds"),
    [
        (wording.SIGNS, Action),
        (text._ACTION_TONES, Action),
        (text._OUTCOME_TONES, Done),
        (text._PROOF_TONES, Proof),
        (difference._VERBS, View),
    ],
    ids=["signs", "actions", "outcomes", "proofs", "views"],
)
def test_every_kind_has_its_words(table: dict[object, object], kinds: type[Action | Done | Proof | View]) -> None:
    """A new action, outcome or view cannot be shown as another."""
    assert list(kinds) == list(table)


PROGRAM = """
import sys
from reconciler.reports.formats import PLAN
from reconciler.model.plan import Plan
plan = Plan((), {}, "digest")
for form in ("text", "json", "markdown"):
    PLAN[form](plan)
    print(form, *sorted({"deepdiff", "reconciler.reports.markdown"} & set(sys.modules)))
"""


def test_a_format_pays_for_itself_only() -> None:
    """Markdown is loaded for Markdown, and deepdiff only for what differs."""
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert ["text", "json", "markdown reconciler.reports.markdown"] == ran.stdout.splitlines()
