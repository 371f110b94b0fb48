"""What stands in for Python in the programs that a test runs: `python -m MODULE ARGUMENT...` as a fork of `warm`.

It imports next to nothing, neither `pathlib` nor `signal`: it is to cost a tenth of what it saves.
"""
# ruff: noqa: PTH109, PTH118, PTH120

import _signal  # type: ignore[import-not-found]
import _socket
import marshal
import os
import sys


def main() -> int:
    """Ask for the command and wait for its end; its exit code."""
    _, _, module, *arguments = sys.argv
    _signal.pthread_sigmask(_signal.SIG_BLOCK, _FORWARDED)
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    connection.connect(os.path.join(os.path.dirname(sys.argv[0]), "socket"))
    streams = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
    before = f"import sys; sys.executable = {sys.argv[0]!r}"
    request = marshal.dumps((module, arguments, os.getcwd(), dict(os.environ), before))
    connection.sendmsg([request], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
    child = int(connection.recv(64))
    for number in _FORWARDED:
        _signal.signal(number, lambda number, _frame: os.kill(child, number))
    _signal.pthread_sigmask(_signal.SIG_UNBLOCK, _FORWARDED)
    return int(connection.recv(64))


_FORWARDED = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP)

if __name__ == "__main__":
    code = main()
    if code < 0:  # a signal has ended it
        if -code in _FORWARDED:
            _signal.signal(-code, _signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)
