"""`reconciler drill`"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from reconciler.cli.options import cli_command
from reconciler.cli.terminal.terminal import Terminal
from reconciler.errors import SettingsError
from reconciler.model.spelling import suggestion
from reconciler.operations.drills.catalog import DRILLS
from reconciler.operations.drills.commands import Counted
from reconciler.operations.drills.drill import Drill
from reconciler.operations.drills.finding import PAGE, Kind
from reconciler.operations.drills.scene import TARGET, Scene
from reconciler.operations.drills.score import Score, score_of
from reconciler.operations.interrupts import ignored
from reconciler.reports.line import Line, Tone
from reconciler.sandbox.sandbox import Sandbox

_TYPING = (
    "Type your commands at the prompt below: it is a shell in the directory of the project, with settings that another"
    " terminal does not have. End the line of a command that keeps running with `&`, or stop it with Ctrl-C. `operator`"
    " asks the operator of the service what exists there; `operator delete ID` has it deleted, `operator secret ID`"
    " prints its secret."
)
_END = (
    "It is over when the service has each subscription of config/ once and nothing else, the record has the same, with"
    " the secret of each, the plan is empty, {rest}. Then type `exit`. `reconciler status` and other commands that only"
    " look are not counted against you: start with one."
)
_USUAL_END = "nothing awaits removal or is left over"


def _names(_: click.Context, __: click.Parameter, beginning: str) -> list[CompletionItem[str]]:
    return [CompletionItem(name, help=DRILLS[name].summary) for name in DRILLS if name.startswith(beginning)]


@cli_command("drill")
@click.argument("name", metavar="[NAME]", default="", shell_complete=_names)
@click.option("--list", "listing", is_flag=True, help="List the drills, and do nothing else.")
@click.option(
    "--retry-interval", metavar="SECONDS", type=float, default=15.0,
    help="Delay between the sandbox's delivery retries.  [15]",
)  # fmt: skip
def command(terminal: Terminal, name: str, listing: bool, retry_interval: float) -> int | None:
    """Rehearse a bad day against the embedded sandbox.

    Sets the scene in a temporary directory, explains what went wrong, and opens a shell there. After `exit`, the score
    says whether anything exists twice, is lost, or is still to be done, how many commands it took and how many of them
    changed something, and what the recommended way is. Off a terminal, the shell reads its commands from stdin. Calls
    nothing outside this machine and leaves nothing behind.

    Without NAME, lists the drills. Exit code 0 if the drill is passed, 1 if not.
    """
    if listing or not name:
        _list(terminal)
        return None
    if name not in DRILLS:
        raise SettingsError(
            f"unknown drill{suggestion([name], DRILLS)}", where=name, remedy="see reconciler drill --list"
        )
    if not 0 <= retry_interval <= 86_400:
        raise SettingsError("expected 0 to 86400 seconds", where="--retry-interval", remedy="the default is 15")
    drill = DRILLS[name]
    _show(terminal, Line("Setting the scene…"), Line(""))
    with tempfile.TemporaryDirectory(prefix="reconciler-drill-") as folder:
        place = Path(folder).resolve() / drill.name
        with Sandbox(targets=[TARGET], retry_interval=retry_interval) as sandbox:
            scene = Scene(place, sandbox, retry_interval, lambda text: _show(terminal, Line(text, Tone.HEADING)))
            story = drill.set_up(scene)
            _show(terminal, Line(""), Line(story), Line(""), Line(_TYPING), Line(""), Line(_end(drill)), Line(""))
            with ignored():
                scene.wait_for_person()
            score = score_of(drill, scene)
    _show(terminal, Line(""), *_score_lines(drill, score))
    return 0 if score.passed else 1


def _end(drill: Drill) -> str:
    """When the drill is over."""
    return _END.format(rest=f"{_USUAL_END}, and {drill.besides}" if drill.besides else f"and {_USUAL_END}")


def _list(terminal: Terminal) -> None:
    width = max(map(len, DRILLS))
    terminal.print_lines(Line(f"{drill.name:<{width}}  {drill.summary}") for drill in DRILLS.values())


def _score_lines(drill: Drill, score: Score) -> Iterator[Line]:
    verdict = "passed" if score.passed else "not passed"
    yield Line(f"Drill {drill.name}: {verdict}.", Tone.ADDED if score.passed else Tone.ERROR)
    for kind in Kind:
        findings = score.of(kind)
        yield Line(f"  {kind}: {len(findings) or 'nothing'}", Tone.ERROR if findings else Tone.PLAIN)
        for finding in findings:
            yield Line(f"    {finding.sentence}")
            yield Line(f"      see {finding.see}", Tone.FAINT)
    yield Line(f"  {_effort(drill, score.commands)}")
    yield Line("")
    yield Line(f'The recommended way, as {PAGE} explains it in "{drill.section}":')
    yield from (Line(f"    {line}") for line in drill.way)
    if not score.passed:
        yield Line("To repeat the drill, run:")
        yield Line(f"    reconciler drill {drill.name}")


def _effort(drill: Drill, commands: Counted) -> str:
    enough = f"{drill.enough} {'is' if drill.enough == 1 else 'are'} enough"
    match commands.run:
        case 0:
            return f"no reconciler command; {enough}"
        case 1:
            return f"1 reconciler command, which changed {'something' if commands.changed else 'nothing'}; {enough}"
    return f"{commands.run} reconciler commands, {commands.changed or 'none'} of them changed something; {enough}"


def _show(terminal: Terminal, *lines: Line) -> None:
    terminal.print_lines(lines)
    sys.stdout.flush()
