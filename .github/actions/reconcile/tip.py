"""Whether the branch still says what was approved: an approval can come days after the plan, and a job can be rerun."""

from __future__ import annotations

import os
from pathlib import Path

from reconciler.errors import Refused, StateError
from reconciler.state.stores.git.command import PATIENCE, Git, clean, reason, trust
from reconciler.state.stores.git.origin import Copies, origin_of

BRANCH = "refs/heads/"


def refuse_moved(config: Path, cache_directory: Path) -> None:
    """Raises Refused if `config` or `.github` differ between this commit and the tip of the branch that the run is of.

    Another commit there does not matter. Raises StateError and StoreUnavailable if that cannot be compared.
    """
    ref = os.environ.get("GITHUB_REF", "")
    if not ref.startswith(BRANCH):  # a tag or a pull request is one commit, which cannot have moved on
        return
    branch = ref.removeprefix(BRANCH)
    environment = clean(os.environ)
    git = Git(Path.cwd(), environment, "check-tip")
    top = _top(git)
    origin = origin_of(git, "origin", branch, top)
    if origin is None:
        raise StateError("the checkout has no remote `origin`", where="check-tip", remedy="use actions/checkout")
    copy = Copies(cache_directory / "git", environment, PATIENCE).follow(origin, branch)
    commit, tip = git.ask("rev-parse", "HEAD").decode().strip(), copy.look()
    if commit == tip:
        return
    tip = copy.fetch() if tip else ""
    if not tip:
        raise _moved(f"the branch {branch} no longer exists")
    for path in (_path(config, top), ".github"):
        here = git.run("rev-parse", "--verify", "--quiet", f"{commit}:{path}").out.decode().strip()
        if not here and path != ".github":
            raise Refused("config is not committed", where="check-tip", remedy="commit it, or set check-tip: false")
        if here != copy.object_at(tip, path):
            raise _moved(f"the branch {branch} has moved on to {tip[:12]}, where {path or 'the tree'} differs")


def _top(git: Git) -> Path:
    ran = git.run("rev-parse", "--show-toplevel")
    if ran.code:
        raise StateError(reason(ran.err), where="check-tip", remedy=trust(ran.err) or "use actions/checkout")
    return Path(os.fsdecode(ran.out.rstrip(b"\n")))


def _path(config: Path, top: Path) -> str:
    """Where `config` is in the repository.

    Raises Refused for a path outside of it, of which a commit says nothing, and for one with a link, which could point
    elsewhere at the tip. Links below `config` cannot lead out of it: such a configuration has no plan.
    """
    given, path = Path.cwd() / config, config.resolve()
    if any(map(Path.is_symlink, (given, *given.parents))):
        remedy = "set config to what the link points to, or check-tip: false"
        raise Refused("config is reached through a symbolic link", where="check-tip", remedy=remedy)
    if not path.is_relative_to(top):
        raise Refused("config is not in the checkout", where="check-tip", remedy="or set check-tip: false")
    return "" if path == top else str(path.relative_to(top))


def _moved(what: str) -> Refused:
    return Refused(what, where="check-tip", remedy="the run of that commit applies it; or plan and approve again")
