"""Records of other services than those of the selected targets: nothing of them counts, and all is told that was."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from reconciler.model.address import Address, TargetName
from reconciler.model.entry import Intent
from reconciler.state.journal.chain import extend, parse
from reconciler.state.stores.files import FileStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.project import Finished, Project

    Happens = Callable[[Project, Path], None]

COUNT_DECODED = """\
from reconciler.state.journal import chain
decode = chain.from_json
def counted(data):
    with open("decoded", "ab") as file:
        file.write(data + b"\\n")
    return decode(data)
chain.from_json = counted
"""
DECODE_ALL = """\
from reconciler.operations import same_service
same_service.known_journal = lambda *_: None
"""


def service(number: int) -> str:
    """The address of a target's service."""
    return f"https://api{number}.service.example"


@pytest.fixture
def several(project: Project) -> Project:
    """Three targets, each a service of its own, whose records have one subscription each and are known here."""
    targets = "".join(
        f"  region{number}/staging: {{auth_url: '{service(number)}', base_url: '{service(number)}', overlap: allow}}\n"
        for number in range(3)
    )
    wanted = "  '*/*': {offers: {eventCodes: [ONB10011], webhookUrl: 'https://hooks.partner.example/{region}'}}\n"
    project.write("config/all.yaml", f"targets:\n{targets}subscriptions:\n{wanted}")
    project.step("state", "init")
    project.step("state", "import", "--all")
    return project


def planned(project: Project, before: str = "", code: int | None = None) -> Finished:
    """A plan of the first target, with all that can be told of it."""
    project.before_steps = before
    done = project.step("-v", "plan", "-t", "region0/*", "--detailed-exitcode", code=code)
    project.before_steps = ""
    return done


def test_other_services_are_not_decoded(several: Project) -> None:
    """Each line of their journals is checked, and what it says was decoded when it was remembered."""
    planned(several, COUNT_DECODED, code=0)
    decoded = several.read("decoded")
    assert ("region0" in decoded, "region1" in decoded, "region2" in decoded) == (True, False, False)


def journal(project: Project) -> Path:
    """The journal of a target that is not selected."""
    return project.path / "state" / "region1" / "staging.jsonl"


def head(project: Project, data: Path) -> Path:
    """The remembered head of that target."""
    heads = (data.parent / "cache" / "reconciler" / "heads").glob("*.json")
    return next(path for path in heads if json.loads(path.read_bytes())["target"] == "region1/staging")


def is_as_it_was(_project: Project, _data: Path) -> None:
    """Nothing has happened."""


def lost_its_last_line(project: Project, _data: Path) -> None:
    """A backup was restored."""
    journal(project).write_bytes(journal(project).read_bytes().splitlines(keepends=True)[0])


def was_edited(project: Project, _data: Path) -> None:
    """In a line that is not the last."""
    journal(project).write_bytes(journal(project).read_bytes().replace(b'"format":1', b'"format":2'))


def was_edited_after_it_belonged_here(project: Project, data: Path) -> None:
    """It was bound to the service of the target selected, and its lines still name that."""
    project.environment["RECONCILER_REGION1_STAGING_BASE_URL"] = service(0)
    project.step("state", "rebind", "-t", "region1/*", "--force")
    del project.environment["RECONCILER_REGION1_STAGING_BASE_URL"]
    project.step("state", "rebind", "-t", "region1/*", "--force")
    journal(project).write_bytes(journal(project).read_bytes().replace(b"ONB10011", b"ONB10012"))


def belongs_here(project: Project, _data: Path) -> None:
    """It is bound to the service of the target selected, and declared elsewhere."""
    project.environment["RECONCILER_REGION1_STAGING_BASE_URL"] = service(0)
    project.step("state", "rebind", "-t", "region1/*", "--force")
    del project.environment["RECONCILER_REGION1_STAGING_BASE_URL"]


def is_declared_here(project: Project, _data: Path) -> None:
    """Its target is, and it is bound to another service."""
    project.environment["RECONCILER_REGION1_STAGING_BASE_URL"] = service(0)


def is_not_declared(project: Project, _data: Path) -> None:
    """Its target is not declared any more."""
    project.write("config/all.yaml", project.read("config/all.yaml").replace("  region1/", "  region9/"))


def is_gone(project: Project, _data: Path) -> None:
    """The journal was deleted."""
    journal(project).unlink()


def was_appended_to(project: Project, _data: Path) -> None:
    """By another machine."""
    project.step("state", "retire", "region1/staging/offers", "--cache-dir", "another machine")


def was_remembered_by_an_earlier_version(project: Project, data: Path) -> None:
    """Which did not say of which service it is."""
    path = head(project, data)
    path.write_text(json.dumps({**json.loads(path.read_bytes()), "base_url": ""}))


def has_results_here(project: Project, data: Path) -> None:
    """In a recovery file, of a create that the record does not have."""
    kept = data / "reconciler" / "unrecorded"
    kept.mkdir(parents=True, mode=0o700)
    record = json.loads(journal(project).read_bytes().splitlines()[0])["record"]
    entries: list[dict[str, object]] = [
        {"kind": "intent", "attempt": "b1", "address": "region1/staging/loans", "action": "create",
         "eventCodes": ["LOA10013"], "webhookUrl": "https://hooks.partner.example/loans", "send_by": 1.0,
         "settled_by": 2.0},
        {"kind": "outcome", "attempt": "b1", "outcome": "created"},
    ]  # fmt: skip
    common: dict[str, object] = {"at": "2026-11-20T13:30:00Z", "by": {"user": "operator"}}
    lines = [
        json.dumps({"record": record, "target": "region1/staging", "entry": entry | common}) + "\n" for entry in entries
    ]
    (kept / "region1.jsonl").write_text("".join(lines))


def has_a_response_here(project: Project, data: Path) -> None:
    """Of a create that is unresolved, since the run was killed."""
    record = json.loads(journal(project).read_bytes().splitlines()[0])["record"]
    name = TargetName("region1/staging")
    intent = Intent(
        at="2026-11-20T13:30:00Z", by={"user": "operator"}, attempt="b1", address=Address(f"{name}/loans"),
        action="create", codes=("LOA10013",), url="https://hooks.partner.example/loans", send_by=1.0, settled_by=2.0,
    )  # fmt: skip
    before = parse(journal(project).read_bytes(), name, "here")
    FileStore(project.path / "state").append(
        name, before.head, len(before.lines) + 1, extend(before, [intent])[1], "intent"
    )
    project.step("plan", code=None)
    responses = data / "reconciler" / "responses" / record
    responses.mkdir(parents=True, mode=0o700)
    (responses / "b1.response.1").write_bytes(b"HTTP/1.1 201 Created\r\n\r\n{}")


TOLD: dict[Happens, str] = {
    was_edited_after_it_belonged_here: "line 2 was edited",
    has_results_here: "region1.jsonl contains the results of 1 create",
    has_a_response_here: "this machine has the response to its create call",
}


@pytest.mark.parametrize(
    "happens",
    [
        is_as_it_was,
        lost_its_last_line,
        was_edited,
        was_edited_after_it_belonged_here,
        belongs_here,
        is_declared_here,
        is_not_declared,
        is_gone,
        was_appended_to,
        was_remembered_by_an_earlier_version,
        has_results_here,
        has_a_response_here,
    ],
)
@pytest.mark.parametrize("creates", [False, True])
def test_a_plan_says_the_same(several: Project, tmp_path: Path, happens: Happens, creates: bool) -> None:
    """Whatever has happened to a record of another service, as if all of it were decoded."""
    data = tmp_path / "home" / "data"
    happens(several, data)
    if creates:
        text = several.read("config/all.yaml").replace("subscriptions:\n", "subscriptions:\n  region0/staging:\n", 1)
        wanted = "    loans: {eventCodes: [LOA10014], webhookUrl: 'https://hooks.partner.example/more'}\n"
        several.write("config/all.yaml", text.replace("region0/staging:\n", f"region0/staging:\n{wanted}"))
    done = planned(several)
    expected = planned(several, DECODE_ALL)
    assert (expected.code, expected.out) == (done.code, done.out)
    assert sorted(expected.err.splitlines()) == sorted(done.err.splitlines())
    assert TOLD.get(happens, "") in done.err
