"""A partner's project on several machines, the sandbox that it works with, and what must hold whatever happens.

Every command is a process of its own: a fork of one that has loaded the program, or the installed executable. Each
machine has a working directory and a home of its own. All machines share one clock, which can be moved on.
"""

from __future__ import annotations

import atexit
import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
import uuid
from base64 import b64encode
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote
from urllib.request import urlopen

import pyrage  # type: ignore[import-untyped]

from reconciler.sandbox import Sandbox
from support import servers
from support.command_line import Ran
from support.git_world import GitWorld
from support.warm import Forked, WarmProgram

EXECUTABLE = Path(sys.executable).parent / "reconciler"
CLOCK = Path(__file__).parent / "clock"
HERE, THERE = "europe/staging", "usa/production"
KINDS = ("file", "git", "s3", "postgresql")
AFTER_FLIGHT, AFTER_LOSS = 200, 400
"""Seconds after which no call of a run, and none from before an accepted loss, can be in flight."""

Process = subprocess.Popen[bytes] | Forked
"""A command that was started."""
Route = tuple[str, str, str]
"""The name of a target at the sandbox, an event code, and the URL that it is delivered to."""


@dataclass
class Place:
    """Where a record lies, and the variables that lead there. `origin` is the bare repository of a git place."""

    kind: str
    name: str
    environment: dict[str, str] = field(default_factory=dict)
    origin: Path | None = None


class Places:
    """Makes places of each kind that no other test uses."""

    def __init__(self, factory: Any, root: Path, template: Path) -> None:
        self._factory = factory
        self._root = root
        self._template = template

    def make(self, kind: str) -> Place:
        """Return a new place: `file`, `git`, `s3` or `postgresql`."""
        unique = uuid.uuid4().hex[:12]
        if kind == "s3":
            environment = servers.s3_environment(servers.ministack(self._factory))
            return Place(kind, f"s3://{servers.BUCKET}/{unique}", environment)
        if kind == "postgresql":
            port = servers.postgres(self._factory)
            url = f"postgresql://app@127.0.0.1:{port}/postgres?sslmode=disable&table=t_{unique}"
            return Place(kind, url, {"PGPASSWORD": servers.PASSWORD})
        if kind == "git":
            origin = GitWorld(self._template, self._root / unique).origin
            return Place(kind, f"git+{origin}#state", {}, origin)
        return Place("file", "state.jsonl")


@cache
def _program() -> WarmProgram:
    """Return the process that the commands of this test run are forked from."""
    program = WarmProgram()
    atexit.register(program.close)
    return program


class Machine:
    """A working directory with a `config/`, and a home. Verbs for what a person or a job does there.

    `installed`: its commands are the installed executable.
    """

    def __init__(self, partner: Partner, name: str) -> None:
        self.partner = partner
        self.installed = False
        self.path = partner.root / name
        self.home = partner.root / f"{name}-home"
        self.environment: dict[str, str] = {}
        self.home.mkdir(parents=True)
        self.path.mkdir(parents=True, exist_ok=True)

    @property
    def data(self) -> Path:
        """The directory of notes, responses and recovery files."""
        return self.home / "data" / "reconciler"

    def variables(self, failpoint: str = "") -> dict[str, str]:
        """Return the environment of a command."""
        return {
            **os.environ, "HOME": str(self.home), "XDG_DATA_HOME": str(self.home / "data"),
            "XDG_CACHE_HOME": str(self.home / "cache"), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull,
            "PYTHONPATH": os.pathsep.join(filter(None, (str(CLOCK), os.environ.get("PYTHONPATH")))),
            "TEST_CLOCK_AHEAD": str(self.partner.ahead), "RECONCILER_TEST_FAILPOINT": failpoint,
            **self.partner.credentials, **self.partner.place.environment, **self.environment,
        }  # fmt: skip

    def start(self, *words: str, failpoint: str = "", prefix: Sequence[str] = (), **streams: Any) -> Process:
        """Start a command, the installed one if it has a `prefix`; `finish` waits for its end."""
        given = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
        environment = self.variables(failpoint)
        if not (self.installed or prefix):
            return _program().start(words, self.path, environment, **given)
        return subprocess.Popen(
            [*prefix, EXECUTABLE, *words], cwd=self.path, env=environment, start_new_session=True, **given
        )

    def finish(self, process: Process) -> Ran:
        """Wait until a command ends. Its output holds no secret, and no traceback."""
        try:
            out, err = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
        return self.partner.checked(Ran(process.wait(), (out or b"").decode(), (err or b"").decode()))

    def run(self, *words: str, failpoint: str = "", prefix: Sequence[str] = ()) -> Ran:
        """Run a command to its end, without a terminal."""
        return self.finish(self.start(*words, failpoint=failpoint, prefix=prefix))

    def succeed(self, *words: str, **options: Any) -> Ran:
        """Run a command that must exit with 0."""
        done = self.run(*words, **options)
        assert done.code == 0, f"{words}: {done}"
        return done

    def apply(self, *words: str, **options: Any) -> Ran:
        """Apply without a question."""
        return self.run("apply", "--auto-approve", *words, **options)

    def converse(self, *words: str, prompt: str, meanwhile: Any) -> Ran:
        """Run a command at a terminal; when its prompt has appeared, do something else, then agree."""
        ours, theirs = pty.openpty()
        process = self.start(*words, stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        shown = b""
        until = time.monotonic() + 30
        try:
            while time.monotonic() < until:
                if not select.select([ours], [], [], 1)[0]:
                    continue
                try:
                    shown += os.read(ours, 65536)
                except OSError:  # nobody has the other end open
                    break
                if prompt and prompt.encode() in shown:
                    prompt = ""
                    meanwhile()
                    os.write(ours, b"yes\n")
        finally:
            os.close(ours)
            if time.monotonic() >= until:
                process.kill()
            process.wait(30)
        assert not prompt, shown
        return self.partner.checked(Ran(process.wait(), shown.decode(), ""))

    def declare(self, wanted: Mapping[str, Sequence[str]], state: str = "") -> None:
        """Write `config/`: these subscriptions (name: codes) on every target, each at a URL of its own."""
        self.partner.wanted = dict(wanted)
        text = f"state: {state or self.partner.place.name}\n"
        text += f"record: {self.partner.record}\n" if self.partner.record else ""
        text += f"recipients: [{self.partner.recipient}]\n" if self.partner.seals else ""
        text += "targets:\n"
        for name, there in self.partner.targets.items():
            target = self.partner.sandbox.world.targets[there]
            provider = target.provider
            text += f"  {name}: {{auth_url: '{provider.auth_url}', base_url: '{target.base_url}',"
            text += f" audience_base: '{provider.audience_base}'{self.partner.settings}}}\n"
        text += 'subscriptions:\n  "*/*":\n' if wanted else ""
        for name, codes in wanted.items():
            url = self.partner.url_of(name)
            text += f"    {name}: {{eventCodes: [{', '.join(codes)}], webhookUrl: '{url}'}}\n"
        (self.path / "config").mkdir(exist_ok=True)
        (self.path / "config" / "all.yaml").write_text(text)

    def show(self) -> list[dict[str, Any]]:
        """Return what the record holds, in force or unknown."""
        attempts: list[dict[str, Any]] = self.succeed("state", "show", "--format", "json").document
        return attempts

    def settle(self) -> int:
        """Wait, and resolve unknown outcomes by what the operator says exists; return how many there were."""
        self.partner.wait_until_served()
        shown, existing = self.show(), self.partner.urls()
        unknown = [attempt for attempt in shown if attempt["status"] == "unknown"]
        if unknown:
            self.partner.wait(AFTER_FLIGHT)
        known = Counter(self._spot(attempt) for attempt in shown if attempt["status"] != "unknown")
        for attempt in unknown:
            created = existing[self._spot(attempt)] > known[self._spot(attempt)]
            words = ("--created" if created else "--not-created", "--attempt", attempt["attempt"], "--yes")
            self.succeed("state", "resolve", attempt["address"], *words)
        return len(unknown)

    def _spot(self, attempt: Mapping[str, Any]) -> tuple[str, str]:
        return self.partner.there(attempt["address"]), attempt["webhookUrl"]

    def recover(self) -> int:
        """Do what a person does after a crash: settle, apply again; all is then there once. Return how many settled."""
        settled = self.settle()
        self.partner.assert_at_most_once()
        done = self.apply()
        assert done.code == 0, done
        self.partner.assert_done(self)
        return settled


class Partner:
    """The project: its machines, its place, and its sandbox, which plays the targets that `targets` maps to.

    `ahead` is how far the clock of the machines was moved on.
    """

    def __init__(
        self, root: Path, place: Place, targets: Mapping[str, str] | Sequence[str] = (HERE,), *, seals: bool = True,
        settings: str = "", faults: Mapping[str, float] | None = None, seed: int | None = None
    ) -> None:  # fmt: skip
        self.root = root
        self.place = place
        self.targets = dict(targets) if hasattr(targets, "keys") else dict(zip(targets, targets, strict=True))
        self.settings = settings
        self.seals = seals
        self.ahead = 0.0
        self.record = ""
        self.wanted: dict[str, Sequence[str]] = {}
        self.moved: dict[str, str] = {}
        identity = pyrage.x25519.Identity.generate()
        self.recipient = str(identity.to_public())
        root.mkdir(parents=True, exist_ok=True)
        self.key = root / "key.txt"
        self.key.write_text(f"{identity}\n")
        self.sandbox = Sandbox(targets=sorted(set(self.targets.values())), faults=faults, seed=seed)
        self.sandbox.world.late_seconds = 0.2
        self.credentials = {
            _variable(name, variable): value
            for name, there in self.targets.items()
            for target in [self.sandbox.world.targets[there]]
            for variable, value in (("CLIENT_ID", target.client_id), ("CLIENT_SECRET", target.client_secret))
        }
        self._outputs: list[str] = []

    def __enter__(self) -> Self:
        self.sandbox.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.sandbox.close()
        if kind is None:
            assert self.sandbox.world.failures == []
            self.assert_no_secret()

    # The machines

    def machine(self, name: str = "laptop", wanted: Mapping[str, Sequence[str]] | None = None) -> Machine:
        """Return a new machine, with the configuration of the project as it is now."""
        machine = Machine(self, name)
        machine.declare(self.wanted if wanted is None else wanted)
        return machine

    def first(self, count: int = 2) -> Machine:
        """Return a machine that has begun the record, of a project with so many subscriptions."""
        machine = self.machine("laptop", names(count))
        machine.succeed("state", "init", "--complete", "--yes")
        self.record = json.loads(machine.succeed("plan", "--format", "json").out)["record"]["id"]
        machine.declare(self.wanted)
        return machine

    def recovered(self) -> Machine:
        """Return such a machine that has created its only subscription."""
        machine = self.first(1)
        machine.recover()
        return machine

    def rename(self, there: str, name: str) -> None:
        """From now on, declare a target under another name only."""
        self.targets[name] = self.targets.pop(there)
        for variable in ("CLIENT_ID", "CLIENT_SECRET"):
            self.credentials[_variable(name, variable)] = self.credentials[_variable(there, variable)]

    def wait(self, seconds: float) -> None:
        """Move the clock of all machines on."""
        self.ahead += seconds

    def url_of(self, name: str) -> str:
        """Return the webhook URL of a subscription."""
        return self.moved.get(name, f"https://hooks.partner.example/{name}")

    def there(self, address: str) -> str:
        """Return the sandbox's name of the target of an address."""
        return self.targets[address.rpartition("/")[0]]

    # What exists

    def exists(self) -> Counter[Route]:
        """Return the routes that exist at the service, and how often."""
        return Counter(
            (created.target, code, created.url)
            for created in self.sandbox.world.subscriptions()
            for code in created.codes
        )

    def urls(self) -> Counter[tuple[str, str]]:
        """Return the targets and URLs of the subscriptions that exist, and how often."""
        return Counter((created.target, created.url) for created in self.sandbox.world.subscriptions())

    def desired(self) -> Counter[Route]:
        """Return the desired routes, each once on each service."""
        return Counter(
            {
                (there, code, self.url_of(name)): 1
                for there in self.targets.values()
                for name, codes in self.wanted.items()
                for code in codes
            }
        )

    @property
    def creates(self) -> int:
        """The number of create requests so far."""
        return sum(number for (endpoint, _), number in self.sandbox.world.requests.items() if endpoint == "create")

    def wait_until_served(self) -> None:
        """Wait until nothing that a dead client sent is on its way into the sandbox, and nothing is created late."""
        with suppress(OSError):
            urlopen(f"{self.sandbox.url}/last", timeout=10)  # connections are taken in their order
        until = time.monotonic() + 10
        server, world = self.sandbox._server, self.sandbox.world
        while (server._reading or server._answering or world._late) and time.monotonic() < until:
            time.sleep(0.01)

    # What must hold

    def assert_at_most_once(self) -> None:
        """No route exists twice."""
        self.wait_until_served()
        assert {} == {route: count for route, count in self.exists().items() if count > 1}

    def assert_done(self, machine: Machine) -> None:
        """All that is desired exists once and is recorded, and there is nothing left to do."""
        self.assert_at_most_once()
        assert self.desired() == self.exists()
        shown = [attempt for attempt in machine.show() if attempt["status"] == "live"]
        recorded = Counter(
            (self.there(attempt["address"]), code, attempt["webhookUrl"])
            for attempt in shown
            for code in attempt["eventCodes"]
        )
        assert self.desired() == recorded
        machine.succeed("plan", "--detailed-exitcode")

    def checked(self, finished: Ran) -> Ran:
        """Return what a command came to. It told nothing of the program's inside; secrets are looked for at the end."""
        text = finished.out + finished.err
        assert "Traceback" not in text, finished
        assert "internal error" not in text, finished
        self._outputs.append(text)
        return finished

    def secrets(self) -> set[str]:
        """Return every secret there is: of clients and subscriptions, and tokens."""
        world = self.sandbox.world
        clients = {target.client_secret for target in world.targets.values()}
        identity = self.key.read_text().strip()
        return {*clients, *(created.secret for created in world.created), *world.tokens, identity, servers.S3_SECRET}

    def assert_no_secret(self) -> None:
        """No output and no file holds a secret, but for the responses that are their owner's alone."""
        spelled = {spelling for secret in self.secrets() for spelling in _spellings(secret)}
        texts = {f"output {number}": text.encode() for number, text in enumerate(self._outputs)}
        for path in self.root.rglob("*"):
            if path.is_file() and not path.is_symlink() and path != self.key:
                is_response = "responses" in path.parts and path.stat().st_mode & 0o777 == 0o600
                if not is_response:
                    texts[str(path)] = path.read_bytes()
        assert [] == [name for name, text in texts.items() if any(spelling in text for spelling in spelled)]

    def forget_output(self) -> None:
        """Leave out what was printed so far, where a secret was asked for."""
        self._outputs.clear()


def names(count: int, first: int = 0) -> dict[str, list[str]]:
    """Return so many subscriptions of one event code each."""
    return {f"s{number}": [f"ONB{10000 + number}"] for number in range(first, first + count)}


def _variable(name: str, what: str) -> str:
    return f"RECONCILER_{name.upper().replace('/', '_').replace('-', '_')}_{what}"


def lowered(seconds: float, failpoint: str = "") -> str:
    """Return a fail point with a send window of so many seconds and no margin."""
    return ",".join(filter(None, (f"send_window={seconds},margin=0", failpoint)))


def limited(name: str, value: int) -> list[str]:
    """Return a prefix for a command whose files may not outgrow `value` bytes, or which is denied what root may do."""
    if name == "fsize":
        return [sys.executable, "-Sc", _LIMIT, str(value)]
    assert shutil.which("setpriv")
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []


_LIMIT = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
os.execv(sys.argv[2], sys.argv[2:])
"""

CODES = {"kill": -signal.SIGKILL, "int": 130, "term": 143, "hup": 129}


def _spellings(secret: str) -> set[bytes]:
    plain = secret.encode()
    spelled = {plain, json.dumps(secret)[1:-1].encode(), quote(secret, safe="").encode(), plain.hex().encode()}
    spelled |= {b64encode(b"\0" * offset + plain)[4 if offset else 0 :][:-8] for offset in range(3)}
    return {spelling for spelling in spelled if len(spelling) >= 12}
