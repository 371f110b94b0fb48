"""What comes from elsewhere is bounded, in time, in memory and in where it may come from."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from itertools import product
from typing import TYPE_CHECKING

import pytest
from support.project import EXECUTABLE, Finished, Project
from support.raw_server import say
from support.rude_service import json_response

from reconciler.sandbox.sandbox import Sandbox

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.lending_service import LendingService
    from support.partner import Partner
    from support.raw_server import RawServer

MEMORY = 200  # MiB, of which an apply takes some 60
PATIENCE = 15  # seconds, of which a call takes 2
TIMED_OUT = "timed out after 2 s without an answer"

# A process of its own, since what a child is said to have taken is no less than what its parent had.
MEASURE = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[2:])
with open(sys.argv[1], "w") as file:
    file.write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(code)
"""


def run_bounded(project: Project, *arguments: str) -> Finished:
    """Run a command, and fail unless it keeps within time and memory."""
    began, file = time.monotonic(), project.path.parent / "memory"
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, file, EXECUTABLE, *arguments],
        cwd=project.path,
        env=project.variables(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    assert time.monotonic() - began < PATIENCE
    assert int(file.read_text()) / unit < MEMORY
    return Finished(done.returncode, done.stdout.decode(), done.stderr.decode())


class TestAnswers:
    """A service that talks too much, too slowly or not at all."""

    @pytest.fixture
    def sandbox(self) -> Iterator[Sandbox]:
        """A sandbox with one target."""
        with Sandbox(targets=["europe/staging"]) as sandbox:
            yield sandbox

    @pytest.mark.parametrize(
        ("fault", "code", "outcome", "detail"),
        [
            ("huge", 0, "created", "the response was cut off after 1048576 bytes"),
            ("drip", 3, "unknown", TIMED_OUT),
            pytest.param("hang", 3, "unknown", TIMED_OUT, marks=pytest.mark.soak),
            ("429-forever", 1, "rejected", "HTTP 429 Too Many Requests: "),
            pytest.param("token-huge", 0, "created", None, marks=pytest.mark.soak),
            pytest.param("token-drip", 1, "not_sent", f"no access token: {TIMED_OUT}", marks=pytest.mark.soak),
            ("token-hang", 1, "not_sent", f"no access token: {TIMED_OUT}"),
            pytest.param(
                "token-429-forever", 1, "not_sent", "no access token: HTTP 429 Too Many Requests: ",
                marks=pytest.mark.soak,
            ),
        ],
    )  # fmt: skip
    def test_an_apply_ends_in_time(
        self, project: Project, sandbox: Sandbox, fault: str, code: int, outcome: str, detail: str | None
    ) -> None:
        """Within the time of a call and some patience, in bounded memory, with the outcome that is known by then."""
        project.environment = dict(sandbox.variables())
        project.declare({"offers": (["ONB10011"], "https://hooks.example")})
        project.step("state", "init")
        sandbox.world.fail_next(fault, 100)
        done = run_bounded(project, "apply", "--auto-approve", "--format", "json", "--timeout", "2")
        (result,) = done.document["results"]
        assert (code, outcome) == (done.code, result["outcome"])
        assert (detail or "") in (result["detail"] or "")
        kept = [path.stat().st_size for path in (project.path.parent / "home").rglob("*.response.1")]
        assert all(size <= (1 << 20) + (1 << 17) for size in kept)

    def test_headers_without_end(self, project: Project, serve: Callable[..., RawServer]) -> None:
        """A head that never ends is no answer."""
        server = serve(say(b"HTTP/1.1 200 OK\r\n", *[b"X-More: " + b"x" * 8000 + b"\r\n"] * 5000))
        project.declare({"offers": (["ONB10011"], "https://hooks.example")}, auth_url=server.url, base_url=server.url)
        project.environment |= CREDENTIALS
        done = run_bounded(project, "token", "-t", "europe/staging", "--timeout", "2")
        assert done.code == 1
        assert "no access token" in done.err

    def test_deep_and_wide_json(self, partner: Partner, lending_service: LendingService) -> None:
        """A body of a thousand levels or a hundred thousand members is kept as it came, and creates all the same."""
        from werkzeug import Response  # noqa: PLC0415

        partner.begin(one=["ONB10001"], two=["ONB10002"])
        wide = json.dumps({f"{n}Id": "x" for n in range(60_000)})
        lending_service.answer_next(Response("[" * 100_000, status=201), Response(wide, status=201))
        done = run_bounded(partner, "apply", "--auto-approve", "--parallelism", "1", "--format", "json")
        assert (0, 2) == (done.code, done.document["summary"]["created"])
        partner.step("state", "verify")


CREDENTIALS = {"RECONCILER_EUROPE_STAGING_CLIENT_ID": "id", "RECONCILER_EUROPE_STAGING_CLIENT_SECRET": "hunter2hunter2"}


def bomb(levels: int) -> str:
    """A file that names a list by an anchor, and many of them in each list after it."""
    return "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{f'*a{n - 1}, ' * 9}]\n" for n in range(1, levels))


def crossed(count: int) -> str:
    """So many targets, and as many subscriptions on each."""
    urls = "auth_url: https://a.example, base_url: https://b{0}.example"
    targets = "".join(f"  t{n}/x: {{{urls.format(n)}}}\n" for n in range(count))
    wanted = "".join(f"    s{n}: {{eventCodes: [ONB{n:05}], webhookUrl: https://h.example}}\n" for n in range(count))
    return f'targets:\n{targets}subscriptions:\n  "*/*":\n{wanted}'


def swollen(length: int, times: int) -> str:
    """A URL that a variable of such a length stands in so many times."""
    target = f"{{auth_url: https://a.example, base_url: https://b.example, vars: {{v: {'x' * length}}}}}"
    url = "https://h.example/" + "{v}" * times
    return f'targets: {{a/b: {target}}}\nsubscriptions: {{a/b: {{s: {{eventCodes: [ONB10001], webhookUrl: "{url}"}}}}}}'


class TestConfigurations:
    """Files that are meant to fill memory, or to run something."""

    @pytest.mark.parametrize(
        ("content", "place", "words"),
        [
            ("# " + "x" * 50_000_000, "1:1", "the file is larger than 8 MiB"),
            ("[" * 10_000, "1:65", "the file is nested deeper than 64 levels"),
            pytest.param("{a: " * 10_000, "1:257", "the file is nested deeper than 64 levels", marks=pytest.mark.soak),
            pytest.param("- " * 10_000, "1:129", "the file is nested deeper than 64 levels", marks=pytest.mark.soak),
            (bomb(99), "1:5", "YAML anchors are not supported"),
            (bomb(99), "2:10", "YAML aliases are not supported"),
            ("parity: !!python/object/apply:os.system [touch pwned]", "1:9", "YAML tags are not supported"),
            ("parity: [" + "a," * 4_000_000 + "]", "1:1", "the file has too many values"),
            (crossed(1500), "1503:3", "the configuration defines more than 500000 routes"),
            (swollen(1_000_000, 2_000), "2:63", "webhookUrl is longer than 2048 characters"),
        ],
        ids=["large", "lists", "mappings", "items", "anchors", "aliases", "tag", "wide", "crossed", "swollen"],
    )
    def test_a_file_is_refused_at_once(self, project: Project, content: str, place: str, words: str) -> None:
        """It is refused with its place, in bounded time and memory, and nothing in it is done."""
        project.write("config/all.yaml", content)
        done = run_bounded(project, "validate")
        assert (1, "") == (done.code, done.out)
        assert f"Error: config/all.yaml:{place}: {words}" in done.err
        assert not (project.path / "pwned").exists()

    def test_plain_http_stays_on_this_machine(self, project: Project) -> None:
        """An address of the service is https, or loopback, wherever it is said: else secrets travel in the open."""
        text = "targets:\n"
        for number, url in enumerate(NOT_HERE):
            text += f"  t{number}/x: {{auth_url: '{url}', base_url: '{url}', audience_base: '{url}'}}\n"
        project.write("config/all.yaml", text)
        done = project.run("validate")
        assert done.code == 1
        for field, number in product(("auth_url", "base_url", "audience_base"), range(len(NOT_HERE))):
            assert re.search(f"config/all.yaml:{number + 2}:[0-9]+: {field} (uses http|has an invalid host)", done.err)

    @pytest.mark.parametrize("field", ["AUTH_URL", "BASE_URL", "AUDIENCE_BASE"])
    def test_a_variable_is_no_way_around_it(self, project: Project, field: str) -> None:
        """The same holds for what the environment says."""
        project.declare({})
        project.environment = {**CREDENTIALS, f"RECONCILER_EUROPE_STAGING_{field}": NOT_HERE[0]}
        done = project.run("token", "-t", "europe/staging")
        assert done.code == 1
        assert f"the variable RECONCILER_EUROPE_STAGING_{field} uses http, which is allowed" in done.err


NOT_HERE = (
    "http://b.example", "http://10.0.0.1", "http://127.0.0.1.example", "http://localhost.example", "http://127.1",
    "http://2130706433", "http://0.0.0.0", "http://[::2]", "http://0x7f.0.0.1",
)  # fmt: skip


class TestCertificates:
    """A server that cannot prove who it is gets nothing."""

    @pytest.mark.parametrize(
        ("trusted", "host", "outcome"),
        [(False, "127.0.0.1", "not_sent"), (True, "localhost", "not_sent"), (True, "127.0.0.1", "created")],
        ids=["self-signed", "another name", "trusted"],
    )
    def test_only_a_proven_server_is_talked_to(
        self, partner: Partner, serve: Callable[..., RawServer], tls: ssl.SSLContext, certificate: Path,
        trusted: bool, host: str, outcome: str,
    ) -> None:  # fmt: skip
        """Nothing is sent to a certificate that nobody vouches for or that is another's, and no switch changes that."""
        server = serve(say(json_response({"id": "1"})), tls)
        offers = {"offers": (["ONB10011"], "https://hooks.example")}
        partner.declare(offers, base_url=f"https://{host}:{server.port}")
        partner.step("state", "init")
        if trusted:
            partner.environment["SSL_CERT_FILE"] = str(certificate)
        done = partner.step("apply", "--auto-approve", "--format", "json", "--timeout", "5", code=None)
        assert [outcome] == [one["outcome"] for one in done.document["results"]]
        assert (outcome == "not_sent", outcome == "created") == (done.code == 1, bool(server.requests))
