"""What the scripts write: outputs, the log, the summary."""

from __future__ import annotations

import html
import os
import signal
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from unittest.mock import Mock, patch

import job
import pytest
from hypothesis import given
from hypothesis import strategies as st


@pytest.fixture
def summary(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The file of the summary."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary"))
    return tmp_path / "summary"


def test_summary_is_measured(summary: Path) -> None:
    """What is to be approved fits with all that is there already; one byte more stops."""
    job.show("é" + "x" * (job.SUMMARY - 3), whole=True)
    with pytest.raises(SystemExit):
        job.show("é", whole=True)
    job.show("x", whole=True)
    assert job.SUMMARY == summary.stat().st_size


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
    with redirect_stdout(StringIO()) as log:
        assert text == job.say(text)
    lines = log.getvalue().split("\n")
    assert [len(text.splitlines()), ""] == [len(lines) - 1, lines[-1]]
    assert [] == [line for line in lines if line.lstrip().startswith("::") or "##[" in line or not line.isprintable()]
    assert job.block(text).count("<") == 2


def test_block_hides_nothing_to_the_right() -> None:
    """A block of Markdown does not wrap: what blanks would push out of sight is on a line of its own."""
    text = f"state resolve europe/staging/a --created --note 'fine{' ' * 500}' --force"
    lines = job.block(text).removeprefix("<pre>").removesuffix("</pre>\n\n").splitlines()
    assert max(map(len, lines)) <= 240
    assert "--force" in html.unescape("".join(lines))
    assert text == html.unescape("".join(lines))
    assert "<pre>a\n\nb</pre>\n\n" == job.block("a\n\nb")


def test_error_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """An error, or a warning, cannot carry a command of the runner."""
    job.warn("a\n::set-env name=PATH::x")
    assert "::warning::a\\n::set-env name=PATH::x\n" == capsys.readouterr().out
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


def run_of(**changes: object) -> dict[str, object]:
    """Return a run of the default branch, with changes."""
    own = {"head_repository": {"full_name": job.REPOSITORY}, "head_branch": "main", "event": "push", "head_sha": "ours"}
    return {**own, **changes}


@pytest.mark.parametrize(("changes", "is_taken"), [
    ({}, True), ({"event": "workflow_dispatch"}, True), ({"event": "schedule"}, True), ({"head_sha": "merged"}, False),
    ({"event": "pull_request"}, False), ({"head_branch": "change"}, False), ({"head_sha": "of a tag"}, False),
    ({"head_repository": None}, False), ({"head_repository": {"full_name": "fork/hooks"}}, False),
])  # fmt: skip
def test_artifact_of_a_run(monkeypatch: pytest.MonkeyPatch, changes: dict[str, object], is_taken: bool) -> None:
    """A file comes from an artifact of a run of the default branch alone, by branch, event and commit.

    A commit that came with a merge was never the tip: what its workflow does, nobody has to have seen.
    """
    monkeypatch.setattr(job, "git", lambda *words: "earlier\nours" + "\nmerged" * ("--first-parent" not in words))
    monkeypatch.setattr(job, "get", lambda *_: run_of(**changes))
    monkeypatch.setattr(job, "_download", lambda _, name: [Path("recovered")] * int(name[-1]))
    for files in range(3):
        words = ["state", "recover", f"run:12/unrecorded.{files}"]
        if is_taken and files == 1:
            assert ["state", "recover", "recovered"] == job.fetched(words)
        else:
            with pytest.raises(SystemExit):
                job.fetched(words)


def declare(path: Path, script: str) -> str:
    """Write a program, and return its path."""
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)
    return str(path)


def test_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """It has a home of the job's own; what it says is told, errors too if asked, and how it ends; signals reach it."""
    script = "printf \"$XDG_DATA_HOME $XDG_CACHE_HOME $*\"; cat; printf '\\377' >&2; kill -9 $$"
    handlers: dict[int, object] = {}
    monkeypatch.setattr(signal, "signal", handlers.__setitem__)
    monkeypatch.setattr(sys, "executable", declare(tmp_path / "python", script))
    monkeypatch.setenv("RUNNER_TEMP", "/t")
    said = "/t/reconciler-data /t/reconciler-cache -Pm reconciler plan<in>"
    assert (137, f"{said}\\xff") == job.reconciler("plan", stdin="<in>", with_errors=True)
    assert ((137, said), "\N{REPLACEMENT CHARACTER}") == (job.reconciler("plan", stdin="<in>"), capfd.readouterr().err)
    assert {1, 2, 15} == handlers.keys()


def test_gh(tmp_path: Path) -> None:
    """It asks this forge, a hundred rows at a time. What it says when it fails is no answer."""
    declare(tmp_path / "gh", 'echo "[\\"$GH_HOST $GH_ENTERPRISE_TOKEN $*\\"]"; exit $END')
    given = {"GITHUB_SERVER_URL": "https://forge.example", "GH_TOKEN": "own", "PATH": f"{tmp_path}:{os.defpath}"}
    asked = "api -X GET repos/partner/hooks/pulls -f page=2 -f per_page=100"
    with patch.dict(os.environ, given, END="0"):
        assert [f"forge.example own {asked}"] == job.get("pulls", "page=2", default={})
    with patch.dict(os.environ, given, END="1"):
        assert {} == job.get("pulls", default={})
        with pytest.raises(SystemExit):
            job.get("pulls")


def test_download(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each file of an artifact, in whatever folder, and nothing that a link in it leads to."""
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "plan.json").write_text("")
    (tmp_path / "a").symlink_to(__file__)
    monkeypatch.setattr(job, "gh", Mock())
    monkeypatch.setattr(job, "mkdtemp", lambda **_: str(tmp_path))
    monkeypatch.setenv("RUNNER_TEMP", "")
    assert ["plan.json"] == [path.name for path in job._download("12", "kept")]
