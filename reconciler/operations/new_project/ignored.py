"""The `.gitignore` of a new project: what must not be committed, and never the state record."""

from pathlib import PurePosixPath

SANDBOX_STATE = "/sandbox-state/"
"""Where `init` advises to have the record of a sandbox."""

_IGNORED = ("/.env", "/sandbox.env", "/sandbox/", SANDBOX_STATE, "/notifications.jsonl", "/plan.json", "/theirs.jsonl")

_HEADING = "# Credentials, and what was made or received on this machine.\n"
_RECORD_HERE = """
# The state record is the only source of truth, so commit it after each apply: do not list {path} here.
"""
_RECORD_ELSEWHERE = """
# The state record is not stored in these files. If a directory state/ appears, a command ran without the location of
# the record: do not list it here, so that it is noticed.
"""


def gitignore(record: PurePosixPath | None) -> str:
    """The file for a project whose record is below `record`, relative to the project; None: not in its files.

    Of what would be ignored, whatever contains the record is left out.
    """
    lines = [line for line in _IGNORED if record is None or not _contains(line, record)]
    note = _RECORD_ELSEWHERE if record is None else _RECORD_HERE.replace("{path}", f"{record}/")
    return _HEADING + "".join(f"{line}\n" for line in lines) + note


def _contains(line: str, record: PurePosixPath) -> bool:
    return record.is_relative_to(line.strip("/"))
