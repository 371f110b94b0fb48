"""Holds the state of one run of the command line: its global flags, its terminal and its project."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from reconciler.cli.terminal import Terminal
    from reconciler.operations.project import Project

_PLACES = ("config", "state", "cache_dir")
_MOST_SECONDS = 300.0
_MOST_CREATES = 64


class Invocation:
    """One run of the command line. `flags` holds the given global flags by parameter name.

    An invocation outlives click's context, so the flags are still available when an error is reported.
    `serves` becomes true when a command starts to serve; it then runs until it is interrupted.
    """

    def __init__(self) -> None:
        self.flags: dict[str, Any] = {}
        self.serves = False

    @cached_property
    def terminal(self) -> Terminal:
        """Return the terminal, set up from the flags.

        Suggested commands repeat the flags that name the project, except `--state` if its place contains credentials:
        such a place belongs in RECONCILER_STATE.
        """
        from reconciler.cli.terminal import Terminal  # noqa: PLC0415 - nothing that --help needs

        given = {name: str(self.flags[name]) for name in _PLACES if name in self.flags}
        if "state" in given:
            from reconciler.stores.location import CREDENTIALS  # noqa: PLC0415 - only where a place is given

            if CREDENTIALS.match(given["state"]):
                del given["state"]
        words = tuple(word for name, value in given.items() for word in (f"--{name.replace('_', '-')}", value))
        return Terminal(self.flags, words)

    @cached_property
    def project(self) -> Project:
        """Return the project that flags and variables name. Raises SettingsError for an invalid setting."""
        from pathlib import Path  # noqa: PLC0415 - nothing that --help needs

        from reconciler.operations.project import Flags, Project  # noqa: PLC0415 - likewise
        from reconciler.operations.settings import Sources, hide_secrets  # noqa: PLC0415 - likewise

        sources = Sources(dict(os.environ), Path.cwd())  # a copy: secrets leave the environment
        hide_secrets()

        names = (*_PLACES, "timeout", "parallelism")
        given: dict[str, Any] = {
            name: self.flags.get(name) or sources.get(f"RECONCILER_{name.upper()}") for name in names
        }
        given = {name: value for name, value in given.items() if value}
        for name, kind, most in (("timeout", float, _MOST_SECONDS), ("parallelism", int, _MOST_CREATES)):
            if name in given:
                given[name] = _number(name, given[name], kind, most)
        return Project(Flags(**given), sources)


def _number(name: str, text: str, kind: type[float | int], most: float) -> Any:
    try:
        value = kind(text)
    except ValueError:
        value = None
    if value is not None and 0 < value <= most:
        return value
    from reconciler.errors import Message, SettingsError  # noqa: PLC0415 - only for an error

    what = f"expected a number above 0 and at most {most:g}"
    raise SettingsError(Message("setting-out-of-range", what, f"--{name} or RECONCILER_{name.upper()}"))


def _remember(context: click.Context, param: click.Parameter, value: Any) -> None:
    if value is not None and value != 0:
        context.ensure_object(Invocation).flags[str(param.name)] = value


def _global(*names: str, **attributes: Any) -> click.Option:
    return click.Option(names, expose_value=False, callback=_remember, **attributes)


GLOBALS = [
    _global("--config", metavar="PATH", help="Desired state: a directory or a file.  [RECONCILER_CONFIG, config]"),
    _global("--state", metavar="PLACE", help="The record: a path or a URL.  [RECONCILER_STATE, state: in config/]"),
    _global("--cache-dir", metavar="DIR", help="Directory of the token cache.  [RECONCILER_CACHE_DIR]"),
    _global("--timeout", metavar="SECONDS", help="Time limit for one call to the service.  [RECONCILER_TIMEOUT, 30]"),
    _global("--parallelism", metavar="N", help="Limit on create calls in flight.  [RECONCILER_PARALLELISM, 4]"),
    _global("--color", type=click.Choice(["auto", "always", "never"]), help="Colour.  [NO_COLOR, FORCE_COLOR, auto]"),
    _global("-v", "--verbose", count=True, help="Show more detail on stdout and stderr."),
    _global("-q", "--quiet", is_flag=True, help="Show only errors and questions on stderr."),
    _global("--log-format", type=click.Choice(["text", "json"]), help="Format of stderr.  [text]"),
]
"""The global flags. They take precedence over the variables with the same meaning."""
