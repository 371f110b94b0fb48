"""Whether git keeps the journals of a file store: not ignored, committed, pushed, and not behind its upstream."""

import os
import shutil
from collections.abc import Collection, Sequence
from pathlib import Path
from shlex import quote

from reconciler.errors import ReconcilerError
from reconciler.model.address import TargetName
from reconciler.model.result import Finding, Health
from reconciler.operations.doctor.found import attempted, failed, failure, ok, skipped, warning
from reconciler.operations.new_project.ignored import SANDBOX_STATE
from reconciler.operations.workspace import Workspace
from reconciler.reports.wording import counted
from reconciler.state.stores.git.command import Git, clean, reason, trust
from reconciler.state.stores.git.upstream import refuse_behind
from reconciler.state.stores.store import Store

_CHECK = "git"
_PATIENCE = 20.0  # seconds that one git command may take


def git_findings(
    workspace: Workspace, store: Store, targets: Sequence[TargetName], sandboxes: Collection[TargetName] = ()
) -> list[Finding]:
    """Everything about git for a store of files; nothing for another one. `sandboxes` are targets at a sandbox."""
    if store.path is None:
        return []
    place = _existing(Path(os.path.realpath(store.path)))
    if not any((above / ".git").exists() for above in (place, *place.parents)):
        return [skipped(_CHECK, store.location, "the state record is not in a git work tree")]
    if shutil.which("git") is None:
        return [skipped(_CHECK, store.location, "git is not installed")]
    git = Git(place, clean(os.environ), store.location, _PATIENCE)
    journals = {str(path): target for target in targets if (path := store.journal_file(target)) is not None}
    tree = _WorkTree(git, store, [path for path, target in journals.items() if target in sandboxes])
    usable = git.run("rev-parse", "--show-toplevel").code == 0
    behind = _behind(workspace, store, targets) if usable else []
    lacking = any(one.health is Health.FAILED for one in behind)
    return [*attempted(_CHECK, store.location, lambda: tree.findings([*journals], lacking=lacking)), *behind]


def _existing(path: Path) -> Path:
    """The path, or the first directory above it that exists."""
    return next(above for above in (path, *path.parents) if above.is_dir())


class _WorkTree:
    """The work tree that has the store's directory; `of_sandbox` are the journals of targets that are a sandbox."""

    def __init__(self, git: Git, store: Store, of_sandbox: Collection[str]) -> None:
        self._git = git
        self._about = store.location
        self._of_sandbox = of_sandbox
        self._path = os.path.realpath(store.path or "")

    def findings(self, journals: Sequence[str], *, lacking: bool = False) -> list[Finding]:
        """With `lacking`, entries of the upstream branch are missing here, and it is not advised to commit and push.

        Raises StoreUnavailable.
        """
        ran = self._git.run("rev-parse", "--show-toplevel")
        if ran.code:
            remedy = trust(ran.err) or "correct this, or use a directory outside of the repository"
            return [warning(_CHECK, self._about, f"git cannot be used: {reason(ran.err)}", remedy)]
        root = os.fsdecode(ran.out.rstrip(b"\n"))
        top = quote(root)
        ignored = self._ignored(journals)
        if ignored:
            return ignored
        if not any(map(os.path.lexists, journals)) and not self._listed():
            none_yet = skipped(_CHECK, self._about, "no state record here, so there is nothing to commit")
            return [none_yet, *(found for found in [self._pushed(top)] if found.health is not Health.OK)]
        deleted = self._deleted(root)
        return deleted if lacking else [*(deleted or [self._committed(top)]), self._pushed(top)]

    def _ignored(self, journals: Sequence[str]) -> list[Finding]:
        paths = b"".join(os.fsencode(journal) + b"\0" for journal in journals)
        listed = self._git.run("check-ignore", "--verbose", "-z", "--stdin", stdin=paths).out
        fields = os.fsdecode(listed).split("\0")[:-1]
        return [
            self._ignored_record(path, pattern, f"{source}:{line}: {pattern}")
            for source, line, pattern, path in zip(*[iter(fields)] * 4, strict=True)
            if not pattern.startswith("!")
        ]

    def _ignored_record(self, path: str, pattern: str, rule: str) -> Finding:
        if path in self._of_sandbox and pattern == SANDBOX_STATE:
            return skipped(_CHECK, path, f"the record of a sandbox, which git is meant to ignore ({rule})")
        return failed(
            _CHECK,
            path,
            f"git ignores this state record ({rule}): a clone would not have it",
            "remove that rule, or use a directory outside of the repository, or a branch (--state git:BRANCH)",
        )

    def _deleted(self, root: str) -> list[Finding]:
        deleted = _missing(self._listed(), root)
        if not deleted:
            return []
        commands = [f"{command} -- {' '.join(map(quote, paths))}" for command, paths in deleted.items()]
        names = ", ".join(path for paths in deleted.values() for path in paths)
        what = f"git has files of the state record that are missing here: {names}"
        return [warning(_CHECK, self._about, what, f"run: {' && '.join(commands)}")]

    def _committed(self, top: str) -> Finding:
        if not self._listed():
            return ok(_CHECK, self._about, "committed")
        paths = quote(self._path)
        return warning(
            _CHECK,
            self._about,
            "the directory of the state record has changes that are not committed",
            f"run: git -C {top} add -- {paths} && git -C {top} commit -m 'Record subscriptions' -- {paths}",
        )

    def _listed(self) -> bytes:
        """What git shows as changed below the directory of the record, its deleted files too."""
        return self._git.ask("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--", self._path)

    def _pushed(self, top: str) -> Finding:
        if not self._git.ask("remote"):
            what = "the repository has no remote: the state record is on this machine only"
            return warning(_CHECK, self._about, what, "add a remote and push to it, or back the record up")
        upstream = self._git.run("rev-parse", "--abbrev-ref", "--symbolic-full-name", "@{upstream}")
        if upstream.code and self._git.run("symbolic-ref", "--quiet", "HEAD").code:
            what = "HEAD is detached: commits with the state record are on no branch, and other clones do not get them"
            return warning(_CHECK, self._about, what, f"run: git -C {top} switch BRANCH")
        if upstream.code:
            what = "the current branch has no upstream: other clones do not get the state record"
            return warning(_CHECK, self._about, what, f"run: git -C {top} push -u origin HEAD")
        name = os.fsdecode(upstream.out.strip())
        count = int(self._git.ask("rev-list", "--count", "@{upstream}..HEAD", "--", self._path))
        if not count:
            return ok(_CHECK, self._about, f"pushed to {name}")
        what = f"{counted(count, 'commit')} with the state record not pushed to {name}"
        return warning(_CHECK, self._about, what, f"run: git -C {top} push")


def _missing(listed: bytes, root: str) -> dict[str, list[str]]:
    """The files that git has and the disk lacks, by the command that restores them.

    `listed` are the changes in the work tree `root`. From the index wherever that has a file: its entries may be in no
    commit yet. A file that only the index lacks is on disk, perhaps with newer entries, and is not to be overwritten.
    """
    found: dict[str, list[str]] = {}
    for entry in map(os.fsdecode, listed.split(b"\0")):
        status, path = entry[:2], entry[3:]
        if "D" in status and not os.path.lexists(os.path.join(root, path)):  # noqa: PTH118 - git may give any bytes
            index, head = f"git -C {quote(root)} restore", f"git -C {quote(root)} restore --staged --worktree"
            found.setdefault(head if status.startswith("D") else index, []).append(path)
    return found


def _behind(workspace: Workspace, store: Store, targets: Sequence[TargetName]) -> list[Finding]:
    """Whether the upstream branch has entries that the files lack."""
    warnings: list[str] = []
    try:
        refuse_behind(store, targets, workspace.cache_directory, os.environ, warnings.append)
    except ReconcilerError as problem:
        return [failure(_CHECK, store.location, problem)]
    return [warning(_CHECK, store.location, text, "check the network and the credentials") for text in warnings]
