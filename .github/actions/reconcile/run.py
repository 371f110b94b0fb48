"""The step of the action: one command of reconciler, with the secrets it needs, its report in the summary."""

import json
import os
import re
import shlex
import sys

import job

KNOWN = re.compile(r"RECONCILER_(RECIPIENTS|[A-Z0-9_]+_(CLIENT_ID|CLIENT_SECRET|AUTH_URL|BASE_URL|AUDIENCE_BASE))")
REPORTS = ("plan", "apply", "status", "parity", "removal list")
"""The commands that have a report as Markdown."""


def main() -> int:
    """Run the command and return its exit code."""
    words = job.fetched(shlex.split(os.environ["INPUT_COMMAND"]))
    variables, secrets = (json.loads(os.environ.pop(f"INPUT_{name}")) for name in ("VARIABLES", "SECRETS"))
    os.environ.update({name: value for name, value in (variables | secrets).items() if KNOWN.fullmatch(name)})
    job.take_store_credentials(secrets.get("STORE_CREDENTIALS", ""))
    sets_secret = words[:2] == ["secret", "set"]
    if sets_secret and not variables.get("RECONCILER_RECIPIENTS"):
        job.stop("the environment has no variable RECONCILER_RECIPIENTS: config/ does not decide alone")
    form = ["--format", "markdown"] if " ".join(words).startswith(REPORTS) else []
    code, text = job.reconciler(*words, *form, stdin=secrets.get("SUBSCRIPTION_SECRET", "") if sets_secret else "")
    if words[0] == "validate":
        sys.stdout.write(text)  # annotations
    else:
        job.say(text)
        job.show(text if form else job.block(text))
    job.tell("exit-code", str(code))
    return code


if __name__ == "__main__":
    sys.exit(main())
