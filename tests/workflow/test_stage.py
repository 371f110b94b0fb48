"""What a stage decides, as far as it takes no runner: the stages of a workflow, and the comment."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import job
import pytest
import stage as script


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The script in a checkout, with what it has asked `gh` for: `written`, and the comments there are: `comments`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://github.com")
    monkeypatch.setenv("GITHUB_RUN_ID", "7")
    seen = SimpleNamespace(written=[], comments=[], path=tmp_path, script=script)

    def gh(*words: str, stdin: object = None) -> Any:
        if stdin is None:
            return [seen.comments] if "--paginate" in words else []
        seen.written.append((words, stdin))
        return None

    monkeypatch.setattr(job, "gh", gh)
    monkeypatch.setattr(job, "WORKFLOW", "workflow.yml")
    monkeypatch.setattr(script, "REPORT", tmp_path / "plan.md")
    return seen


def comment(stage: Any, text: str) -> tuple[tuple[str, ...], str]:
    """Write the comment for a report; return what `gh` was asked, and the text."""
    (stage.path / "plan.md").write_text(text)
    stage.script.comment()
    ((words, body),) = stage.written
    return words, body["body"]


def row(number: int, body: str, login: str = "github-actions[bot]") -> dict[str, Any]:
    """Return a comment."""
    return {"id": number, "body": body, "user": {"login": login}}


def test_first_comment(stage: Any) -> None:
    """The comment begins with its marker, and names the commit that was planned."""
    words, text = comment(stage, "### Plan\n")
    assert ("api", "repos/partner/hooks/issues/5/comments", "--input", "-") == words
    assert text.startswith(stage.script.MARKER)
    assert "c0ffee" in text


def test_comment_of_an_earlier_run(stage: Any) -> None:
    """The workflow's own comment is changed: the one with the marker in front, by nobody else, of no other workflow."""
    marker = stage.script.MARKER
    others = [row(1, "of another workflow"), row(2, f"> {marker}"), row(3, f"{marker}forged", "someone")]
    stage.comments = [*others, row(4, f"{marker}old")]
    words, _ = comment(stage, "### Plan\n")
    assert ("api", "-X", "PATCH", "repos/partner/hooks/issues/comments/4", "--input", "-") == words


@pytest.mark.parametrize("fence", ["", "```sh\n", "```sh\n```\n"])
def test_comment_that_is_cut(stage: Any, fence: str) -> None:
    """A comment that is cut says so in its first line, links the summary, and ends a block that is open."""
    _, text = comment(stage, f"### Plan\n{fence}" + "xyz\n" * 50_000)
    lines = text.split("\n")
    assert (2 * bool(fence), True, set()) == (text.count("```"), len(text) > 64_000, {"x", "xy"} & {*lines})
    assert "**This is cut: [the summary](https://github.com/partner/hooks/actions/runs/7) is whole.**" == lines[1]
    assert len(text) < 65_536


@pytest.mark.parametrize(("needs", "after"), [
    ("needs: first", "staging"), ("needs: [tests, first]", "staging"), ("needs: tests", ""), ("", ""),
])  # fmt: skip
def test_stage_before(stage: Any, needs: str, after: str) -> None:
    """The stages are the jobs of the workflow that name one; one follows the stage that its job needs."""
    (stage.path / "workflow.yml").write_text(
        "jobs:\n  tests: {with: {config: c}}\n  first:\n    with: {stage: staging}\n"
        f"  second:\n    with: {{stage: production}}\n    {needs}\n"
    )
    assert {"staging": "", "production": after} == stage.script.stages()


@pytest.mark.parametrize(("moved", "stops"), [("config", True), (".github", True), ("README.md", False)])
def test_tip(stage: Any, monkeypatch: pytest.MonkeyPatch, moved: str, stops: bool) -> None:
    """What is approved is what the default branch has: its desired state, and what decides on it."""
    monkeypatch.setattr(job, "git", lambda *words: words[-1] if words[-1].endswith(f":{moved}") else "same")
    with pytest.raises(SystemExit) if stops else nullcontext():
        stage.script.tip()


def test_plan_that_failed(stage: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no plan, whatever was printed and written before."""
    monkeypatch.setattr(job, "reconciler", lambda *_: (1, "<!-- a report -->"))
    with pytest.raises(SystemExit):
        stage.script.plan()
    assert not (stage.path / "plan.md").exists()
