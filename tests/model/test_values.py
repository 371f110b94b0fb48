"""What `values.py` adds to msgspec's Struct."""

from __future__ import annotations

import copy

import pytest
from msgspec.structs import replace
from rich.pretty import pretty_repr

from reconciler.model.address import Address
from reconciler.model.plan import Action, Change, Request
from reconciler.service.credentials import Credentials
from reconciler.service.exchange import Reply

ADDRESS = Address("europe/staging/offers")


def test_a_discreet_value_is_printed_without_what_it_hides() -> None:
    """By Python and by rich, which asks a value for its fields; everything else is printed as of any value."""
    credentials = Credentials("client-1", "hunter2")
    assert "Credentials(client_id='client-1')" == repr(credentials) == pretty_repr(credentials)
    assert "hunter2" == credentials.client_secret


def test_what_is_hidden_counts_all_the_same() -> None:
    """Two values with different secrets are different."""
    assert Credentials("client-1", "hunter2") != Credentials("client-1", "hunter3")


@pytest.mark.parametrize("field", ["depends_on", "waits_for", "after", "before", "reasons", "warnings"])
def test_two_changes_that_do_the_same_are_equal(field: str) -> None:
    """Words, the order and what is there already do not count."""
    change = Change(ADDRESS, Action.CREATE)
    other = replace(change, **{field: ("another",)})
    assert change == other
    assert {change} == {other}


@pytest.mark.parametrize("field", ["address", "action", "request", "concerns", "block"])
def test_two_changes_that_do_different_things_differ(field: str) -> None:
    """Whatever it is that differs."""
    change = Change(ADDRESS, Action.CREATE, Request((), ""))
    assert change != replace(change, **{field: ("another",)})


def test_a_value_is_equal_to_those_of_its_class_only() -> None:
    """Not to its key, nor to a value that has the same one."""
    reply = Reply(200, {}, b"", whole=True)
    assert reply != reply.key
    assert reply == copy.copy(reply) == replace(reply, head=b"HTTP/1.1 200 OK")
