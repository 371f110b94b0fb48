"""Exit codes, as the table in the interface has them."""

from __future__ import annotations

import gc
import json
import os
import runpy
import signal
import sys
from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any, Never
from unittest.mock import Mock

import pytest
from support.command_line import CommandLine, run_here

from reconciler.cli import main
from reconciler.cli.options import exit_code_of
from reconciler.errors import Interrupted, Message, ReconcilerError
from reconciler.model.plan import Verdict
from reconciler.operations.sandbox import list_subscriptions
from reconciler.sandbox import Sandbox


@pytest.mark.parametrize(("words", "code"), [
    (("validate",), 0), (("plan", "--no-such-option"), 1), (("plan", "--format", "pdf"), 1),
    (("state", "resolve", "europe/staging/offers"), 1), (("plan", "-t", "europe"), 1), (("token",), 1),
    (("plan",), 1), (("state", "verify"), 1),
])  # fmt: skip
def test_a_project_without_a_record(words: tuple[str, ...], code: int, project: CommandLine) -> None:
    """Usage errors are 1, so that 2 has one meaning; a missing record is an error."""
    ran = project(*words)
    assert (ran.code, [row for row in ran.err.splitlines() if not row.startswith(("Error: ", "  "))]) == (code, [])


def test_every_verdict_has_a_code() -> None:
    """None shares one with another."""
    assert {verdict: exit_code_of(verdict) for verdict in Verdict} == {
        Verdict.DONE: 0, Verdict.FAILED: 1, Verdict.CHANGES: 2, Verdict.UNRESOLVED: 3,
    }  # fmt: skip


def kinds_of(kind: type[ReconcilerError]) -> Iterator[type[ReconcilerError]]:
    """Yield a kind of error and all below it."""
    yield kind
    for below in kind.__subclasses__():
        yield from kinds_of(below)


@pytest.mark.parametrize("kind", sorted(set(kinds_of(ReconcilerError)) - {Interrupted}, key=repr))
def test_every_error_is_1(kind: type[ReconcilerError], project: CommandLine) -> None:
    """Each of its messages is told on stderr, and nothing on stdout."""
    problem = kind.__new__(kind)
    ReconcilerError.__init__(problem, Message("one", "the first", "here"), Message("two", "the second"))
    project.environment.setattr("reconciler.desired.load_sound", Mock(side_effect=problem))
    ran = project("validate")
    assert (1, "", True, True) == (ran.code, ran.out, "the first" in ran.err, "the second" in ran.err)


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("other", ["403", "401", None])
def test_an_unknown_beside_another_is_3(order: int, other: str | None, project: CommandLine, sandbox: Sandbox) -> None:
    """Whether the other create is refused or succeeds, and whichever comes first."""
    for fault in ["500-after", other][::order]:
        sandbox.world.fail_next(fault) if fault else None
    assert project("apply", "--auto-approve", "--parallelism", "1").code == 3
    assert project("plan", "--detailed-exitcode").code == 3


@pytest.mark.parametrize(("number", "code"), [(signal.SIGHUP, 129), (signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_has_a_code_of_its_own(number: signal.Signals, code: int, project: CommandLine) -> None:
    """Whatever the command was about to do; nothing but a line is said."""
    project.environment.setattr("reconciler.desired.load_sound", Mock(side_effect=Interrupted(number)))
    assert project("validate") == project("validate", "-q") == (code, "", "Error: interrupted\n")


@pytest.mark.parametrize("where", ["reconciler.desired.load_sound", "reconciler.cli.commands.import_module"])
def test_an_unexpected_error_is_a_line_without_its_text(where: str, project: CommandLine) -> None:
    """Its text may hold a secret; -v shows where it came from. A missing part is one."""

    def fail(*_: object) -> Never:
        raise ModuleNotFoundError("secret")

    project.environment.setattr(where, fail)
    ran = project("validate")
    assert (1, 1, True) == (ran.code, ran.err.count("\n"), "please report" in ran.err)
    assert (True, False) == (f"(ModuleNotFoundError at {__name__}:" in ran.err, "secret" in ran.err)
    assert project("-v", "validate").err.count("reconciler.cli") > ran.err.count("reconciler.cli")
    assert "internal-error" == json.loads(project("--log-format", "json", "validate").err)["name"]


@pytest.mark.parametrize(
    ("problem", "told"), [(OSError(28, "No space", "x.json"), "x.json: No space"), (TimeoutError(), ": TimeoutError")]
)
def test_an_error_of_the_system_names_its_file(problem: OSError, told: str, project: CommandLine) -> None:
    """If it has one; with -q too."""
    project.environment.setattr("reconciler.desired.load_sound", Mock(side_effect=problem))
    ran = project("validate", "-q")
    assert (ran.code, ran.out, told in ran.err, "None" in ran.err) == (1, "", True, False)


def test_a_secret_on_the_command_line_is_refused_and_not_repeated(project: CommandLine) -> None:
    """The usage error says where it is read from."""
    ran = project("secret", "set", "europe/staging/offers", "hunter2")
    assert (1, "", True) == (ran.code, ran.out, "the secret is read from standard input" in ran.err)
    assert "hunter2" not in ran.err


@pytest.mark.parametrize(("result", "code"), [(Interrupted(signal.SIGTERM), 143), ([0], 0)])
def test_what_happens_at_the_end_changes_no_code(result: Any, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a signal while an error is told, of which no traceback follows, nor a stream that fails."""
    handlers: list[tuple[Any, ...]] = []

    def fail(problem: type[Exception]) -> Never:
        assert handlers  # a signal that arrives meanwhile is ignored
        raise problem

    for name, problem in (("stdout", OSError), ("stderr", ValueError)):
        stream = Mock(**{"flush.side_effect": partial(fail, problem), "fileno": lambda: os.open(os.devnull, 1)})
        monkeypatch.setattr(sys, name, stream)
    monkeypatch.setattr(main, "run", Mock(side_effect=result))
    monkeypatch.setattr(signal, "signal", lambda *how: handlers.append(how))
    monkeypatch.setattr("os._exit", sys.exit)
    with pytest.raises(SystemExit) as end:
        main.main([])
    assert end.value.code == code
    assert handlers == [(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]


@pytest.mark.parametrize(("given", "code"), [(143, 143), (None, 0)])
def test_an_exit_during_the_load_keeps_its_code(given: int | None, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As that of a signal, for which no error can be told yet."""
    monkeypatch.setattr(main.cli, "main", lambda *_, **__: sys.exit(given))
    assert run_here() == code
    monkeypatch.setitem(sys.modules, "reconciler.errors", None)
    with pytest.raises(SystemExit, match="143"):
        main._interrupt(signal.SIGTERM, None)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("ignored", [True, False])
def test_a_signal_that_was_ignored_before_stays_so(number: signal.Signals, ignored: bool, project: CommandLine) -> None:
    """As nohup and a shell's background have it; every other one ends the command."""
    found: list[object] = []
    look = Mock(side_effect=lambda *_: found.append(signal.getsignal(number)))
    project.environment.setattr("reconciler.desired.load_sound", look)
    before = signal.signal(number, signal.SIG_IGN if ignored else signal.SIG_DFL)
    try:
        project("validate")
    finally:
        signal.signal(number, before)
    assert ignored is (found == [signal.SIG_IGN])
    assert callable(found[0]) or ignored


@pytest.mark.parametrize("before", [signal.SIG_IGN, signal.default_int_handler])
def test_an_interrupt_during_the_load(before: Any) -> None:
    """It ends the process without a word, unless it was ignored before; and garbage is collected less often."""
    limits, handler = gc.get_threshold(), signal.signal(signal.SIGINT, before)
    try:
        runpy.run_module("reconciler.__main__")
        assert signal.getsignal(signal.SIGINT) is (before if before is signal.SIG_IGN else signal.SIG_DFL)
        assert gc.get_threshold() > limits
    finally:
        gc.set_threshold(*limits)
        signal.signal(signal.SIGINT, handler)


@pytest.mark.parametrize("soak", ["36", "h", "1.5h", "-1h", "\u0663h", "1y", "3 d", "1d2h"])
def test_a_duration_that_is_none(soak: str, applied: CommandLine) -> None:
    """A number and a unit are expected: without one, nobody knows which was meant. No number is too large."""
    ran = applied("parity", "europe/staging", "europe/staging", "--proven", f"--soak={soak}")
    assert (1, True) == (ran.code, "expected a number and one of s, m, h, d, w" in ran.err)
    assert (
        "--soak requires --proven"
        in applied("parity", "europe/staging", "europe/staging", "--gate", "--soak", "1d").err
    )
    assert 2 == applied("parity", "europe/staging", "europe/staging", "--proven", f"--soak={'9' * 20}w").code


@pytest.mark.parametrize(("step", "created", "fault"), [
    ("before-append", 0, ""), ("before-send", 0, ""), ("after-send", 1, ""), ("after-send", 1, "500-after"),
])  # fmt: skip
def test_a_signal_ends_an_apply(step: str, created: int, fault: str, project: CommandLine, sandbox: Sandbox) -> None:
    """It sends no other create, records what was sent, and says how many there are; also if an outcome is unknown."""
    sandbox.world.fail_next(fault) if fault else None
    project.environment.setenv("RECONCILER_TEST_FAILPOINT", f"{step}:1:term")
    form = "json" if fault else "text"
    only = ("-t", "*/*/offers") if created and not fault else ()  # then all is done, but the signal counts
    assert project("apply", "--auto-approve", "--parallelism", "1", "--format", form, *only).code == 143
    project.environment.delenv("RECONCILER_TEST_FAILPOINT")
    assert len(list_subscriptions(sandbox.url)) == created
    assert len(project.fine("state", "show", "--format", "json").document) == created


def test_the_end_of_the_input_at_a_prompt_is_a_refusal(project: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-D where a secret is asked for is no error of the program."""
    monkeypatch.setattr("reconciler.cli.secret.getpass", Mock(side_effect=EOFError))
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    ran = project("--log-format", "json", "secret", "set", "europe/staging/offers")
    assert (1, "no-answer") == (ran.code, json.loads(ran.err)["name"])
