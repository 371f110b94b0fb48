"""Starts one process after the other, and tells what each took: a line of JSON in, a line of JSON out.

A process of its own, since the peak of memory that the system counts for a process begins with that of the one that
started it: this one stays smaller than an interpreter that has imported anything.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time

for line in sys.stdin:
    call = json.loads(line)
    os.chdir(call["directory"])
    streams = [
        (os.POSIX_SPAWN_OPEN, number, path, os.O_RDWR | os.O_CREAT | (os.O_TRUNC if number else 0), 0o600)
        for number, path in enumerate(call["streams"])
    ]
    started = time.perf_counter()
    child = os.posix_spawn(call["command"][0], call["command"], call["environment"], file_actions=streams)
    signal.signal(signal.SIGALRM, lambda *_, child=child: os.kill(child, signal.SIGKILL))
    signal.alarm(call["timeout"])
    _, status, used = os.wait4(child, 0)  # with its own children, as far as it has waited for them
    wall = time.perf_counter() - started
    signal.alarm(0)
    took = {"code": os.waitstatus_to_exitcode(status), "wall": wall, "cpu": used.ru_utime + used.ru_stime}
    print(json.dumps({**took, "peak": used.ru_maxrss / 1024}), flush=True)
