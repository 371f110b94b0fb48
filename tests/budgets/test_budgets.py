"""What commands may do at most: files opened and synced, bytes written, calls sent, and the same done again.

Where a budget is exceeded, the message names what grew. A change after which less is needed lowers its budget here.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import pytest
from benchmarks.applying import service
from benchmarks.projects import CREDENTIALS, ONE, many_targets
from benchmarks.projects import Project as Generated
from support.project import EXECUTABLE, Project
from support.work_counter import count_work

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from benchmarks.applying import Service

FUNCTIONS: Final = {
    "configuration files parsed": "reconciler.desired.nodes:build",
    "journals read": "reconciler.state.stores.files:FileStore.read",
    "records folded": "reconciler.model.record:fold",
    "entries folded": "reconciler.model.record:_Fold.add",
    "targets planned": "reconciler.planning.planner:Planner.plan",
}

EACH_CREATE: Final = {
    "journals opened": 1,
    "journals synced": 1,  # its outcome and the next intent are one append
    "directories of journals synced": 0,
    "bytes written to journals": 860,
    "journals read": 0,
    "records folded": 0,
    "entries folded": 2,  # an intent and an outcome, for the verdict
    "targets planned": 0,
    "remembered heads opened": 2,
    "remembered heads synced": 1,
    "responses synced": 1,
    "directories of responses synced": 1,
    "connections": 1,
    "creates": 1,
    "tokens": 0,
}
"""What one more create may cost, one at a time."""

EACH_APPLY: Final = {
    "configuration files opened": 1,
    "configuration files parsed": 1,
    "journals read": 3,  # for the plan, before the first intent, and for the verdict
    "records folded": 3,
    "targets planned": 3,
    "tokens": 1,
}
"""What an apply may cost, however many creates it sends."""

EACH_PLAN: Final = {
    "configuration files opened": 1,
    "configuration files parsed": 1,
    "journals opened": 1,
    "journals read": 1,
    "journals synced": 0,  # what is remembered is durable
    "directories of journals synced": 0,
    "bytes written to journals": 0,
    "records folded": 1,
    "targets planned": 1,
    "remembered heads opened": 2,  # once, if it was not written a moment before
    "remembered heads synced": 0,
}
"""What a plan of one target may cost, however many subscriptions it has."""

EACH_SUBSCRIPTION: Final = {"entries folded": 2, **dict.fromkeys(EACH_PLAN, 0)}
"""What one more subscription of an unchanged plan may cost."""

EACH_TARGET: Final = {
    "configuration files opened": 0,
    "configuration files parsed": 0,
    "journals opened": 1,
    "journals read": 1,
    "journals synced": 0,
    "directories of journals synced": 0,
    "remembered heads opened": 2,
    "records folded": 1,
    "entries folded": 4,
    "targets planned": 1,
    "remembered heads synced": 0,
}
"""What one more target of an unchanged plan may cost, with a directory and one subscription of its own."""


@pytest.fixture
def at(tmp_path: Path) -> Iterator[Service]:
    """A service that counts what reaches it."""
    with service(tmp_path) as started:
        yield started


def over(budget: Mapping[str, float], work: Mapping[str, float]) -> dict[str, str]:
    """What is more than its budget, and by how much."""
    grown = {what: (work.get(what, 0), most) for what, most in budget.items() if work.get(what, 0) > most}
    return {what: f"{found:g}, may be {most:g}" for what, (found, most) in grown.items()}


def each(few: Counter[str], many: Counter[str], count: int) -> dict[str, float]:
    """What each of the `count` that many has more than few costs."""
    return {what: (many[what] - few[what]) / count for what in many}


def apart(path: Path) -> Project:
    """A project that shares no remembered head with another one."""
    return Project(path, {**CREDENTIALS, "XDG_CACHE_HOME": str(path / "cache"), "XDG_DATA_HOME": str(path / "data")})


def applied(place: Path, at: Service, count: int, parallelism: int) -> Counter[str]:
    """The work of an apply that creates so many."""
    project = apart(place / f"{count}-creates")
    Generated(EXECUTABLE, project.path, count, url=at.url).declare()
    project.step("state", "init")
    at.counts()
    work = count_work(project, FUNCTIONS, "apply", "--auto-approve", "--parallelism", str(parallelism))
    return work + Counter(at.counts())


def planned(place: Path, count: int, targets: Sequence[str] = ONE) -> Counter[str]:
    """The work of an unchanged plan of so many, after one that has remembered the records."""
    project = apart(place / f"{count}-for-{len(targets)}")
    Generated(EXECUTABLE, project.path, count, targets).declare().record()
    project.step("plan")
    return count_work(project, FUNCTIONS, "plan", "--detailed-exitcode")


def test_creates(tmp_path: Path, at: Service) -> None:
    """Each syncs its entries, its head and its response once, on a connection of its own; nothing is read again."""
    few, many = (applied(tmp_path, at, count, parallelism=1) for count in (5, 25))
    assert {} == over(EACH_CREATE, each(few, many, 20))
    assert {} == over(EACH_APPLY, few)
    assert {} == over(EACH_APPLY, many)


def test_creates_in_parallel(tmp_path: Path, at: Service) -> None:
    """They share appends and the token, and no connection."""
    work = applied(tmp_path, at, 40, parallelism=8)
    assert {} == over({"connections": 41, "tokens": 1, "creates": 40}, work)
    assert {} == over({"journals synced": 40, "remembered heads synced": 40}, work)
    assert {} == over(EACH_APPLY, work)


def test_plans(tmp_path: Path) -> None:
    """The configuration is parsed, and the record read and folded, once; nothing is written."""
    few, many = (planned(tmp_path, count) for count in (5, 25))
    assert {} == over(EACH_PLAN, few)
    assert {} == over(EACH_PLAN, many)
    assert {} == over(EACH_SUBSCRIPTION, each(few, many, 20))


def test_plans_of_many_targets(tmp_path: Path) -> None:
    """Each record is read once."""
    few, many = (planned(tmp_path, 1, many_targets(2 * count)[::2]) for count in (3, 8))
    assert {} == over(EACH_TARGET, each(few, many, 5))


def test_configuration_in_several_files(tmp_path: Path) -> None:
    """Each file is opened once and parsed once."""
    project = Project(tmp_path / "project")
    whole = Generated(EXECUTABLE, project.path, 10).declare().config
    targets, head, subscriptions = whole.read_text().partition("subscriptions:\n")
    lines = subscriptions.splitlines(keepends=True)
    for number, part in enumerate([lines[1:16], lines[16:]]):
        project.write(f"config/part-{number}.yaml", "".join([head, lines[0], *part]))
    whole.write_text(targets)
    project.step("state", "init")
    work = count_work(project, FUNCTIONS, "plan")
    assert {} == over({"configuration files opened": 3, "configuration files parsed": 3}, work)


def test_what_grew_is_named() -> None:
    """And by how much; what is within its budget is not."""
    work = {"journals synced": 2.0, "journals opened": 1.0}
    assert {"journals synced": "2, may be 1"} == over(EACH_CREATE, work)


def test_every_budget_counts_something(tmp_path: Path, at: Service) -> None:
    """A budget of what is never counted, since it has another name by now, would hold whatever grew."""
    work = applied(tmp_path, at, 2, parallelism=1) + planned(tmp_path, 1)
    budgets = {*EACH_CREATE, *EACH_APPLY, *EACH_PLAN, *EACH_SUBSCRIPTION, *EACH_TARGET}
    assert set() == {what for what in budgets if not work[what]}
