"""What holds for every configuration."""

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
from support.desired_configs import EXAMPLE, no_override

from reconciler.desired import load, nodes
from reconciler.desired.schema import schema
from reconciler.errors import ConfigError
from reconciler.mistake import Mistake, Place
from reconciler.model.address import Address, TargetName
from reconciler.model.desired import Desired, Overlap, Replace, Subscription, Target

SCHEMA = Draft7Validator(schema())
SOMEWHERE = Place("", 0, 0)

SEGMENTS = st.from_regex(r"[a-z0-9][a-z0-9-]{0,5}", fullmatch=True)
CODES = st.from_regex(r"(ONB|LOA)[0-9]{5}", fullmatch=True)
URLS = st.from_regex(r"https://[a-z][a-z0-9]{0,8}\.example(:[1-9][0-9]{0,3})?(/[a-z0-9~%@]{1,5}){0,2}", fullmatch=True)


@st.composite
def desired_states(draw: st.DrawFn) -> Desired:
    """A sound desired state: every target a service of its own, no code twice on one target."""
    targets, subscriptions = {}, {}
    pairs = draw(st.lists(st.tuples(SEGMENTS, SEGMENTS), max_size=3, unique_by="-".join))
    for number, name in enumerate(sorted(TargetName("/".join(pair)) for pair in pairs)):
        overlap, replaced = draw(st.sampled_from(Overlap)), draw(st.sampled_from(Replace))
        base_url = f"{draw(URLS)}/{number}"
        targets[name] = Target(name, draw(URLS), base_url, draw(URLS), overlap, replaced, SOMEWHERE)
        codes = draw(st.lists(CODES, unique=True, max_size=9))
        names = draw(st.lists(SEGMENTS, unique=True, max_size=len(codes)))
        for index, wanted in enumerate(names):
            address, url = Address.of(name, wanted), draw(URLS)
            own = tuple(sorted(codes[index :: len(names)]))
            subscriptions[address] = Subscription(address, own, url, url, SOMEWHERE)
    return Desired(targets, dict(sorted(subscriptions.items())))


def documents(desired: Desired, draw: st.DataObject) -> list[dict[str, Any]]:
    """The state as small documents in any order, one for each target and subscription, codes in any order."""
    found: list[dict[str, Any]] = []
    for name, target in desired.targets.items():
        keys = ("auth_url", "base_url", "audience_base")
        fields = {key: getattr(target, key) for key in keys} | {
            "overlap": target.overlap.value,
            "replace": target.replace.value,
        }
        found.append({"targets": {str(name): fields}})
    for address, one in desired.subscriptions.items():
        codes = draw.draw(st.permutations(one.codes))
        fields = dict(draw.draw(st.permutations([("eventCodes", list(codes)), ("webhookUrl", one.url)])))
        found.append({"subscriptions": {str(address.target): {address.name: fields}}})
    return draw.draw(st.permutations(found))


def without_places(desired: Desired) -> Desired:
    """The same state, as if it all stood in one place."""
    return replace(
        desired,
        targets={name: replace(one, place=SOMEWHERE) for name, one in desired.targets.items()},
        subscriptions={address: replace(one, place=SOMEWHERE) for address, one in desired.subscriptions.items()},
    )


def loaded(files: dict[str, bytes]) -> Desired:
    """What these files come to."""
    with tempfile.TemporaryDirectory() as directory:
        for name, content in files.items():
            (Path(directory) / name).write_bytes(content)
        return load(Path(directory), no_override)


def load_or_refuse(content: bytes) -> None:
    """Load one file with either parser; nothing but a ConfigError, whose places are in the file, may come of it."""
    lines = len(re.findall(b"\r\n|[\r\n]|\xc2\x85|\xe2\x80[\xa8\xa9]", content)) + 1
    for parser in (yaml.CSafeLoader, yaml.SafeLoader):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(nodes, "Loader", parser)
            found = mistakes_or_none(content)
        for one in found:
            assert 1 <= one.place.line <= lines
            assert one.place.column >= 1
            assert one.what.isprintable()
            assert one.remedy.isprintable()


def mistakes_or_none(content: bytes) -> tuple[Mistake, ...]:
    """The mistakes in one file."""
    try:
        loaded({"a.yaml": content})
    except ConfigError as problem:
        return problem.mistakes
    return ()


@given(desired_states(), st.data())
@settings(max_examples=40, deadline=None)
def test_a_state_that_is_written_is_read_back(desired: Desired, data: st.DataObject) -> None:
    """Whatever the order of files, keys and codes, it comes back, sorted; and it is valid under the schema."""
    parts = documents(desired, data)
    assert all(map(SCHEMA.is_valid, parts))
    found = loaded({"-.yaml": b""} | {f"{n}.yaml": yaml.safe_dump(part).encode() for n, part in enumerate(parts)})
    assert desired == without_places(found)
    assert (list(desired.targets), list(desired.subscriptions)) == (list(found.targets), list(found.subscriptions))


@given(st.binary(max_size=60) | st.text(max_size=40).map(lambda text: text.encode("utf-8", "surrogatepass")))
@settings(max_examples=60, deadline=None)
def test_any_bytes_are_a_configuration_or_a_mistake(content: bytes) -> None:
    """Nothing but a ConfigError comes of a file that is not YAML, not text or not sound."""
    load_or_refuse(content)


WORDS = """targets: subscriptions: verification: parity: recipients: ignore: a/b: '*/*': one: null eventCodes: ONB10001
    webhookUrl: '{name}' auth_url: base_url: https://x.example vars: ~ [ ] { } , - ? : &a *a !t ' " | > # ---"""
FRAGMENTS = st.sampled_from([*WORDS.split(), "\n", "\n  ", "\n    ", "\n      ", "\t"])


@given(st.lists(FRAGMENTS, max_size=30).map(" ".join))
@settings(max_examples=80, deadline=None)
def test_any_words_of_the_grammar_are_a_configuration_or_a_mistake(text: str) -> None:
    """The same for text that is nearly a configuration."""
    load_or_refuse(text.encode())


@given(st.integers(min_value=0), st.integers(0, 2), st.characters())
@settings(max_examples=60, deadline=None)
def test_a_slip_of_the_keyboard_is_survived(where: int, kind: int, typed: str) -> None:
    """One character inserted, replaced or left out makes a mistake or another configuration, never a crash."""
    text = "".join(EXAMPLE.values())
    at = where % len(text)
    slips = (text[:at] + typed + text[at:], text[:at] + typed + text[at + 1 :], text[:at] + text[at + 1 :])
    load_or_refuse(slips[kind].encode("utf-8", "surrogatepass"))
