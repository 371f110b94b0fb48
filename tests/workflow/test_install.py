"""How the action installs the program, and what it takes out of a cache that anybody may have written."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.forge import ACTION

import reconciler

if TYPE_CHECKING:
    from collections.abc import Callable

sys.path.insert(0, str(ACTION.parent))
import install

PACKAGE = Path(reconciler.__file__).parent
LISTS = ("requirements.txt", "requirements-objectstore.txt", "requirements-postgres.txt")
RUN_ID = re.compile(r"[0-9a-f]{16}")


class Runner:
    """A runner with a copy of the action, and an index with one package.

    The list for every store names that package; the others, which no git store needs, can be read by nobody. The steps
    run in a checkout that has modules with the names of what installs the program.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.temporary = root / "temporary"
        self.action = root / "action" / ".github" / "actions" / "reconcile"
        self.index = root / "index" / "thing"
        self.python = Path()
        for directory in (self.temporary, self.index):
            directory.mkdir(parents=True)
        shutil.copytree(ACTION.parent, self.action)
        (self.action.parents[2] / "reconciler").symlink_to(PACKAGE)
        self.wheel = self.offer("thing")
        for name in LISTS:
            (self.action / name).write_text(_pinned(self.wheel) if name == LISTS[0] else "?\n")
        self.checkout = root / "checkout"
        self.checkout.mkdir()
        for name in ("venv", "pip", "ensurepip", "json", "ssl"):
            text = f"open({str(self.checkout / 'ran')!r}, 'a').write({name!r})\n"
            (self.checkout / f"{name}.py").write_text(text)
        self.given = {
            "CACHE": "auto", "CREDENTIALS_GIVEN": "false", "STATE": "git:x", "TARGET": "", "DIRECTORY": ".",
            "RUNNER_TEMP": str(self.temporary), "GITHUB_OUTPUT": str(root / "output"),
            "PIP_INDEX_URL": f"file://{self.index.parent}", "PIP_CONFIG_FILE": os.devnull,
        }  # fmt: skip

    def offer(self, name: str) -> Path:
        """Have the index offer a package of this name; its wheel."""
        folder = self.index.with_name(name)
        folder.mkdir(exist_ok=True)
        wheel = _wheel(folder, "value = 'right'\n", name)
        (folder / "index.html").write_text(f'<a href="{wheel.name}">{wheel.name}</a>\n')
        return wheel

    def run(self, what: str, **given: str) -> str:
        """Run one of the steps; what it printed."""
        done = self.try_to(what, **given)
        assert 0 == done.returncode, done.stdout.decode()
        return done.stdout.decode()

    def refuse(self, what: str, **given: str) -> str:
        """Run one of the steps, which fails; what it printed."""
        done = self.try_to(what, **given)
        assert 1 == done.returncode, done.stdout.decode()
        return done.stdout.decode()

    def try_to(self, what: str, **given: str) -> subprocess.CompletedProcess[bytes]:
        """Run one of the steps."""
        return subprocess.run(
            [sys.executable, self.action / "install.py", what], cwd=self.checkout, check=False,
            env={**os.environ, **self.given, **given},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def prepare(self, **given: str) -> dict[str, str]:
        """The outputs of the first step."""
        (self.root / "output").unlink(missing_ok=True)
        self.run("prepare", **given)
        return dict(line.split("=", 1) for line in (self.root / "output").read_text().splitlines())

    def install(self, **given: str) -> str:
        """Prepare and install; what the package that was installed says."""
        told = self.prepare(**given)
        self.run("install", VENV=told["venv"], RESTORE=told["restore"], TOKENS=told["tokens"], **given)
        self.python = Path(told["python"])
        return self.ask("import thing; print(thing.value)")

    def ask(self, script: str) -> str:
        """What the interpreter with the program prints."""
        command = [str(self.python), "-c", script]
        return subprocess.run(command, cwd=self.root, capture_output=True, check=True).stdout.decode().strip()


def _wheel(directory: Path, text: str, name: str = "thing") -> Path:
    """A wheel of a package with one module."""
    path = directory / f"{name}-1-py3-none-any.whl"
    about = f"{name}-1.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{name}.py", text)
        wheel.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")
    return path


def _pinned(wheel: Path) -> str:
    """The line of a list that pins a wheel."""
    name = wheel.name.partition("-")[0]
    return f"{name}==1 --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n"


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    """A runner on which nothing was installed yet."""
    return Runner(tmp_path)


def test_install(runner: Runner) -> None:
    """The package comes from the action's own checkout, its dependencies from the index; a second step has both.

    With the wheels that an earlier run has kept, no index is needed. No list is read but that for every store, and what
    the job's checkout has in its root is not run in place of what installs the program.
    """
    assert "right" == runner.install()
    assert "" == runner.prepare()["venv"]
    shown = runner.ask("import reconciler; print(reconciler.__file__)")
    assert shown.startswith(str(runner.python.parents[1]))
    shutil.rmtree(runner.index)
    runner.run("install", VENV="", RESTORE="true", TOKENS="false")
    kept = runner.temporary / "reconciler-wheels"
    assert [runner.wheel.name] == [path.name for path in kept.iterdir()]
    shutil.rmtree(runner.temporary / runner.python.parents[1].name)
    assert "right" == runner.install()
    assert not (runner.checkout / "ran").exists()


@pytest.mark.parametrize(
    "kind",
    [
        "another wheel",
        *(pytest.param(kind, marks=pytest.mark.soak) for kind in ("link", "pipe", "directory", "link to a directory")),
    ],
)
def test_poisoned_wheels(runner: Runner, kind: str) -> None:
    """A wheel whose hash is not in the list is not installed, and nothing else in a cache is opened or followed."""
    kept = runner.temporary / "reconciler-wheels"
    evil = runner.root / "evil"
    evil.mkdir()
    _wheel(evil, "value = 'evil'\n")
    name = runner.wheel.name
    if kind == "link to a directory":
        kept.symlink_to(evil)
    else:
        kept.mkdir()
        match kind:
            case "another wheel":
                shutil.copy(evil / name, kept)
            case "link":
                (kept / name).symlink_to(evil / name)
            case "pipe":
                os.mkfifo(kept / name)
            case "directory":
                (kept / name).mkdir()
    assert "right" == runner.install()
    assert [name] == [path.name for path in evil.iterdir()]


def test_index_with_another_wheel(runner: Runner) -> None:
    """Where the index has something else under the name, nothing is installed."""
    _wheel(runner.index, "value = 'evil'\n")
    told = runner.prepare()
    for restore in ("true", "false"):
        said = runner.refuse("install", VENV=told["venv"], RESTORE=restore, TOKENS="false")
        assert "Error: reconciler cannot be installed" in said
        assert told["venv"] == runner.prepare()["venv"]


def test_nothing_is_restored_beside_credentials(runner: Runner) -> None:
    """Whoever may write a cache cannot reach a job with credentials, unless it asks for that."""
    secret = {"RECONCILER_EUROPE_STAGING_CLIENT_SECRET": "x"}
    for given, restore, save in (
        ({}, "true", "true"),
        ({"CREDENTIALS_GIVEN": "true"}, "false", "true"),
        (secret, "false", "true"),
        ({"CREDENTIALS_GIVEN": "true", "CACHE": "always"}, "true", "true"),
        ({"CACHE": "never"}, "false", "false"),
    ):
        told = runner.prepare(**given)
        assert (restore, save) == (told["restore"], told["save"]), given
    assert "Error: cache: expected one of auto, always, never" in runner.refuse("prepare", CACHE="true")


@pytest.fixture
def restores(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], bool]:
    """Ask whether a job with a variable of this name restores a cache."""
    for name, value in runner.given.items():
        monkeypatch.setenv(name, value)

    def ask(name: str) -> bool:
        output = runner.root / "output"
        output.unlink(missing_ok=True)
        with monkeypatch.context() as job:
            job.setenv(name, "x")
            install.prepare()
        return "restore=true\n" in output.read_text()

    return ask


@pytest.mark.parametrize(
    ("name", "is_credential"),
    [
        *((name, True) for name in ("PGPASSWORD", "PGPASSFILE", "PGSERVICEFILE", "PGSSLKEY", "RECONCILER_SECRETS_DIR")),
        *((name, True) for name in ("AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN", "AWS_CONTAINER_CREDENTIALS_FULL_URI")),
        *((name, True) for name in ("AZURE_STORAGE_ACCOUNT_KEY", "AZURE_CLIENT_SECRET", "AZURE_FEDERATED_TOKEN_FILE")),
        *((name, True) for name in ("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_SERVICE_ACCOUNT_PATH")),
        ("ACTIONS_ID_TOKEN_REQUEST_TOKEN", True),  # buys credentials of a store
        *((name, False) for name in ("AZURE_EXTENSION_DIR", "AWS_REGION", "PGHOST", "RECONCILER_GIT_CLIENT_SECRET")),
    ],
)
def test_credentials_of_a_job(restores: Callable[[str], bool], name: str, is_credential: bool) -> None:
    """Nothing is restored where the environment of the job has credentials, of the store too."""
    assert restores(name) is not is_credential


def test_every_credential_of_an_object_store_counts(restores: Callable[[str], bool]) -> None:
    """Whatever variable of a store holds a secret, or leads to one."""
    text = (PACKAGE / "state/stores/objects/places.py").read_text()
    names = re.findall(
        r'"((?:AWS|AZURE|GOOGLE)_[A-Z0-9_]*(?:SECRET|TOKEN|KEY|CREDENTIAL|SERVICE_ACCOUNT)[A-Z0-9_]*)"', text
    )
    assert len({*names}) > 15
    assert [] == [name for name in {*names} if restores(name)]


def test_keys(runner: Runner) -> None:
    """The heads of other records or targets are not taken, and with tokens, nor are those of other jobs."""
    scopes = [
        runner.prepare(**given)["scope"]
        for given in (
            {},
            {"TARGET": "europe/staging"},
            {"STATE": "git:y"},
            {"DIRECTORY": "a"},
            *({"CACHE": "always", "CREDENTIALS_GIVEN": "true", "GITHUB_JOB": job} for job in ("apply", "other")),
        )
    ]
    assert len(scopes) == len({*scopes})
    assert scopes[0] == runner.prepare(CREDENTIALS_GIVEN="true")["scope"]
    assert scopes[0] == runner.prepare(CACHE="always")["scope"]
    assert RUN_ID.fullmatch(runner.prepare()["unique"])


def test_heads_of_a_cache(runner: Runner) -> None:
    """Heads are copied as regular files by name; whatever else is there is neither followed nor copied."""
    kept, cache = runner.temporary / "reconciler-kept", runner.temporary / "reconciler-cache"
    good, token = "0" * 32 + ".json", "a" * 64 + ".token"
    for name in ("heads", "tokens", "git/x.git"):
        (kept / name).mkdir(parents=True)
    (kept / "heads" / good).write_text("{}")
    (kept / "tokens" / token).write_text("sealed")
    (kept / "git" / "x.git" / "config").write_text("[core]\n")
    (kept / "heads" / "1111111111.json").symlink_to("/etc/passwd")
    os.mkfifo(kept / "heads" / "2222222222.json")
    with (kept / "heads" / "3333333333.json").open("wb") as file:
        file.truncate(1 << 40)
    (kept / "heads" / ".lock").touch()
    if os.geteuid() == 0:
        (kept / "heads" / "4444444444.json").write_text("{}")
        os.chown(kept / "heads" / "4444444444.json", 12345, 12345)
    runner.run("install", VENV="", RESTORE="true", TOKENS="false")
    assert [good] == [path.name for path in cache.rglob("*") if path.is_file() or path.is_fifo()]
    assert [0o700, 0o700, 0o600] == [
        path.lstat().st_mode & 0o777 for path in (cache, cache / "heads", cache / "heads" / good)
    ]
    runner.run("install", VENV="", RESTORE="true", TOKENS="true")
    assert (cache / "tokens" / token).exists()
    (cache / "git").mkdir()
    (cache / "git" / "config").touch()
    for tokens, expected in (("false", [good]), ("true", [good, token])):
        runner.run("keep", TOKENS=tokens)
        assert expected == sorted(path.name for path in kept.rglob("*") if path.is_file())


def test_links_in_place_of_the_directories(runner: Runner) -> None:
    """A link is no directory of heads."""
    (runner.root / "elsewhere").mkdir()
    (runner.root / "elsewhere" / ("0" * 32 + ".json")).write_text("{}")
    (runner.temporary / "reconciler-kept").mkdir()
    (runner.temporary / "reconciler-kept" / "heads").symlink_to(runner.root / "elsewhere")
    runner.run("install", VENV="", RESTORE="true", TOKENS="false")
    assert [] == list((runner.temporary / "reconciler-cache" / "heads").iterdir())


@pytest.mark.parametrize(
    ("state", "extra"),
    [
        ("s3://b", "objectstore"),
        *(pytest.param(*kind, marks=pytest.mark.soak) for kind in (("state", ""), ("postgresql://h/d", "postgres"))),
    ],
)
def test_what_the_store_needs_is_installed(runner: Runner, state: str, extra: str) -> None:
    """The list for every store is installed, and that of the type of the store; each set has its own cache."""
    if extra:
        (runner.action / f"requirements-{extra}.txt").write_text(_pinned(runner.offer("more")))
    assert "right" == runner.install(STATE=state, CREDENTIALS_GIVEN="true")
    found = runner.ask("import importlib.util; print(importlib.util.find_spec('more') is not None)")
    assert str(bool(extra)) == found
    assert bool(extra) == (runner.prepare(STATE=state)["wheels"] != runner.prepare(STATE="git:x")["wheels"])


def test_python_that_is_found(tmp_path: Path) -> None:
    """Of the PATH, or of the runner's tools; an older one does not count, and without one the log says what to add."""
    script = ACTION.parent / "find_python.sh"
    tools, path = tmp_path / "tools", tmp_path / "bin"
    path.mkdir()
    python = tools / "Python" / "3.13.1" / "x64" / "bin" / "python3"
    old = path / "python3"
    old.write_text("#!/bin/bash\nexit 1\n")
    old.chmod(0o755)

    def find() -> subprocess.CompletedProcess[bytes]:
        given = {"PATH": str(path), "RUNNER_TOOL_CACHE": str(tools)}
        return subprocess.run(["/bin/bash", script], env=given, capture_output=True, check=False)

    missing = find()
    assert (1, b"") == (missing.returncode, missing.stdout)
    assert b"::error::no Python 3.11 or later on this runner; add a step before" in missing.stderr
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    assert f"{python}\n".encode() == find().stdout
    (path / "python3.12").symlink_to(sys.executable)
    assert f"{path}/python3.12\n".encode() == find().stdout


def test_lists_for_real(runner: Runner) -> None:
    """What the lists pin can be installed here, and the program runs with it. Needs an index that pip can reach."""
    for name in LISTS:
        shutil.copy(ACTION.parent / name, runner.action / name)
    for name in ("PIP_INDEX_URL", "PIP_CONFIG_FILE"):
        del runner.given[name]
    told = runner.prepare()
    done = runner.try_to("install", VENV=told["venv"], RESTORE="false", TOKENS="false")
    if done.returncode and not _reaches_an_index(runner):
        pytest.skip("pip reaches no index here")
    assert 0 == done.returncode, done.stdout.decode()
    done = subprocess.run(
        [told["python"], "-m", "reconciler", "demo"], cwd=runner.root, capture_output=True, check=False
    )  # fmt: skip
    assert 0 == done.returncode, done.stderr.decode()


def _reaches_an_index(runner: Runner) -> bool:
    """Whether pip can download anything at all."""
    probe = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--retries=0", "--timeout=10"]
    probe += ["--disable-pip-version-check", f"--dest={runner.index}", "mdurl"]
    return not subprocess.run(probe, capture_output=True, check=False).returncode
