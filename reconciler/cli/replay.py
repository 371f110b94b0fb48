"""`reconciler replay`"""

import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import click

from reconciler.cli.options import cli_command
from reconciler.cli.terminal.terminal import Terminal
from reconciler.errors import CallFailed, Interrupted, Refused, SettingsError
from reconciler.operations.replay import Replay, Replayed, read_signer
from reconciler.operations.workspace import Workspace
from reconciler.receiver.endpoint import Endpoint
from reconciler.receiver.selection import Lines, Selection, event_code, lines_of, ranges
from reconciler.reports.line import Line, Tone
from reconciler.reports.wording import counted

_MOST_RANGES = 20


@cli_command("replay")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--to", "url", metavar="URL", required=True, help="Endpoint to send to.")
@click.option("--line", "lines", metavar="N[-[M]]", multiple=True, help="Only these lines. Repeatable.")
@click.option("--code", "codes", metavar="CODE", multiple=True, help="Only this event code. Repeatable.")
@click.option("--since", metavar="TIME", help="Only what was received at this time or later.")
@click.option("--until", metavar="TIME", help="Only what was received at this time or before.")
@click.option("--all", "everything", is_flag=True, help="Retries and refused signatures as well.")
@click.option(
    "--sign-with", metavar="FILE", type=click.Path(path_type=Path), help="Sign again, with the secret in this file."
)
@click.option("--dry-run", is_flag=True, help="Show what would be sent, and send nothing.")
def command(
    terminal: Terminal, file: Path, url: str, lines: tuple[str, ...], codes: tuple[str, ...],
    since: str | None, until: str | None, everything: bool, sign_with: Path | None, dry_run: bool,
) -> None:  # fmt: skip
    """Send captured notifications again.

    FILE is a file written by `listen --record`. Sends the notifications in it to URL, in order and one after the other,
    with their bodies and headers as they were received, and prints the answer to each. Exits with 1 if one was not
    answered with 2xx. If URL has no path, each goes to the path that it was received at.

    Retries of a notification that is in FILE already and notifications that `listen --verify` refused are left out,
    unless --all is given. The values of Authorization and Cookie headers are not in FILE, so these are not sent.

    --sign-with replaces the signature, as `verification:` in config/ describes it; - is standard input:

    \b
        reconciler secret show ADDRESS --field secretKey | reconciler replay FILE --to URL --sign-with -

    When it is interrupted, it prints the command that continues. TIME is ISO 8601, in UTC if it has no offset.
    """
    workspace = Workspace(terminal)
    endpoint = Endpoint(url, workspace.timeout, "--to")
    signer = None if sign_with is None else read_signer(workspace, sign_with)
    selection = Selection(
        tuple(map(_lines, lines)), codes, _seconds(since, "--since"), _seconds(until, "--until"), everything
    )
    replay = Replay(workspace, file, selection, None if dry_run else endpoint, signer)
    words = _words(file, url, codes, since, until, everything, sign_with)
    terminal.work_is_done()  # what is sent stays sent, printed or not
    try:
        for replayed in replay.run():
            terminal.print_lines([_line(replayed)])
    except Interrupted:
        if replay.at and not dry_run:
            again = _command(words, selection.after(replay.at))
            terminal.end(f"Line {replay.at} may have been sent; to continue with it, run: {again}")
        raise
    _conclude(terminal, replay, words, dry_run=dry_run)


def _conclude(terminal: Terminal, replay: Replay, words: Sequence[str], *, dry_run: bool) -> None:
    """Print how it ended. Raises Refused if nothing was selected, CallFailed if not everything was confirmed."""
    if not replay.sent:
        raise Refused("no notification is selected", remedy="check FILE and the options, or use --all")
    notifications = counted(replay.sent, "notification")
    if dry_run:
        terminal.print_line(f"{notifications} to send, none sent.")
        return
    terminal.print_line(f"{notifications} sent, {replay.sent - len(replay.failed)} answered with 2xx.")
    if replay.failed:
        failed = ranges(replay.failed)
        if len(failed) > _MOST_RANGES:
            failed = [Lines(replay.failed[0], None)]
        raise CallFailed(
            f"{counted(len(replay.failed), 'notification')} not answered with 2xx",
            remedy=f"to send again, run: {_command(words, failed)}",
        )


def _line(replayed: Replayed) -> Line:
    captured, answer = replayed.captured, replayed.answer
    code = event_code(captured) or "no event code"
    told = f"line {replayed.number}  {captured.at}  {code}  {captured.path}"
    if answer is None:
        return Line(told)
    return Line(f"{told}  {answer.text}", Tone.ADDED if answer.is_confirmation else Tone.ERROR)


def _lines(text: str) -> Lines:
    lines = lines_of(text)
    if lines is None:
        raise SettingsError(
            "expected a line number or a range", where=f"--line {text}", remedy="for example 7, 7-9 or 7-"
        )
    return lines


def _seconds(text: str | None, where: str) -> float | None:
    """Epoch seconds of a time in ISO 8601."""
    if text is None:
        return None
    try:
        at = datetime.fromisoformat(text)
        return (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        example = "for example 2026-01-31T12:00:00Z or 2026-01-31"
        raise SettingsError("expected a time in ISO 8601", where=f"{where} {text}", remedy=example) from None


def _words(
    file: Path, url: str, codes: Sequence[str], since: str | None, until: str | None, everything: bool,
    sign_with: Path | None,
) -> list[str]:  # fmt: skip
    """The command that does the same, without its lines."""
    words = ["reconciler", "replay", str(file), "--to", url]
    for code in codes:
        words += ["--code", code]
    for option, value in (("--since", since), ("--until", until)):
        words += [] if value is None else [option, value]
    words += ["--all"] if everything else []
    return words + ([] if sign_with is None else ["--sign-with", str(sign_with)])


def _command(words: Sequence[str], lines: Sequence[Lines]) -> str:
    return shlex.join([*words, *(word for part in lines for word in ("--line", str(part)))])
