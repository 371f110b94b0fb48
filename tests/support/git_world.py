"""A remote and a checkout of it, as a user or a workflow has them, with real git and nothing of this machine's."""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from reconciler.model.address import TargetName
from reconciler.state.journal.chain import link
from reconciler.state.stores.git.command import PATIENCE
from reconciler.state.stores.git.origin import open_git
from support.journal_samples import TARGET, entries, journal, journal_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest

    from reconciler.model.entry import AnyEntry
    from reconciler.state.stores.git.branch import GitStore

SOMEBODY = ("-c", "user.name=Somebody", "-c", "user.email=somebody@partner.example")
PRODUCTION = TargetName("europe/production")

_templates: list[TemporaryDirectory[str]] = []


class GitWorld:
    """`origin.git`, a `checkout` of it that one stands in, and verbs for what happens to them."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch, object_format: str = "sha1") -> None:
        self.root = root
        self.origin = root / "origin.git"
        self.checkout = root / "checkout"
        self.cache = root / "cache"
        self.settings = root / "gitconfig"
        for name in list(os.environ):
            if name.startswith("GIT_") or name in ("SSH_ASKPASS", "EMAIL"):
                monkeypatch.delenv(name)
        self.settings.write_text("")
        monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(self.settings))
        for name in ("origin.git", "checkout"):
            copytree(_template(object_format) / name, root / name)
        config = self.checkout / ".git" / "config"
        config.write_text(config.read_text().replace("../origin.git", str(self.origin)))
        monkeypatch.chdir(self.checkout)

    def git(self, *arguments: str, at: Path | None = None, stdin: bytes | None = None) -> str:
        """Run git, in the checkout or elsewhere; what it prints."""
        return _git(at or self.checkout, *arguments, stdin=stdin)

    def open(self, spec: str = "git:state", cache: str = "cache", patience: float = PATIENCE) -> GitStore:
        """Open a store from where one stands; another cache is another machine."""
        return open_git(spec, self.root / cache, os.environ, patience)

    def begin(self, count: int = 2, target: TargetName = TARGET, cache: str = "cache") -> GitStore:
        """A store in which a journal of `count` entries has been begun."""
        store = self.open(cache=cache)
        store.append(target, None, 1, journal_bytes(entries(count, target)), f"{target}: begun")
        return store

    def push(self, path: str, data: bytes, branch: str = "state") -> None:
        """Somebody replaces a file on a branch by hand."""
        clone = self.root / "by-hand"
        if not clone.exists():
            self.git("clone", "--quiet", str(self.origin), str(clone), at=self.root)
        self.git("fetch", "--quiet", "origin", at=clone)
        self.git("checkout", "--quiet", "--force", "-B", branch, f"origin/{branch}", at=clone)
        (clone / path).parent.mkdir(parents=True, exist_ok=True)
        (clone / path).write_bytes(data)
        self.git("add", ".", at=clone)
        self.git(*SOMEBODY, "commit", "--quiet", "--message", "by hand", at=clone)
        self.git("push", "--quiet", "origin", branch, at=clone)

    def log(self, pretty: str = "%s", branch: str = "state") -> list[str]:
        """What the branch's history says, the last first."""
        return self.git("log", "--encoding=UTF-8", f"--format={pretty}", branch, at=self.origin).splitlines()

    def tip(self, branch: str = "state") -> str:
        return self.git("rev-parse", branch, at=self.origin).strip()

    def install_hook(self, name: str, script: str) -> Path:
        """A hook of the remote."""
        hook = self.origin / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\n{script}\n")
        hook.chmod(0o755)
        return hook

    def script(self, name: str, text: str) -> Path:
        """An executable script that is none of git's."""
        path = self.root / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path


def _git(directory: Path, *arguments: str, stdin: bytes | None = None) -> str:
    command = ["git", *arguments]
    return subprocess.run(command, cwd=directory, input=stdin, capture_output=True, check=True).stdout.decode()


@cache
def _template(object_format: str) -> Path:
    """A remote and a checkout to copy: the ten commands of git that make them take longer than most tests."""
    _templates.append(TemporaryDirectory())
    root = Path(_templates[-1].name)
    checkout = root / "checkout"
    init = ("init", "--quiet", "--template=", f"--object-format={object_format}")  # without samples, to be copied fast
    _git(root, *init, "--bare", "origin.git")
    _git(root, *init, "checkout")
    for repository in ("origin.git", "checkout"):  # else git looks after each push whether there is garbage
        _git(root / repository, "config", "receive.autogc", "false")
        _git(root / repository, "config", "maintenance.auto", "false")
    _git(checkout, "remote", "add", "origin", "../origin.git")
    (checkout / "deep").mkdir()
    (checkout / "deep" / "code.py").write_text("pass\n")
    _git(checkout, "add", ".")
    for message in ("first", "second"):
        _git(checkout, *SOMEBODY, "commit", "--quiet", "--allow-empty", "--message", message)
    _git(checkout, "push", "--quiet", "origin", "HEAD:refs/heads/main")
    _git(checkout, "fetch", "--quiet", "origin")
    return root


def end() -> None:
    """Delete what was made to be copied."""
    for directory in _templates:
        directory.cleanup()


def snapshot(path: Path) -> dict[str, bytes | str]:
    """Every name below a directory, with what is in it."""
    found: dict[str, bytes | str] = {}
    for one in sorted(path.rglob("*")):
        name = str(one.relative_to(path))
        found[name] = str(one.readlink()) if one.is_symlink() else "a directory" if one.is_dir() else one.read_bytes()
    return found


def more_lines(count: int, told: Sequence[AnyEntry]) -> tuple[str, bytes]:
    """The head of a journal of `count` entries, and `told` as the lines behind it."""
    head = journal(count).head
    return head, link(head, count, told)[0]
