"""Ports of 127.0.0.1 that stay free until a test takes them."""

from __future__ import annotations

import random
import socket
from pathlib import Path

_LOWEST = 10_000
_TRIES = 100


def free_port() -> int:
    """A port that nothing listens on.

    It is below the range from which the kernel takes the ports of connections and of servers that ask for any: out of
    that, another test can be given it meanwhile, and a client that tries it again and again can connect to itself.
    """
    first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    for port in random.sample(range(_LOWEST, first), _TRIES):
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue
    raise AssertionError(f"{_TRIES} ports are taken")
