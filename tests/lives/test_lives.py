"""Lives under thousands of seeds: whatever is pasted that was true when it was named, nothing is created twice."""

from __future__ import annotations

import pytest
from support.lives.life import live

_CHUNK = 50


@pytest.mark.parametrize("first", [0, 20])
def test_advice_is_safe(first: int) -> None:
    """Pasted late and in any order, it ends with nothing created twice, nothing forgotten, and a way on."""
    for seed in range(first, first + 20):
        live(seed)


@pytest.mark.soak
@pytest.mark.parametrize("first", range(40, 2_000, _CHUNK))
def test_advice_is_safe_in_many_lives(first: int) -> None:
    """The same for thousands of seeds more."""
    for seed in range(first, min(first + _CHUNK, 2_000)):
        live(seed)
