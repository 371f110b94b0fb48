"""Commands as forks of one process that has loaded the program: starting it is most of what a command costs.

What a test does on the way to what it is about, or to look at the result, it does so; what it is about runs as a user
runs it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PROGRAM = """\
import importlib, json, os, pkgutil, sys
import reconciler
for module in pkgutil.walk_packages(reconciler.__path__, "reconciler."):
    importlib.import_module(module.name)
from reconciler.__main__ import main

def run(call):
    os.chdir(call["path"])
    os.environ.clear()
    os.environ.update(call["environment"])
    for number, name in enumerate(("in", "out", "err")):
        os.dup2(os.open(call["streams"] + "/" + name, os.O_RDWR | os.O_CREAT, 0o600), number)
    exec(call["before"], {})
    sys.argv = ["reconciler", *call["arguments"]]
    main()

for line in sys.stdin:
    child = os.fork()
    if not child:
        code = 70
        try:
            run(json.loads(line))
        except SystemExit as ended:
            code = ended.code
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


_processes: list[subprocess.Popen[bytes]] = []
_alone = Lock()


def run(
    arguments: Sequence[str], path: Path, environment: Mapping[str, str], stdin: str = "", before: str = ""
) -> tuple[int, str, str]:
    """Run `reconciler` in a directory, and Python code `before` it: its exit code, its stdout and its stderr."""
    with _alone, TemporaryDirectory() as streams:
        paths = [Path(streams, name) for name in ("in", "out", "err")]
        paths[0].write_text(stdin, encoding="utf-8")
        call = {"arguments": arguments, "path": str(path), "environment": dict(environment), "streams": streams}
        code = _ask(json.dumps({**call, "before": before}).encode() + b"\n")
        out, err = (path.read_text(encoding="utf-8") for path in paths[1:])
    assert "Traceback" not in err, err
    assert "internal error" not in err, err
    return code, out, err


def _ask(call: bytes) -> int:
    if not _processes:
        command = [sys.executable, "-P", "-c", _PROGRAM]
        _processes.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
    (process,) = _processes
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(call)
    process.stdin.flush()
    return int(process.stdout.readline())


def end() -> None:
    """End the process, if there is one."""
    for process in _processes:
        process.communicate(timeout=10)
