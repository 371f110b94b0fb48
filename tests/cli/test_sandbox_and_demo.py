"""`sandbox serve` and `demo`, as a user runs them."""

from __future__ import annotations

import json
import re
import signal
import socket
from typing import TYPE_CHECKING

import pytest
from support.project import end
from support.sandbox_client import call

from reconciler.sandbox.faults import FAULTS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from subprocess import Popen

    from support.project import Project


@pytest.fixture
def serving(project: Project) -> Iterator[Popen[bytes]]:
    """A sandbox of which each create is answered with a 500; the project has its variables."""
    process = project.start("sandbox", "serve", "--fault", "500", "--seed", "1")
    assert process.stdout is not None
    for line in process.stdout:
        name, _, value = line.decode().strip().partition("=")
        project.environment[name] = value
        if name == "RECONCILER_SANDBOX_URL":
            break
    yield process
    end(process)


def test_serve(project: Project, serving: Popen[bytes]) -> None:
    """Its variables are all that is needed; a fault without a probability always happens."""
    project.declare({"offers": (["ONB10011"], "https://hooks.partner.example/offers")})
    assert 4 * 5 + 1 == len(project.environment)
    project.step("state", "init")
    assert 2 == project.step("token", "-t", "europe/staging").out.count(".")
    done = project.run_fork("apply", "--auto-approve", "--format", "json")
    assert (3, ["unknown"]) == (done.code, [one["outcome"] for one in done.document["results"]])
    lead = project.run_fork("lead", "create", "-t", "europe/staging", "-", stdin=json.dumps({"a": 1}))
    assert lead.code == 0


def test_serve_says_what_can_go_wrong(project: Project) -> None:
    """Its help names every fault."""
    words = set(re.split(r"[\s,]+", project.step("sandbox", "serve", "--help").out))
    assert set() == set(FAULTS) - words


def test_serve_as_its_help_has_it(project: Project) -> None:
    """The lines of shell in its help work as they stand."""
    lines = [line for line in project.step("sandbox", "serve", "--help").out.splitlines() if "sandbox.env" in line]
    recipe = "\n".join(lines).replace("reconciler ", '"$reconciler" ')
    done = project.shell(f"{recipe}\necho $RECONCILER_SANDBOX_URL; kill $!; wait $!")
    assert (2, 143) == (len(lines), done.code)
    assert done.out.startswith("http://127.0.0.1:")


def test_serve_as_its_operator(project: Project, serving: Popen[bytes]) -> None:
    """What its help says of the operator's part: it sees what exists, and deletes it."""
    help_text = project.step("sandbox", "--help").out
    state, remove = re.findall(r'"\$RECONCILER_SANDBOX_URL(/\S+)"', help_text)
    (body,) = re.findall(r"-d '(.*)'", help_text)
    url = project.environment["RECONCILER_SANDBOX_URL"]
    answer = call("GET", f"{url}{state}")
    assert (200, []) == (answer.status, answer.document["subscriptions"])
    answer = call("POST", f"{url}{remove}", json.loads(body))
    assert (404, "subscription not found or already removed") == (answer.status, answer.document["error_description"])


def test_serve_says_how_to_end_it(serving: Popen[bytes]) -> None:
    """Ctrl-C does not reach it in the background, as where a shell has read its variables."""
    assert serving.stderr is not None
    assert (
        serving.stderr.readline()
        .decode()
        .endswith(f". Press Ctrl-C to stop; in the background, run: kill {serving.pid}\n")
    )


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_serve_ends_with_a_signal(serving: Popen[bytes], number: signal.Signals, code: int) -> None:
    """Promptly, and with the code of the signal."""
    assert serving.stderr is not None
    assert serving.stderr.readline().startswith(b"Serving at http://127.0.0.1:")
    done = end(serving, number, timeout=10)
    assert (code, "Interrupted.\n") == (done.code, done.err)


def test_serve_on_a_port_that_is_taken(project: Project) -> None:
    """Another one has to be chosen."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = project.run_fork("sandbox", "serve", "--port", str(taken.getsockname()[1]))
    assert (1, "") == (done.code, done.out)
    assert "cannot listen on this port: " in done.err


def test_demo(project: Project) -> None:
    """The whole loop, with nothing left behind, whatever is set outside."""
    project.environment |= {"CI": "true", "RECONCILER_CONFIG": "nowhere", "TMPDIR": str(project.path)}
    done = project.step("demo")
    assert "No changes. 8 subscriptions match the configuration." in done.out
    assert "The sandbox now has 8 subscriptions and has issued 3 tokens. " in done.out
    assert done.out.endswith(
        "\nThat was the demo; nothing of it is left. To begin a project of your own, in an empty directory, run:\n"
        "    reconciler init\n"
    )
    assert [] == list(project.path.iterdir())


def test_demo_that_fails(project: Project) -> None:
    """The step is named."""
    project.environment["XDG_DATA_HOME"] = "ignored"
    project.write("hooks/sitecustomize.py", "import sys\nif 'apply' in sys.argv: sys.argv[2:] = ['plan', '--bogus']\n")
    project.environment["PYTHONPATH"] = str(project.path / "hooks")
    done = project.run_fork("demo")
    assert 1 == done.code
    assert "Error: reconciler apply: it exited with 1 instead of 0\n" in done.err
