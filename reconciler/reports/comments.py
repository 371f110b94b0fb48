"""The comment on a pull request: whose it is, what it is about, and the plan or why there is none."""

from collections.abc import Iterable, Sequence
from shlex import quote

from reconciler.errors import ConfigError, ReconcilerError
from reconciler.model.address import TargetName
from reconciler.model.plan import Plan
from reconciler.reports.cutting import COMMENT_LIMIT, cut
from reconciler.reports.markdown import plan_markdown
from reconciler.reports.paper import Paper, code
from reconciler.reports.wording import counted

_ALL = quote("*/*")


def comment(marker: str, commit: str | None, run_url: str | None, report: str) -> str:
    """The comment that shows `report`, of at most as many characters as one may have.

    `marker` is a line that is not shown, and the first; the program finds its comment by that.
    """
    run = f"[this run]({run_url})" if run_url else "the run"
    about = f"Commit {code(commit)}" if commit else "Commit unknown"
    head = f"{marker}\n{about}, planned by {run}.\n\n"
    return head + cut(report, COMMENT_LIMIT - len(head), f"see {run}", len)


def page_in_artifact(run_url: str | None) -> str:
    """Where the page of the plan is, for a run that saves it."""
    return f"The plan as a page: plan.html in {f'[the run]({run_url})' if run_url else 'the run'}'s artifact."


def uninitialized(targets: Iterable[TargetName]) -> str:
    """What to do for targets that a plan leaves out, since they never had a record."""
    rows = [
        f"- {code(name)} is not initialized, and left out here. Once this is on the default branch: *Run workflow*,"
        f" operation `state init`, address {code(name)}. But if it had a record, that is lost: do not initialize it.\n"
        for name in targets
    ]
    return f"**Not initialized**\n\n{''.join(rows)}"


def not_comparable(before: str, stage: str, targets: Sequence[TargetName]) -> str:
    """Why a stage must wait for the one before it: targets of that one have no record, so nothing is in force there."""
    return (
        f"**{code(stage)} waits for {code(before)}**\n\nNothing is wrong with {code(stage)}: in {code(before)},"
        f" {', '.join(map(code, targets))} {'is' if len(targets) == 1 else 'are'} not initialized yet, so"
        " nothing can be in force there. Initialize and apply"
        f" {code(before)} first: *Run workflow*, operation `state init`, address {code(' '.join(targets))}; then run"
        " this again.\n\n"
    )


def nothing_recorded(place: str, targets: Iterable[TargetName]) -> str:
    """What to do where no target has a record: it cannot be told from a branch that was deleted."""
    return (
        f"### No plan: no target has a state record in {code(place)}\n\n"
        f"1. If there was one, its branch may have been deleted, or {code(place)} is the wrong place. Initialize"
        " nothing: on a machine that has used the record, run `reconciler state recover -t"
        f" {_ALL}`, or restore a"
        " backup.\n"
        "2. If this is the first run after the set-up: *Run workflow*, operation `state init`, address"
        f" {code(' '.join(targets))}.\n"
    )


def plan_report(planned: Plan | ReconcilerError) -> str:
    """A plan, or what is wrong if there is none: every mistake in the configuration, or the error."""
    if isinstance(planned, Plan):
        return plan_markdown(planned)
    if isinstance(planned, ConfigError):
        paper = Paper(f"### No plan: the configuration has {counted(planned.count, 'mistake')}\n")
        paper.bullets("Mistakes", [f"- {code(str(mistake))}\n" for mistake in planned.mistakes])
        return paper.text("")
    return f"### No plan\n\n{code(str(planned))}\n"
