"""The steps of the action around reconciler: install it, and keep across runs what makes the next one faster or safer.

Only the standard library: it runs before anything is installed. A cache is written by whoever may run a workflow on the
branch, so what is restored is read as hostile, and nothing is where the program looks for files of its own: wheels
count if their hash is in the action's lists, heads and tokens are copied by name, as regular files of a limited size.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import stat
import subprocess
import sys
import sysconfig
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ACTION = Path(__file__).resolve().parent
PACKAGE = ACTION.parents[2] / "reconciler"
EXTRAS = {"s3": "objectstore", "gs": "objectstore", "az": "objectstore", "postgresql": "postgres"}
CACHES = ("auto", "always", "never")
WHEELS = (re.compile(r"[\w.+-]+\.whl"), 64 << 20)
"""The names and the largest size, in bytes, of the files that are taken from a cache."""
DATA = {
    "heads": (re.compile(r"[0-9a-f]{8,64}\.json"), 1 << 20),
    "tokens": (re.compile(r"[0-9a-f]{64}\.token"), 1 << 16),
}
MOST = 10_000
"""Files that are taken from one directory of a cache."""
SECRET = re.compile(
    r"RECONCILER_((?!GIT_).+_CLIENT_SECRET|SECRETS_DIR)|PG(PASS.*|SERVICEFILE|SSLKEY)|ACTIONS_ID_TOKEN_REQUEST_TOKEN"
    r"|(AWS|AZURE|GOOGLE)_.*(SECRET|TOKEN|KEY|CREDENTIAL|SERVICE_ACCOUNT).*"
)
"""Variables that hold credentials of the service or of a store, or lead to them; a runner has others of such names."""


def temporary(name: str) -> Path:
    """A path in the runner's directory for this job."""
    return Path(os.environ["RUNNER_TEMP"]) / f"reconciler-{name}"


# Before anything is restored


def prepare() -> None:
    """Tell which interpreter later steps use, and the keys of the caches. Raises SystemExit for a wrong input."""
    cache = os.environ["CACHE"]
    if cache not in CACHES:
        raise SystemExit(f"Error: cache: expected one of {', '.join(CACHES)}")
    has_secrets = os.environ["CREDENTIALS_GIVEN"] == "true" or any(map(SECRET.fullmatch, os.environ))
    given = os.environ.get("RECONCILER_PYTHON", "")
    venv = temporary(f"venv-{_key_of_lists()[:16]}")
    restores = cache == "always" or (cache == "auto" and not has_secrets)
    _tell(
        python=given or str(venv / "bin" / "python"),
        venv="" if given or (venv / "ready").exists() else str(venv),
        restore=str(restores).lower(),
        save=str(cache != "never").lower(),
        tokens=str(cache == "always").lower(),
        wheels=f"reconciler-wheels-{_key_of_lists()}",
        scope=_scope(with_tokens=cache == "always" and has_secrets),
        unique=secrets.token_hex(8),
    )


def _scope(*, with_tokens: bool) -> str:
    """What the keys of the caches of heads begin with: by record and targets; with tokens, by job too."""
    of = "\0".join(os.environ[name] for name in ("STATE", "TARGET", "DIRECTORY"))
    kind = f"tokens-{os.environ.get('GITHUB_JOB', '')}" if with_tokens else "heads"
    return f"reconciler-{kind}-{hashlib.sha256(of.encode()).hexdigest()[:16]}-"


def _lists() -> list[Path]:
    """The lists of what is installed: for every store, and for the type of this one."""
    extra = EXTRAS.get(os.environ["STATE"].partition(":")[0].lower())
    return [ACTION / "requirements.txt", *([ACTION / f"requirements-{extra}.txt"] if extra else [])]


def _key_of_lists() -> str:
    text = "".join(path.read_text(encoding="utf-8") for path in _lists())
    return hashlib.sha256(f"{sys.version}\0{sysconfig.get_platform()}\0{text}".encode()).hexdigest()


# Once the caches are restored


def install(venv: Path, wheels: Path, *, from_cache: bool) -> None:
    """Make an environment at `venv`: dependencies by hash, and the package as it is in the action's own checkout.

    `from_cache`: with the wheels that were restored to `wheels`, which then has those that a cache is to have.
    """
    hashes = {found for path in _lists() for found in re.findall(r"--hash=sha256:(\w{64})", path.read_text())}
    _run(sys.executable, "-m", "venv", "--clear", *_pip_is_elsewhere(), str(venv), must=True)
    own = temporary(f"wheels-{secrets.token_hex(8)}")
    how = ["install", "--no-compile"]
    if from_cache:
        take(wheels, own, *WHEELS, lambda data: hashlib.sha256(data).hexdigest() in hashes)
        if not any(own.iterdir()) or not _pip(venv, *how, "--no-index", "--find-links", str(own), quiet=True):
            _pip(venv, "download", "--dest", str(own), must=True)
            _pip(venv, *how, "--no-index", "--find-links", str(own), must=True)
        _delete(wheels)
        own.rename(wheels)
    else:
        _pip(venv, *how, must=True)
    (site,) = (venv / "lib").glob("python3*/site-packages")
    shutil.copytree(PACKAGE, site / "reconciler", ignore=shutil.ignore_patterns("__pycache__"))
    (venv / "ready").touch()


def _pip_is_elsewhere() -> list[str]:
    """The option for an environment without pip, if there is one that can install into it: that is much faster."""
    from importlib.util import find_spec  # noqa: PLC0415 - one use

    return ["--without-pip"] if find_spec("pip") else []


def _pip(venv: Path, command: str, *options: str, must: bool = False, quiet: bool = False) -> bool:
    """Run pip for what is in the lists; whether it succeeded. With `must`, raises SystemExit if not."""
    python = venv / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python)] if _pip_is_elsewhere() else [str(python), "-m", "pip"]
    lists = [argument for path in _lists() for argument in ("-r", str(path))]
    # Nothing is built: what builds a package would come unpinned.
    kept = ["-q", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:", "--require-hashes", *lists]
    return _run(*pip, command, *kept, *options, must=must, quiet=quiet)


def _run(*command: str, must: bool, quiet: bool = False) -> bool:
    # A checkout may have a `pip.py` of its own, and this runs in it.
    environment = {**os.environ, "PYTHONSAFEPATH": "1"}
    stderr = subprocess.DEVNULL if quiet else None
    done = subprocess.run(command, check=False, env=environment, stderr=stderr)  # noqa: S603 - no shell
    if must and done.returncode:
        raise SystemExit("Error: reconciler cannot be installed; see above")
    return done.returncode == 0


def take_data(restored: Path, cache: Path, *, tokens: bool) -> None:
    """Copy the heads, and the tokens if so told, of earlier runs to where the program looks for them.

    Not over those of an earlier step of the same job.
    """
    for name in ("heads", "tokens") if tokens else ("heads",):
        if not (cache / name).exists():
            cache.mkdir(mode=0o700, exist_ok=True)
            take(restored / name, cache / name, *DATA[name])


def keep_data(cache: Path, kept: Path, *, tokens: bool) -> None:
    """Copy the heads, and the tokens if so told, to a directory that holds nothing else."""
    _delete(kept)
    kept.mkdir(mode=0o700)
    for name in ("heads", "tokens") if tokens else ("heads",):
        take(cache / name, kept / name, *DATA[name])


def take(
    source: Path, target: Path, names: re.Pattern[str], limit: int, accept: Callable[[bytes], bool] = lambda _: True
) -> None:
    """Copy to `target`, a new directory, the regular files of `source` with such names, of at most `limit` bytes."""
    target.mkdir(mode=0o700)
    for name, data in _files(source, names, limit):
        if accept(data):
            descriptor = os.open(target / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)


def _delete(path: Path) -> None:
    """Delete whatever has this name, without following it."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _files(directory: Path, names: re.Pattern[str], limit: int) -> Iterator[tuple[str, bytes]]:
    """The regular files of a directory; nothing is followed, waited for, or read beyond its limit."""
    with suppress(OSError):
        opened = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            with os.scandir(opened) as found:
                taken = sorted(entry.name for entry in found if names.fullmatch(entry.name))[:MOST]
            for name in taken:
                data = _read(opened, name, limit)
                if data is not None:
                    yield name, data
        finally:
            os.close(opened)


def _read(directory: int, name: str, limit: int) -> bytes | None:
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=directory)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_size > limit:
            return None
        data = file.read(limit + 1)
    return data if len(data) <= limit else None


def _tell(**outputs: str) -> None:
    with Path(os.environ["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as file:
        file.writelines(f"{name}={value}\n" for name, value in outputs.items())


def main(what: str) -> None:
    """Do one of the steps: `prepare`, `install` or `keep`."""
    cache, kept = temporary("cache"), temporary("kept")
    tokens = os.environ.get("TOKENS") == "true"
    match what:
        case "prepare":
            prepare()
        case "install":
            restores = os.environ["RESTORE"] == "true"
            if os.environ["VENV"]:
                install(Path(os.environ["VENV"]), temporary("wheels"), from_cache=restores)
            if restores:
                take_data(kept, cache, tokens=tokens)
        case "keep":
            keep_data(cache, kept, tokens=tokens)
        case _:
            raise SystemExit(f"Error: no such step: {what}")


if __name__ == "__main__":
    main(sys.argv[1])
