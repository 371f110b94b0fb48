"""Texts as accidents leave them: pieces removed, repeated, moved, changed, put in."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hypothesis.strategies import DrawFn


def _with_bit_turned(data: bytes, start: int, end: int, _: bytes) -> bytes:
    turned = bytes(byte ^ 1 << end % 8 for byte in data[start : start + 1])
    return data[:start] + turned + data[start + 1 :]


_MUTATIONS: tuple[Callable[[bytes, int, int, bytes], bytes], ...] = (
    lambda data, start, end, _: data[:start] + data[end:],
    lambda data, start, end, _: data[:end] + data[start:],
    lambda data, start, _end, _: data[:start],
    lambda data, start, end, _: data[end:] + data[:start],
    lambda data, start, end, new: data[:start] + new + data[end:],
    lambda data, start, _end, new: data[:start] + new + data[start:],
    _with_bit_turned,
)


@st.composite
def mutated(draw: DrawFn, originals: Sequence[bytes], inserts: Sequence[bytes]) -> bytes:
    """One of some texts after a few mutations, of bytes or of whole lines; `inserts` are among what is put in."""
    data = draw(st.sampled_from(originals))
    for _ in range(draw(st.integers(1, 4))):
        edges = [0, *(match.end() for match in re.finditer(rb"\n", data)), len(data)]
        places = st.sampled_from(edges) | st.integers(0, len(data))
        start, end = sorted((draw(places), draw(places)))
        new = draw(st.sampled_from(inserts) | st.binary(max_size=4))
        data = draw(st.sampled_from(_MUTATIONS))(data, start, end, new)
    return data
