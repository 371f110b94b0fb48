"""The commands that call the service, keep secrets, or play the service."""

from __future__ import annotations

import base64
import errno
import hmac
import io
import json
import re
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import Mock

import pytest
from support.command_line import CONFIG, CommandLine, Screen
from support.notified import wait_until

from reconciler.cli.notifications import _shown as shown
from reconciler.cli.terminal import Terminal
from reconciler.errors import Message, Refused
from reconciler.notifications.captured import Captured
from reconciler.operations.responses import Response
from reconciler.receiver.receiver import Behaviour, Delivery
from reconciler.sandbox import Sandbox
from reconciler.sandbox.layout import DOCUMENTED_TARGETS
from reconciler.values import SHORTEST_SECRET

KEY = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"
APPLICATIONS, OFFERS = "europe/staging/applications", "europe/staging/offers"


def test_a_token_is_printed_and_masked_in_actions(project: CommandLine, sandbox: Sandbox) -> None:
    """One token from the cache, and nothing else on stdout; an unknown target is refused, with those there are."""
    assert re.search(r"-t europe/stagin: .*did you mean europe/staging\?", project("token", "-t", "europe/stagin").err)
    assert project.fine("token", "-t", "europe/staging", "--api", "loan").out.strip()
    token = project.fine("token", "-t", "europe/staging").out.strip()
    project.environment.setenv("GITHUB_ACTIONS", "true")
    again = project.fine("token", "-t", "europe/staging")
    assert (again.out.strip(), again.err) == (token, f"::add-mask::{token}\n")


def test_a_lead_is_created_once(project: CommandLine, sandbox: Sandbox) -> None:
    """Its answer is printed as it came."""
    lead = project.directory / "lead.json"
    lead.write_text("{}", encoding="utf-8")
    ran = project.fine("lead", "create", "-t", "europe/staging", str(lead))
    assert (list(ran.document), ran.err, len(sandbox.world.leads)) == (["leadId", "status"], "", 1)
    for text in ("[]", "", "{", "[" * 100_000):
        lead.write_text(text, encoding="utf-8")
        assert "expected a JSON object" in project("lead", "create", "-t", "europe/staging", str(lead)).err
    project.environment.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO('{"a": "ü"}'.encode()), "ascii"))
    sandbox.world.fail_next("lead-half")
    cut = project("lead", "create", "-t", "europe/staging", "-")
    assert ([{}, {"a": "ü"}], True) == ([lead.document for lead in sandbox.world.leads], "Warning: " in cut.err)
    assert (True, False) == (cut.out.startswith("{"), cut.out == ran.out)


def test_a_call_has_the_settings_of_the_project(project: CommandLine) -> None:
    """Its time limit, its cache, and the credentials of its target."""
    for name in ("CLIENT_ID", "CLIENT_SECRET"):
        project.environment.setenv(f"RECONCILER_EUROPE_STAGING_{name}", name)
    client = Mock(side_effect=Refused(Message("enough", "it was looked at")))
    project.environment.setattr("reconciler.cli.service.ServiceClient", client)
    for name in ("TIMEOUT", "CACHE_DIR"):
        project.environment.setenv(f"RECONCILER_{name}", "7")
    for given, timeout, place in (((), 7.0, "7"), (("--timeout", "5", "--cache-dir", "a cache"), 5.0, "a cache")):
        project("token", "-t", "europe/staging", *given)
        (target, credentials), options = client.call_args
        assert (target.name, credentials.client_id) == ("europe/staging", "CLIENT_ID")
        assert (options["timeout"], Path(options["cache_dir"]).name) == (timeout, place)


def test_text_of_the_service_is_printed_as_such(applied: CommandLine) -> None:
    """So that it is escaped wherever it is no data for a program."""
    printed: list[bytes] = []
    applied.environment.setattr(Terminal, "print_foreign", lambda _, body: printed.append(body))
    (applied.directory / "lead").write_text("{}")
    commands = [("lead", "create", "-t", "europe/staging", "lead"), ("token", "-t", "europe/staging")]
    commands += [("secret", "show", OFFERS, *more) for more in ((), ("--headers",), ("--field", "secretKey"))]
    assert [""] * 5 == [applied.fine(*words).out for words in commands]
    assert (5, True) == (len(printed), printed[4] in printed[2] in printed[3])


@pytest.mark.parametrize(("fault", "told"), [("lead-hang", "its outcome is unknown"), ("token-hang", "")])
def test_an_interrupted_lead_is_told_if_sent(project: CommandLine, sandbox: Sandbox, fault: str, told: str) -> None:
    """Whoever repeats it may create a duplicate; before it was sent, nothing has happened."""
    sandbox.world.fail_next(fault)
    words = [sys.executable, "-m", "reconciler", "lead", "create", "-t", "europe/staging", "-"]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdin is not None
    process.stdin.write("{}")
    process.stdin.close()
    process.stdin = None
    kind = fault.partition("-")[0]
    assert wait_until(lambda: any(count and key[0] == kind for key, count in sandbox.world.requests.items()))
    process.terminate()
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (143, "")
    assert (told in err, err.count("Error: ")) == (True, 2 if told else 1)


def test_the_response_to_a_create_is_shown(applied: CommandLine) -> None:
    """Whole, with its head, or one field of it; in Actions every text of it is masked."""
    whole = applied.fine("secret", "show", OFFERS).document
    assert applied.fine("secret", "show", OFFERS, "--field", "secretKey").out.strip() == whole["secretKey"]
    status, *head, _, _ = applied.fine("secret", "show", OFFERS, "--headers").out.splitlines()
    values = [line.partition(": ")[2] for line in head]
    assert (status[:12], len(values) > 2) == ("HTTP/1.1 201", True)
    applied.environment.setenv("GITHUB_ACTIONS", "true")
    assert f"::add-mask::{whole['secretKey']}\n" in applied.fine("secret", "show", OFFERS).err
    masked = applied.fine("secret", "show", OFFERS, "--headers").err
    assert f"::add-mask::{whole['secretKey']}\n" in masked
    for value in values:  # a word is no secret
        assert (f"::add-mask::{value}\n" in masked) is (len(value) >= SHORTEST_SECRET)
    response = Response(b"HTTP/1.1 201 \xff\r\nX: a secret \xff\r\n\r\n", b'{"key": "\\u20ac"}')
    applied.environment.setattr("reconciler.cli.secret.response_of", lambda *_: response)
    masked = applied.fine("secret", "show", OFFERS, "--headers").err
    for text in ("a secret \\xff", "\u20ac", '{"key": "\\u20ac"}'):  # as it is meant, and as it is written
        assert f"::add-mask::{text}\n" in masked


def test_no_secret_is_printed_that_is_not_masked(applied: CommandLine) -> None:
    """In Actions, each command masks first: if that fails, nothing has been printed."""
    applied.environment.setenv("GITHUB_ACTIONS", "true")
    show = ("secret", "show", OFFERS)
    for words in (("token", "-t", "europe/staging"), show, (*show, "--field", "secretKey"), (*show, "--headers")):
        for number in (errno.ENOSPC, errno.EPIPE):
            with applied.environment.context() as patch:
                patch.setattr("sys.stderr.write", Mock(side_effect=OSError(number, "it fails")))
                ran = applied(*words)
            assert (ran.code, ran.out) == (1, ""), words


def test_a_secret_that_came_another_way_is_recorded(project: CommandLine) -> None:
    """It is read from standard input, or asked for at a terminal, and shown again."""
    project.fine("state", "init")
    project.fine("state", "import", OFFERS)
    assert "reconciler secret set" in project("secret", "show", OFFERS).err
    project.environment.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b" \t\n")))
    assert "no secret was given" in project("secret", "set", OFFERS).err
    project.environment.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b" hunter2\n")))
    ran = project.fine("secret", "set", OFFERS)
    assert "hunter2" not in ran.out + ran.err
    for more in ((), ("--field", "secretKey"), ("--field", "secretKey", "--headers")):  # as for a response
        assert project.fine("secret", "show", OFFERS, *more).out == "hunter2\n"
    project.answer("yes\n")
    project.environment.setattr("reconciler.cli.secret.getpass", lambda _: "hünter2\u20ac ")
    project.fine("secret", "set", OFFERS)
    assert project.fine("secret", "show", OFFERS).out == "hünter2\u20ac\n"
    project.environment.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xffhunter2\n")))
    project.fine("secret", "set", OFFERS)
    project.environment.setenv("GITHUB_ACTIONS", "true")
    assert project.fine("secret", "show", OFFERS) == (0, "\\xffhunter2\n", "::add-mask::\\xffhunter2\n")


@pytest.mark.parametrize("recipients", ["", f"recipients: [{KEY}]\n"])
def test_a_secret_is_saved_only_after_consent(project: CommandLine, recipients: str) -> None:
    """Neither a dry run nor a refusal writes anything, in the clear or encrypted."""
    project.write_config(CONFIG + recipients)
    project.fine("state", "init")
    project.fine("state", "import", OFFERS)
    before = set(project.directory.parent.rglob("*"))
    for words, code in ((("--yes", "--dry-run"), 0), (("--yes", "--expect-digest", "sha256:0"), 1)):
        project.environment.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"hunter2\n")))
        assert code == project("secret", "set", OFFERS, *words).code
    assert before == set(project.directory.parent.rglob("*"))
    project.environment.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"hunter2\n")))
    project.environment.setattr("reconciler.cli.consent.append", Mock(side_effect=Refused(Message("m", "killed"))))
    project("secret", "set", OFFERS)  # it is on disk before the record names it
    assert bool(recipients) or before < set(project.directory.parent.rglob("*"))


def test_a_response_from_elsewhere_is_escaped_in_a_log(applied: CommandLine, capsys: object) -> None:
    """No line of it begins as a command of the runner."""
    printed: list[str | bytes] = []
    terminal = Terminal({})
    applied.environment.setattr(terminal, "print", printed.append)
    terminal.print_foreign(b"::error::x\n##[group]")
    applied.environment.setenv("GITHUB_ACTIONS", "true")
    terminal.print_foreign(b"::error::x\n##[group]\x1b\ty\xff")
    assert printed == [b"::error::x\n##[group]", "| ::error::x\n##\\[group]\\x1b    y\\xff"]


def test_the_operator_of_the_sandbox_lists_and_deletes(applied: CommandLine, sandbox: Sandbox) -> None:
    """And makes events happen, with properties from a file or standard input; the option goes before the variable."""
    applied.environment.delenv("RECONCILER_SANDBOX_URL")
    (applied.directory / ".env").write_text(f"RECONCILER_SANDBOX_URL={sandbox.url}\n")
    for code, told in (("ONB10011", "1 delivery"), ("XXX00000", "0 deliveries")):
        assert f"{told} started\n" == applied.fine("sandbox", "trigger", code).out
    for text, status in (('{"a": "ü"}'.encode(), 0), (b"", 1)):
        (applied.directory / "properties").write_bytes(text)
        for file in ("-", "properties"):
            applied.environment.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text), "ascii"))
            assert status == applied("sandbox", "trigger", "ONB10011", "--properties", file).code
    for number in range(4):
        sandbox.world.create("europe/staging", ("ONB10011", "LOA10013"), f"http://127.0.0.1:9/{number}")
    applied.environment.setenv("RECONCILER_SANDBOX_URL", "http://127.0.0.1:9")
    assert "reconciler sandbox serve" in applied("sandbox", "list").err
    listed = applied.fine("sandbox", "list", "--url", sandbox.url).out
    rows = [line.split() for line in listed.splitlines() if "europe/staging" in line]
    found = [text in listed for text in ("6 subscriptions in the sandbox.", "ONB10011, LOA10013")]
    assert ["target", "id", "codes", "URL"] in [line.split() for line in listed.splitlines()]
    assert (found, rows) == ([True, True], sorted(rows))
    for row in rows:
        assert row[1] in applied.fine("sandbox", "delete", row[1], "--url", sandbox.url).out
        assert "" == applied("sandbox", "delete", row[1], "--url", sandbox.url).out
    assert "0 subscriptions in the sandbox.\n" == applied.fine("sandbox", "list", "--url", sandbox.url).out


@pytest.mark.parametrize(("words", "called", "given", "named"), [
    ("secret show a --attempt x --attempt y --identity k", "secret.response_of", ("a", ("x", "y"), Path("k")), {}),
    ("secret set a --attempt x --attempt y", "secret.secret_statement", ("a", ("x", "y"), b"hunter2"), {}),
    ("signature detect f --address a --identity k", "notifications.secrets_of", ("a", Path("k")), {}),
    ("sandbox trigger c --count 2 -t x --url u", "sandbox.trigger_event", ("c", None, 2, "x"), {}),
    ("doctor -v", "project.examine", ((),), {"write": False}),
    ("doctor -t x -t y --write", "project.examine", (("x", "y"),), {"write": True}),
    ("apply -t x -t y --allow-empty", "apply.make_plan", (("x", "y"),), {"allow_empty": True}),
    ("status -t x -t y", "status.make_plan", (("x", "y"),), {"allow_empty": True}),
    ("removal list -t x -t y --format markdown", "removal.status_of", (("x", "y"),), {"current": True}),
    *(
        (f"parity a b --proven --soak 2{unit}", "status.compare", ("a", "b"), {"proven": True, "soak": 2 * seconds})
        for unit, seconds in {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}.items()
    ),
    ("parity a b --proven", "status.compare", ("a", "b"), {"gate": False, "proven": True, "soak": None}),
])  # fmt: skip
def test_an_operation_gets_what_the_options_say(
    words: str, called: str, given: tuple[object, ...], named: dict[str, object], project: CommandLine
) -> None:
    """All of it, in the order of the command line, and `-` for standard input."""
    project.fine("state", "init")
    project.environment.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"hunter2\r\n")))
    operation = Mock(side_effect=Refused(Message("m", "enough")))
    project.environment.setattr(f"reconciler.cli.{called}", operation)
    assert "enough" in project(*words.split()).err
    args, options = operation.call_args
    assert (args[-len(given) :], {name: options[name] for name in named}) == (given, named)


def test_the_sandbox_prints_its_variables_and_serves(project: CommandLine) -> None:
    """Until it is interrupted."""
    words = [sys.executable, "-m", "reconciler", "sandbox", "serve", "--env-file", ".env"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    told = process.stderr.readline()
    assert ("Serving at http://127.0.0.1:" in told, told.split()[-1]) == (True, str(process.pid))
    process.terminate()
    out, err = process.communicate(timeout=20)
    names = {line.partition("=")[0] for line in out.splitlines()}
    assert (process.returncode, err) == (143, "Note: stopped\n")
    assert {"RECONCILER_STATE", "RECONCILER_SANDBOX_URL", "RECONCILER_EUROPE_STAGING_BASE_URL"} <= names
    assert (project.directory / ".env").read_text(encoding="utf-8") == out


def signed(place: Path, secret: bytes, encoding: str) -> Path:
    """Write a file with one notification, signed in a header."""
    digest, file = hmac.digest(secret, b"{}", "sha256"), place / "captured.jsonl"
    headers = [["X-Signature", digest.hex() if encoding == "hex" else base64.b64encode(digest).decode()]]
    file.write_text(json.dumps({"at": "2026-01-01T00:00:00Z", "path": "/offers", "body": "{}", "headers": headers}))
    return file


def test_the_scheme_of_a_signature_is_found(applied: CommandLine, tmp_path: Path) -> None:
    """It is printed as a section of config/, and nothing else on stdout."""
    secret = applied.fine("secret", "show", OFFERS, "--field", "secretKey").out.strip()
    captured = signed(tmp_path, secret.encode(), "hex")
    ran = applied.fine("signature", "detect", str(captured), "--address", OFFERS)
    assert ran.out.startswith('verification:\n  header: "X-Signature"\n  algorithm: "hmac-sha256"\n')
    assert [text for text in ("enforce", "Add this") if text in ran.out] == []
    applied.environment.setenv("HOOK", secret)
    for more in ((), ("--address", OFFERS, "--secret-variable", "HOOK")):
        assert "expected --address or --secret-variable" in applied("signature", "detect", str(captured), *more).err


def test_the_secret_of_a_variable_comes_from_every_source(project: CommandLine, tmp_path: Path) -> None:
    """As every other setting does, and as it is there."""
    captured = signed(tmp_path, b" a secret of some length ", "base64")
    (project.directory / ".env").write_text("HOOK_SECRET=' a secret of some length '\n")
    ran = project.fine("signature", "detect", str(captured), "--secret-variable", "HOOK_SECRET")
    assert 'header: "X-Signature"' in ran.out
    assert "OTHER is not set" in project("signature", "detect", str(captured), "--secret-variable", "OTHER").err


def test_listen_verifies_only_with_a_scheme(project: CommandLine) -> None:
    """The message says how to find it; an identity is for that alone."""
    assert "reconciler signature detect" in project("listen", "--verify").err
    assert "--identity requires --verify" in project("listen", "--identity", "x").err


@pytest.mark.parametrize("verify", [True, False])
def test_listen_answers_as_its_options_say(verify: bool, project: CommandLine) -> None:
    """Whether signatures are checked or not; secrets are read again when they are needed."""
    project.write_config(f"verification: {{header: X-S, algorithm: hmac-sha256, enforce: false}}\n{CONFIG}")
    opened, known = Mock(side_effect=Refused(Message("m", "enough"))), Mock(return_value={})
    project.environment.setattr("reconciler.cli.notifications.Listening", opened)
    project.environment.setattr("reconciler.cli.notifications.secrets_by_template", known)
    project.environment.setattr(Terminal, "warn", warn := Mock())
    words = ("--port", "7", "--record", "f", "--respond", "202", "--fail-first", "2", "--delay", "0.5")
    project("listen", *words, *(("--verify", "--identity", "key") if verify else ()))
    port, file, place, behaviour, check = opened.call_args.args
    assert place.is_relative_to(project.directory.parent / "home" / "data")
    assert (port, file, behaviour) == (7, Path("f"), Behaviour(202, 2, 0.5, enforce=not verify))
    assert (check is None) is not verify
    if check is not None:
        check._read()
        assert check._warn is warn
        assert [Path("key")] * 2 == [args[1] for args, _ in known.call_args_list]


@pytest.mark.parametrize("leaves", [True, False])
def test_what_listen_prints(leaves: bool, project: CommandLine) -> None:
    """Each delivery, also one that came as it was stopped; a reader that leaves ends it."""
    delivery = Delivery(Captured("2026-03-01T12:34:56Z", "", "/offers", None, None, b""), "POST", 200, 1)
    came = {"deliveries.return_value": iter([delivery, delivery]), "rest.return_value": [delivery]}
    listening = Mock(url="http://u", file="f.jsonl", **came)
    project.environment.setattr("reconciler.cli.notifications.Listening", lambda *_: nullcontext(listening))
    printed = []

    def show(terminal: Terminal, text: str) -> None:
        printed.append(json.loads(text)["eventCode"])
        terminal.reader_has_left = leaves

    project.environment.setattr(Terminal, "print", show)
    assert "Listening at http://u. Notifications are saved to f.jsonl.\n" in project.fine("listen").err
    assert printed == [None] * (2 if leaves else 3)


def test_the_sandbox_serves_as_its_options_say(reconciler: CommandLine) -> None:
    """The targets of `config/`, whatever the addresses in the settings, or else those that are documented."""
    opened = Mock(side_effect=Refused(Message("m", "enough")))
    reconciler.environment.setattr("reconciler.cli.sandbox.sandbox_served", opened)
    words = "--port 7 --data d --env-file e --retry-interval 0.5 --fault 500 --seed 3"
    reconciler("sandbox", "serve", *words.split())
    assert opened.call_args.args == (7, DOCUMENTED_TARGETS, Path("d"), Path("e"), 0.5, ("500",), 3)
    reconciler.environment.setenv("RECONCILER_EUROPE_STAGING_BASE_URL", "nonsense")
    reconciler.write_config(
        CONFIG.replace("targets:", "targets:\n  usa/b: {auth_url: https://a.test, base_url: https://b.test}")
    )
    (reconciler.directory / "config").rename(reconciler.directory / "other")
    reconciler("sandbox", "serve", "--config", "other")
    assert opened.call_args.args == (0, ("europe/staging", "usa/b"), None, None, 15.0, (), None)


def test_a_new_project_is_valid(reconciler: CommandLine) -> None:
    """Its next steps are commands to paste."""
    words = ("init", "new", "--region", "europe", "--state", "state.jsonl")
    out = reconciler.fine(*words).out
    assert all(text in out for text in ("config/targets.yaml\n", "Done. Next:\n", "state init"))
    pasted = [line.strip() for line in out.splitlines() if line.startswith("  reconciler ")]
    assert [f"reconciler {words}" for words in ("validate", "state init", "plan")] == pasted[:3]
    warned = reconciler.fine("validate", "--config", "new/config")
    assert (warned.out + warned.err).count("Warning: ") == 1  # of all placeholders, with a line for each
    assert "already exist" in reconciler(*words).err
    assert "other/targets.yaml" in reconciler.fine("--config", "other", *words).out
    added = reconciler.fine("init", "new", "--age-key").out
    (key,) = reconciler.directory.parent.joinpath("home").rglob("identities/*.txt")
    assert str(key) in added.partition("Done.")[0]
    assert "Nothing is missing" in reconciler.fine("init", "new", "--age-key").out


@pytest.mark.parametrize(("words", "typed", "asked", "found"), [
    ("", "north\nlive\ngit:b\n", 3, ["north/live", "state: git:b"]),
    ("", "\n\n\n", 3, ["europe/staging", "usa/production", "state: state.jsonl"]),
    ("--state s3://b/p", "\n\n", 2, ["state: s3://b/p"]), ("--github", "\n\n\n", 3, ["state: git"]),
    ("--age-key", "\n\n\n", 3, ["state: git:"]), ("--region asia", "", 0, ["asia/staging"]),
    ("--environment live", "", 0, ["usa/live"]),
])  # fmt: skip
def test_init_at_a_terminal(words: str, typed: str, asked: int, found: list[str], reconciler: CommandLine) -> None:
    """For what no option says, in the place of the project; where there is one, nothing is asked."""
    reconciler.answer(typed)
    reconciler.environment.setenv("RECONCILER_STATE", "of a rehearsal")
    if "--age-key" in words:  # stands for a work tree with a remote
        git = "reconciler.operations.init._git"
        reconciler.environment.setattr(git, lambda place, *_: "origin" * (str(place) == "new"))
    ran = reconciler.fine("init", "new", *words.split())
    text = (reconciler.directory / "new" / "config" / "targets.yaml").read_text()
    assert (ran.err.count("? ["), [each for each in found if each not in text]) == (asked, [])
    assert "--state" not in ran.out
    assert reconciler("init", "new").err.count("? [") == 0


def test_the_schema_is_a_document(reconciler: CommandLine) -> None:
    """Of draft 7, which editors read."""
    assert reconciler.fine("schema").document["$schema"].startswith("http://json-schema.org/draft-07")


@pytest.mark.parametrize(("number", "verified", "words"), [
    (1, None, ""), (2, True, "  verified  delivery 2"), (None, False, "  unverified  bad\\x1b"),
])  # fmt: skip
def test_a_delivery_is_shown(number: int | None, verified: bool | None, words: str, project: CommandLine) -> None:
    """On a terminal with its body, of which no line is a command of a runner; else as one line of JSON."""
    body = b"a\xff\r\n::b##[\n" + b"c\n" * 300
    request = Captured("2026-03-01T12:34:56Z", "ONB10011", "/offers", None, verified, body)
    delivery = Delivery(request, "POST", 200, number, "bad\x1b" if number is None else None)
    assert "##[" not in shown(delivery)
    assert json.loads(shown(delivery)) == {
        "at": request.at, "method": "POST", "path": "/offers", "status": 200, "delivery": number, "verified": verified,
        "problem": delivery.problem, "eventCode": "ONB10011", "body": body.decode(errors="replace"),
    }  # fmt: skip
    project.environment.setattr(sys, "stdout", Screen())
    rows = shown(delivery).splitlines()
    assert rows[:3] == [f"12:34:56  200  ONB10011  /offers{words}", "    a\ufffd", r"|     ::b##\["]
    assert len(rows) == 201
