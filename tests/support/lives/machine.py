"""A machine of a life: a directory, a home, and commands that run in this process on the doubles of its world."""

from __future__ import annotations

import io
import os
import shutil
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from reconciler.applying import execution
from reconciler.applying.driver import Performer, Ports
from reconciler.applying.events import Append, Reread, Send, Ticked
from reconciler.applying.protocol import Run
from reconciler.cli.main import run
from reconciler.model.outcome import Answer, Outcome
from reconciler.model.record import Record
from reconciler.operations import apply as apply_operation
from reconciler.operations import responses
from reconciler.operations.project import Project
from reconciler.record.gates import is_of
from reconciler.record.notes import Notes
from reconciler.service import api
from reconciler.values import Instant
from support.command_line import Ran
from support.lives.world import Promise, Shelf, Subscription, Wanted, World
from support.simulation.machine import Killed
from support.simulation.world import Violation

ROOT = "/work"
_TARGETS = ("EUROPE_STAGING", "USA_STAGING")
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Machine:
    """A machine. In CI it loses its home before each command; `state` is the place that its `config/` names."""

    def __init__(self, machines: Machines, name: str, *, ci: bool = False, timeout: int = 30) -> None:
        self.machines = machines
        self.world = machines.world
        self.name = name
        self.ci = ci
        self.timeout = timeout
        self.client = "client"
        self.state = ""
        self.wanted: Wanted | None = None
        self.path = machines.root / name
        self.home = self.path / "home"
        self.path.mkdir(parents=True)
        machines.all[name] = self

    def write_config(self, wanted: Wanted, state: str) -> None:
        """Write `config/` as a person has it."""
        self.wanted, self.state = wanted, state
        (self.path / "config").mkdir(exist_ok=True)
        (self.path / "config" / "all.yaml").write_text(wanted.text(state, self.machines.recipient))

    def lose_home(self) -> None:
        """Forget the notes, the responses and the recovery files."""
        shutil.rmtree(self.home, ignore_errors=True)

    def key(self, place: str) -> tuple[str, str]:
        """Return the key of a place in the world: a path leads to a file of this machine."""
        if "://" in place or place.startswith("git:"):
            return "", place
        return self.name, place if place.startswith("/") else f"{ROOT}/{place}"

    def shelf(self, place: str = "") -> Shelf:
        """Return a place, as this machine calls it; its own by default."""
        key = self.key(place or self.state)
        if key not in self.world.places:
            self.world.places[key] = Shelf(self.world, key[1])
        return self.world.places[key]

    def knows(self, key: tuple[str, str], record: Record) -> bool:
        """True if a record is one to go by: of a file, only on a machine that has a note of it."""
        notes = Notes(self.home / "reconciler" / "heads").read_all() if key[0] else []
        return not key[0] or any(is_of(note, record, key[1]) for note in notes)

    def run(self, *words: str, kill_at: int = 0) -> Ran:
        """Run a command to its end, or until the N-th durable step, where it is killed; its code is then -9."""
        if self.ci:
            self.lose_home()
        ran = self.machines.run(self, words, kill_at)
        text = ran.out + ran.err
        if "internal error" in text and ran.code != -signal.SIGKILL:
            raise Violation(Promise.SOUND, f"{words}: {text}")
        if self.ci and "state init" in text:
            raise Violation(Promise.NO_INIT, f"{words}: {text}")
        return ran


class _Command:
    """A command that runs. `steps` counts the durable steps that it reached."""

    def __init__(self, machine: Machine, words: Sequence[str], kill_at: int) -> None:
        self.machine = machine
        self.words = words
        self.kill_at = kill_at
        self.steps = 0
        self.killed = False
        self.sending = ""


class Machines:
    """The machines of one world. `meanwhile` is called at durable steps: others may do something then.

    `one_is_left`: everybody has agreed on one machine and its record. `urls` are those that anybody desires.
    """

    def __init__(self, world: World, root: Path, recipient: str) -> None:
        self.world = world
        self.root = root
        self.recipient = recipient
        self.all: dict[str, Machine] = {}
        self.one_is_left = False
        self.urls: Callable[[], set[str]] = set
        self.meanwhile: Callable[[Machine], None] = lambda machine: None
        self._running: list[_Command] = []
        world.reach = self.reach

    def records(self) -> Iterator[tuple[tuple[str, str], Record]]:
        """Yield each record that somebody's next commands may go by, with the key of its place."""
        for key, record in self.world.records():
            if not record.closed_to and (not key[0] or self.all[key[0]].knows(key, record)):
                yield key, record

    def beginning(self) -> list[tuple[str, str]]:
        """Return the places at which somebody says right now that the record is the one to use."""
        said = ({"init", "complete"} & set(command.words[1:2]) for command in self._running)
        running = zip(self._running, said, strict=True)
        return [command.machine.key(command.machine.state) for command, says in running if says]

    @property
    def depth(self) -> int:
        """The number of commands that run now, one within the other."""
        return len(self._running)

    def reach(self, point: str) -> None:
        """Count a durable step of the command that runs, which may be killed there."""
        if not self._running:
            return
        command = self._running[-1]
        if command.killed:
            raise Killed
        command.steps += 1
        if command.steps == command.kill_at:
            command.killed = True
            self.world.tell(f"{command.machine.name} is killed {point}")
            raise Killed
        self.meanwhile(command.machine)

    def run(self, machine: Machine, words: Sequence[str], kill_at: int) -> Ran:
        """Run a command on a machine, and return how it ended."""
        command = _Command(machine, words, kill_at)
        self._running.append(command)
        out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
        try:
            with _entered(machine, out, err):
                code = run(words)
        finally:
            self._running.pop()
        if self.world.broken is not None:  # the program takes it for an error of its own
            raise self.world.broken
        for stream in (out, err):
            stream.flush()
        texts = [stream.buffer.getvalue().decode() for stream in (out, err)]
        if command.killed:
            return Ran(-signal.SIGKILL, texts[0], "")
        return Ran(code, *texts)

    @contextmanager
    def doubled(self) -> Iterator[None]:
        """Replace what the commands reach outside, while inside."""
        world = self.world
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Project, "now", staticmethod(lambda: world.now))
            patch.setattr(Project, "new_id", staticmethod(world.new_id))
            patch.setattr(Project, "by", lambda _: {"user": "somebody", "host": self._running[-1].machine.name})
            patch.setattr(Project, "_open", lambda _, place: self._running[-1].machine.shelf(place))
            patch.setattr(api, "ServiceClient", lambda *args, **options: _Service(self, *args, **options))
            patch.setattr(execution, "drive", self._drive)
            patch.setattr(execution, "unless_interrupted", lambda job, *_: job())
            patch.setattr(apply_operation, "carry_out", self._carry_out)
            patch.setattr(Notes, "write", _after(Notes.write, lambda: self.reach("before a note")))
            patch.setattr(responses, "seal", lambda data, recipients: "age:" + data.hex())  # the same every time
            patch.setattr(os, "fsync", lambda _: None)
            yield

    def _instant(self) -> Instant:
        return Instant(self.world.now, self.world.now - 1_000_000.0)

    def _carry_out(self, plan: Any, reading: Any, ports: Ports, limits: Any) -> Any:
        rng, world = self.world.rng, self.world
        doubles = {"clock": self._instant, "jitter": rng.random, "pause": world.pause, "reach": self._reach_send}
        return execution.carry_out(plan, reading, replace(ports, **doubles), limits)

    def _reach_send(self, point: str) -> None:
        if not point.endswith("append"):  # the places reach those
            self.reach(point)

    def _drive(self, run: Run, ports: Ports) -> None:
        """Perform effects one after the other, those of the record in their order."""
        world, performer = self.world, Performer(ports)
        waiting = deque(run.start(ports.clock()))
        while not run.finished:
            if waiting:
                index = world.rng.randrange(len(waiting)) if world.happens(0.3) else 0
                if isinstance(waiting[index], Append | Reread):
                    index = next(i for i, found in enumerate(waiting) if isinstance(found, Append | Reread))
                effect = waiting[index]
                del waiting[index]
                if isinstance(effect, Send):
                    self._running[-1].sending = effect.attempt
                event = performer.perform(effect)
                world.pause(world.rng.choice((0.01, 0.1, 0.5)))
            else:
                assert run.wake_at is not None
                world.pause(max(run.wake_at - ports.clock().steady, 0.001))
                event = Ticked()
            waiting.extend(run.handle(event, ports.clock()))

    @property
    def sending(self) -> str:
        """The attempt whose call is being made."""
        return self._running[-1].sending


class _Service:
    """The service with the credentials of one target, as the program's own client offers it."""

    def __init__(self, machines: Machines, target: Any, _: object, *, timeout: float, cache_dir: Path) -> None:
        self._machines = machines
        self._target = target
        self._timeout = timeout

    def authorise(self) -> None:
        """There is always a token."""

    def create_subscription(self, codes: Sequence[str], url: str, may: Callable[[], bool], *, renew: bool) -> Answer:
        """Create a subscription, or fail as services do."""
        machines = self._machines
        world, rng = machines.world, machines.world.rng
        new = Subscription(machines.sending, world.service_of(self._target.base_url), set(codes), url, _template(url))
        if not may():
            return Answer(Outcome.NOT_SENT, detail="it was too late")
        fate = "created" if world.calm else rng.choices(*zip(*{**_FATES, "late": world.slow}.items(), strict=True))[0]
        match fate:
            case "busy":
                return Answer(Outcome.REJECTED, 429, detail="busy", retry_after=1.0)
            case "rejected":
                return Answer(Outcome.REJECTED, rng.choice((400, 409)), detail="rejected")
            case "not sent":
                return Answer(Outcome.NOT_SENT, detail="no connection")
            case "lost":
                world.pause(self._timeout)
                return Answer(Outcome.UNKNOWN, detail="no answer")
            case "late":
                world.later(rng.uniform(0.0, self._timeout + 10.0), lambda: world.create(new))
                world.pause(self._timeout)
                return Answer(Outcome.UNKNOWN, detail="no answer")
            case "killed":
                machines._running[-1].killed = True
                world.later(rng.uniform(0.0, self._timeout + 10.0), lambda: world.create(new))
                raise Killed
        world.create(new)
        machines.reach("after-create")
        if fate == "answer lost":
            return Answer(Outcome.UNKNOWN, detail="no answer")
        return Answer(Outcome.CREATED, 200, body=b'{"secretKey": "s"}', head=b"HTTP/1.1 200 OK\r\n\r\n")


_FATES = {
    "created": 70, "answer lost": 6, "lost": 5, "late": 6, "rejected": 4, "busy": 4, "not sent": 4, "killed": 3,
}  # fmt: skip


def _template(url: str) -> str:
    """Return a URL with `{attempt}` for the id in it."""
    head, _, tail = url.rpartition("/")
    return f"{head}/{{attempt}}" if len(tail) == 32 else url


def _after(function: Callable[..., Any], before: Callable[[], None]) -> Callable[..., Any]:
    def call(*args: Any, **options: Any) -> Any:
        before()
        return function(*args, **options)

    return call


@contextmanager
def _entered(machine: Machine, out: io.TextIOWrapper, err: io.TextIOWrapper) -> Iterator[None]:
    """Make this process one on that machine, while inside."""
    environment, directory, streams = dict(os.environ), os.getcwd(), (sys.stdin, sys.stdout, sys.stderr)  # noqa: PTH109
    handlers = {number: signal.getsignal(number) for number in _SIGNALS}
    os.environ.pop("CI", None)
    os.environ.update({"CI": "1"} if machine.ci else {})
    os.environ |= {"HOME": str(machine.home), "XDG_DATA_HOME": str(machine.home), "XDG_CACHE_HOME": str(machine.home)}
    os.environ |= {"RECONCILER_TIMEOUT": str(machine.timeout)}
    for target in _TARGETS:
        os.environ |= {f"RECONCILER_{target}_CLIENT_ID": machine.client, f"RECONCILER_{target}_CLIENT_SECRET": "s" * 20}
    os.chdir(machine.path)
    sys.stdin, sys.stdout, sys.stderr = io.StringIO(), out, err
    try:
        yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = streams
        os.chdir(directory)
        os.environ.clear()
        os.environ.update(environment)
        for number, handler in handlers.items():
            signal.signal(number, handler)
