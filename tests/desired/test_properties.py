"""Properties of every configuration."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator  # type: ignore[import-untyped]
from msgspec.structs import replace
from support.configs import EXAMPLE

from reconciler.desired import load, nodes, schema
from reconciler.errors import ConfigError, Message, Place
from reconciler.model.address import Address, TargetName
from reconciler.model.desired import Desired, Overlap, Replace, Subscription, Target, Unknown

SCHEMA = Draft7Validator(schema())
SOMEWHERE = Place("", 0, 0)

SEGMENTS = st.from_regex(r"[a-z0-9][a-z0-9-]{0,5}", fullmatch=True)
CODES = st.from_regex(r"(ONB|LOA)[0-9]{5}", fullmatch=True)
URLS = st.from_regex(r"https://[a-z][a-z0-9]{0,8}\.test(:[1-9][0-9]{0,3})?(/[a-z0-9~%@]{1,5}){0,2}", fullmatch=True)


@st.composite
def desired_states(draw: st.DrawFn) -> Desired:
    """Draw a sound desired state: every target a service of its own, no code twice on one target."""
    targets, subscriptions = {}, {}
    pairs = draw(st.lists(st.tuples(SEGMENTS, SEGMENTS), max_size=3, unique_by="-".join))
    for number, name in enumerate(sorted(TargetName("/".join(pair)) for pair in pairs)):
        overlap, replaced, unknown = (draw(st.sampled_from(kind)) for kind in (Overlap, Replace, Unknown))
        urls = draw(URLS), f"{draw(URLS)}/{number}", draw(URLS)
        targets[name] = Target(name, *urls, overlap, replaced, unknown, SOMEWHERE)
        codes = draw(st.lists(CODES, unique=True, max_size=9))
        names = draw(st.lists(SEGMENTS, unique=True, max_size=len(codes)))
        for index, wanted in enumerate(names):
            own = tuple(sorted(codes[index :: len(names)]))
            identified = unknown is Unknown.RETRY or draw(st.booleans())
            url = draw(URLS) + "/{attempt}" * identified
            address = Address.of(name, wanted)
            subscriptions[address] = Subscription(address, own, url, url, SOMEWHERE)
    state, record = draw(st.sampled_from(["", "state.jsonl"])), draw(st.sampled_from(["", "0" * 31 + "a"]))
    return Desired(targets, dict(sorted(subscriptions.items())), state, record)


def documents(desired: Desired, draw: st.DataObject) -> list[dict[str, Any]]:
    """Return the state as small documents in any order, one for each part, with keys and codes in any order."""
    parts: list[dict[str, Any]] = [
        {key: value} for key, value in (("state", desired.state), ("record", desired.record))
    ]
    for name, target in desired.targets.items():
        keys = draw.draw(st.permutations(["auth_url", "base_url", "audience_base", "overlap", "replace", "unknown"]))
        parts.append({"targets": {str(name): {key: str(getattr(target, key)) for key in keys}}})
    for address, each in desired.subscriptions.items():
        codes = draw.draw(st.permutations(each.codes))
        fields = dict(draw.draw(st.permutations([("eventCodes", list(codes)), ("webhookUrl", each.template)])))
        parts.append({"subscriptions": {str(address.target): {address.name: fields}}})
    return draw.draw(st.permutations([part for part in parts if "" not in part.values()]))


def without_places(desired: Desired) -> Desired:
    """Return the same state, as if it were all in one place."""
    return replace(
        desired,
        targets={name: replace(each, place=SOMEWHERE) for name, each in desired.targets.items()},
        subscriptions={address: replace(each, place=SOMEWHERE) for address, each in desired.subscriptions.items()},
    )


def loaded(files: dict[str, bytes]) -> Desired:
    """Load these files."""
    with tempfile.TemporaryDirectory() as directory:
        for name, content in files.items():
            (Path(directory) / name).write_bytes(content)
        return load(Path(directory))


def load_or_refuse(content: bytes) -> None:
    """Load one file with either parser; only a ConfigError may be raised, and its places are in the file."""
    lines = len(re.findall(b"\r\n|[\r\n]|\xc2\x85|\xe2\x80[\xa8\xa9]", content)) + 1
    for parser in (yaml.CSafeLoader, yaml.SafeLoader):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(nodes, "Loader", parser)
            for each in mistakes_or_none(content):
                assert each.place
                assert 1 <= each.place.line <= lines
                assert each.place.column >= 1
                assert str(each).isprintable()


def mistakes_or_none(content: bytes) -> tuple[Message, ...]:
    """Return the mistakes in one file."""
    try:
        loaded({"a.yaml": content})
    except ConfigError as problem:
        return problem.messages
    return ()


@given(desired_states(), st.data())
@settings(max_examples=40)
def test_any_order_of_files_and_keys_gives_the_same_state(desired: Desired, data: st.DataObject) -> None:
    """Whatever the order of files, keys and codes, a state that is written is read back, sorted; and it is valid."""
    parts = documents(desired, data)
    assert all(map(SCHEMA.is_valid, parts))
    found = loaded({"-.yaml": b""} | {f"{n}.yaml": yaml.safe_dump(part).encode() for n, part in enumerate(parts)})
    assert desired == without_places(found)
    assert (list(desired.targets), list(desired.subscriptions)) == (list(found.targets), list(found.subscriptions))


@given(st.binary(max_size=60) | st.text(max_size=40).map(lambda text: text.encode("utf-8", "surrogatepass")))
@settings(max_examples=60)
def test_any_bytes_are_a_configuration_or_a_mistake(content: bytes) -> None:
    """Only a ConfigError comes of a file that is not YAML, not text or not sound."""
    load_or_refuse(content)


WORDS = """state: record: targets: subscriptions: verification: parity: recipients: ignore: a/b: '*/*': one: null
    eventCodes: ONB10001 webhookUrl: '{name}' '{attempt}' auth_url: base_url: https://x.test vars: unknown: retry
    ~ [ ] { } , - ? : &a *a !t ' " | > # ---"""
FRAGMENTS = st.sampled_from([*WORDS.split(), "\n", "\n  ", "\n    ", "\n      ", "\t"])


@given(st.lists(FRAGMENTS, max_size=30).map(" ".join))
@settings(max_examples=80)
def test_any_words_of_the_grammar_are_a_configuration_or_a_mistake(text: str) -> None:
    """The same for text that is nearly a configuration."""
    load_or_refuse(text.encode())


@given(st.integers(min_value=0), st.integers(0, 2), st.characters())
@settings(max_examples=60)
def test_a_slip_of_the_keyboard_is_survived(where: int, kind: int, typed: str) -> None:
    """One character inserted, replaced or left out makes a mistake or another configuration, never a crash."""
    text = "".join(EXAMPLE.values())
    at = where % len(text)
    slips = (text[:at] + typed + text[at:], text[:at] + typed + text[at + 1 :], text[:at] + text[at + 1 :])
    load_or_refuse(slips[kind].encode("utf-8", "surrogatepass"))
