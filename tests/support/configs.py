"""Configurations for the tests: a few targets, and text in which ¦ marks where a mistake is expected."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from reconciler.desired import load
from reconciler.errors import ConfigError, Message
from reconciler.model.desired import Desired

ROOT = Path(__file__).parents[2]
EXAMPLE = {name: ROOT.joinpath("config", name).read_text() for name in ("targets.yaml", "subscriptions.yaml")}
"""The `config/` at the top of the project."""

TARGETS = """\
targets:
  europe/staging:
    auth_url: https://login.staging.test
    base_url: https://api.eu.staging.test
    vars: {hooks: https://hooks.staging.test}
  europe/production:
    auth_url: https://login.eu.test
    base_url: https://api.eu.test
    vars: {hooks: https://hooks.test}
  usa/staging:
    auth_url: https://login.staging.test
    base_url: https://api.us.staging.test
    vars: {hooks: https://hooks.staging.test}
"""


def write(directory: Path, files: Mapping[str, str]) -> Path:
    """Write these files into the directory `config` and return it."""
    config = directory / "config"
    for name, text in files.items():
        path = config / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
    return config


def load_files(directory: Path, files: Mapping[str, str], variables: Mapping[str, str] | None = None) -> Desired:
    """Load these files, in an environment with these variables."""
    return load(write(directory, files), (variables or {}).get)


def load_beside_targets(directory: Path, text: str) -> Desired:
    """Load `text` beside TARGETS."""
    return load_files(directory, {"targets.yaml": TARGETS, "tested.yaml": text})


def mistakes_in(config: Path, variables: Mapping[str, str] | None = None) -> list[Message]:
    """Return the mistakes that loading reports."""
    with pytest.raises(ConfigError) as caught:
        load(config, (variables or {}).get)
    return list(caught.value.messages)


def marked_places(text: str) -> tuple[str, list[str]]:
    """Return the text without its marks, and each mark's `line:column`."""
    places = []
    while mark := re.search("¦", text):
        before = text[: mark.start()]
        places.append(f"{before.count(chr(10)) + 1}:{mark.start() - before.rfind(chr(10))}")
        text = before + text[mark.end() :]
    return text, places


def assert_mistakes(directory: Path, marked: str, *names: str, beside: str = TARGETS) -> list[Message]:
    """Assert that loading reports exactly the marked places of the file, in order, under these names."""
    text, places = marked_places(marked)
    mistakes = mistakes_in(write(directory, {"tested.yaml": text, "zz-beside.yaml": beside}))
    found = [(str(each.place).rpartition("/")[2], each.name) for each in mistakes]
    assert [f"tested.yaml:{place}" for place in places] == [place for place, _ in found], "\n".join(map(str, mistakes))
    assert list(names) == [name for _, name in found], "\n".join(map(str, mistakes))
    assert all(each.steps or "expected" in each.what for each in mistakes)
    return mistakes


SECRET = "hunter2-hunter2"
PLACES_WITH_CREDENTIALS = [
    f"postgresql://app:{SECRET}@host/db", f"postgresql://app:a/b{SECRET}@host/db?sslmode=require",
    f"postgresql://app@host/db?password={SECRET}", f"postgresql://app@host/db?passwor%64={SECRET}",
    f"postgresql://app@host/db?oauth_client_secret={SECRET}",
    f"postgresql://app@host/db?sslmode=require&sslpassword={SECRET}", f"git+https://ci:{SECRET}@host/p.git#b",
    f"git+https://{SECRET}@host/p.git#b", f"git+ssh://git:{SECRET}@host/p.git#b",
    f"GIT+HTTPS://ci:{SECRET}@host/p.git#b", f"s3://key:{SECRET}@bucket/prefix", f"mysql://app:{SECRET}@host/db",
    f"git+app:{SECRET}@host:p.git#b",
]  # fmt: skip
"""Places of a record that hold a secret, each in a form of its own."""
