"""Declares the commands, and turns errors into text on stderr and an exit code."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

import click

from reconciler import __version__
from reconciler.cli.commands import Group
from reconciler.cli.invocation import Invocation
from reconciler.cli.streams import lead_nowhere, open_streams

if TYPE_CHECKING:
    from collections.abc import Sequence

_CONSENT = ("--auto-approve", "--yes")
"""The options that give consent. If a command has only the other option, the error suggests that option."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

REMOVAL = Group(
    "removal",
    {
        "Commands": {
            "list": ("removal:list_", "Show the messages to send to the operator."),
            "request": ("removal:request", "Request the removal of subscriptions in force."),
            "cancel": ("removal:cancel", "Cancel a removal request."),
            "confirm": ("removal:confirm", "Confirm that the operator has removed subscriptions."),
        }
    },
    short_help="Ask the operator to remove subscriptions.",
    help="Ask the operator to remove subscriptions: the service has no call for it.",
)
STATE = Group(
    "state",
    {
        "Read": {
            "show": ("state:show", "Show the subscriptions in force."),
            "history": ("state:history", "Show the history of the record."),
            "verify": ("state:verify", "Check the integrity of the record."),
        },
        "Record": {
            "import": ("state:import_", "Record subscriptions that were created by other means."),
            "resolve": ("state:resolve", "Settle unknown outcomes."),
            "mv": ("state:mv", "Rename a subscription."),
            "rebind": ("state:rebind", "Point a target at the service and account in the settings."),
            "observe": ("state:observe", "Record notifications as evidence."),
        },
        "Begin, move and repair": {
            "init": ("state:init", "Begin the record."),
            "complete": ("state:complete", "Declare the record complete, and allow creates."),
            "accept-loss": ("state:accept_loss", "Continue with the remaining record."),
            "recover": ("state:recover", "Merge facts that the record lacks."),
            "copy": ("state:copy", "Move the record to another place."),
        },
    },
    short_help="Read and repair the record.",
    help="Read and repair the record: what is known to exist at the service.",
)
SECRET = Group(
    "secret",
    {
        "Commands": {
            "show": ("secret:show", "Print the response to a create, or one field of it."),
            "set": ("secret:set_", "Record a secret that you received by other means."),
        }
    },
    short_help="Show or set the secret of a subscription.",
    help="Show or set the secret of a subscription.",
)
LEAD = Group(
    "lead",
    {"Commands": {"create": ("service:create_lead", "Create a lead and print the answer.")}},
    short_help="Create a lead.",
    help="Work with leads.",
)
SIGNATURE = Group(
    "signature",
    {"Commands": {"detect": ("notifications:detect", "Detect how notifications are signed.")}},
    short_help="Detect how notifications are signed.",
    help="Detect how notifications are signed.",
)
SANDBOX = Group(
    "sandbox",
    {
        "Commands": {
            "serve": ("sandbox:serve", "Run the sandbox until interrupted."),
            "trigger": ("sandbox:trigger", "Trigger an event."),
            "list": ("sandbox:list_", "List the subscriptions in the sandbox."),
            "delete": ("sandbox:delete", "Delete a subscription, as the operator does."),
        }
    },
    short_help="Run a local sandbox of the service.",
    help="Run a local sandbox of the service, and act as its operator.",
)

cli = Group(
    "reconciler",
    {
        "Core": {
            "init": ("project:init", "Write the files of a new project."),
            "validate": ("project:validate", "Check the configuration."),
            "plan": ("plan:plan", "Show the changes that an apply would make."),
            "apply": ("apply:apply", "Apply the plan."),
            "status": ("status:status", "Show what is in force and what needs your attention."),
            "parity": ("status:parity", "Compare targets."),
            "doctor": ("project:doctor", "Check everything that an apply depends on."),
        },
        "Removals": {"removal": REMOVAL},
        "Record": {"state": STATE, "secret": SECRET},
        "Service": {"token": ("service:token", "Print an access token."), "lead": LEAD},
        "Develop": {
            "listen": ("notifications:listen", "Receive notifications until interrupted."),
            "signature": SIGNATURE,
            "sandbox": SANDBOX,
            "schema": ("project:schema", "Print the JSON Schema of the files in config/."),
            "completion": ("project:completion", "Print the completion script for a shell."),
            "demo": ("demo:demo", "Run the whole loop against the embedded sandbox."),
        },
    },
    help="Manage a lending partner's webhook subscriptions declaratively.\n\nYAML files in config/ say which"
    " subscriptions are desired, `plan` compares them with the record of what exists, and `apply` sends each missing"
    " create call at most once.",
    epilog="Exit codes: 0 done; 1 failed, including usage errors; 2 differences found (`plan` and `status` with"
    " --detailed-exitcode, `parity`); 3 a create is unresolved; 129, 130, 143 interrupted.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
cli = click.version_option(__version__, prog_name="reconciler", message="%(prog)s %(version)s")(cli)


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and end the process at once with its exit code, even if a stream fails."""
    try:
        code = run(args)
    except BaseException as problem:  # noqa: BLE001 - a signal that arrived while an error was reported
        code = getattr(problem, "exit_code", 1)
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)  # the work is done: a signal must not change the exit code
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):  # a failure at interpreter shutdown would set exit code 120
            lead_nowhere(stream)
    os._exit(code)  # freeing a large record object by object takes longer than planning it


def run(args: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code. Raises nothing."""
    invocation = Invocation()
    open_streams()
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, _interrupt)
    try:
        code = cli.main(args, prog_name="reconciler", standalone_mode=False, obj=invocation)
    except SystemExit as end:  # click does this if the reader of a help text has closed the pipe
        return end.code if isinstance(end.code, int) else 0
    except BaseException as problem:  # noqa: BLE001 - no traceback ever reaches a user
        return _explain(problem, invocation)
    return code if isinstance(code, int) else 0


def _interrupt(number: int, _frame: object) -> NoReturn:
    try:
        from reconciler.errors import Interrupted  # noqa: PLC0415 - nothing that --help needs
    except ImportError:  # the program is still being loaded, so nothing has begun
        raise SystemExit(128 + number) from None
    raise Interrupted(number)


def _explain(problem: BaseException, invocation: Invocation) -> int:
    """Report an exception on stderr, and return the exit code."""
    from reconciler.errors import Interrupted, Message, ReconcilerError, step  # noqa: PLC0415 - only for an error

    terminal = invocation.terminal
    match problem:
        case Interrupted():
            if invocation.serves:
                terminal.note("stopped")
            else:
                terminal.complain(Message("interrupted", "interrupted"))
            return problem.exit_code
        case ReconcilerError():
            from reconciler.cli.terminal import annotation, in_actions  # noqa: PLC0415 - only for an error

            for message in problem.messages if in_actions() else ():
                if message.place:
                    click.echo(annotation(message, "error"), err=True)
            terminal.complain(*problem.messages)
            return problem.exit_code
        case click.UsageError():
            path = problem.ctx.command_path if problem.ctx else "reconciler"
            what = problem.format_message().replace("\n\t", " ").rstrip(".")  # click's own list of choices
            if isinstance(problem, click.NoSuchOption) and problem.option_name in _CONSENT and problem.ctx:
                options = (name for param in problem.ctx.command.params for name in param.opts if name in _CONSENT)
                what = "".join([what, *(f". Did you mean '{name}'?" for name in options)])
            terminal.complain(Message("usage", what, "", (step("see", *path.split(), "--help"),)))
        case click.Abort():
            terminal.complain(Message("no-answer", "no answer; nothing was changed"))
        case OSError():
            what = problem.strerror or type(problem).__name__
            terminal.complain(Message("os-error", what, str(problem.filename or "a file or a stream")))
        case _:
            _report(problem, invocation)
    return 1


def _report(problem: BaseException, invocation: Invocation) -> None:
    """Report a bug in the program, without the text of the exception, which may contain a secret."""
    from reconciler.errors import Message  # noqa: PLC0415 - only for an error

    frames, trace = [], problem.__traceback__
    while trace is not None:
        frames.append(f"{trace.tb_frame.f_globals.get('__name__')}:{trace.tb_lineno}")
        trace = trace.tb_next
    terminal = invocation.terminal
    shown = frames if terminal.is_verbose else frames[-1:]
    what = f"internal error ({type(problem).__name__} at {', '.join(shown)}); please report it"
    terminal.complain(Message("internal-error", what))
