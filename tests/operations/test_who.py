"""Who runs a command, as the record and messages have it."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from reconciler.operations.project import Flags, Project
from reconciler.operations.settings import Sources

if TYPE_CHECKING:
    from collections.abc import Mapping

NAMES = ("LOGNAME", "USER", "LNAME", "USERNAME")


def by(monkeypatch: pytest.MonkeyPatch, **variables: str) -> Mapping[str, str]:
    """Return who runs a command with these variables."""
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return Project(Flags(), Sources({}, Path())).by()


@pytest.mark.parametrize("name", NAMES)
def test_a_user_with_a_name(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """It is taken from any of the usual variables; the host is that of this machine."""
    assert by(monkeypatch, **{name: "ada"}) == {"user": "ada", "host": platform.node()}


def test_a_user_without_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """As cron and containers have them, the system knows the name; or there is at least a number."""
    import pwd  # noqa: PLC0415 - to be replaced

    monkeypatch.setattr(pwd, "getpwuid", lambda _: ["of the system"])
    assert by(monkeypatch)["user"] == "of the system"

    def unknown(_: int) -> list[str]:
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert by(monkeypatch)["user"] == f"uid {os.getuid()}"


@pytest.mark.parametrize("actions", ["false", "", "1"])
def test_elsewhere_than_in_actions(monkeypatch: pytest.MonkeyPatch, actions: str) -> None:
    """Only a step of Actions is one."""
    assert by(monkeypatch, USER="ada", GITHUB_ACTIONS=actions, GITHUB_ACTOR="somebody")["user"] == "ada"
