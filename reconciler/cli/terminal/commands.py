"""The commands that messages name, such that they can be pasted."""

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_NAME = (
    r"(?:^\s*|(?<=run: )|(?<=`)|(?<=[|&] ))"  # elsewhere it is part of a path: `my reconciler state/`
    r"reconciler (?=(?:init|validate|plan|apply|state|secret|status|removals|parity|verification|github|listen"
    r"|replay)\b)"
)
_OWN_STORE = r"state copy\b|[^;`\n]* --state "
_PLACES = ("config", "state", "cache_dir")
INTRODUCTIONS = ("run:", "see:")
WITHOUT_STATE = (
    "The commands above do not repeat the password in --state: before you run one, set RECONCILER_STATE to the value"
    " of --state"
)


def with_flags(text: str, flags: Mapping[str, Any]) -> str:
    """`text` with the --config, --state and --cache-dir that this run was given in each command it names.

    A place that holds a password is left out: the command then takes it from RECONCILER_STATE, as it should. A command
    that names a store itself keeps that one.
    """
    if "reconciler " not in text:
        return text
    given = {f"--{name.replace('_', '-')}": str(flags[name]) for name in _PLACES if name in flags}
    if _holds_password(given.get("--state", "")):
        del given["--state"]

    def with_words(name: re.Match[str]) -> str:
        kept = {flag: value for flag, value in given.items() if flag != "--state" or not _names_a_store(name)}
        return name[0] + "".join(f"{flag} {shlex.quote(value)} " for flag, value in kept.items())

    return re.sub(_NAME, with_words, text) if given else text


def lacks_state(text: str, flags: Mapping[str, Any]) -> bool:
    """Whether `with_flags` leaves --state out of a command in `text`, because of its password."""
    return (
        "reconciler " in text
        and _holds_password(str(flags.get("state", "")))
        and not all(map(_names_a_store, re.finditer(_NAME, text)))
    )


def _holds_password(state: str) -> bool:
    if "://" not in state:
        return False
    from reconciler.state.stores.location import holds_password  # noqa: PLC0415 - few commands need it

    return holds_password(state)


def _names_a_store(name: re.Match[str]) -> bool:
    """Whether the command that begins so names the store of the record itself."""
    return re.match(_OWN_STORE, name.string[name.end() :]) is not None


def apart(text: str) -> str:
    """`text` with each command that follows "run:" or "see:" on a line of its own."""
    if not any(f"{word} " in text for word in INTRODUCTIONS):
        return text
    from reconciler.reports.commands import INTRODUCED, divided  # noqa: PLC0415 - few messages need it

    first, *rest = re.split(INTRODUCED, text)
    lines = [first]
    indent = " " * (len(text) - len(text.lstrip()) + 2)
    for part in rest:
        command, following = divided(part)
        lines[-1] += ":"
        lines += [f"{indent}  {command}", f"{indent}{following}"]
    return "\n".join(lines).rstrip() if rest else text


def say_commands(say: Callable[[str], None], commands: Sequence[str], one: str, several: str) -> None:
    """Say what to run: the only command in the sentence `one`, or each on a line below `several`; nothing if none."""
    if len(commands) == 1:
        say(f"{one} run: {commands[0]}")
    elif commands:
        say(several)
        for command in commands:
            say(f"  {command}")
