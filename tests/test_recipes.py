"""What RECIPES.md says a test tells you: each table and page is complete, so that nothing of a change is forgotten."""

from __future__ import annotations

import ast
import re
import runpy
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules, walk_packages
from typing import get_args

import click
import pytest
from support import journal_strategies
from support.desired_configs import EXAMPLE

import reconciler.cli
from reconciler.cli.lazy import LazyGroup
from reconciler.cli.main import cli
from reconciler.desired import patches, sections, targets
from reconciler.desired.single_sections import PARITY_KEYS, VERIFICATION_KEYS
from reconciler.model.entry import AnyEntry, Entry
from reconciler.model.plan import LOCAL, SENDS, Action
from reconciler.notifications.notification import parse_notification
from reconciler.reports.wording import SIGNS
from reconciler.sandbox.notification import notification_body
from reconciler.state import stores
from reconciler.state.stores import location

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SERVICE = (ROOT / ".github" / "SERVICE.md").read_text(encoding="utf-8")
STORES = sorted({module.name for module in iter_modules(stores.__path__)} - {"store", "location"})


def section(page: str, heading: str) -> str:
    """The text of a page below one of its headings."""
    return page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


# Stores


@pytest.mark.parametrize("store", STORES)
def test_every_store_runs_the_conformance_suite(store: str) -> None:
    """Some test of `state` runs the suite for what is imported from the store's file or folder."""
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "state").glob("test_*.py")]
    suites = [text for text in texts if "(StoreConformance):" in text]
    assert any(f"from reconciler.state.stores.{store}" in text for text in suites)


@pytest.mark.parametrize("scheme", list(location._OPENERS))
def test_every_type_of_store_is_in_the_readme(scheme: str) -> None:
    """A user finds how to write it."""
    assert re.search(rf"^\| [^|]*`{scheme}[:+]", section(README, "Choose where the record lives"), re.MULTILINE)


# Commands


def test_every_command_can_be_called() -> None:
    """A file with a command is in the table of its group."""
    modules = [module.name for module in walk_packages(reconciler.cli.__path__, "reconciler.cli.")]
    files = {name for name in modules if isinstance(vars(import_module(name)).get("command"), click.Command)}
    groups = [cli, *(group for name in files if isinstance(group := import_module(name).command, LazyGroup))]
    called = {group.get_command(click.Context(group), name) for group in groups for name in group.table}
    assert {import_module(name).command for name in files} == called


# Actions


def test_every_action_sends_or_is_local_or_waits() -> None:
    """A new action is listed as work, which asks for approval and counts in the exit code of an apply, or here."""
    does_nothing = {Action.BLOCKED}
    assert set(Action) == {*SENDS, *LOCAL} | does_nothing


@pytest.mark.parametrize("action", Action)
def test_every_action_is_explained(action: Action, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its sign and name are in the help of `plan` and in the README, and the GitHub Action counts it."""
    plan = cli.get_command(click.Context(cli), "plan")
    assert plan is not None
    words = " ".join((plan.help or "").split())
    assert f"{SIGNS[action]} {action}" in words
    assert re.search(rf"`{re.escape(SIGNS[action])}`\s+{action}", README)
    folder = ROOT / ".github" / "actions" / "reconcile"
    monkeypatch.syspath_prepend(folder)
    assert action in runpy.run_path(str(folder / "step.py"))["ACTIONS"]
    assert f"\n  {action}:\n" in (folder / "action.yml").read_text(encoding="utf-8")
    assert f"`{action}`" in section((folder / "README.md").read_text(encoding="utf-8"), "Outputs")


def test_which_actions_send_a_create() -> None:
    """Every other action makes no call: a new one has to be put on either side."""
    assert set(Action) - {Action.RESTORE, Action.RETIRE, Action.BLOCKED} == set(SENDS)


# Entries


def names_in(path: Path, calls: str) -> set[str]:
    """The classes that are the first argument of calls of a function in a module."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    called = [node for node in nodes if isinstance(node, ast.Call) and ast.unparse(node.func) == calls]
    return {ast.unparse(node.args[0]) for node in called if node.args}


@pytest.mark.parametrize("kind", get_args(AnyEntry), ids=lambda kind: kind.__name__)
def test_every_kind_of_entry_is_tested(kind: type[Entry]) -> None:
    """It is drawn for property tests, has words in the log of changes, and is in the corpus of journals."""
    assert kind.__name__ in names_in(Path(journal_strategies.__file__), "_entries")
    assert re.search(rf"^ +(?:replace\()?\(?{kind.__name__}\(|\({kind.__name__.upper()}, ", HISTORY, re.MULTILINE)
    assert f'\n    "{kind.kind}": ' in CORPUS


HISTORY = (ROOT / "tests" / "reports" / "test_history.py").read_text(encoding="utf-8")
CORPUS = (ROOT / "tests" / "corpus" / "test_corpus.py").read_text(encoding="utf-8")


# Event codes


def documented() -> dict[str, str]:
    """The codes of SERVICE.md with their messages."""
    rows = re.findall(r"^\| (`[A-Z].*?) \| (.*?) \|", section(SERVICE, "6. Events"), re.MULTILINE)
    return {code: message for codes, message in rows for code in re.findall(r"`([A-Z]{3}\d{5})`", codes)}


@pytest.mark.parametrize(("code", "message"), documented().items())
def test_every_documented_code_is_played_and_read(code: str, message: str) -> None:
    """It is of a family that is known; the sandbox sends it as documented, and the service room can read that."""
    assert code.startswith(patches._FAMILIES)
    notification = parse_notification(notification_body(code))
    assert message in (notification.message, "not known")
    assert () == notification.mistakes


@pytest.mark.parametrize("code", re.findall(r"The properties of `(\w+)`", SERVICE))
def test_documented_properties_are_played_and_read(code: str) -> None:
    """The sandbox sends a sample of them, each field of which is read as what it is."""
    notification = parse_notification(notification_body(code))
    assert notification.properties
    typed = notification.offers_provided
    assert typed is not None
    assert set(notification.properties) == set(typed.model_dump(by_alias=True))
    assert not typed.model_extra


# Settings


def test_every_common_flag_is_in_the_readme() -> None:
    """The table of settings has each flag that every command takes, with its variable; and no other."""
    rows = [row.split("|")[1:3] for row in section(README, "Settings").splitlines() if row.startswith("|")]
    in_readme = {flag: variable for variable, flags in rows for flag in re.findall(r"`(-[\w-]+)`", flags)}
    options = [option for option in cli.params if isinstance(option, click.Option) and option.name != "version"]
    flags = {min(option.opts, key=len): option.help or "" for option in options}
    assert set(in_readme) == set(flags)
    for flag, text in flags.items():
        variable = re.search(r"RECONCILER_\w+", text)
        assert variable is None or variable[0] in in_readme[flag]


@pytest.mark.parametrize(
    "key", sorted({*sections.KEYS, *targets._KEYS, *patches._KEYS, *PARITY_KEYS, *VERIFICATION_KEYS, "ignore"})
)
def test_every_key_of_config_is_in_the_example(key: str) -> None:
    """The example explains each key, in use or in a comment."""
    text = "\n".join(EXAMPLE.values())
    assert re.search(rf"\b{key}:", text)
