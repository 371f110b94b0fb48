"""`reconciler state verify`"""

from reconciler.cli.exit_codes import exit_code
from reconciler.cli.options import cli_command
from reconciler.cli.terminal.terminal import Terminal
from reconciler.errors import RecordMissing, StateError
from reconciler.model.address import TargetName
from reconciler.model.result import Verdict
from reconciler.operations.workspace import Workspace
from reconciler.state.heads.kept import together
from reconciler.state.journal.chain import Journal


@cli_command("verify")
def command(terminal: Terminal) -> int:
    """Verify the integrity of the state record.

    Checks each journal's hash chain and target, and that it contains the last head known to this machine. Exits with 1
    and names the line if a journal is damaged, or if a declared or previously seen journal is missing.
    """
    workspace = Workspace(terminal)
    names = workspace.known_targets()
    if not names:
        raise RecordMissing("no state record here", where=workspace.store.location)
    problems: dict[TargetName, StateError] = {}
    for name in names:
        try:
            _show(terminal, name, workspace.read(name, closed=True))
        except StateError as problem:
            problems[name] = problem
    for found in together(problems, workspace.store.location):
        terminal.print_problem(found)
    return exit_code(Verdict.FAILED if problems else Verdict.DONE)


def _show(terminal: Terminal, name: TargetName, journal: Journal) -> None:
    torn = f"; ignoring an incomplete last line ({journal.torn} bytes), which the next append removes"
    state = f"valid, {len(journal.lines)} entries, head {journal.head}{torn if journal.torn else ''}"
    closed = journal.record().closed
    elsewhere = "" if closed is None else f"; closed, since it is copied to {closed.to}"
    terminal.print_line(f"  {name}: {state}{elsewhere}")
