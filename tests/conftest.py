"""What every test stands on: an environment that holds nothing of this machine's."""

from __future__ import annotations

import gc
import os
import signal
from typing import TYPE_CHECKING

import pytest
from support import git_world, warm
from support.certificates import write_certificate
from support.project import Project

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

pytest_plugins = [
    f"support.{name}"
    for name in (
        "hub",
        "lending_service",
        "object_servers",
        "partner",
        "postgres",
        "remote_project",
        "service_fixtures",
    )
]

_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy")
_FOREIGN = ("RECONCILER_", "GITHUB_", "XDG_", "CI", "NO_COLOR", "FORCE_COLOR", "SSL_CERT_", *_PROXIES)


def pytest_configure() -> None:
    """Have SIGINT and SIGHUP end what tests start, also where a shell or nohup has them ignored.

    The tests themselves still do not end with their terminal there, nor do their workers.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN or "PYTEST_XDIST_WORKER" in os.environ:
        signal.signal(signal.SIGHUP, lambda *_: None)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage while tests are collected, which makes a million objects, nor ever among them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Three times as many as there are cores: most tests wait for the processes they start, half of the time."""
    return 3 * (os.cpu_count() or 1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have the longest scenes begin first: one that began last would keep the others waiting for its end."""
    items.sort(key=lambda item: item.path.parent.name != "workflow")


def pytest_sessionfinish() -> None:
    """End and delete what this process has made for all its tests."""
    warm.end()
    git_world.end()


@pytest.fixture(scope="session")
def _authorities(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Authorities to trust: one that has signed nothing but itself, since obstore wants one."""
    return write_certificate(tmp_path_factory.mktemp("authorities") / "none.pem").parent


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, _authorities: Path) -> None:
    """No variable of whoever runs the tests reaches them, and nothing they write reaches that person's home.

    No authority is trusted: to load the usual ones takes longer than all else of most commands that make a call.
    """
    for name in list(os.environ):
        if name.startswith(_FOREIGN):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home" / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home" / "data"))
    monkeypatch.setenv("SSL_CERT_DIR", str(_authorities))


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """An empty working directory in which the installed `reconciler` can be run."""
    return Project(tmp_path / "project")
