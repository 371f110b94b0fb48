"""Finding out how a captured notification was signed."""

import json
import os
from collections.abc import Collection
from pathlib import Path

from msgspec.structs import asdict

from reconciler.errors import Refused, SettingsError
from reconciler.model.desired import Verification
from reconciler.notifications.signatures import infer
from reconciler.operations.input_files import read_input
from reconciler.operations.workspace import Workspace
from reconciler.receiver.captured import LINE_LIMIT, Captured, parse_captured


def read_captured(path: Path) -> Captured:
    """The one request in a file, on one line or on several; `-` is standard input. Raises SettingsError."""
    where = "standard input" if str(path) == "-" else str(path)
    try:
        content = read_input(path, LINE_LIMIT + 1)
    except OSError as problem:
        raise SettingsError(f"cannot be read: {problem.strerror}", where=where) from None
    if len(content) > LINE_LIMIT or _has_several(content):
        raise SettingsError(
            "the file contains more than one captured request",
            where=where,
            remedy="to pass one line, run: tail -n 1 FILE | reconciler verification infer -",
        )
    return parse_captured(content, where)


def _has_several(content: bytes) -> bool:
    """Whether a second JSON object follows the first one."""
    try:
        text = content.decode().lstrip()
        _, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return False
    return text[end:].lstrip().startswith("{")


def secret_in_variable(workspace: Workspace, name: str) -> set[bytes]:
    """The secret that a variable holds. Raises SettingsError."""
    value = workspace.variables.get(name)
    if value is None:
        raise SettingsError("this variable is not set", where=f"--secret-variable {name}", remedy="set it")
    return {os.fsencode(value)}


def infer_scheme(workspace: Workspace, captured: Captured, secrets: Collection[bytes]) -> str:
    """The only scheme that one of the secrets signed the request under, as a `verification:` section for `config/`.

    Raises Refused if there is none, or more than one; these are shown.
    """
    schemes = infer(secrets, captured.headers, captured.body)
    if len(schemes) == 1:
        return _section(schemes[0])
    if not schemes:
        raise Refused(
            "no scheme matches this request",
            remedy="check that the secret belongs to the subscription that sent it and that headers and body are"
            " unchanged",
        )
    for line in "".join(map(_section, schemes)).splitlines():
        workspace.notices.say(line)
    raise Refused(
        f"{len(schemes)} schemes match this request",
        remedy="capture another notification and run this again with it",
    )


def _section(scheme: Verification) -> str:
    import yaml  # noqa: PLC0415

    fields = {name: value for name, value in asdict(scheme).items() if name != "enforce"}
    return str(yaml.safe_dump({"verification": fields}, sort_keys=False))
