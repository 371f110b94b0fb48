"""Measure what commands cost, and write the table and the charts of `.github/BENCHMARKS.md`.

Both sides of a row run in turns, and the least cost of each is compared, since other work on the machine only adds to
it. Processor time is that of a process with its threads. `NAME...` prints only these rows.
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PAGE = Path(__file__).parents[1] / ".github" / "BENCHMARKS.md"
BEGIN, END = "<!-- measured -->\n", "<!-- end -->\n"
PYTHON = sys.executable
RECONCILER = str(Path(PYTHON).with_name("reconciler"))
PAUSE = 0.02  # seconds until the service answers a create
PARALLEL = "8"
LOAD = "import sys, yaml; yaml.load(open(sys.argv[1]), yaml.CSafeLoader)"
BARE = """\
import sys, httpx
from concurrent.futures import ThreadPoolExecutor
url, count = sys.argv[1], int(sys.argv[2])
with httpx.Client(timeout=30) as client, ThreadPoolExecutor(8) as pool:
    def create(number):
        body = {"eventCodes": [f"ONB{number:05d}"], "webhookUrl": f"https://hooks.partner.test/{number}"}
        client.post(f"{url}/notification/webhooksubscription", json=body).raise_for_status()
    list(pool.map(create, range(count)))
"""


class Cost(NamedTuple):
    """What a process took: seconds of a processor, seconds on the wall, MiB at its peak."""

    processor: float
    elapsed: float
    memory: float


class Row(NamedTuple):
    """A row of the table: `measured` and `limit` are ratios, or have a unit."""

    name: str
    work: str
    to: str
    measured: float
    limit: float
    unit: str = ""

    @property
    def is_missed(self) -> bool:
        """True if it takes more than it may."""
        return self.measured > self.limit


class Bench:
    """A directory with projects, and an environment without anything of this machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            "PATH": os.environ["PATH"],
            "CHECKPOINT_DISABLE": "1",
            "RECONCILER_EUROPE_STAGING_CLIENT_ID": "client",
            "RECONCILER_EUROPE_STAGING_CLIENT_SECRET": "not-a-secret",
        }

    def run(self, *words: str, cwd: Path | None = None) -> Cost:
        """Run a program, and return its cost. Raises RuntimeError if it fails."""
        directory = cwd or self.folder
        environment = {**self.environment, "HOME": str(directory)}  # a machine of its own for each project
        before = time.perf_counter()
        process = subprocess.Popen(  # noqa: S603 - no shell
            words, cwd=directory, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        _, status, usage = os.wait4(process.pid, 0)
        elapsed = time.perf_counter() - before
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"exit code {process.returncode}: {' '.join(words)}")
        scale = 1 << 20 if sys.platform == "darwin" else 1 << 10
        return Cost(usage.ru_utime + usage.ru_stime, elapsed, usage.ru_maxrss / scale)

    def compare(self, *sides: Callable[[], Cost], rounds: int) -> list[Cost]:
        """Run the sides in turns, and return the least costs of each."""
        costs = [[side() for side in sides] for _ in range(rounds)]
        return [Cost(*map(min, zip(*side, strict=True))) for side in zip(*costs, strict=True)]

    def project(self, count: int, url: str = "https://api.lending.test", *, imported: bool = True) -> Path:
        """Make a project with so many subscriptions, all recorded or none."""
        directory = Path(self.folder, f"p{len(list(self.folder.iterdir()))}")
        (directory / "config").mkdir(parents=True)
        write(directory, count, url)
        self.run(RECONCILER, "state", "init", "--complete", "--yes", cwd=directory)
        if imported:
            self.run(RECONCILER, "state", "import", "*/*/*", "--yes", cwd=directory)
        return directory


def write(project: Path, count: int, url: str = "https://api.lending.test", changed: int = 0) -> None:
    """Write the configuration of a project; the URLs of the first `changed` subscriptions are other ones."""
    lines = [
        "targets:",
        f"  europe/staging: {{auth_url: {url}, base_url: {url}}}",
        "subscriptions:",
        "  europe/staging:",
    ]
    for number in range(count):
        path = f"{number}{'/new' if number < changed else ''}"
        lines += [f"    s{number}:", f"      eventCodes: [ONB{number:05d}]"]
        lines.append(f"      webhookUrl: https://hooks.partner.test/{path}")
    (project / "config" / "all.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")


@contextmanager
def service() -> Iterator[str]:
    """Serve a lending service that answers each create after a pause, and yield its URL."""
    loop = asyncio.new_event_loop()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        token = {"access_token": "a-token", "token_type": "Bearer", "expires_in": 86400}
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = next(
                    int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")
                )
                await reader.readexactly(length)
                is_token = b"/oauth/token" in head.partition(b"\r\n")[0]
                await asyncio.sleep(0 if is_token else PAUSE)
                body = json.dumps(token if is_token else {"subscriptionId": "1"}).encode()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = loop.run_until_complete(asyncio.start_server(answer, "127.0.0.1", 0))
    Thread(target=loop.run_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        loop.call_soon_threadsafe(loop.stop)


def help_(bench: Bench) -> Iterator[Row]:
    """Measure the start of the program."""
    ours, click = bench.compare(
        lambda: bench.run(RECONCILER, "--help"), lambda: bench.run(PYTHON, "-c", "import click"), rounds=15
    )
    yield Row("help", "`--help`", "importing click", ours.processor / click.processor, 1.0)


def hundred(bench: Bench) -> Iterator[Row]:
    """Measure a plan of 100 subscriptions beside Terraform's of 100 resources, if that is installed."""
    terraform = shutil.which("terraform")
    if terraform is None:
        return
    other = bench.folder / "terraform"
    other.mkdir()
    text = "".join(f'resource "terraform_data" "r{number}" {{ input = "{number}" }}\n' for number in range(100))
    (other / "main.tf").write_text(text, encoding="utf-8")
    bench.run(terraform, "init", cwd=other)
    bench.run(terraform, "apply", "-auto-approve", cwd=other)
    project = bench.project(100)
    ours, theirs = bench.compare(
        lambda: bench.run(RECONCILER, "plan", cwd=project), lambda: bench.run(terraform, "plan", cwd=other), rounds=9
    )
    work = "`plan`, 100 unchanged, elapsed"
    yield Row("plan-100", work, "Terraform, 100 resources", ours.elapsed / theirs.elapsed, 0.9)


def thousands(bench: Bench) -> Iterator[Row]:
    """Measure plans of 10,000 subscriptions: nothing changed, and 1,000 of them."""
    project = bench.project(10_000)
    file = str(project / "config" / "all.yaml")
    ours, loading = bench.compare(
        lambda: bench.run(RECONCILER, "plan", cwd=project), lambda: bench.run(PYTHON, "-c", LOAD, file), rounds=15
    )
    work = "`plan`, 10,000 unchanged"
    yield Row("plan-10000", work, "PyYAML's CSafeLoader, on the same file", ours.processor / loading.processor, 0.75)
    yield Row("plan-memory", "the same", "", ours.memory, 48, "MiB")
    write(project, 10_000, changed=1_000)
    (change,) = bench.compare(lambda: bench.run(RECONCILER, "plan", cwd=project), rounds=5)
    yield Row("change-1000", "`plan` that replaces 1,000 of 10,000", "", change.processor, 1.5, "s")


def verify(bench: Bench) -> Iterator[Row]:
    """Measure the check of a long record."""
    project = bench.project(20_000)
    (check,) = bench.compare(lambda: bench.run(RECONCILER, "state", "verify", cwd=project), rounds=5)
    yield Row("verify-20000", "`state verify`, 20,000 entries", "", check.processor, 0.5, "s")


def apply(bench: Bench) -> Iterator[Row]:
    """Measure applies beside a client that keeps no record, and its connections open."""
    with service() as url:

        def ours(count: int) -> Cost:
            project = bench.project(count, url, imported=False)
            options = ("--auto-approve", "--parallelism", PARALLEL)
            return bench.run(RECONCILER, "apply", *options, cwd=project)

        def theirs(count: int) -> Cost:
            return bench.run(PYTHON, "-c", BARE, url, str(count))

        few, bare, many = bench.compare(lambda: ours(500), lambda: theirs(500), lambda: ours(4_000), rounds=5)
    work, to = "`apply`, 500 creates answered in 20 ms, elapsed", "httpx, 8 threads, no record"
    yield Row("apply-500", work, to, few.elapsed / bare.elapsed, 2.0)
    each = (many.processor / 4_000) / (few.processor / 500)
    yield Row("apply-4000", "one create of 4,000", "one of 500", each, 1.0)


SUITE = (help_, hundred, thousands, verify, apply)


def table(rows: list[Row]) -> str:
    """Return the rows as Markdown; those that miss their limit are marked."""
    lines = ["| name | work | compared to | measured | at most |", "|---|---|---|---|---|"]
    for row in rows:
        measured, limit = (
            f"{value:.2f} {row.unit}".strip() if value < 10 else f"{value:.0f} {row.unit}" for value in row[3:5]
        )
        mark = f"**{measured}, missed**" if row.is_missed else measured
        lines.append(f"| `{row.name}` | {row.work} | {row.to} | {mark} | {limit} |")
    return "\n".join(lines) + "\n"


def chart(rows: list[Row], *, dark: bool) -> str:
    """Return a bar for each row, as a part of its limit, as an SVG; blue within the limit, orange beyond."""
    text, edge, fine, missed = (
        ("#e6edf3", "#9198a1", "#79c0ff", "#f0883e") if dark else ("#1f2328", "#59636e", "#0969da", "#bc4c00")
    )
    scale, left, height = 240, 120, len(rows) * 28 + 40
    bars = []
    for number, row in enumerate(rows):
        part, top = min(row.measured / row.limit, 2.0), number * 28 + 12
        colour = missed if row.is_missed else fine
        end = left + scale if 0.8 < part < 1 else left + part * scale  # not across the line
        label = f"{row.measured / row.limit:.2f}{' missed' if row.is_missed else ''}"
        bars.append(
            f'<text x="{left - 8}" y="{top + 13}" text-anchor="end" fill="{text}">{row.name}</text>'
            f'<rect x="{left}" y="{top}" width="{part * scale:.0f}" height="18" fill="{colour}"/>'
            f'<text x="{end + 6:.0f}" y="{top + 13}" fill="{text}">{label}</text>'
        )
    line = f'<path d="M{left + scale} 4V{height - 24}" stroke="{edge}" stroke-dasharray="4 3"/>'
    caption = f'<text x="{left + scale}" y="{height - 8}" text-anchor="middle" fill="{edge}">limit</text>'
    style = 'font-family="system-ui,sans-serif" font-size="13"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 {height}" width="700" height="{height}" {style}>'
    return f"{head}\n{line}{caption}\n" + "\n".join(bars) + "\n</svg>\n"


def main(names: list[str]) -> None:
    """Measure, and write the page; with names, print."""
    rows: list[Row] = []
    for part in SUITE:
        with TemporaryDirectory() as folder:
            rows += part(Bench(Path(folder)))
            print(*rows[-1:], flush=True)  # noqa: T201 - what it is for
    chosen = [row for row in rows if row.name in names or not names]
    if names:
        print(table(chosen))  # noqa: T201 - likewise
        return
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}:\n\n"
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}{machine}{table(rows)}{END}{rest.partition(END)[2]}", encoding="utf-8")
    for theme in ("light", "dark"):
        (PAGE.parent / f"benchmarks-{theme}.svg").write_text(chart(rows, dark=theme == "dark"), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
