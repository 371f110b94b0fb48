"""What every test stands on: an environment that holds nothing of this machine's."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, settings
from jinja2 import Environment

_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy")
_FOREIGN = ("RECONCILER_", "GITHUB_", "XDG_", "CI", "NO_COLOR", "FORCE_COLOR", "SSL_CERT_", *_PROXIES)
_FAR = "Far-13:45"
"""The time zone of all tests: a time that is taken for local time, or shown as such, is wrong."""
_PROCESSES = ("crash", "journey")
_SHORT = ("test_journey", "test_losses", "test_races")
_KEPT = ("RECONCILER_TEST_COMPONENTS", "RECONCILER_TEST_PATH")


def pytest_configure() -> None:
    """Have SIGINT and SIGHUP end what tests start, also where a shell or nohup has them ignored.

    A property has no bound of time for an example, which a loaded machine would pass.
    """
    settings.register_profile("any load", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("any load")
    os.environ["TZ"] = _FAR
    time.tzset()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN or "PYTEST_XDIST_WORKER" in os.environ:
        signal.signal(signal.SIGHUP, lambda *_: None)


def pytest_xdist_auto_num_workers() -> int:
    """Twice as many as there are cores: many tests wait for the processes they start."""
    return 2 * (os.cpu_count() or 1)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave to the long runs the scenes of real processes, but for some on a file: each starts dozens of them."""
    for item in items:
        of_processes = item.path.parent.name in _PROCESSES
        if of_processes and not (item.path.stem in _SHORT and "[file]" in item.name):
            item.add_marker(pytest.mark.soak)


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No variable of whoever runs the tests reaches them, and nothing they write reaches that person's home."""
    for name in list(os.environ):
        if name.startswith(_FOREIGN) and name not in _KEPT:
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home" / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home" / "data"))


@pytest.fixture(autouse=True, scope="session")
def _templates_compiled_once() -> Iterator[None]:
    """A command compiles the template of its page; hundreds within one process need not."""
    known, of_each = {}, Environment.compile

    def once(environment: Environment, *source: Any) -> Any:
        if source not in known:
            known[source] = of_each(environment, *source)
        return known[source]

    with patch.object(Environment, "compile", once):
        yield
