"""Defines the options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from reconciler.model.plan import Verdict

F = TypeVar("F", bound="Callable[..., Any]")

target_option = click.option(
    "-t",
    "--target",
    "patterns",
    multiple=True,
    metavar="PATTERN",
    help="Select targets or addresses, by a pattern such as 'europe/*' or '*/production/offers'. Repeatable.",
)
one_target_option = click.option("-t", "--target", "target", required=True, metavar="TARGET", help="The target to use.")
detailed_exitcode_option = click.option(
    "--detailed-exitcode", is_flag=True, help="Exit with 2 if there are differences, 3 if a create is unresolved."
)
allow_empty_option = click.option(
    "--allow-empty", is_flag=True, help="Allow a target that has subscriptions in force but none desired."
)
identity_option = click.option(
    "--identity", metavar="FILE", type=click.Path(path_type=Path), help="The age identity that decrypts responses."
)
attempts_option = click.option(
    "--attempt", "attempts", multiple=True, metavar="ID", help="Select only the attempt with this id. Repeatable."
)
codes_option = click.option(
    "--code", "codes", multiple=True, metavar="CODE", help="Select only this code of each subscription. Repeatable."
)


def format_option(*forms: str) -> Callable[[F], F]:
    """Return the option `--format`, whose value is passed as `form`: text, or one of `forms`."""
    choice = click.Choice(["text", *forms])
    return click.option("--format", "form", type=choice, default="text", help="Format of the output.  [text]")


def exit_code_of(verdict: Verdict) -> int:
    """Return the exit code of a verdict."""
    return {"done": 0, "failed": 1, "changes": 2, "unresolved": 3}[verdict]
