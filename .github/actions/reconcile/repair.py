"""The command line of the form: taken apart as a shell would, without one, and checked by the program's own parser."""

import re
import shlex
import subprocess
from collections.abc import Sequence

import job

from reconciler.cli.main import cli
from reconciler.cli.stating import Parsed
from reconciler.cli.stating import parse as parsed

REFUSED = ("yes", "dry_run", "auto_approve", "plan_file", "pinned", "allow_plaintext_responses", "max_creates")
_DIGEST = re.compile(r"Digest: (sha256:[0-9a-f]{64})\. Nothing was appended\.")


def parse(line: str, stages: Sequence[str]) -> tuple[Parsed, str]:
    """Return what a command line asks for, and the stage that approves it; stops for what the form does not run."""
    try:
        asked = parsed(cli, shlex.split(line.removeprefix("reconciler ")))
    except Exception as problem:  # noqa: BLE001 - of shlex, or of click: a mistake, or a request for help
        job.stop(f"command: {problem}")
    is_apply = asked.name == "apply"
    refused = [name for name in (*REFUSED, *([] if is_apply else ["expect_digest"])) if asked.params.get(name)]
    is_ours = asked.params["expect_digest"] if is_apply else re.match("state |removal |secret set$", asked.name)
    if refused or not is_ours:
        job.stop("command: expected apply --expect-digest D, or state, removal or secret set, without global options")
    is_of_one = len(asked.environments) == 1 and asked.environments <= {*stages}
    if is_apply and not is_of_one:
        job.stop("command: apply needs -t with targets or addresses of one stage")
    if asked.name == "state recover" and "://" in asked.params["source"]:  # it would be sent the store's credentials
        job.stop("command: state recover needs run:ID/ARTIFACT, a file of the checkout, or git:BRANCH")
    return asked, min(asked.environments) if is_of_one else stages[-1]


def preview(asked: Parsed) -> str:
    """Show all that a command would do, and return the command that does just that; "" if it only reads."""
    command = shlex.join(asked.words)
    job.show(job.block(f"reconciler {command}"), whole=True)
    if asked.name == "secret set":
        job.show("Records the secret SUBSCRIPTION_SECRET of the environment, encrypted to its recipients.\n")
        return f"{command} --yes"
    appends = ["--dry-run"] if "dry_run" in asked.params else []
    code, text = job.reconciler(*job.fetched(asked.words), *appends, stderr=subprocess.STDOUT)
    job.show(job.block(job.say(text)), whole=True)
    digests = _DIGEST.findall(text)
    if code or len(digests) != len(appends):
        job.stop("it cannot be done, or has no single digest; see above")
    return f"{command} --expect-digest {digests[0]}" if appends else ""
