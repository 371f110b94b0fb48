"""The flags that every command takes, before and after its name; what makes a command; flags that some share."""

from __future__ import annotations

from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.shell_completion import CompletionItem

    from reconciler.cli.suggestions import Kind
    from reconciler.cli.terminal.terminal import Terminal
    from reconciler.reports.formats import Formats

F = TypeVar("F", bound="Callable[..., Any]")


class Invocation:
    """One run of the command line: the common flags it was given, by parameter name, and its terminal.

    A flag that was not given is absent. Errors are reported after click has parsed and run, so it outlives click's
    context.
    """

    def __init__(self) -> None:
        self.flags: dict[str, Any] = {}

    @cached_property
    def terminal(self) -> Terminal:
        """The streams, as the flags say."""
        from reconciler.cli.terminal.terminal import Terminal  # noqa: PLC0415 - nothing that --help needs

        return Terminal(self.flags)


def _remember(context: click.Context, param: click.Parameter, value: Any) -> None:
    if value is not None and value is not False and value != 0:
        context.ensure_object(Invocation).flags[str(param.name)] = value


def _common(*names: str, **attributes: Any) -> click.Option:
    return click.Option(names, expose_value=False, callback=_remember, **attributes)


COMMON_OPTIONS = [
    _common("--config", metavar="PATH", help="Desired state: a directory or a file.  [RECONCILER_CONFIG, config]"),
    _common("--state", metavar="PLACE", help="The state record: a path or a URL.  [RECONCILER_STATE, state]"),
    _common(
        "--cache-dir", metavar="DIR", help="Directory for the token cache and last known heads.  [RECONCILER_CACHE_DIR]"
    ),
    _common("--timeout", metavar="SECONDS", help="Total timeout of one call.  [RECONCILER_TIMEOUT, 30]"),
    _common("--parallelism", metavar="N", help="Maximum number of concurrent creates.  [RECONCILER_PARALLELISM, 4]"),
    _common("--color", type=click.Choice(["auto", "always", "never"]), help="Colour.  [auto]"),
    _common("-v", "--verbose", count=True, help="More diagnostics on stderr; -vv for all."),
    _common("-q", "--quiet", is_flag=True, help="Errors only on stderr."),
    _common("--log-format", type=click.Choice(["text", "json"]), help="Format of stderr.  [text]"),
]
"""The flags of the settings table. They win over the variables of the same meaning."""


def cli_command(name: str) -> Callable[[Callable[..., int | None]], click.Command]:
    """Make a function a command with the common flags; it gets the terminal of its run as its first argument."""

    def decorate(function: Callable[..., int | None]) -> click.Command:
        @wraps(function)
        def with_terminal(*args: Any, **options: Any) -> int | None:
            return function(click.get_current_context().ensure_object(Invocation).terminal, *args, **options)

        command = click.command(name)(with_terminal)
        command.params += COMMON_OPTIONS
        return command

    return decorate


def format_option(formats: Formats[Any]) -> Callable[[F], F]:
    """Add `--format`, as `form`: one of `formats`, text by default."""
    choice = click.Choice(list(formats))
    return click.option("--format", "form", type=choice, default="text", help="Output format.  [text]")


def known(kind: Kind) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem[str]]]:
    """For `shell_complete`: what a shell is offered for a value that names something of this kind."""

    def complete(context: click.Context, _: click.Parameter, beginning: str) -> list[CompletionItem[str]]:
        from reconciler.cli.suggestions import suggestions  # noqa: PLC0415 - only if a shell asks

        return suggestions(kind, context, beginning)

    return complete


target_option = click.option(
    "-t",
    "--target",
    "targets",
    multiple=True,
    metavar="PATTERN",
    shell_complete=known("pattern"),
    help="Limit to matching targets or addresses: a glob over region/environment or region/environment/name."
    " Repeatable.",
)
detailed_exitcode_option = click.option(
    "--detailed-exitcode", is_flag=True, help="Exit with 2 if there are changes, 3 if a create has an unknown outcome."
)
attempt_option = click.option(
    "--attempt", metavar="ID", help="Attempt to use if the address has several.", shell_complete=known("attempt")
)
attempts_option = click.option(
    "--attempt",
    "attempts",
    multiple=True,
    metavar="ID",
    help="Only this attempt of those selected. Repeatable.",
    shell_complete=known("attempt"),
)
allow_empty_option = click.option(
    "--allow-empty", is_flag=True, help="Allow a plan that removes every subscription of a target."
)
duplicates_option = click.option(
    "--accept-possible-duplicates",
    "accepted_duplicates",
    multiple=True,
    metavar="TARGET",
    shell_complete=known("target"),
    help="Create even if the record of TARGET, on the same service, is missing or damaged. Its subscriptions may be"
    " created twice. Repeatable.",
)
