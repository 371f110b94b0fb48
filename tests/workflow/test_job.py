"""What the scripts write: outputs, the log, the summary."""

from __future__ import annotations

import html
import os
from pathlib import Path

import job
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.reports.words import harmless_line


@pytest.fixture
def summary(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The file of the summary."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary"))
    return tmp_path / "summary"


def test_summary_is_measured(summary: Path) -> None:
    """What is to be approved fits with all that is there already; one byte more stops."""
    job.show("é")
    job.show("x" * (job.SUMMARY - 2), whole=True)
    assert job.SUMMARY == summary.stat().st_size
    with pytest.raises(SystemExit):
        job.show("x", whole=True)


def test_report_that_is_too_long(summary: Path) -> None:
    """A report that approves nothing is left out, and says so."""
    job.show("x" * (job.SUMMARY + 1))
    assert "The report is too long for this page: see the log.\n" == summary.read_text()


@pytest.mark.parametrize("hidden", ["\u202e", "\x1b[2K", "\u200b", "\r", "\x00", "\u2028", "\ue000"])
def test_characters_that_cannot_be_shown(summary: Path, hidden: str) -> None:
    """Text that shows other than it is cannot be approved."""
    with pytest.raises(SystemExit):
        job.show(f"create{hidden}\n", whole=True)
    assert not summary.exists()


@pytest.mark.parametrize("value", ["apply\ncommand=apply --auto-approve", "a\r", "\x1b", "a\u2028b"])
def test_output_of_several_lines(value: str) -> None:
    """No value of an output can begin another one."""
    with pytest.raises(SystemExit):
        job.tell("command", value)


@given(st.text())
def test_log(text: str) -> None:
    """No line of the log is a command of the runner, and a block ends with its text."""
    lines = [harmless_line(line) for line in text.splitlines()]
    assert [] == [line for line in lines if line.lstrip().startswith("::") or "##[" in line or not line.isprintable()]
    assert job.block(text).count("<") == 2


def test_block_hides_nothing_to_the_right() -> None:
    """A block of Markdown does not wrap: what blanks would push out of sight is on a line of its own."""
    text = f"state resolve europe/staging/a --created --note 'fine{' ' * 500}' --force"
    lines = job.block(text).removeprefix("<pre>").removesuffix("</pre>\n\n").splitlines()
    assert max(map(len, lines)) <= 240
    assert "--force" in html.unescape("".join(lines))
    assert text == html.unescape("".join(lines))


def test_error_is_one_line() -> None:
    """An error cannot carry a command of the runner."""
    with pytest.raises(SystemExit, match=r"^::error::a\\n::set-env") as stopped:
        job.stop("a\n::set-env name=PATH::x")
    assert "\n" not in str(stopped.value)


def test_store_credentials(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Only the names of stores become variables, each value masked."""
    for name in ("PGPASSWORD", "AWS_SECRET_ACCESS_KEY", "PATH", "LD_PRELOAD"):
        monkeypatch.setenv(name, "before")
    job.take_store_credentials("PGPASSWORD=a=b\n AWS_SECRET_ACCESS_KEY=c\nLD_PRELOAD=x\nPATH=y\n")
    values = [os.environ[name] for name in ("PGPASSWORD", "AWS_SECRET_ACCESS_KEY", "PATH", "LD_PRELOAD")]
    assert ["a=b", "c", "before", "before"] == values
    assert "::add-mask::a=b\n::add-mask::c\n" == capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "is_taken"),
    [
        ({}, True), ({"event": "workflow_dispatch"}, True), ({"event": "pull_request"}, False),
        ({"head_branch": "change"}, False), ({"head_repository": {"full_name": "fork/hooks"}}, False),
        ({"head_repository": None}, False), ({"head_sha": "of a tag"}, False), ({"head_sha": "merged"}, False),
    ],
)  # fmt: skip
def test_artifact_of_a_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, changes: dict[str, object], is_taken: bool
) -> None:
    """A file comes from an artifact of a run of the default branch alone, by branch, event and commit.

    A commit that came with a merge was never the tip: what its workflow does, nobody has to have seen.
    """
    run = {
        "head_repository": {"full_name": "partner/hooks"}, "head_branch": "main", "event": "push", "head_sha": "ours",
        **changes,
    }  # fmt: skip
    monkeypatch.setattr(job, "git", lambda *words: "earlier\nours" + "\nmerged" * ("--first-parent" not in words))
    monkeypatch.setattr(job, "get", lambda *_: run)
    monkeypatch.setattr(job, "_download", lambda *_: [tmp_path / "recovered"])
    words = ["state", "recover", "run:12/unrecorded"]
    if is_taken:
        assert ["state", "recover", str(tmp_path / "recovered")] == job.fetched(words)
    else:
        with pytest.raises(SystemExit):
            job.fetched(words)
