"""A remote and a checkout of it, as a user or a workflow has them, with real git."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from reconciler.record.store import Store
from reconciler.stores.location import open_store

SOMEBODY = ("-c", "user.name=Somebody", "-c", "user.email=somebody@partner.example")


class GitWorld:
    """`origin.git`, a `checkout` of it, and verbs for what happens to them."""

    def __init__(self, template: Path, root: Path) -> None:
        self.root = root
        self.origin = root / "origin.git"
        self.checkout = root / "checkout"
        for name in ("origin.git", "checkout"):
            shutil.copytree(template / name, root / name)

    @staticmethod
    def make_template(root: Path) -> Path:
        """Make a remote and a checkout to copy: the commands that make them take longer than most tests."""
        checkout = root / "checkout"
        init = ("init", "--quiet", "--template=", "--initial-branch=main")
        run_git(root, *init, "--bare", "origin.git")
        run_git(root, *init, "checkout")
        run_git(root / "origin.git", "config", "receive.autogc", "false")
        run_git(checkout, "remote", "add", "origin", "../origin.git")
        (checkout / "code.py").write_text("pass\n")
        run_git(checkout, "add", ".")
        for message in ("first", "second"):
            run_git(checkout, *SOMEBODY, "commit", "--quiet", "--allow-empty", "--message", message)
        run_git(checkout, "push", "--quiet", "origin", "HEAD:refs/heads/main")
        return root

    def git(self, *arguments: str, at: Path | None = None, stdin: bytes = b"") -> str:
        """Run git, in the checkout or elsewhere, and return what it prints."""
        return run_git(at or self.checkout, *arguments, stdin=stdin)

    def open(self, place: str = "git:state", machine: str = "", at: Path | None = None) -> Store:
        """Open a store from a work tree, on this machine or another."""
        return open_store(place, (at or self.checkout) / "config", self.root / f"cache{machine}")

    def tip(self, branch: str = "state") -> str:
        """Return the tip of a branch of the remote."""
        return self.git("rev-parse", branch, at=self.origin).strip()

    def log(self, pretty: str = "%s", branch: str = "state") -> list[str]:
        """Return what the branch's history says, the last first."""
        return self.git("log", f"--format={pretty}", branch, at=self.origin).splitlines()

    def move(self, branch: str, tip: str = "") -> None:
        """Set a branch of the remote to a commit, or delete it."""
        ref = f"refs/heads/{branch}"
        self.git("update-ref", *([ref, tip] if tip else ["-d", ref]), at=self.origin)

    def commit_file(self, name: str, data: bytes, branch: str = "state") -> None:
        """Commit a file to a branch of the remote, by hand, keeping the others."""
        blob = self.git("hash-object", "-w", "--stdin", at=self.origin, stdin=data).strip()
        listed = self.git("ls-tree", branch, at=self.origin)
        kept = "".join(f"{line}\n" for line in listed.splitlines() if not line.endswith(f"\t{name}"))
        tree = self.git("mktree", at=self.origin, stdin=os.fsencode(f"{kept}100644 blob {blob}\t{name}\n")).strip()
        commit = self.git(*SOMEBODY, "commit-tree", tree, "-p", branch, "-m", "by hand", at=self.origin).strip()
        self.move(branch, commit)

    def hook(self, name: str, script: str) -> None:
        """Install a hook of the remote."""
        _write_script(self.origin / "hooks" / name, script)

    def wrap_git(self, script: str) -> str:
        """Return a PATH on which git is a script; `$GIT` in it is the real one."""
        real = shutil.which("git")
        _write_script(self.root / "bin" / "git", f"GIT={real}\n{script}")
        return f"{self.root / 'bin'}{os.pathsep}{os.environ['PATH']}"


def run_git(directory: Path, *arguments: str, stdin: bytes = b"") -> str:
    """Run git in a directory, and return what it prints."""
    command = ["git", *arguments]
    return subprocess.run(command, cwd=directory, input=stdin, capture_output=True, check=True).stdout.decode()


def snapshot(path: Path) -> dict[str, bytes]:
    """Return every file below a directory, with what is in it."""
    return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


def _write_script(path: Path, script: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
