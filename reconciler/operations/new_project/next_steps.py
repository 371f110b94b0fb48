"""What to do after `init`: text of which each command stands on a line of its own, never wrapped, to be pasted."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from reconciler.operations.new_project.workflow import WORKFLOW
from reconciler.sandbox.targets import DOCUMENTED_TARGETS
from reconciler.state.stores.location import holds_password

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reconciler.operations.new_project.project import Choices, NewProject

_SANDBOX = """
To rehearse with a sandbox of the service on this machine, run:
  rm -f sandbox.env; reconciler sandbox serve >sandbox.env 2>/dev/null &
  until [ -s sandbox.env ]; do sleep 0.1; done; set -a; . ./sandbox.env; set +a
  export RECONCILER_STATE=sandbox-state/$!
  reconciler state init
  reconciler plan
  reconciler apply"""

_REAL = """
For the real service, replace the addresses in config/ that end in .example by
those that the operator gave you. Then, in a shell without variables of a
sandbox, run:"""

_GITHUB = """
The workflow needs environments with reviewers, rulesets, a deploy key and
variables on GitHub. To see what is missing, and have `gh` set it up, in the
clone run:
  reconciler init --github --apply"""

_ACTION = """
This installation does not know its own commit on GitHub. In another repository
than that of the reusable workflow, write for O/R its owner and name, and for
COMMIT the commit that you installed, which `git rev-parse HEAD` prints:
  sed -i 's|$/\\(.*\\)|O/R/\\1@COMMIT|' {workflow}"""

_KEY = """
The private key, which only you can read, is in
  {path}
Copy it to where your team keeps its secrets, never into the repository. With it
the create responses can be read; if it is lost, they cannot be read."""

_WITHOUT_KEY = """
Create responses may contain secrets, so `apply` refuses to save them there
unencrypted: add an age public key to `recipients` in config/."""


def next_steps(choices: Choices, project: NewProject, directory: str | None) -> Iterator[str]:
    """The text; `directory` is the project's, quoted for a shell, or None for the working directory."""
    if project.key is not None:
        yield from _KEY.replace("{path}", str(project.key.path)).splitlines()
    yield ""
    yield "To check the configuration, run:"
    if directory is not None:
        yield f"  cd {directory}"
    yield "  reconciler validate"
    if {*choices.targets} <= {*DOCUMENTED_TARGETS}:  # a sandbox has these
        yield from _SANDBOX.splitlines()
    yield from _REAL.splitlines()
    yield from _location(choices)
    yield "  reconciler state init"
    yield "  reconciler doctor"
    yield "  reconciler plan"
    if project.needs_key:
        yield from _WITHOUT_KEY.splitlines()
    if choices.github:
        yield from _GITHUB.splitlines()
    if project.needs_action:
        yield from _ACTION.replace("{workflow}", WORKFLOW).splitlines()


def _location(choices: Choices) -> Iterator[str]:
    """The command that sets the location of the record, unless it is the default; a password is not shown."""
    if choices.state == "state":
        return
    if holds_password(choices.state):
        yield "  export RECONCILER_STATE=…   # as given: it contains a password"
    else:
        yield f"  export RECONCILER_STATE={quote(choices.state)}"
