"""The process of `warm`, which has loaded the program and forks itself for each command, as asked over a SOCKET.

A request is one packet with the three standard streams: a module with its arguments, the directory and the environment
to run it in, and Python code to run before it. The answers are the id of the process and, once it has ended, its exit
code as `subprocess` has it. The process ends with its own stdin.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import marshal
import os
import pkgutil
import runpy
import select
import signal
import socket
import sys
import time
import traceback
from contextlib import suppress

import reconciler
from reconciler.cli.main import main

Request = tuple[str, list[str], str, dict[str, str], str]


def load() -> None:
    """Load all of the program."""
    for module in pkgutil.walk_packages(reconciler.__path__, "reconciler."):
        importlib.import_module(module.name)
    save_coverage()
    gc.collect()
    gc.freeze()  # what is loaded stays in the memory that the forks share


def save_coverage() -> None:
    """Save what was measured of loading, if anything was: otherwise each fork would save it once more at its end."""
    coverage = sys.modules.get("coverage")
    measuring = coverage and coverage.Coverage.current()
    if measuring:
        measuring.save()


def serve(listener: socket.socket) -> None:
    """Answer requests until stdin ends."""
    woken, wakes = os.pipe()
    for end in (woken, wakes):
        os.set_blocking(end, False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    signal.set_wakeup_fd(wakes)
    asked: dict[int, socket.socket] = {}
    while True:
        ready, _, _ = select.select([listener, woken, sys.stdin], [], [])
        if sys.stdin in ready:
            return
        if listener in ready:
            connection, _ = listener.accept()
            child = start(connection, [listener, *asked.values()])
            asked[child] = connection
            connection.send(str(child).encode())
        if woken in ready:
            os.read(woken, 4096)
            tell_ended(asked)


def tell_ended(asked: dict[int, socket.socket]) -> None:
    """Tell who asked for them of the processes that have ended."""
    while asked:
        child, status = os.waitpid(-1, os.WNOHANG)
        if not child:
            return
        with asked.pop(child) as connection, suppress(BrokenPipeError):  # who asked was killed
            connection.send(str(os.waitstatus_to_exitcode(status)).encode())


def start(connection: socket.socket, others: list[socket.socket]) -> int:
    """The id of the process that does what is requested over a connection."""
    data, streams, _, _ = socket.recv_fds(connection, 1 << 20, 3)
    child = os.fork()
    if child:
        for stream in streams:
            os.close(stream)
        return child
    code = 70
    atexit._clear()  # what is registered is for the end of this process, not of each of its forks
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for open_here in (connection, *others):
            open_here.close()
        run(marshal.loads(data), streams)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0
    except BaseException:  # noqa: BLE001 - nothing of it may reach the loop
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def run(request: Request, streams: list[int]) -> None:
    """Do what is requested, in a process of its own."""
    module, arguments, path, environment, before = request
    os.chdir(path)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False)
    exec(before, {})
    sys.argv = [module, *arguments]
    if module == "reconciler":
        main()
    del sys.modules[module]
    runpy.run_module(module, run_name="__main__")


if __name__ == "__main__":
    load()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(sys.argv[1])
        listener.listen(64)
        sys.stdout.write("listening\n")
        sys.stdout.flush()
        serve(listener)
