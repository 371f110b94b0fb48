"""The command line of the form: taken apart as a shell would, without one, and checked by the program's own parser."""

import os
import re
import shlex
import subprocess
from collections.abc import Sequence
from typing import Any, NamedTuple

import click
import job

from reconciler.cli.invocation import Invocation
from reconciler.cli.main import cli

WHOLE = ("init", "recover", "copy", "rebind", "accept-loss", "complete", "observe")
"""The commands that concern the whole record."""

ADDRESSED = ("where", "address", "source", "to")
REFUSED = ("yes", "dry_run", "auto_approve", "plan_file", "pinned", "allow_plaintext_responses", "max_creates")
_DIGEST = re.compile(r"Digest: (sha256:[0-9a-f]{64})\. Nothing was appended\.")


class Asked(NamedTuple):
    """A command that was asked for: its parameters, the patterns it names, and the stage that approves it."""

    name: str
    words: list[str]
    params: dict[str, Any]
    values: list[str]
    stage: str


def parse(line: str, stages: Sequence[str]) -> Asked:
    """Return what a command line asks for; stops for anything that the form does not run."""
    invocation, names = Invocation(), ""
    command: click.Command | None = cli
    context = click.Context(cli, info_name="reconciler", obj=invocation)
    try:
        words = rest = shlex.split(line.removeprefix("reconciler "))
        while isinstance(command, click.Group):
            name, command, rest = command.resolve_command(context, rest)
            names = f"{names} {name}".strip()
        assert command  # noqa: S101 - a name that is not known was an error
        params = command.make_context(names, [*rest], parent=context).params
    except (ValueError, IndexError, click.ClickException, click.exceptions.Exit) as problem:
        job.stop(f"command: {problem}")
    is_apply, group = names == "apply", names.split()[0]
    given = [name for name in (*REFUSED, *([] if is_apply else ["expect_digest"])) if params.get(name)]
    is_known = params["expect_digest"] if is_apply else group in ("state", "removal") or names == "secret set"
    if invocation.flags or given or not is_known:
        job.stop("command: expected apply --expect-digest D, or state, removal or secret set, without global options")
    values = [*(str(params[name]) for name in ADDRESSED if params.get(name)), *params.get("patterns", ())]
    named = {value.split("/")[1] for value in values if "/" in value}
    is_of_one = len(named) == 1 and named <= {*stages} and names.split()[-1] not in WHOLE
    if is_apply and not is_of_one:
        job.stop("command: apply needs -t with targets or addresses of one stage")
    if names == "state recover" and "://" in values[0]:  # it would be sent the credentials of the store
        job.stop("command: state recover needs run:ID/ARTIFACT, a file of the checkout, or git:BRANCH")
    return Asked(names, words, params, values, named.pop() if is_of_one else stages[-1])


def preview(asked: Asked) -> str:
    """Show all that a command would do, and return the command that does just that; "" if it only reads."""
    command = shlex.join(asked.words)
    job.show(job.block(f"reconciler {command}"), whole=True)
    if asked.name == "secret set":
        job.show("Records the secret SUBSCRIPTION_SECRET of the environment, encrypted to its recipients.\n")
        return f"{command} --yes"
    appends = "dry_run" in asked.params
    words = (*job.fetched(asked.words), *(["--dry-run"] if appends else []))
    code, text = job.reconciler(*words, stderr=subprocess.STDOUT)
    job.say(text)
    job.show(job.block(text), whole=True)
    digests = _DIGEST.findall(text)
    if code or len(digests) != appends:
        job.stop("it cannot be done, or has no single digest; see above")
    return f"{command} --expect-digest {digests[0]}" if appends else ""


def refuse_stranger(stage: str) -> None:
    """Stop unless the stage's environment asks for an approval, or who began the run may maintain the repository."""
    place, actor = f"repos/{os.environ['GITHUB_REPOSITORY']}", os.environ["GITHUB_TRIGGERING_ACTOR"]
    rules = job.gh("api", f"{place}/environments/{stage}")["protection_rules"]
    if "required_reviewers" not in [rule["type"] for rule in rules]:
        role = job.gh("api", f"{place}/collaborators/{actor}/permission")["role_name"]
        if role not in ("maintain", "admin"):
            job.stop(f"{stage} has no required reviewers: only who may maintain the repository may do this")
