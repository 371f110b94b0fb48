"""`reconciler state verify`"""

from reconciler.cli.exit_codes import exit_code
from reconciler.cli.options import cli_command
from reconciler.cli.terminal.terminal import Terminal
from reconciler.errors import RecordMissing, StateError
from reconciler.model.address import TargetName
from reconciler.model.result import Verdict
from reconciler.operations.workspace import Workspace


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
    damaged = [name for name in names if not _verify(terminal, workspace, name)]
    return exit_code(Verdict.FAILED if damaged else Verdict.DONE)


def _verify(terminal: Terminal, workspace: Workspace, name: TargetName) -> bool:
    try:
        journal = workspace.read(name, closed=True)
    except StateError as problem:
        terminal.print_problem(problem)
        return False
    torn = f"; ignoring an incomplete last line ({journal.torn} bytes), which the next append removes"
    state = f"valid, {len(journal.lines)} entries, head {journal.head}{torn if journal.torn else ''}"
    closed = journal.record().closed
    elsewhere = "" if closed is None else f"; closed, since it is copied to {closed.to}"
    terminal.print_line(f"  {name}: {state}{elsewhere}")
    return True
