"""The command line of the form: which stage approves it, and what the form does not run."""

from __future__ import annotations

import re
from pathlib import Path

import job
import pytest
import stage as repair
from support.forge import TAKEN

STAGES = ["staging", "production"]
DIGEST = f"sha256:{'0' * 64}"


@pytest.mark.parametrize(("line", "stage"), [
    ("state import europe/staging/offers", "staging"), ("reconciler state import 'europe/staging/*'", "staging"),
    ("state resolve */production/offers --created --note 'ticket 4711; `x`'", "production"),
    ("removal confirm europe/staging/offers --attempt 1", "staging"), ("secret set usa/staging/offers", "staging"),
    (f"apply -t */staging -t europe/staging/offers --expect-digest {DIGEST}", "staging"),
    ("state mv europe/staging/a europe/staging/b", "staging"),
    ("state mv europe/staging/a europe/production/a", "production"), ("state import europe/*/offers", "production"),
    ("state import europe/other/offers", "production"), ("state show", "production"),
    ("state show europe/staging/offers", "staging"), ("state init --complete", "production"),
    ("state recover run:12/backup", "production"), ("state copy state.jsonl git:other", "production"),
    ("state rebind -t europe/staging", "production"), ("state accept-loss", "production"),
    ("state complete", "production"), ("state observe notifications.jsonl", "production"),
])  # fmt: skip
def test_stage_that_approves(line: str, stage: str) -> None:
    """The stage of the addresses; the last stage for several, for any other, and for the whole record."""
    assert stage == repair.parse(line, STAGES)[1]


@pytest.mark.parametrize("line", [
    "", "'", "plan", "token -t europe/staging", "secret show europe/staging/offers",
    "--state s3://mine/x state import europe/staging/offers",
    "state --state s3://mine/x import europe/staging/offers",
    "state import europe/staging/offers --state s3://mine/x", "state import europe/staging/offers --config other",
    "state import europe/staging/offers --yes", "state import europe/staging/offers --dry-run",
    f"state import europe/staging/offers --expect-digest {DIGEST}",
    "state import europe/staging/offers --no-such-option", "state import --help", "state import a b",
    "state recover postgresql://mine/x", "state recover git+https://mine/x#y", "apply -t */staging",
    f"apply --expect-digest {DIGEST}", f"apply -t */staging -t */production --expect-digest {DIGEST}",
    f"apply -t europe/* --expect-digest {DIGEST}", f"apply -t */staging --auto-approve --expect-digest {DIGEST}",
    f"apply -t */staging --allow-plaintext-responses --expect-digest {DIGEST}",
    f"apply plan.json -t */staging --expect-digest {DIGEST}",
    f"apply -t */staging --state s3://mine/x --expect-digest {DIGEST}",
])  # fmt: skip
def test_refused(line: str) -> None:
    """Other commands, global options, options of the form itself, and an apply of more than one stage are refused."""
    with pytest.raises(SystemExit) as stopped:
        repair.parse(line, STAGES)
    assert str(stopped.value).startswith("::error::command: ")


@pytest.mark.parametrize(("rules", "role", "goes_on"), [
    ([{"type": "required_reviewers"}], "write", True), ([{"type": "branch_policy"}], "maintain", True),
    ([], "admin", True), ([{"type": "wait_timer"}], "write", False),
])  # fmt: skip
def test_stranger(monkeypatch: pytest.MonkeyPatch, rules: list[object], role: str, goes_on: bool) -> None:
    """Where nobody has to approve, only who may maintain the repository may use the form."""
    monkeypatch.setenv("GITHUB_TRIGGERING_ACTOR", "someone")
    answers: dict[str, object] = {"environments/staging": {"protection_rules": rules}}
    answers["collaborators/someone/permission"] = {"role_name": role}
    monkeypatch.setattr(job, "get", lambda path: answers[path])
    if goes_on:
        job.refuse_stranger("staging")
    else:
        with pytest.raises(SystemExit):
            job.refuse_stranger("staging")


def asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, line: str = "state import europe/staging/a",
    code: int = 0
) -> str:  # fmt: skip
    """Preview a command that says a text when it is tried."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary"))
    monkeypatch.setattr(job, "reconciler", lambda *_, **__: (code, text))
    return repair.preview(repair.parse(line, STAGES)[0])


SHOWN = f"Digest: {DIGEST}. Nothing was appended.\n"


def test_preview(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The command is run with the digest of what was shown, which is in the summary, escaped."""
    line = "state resolve europe/staging/a --created --note '<img src=x> $(id)'"
    command = asked(monkeypatch, tmp_path, f"<b>facts</b>\n{SHOWN}", line)
    assert f"{line} --expect-digest {DIGEST}" == command
    summary = (tmp_path / "summary").read_text()
    assert "&lt;img src=x&gt;" in summary
    assert "<b>" not in summary
    assert DIGEST in summary


@pytest.mark.parametrize("line", [
    f"state import '{TAKEN}/staging/a'", f"state import europe/staging/a --url '{TAKEN}'",
    f"state resolve europe/staging/a --created --note '{TAKEN}'", f"removal list -t '{TAKEN}'",
])  # fmt: skip
def test_preview_of_a_hostile_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    """A name that would take effect in the log or the summary is shown as it is written, and is no output."""
    is_read = line.startswith("removal list")
    command = asked(monkeypatch, tmp_path, TAKEN if is_read else f"{TAKEN}\n{SHOWN}", line)
    summary = (tmp_path / "summary").read_text()
    assert summary.count("taken") == 2
    assert not re.search("<b>|\x1b|\u202e", summary)
    assert not re.search("\x1b|\u202e|^\\s*::", capsys.readouterr().out, re.MULTILINE)
    if command:
        with pytest.raises(SystemExit):
            job.tell("command", command)


def test_reading_needs_no_approval(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A command that only reads is done when it was shown."""
    assert asked(monkeypatch, tmp_path, "nothing in force", "state show") == ""


@pytest.mark.parametrize(("text", "code"), [(SHOWN, 1), ("", 0), (f"{SHOWN}{SHOWN}", 0), ("x" * (1 << 20) + SHOWN, 0)])
def test_preview_that_approves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, code: int) -> None:
    """What fails, has no digest or two, or does not fit into the summary cannot be approved."""
    with pytest.raises(SystemExit):
        asked(monkeypatch, tmp_path, text, code=code)
