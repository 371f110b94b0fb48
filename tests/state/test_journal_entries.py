"""Entries as plain dicts, and back."""

from __future__ import annotations

import json
from typing import get_args

import pytest
from hypothesis import given, settings
from support.journal_samples import AT, BY, TARGET, begun, imported
from support.journal_strategies import any_entries

from reconciler.model.address import Address, TargetName
from reconciler.model.entry import AnyEntry, Imported, Intent, Resolved, Settled
from reconciler.model.outcome import Outcome
from reconciler.state.journal import entries
from reconciler.state.journal.entries import from_fields, to_fields

INTENT = Intent(
    at=AT,
    by=BY,
    attempt="a1",
    address=Address("europe/staging/offers"),
    action="create",
    codes=("LOA10013", "ONB10011"),
    url="https://hooks.example/offers",
    send_by=1.5,
    settled_by=2.5,
)


@settings(max_examples=80, deadline=None)
@given(any_entries())
def test_round_trip(entry: AnyEntry) -> None:
    """Any entry comes back from its JSON as it was."""
    assert entry == from_fields(json.loads(json.dumps(to_fields(entry))))


def test_every_kind_has_a_layout() -> None:
    """There is no kind of entry that could not be written."""
    assert {kind.kind for kind in get_args(AnyEntry)} == set(entries._LAYOUTS)


def test_names_and_order() -> None:
    """A line reads: when, what, the rest in the service's words, by whom; an empty default is left out."""
    expected = {
        "at": AT,
        "kind": "intent",
        "attempt": "a1",
        "address": "europe/staging/offers",
        "action": "create",
        "eventCodes": ["LOA10013", "ONB10011"],
        "webhookUrl": "https://hooks.example/offers",
        "send_by": 1.5,
        "settled_by": 2.5,
        "by": BY,
    }
    assert list(expected.items()) == list(to_fields(INTENT).items())


def test_what_is_false_but_no_default_is_written() -> None:
    """`created: false`, a status of 0 and an empty note say something; the format is always said."""
    told = to_fields(Resolved(at=AT, by=BY, attempt="a1", created=False, note=""))
    settled = to_fields(Settled(at=AT, by=BY, attempt="a1", outcome=Outcome.UNKNOWN, status=0))
    expected = (False, "", 0, 1)
    assert expected == (told["created"], told["note"], settled["status"], to_fields(begun())["format"])


def test_plain_types() -> None:
    """The dict holds JSON's own types, and what is read back the model's."""
    told = to_fields(imported("a1"))
    read = from_fields(told)
    assert isinstance(read, Imported)
    assert (str, list, Address) == (type(told["address"]), type(told["eventCodes"]), type(read.address))
    assert TargetName is type(getattr(from_fields(to_fields(begun())), "target"))  # noqa: B009


@pytest.mark.parametrize(
    ("entry", "change", "expected"),
    [
        (INTENT, {"kind": "teleported"}, "unknown entry kind 'teleported'.*newer version"),
        (INTENT, {"kind": ["intent"]}, "unknown entry kind"),
        (INTENT, {"colour": "red"}, "unknown field 'colour'.*newer version"),
        (INTENT, {"attempt": 7}, "field 'attempt' must be a string"),
        (INTENT, {"send_by": "soon"}, "field 'send_by' must be a number"),
        (INTENT, {"send_by": True}, "field 'send_by' must be a number"),
        (INTENT, {"settled_by": float("inf")}, "field 'settled_by' must be a number"),
        (INTENT, {"settled_by": 1e300}, "field 'settled_by' must be a number of seconds before the year 10000"),
        (INTENT, {"eventCodes": "ONB10011"}, "field 'eventCodes' must be a list of strings"),
        (INTENT, {"eventCodes": [1]}, "field 'eventCodes' must be a list of strings"),
        (INTENT, {"by": {"user": 1}}, "field 'by' must be an object of strings"),
        (INTENT, {"by": None}, "field 'by' must be an object of strings"),
        (begun(), {"format": 2}, "field 'format' is 2, but this version supports 1"),
        (begun(), {"format": True}, "field 'format' must be a whole number"),
        (Settled(at=AT, by=BY, attempt="a1", outcome=Outcome.CREATED), {"outcome": "perhaps"}, "one of created"),
        (Settled(at=AT, by=BY, attempt="a1", outcome=Outcome.CREATED), {"status": 2.0}, "a whole number"),
        (Settled(at=AT, by=BY, attempt="a1", outcome=Outcome.CREATED), {"fields": {"id": None}}, "an object of str"),
        (Settled(at=AT, by=BY, attempt="a1", outcome=Outcome.CREATED), {"fields": []}, "an object of strings"),
        (Settled(at=AT, by=BY, attempt="a1", outcome=Outcome.CREATED), {"detail": None}, "must be a string"),
        (Resolved(at=AT, by=BY, attempt="a1", created=True), {"created": 1}, "must be true or false"),
    ],
)
def test_refused(entry: AnyEntry, change: dict[str, object], expected: str) -> None:
    """What no entry says is refused, with the field's name."""
    with pytest.raises(ValueError, match=expected):
        from_fields(to_fields(entry) | change)


@pytest.mark.parametrize("missing", ["at", "by", "attempt", "eventCodes", "settled_by"])
def test_missing_field(missing: str) -> None:
    """A field without an empty default must be there."""
    told = to_fields(INTENT)
    del told[missing]
    with pytest.raises(ValueError, match=f"missing field '{missing}'"):
        from_fields(told)


def test_whole_seconds() -> None:
    """A moment written without a fraction is a moment."""
    assert INTENT.__class__ is Intent
    read = from_fields(to_fields(INTENT) | {"send_by": 2})
    assert isinstance(read, Intent)
    assert (2.0, float, TARGET) == (read.send_by, type(read.send_by), read.address.target)
