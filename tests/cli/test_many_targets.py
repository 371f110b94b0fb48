"""Commands over many targets: how often each record is read, counted, since times depend on the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.lending_service import CLIENT_ID, CLIENT_SECRET

if TYPE_CHECKING:
    from pathlib import Path

    from support.lending_service import LendingService
    from support.project import Finished, Project

HERE, ELSEWHERE = "https://api.service.example", "https://api.elsewhere.example"
COUNT_READS = """\
from reconciler.state.stores.files import FileStore
read = FileStore.read
def counted(store, target, *more):
    with open("reads", "a") as file:
        print(target, file=file)
    return read(store, target, *more)
FileStore.read = counted
"""


COUNT_RECOVERY_FILES = """\
from reconciler.state.private import unrecorded
read = unrecorded.read_whole
def counted(file):
    with open("reads", "a") as reads:
        print(file, file=reads)
    return read(file)
unrecorded.read_whole = counted
"""


def declare(project: Project, count: int, base_url: str = HERE, auth_url: str = HERE) -> None:
    """So many targets of one service, each with a subscription, and records that say nothing yet."""
    targets = "".join(
        f"  region{number}/staging: {{auth_url: '{auth_url}', base_url: '{base_url}', overlap: allow}}\n"
        for number in range(count)
    )
    wanted = "  '*/*': {offers: {eventCodes: [ONB10011], webhookUrl: 'https://hooks.partner.example/{region}'}}\n"
    project.write("config/all.yaml", f"targets:\n{targets}subscriptions:\n{wanted}")
    project.step("state", "init")


def reads(project: Project, *arguments: str, counting: str = COUNT_READS) -> float:
    """How often a command reads each record, or what else is counted, on average."""
    (project.path / "reads").unlink(missing_ok=True)
    project.before_steps = counting
    project.step(*arguments)
    project.before_steps = ""
    targets = project.read("reads").splitlines()
    return len(targets) / len(set(targets))


@pytest.mark.parametrize(
    ("arguments", "most"),
    [
        (["plan"], 1),
        (["plan", "-t", "region1/*"], 1),
        (["plan", "-t", "region1/*", "-t", "region2/staging/offers"], 1),
        (["status"], 1),
        (["state", "list"], 1),
        (["state", "verify"], 1),
        (["state", "import", "--all"], 2),
        (["state", "init"], 3),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
@pytest.mark.parametrize("count", [3, 9])
def test_each_record_is_read_as_often_among_many(project: Project, arguments: list[str], most: int, count: int) -> None:
    """Not once for each other target of its service."""
    declare(project, count)
    assert most >= reads(project, *arguments)


@pytest.mark.parametrize("count", [3, 9])
def test_an_apply_reads_each_record_as_often_among_many(
    project: Project, lending_service: LendingService, count: int
) -> None:
    """What has changed is read, and the others only looked at, before and after each of them has its turn."""
    for number in range(count):
        for field, value in (("ID", CLIENT_ID), ("SECRET", CLIENT_SECRET)):
            project.environment[f"RECONCILER_REGION{number}_STAGING_CLIENT_{field}"] = value
    declare(project, count, lending_service.base_url, lending_service.auth_url)
    assert 6 >= reads(project, "apply", "--auto-approve")
    assert count == len(lending_service.creates)


@pytest.mark.parametrize("command", ["plan", "status"])
def test_a_recovery_file_is_read_once(project: Project, tmp_path: Path, command: str) -> None:
    """Not for each target."""
    declare(project, 9)
    (kept := tmp_path / "home" / "data" / "reconciler" / "unrecorded").mkdir(parents=True, mode=0o700)
    (kept / "of-another-record.jsonl").write_text(
        '{"record":"f","target":"a/b","entry":{"kind":"outcome","at":"2026-11-20T13:30:00Z","by":{"user":"operator"},'
        '"attempt":"a1","outcome":"created"}}\n'
    )
    assert 1 == reads(project, command, counting=COUNT_RECOVERY_FILES)


def skipped(done: Finished) -> list[str]:
    """The addresses that an import skipped."""
    return [line.split(":")[0].strip() for line in done.out.splitlines() if ": skipped: " in line]


def test_an_import_counts_what_it_has_imported_itself(project: Project) -> None:
    """A record that is bound to another service than its target is declared at by now tells of that one."""
    declare(project, 3)
    project.environment["RECONCILER_REGION0_STAGING_BASE_URL"] = ELSEWHERE
    text = project.read("config/all.yaml").replace("{region}", "{hooks}")
    for number, hooks in enumerate(("same", "same", "other")):
        text = text.replace(f"region{number}/staging: {{", f"region{number}/staging: {{vars: {{hooks: {hooks}}}, ")
    project.write("config/all.yaml", text)
    done = project.step("state", "import", "--all")
    assert ["region1/staging/offers"] == skipped(done)
    assert "is already in force as region0/staging/offers" in done.out
