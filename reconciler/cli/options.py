"""The flags that every command takes, before and after its name; what makes a command; flags that some share."""

from __future__ import annotations

from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

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


class _Help(click.HelpFormatter):
    """A help text in which words break at spaces alone, and what stands between backquotes does not.

    Without a regular expression, which is paid for at each start.
    """

    def write_text(self, text: str) -> None:
        super().write_text(_joined(text))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        super().write_dl([(term, _joined(text)) for term, text in rows], col_max, col_spacing)

    def getvalue(self) -> str:
        return super().getvalue().replace("\0", " ").replace("\1", "-")


def _joined(text: str) -> str:
    """`text` with other characters where it must not be wrapped; no help has those."""
    parts = text.replace("-", "\1").split("`")
    return "`".join("\0".join(part.split()) if number % 2 else part for number, part in enumerate(parts))


class Context(click.Context):
    """The context of a command, with its help as a terminal shows it."""

    formatter_class = _Help


class Command(click.Command):
    """A command whose help only names the flags that every command takes."""

    context_class = Context

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does it; if a target was given without -t, or an option of another tool, the error says so."""
        refuse_single_dash(self, ctx, args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as problem:
            raise explained(self, ctx, problem) from None
        except click.UsageError as problem:
            stray = problem.message.partition(" extra argument")[2].partition("(")[2].rstrip(").").split()
            takes_targets = any(param.name == "targets" for param in self.params)
            if not (stray and takes_targets and all(1 <= word.count("/") <= 2 for word in stray)):
                raise
            meant = " ".join(f"-t {word}" for word in stray)
            raise click.UsageError(f"{problem.message.rstrip('.')} (did you mean {meant}?)", ctx) from None

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_options(self, ctx, formatter)


def refuse_single_dash(command: click.Command, ctx: click.Context, args: list[str]) -> None:
    """Raises UsageError for a long option that is written with one dash."""
    if ctx.resilient_parsing or not any(len(word) > 2 and word[0] == "-" and word[1] != "-" for word in args):
        return
    from reconciler.cli import other_tools  # noqa: PLC0415 - few command lines have such a word

    other_tools.refuse_single_dash(ctx, _option_names(command, ctx), args)


def explained(command: click.Command, ctx: click.Context, problem: click.NoSuchOption) -> click.UsageError:
    """The error for an option that does not exist, with what may be meant."""
    from reconciler.cli.other_tools import option_meant  # noqa: PLC0415 - needed only to explain an error

    meant = option_meant(problem.option_name, _option_names(command, ctx))
    return click.UsageError(f"{problem.message.rstrip('.')}{meant}", ctx) if meant else problem


def _option_names(command: click.Command, ctx: click.Context) -> list[str]:
    return [name for param in command.get_params(ctx) if isinstance(param, click.Option) for name in param.opts]


def write_options(command: click.Command, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    """The options of a command's own, and the names of the common ones."""
    own = [param for param in command.get_params(ctx) if param not in COMMON_OPTIONS]
    with formatter.section("Options"):
        formatter.write_dl([record for param in own if (record := param.get_help_record(ctx)) is not None])
    names = " ".join("/".join(option.opts) for option in COMMON_OPTIONS)
    formatter.write_paragraph()
    formatter.write_text(f"Common options, see `reconciler --help`: {names}")


def cli_command(name: str) -> Callable[[Callable[..., int | None]], click.Command]:
    """Make a function a command with the common flags; it gets the terminal of its run as its first argument."""

    def decorate(function: Callable[..., int | None]) -> click.Command:
        @wraps(function)
        def with_terminal(*args: Any, **options: Any) -> int | None:
            return function(click.get_current_context().ensure_object(Invocation).terminal, *args, **options)

        command = click.command(name, cls=Command)(with_terminal)
        command.params += COMMON_OPTIONS
        return command

    return decorate


def format_option(*tables: Formats[Any]) -> Callable[[F], F]:
    """Add `--format`, as `form`: one of the formats of these tables, text by default."""
    choice = click.Choice([form for formats in tables for form in formats])
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
within_option = click.option(
    "--within",
    metavar="PATTERN",
    help="Refuse to change the record of a target outside of PATTERN: a glob over region/environment.",
)
skip_uninitialized_option = click.option(
    "--skip-uninitialized",
    "skips_uninitialized",
    is_flag=True,
    help="Leave out targets that never had a state record, with a warning, if others have one.",
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
