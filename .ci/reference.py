"""Write `.github/REFERENCE.md`: every command with its options, the variables, and the exit codes.

The commands are taken from the program, the variables and exit codes from the tables here. `--check` writes nothing,
and exits with 1 if the page is not up to date.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.commands import Command, Group
from reconciler.cli.invocation import GLOBALS
from reconciler.cli.main import cli

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).parents[1] / ".github" / "REFERENCE.md"

HEAD = """# Reference

Every command, variable and exit code. `python .ci/reference.py` writes this page from the program.
[Configuration](../config/README.md) has the files in `config/`, [Stores](STORES.md) the places of a record.
"""

WORDS = """
## Words

| word | meaning |
|---|---|
| target | one region and environment of the service, `region/environment` |
| subscription | one desired webhook subscription: a name, its event codes, its URL |
| address | `region/environment/name`, the identity of a subscription: it survives changes of its codes and URL |
| route | one event code delivered to one URL on one target |
| attempt | one intended create call, with an id of its own, whatever became of it; an address may have several |
| record, place | what is known to exist at the service: one append-only journal for all targets; where it is kept |
| head | the hash of the record's last line |
| intent, outcome | what is written before a call, and after it |
| unknown, overdue | of a create: its answer says nothing; it has none though its time is over |
| in force | an attempt that delivers as far as anyone knows: live, or awaiting removal |
| loss | the record may lack something; nothing is created until `state complete` ends it |
| surplus | a code in force that is no longer desired |
"""

PATTERNS = """
## Targets, addresses and patterns

A target is written `region/environment`, an address `region/environment/name`. A PATTERN is a glob over targets (one
slash: `'europe/*'`) or over addresses (two: `'*/production/offers'`). `*` does not cross a slash; quote it, or the
shell replaces it. A pattern that matches nothing is an error. `-` as FILE means standard input.
"""

STATEMENTS = """
Every command that changes the record shows what it appends and asks on a terminal. Without one it needs `--yes`, or
`--expect-digest` with the digest that `--dry-run` showed, if it weakens a gate: `state accept-loss`, `state complete`,
`state resolve --not-created`, `state rebind`, `removal confirm` of what is live, `state import` of more than one.
"""

EXIT_CODES = {
    "0": "done; with `--detailed-exitcode`, and for `parity`: nothing to do",
    "1": "failed, or some of it was rejected or never sent; usage errors too",
    "2": "`plan` and `status` with `--detailed-exitcode`: there are changes, or what is in force is not what is"
    " desired; `parity`: the two differ",
    "3": "a create among the selected addresses has an unknown outcome or is overdue (`plan` and `status` only with"
    " `--detailed-exitcode`); it takes precedence over 1 and 2. **Create nothing by other means**:"
    " [The bad day](BAD_DAY.md#exit-code-3-an-unknown-outcome)",
    "129, 130, 143": "interrupted by SIGHUP, SIGINT or SIGTERM; the record is whole",
}

SETTINGS = """
## Settings

A setting is looked up in this order: the flag, the environment, a file with the variable's name in
`RECONCILER_SECRETS_DIR`, a `.env` file in the working directory (never if `CI` is set), `config/`. An empty variable is
an unset one. Global flags are accepted before and after the command's name.
"""

VARIABLES: dict[str, str] = {
    "RECONCILER_<REGION>_<ENVIRONMENT>_CLIENT_ID": "credentials of a target, in capitals, `-` as `_`:"
    " `RECONCILER_EUROPE_STAGING_CLIENT_ID`",
    "RECONCILER_<REGION>_<ENVIRONMENT>_CLIENT_SECRET": "likewise; needed to apply",
    "RECONCILER_<REGION>_<ENVIRONMENT>_AUTH_URL": "overrides `auth_url` in `config/`",
    "RECONCILER_<REGION>_<ENVIRONMENT>_BASE_URL": "overrides `base_url`",
    "RECONCILER_<REGION>_<ENVIRONMENT>_AUDIENCE_BASE": "overrides `audience_base`",
    "RECONCILER_RECIPIENTS": "age public keys that responses are encrypted to; `config/` must not name others",
    "RECONCILER_SECRETS_DIR": "directory of files named like variables",
    "RECONCILER_SANDBOX_URL": "the sandbox that `sandbox trigger`, `list` and `delete` use",
    "HTTPS_PROXY": "proxy for `https` addresses (`ALL_PROXY` too); plain `http` is for loopback, and never uses one",
    "NO_PROXY": "hosts that are reached without the proxy",
    "SSL_CERT_FILE": "certificate authorities to trust, as one file",
    "SSL_CERT_DIR": "the same, as a directory",
    "XDG_DATA_HOME": "what must last: remembered heads, private responses, recovery files, age keys (`~/.local/share`)",
    "XDG_CACHE_HOME": "what may be deleted: tokens, copies of git branches (`~/.cache`)",
    "CI": "any value: this is a runner; no `.env` is read, and responses must be encrypted",
    "GITHUB_ACTIONS": "`true`: secrets are masked, errors are annotations, and entries name the actor and the run",
    "GH_HOST": "the GitHub host that the program was installed from, for `init --github`",
    "COLUMNS": "width of the terminal",
}
"""What variables mean that no flag stands for. Those of git, of object stores and of PostgreSQL are in STORES."""


def page() -> str:
    """Return the page."""
    commands = "".join(_of_group(cli, ()))
    return f"{HEAD}{WORDS}{PATTERNS}{_commands()}{STATEMENTS}{commands}{_settings()}{_exit_codes()}"


def _commands() -> str:
    rows = []
    for title, section in cli.sections.items():
        names = ", ".join(f"[`{name}`](#reconciler-{name})" for name in section)
        rows.append(f"| {title} | {names} |\n")
    return f"\n## Commands\n\n| | |\n|---|---|\n{''.join(rows)}"


def _of_group(group: Group, path: tuple[str, ...]) -> Iterator[str]:
    for name in group.entries:
        command = group.get_command(click.Context(group), name)
        words = (*path, name)
        if isinstance(command, Group):
            yield f"\n### reconciler {' '.join(words)}\n\n{_prose(command)}\n"
            yield from _of_group(command, words)
        elif isinstance(command, Command):
            yield _of_command(command, words)


def _of_command(command: Command, words: tuple[str, ...]) -> str:
    context = click.Context(command, info_name=f"reconciler {' '.join(words)}")
    shown = [param for param in command.params if param not in GLOBALS]
    arguments = " ".join(param.make_metavar(context) for param in shown if isinstance(param, click.Argument))
    usage = f"reconciler {' '.join(words)} [OPTIONS]{f' {arguments}' if arguments else ''}"
    records = [
        record for param in shown if isinstance(param, click.Option) and (record := param.get_help_record(context))
    ]
    options = "".join(f"| `{_cell(flags)}` | {_cell(text)} |\n" for flags, text in records)
    table = f"\n| option | |\n|---|---|\n{options}" if options else ""
    examples = "\n".join(command.examples)
    shell = f"\n```sh\n{examples}\n```\n" if examples else ""
    return f"\n### reconciler {' '.join(words)}\n\n`{usage}`\n\n{_prose(command)}\n{table}{shell}"


def _prose(command: click.Command) -> str:
    """Return a help text, whose paragraphs that begin with \\b keep their lines."""
    paragraphs = []
    for paragraph in re.split(r"\n\s*\n", (command.help or "").strip()):
        kept = paragraph.lstrip("\n ").startswith("\b")
        text = paragraph.replace("\b\n", "").replace("\b", "")
        paragraphs.append(f"```\n{text}\n```" if kept else " ".join(text.split()).replace("*", "\\*"))
    return "\n\n".join(paragraphs)


def _settings() -> str:
    rows = []
    context = click.Context(cli)
    for param in GLOBALS:
        flags, text = param.get_help_record(context) or ("", "")
        meaning, _, bracket = text.partition("  [")
        parts = [part.strip() for part in bracket.removesuffix("]").split(",")] if bracket else []
        variables = ", ".join(f"`{part}`" for part in parts if re.fullmatch(r"[A-Z_]+", part))
        default = ", ".join(part for part in parts if not re.fullmatch(r"[A-Z_]+", part))
        rows.append(f"| `{_cell(flags)}` | {variables} | {_cell(default)} | {_cell(meaning)} |\n")
    flags = f"\n| flag | variable | default | meaning |\n|---|---|---|---|\n{''.join(rows)}"
    others = "".join(f"| `{name}` | {meaning} |\n" for name, meaning in VARIABLES.items())
    return f"{SETTINGS}{flags}\n| variable | meaning |\n|---|---|\n{others}"


def _exit_codes() -> str:
    rows = "".join(f"| {code} | {meaning} |\n" for code, meaning in EXIT_CODES.items())
    note = "A create that may be in flight elsewhere is 3 for `plan`, and 1 for `apply`."
    return f"\n## Exit codes\n\n| code | meaning |\n|---|---|\n{rows}\n{note}\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("*", "\\*")


def main() -> int:
    """Write the page, or check it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if the page is out of date")
    if parser.parse_args().check:
        return 0 if PAGE.read_text(encoding="utf-8") == page() else 1
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
