"""The place of a drill: a project of its own, the sandbox as its service, and programs to work with."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from reconciler.errors import ReconcilerError, Refused
from reconciler.operations.drills.commands import Counted, counted, end_all
from reconciler.sandbox.sandbox import Sandbox
from reconciler.sandbox.targets import Target
from reconciler.state.journal.chain import is_journal

TARGET = "europe/production"
HOOKS = "https://hooks.partner.example"
CODES = {"loans": "LOA10013", "offers": "ONB10011", "leads": "ONB10001", "agreements": "ONB10003"}
"""The event code of each subscription that a drill may have."""

_PEOPLE = ("-c", "user.name=Drill", "-c", "user.email=drill@partner.example", "-c", "init.defaultBranch=main")

_SHOW_CURSOR = "\x1b[?25h\n"


class Scene:
    """A drill below the directory `place`: in `project/`, the person works; the rest is the world around them.

    `recovery_files` are those that were there when the person's turn began, or ended, by name; `copies` the journals
    in the project when it began. The sandbox has this retry interval, in seconds. `show` gets each command that is run
    in the person's name before it is their turn.
    """

    def __init__(self, place: Path, sandbox: Sandbox, retry_interval: float, show: Callable[[str], None]) -> None:
        self.project = place / "project"
        self.elsewhere = place / "elsewhere"
        self.sandbox = sandbox
        self.retry_interval = retry_interval
        self._place = place
        self._show = show
        self.recovery_files: dict[str, bytes] = {}
        self.copies: frozenset[Path] = frozenset()
        self.project.mkdir(parents=True)
        self.elsewhere.mkdir()
        self._write_programs()

    @property
    def account(self) -> Target:
        return self.sandbox.world.targets[TARGET]

    @property
    def journal(self) -> Path:
        return self.project / "state" / f"{TARGET}.jsonl"

    @property
    def identities(self) -> Path:
        return self._place / "data" / "reconciler" / "identities"

    def journals(self) -> list[Path]:
        """The files in the project that are journals, or copies of one."""
        files = [path for path in sorted(self.project.rglob("*")) if path.is_file()]
        return [path for path in files if ".git" not in path.parts and is_journal(path.read_bytes()[:80])]

    def unrecorded(self) -> dict[str, bytes]:
        """The recovery files that are there, by name."""
        files = (self._place / "data" / "reconciler" / "unrecorded").glob("*.jsonl")
        return {path.name: path.read_bytes() for path in sorted(files)}

    @property
    def environment(self) -> dict[str, str]:
        """The variables of the person's shell: nothing of this program but where the service is, nothing of git.

        A hook's GIT_DIR would have the drill commit to the user's repository, and the user's settings run their hooks.
        """
        ours = {name: value for name, value in os.environ.items() if not name.startswith(("RECONCILER_", "GIT_"))}
        for name in ("CI", "ENV", "BASH_ENV"):
            ours.pop(name, None)
        variables = {name: value for name, value in self.sandbox.variables() if "_CLIENT_" not in name}
        git = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        homes = {"XDG_CACHE_HOME": str(self._place / "cache"), "XDG_DATA_HOME": str(self._place / "data")}
        return {
            **ours,
            **variables,
            **homes,
            **git,
            "PATH": f"{self._place / 'bin'}{os.pathsep}{ours.get('PATH', os.defpath)}",
        }

    # What is in the project

    def declare(self, *names: str, **urls: str) -> None:
        """Write both files of `config/`, with these subscriptions; `urls` are those that are not as usual."""
        lines = ["targets:", f"  {TARGET}:"]
        lines += [f"    auth_url: {self.account.provider.auth_url}", f"    base_url: {self.account.base_url}"]
        lines += [f"    audience_base: {self.account.provider.audience_base}"]
        self._write_lines("config/targets.yaml", lines)
        lines = ["subscriptions:", f"  {TARGET}:"]
        for name in names:
            lines += [f"    {name}:", f"      eventCodes: [{CODES[name]}]"]
            lines += [f"      webhookUrl: {urls.get(name, f'{HOOKS}/{name}')}"]
        self._write_lines("config/subscriptions.yaml", lines)

    def give_credentials(self, client_id: str, secret: str, file: str = ".env", more: str = "") -> None:
        """Write a file with credentials; the program reads the one that is called `.env`."""
        prefix = f"RECONCILER_{TARGET.upper().replace('/', '_')}"
        self.write(file, f"{prefix}_CLIENT_ID={client_id}\n{prefix}_CLIENT_SECRET={secret}\n{more}")

    def begin(self, *names: str, settings: str = "") -> None:
        """A project with credentials and a new record; these subscriptions, or what is declared, are in force."""
        if names:
            self.declare(*names)
        self.give_credentials(self.account.client_id, self.account.client_secret, more=settings)
        self.quietly("state", "init")
        self.quietly("apply", "--auto-approve", "--unsealed")

    def _write_lines(self, name: str, lines: list[str]) -> None:
        self.write(name, "".join(f"{line}\n" for line in lines))

    def write(self, name: str, text: str) -> None:
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    # What is run

    def run(self, *arguments: str, failpoint: str = "") -> None:
        """Run a command in the person's name, with its output as they would have seen it."""
        code = self._start(arguments, failpoint).wait()
        if code < 0 and sys.stderr.isatty():  # killed, it could not put the terminal right
            sys.stderr.write(_SHOW_CURSOR)

    @contextmanager
    def during_create(self, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
        """Run an apply, shown; what is done inside happens after its next create was sent, and before it is recorded.

        Raises ReconcilerError if it sends none.
        """
        apply = self._start(arguments, "after-send:1:stop,closing=0.3")
        _, status = os.waitpid(apply.pid, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            raise ReconcilerError("the apply to be disturbed sent no create", where="drill")
        yield apply
        apply.send_signal(signal.SIGCONT)
        apply.wait()

    def quietly(self, *arguments: str, project: Path | None = None) -> bytes:
        """The output of a command that is not shown. Raises ReconcilerError unless it exits with 0."""
        return self._output([*self._program, *arguments], project or self.project)

    def ask(self, *arguments: str) -> Any:
        """The JSON document that a command prints, whatever its exit code; None if it prints none."""
        try:
            return json.loads(self.prints(*arguments, "--format", "json"))
        except ValueError:
            return None

    def prints(self, *arguments: str) -> str:
        """What a command prints, whatever its exit code."""
        command = [*self._program, *arguments]
        return self._captured(command, self.project).stdout.decode()

    def git(self, *arguments: str, at: Path | None = None) -> str:
        """What git prints. Raises Refused if there is none, and ReconcilerError if it fails."""
        git = shutil.which("git")
        if git is None:
            raise Refused("this drill needs git, which is not installed")
        return self._output([git, *_PEOPLE, *arguments], at or self.project).decode()

    def wait_for_person(self) -> None:
        """Let the person work in a shell, which ends with its input or by `exit`, as does what still runs there."""
        self._tell_secrets()
        self.recovery_files = self.unrecorded()
        self.copies = frozenset(self.journals())
        shell = shutil.which("bash")
        command = [shell, "--norc", "--noprofile"] if shell else ["sh"]
        prompt = f"drill:{self._place.name}$ "
        subprocess.run(command, cwd=self.project, env={**self.environment, "PS1": prompt}, check=False)  # noqa: S603
        end_all(self._place)
        self.recovery_files.update(self.unrecorded())

    @property
    def commands(self) -> Counted:
        """The commands of this program that the person has run, now that all have ended."""
        return counted(self._place)

    def _tell_secrets(self) -> None:
        """Let the person ask the operator for the secrets of what exists now."""
        secrets = {commit.id: commit.secret for commit in self.sandbox.world.subscriptions()}
        self._place.joinpath("secrets.json").write_text(json.dumps(secrets), encoding="utf-8")

    _program = (sys.executable, "-m", "reconciler")

    def _start(self, arguments: tuple[str, ...], failpoint: str) -> "subprocess.Popen[bytes]":
        self._show(f"$ reconciler {shlex.join(arguments)}")
        environment = {**self.environment, "RECONCILER_TEST_FAILPOINT": failpoint}
        return subprocess.Popen(  # noqa: S603 - our own words
            [*self._program, *arguments], cwd=self.project, env=environment, stdin=subprocess.DEVNULL
        )

    def _output(self, command: list[str], place: Path) -> bytes:
        done = self._captured(command, place)
        if done.returncode != 0:
            raise ReconcilerError(
                f"it exited with {done.returncode}: {done.stderr.decode()}", where=shlex.join(command)
            )
        return done.stdout

    def _captured(self, command: list[str], place: Path) -> "subprocess.CompletedProcess[bytes]":
        """Run a command whose questions nobody would see, so that it must not ask any."""
        return subprocess.run(  # noqa: S603 - our own words
            command, cwd=place, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )

    def _write_programs(self) -> None:
        """`reconciler`, which notes that it is run, and `operator`, who answers as the service's does."""
        programs = self._place / "bin"
        programs.mkdir()
        modules = {"reconciler": ("counted", self._place), "operator": ("operator", self._place / "secrets.json")}
        for name, (module, argument) in modules.items():
            command = [sys.executable, "-m", f"reconciler.operations.drills.{module}", str(argument)]
            programs.joinpath(name).write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n', encoding="utf-8")
            programs.joinpath(name).chmod(0o755)
