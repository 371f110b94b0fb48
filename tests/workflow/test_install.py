"""How the action installs the program: by hash, from whatever index the runner has, without what the checkout holds."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from support.forge import ACTION

import reconciler


class Runner:
    """A runner with a copy of the action, whose lists name one package, and an index that has it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.action = root / "action/.github/actions/reconcile"
        shutil.copytree(ACTION, self.action)
        (self.action.parents[2] / "reconciler").symlink_to(Path(reconciler.__file__).parent)
        index = root / "index/thing"
        index.mkdir(parents=True)
        self.wheel = index / "thing-1.0-py3-none-any.whl"
        with zipfile.ZipFile(self.wheel, "w") as wheel:
            wheel.writestr("thing.py", "")
            info = "thing-1.0.dist-info"
            wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n")
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", "")
        (index / "index.html").write_text(f'<a href="{self.wheel.name}">{self.wheel.name}</a>')
        digest = hashlib.sha256(self.wheel.read_bytes()).hexdigest()
        for file in self.action.glob("requirements*.txt"):
            file.write_text("")
        (self.action / "requirements.txt").write_text(f"thing==1.0 --hash=sha256:{digest}\n")
        self.checkout = root / "checkout"
        self.checkout.mkdir()
        for name in ("venv", "pip", "json", "ssl"):
            (self.checkout / f"{name}.py").write_text(f"open({str(root / 'ran')!r}, 'a').write({name!r})\n")

    def install(self, **given: str) -> subprocess.CompletedProcess[str]:
        """Run the step in the checkout."""
        environment = {
            "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])), "HOME": str(self.root),
            "RUNNER_TEMP": str(self.root), "GITHUB_OUTPUT": str(self.root / "output"), "PIP_CONFIG_FILE": os.devnull,
            "GITHUB_ACTION_PATH": str(self.action), "PIP_INDEX_URL": f"file://{self.root}/index", **given,
        }  # fmt: skip
        return subprocess.run(
            ["bash", str(self.action / "install.sh")], cwd=self.checkout, env=environment, check=False, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    @property
    def python(self) -> str:
        """The interpreter that the step has told."""
        lines = (self.root / "output").read_text().splitlines()
        return next(line.removeprefix("python=") for line in lines if line.startswith("python="))


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    """A runner."""
    return Runner(tmp_path)


def test_install(runner: Runner) -> None:
    """The interpreter has the package and its dependency, and nothing of the checkout was run."""
    done = runner.install()
    assert 0 == done.returncode, done.stdout
    where = "import reconciler, thing; print(reconciler.__file__)"
    found = subprocess.run([runner.python, "-I", "-c", where], cwd=runner.checkout, check=True, capture_output=True)
    assert found.stdout.decode().startswith(str(runner.root / "reconciler-venv"))
    assert not (runner.root / "ran").exists()


def test_another_wheel(runner: Runner) -> None:
    """A wheel whose hash is not in the list is not installed."""
    with zipfile.ZipFile(runner.wheel, "a") as wheel:
        wheel.writestr("more.py", "")
    done = runner.install()
    assert done.returncode != 0
    assert not (runner.root / "output").exists()


def test_second_step_of_a_job(runner: Runner) -> None:
    """What is installed is used again, without the index."""
    assert runner.install().returncode == 0
    shutil.rmtree(runner.root / "index")
    assert runner.install().returncode == 0


def test_interpreter_of_the_runner(runner: Runner) -> None:
    """A runner of your own can name an interpreter that has the program."""
    assert runner.install(RECONCILER_PYTHON="/opt/own/python").returncode == 0
    assert "/opt/own/python" == runner.python
