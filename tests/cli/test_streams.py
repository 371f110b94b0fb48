"""Results go to stdout, everything else to stderr; and a stream that fails changes no more than it must."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import re
import signal
import subprocess
import sys
import time
from functools import partial
from typing import Any
from unittest.mock import Mock

import pytest
from support.command_line import CONFIG, CommandLine, Screen
from support.configs import PLACES_WITH_CREDENTIALS, SECRET
from support.plan_values import change, plan

from reconciler.cli.main import run
from reconciler.cli.progress import log_to, progress
from reconciler.cli.streams import columns, open_streams
from reconciler.cli.terminal import Terminal, annotation, line, mask, run_facts, says_yes
from reconciler.errors import Message, Place, ReconcilerError, Refused, step
from reconciler.model.address import Address
from reconciler.model.plan import Action, Done, Result
from reconciler.reports.document import Document

_PROGRAM = [sys.executable, "-m", "reconciler"]


def test_log_format_json_is_one_object_a_line(project: CommandLine) -> None:
    """With the name of the message, its steps as data, without the global flags of its sentence; the time is in UTC."""
    project.environment.setattr("time.time", lambda: 1_793_520_001.0625)
    (line,) = project("--log-format", "json", "--state", "my record.jsonl", "plan").err.splitlines()
    entry = json.loads(line)
    assert "reconciler --state 'my record.jsonl' state init" in entry["message"]
    assert [entry[key] for key in ("level", "time", "name")] == ["error", "2026-11-01T08:00:01.062Z", "record-missing"]
    assert ["reconciler", "state", "init"] in [step["command"] for step in entry["steps"]]


@pytest.mark.parametrize(("word", "variables", "coloured"), [
    ("--color=always", {"NO_COLOR": "1"}, True), ("-q", {"FORCE_COLOR": "1", "NO_COLOR": ""}, True),
    ("-q", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False), ("--color=never", {"FORCE_COLOR": "1"}, False),
    ("-q", {"FORCE_COLOR": "1", "TERM": "dumb"}, True), ("-q", {}, False), ("-q", {"FORCE_COLOR": ""}, False),
])  # fmt: skip
def test_what_is_coloured(word: str, variables: dict[str, str], coloured: bool, project: CommandLine) -> None:
    """The flag, then NO_COLOR, then FORCE_COLOR, then whether it is a terminal."""
    for name, value in variables.items():
        project.environment.setenv(name, value)
    assert ("\x1b[" in project("validate", word).out) is coloured


@pytest.mark.parametrize("place", PLACES_WITH_CREDENTIALS)
@pytest.mark.parametrize("words", ["plan", "--config config plan --bogus", "validate", "state show a/b/c/d"])
def test_a_password_in_a_place_is_shown_nowhere(place: str, words: str, project: CommandLine) -> None:
    """The flag is left out of every command to paste, also of those of a usage error; other flags are not."""
    ran = project("--state", place, *words.split())
    assert (SECRET in ran.out + ran.err, "reconciler --config config" in ran.err) == (False, "--config" in words)


@pytest.mark.parametrize(("flag", "taken", "refused"), [
    ("--timeout", "0.5 300", "0 x nan 300.5"), ("--parallelism", "1 64", "0 2.5 65 inf"),
])  # fmt: skip
def test_a_setting_out_of_range_is_refused(flag: str, taken: str, refused: str, project: CommandLine) -> None:
    """The message names the flag and its variable."""
    for value in taken.split():
        project.fine("validate", flag, value)
    for value in refused.split():
        ran = project("validate", flag, value)
        assert (1, True) == (ran.code, f"{flag} or RECONCILER_{flag[2:].upper()}" in ran.err)


def test_a_variable_counts_where_no_flag_is_given(project: CommandLine) -> None:
    """An empty one is an unset one."""
    for place, code in (("elsewhere", 1), ("", 0)):
        project.environment.setenv("RECONCILER_CONFIG", place)
        assert (project("validate").code, project("validate", "--config", "config").code) == (code, 0)
    project.environment.setenv("RECONCILER_EUROPE_STAGING_BASE_URL", "nonsense")
    assert project("validate").code == 1


def test_a_reader_that_leaves_is_no_error(project: CommandLine) -> None:
    """As `head` does: nothing is reported, and the exit code stays."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([*_PROGRAM, "schema"], stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux only")  # noqa: PTH110 - a device
def test_a_result_that_cannot_be_written_is_an_error(project: CommandLine) -> None:
    """A command that only shows something has failed."""
    with open("/dev/full", "wb") as full:  # noqa: PTH123 - a device
        done = subprocess.run([*_PROGRAM, "schema"], stdout=full, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, b"standard output: cannot write" in done.stderr) == (1, True)


def test_closed_streams_lead_nowhere(project: CommandLine) -> None:
    """No file that is opened gets their numbers."""
    subprocess.run(["sh", "-c", f"{sys.executable} -m reconciler validate <&- >&- 2>&-"], check=True)


def test_ctrl_c_ends_a_command_that_waits(project: CommandLine) -> None:
    """With 130, and one line."""
    process = subprocess.Popen([*_PROGRAM, "listen"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert "Listening at http://127.0.0.1:" in process.stderr.readline()
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (130, "Note: stopped\n")


@pytest.mark.parametrize("words", [("plan",), ("plan", "-q", "--format", "json"), ("status", "--format", "markdown")])
def test_in_actions_text_from_elsewhere_begins_no_line(words: tuple[str, ...], project: CommandLine) -> None:
    """Each mistake is annotated once, on stderr, and its text is escaped there and in the log."""
    project.environment.setenv("GITHUB_ACTIONS", "true")
    project.write_config('subscriptions: {"europe/staging": {"x\\n::error::": {}}}')
    ran = project(*words)
    commands = [line for line in ran.err.splitlines() if line.lstrip().startswith("::")]
    assert (ran.code, ran.out) == (1, "")
    places = [f"::error file=config/a.yaml,line=1,col={column}" for column in (17, 36)]
    assert places == ["::".join(line.split("::")[:2]) for line in commands]


def test_validate_annotates_for_github(project: CommandLine) -> None:
    """File, line and column, with what a workflow command would take apart escaped."""
    project.write_config("targets: []\n")
    ran = project("validate", "--format", "github")
    assert ran.code == 1
    assert re.match(r"::error file=config/a.yaml,line=1,col=10::", ran.out)
    message = Message("m", "50%\r\nmore", "", (), Place("a:b,c", 1, 2))
    assert annotation(message, "error") == "::error file=a%3Ab%2Cc,line=1,col=2::50%25%0D%0Amore"
    assert annotation(Message("m", "x"), "warning") == "::warning::x"
    config = "../project/config"
    for root, shown in ((project.directory.parent, "project/config/a.yaml"), ("/elsewhere", f"{config}/a.yaml")):
        project.environment.setenv("GITHUB_WORKSPACE", str(root))
        assert f"file={shown}," in project("validate", "--config", config, "--format", "github").out
    project.write_config(CONFIG.replace("ONB10011", "XYZ10011"))
    assert project.fine("validate", "--format", "github").out.startswith("::warning file=")
    project.write_config()
    assert project("validate", "--format", "github") == (0, "", "")


def test_a_secret_is_masked_in_actions(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Line by line, on stderr, and only in Actions."""
    monkeypatch.setenv("GITHUB_ACTIONS", "false")
    mask(["a"])
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    mask(["a\r\nb", "a", " ", " 5%"])
    assert capsys.readouterr() == ("", "::add-mask::a\n::add-mask::b\n::add-mask:: 5%25\n")


def test_the_environment_of_children_holds_no_client_secret(project: CommandLine) -> None:
    """It is read once, and removed."""
    project.environment.setenv("RECONCILER_EUROPE_STAGING_CLIENT_SECRET", "hunter2")
    run(["plan"])
    assert "RECONCILER_EUROPE_STAGING_CLIENT_SECRET" not in os.environ


@pytest.mark.usefixtures("sandbox")
@pytest.mark.parametrize("form", ["markdown", "html"])
def test_a_document_names_the_run_that_made_it(form: str, project: CommandLine) -> None:
    """Commit, author and run, where they are known; that of a plan shows every code, also without -v."""
    project.environment.setenv("GITHUB_SHA", "c0ffee")
    project.environment.setenv("GITHUB_RUN_ID", "4711")
    out = project.fine("plan", "--format", form).out
    assert [text for text in ("c0ffee", "4711", "Event codes by subscription and target") if text not in out] == []


@pytest.mark.parametrize(("flags", "told"), [({}, 1), ({"quiet": True}, 0), ({"verbose": 1}, 3)])
def test_what_is_logged_is_a_message(capsys: pytest.CaptureFixture[str], flags: dict[str, object], told: int) -> None:
    """A warning while calls are made obeys -q, and the format of stderr; with -v each call is said."""
    log_to(Terminal({**flags, "log_format": "json"}))
    logger = logging.getLogger("reconciler.applying")
    logger.warning("%s", Message("store-down", "no answer", "state.jsonl", (step("wait"),)))
    logger.debug("POST %s", "https://a.test")
    logger.debug("done")
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    keys = ("level", "name", "what", "where", "steps")
    expected: list[tuple[Any, ...]] = [
        ("warning", "store-down", "no answer", "state.jsonl", []), ("info", "note", "POST https://a.test", "", []),
        ("info", "note", "done", "", []),
    ]  # fmt: skip
    assert expected[:told] == [tuple(line[key] for key in keys) for line in lines]


@pytest.mark.parametrize("ends", ["well", "badly"])
def test_a_live_line_is_cleared_only_while_it_is_there(ends: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message during the calls takes its place; one after them clears nothing, however they ended."""
    screen, terminal = Screen(), Terminal({})
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", screen)
    clear = "\r\x1b[2K"
    with contextlib.suppress(KeyboardInterrupt), progress(terminal, plan(change())):
        terminal.note("during")
        if ends == "badly":
            raise KeyboardInterrupt
    terminal.note("after")
    assert f"{clear}Note: during" in screen.getvalue()
    assert f"{clear}Note: after" not in screen.getvalue()
    assert screen.getvalue().endswith("\x1b[1A\x1b[2KNote: after\n")  # in the place of the live line


@pytest.mark.parametrize(("flags", "term", "action"), [
    ({"quiet": True}, "xterm", Action.CREATE), ({"log_format": "json"}, "xterm", Action.CREATE),
    ({"verbose": 1}, "xterm", Action.CREATE), ({}, "dumb", Action.CREATE), ({}, "xterm", Action.REMOVE),
])  # fmt: skip
def test_no_live_line(flags: dict[str, object], term: str, action: Action, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing but errors, or JSON, or each result, is shown, on a dumb terminal, and where nothing is created."""
    screen, terminal = Screen(), Terminal(flags)
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr(sys, "stderr", screen)
    with progress(terminal, plan(change(action))):
        assert not terminal.has_live_line
    assert screen.getvalue() == ""


@pytest.mark.parametrize("color", ["auto", "never"])
def test_the_live_line_counts_creates(color: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as the plan has, and nothing that is done without a call; in the colour of stderr, beside notes."""
    screen = Screen()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", screen)
    planned = plan(change(), change(Action.EXTEND, "europe/staging/a"), change(Action.REMOVE, "europe/staging/b"))
    done = [
        Result(Address("europe/staging/b"), Action.REMOVE, Done.REQUESTED),
        Result(Address("europe/staging/a"), Action.EXTEND, Done.CREATED),
    ]
    run = Mock(**{"in_flight": [], "context.limits.call_grace": 5.0, "work.results": dict(enumerate(done))})
    with progress(Terminal({"color": color}), planned) as observe:
        observe(run)
    shown = re.sub("\x1b.*?[a-zA-Z]", "", screen.getvalue())
    assert (True, False, 1) == ("1/2" in shown, "2/2" in shown, shown.count("interrupted"))
    assert ("\x1b[32m" in screen.getvalue()) is (color == "auto")


@pytest.mark.parametrize("takes", [1, 7, 1000])
@pytest.mark.parametrize("text", ["", "one\ntwo", "one\n\n", "\u20ac" * 20, b"\xff\x00" * 20, "\ud800"])
def test_what_takes_a_part_gets_the_rest(takes: int, text: str | bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it arrives, in order, ended by one newline, and at once."""
    arrived = bytearray()

    def write(data: memoryview) -> int:
        arrived.extend(data[:takes])
        return min(takes, len(data))

    monkeypatch.setattr(sys, "stdout", stdout := Mock(**{"buffer.write": write}))
    Terminal({}).print(text)
    assert stdout.buffer.flush.called
    data = text if isinstance(text, bytes) else text.encode(errors="backslashreplace")
    assert bytes(arrived) == data.removesuffix(b"\n") + b"\n"


def _stream(*, is_terminal: bool = False, problem: OSError | None = None) -> Any:
    """Return a stream, with a terminal behind it or not, whose bytes cannot be written, for a reason."""
    stream = Mock(**{"isatty.return_value": is_terminal, "buffer.write.side_effect": problem})
    stream.fileno = lambda: os.open(os.devnull, os.O_WRONLY)
    return stream


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("is_quiet", [True, False])
def test_what_is_quiet(form: str, is_quiet: bool, capsys: pytest.CaptureFixture[str]) -> None:
    """Everything on stderr but errors, and what a question is about; every entry of JSON has the same keys."""
    terminal = Terminal({"quiet": is_quiet, "verbose": 1, "log_format": form})
    message = Message("m", "it is so ##[a", "here", (), Place("f", 1, 2))
    said = []
    told, asked = (partial(terminal.tell, Document("d", "told"), is_needed=needed) for needed in (False, True))
    for say in (
        partial(terminal.warn, message), partial(terminal.complain, message), partial(terminal.note, "x"), told, asked,
    ):  # fmt: skip
        say()
        said.append(capsys.readouterr())
    assert [not is_quiet, True, not is_quiet, not is_quiet, True] == [bool(err) for _, err in said]
    assert {""} == {out for out, _ in said}
    assert "##[" not in "".join(err for _, err in said)  # which a runner would carry out
    if form == "json":
        entries = [json.loads(err) for _, err in said[:3] if err]
        levels = ["error"] if is_quiet else ["warning", "error", "info"]
        keys = {"name", "what", "where", "place", "steps", "time", "level", "message"}
        assert (levels, [keys] * len(levels)) == ([entry["level"] for entry in entries], list(map(set, entries)))
        assert entries[0]["message"] == "f:1:2: it is so ##[a"


@pytest.mark.parametrize("is_done", [True, False])
@pytest.mark.parametrize("kind", [BrokenPipeError, OSError])
def test_a_result_that_cannot_be_printed(
    kind: type[OSError], is_done: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It fails a command that has done nothing else, and is a warning after work; a reader may leave at any time."""
    terminal = Terminal({})
    monkeypatch.setattr(sys, "stdout", _stream(problem=kind(28, "No space")))
    if is_done:
        terminal.work_is_done()
    assert not terminal.reader_has_left
    fails = kind is OSError and not is_done
    with pytest.raises(ReconcilerError) if fails else contextlib.nullcontext() as caught:
        terminal.print("x")
    assert terminal.reader_has_left is (kind is BrokenPipeError)
    assert (["stdout-unwritable"] if fails else []) == [m.name for m in (caught.value.messages if caught else ())]
    err = capsys.readouterr().err
    assert (err.startswith("Warning: standard output"), "succeeded" in err) == (kind is OSError and is_done,) * 2


@pytest.mark.parametrize(
    ("term", "is_terminal", "coloured"), [("x", True, True), ("dumb", True, False), ("x", False, False)]
)
def test_colour_of_a_terminal(term: str, is_terminal: bool, coloured: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only one that is not dumb has it by itself, whatever the other stream is."""
    monkeypatch.setenv("TERM", term)
    for flags in ({}, {"color": "auto"}):
        monkeypatch.setattr(sys, "stderr", stream := Screen() if is_terminal else io.StringIO())
        Terminal(flags).warn(Message("m", "x"))
        assert ("\x1b[" in stream.getvalue()) is coloured


@pytest.mark.parametrize(("given", "width"), [("20", 20), ("1", 1), ("0", 80), ("-3", 80), ("x", 80), ("", 80)])
def test_the_width_of_a_stream(given: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """COLUMNS, if that is a width; 80 where nothing is known, or where the terminal has none."""
    monkeypatch.setenv("COLUMNS", given)
    assert columns(_stream()) == columns(Mock(**{"fileno.side_effect": ValueError})) == width
    monkeypatch.setattr("os.get_terminal_size", lambda _: os.terminal_size((0, 0)))
    assert columns(_stream()) == width


def test_each_stream_has_its_own_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is told on stderr fits there, however wide stdout is."""
    screens = {"stdout": Screen(), "stderr": Screen()}
    for name, screen in screens.items():
        monkeypatch.setattr(sys, name, screen)
    monkeypatch.setattr("reconciler.cli.terminal.columns", lambda stream: 90 if stream is screens["stdout"] else 40)
    terminal, text = Terminal({"color": "never"}), "word " * 40
    terminal.warn(Message("m", text))
    terminal.tell(Document("d", text), is_needed=True)
    assert 30 < max(map(len, screens["stderr"].getvalue().splitlines())) <= 40


def test_every_stream_is_open_and_takes_every_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was closed is empty, and one of another encoding gets escapes."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="ascii") for _ in range(2)]
    monkeypatch.setattr(sys, "stdin", None)
    for name, stream in zip(("stdout", "stderr"), streams, strict=True):
        monkeypatch.setattr(sys, name, stream)
    open_streams()
    with sys.stdin as closed:
        assert closed.read() == ""
    monkeypatch.setattr(sys, "stdout", io.StringIO())  # one that cannot be set stays as it is
    monkeypatch.setattr(sys, "stderr", None)
    open_streams()
    with sys.stderr as closed:
        assert closed is not sys.stdout
    for stream in streams:
        print("\u20ac", file=stream, flush=True)
        assert stream.buffer.getvalue() == b"\\u20ac\n"


@pytest.mark.parametrize(("typed", "yes"), [("yes\n", True), (" yes ", True), ("YES\n", False), ("", False)])
def test_a_question(typed: str, yes: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """It is there before the answer, which is on the same line."""
    monkeypatch.setattr(sys, "stderr", asked := io.TextIOWrapper(io.BytesIO()))
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    assert says_yes("Really?") is yes
    err = asked.buffer.getvalue()
    assert (capsys.readouterr().out, err.startswith(b"Really? "), b"\n" in err) == ("", True, False)
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    monkeypatch.setattr("sys.stderr.write", Mock(side_effect=OSError(28, "No space")))
    assert not says_yes("Really?")  # which nobody has seen


@pytest.mark.parametrize(("typed", "answer"), [("\n", "here"), (" \n", "here"), (" there \n", "there"), ("", None)])
def test_a_question_with_a_default(
    typed: str, answer: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An empty line stands for it; the end of the input is no answer."""
    monkeypatch.setattr(sys, "stderr", asked := io.TextIOWrapper(io.BytesIO()))
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    with pytest.raises(Refused) if answer is None else contextlib.nullcontext():
        assert line("Where?", "here") == answer
    assert (capsys.readouterr().out, asked.buffer.getvalue()) == ("", b"Where? [here]: ")


def test_facts_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are known; a run for a pull request names that in place of a branch."""
    assert run_facts() == ()
    for pair in ["SHA=c0ffee", "ACTOR=ada", "REF_NAME=main", "RUN_ID=7", "SERVER_URL=https://g", "REPOSITORY=o/r"]:
        monkeypatch.setenv(*f"GITHUB_{pair}".split("="))
    run = ("Run", "https://g/o/r/actions/runs/7")
    assert run_facts() == (("Commit", "c0ffee"), ("Author", "ada"), ("Ref", "main"), run)
    for name in ("7/fix", "2024", "merge", "fix/merge"):
        monkeypatch.setenv("GITHUB_REF_NAME", name)
        assert run_facts()[2] == ("Ref", name)
    monkeypatch.setenv("GITHUB_REF_NAME", "12/merge")
    assert run_facts()[2] == ("Pull request", "#12")


def test_each_result_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    """Also where several have come since the last look, and where none is of a call."""
    run = Mock(**{"creates.interrupted": False})
    with progress(Terminal({"verbose": 1}), plan(change())) as observe:
        for count in (0, 2, 2, 3):
            names = [f"europe/staging/{number}" for number in range(count)]
            run.work.results = {name: Result(Address(name), Action.REMOVE, Done.REQUESTED) for name in names}
            observe(run)
    assert names == re.findall(r"europe/staging/\d", capsys.readouterr().err)


@pytest.mark.parametrize("flying", [0, 2])
def test_an_interrupt_is_acknowledged_once(flying: int, capsys: pytest.CaptureFixture[str]) -> None:
    """With what is waited for."""
    run = Mock(**{"in_flight": range(flying), "context.limits.call_grace": 15.0, "work.results": {}})
    with progress(Terminal({}), plan(change())) as observe:
        for interrupted in (False, True, True):
            run.creates.interrupted = interrupted
            observe(run)
    (said,) = capsys.readouterr().err.splitlines()
    assert ("15 s for 2 calls" in said) is bool(flying)
