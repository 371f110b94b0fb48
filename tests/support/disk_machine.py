"""A machine whose state, cache and data are on a recorded disk, and what must be true of them after a crash."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from reconciler.applying import driver
from reconciler.applying.context import Limits
from reconciler.applying.driver import Inbox
from reconciler.applying.events import Answered
from reconciler.applying.run import Account, Apply
from reconciler.disk.durable import settle_name
from reconciler.errors import RecordDamaged
from reconciler.model.address import Address
from reconciler.model.clock import Instant
from reconciler.model.entry import Settled
from reconciler.model.outcome import Answer, Outcome
from reconciler.model.record import Status
from reconciler.model.selection import Selection
from reconciler.planning.planner import make_plan
from reconciler.state.heads.remembered import Heads
from reconciler.state.heads.rereading import Rereader
from reconciler.state.heads.tracking import HeadTrackingStore, append_entries, begin_journal, read_journal
from reconciler.state.journal.chain import head_of
from reconciler.state.private.responses import PrivateFiles
from reconciler.state.private.unrecorded import all_kept, keep_entries
from reconciler.state.stores.files import FileStore
from support.disk_recorder import DiskRecorder
from support.journal_samples import AT, BY, TARGET, begun, imported
from support.simulation.sim_configs import desired_of, target_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    import pytest

    from reconciler.applying.events import Send
    from reconciler.model.address import TargetName
    from reconciler.model.desired import Desired
    from reconciler.model.entry import AnyEntry
    from reconciler.state.journal.chain import Journal
    from support.disk_model import Tree

SERVICE = "https://api.example"
RESPONSE = b'{"secret": "' + b"s" * 5000 + b'"}'
Facts = dict[str, list[str]]
"""What is certain, by kind: heads that were acknowledged as `appended`, attempts that were `sent`, and so on."""


def wanting(*names: str, host: str = "hooks") -> Desired:
    """These subscriptions, of one code each."""
    wanted = {
        Address.of(TARGET, name): ((f"ONB{10000 + ord(name[0])}",), f"https://{host}.example/{name}") for name in names
    }
    return desired_of([target_of(TARGET, SERVICE)], wanted)


class InlineWorkers:
    """Does jobs at once, in the place of a driver's threads: which operation comes when is then always the same."""

    def start(self, size: int) -> None:
        """Nobody is needed."""

    def do(self, job: Callable[[], None]) -> None:
        job()

    def stop(self) -> None:
        pass


class AcknowledgedStore(FileStore):
    """A file store that notes which appends it has acknowledged."""

    def __init__(self, root: Path, recorder: DiskRecorder) -> None:
        super().__init__(root)
        self._recorder = recorder

    def append(self, target: TargetName, head: str | None, seq: int, lines: bytes, note: str) -> None:
        super().append(target, head, seq, lines, note)
        self._recorder.fact("appended", head_of(lines.splitlines()[-1]) or "")


@dataclass
class DiskMachine:
    """What a user has on a disk, below `root`, and what is done there. Time stands still unless it has to pass."""

    root: Path
    recorder: DiskRecorder
    created: dict[str, frozenset[tuple[str, str]]] = field(default_factory=dict)
    """Routes that the service has created, by attempt; it commits whatever leaves."""
    _ids: int = 0

    @classmethod
    def on(cls, root: Path, patch: pytest.MonkeyPatch) -> DiskMachine:
        """A machine on an empty disk. Syncing costs nothing: what is on the disk is the recorder's to say."""
        patch.setattr(driver, "_Workers", InlineWorkers)
        patch.setattr("os.fsync", lambda _descriptor: None)
        root.mkdir()
        return cls(root, DiskRecorder(root))

    @property
    def heads(self) -> Heads:
        return Heads(self.root / "cache")

    @property
    def store(self) -> FileStore:
        return AcknowledgedStore(self.root / "state", self.recorder)

    @property
    def responses(self) -> PrivateFiles:
        return PrivateFiles(self.root / "data" / "responses")

    # What is done

    def begin(self) -> None:
        """`state init`."""
        begin_journal(self.store, begun(), self.heads, "begin")

    def read(self) -> Journal:
        """What `plan` does: read, check, remember."""
        return read_journal(self.store, TARGET, self.heads)

    def append(self, *entries: AnyEntry) -> None:
        """What a `state` command does."""
        append_entries(self.store, self.read(), entries, self.heads, "by hand")

    def apply(self, desired: Desired, outcomes: Iterable[Outcome] = ()) -> None:
        """An apply. The service answers with `outcomes`, and then that it has created everything."""
        plan = make_plan(desired, {TARGET: self.read().record()}, Selection())
        store = HeadTrackingStore(self.store, self.heads)
        answers = iter(outcomes)
        caller = _Caller(self, lambda: next(answers, Outcome.CREATED))
        Apply(
            plan,
            desired,
            Selection(),
            store=store,
            read=lambda target: store.follow(read_journal(self.store, target, self.heads)),
            reread=Rereader(self.store, self.heads).begin,
            accounts={TARGET: Account("account", caller)},
            clock=lambda: Instant(1_800_000_000.0, 0.0),
            inbox=Inbox(),
            limits=Limits(parallelism=2),
            by=BY,
            save=lambda target, record, entries, _reason: self.keep(target, record.id, entries),
            observe=lambda _run: None,
            reach=lambda _step: None,
            pause=lambda _seconds: None,
            patience=0.0,
            new_id=self.new_id,
        ).carry_out()

    def keep(self, target: TargetName, record: str, entries: Sequence[AnyEntry]) -> str:
        """What an apply does with entries that cannot be appended."""
        told = keep_entries(self.root / "data", target, record, entries, "no space left")
        for entry in entries:
            if isinstance(entry, Settled):
                self.recorder.fact("kept", entry.attempt)
        return told

    def new_id(self) -> str:
        self._ids += 1
        return f"n{self._ids:04d}"

    # What must be true

    def start_over(self) -> None:
        """An empty disk, of which nothing is recorded yet."""
        self.put_back({})
        self.recorder = DiskRecorder(self.root)
        self.begin_process()

    @staticmethod
    def begin_process() -> None:
        """Whatever is done from here on is done by a process that knows of nothing that was done before."""
        settle_name.cache_clear()

    def put_back(self, tree: Tree) -> None:
        """The machine starts again, with this on its disk."""
        shutil.rmtree(self.root)
        _write(self.root, tree)

    def check(self, facts: Facts, desired: Desired, *, holed: bool) -> None:
        """Raises AssertionError for a disk on which something that was certain is not, or would be done again.

        What has `holed` a journal is damage that must be told; anything else must be read as if nothing had happened.
        """
        record = begun().record
        for attempt in facts.get("response", []):
            assert RESPONSE in self.responses.read(record, attempt, "response"), f"the response to {attempt} is lost"
        kept = {one.entry.attempt for one in all_kept(self.root / "data") if isinstance(one.entry, Settled)}
        assert kept >= set(facts.get("kept", [])), "an outcome that was kept is lost"
        if "appended" not in facts and not self.store.targets():
            return
        try:
            journal = self.read()
        except RecordDamaged:
            assert holed, "the journal is damaged"
            return
        self._check_journal(journal, facts, desired)

    def _check_journal(self, journal: Journal, facts: Facts, desired: Desired) -> None:
        heads = [head for _, head in journal.lines]
        assert set(facts.get("appended", [])) <= set(heads), "an append that was acknowledged is lost"
        attempts = journal.record().attempts
        for attempt in facts.get("sent", []):
            assert attempt in attempts, f"{attempt} was sent, and the record does not know of it"
            assert attempts[attempt].status is not Status.GONE, f"{attempt} exists, and is taken to be gone"
        plan = make_plan(desired, {TARGET: journal.record()}, Selection())
        exist = {route for attempt in facts.get("sent", []) for route in self.created[attempt]}
        for change in plan.changes:
            again = change.request and exist & {(code, change.request.url) for code in change.request.codes}
            assert not again, f"{again} would be created again"
        self.append(imported("the-next"))
        assert len(journal.lines) + 1 == len(self.read().lines)


@dataclass
class _Caller:
    """The service, which creates whatever is sent, and says so, or says something else."""

    machine: DiskMachine
    answer: Callable[[], Outcome]

    def authorise(self) -> None:
        pass

    def expect(self, calls: int, at_once: int) -> None:
        pass

    def expect_none(self) -> None:
        pass

    def create(self, send: Send, may_send: Callable[[], bool]) -> Answered:
        assert may_send()
        machine = self.machine
        machine.created[send.attempt] = frozenset((code, send.request.url) for code in send.request.codes)
        machine.recorder.fact("sent", send.attempt)
        answer = Answer(self.answer())
        if answer.outcome is not Outcome.CREATED:
            return Answered(send.attempt, answer)
        machine.responses.keep(begun().record, send.attempt, "response", RESPONSE)
        machine.recorder.fact("response", send.attempt)
        return Answered(send.attempt, answer, "file")


def settled(attempt: str) -> Settled:
    """An outcome that could not be appended."""
    return Settled(at=AT, by=BY, attempt=attempt, outcome=Outcome.CREATED, status=201)


def _write(path: Path, tree: Tree) -> None:
    path.mkdir(mode=0o700)
    for name, content in tree.items():
        if isinstance(content, bytes):
            (path / name).write_bytes(content)
        else:
            _write(path / name, content)


def read_tree(path: Path) -> Tree:
    """What is really in a directory."""
    return {one.name: read_tree(one) if one.is_dir() else one.read_bytes() for one in path.iterdir()}
