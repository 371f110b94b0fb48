"""Remake the action's lists of hashes from `pyproject.toml`: `python .ci/requirements.py [--upgrade]`.

Versions stay as they are where they fit, unless all are to be upgraded. It installs a resolver in a directory of its
own, and asks whatever index pip is set up with.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from shutil import copy
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
ACTION = ROOT / ".github" / "actions" / "reconcile"
EXTRAS = ("objectstore", "postgres")
OPTIONS = ("--universal", "--python-version=3.11", "--generate-hashes", "--no-header", "--no-annotate", "--no-sources")


def main(arguments: list[str]) -> None:
    """Write the lists: for every store, and what an extra needs beyond that."""
    with TemporaryDirectory() as folder:
        venv = Path(folder, "venv")
        run(sys.executable, "-m", "venv", venv)
        run(venv / "bin" / "pip", "install", "-q", "--disable-pip-version-check", "uv")
        base = Path(folder, "requirements.txt")
        copy(ACTION / base.name, base)
        compile_list = (venv / "bin" / "uv", "pip", "compile", "-q", *OPTIONS, ROOT / "pyproject.toml")
        run(*compile_list, "-o", base, *arguments)
        write(base.name, "What reconciler needs, pinned by hash for Python 3.11 and later.", blocks(base))
        for extra in EXTRAS:
            file = Path(folder, f"requirements-{extra}.txt")
            file.write_text(base.read_text() + (ACTION / file.name).read_text())
            run(*compile_list, "--extra", extra, "-c", base, "-o", file, *arguments)
            own = [block for block in blocks(file) if block not in blocks(base)]
            write(file.name, f"What [{extra}] needs beyond requirements.txt.", own)


def blocks(file: Path) -> list[str]:
    """The pinned packages of a list, each with its hashes."""
    return re.findall(r"^\w.*(?:\n +.*)*\n", file.read_text(encoding="utf-8"), re.MULTILINE)


def write(name: str, title: str, pinned: list[str]) -> None:
    """Write a list. The name of an extra is left out: what it brings is in the list itself."""
    text = "".join([f"# {title} `python .ci/requirements.py` remakes it from pyproject.toml.\n", *pinned])
    (ACTION / name).write_text(text, encoding="utf-8")


def run(*command: str | Path) -> None:
    """Run a command. Raises CalledProcessError."""
    subprocess.run(command, check=True)  # noqa: S603 - no shell


if __name__ == "__main__":
    main(sys.argv[1:])
