"""Whether the rules of a state branch protect it, and let the program push; GitHub's command reads them."""

import json
import shutil
import subprocess
from urllib.parse import quote

from reconciler.model.result import Finding
from reconciler.operations.doctor.found import failed, ok, skipped, warning
from reconciler.state.stores.store import Store

_CHECK = "ruleset"
_PATIENCE = 20.0  # seconds
_PROTECTING = {"deletion": "Restrict deletions", "non_fast_forward": "Block force pushes"}
_HINDERING = {"pull_request": "Require a pull request", "update": "Restrict updates"}


def ruleset_findings(store: Store) -> list[Finding]:
    """What the rules of a state branch come to, as far as they can be read; nothing for a store without a branch."""
    branch, _, repository = store.place.normalized(store.location).partition(" ")
    if store.path is not None or not repository:
        return []
    host, _, path = repository.partition(":")
    if not host:
        return [skipped(_CHECK, store.location, "the repository is on this machine")]
    program = shutil.which("gh")
    if program is None:
        return [skipped(_CHECK, store.location, "cannot be read without GitHub's command, gh")]
    endpoint = f"repos/{quote(path)}/rules/branches/{quote(branch, safe='')}"
    kinds = _kinds([program, "api", "--hostname", host, endpoint])
    if kinds is None:
        return [skipped(_CHECK, store.location, f"`gh api {endpoint}` gave no answer")]
    return [_judged(store.location, kinds)]


def _kinds(command: list[str]) -> set[str] | None:
    """The kinds of the rules that a command lists, None if it fails."""
    try:
        ran = subprocess.run(  # noqa: S603 - no shell
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE, check=True
        )
        return {rule["type"] for rule in json.loads(ran.stdout)}
    except (OSError, subprocess.SubprocessError, ValueError, TypeError, KeyError):
        return None


def _judged(about: str, kinds: set[str]) -> Finding:
    hindering = [name for kind, name in _HINDERING.items() if kind in kinds]
    if hindering:
        what = f"the program cannot push to the branch: {', '.join(hindering)}"
        return failed(_CHECK, about, what, "remove this from the branch's ruleset, or let the program bypass it")
    missing = [name for kind, name in _PROTECTING.items() if kind not in kinds]
    if missing:
        what = "the branch is not protected against being deleted or rewritten"
        return warning(_CHECK, about, what, f"add to a ruleset for the branch: {', '.join(missing)}")
    return ok(_CHECK, about, "deletions and force pushes are blocked")
