"""A life at random: people edit, apply, settle, rename and remove, the service fails, and the program dies at will.

Each step is a process of its own, or an act of a person; nobody ever says --not-created of what was.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from contextlib import ExitStack
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from support.project import finish
from support.sandbox_project import HERE, SandboxProject

from reconciler.model.record import Status
from reconciler.sandbox.faults import FaultPlan

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import Any

    from support.project import Finished

    from reconciler.model.record import Attempt

SOAK_SECONDS = float(os.environ.get("RECONCILER_SOAK_SECONDS", "600"))

NAMES = ("alpha", "bravo", "charlie", "delta")
CODES = ("ONB10001", "ONB10002", "ONB10003", "LOA10013")
URLS = ("https://hooks.partner.example/one", "https://hooks.partner.example/two")
COMMITTED = ("reset-after", "500-after", "html", "half", "502-after", "empty", "hang-after")
OTHER_FAULTS = (
    "reset-before", "refuse", "503", "500", "408", "499", "html-200", "redirect-303", "redirect", "hang",
    "401", "401-once", "403", "409", "422", "429", "429-retry-after", "429-forever", "token-503", "token-reset-after",
)  # fmt: skip
STEPS = ("after-send", "before-send", "after-append", "before-append")
ENDS = {"kill": -9, "term": 143, "int": 130, "int2": 130}
OVERDUE_SOON = "send_window=2,margin=0"  # so that no run waits for what a dead one has left open
TOGETHER = "before-append:1:0.3"  # both have planned by the time that either writes

names, codes, urls = st.sampled_from(NAMES), st.sampled_from(CODES), st.sampled_from(URLS)
picks = st.integers(0, 11)
ends = st.sampled_from(["kill", "kill", "kill", "term", "int", "int2"])
points = st.builds("{}:{}:{}".format, st.sampled_from(STEPS), st.integers(1, 3), ends)


class Weather(NamedTuple):
    """How things stand as an apply begins: what people have `settled`, and how the next `times` calls fail."""

    settled: bool
    fault: str
    times: int


faults = st.just("") | st.sampled_from(COMMITTED) | st.sampled_from(OTHER_FAULTS)
weathers = st.builds(Weather, st.booleans(), faults, st.integers(1, 3))


class Life(RuleBasedStateMachine):
    """One project, its record and the service. Nothing is drawn from what a race may change, so that runs repeat."""

    def __init__(self, path: Path, told: Counter[str]) -> None:
        super().__init__()
        self.told = told
        self.holders = {"ONB10001": "alpha", "ONB10002": "bravo", "ONB10003": "bravo"}
        self.urls = {"alpha": URLS[0], "bravo": URLS[1]}
        self.seen = b""
        self.stack = ExitStack()
        self.scene = self.stack.enter_context(SandboxProject(path, {"nothing": [CODES[0]]}))
        self.write_config()

    # What people do to the configuration

    @rule(code=codes, name=names, url=urls)
    def give(self, code: str, name: str, url: str) -> None:
        """A code is wanted of this subscription and of no other: it is added, moved, or there already."""
        self.holders[code] = name
        self.urls.setdefault(name, url)
        self.write_config()

    @rule(code=codes, whole=st.booleans())
    def drop(self, code: str, whole: bool) -> None:
        """A code, or the whole subscription that has it, is no longer wanted, unless nothing would be left."""
        gone = self.holders.get(code)
        left = {one: name for one, name in self.holders.items() if one != code and not (whole and name == gone)}
        if left:
            self.holders = left
            self.write_config()

    @rule(code=codes, url=urls)
    def point_elsewhere(self, code: str, url: str) -> None:
        """A subscription gets this URL."""
        if code in self.holders:
            self.urls[self.holders[code]] = url
            self.write_config()

    @rule(code=codes, name=names, places=st.sampled_from([("config", "record"), ("config",), ("record",)]))
    def rename(self, code: str, name: str, places: tuple[str, ...]) -> None:
        """A subscription is called by another name, and `state mv` says so, or is forgotten, or comes alone."""
        before = self.holders.get(code, name)
        if before == name or ("config" in places and name in self.urls):
            return
        source, destination = (f"{HERE}/{one}" for one in (before, name))
        held = self.scene.record().by_address()
        if "config" in places:
            self.call(before, name)
        if "record" in places and source in held and destination not in held:
            self.run("state", "mv", source, destination)

    # What the program does

    @rule(weather=weathers)
    def apply(self, weather: Weather) -> None:
        """An apply that nobody disturbs; its exit code is what the record then says."""
        self.prepare(weather)
        done = self.scene.apply("--timeout", "1")
        self.hear("apply", done, "")
        assert self.code_due() == done.code, done

    @initialize(weather=weathers, point=points, wide=st.booleans())
    def begin(self, weather: Weather, point: str, wide: bool) -> None:
        """No life begins without something that may be left open."""
        self.apply_and_die(weather, point, wide)

    @rule(weather=weathers, point=points, wide=st.booleans())
    def apply_and_die(self, weather: Weather, point: str, wide: bool) -> None:
        """An apply, one call at a time or four, that is killed or interrupted at a step, if it comes to that."""
        self.prepare(weather)
        arguments = ("--timeout", "1", "--parallelism", "4" if wide else "1")
        self.hear("die", self.scene.apply(*arguments, failpoint=f"{OVERDUE_SOON},{point}"), point)

    @rule(weather=weathers, both=st.lists(st.just("") | points, min_size=2, max_size=2))
    def apply_twice_at_once(self, weather: Weather, both: list[str]) -> None:
        """Two runners apply the same configuration, and each may die."""
        self.prepare(weather)
        starts = [",".join(filter(None, (OVERDUE_SOON, TOGETHER, point))) for point in both]
        runners = [self.scene.start_apply("--timeout", "1", failpoint=start) for start in starts]
        for runner, point in zip(runners, both, strict=True):
            self.hear("together", finish(runner), point)

    # What people do to the record

    @rule(pick=picks)
    def retire(self, pick: int) -> None:
        """Somebody asks for the removal of something that is in force."""
        live = self.of_status(Status.LIVE)
        if live:
            self.ask_for_removal(live[pick % len(live)])

    @rule(pick=picks)
    def remove(self, pick: int) -> None:
        """The operator deletes something that awaits removal, and a person says so."""
        awaiting = self.of_status(Status.AWAITING_REMOVAL)
        if awaiting:
            self.have_removed(awaiting[pick % len(awaiting)])

    @rule(share=st.floats(0.01, 1))
    def tear(self, share: float) -> None:
        """The machine of another runner fails while it appends a line: a part of it is in the journal."""
        path = self.scene.journal()
        data = path.read_bytes().rpartition(b"\n")
        line = data[0].rpartition(b"\n")[2]
        path.write_bytes(data[0] + b"\n" + line[: max(1, int(share * len(line)))])
        self.told["torn"] += 1

    # What must hold

    @invariant()
    def nothing_is_twice_and_nothing_is_lost(self) -> None:
        """But for what a person asked to be removed, no route exists twice; and the record knows of each."""
        self.scene.wait_until_served()
        committed, awaiting = self.scene.committed(), self.scene.recorded(Status.AWAITING_REMOVAL)
        live, open_ = self.scene.recorded(Status.LIVE), self.scene.recorded(Status.PENDING, Status.UNKNOWN)
        staying = committed - awaiting
        assert Counter() == staying - Counter(set(staying)), "created twice"
        assert Counter() == committed - live - awaiting - open_, "lost"
        assert Counter() == live + awaiting - committed, "recorded and not created"

    @invariant()
    def the_journal_only_grows(self) -> None:
        """All its whole lines are there again, and it holds together; what is torn off at its end may go."""
        whole = b"".join(self.scene.journal().read_bytes().rpartition(b"\n")[:2])
        assert whole.startswith(self.seen), "the journal has lost lines"
        self.seen = whole
        self.scene.record()

    def teardown(self) -> None:
        """Everything is settled, applied and removed, and then all that is wanted is there once, and nothing to do."""
        with self.stack:
            if sys.exception() is None:
                self.come_to_rest()

    def come_to_rest(self) -> None:
        for _ in range(8):
            self.prepare(Weather(True, "", 0))
            planned = self.scene.project.step("plan", "--format", "json", "--detailed-exitcode", code=None)
            assert planned.code in {0, 2, 3}, planned
            if planned.code == 0:
                break
            self.make_way(planned.document)
            self.hear("rest", self.scene.project.step("apply", "--auto-approve", code=None), "")
            self.check_all()
        for one in self.of_status(Status.AWAITING_REMOVAL):
            self.have_removed(one)
        self.check_all()
        self.run("plan", "--detailed-exitcode")
        wanted, committed = self.scene.routes(), self.scene.committed()
        assert wanted == Counter({route: committed[route] for route in wanted}), "each once"
        assert committed == self.scene.recorded(Status.LIVE)
        self.told["lives"] += 1

    def check_all(self) -> None:
        self.nothing_is_twice_and_nothing_is_lost()
        self.the_journal_only_grows()

    # With what means

    def write_config(self) -> None:
        self.urls = {name: self.urls[name] for name in self.urls if name in self.holders.values()}
        self.scene.urls = self.urls
        wanted = {name: [one for one in sorted(self.holders) if self.holders[one] == name] for name in self.urls}
        self.scene.declare(wanted)

    def call(self, before: str, after: str) -> None:
        """Rename a subscription in the configuration."""
        self.urls[after] = self.urls[before]
        self.holders = {code: after if name == before else name for code, name in self.holders.items()}
        self.write_config()

    def run(self, *arguments: str) -> None:
        self.scene.project.step(*arguments)
        self.told[" ".join(arguments[:2])] += 1

    def settle(self) -> None:
        """A person finds out the truth about every unknown outcome, and says it."""
        self.told["settled"] += self.scene.settle()

    def prepare(self, weather: Weather) -> None:
        """Settle, if it comes to that, and let calls fail; what was left of earlier faults is over."""
        if weather.settled:
            self.settle()
        world = self.scene.sandbox.world
        world._faults = FaultPlan({})
        if weather.fault:
            world.fail_next(weather.fault, weather.times)

    def hear(self, which: str, done: Finished, point: str) -> None:
        """An apply has ended as its fail point has it, or as any other."""
        assert done.code in {0, 1, 3, *([ENDS[point.rpartition(":")[2]]] if point else [])}, done
        assert "internal error" not in done.err, done
        self.told[f"{which} {done.code}"] += 1

    def code_due(self) -> int:
        """What an apply that nothing disturbed has to say."""
        if self.scene.unresolved():
            return 3
        wanted = {(f"{HERE}/{name}", code, self.urls[name]) for code, name in self.holders.items()}
        return int(
            not wanted <= {(one.address, code, one.url) for one in self.of_status(Status.LIVE) for code in one.codes}
        )

    def of_status(self, status: Status) -> list[Attempt]:
        found = [one for one in self.scene.attempts() if one.status is status]
        return sorted(found, key=lambda one: (one.address, one.codes, one.url))

    def ask_for_removal(self, attempt: Attempt) -> None:
        self.run("state", "retire", attempt.address, "--attempt", attempt.id)

    def have_removed(self, attempt: Attempt) -> None:
        """The operator deletes what an attempt created, and `state removed` says so."""
        world, claimed = self.scene.sandbox.world, {one.fields.get("subscriptionId") for one in self.scene.attempts()}
        alike = [
            one.id
            for one in world.subscriptions(attempt.address.target)
            if (set(one.codes), one.url) == (set(attempt.codes), attempt.url)
        ]
        known = attempt.fields.get("subscriptionId")
        assert world.remove_subscription(known if known in alike else next(one for one in alike if one not in claimed))
        self.run("state", "removed", attempt.address, "--attempt", attempt.id)

    def make_way(self, plan: Mapping[str, Any]) -> None:
        """See to what is in the way of blocked changes, as the plan says: it is asked to be removed, and is."""
        blocked = {
            one["address"]: one["after"] for one in plan["changes"] if one["action"] == "blocked" and one["after"]
        }
        for one in self.of_status(Status.LIVE):
            if any(_hinders(one, address, after) for address, after in blocked.items()):
                self.ask_for_removal(one)
        for one in self.of_status(Status.AWAITING_REMOVAL):
            self.have_removed(one)


def _hinders(attempt: Attempt, address: str, after: Mapping[str, Any]) -> bool:
    """Whether an attempt has, at another address, a route of what is wanted."""
    alike = attempt.url == after["webhookUrl"] and not set(attempt.codes).isdisjoint(after["eventCodes"])
    return alike and attempt.address != address


def live(path: Path, examples: int, steps: int, number: int) -> Counter[str]:
    """So many lives of so many steps, drawn from the seed `number`; what happened in them."""
    told, numbers = Counter[str](), count()
    limits = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        phases=(Phase.generate,),  # a shorter story would take minutes to find
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )

    def begin() -> Life:
        return Life(path / str(next(numbers)), told)

    run_state_machine_as_test(seed(number)(begin), settings=limits)  # type: ignore[arg-type]
    return told


@pytest.mark.timeout(600)
def test_a_few_lives(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """Whatever happens in a few lives: nothing is created twice, nothing is lost, and in the end all is as wanted."""
    told = live(tmp_path, examples=5, steps=8, number=5)
    record_property("told", dict(told))
    assert 5 == told["lives"]


@pytest.mark.soak
@pytest.mark.timeout(SOAK_SECONDS + 600)
def test_lives_without_end(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """As above, with longer lives, for as long as the time allows; the last seed and the counts are in the report."""
    until, number, told = time.monotonic() + SOAK_SECONDS, int(time.time()), Counter[str]()
    while time.monotonic() < until:
        number += 1
        record_property("seed", number)
        told += live(tmp_path / str(number), examples=5, steps=20, number=number)
    record_property("told", dict(told))
    assert told["lives"]
