"""What users of Terraform, decK and the like type: commands and options, and what they are called here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_NO_DELETE = "the service cannot delete; remove the subscription from config/, then run: reconciler plan"
_FORGET = (
    "`state retire` requests a removal, `state removed` records that the operator has deleted what was to be removed"
)
_AGAIN = (
    "the service cannot replace a subscription; to have another one created in its place, and the old one deleted by"
    " the operator, run: reconciler state retire ADDRESS, and then: reconciler apply"
)
_NO_LOCK = "there are no locks to remove"

COMMANDS: Final[Mapping[str, str | tuple[str, ...]]] = {
    "check": ("validate", "doctor"),
    "create": ("apply",),
    "delete": _NO_DELETE,
    "deploy": ("apply",),
    "destroy": _NO_DELETE,
    "diff": ("plan",),
    "drift": ("status",),
    "dump": ("state list",),
    "force-unlock": _NO_LOCK,
    "help": ("--help",),
    "import": ("state import",),
    "lint": ("validate",),
    "list": ("state list",),
    "login": ("token",),
    "ls": ("state list",),
    "ping": ("doctor",),
    "preview": ("plan",),
    "push": ("apply",),
    "refresh": "the service cannot list subscriptions, so there is nothing to refresh from; run: reconciler status",
    "remove": _NO_DELETE,
    "rm": _NO_DELETE,
    "state delete": _FORGET,
    "state ls": ("state list",),
    "state pull": ("state copy",),
    "state push": ("state copy",),
    "state remove": _FORGET,
    "state rm": _FORGET,
    "sync": ("apply",),
    "taint": _AGAIN,
    "test": ("validate", "drill"),
    "unlock": _NO_LOCK,
    "up": ("apply",),
    "untaint": "to withdraw the request to delete a subscription, run: reconciler state retire ADDRESS --withdraw",
    "version": ("--version",),
}
"""Commands that others have: ours, or an explanation."""

_PLAN = ("plan",)

OPTIONS: Final[Mapping[str, str | tuple[str, ...]]] = {
    "-f": "--config",
    "-o": "--out or --format",
    "-s": "--config",
    "-y": "--auto-approve",
    "--approve": "--auto-approve",
    "--assume-yes": "--auto-approve",
    "--check": _PLAN,
    "--config-file": "--config",
    "--debug": "-vv",
    "--destroy": _NO_DELETE,
    "--diff": _PLAN,
    "--dry-run": _PLAN,
    "--exit-code": "--detailed-exitcode",
    "--file": "--config",
    "--json": "--format json",
    "--lock": _NO_LOCK,
    "--no-color": "--color never",
    "--no-interactive": "--auto-approve",
    "--non-interactive": "--auto-approve",
    "--non-zero-exit-code": "--detailed-exitcode",
    "--output": "--out or --format",
    "--refresh": COMMANDS["refresh"],
    "--refresh-only": COMMANDS["refresh"],
    "--replace": _AGAIN,
    "--select": "--target",
    "--state-file": "--state",
    "--var": "use `vars` of a target in config/",
    "--var-file": "use `vars` of a target in config/",
    "--yes": "--auto-approve",
}
"""Options that others have: ours, each given only where a command has it, commands of ours, or an explanation."""


def command_meant(path: str) -> str:
    """What another tool's command is called here, for the end of a message; empty if it is not known."""
    found = COMMANDS.get(path)
    return "" if found is None else _ending(found)


def refuse_single_dash(ctx: click.Context, known: Iterable[str], args: Sequence[str]) -> None:
    """Raises UsageError for a long option with one dash, as Terraform takes it: click would read `-t arget`.

    `known` are the names of the command's options; a value may look so, behind an option that takes one.
    """
    names, valued = {*known}, _with_values(ctx)
    before = ""
    for word in args:
        name = f"-{word.partition('=')[0]}"
        if word == "--":
            return
        if before not in valued and word[0:1] == "-" and word[1:2] != "-" and len(word) > 2:
            if name in names:
                raise click.UsageError(f"unknown option {name[1:]!r} (did you mean {name}?)", ctx)
            if option := option_meant(name, names) or option_meant(f"-{name}", names):
                raise click.UsageError(f"unknown option {name[1:]!r}{option}", ctx)
        before = word


def _with_values(ctx: click.Context) -> set[str]:
    options = (param for param in ctx.command.get_params(ctx) if isinstance(param, click.Option))
    return {name for option in options if not (option.is_flag or option.count) for name in option.opts}


def option_meant(name: str, known: Iterable[str]) -> str:
    """What another tool's option is called here, for the end of a message; empty if there is nothing like it."""
    found = OPTIONS.get(name)
    if found is None:
        return ""
    if isinstance(found, tuple) or not found.startswith("-"):
        return _ending(found)
    has = {*known}
    ours = [option for option in found.split(" or ") if option.partition(" ")[0] in has or option == "-vv"]
    return f" (did you mean {' or '.join(ours)}?)" if ours else ""


def _ending(found: str | tuple[str, ...]) -> str:
    if isinstance(found, str):
        return f": {found}"
    return f" (did you mean {' or '.join(f'`reconciler {path}`' for path in found)}?)"
