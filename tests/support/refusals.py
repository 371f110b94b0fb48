"""Errors that a call raises, as the messages that they carry."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec

import pytest

from reconciler.errors import Message, ReconcilerError

P = ParamSpec("P")


def raised(kind: type[ReconcilerError], call: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> Message:
    """Return the only message of the error of that kind that a call raises."""
    with pytest.raises(kind) as caught:
        call(*args, **kwargs)
    (message,) = caught.value.messages
    return message
