"""What another process does while this one waits for a lock."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest


def during_the_wait(monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str, act: Callable[[], object]) -> None:
    """Have something done just before a module gets the lock that it takes next, with its function of that name."""
    lock = getattr(module, name)

    def lock_late(*arguments: Any) -> Any:
        monkeypatch.setattr(module, name, lock)
        act()
        return lock(*arguments)

    monkeypatch.setattr(module, name, lock_late)
