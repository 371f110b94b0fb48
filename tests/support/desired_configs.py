"""Configurations for the tests: a few targets, and text in which ¦ marks where a mistake is expected."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from reconciler.desired import load
from reconciler.errors import ConfigError
from reconciler.operations.new_project.config import ENVIRONMENTS, REGIONS, config_files

if TYPE_CHECKING:
    from pathlib import Path

    from reconciler.mistake import Mistake
    from reconciler.model.address import TargetName
    from reconciler.model.desired import Desired

TARGETS = """\
targets:
  europe/staging:
    auth_url: https://login.staging.example
    base_url: https://api.eu.staging.example
    vars: {hooks: https://hooks.staging.example}
  europe/production:
    auth_url: https://login.eu.example
    base_url: https://api.eu.example
    vars: {hooks: https://hooks.example}
  usa/staging:
    auth_url: https://login.staging.example
    base_url: https://api.us.staging.example
    vars: {hooks: https://hooks.staging.example}
"""

EXAMPLE = config_files(REGIONS, ENVIRONMENTS)
"""The `config/` that `init` writes."""


def no_override(target: TargetName, field: str) -> None:
    """An environment that says nothing."""


def write(directory: Path, files: dict[str, str]) -> Path:
    """The directory `config` with these files in it."""
    config = directory / "config"
    for name, text in files.items():
        path = config / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
    return config


def load_files(directory: Path, files: dict[str, str]) -> Desired:
    """What these files come to."""
    return load(write(directory, files), no_override)


def load_beside_targets(directory: Path, text: str) -> Desired:
    """What `text` comes to beside TARGETS."""
    return load_files(directory, {"targets.yaml": TARGETS, "tested.yaml": text})


def mistakes_in(config: Path) -> list[Mistake]:
    """The mistakes that loading reports."""
    with pytest.raises(ConfigError) as caught:
        load(config, no_override)
    return list(caught.value.mistakes)


def marked_places(text: str) -> tuple[str, list[str]]:
    """The text without its marks, and each mark's `line:column`."""
    places = []
    while mark := re.search("¦", text):
        before = text[: mark.start()]
        places.append(f"{before.count(chr(10)) + 1}:{mark.start() - before.rfind(chr(10))}")
        text = before + text[mark.end() :]
    return text, places


def assert_mistakes(directory: Path, marked: str, *words: str, beside: str = TARGETS) -> None:
    """Loading reports exactly the marked places of the file, in order, and the n-th mistake holds the n-th word."""
    text, places = marked_places(marked)
    found = mistakes_in(write(directory, {"tested.yaml": text, "zz-beside.yaml": beside}))
    assert [f"tested.yaml:{place}" for place in places] == [
        f"{mistake.place.file.rpartition('/')[2]}:{mistake.place.line}:{mistake.place.column}" for mistake in found
    ], "\n".join(map(str, found))
    for word, mistake in zip(words, found, strict=True):
        assert word in str(mistake)
