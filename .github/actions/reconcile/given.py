"""The inputs of the action that the program reads as variables: credentials, addresses, recipients.

They are variables of one step, and are taken out of them here, so that nothing this process starts has them twice.
"""

from __future__ import annotations

import os
import re

from reconciler.cli.terminal.actions import mask
from reconciler.errors import SettingsError
from reconciler.model.address import TARGET, TargetName

CREDENTIAL = re.compile(r"RECONCILER_[A-Z0-9_]+_CLIENT_(ID|SECRET)")
OF_A_STORE = re.compile(r"(AWS|AZURE|GOOGLE)_[A-Z0-9_]+|PG[A-Z]+")
IS_SECRET = re.compile(r"SECRET|PASSWORD|TOKEN|KEY|CREDENTIAL")
OF_ONE_TARGET = ("client-id", "client-secret", "auth-url", "base-url", "audience-base")


def ask_nobody() -> None:
    """Let stdin be empty: some runners have a terminal, at which a question would wait for what nobody can see."""
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)


def take_inputs() -> None:
    """Make variables of the program of all such inputs. Raises SettingsError, which shows no value."""
    targets = {"/".join(pattern.split("/")[:2]) for pattern in os.environ.get("INPUT_TARGET", "").split()}
    target = targets.pop() if len(targets) == 1 else ""
    given = {name: value for name in OF_ONE_TARGET if (value := _taken(name))}
    variables = _lines("credentials", CREDENTIAL)
    for secret in (given.get("client-id"), given.get("client-secret"), *variables.values()):
        mask(secret or "")
    if given and not TARGET.fullmatch(target):
        raise _wrong(
            next(iter(given)),
            "target does not name one target",
            "set target to REGION/ENVIRONMENT, or addresses of one",
        )
    if ("client-id" in given) != ("client-secret" in given):
        missing = "client-secret" if "client-id" in given else "client-id"
        raise _wrong(missing, "the value is empty", "check that the secret exists where the job may read it")
    prefix = TargetName(target).variable_prefix
    variables |= {f"{prefix}{name.replace('-', '_').upper()}": value for name, value in given.items()}
    recipients = _taken("recipients")
    os.environ.update(variables | ({"RECONCILER_RECIPIENTS": recipients} if recipients else {}))
    take_store_credentials()


def take_store_credentials() -> None:
    """Make variables of the credentials of the record's store. Raises SettingsError."""
    variables = _lines("store-credentials", OF_A_STORE)
    for name, value in variables.items():
        if IS_SECRET.search(name):
            mask(value)
    os.environ.update(variables)


def is_true(name: str) -> bool:
    """An input that is true or false. Raises SettingsError for anything else."""
    value = _taken(name) or "false"
    if value not in ("true", "false"):
        raise _wrong(name, "expected true or false", f"correct the input {name}")
    return value == "true"


def _taken(name: str) -> str:
    return os.environ.pop(f"INPUT_{name.replace('-', '_').upper()}", "").strip()


def _lines(name: str, names: re.Pattern[str]) -> dict[str, str]:
    """The variables in an input, NAME=VALUE to a line; without those that have no value."""
    found: dict[str, str] = {}
    for number, line in enumerate(_taken(name).splitlines(), 1):
        variable, equals, value = line.strip().partition("=")
        if not line.strip():
            continue
        if not equals or not names.fullmatch(variable):
            raise _wrong(name, f"line {number} is not NAME=VALUE, with a name that belongs there", "see the README")
        if variable in found:
            raise _wrong(name, f"{variable} is given twice", "delete one of the two lines")
        found[variable] = value
    return {variable: value for variable, value in found.items() if value}


def _wrong(name: str, what: str, remedy: str) -> SettingsError:
    return SettingsError(what, where=name, remedy=remedy)
