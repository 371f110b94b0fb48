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
from reconciler.operations.drills.drill import Drill
from reconciler.operations.drills.scene import TARGET, Scene
from reconciler.operations.drills.score import Score, score_of
from reconciler.operations.interrupts import ignored
from reconciler.reports.line import Line, Tone
from reconciler.sandbox.sandbox import Sandbox

_HOW_TO = (
    "You are in a shell, in the directory of the project. `operator` asks the operator of the service what exists"
    " there; `operator delete ID` has it deleted, `operator secret ID` prints its secret."
    " When you are done, type `exit`."
)


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
    says whether anything exists twice, is lost, or is still to be done, and how many commands it took. Off a terminal,
    the shell reads its commands from stdin. Calls nothing outside this machine and leaves nothing behind.

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
    with tempfile.TemporaryDirectory(prefix="reconciler-drill-") as folder:
        place = Path(folder).resolve() / drill.name
        with Sandbox(targets=[TARGET], retry_interval=retry_interval) as sandbox:
            scene = Scene(place, sandbox, retry_interval, lambda text: _show(terminal, Line(text, Tone.HEADING)))
            story = drill.set_up(scene)
            _show(terminal, Line(""), Line(story), Line(""), Line(_HOW_TO), Line(""))
            with ignored():
                scene.wait_for_person()
            score = score_of(drill, scene)
    _show(terminal, Line(""), *_score_lines(drill, score))
    return 0 if score.passed else 1


def _list(terminal: Terminal) -> None:
    width = max(map(len, DRILLS))
    terminal.print_lines(Line(f"{drill.name:<{width}}  {drill.summary}") for drill in DRILLS.values())


def _score_lines(drill: Drill, score: Score) -> Iterator[Line]:
    verdict = "passed" if score.passed else "not passed"
    yield Line(f"Drill {drill.name}: {verdict}.", Tone.ADDED if score.passed else Tone.ERROR)
    for heading, found in (("twice", score.twice), ("lost", score.lost), ("to do", score.open)):
        yield Line(f"  {heading}: {len(found) or 'nothing'}", Tone.ERROR if found else Tone.PLAIN)
        for sentence in found:
            yield Line(f"    {sentence}")
    yield Line(f"  commands: {score.commands}; the recommended way takes {score.enough}")


def _show(terminal: Terminal, *lines: Line) -> None:
    terminal.print_lines(lines)
    sys.stdout.flush()
