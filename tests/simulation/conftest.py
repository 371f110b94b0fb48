"""What is noise where much goes wrong on purpose."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Warnings of appends that failed, and of outcomes that are unknown, would fill the screen."""
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)
