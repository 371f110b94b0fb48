"""The flags that every command takes, before and after its name, and how a command gets at what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

F = TypeVar("F", bound="Callable[..., Any]")

_given: dict[str, Any] = {}


def flags() -> Mapping[str, Any]:
    """The common flags given in this run, by parameter name; a flag that was not given is absent.

    One process is one run. They outlive the parsing, since an error is told when that is over.
    """
    return _given


def _remember(_ctx: click.Context, param: click.Parameter, value: Any) -> None:
    if value is not None and value is not False and value != 0:
        _given[str(param.name)] = value


def _common(*names: str, **attributes: Any) -> Callable[[F], F]:
    return click.option(*names, expose_value=False, callback=_remember, **attributes)


def common_options(command: F) -> F:
    """Add the flags of the settings table. They win over the variables of the same meaning."""
    for option in reversed(
        [
            _common(
                "--config", metavar="PATH", help="Desired state: a directory or a file.  [RECONCILER_CONFIG, config]"
            ),
            _common("--state", metavar="PLACE", help="The state record: a path or a URL.  [RECONCILER_STATE, state]"),
            _common("--cache-dir", metavar="DIR", help="Token cache and remembered heads.  [RECONCILER_CACHE_DIR]"),
            _common("--timeout", metavar="SECONDS", help="For one call, in all.  [RECONCILER_TIMEOUT, 30]"),
            _common("--parallelism", metavar="N", help="Creates in flight at most.  [RECONCILER_PARALLELISM, 4]"),
            _common("--color", type=click.Choice(["auto", "always", "never"]), help="Colour.  [auto]"),
            _common("-v", "--verbose", count=True, help="Say more, on stderr; twice: everything."),
            _common("-q", "--quiet", is_flag=True, help="Say nothing but errors on stderr."),
            _common("--log-format", type=click.Choice(["text", "json"]), help="Of stderr.  [text]"),
        ]
    ):
        command = option(command)
    return command


def target_option(command: F) -> F:
    """Add `-t`, repeatable, as `targets`."""
    return click.option(
        "-t",
        "--target",
        "targets",
        multiple=True,
        metavar="PATTERN",
        help="Only these: a glob over region/environment or region/environment/name; repeatable.",
    )(command)
