"""Which files are read, and what is said of those that cannot be."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from support.configs import TARGETS, load_files, mistakes_in, write

from reconciler.desired import files, load, load_sound

UNDECLARED = "x: 1\nsubscriptions: {a/b: {}}"
NAMES = ["europe/production", "europe/staging", "usa/staging"]


def test_files_are_found_in_subdirectories_and_hidden_ones_are_not(tmp_path: Path) -> None:
    """Only *.yaml and *.yml count, at any depth; what begins with a dot, and other files, are left out."""
    files = dict.fromkeys((".hidden.yaml", ".git/config.yaml", "notes.txt", "x.yaml~", "x-yaml"), "[not read]")
    assert list(load_files(tmp_path, {"_deep/er/targets.yml": TARGETS, **files}).targets) == NAMES


def test_a_single_file_is_taken(tmp_path: Path) -> None:
    """The configuration may be one file, whatever it is called."""
    assert list(load(write(tmp_path, {"targets.conf": TARGETS}) / "targets.conf").targets) == NAMES


@pytest.mark.parametrize("more", [0, 1])
def test_a_pipe_is_taken_where_it_is_named(monkeypatch: pytest.MonkeyPatch, more: int) -> None:
    """A process substitution is a pipe, and is read; it has the same limit of size."""
    monkeypatch.setattr(files, "SIZE_LIMIT", len(TARGETS))
    reader, writer = os.pipe()
    os.write(writer, TARGETS.encode() + b"#" * more)
    os.close(writer)
    try:
        desired, problem = load_sound(Path(f"/dev/fd/{reader}"))
        assert (NAMES[: 3 - 3 * more], more) == (list(desired.targets), problem.count if problem else 0)
    finally:
        os.close(reader)


def test_links_are_followed_and_loops_end(tmp_path: Path) -> None:
    """Links within the directory are followed; each directory is read once, by whatever way."""
    more = "targets: {x/y: {auth_url: https://a.test, base_url: https://b.test}}"
    config = write(tmp_path, {"a/targets.yaml": TARGETS, ".revision/more.yaml": more, ".revision/file": "parity: {}"})
    (config / "a" / "loop").symlink_to(config)
    (config / "linked").symlink_to(config / ".revision")
    (config / "again").symlink_to(".revision")
    (config / "link.yaml").symlink_to(".revision/file")
    (tmp_path / "outer").symlink_to(config)
    for top in (config, tmp_path / "outer"):
        assert list(load(top).targets) == [*NAMES, "x/y"]


@pytest.mark.parametrize("outside", ["private", "config-private"])
@pytest.mark.parametrize("link", ["a.yaml", "below"])
def test_a_link_that_leads_out_is_a_mistake(tmp_path: Path, link: str, outside: str) -> None:
    """What it leads to is neither read nor quoted, whatever its name begins with."""
    (tmp_path / outside).mkdir()
    (tmp_path / outside / "key.yaml").write_text("hunter2: hunter2\nhunter2")
    config = write(tmp_path, {"z.yaml": UNDECLARED})
    (config / link).symlink_to(tmp_path / outside / ("key.yaml" if link == "a.yaml" else ""))
    first, second = mistakes_in(config)
    assert (f"{config / link}:1:1", f"{config / 'z.yaml'}:1:1") == (str(first.place), str(second.place))
    assert "config-link-outside" == first.name


def test_what_is_not_configuration_may_lead_out(tmp_path: Path) -> None:
    """A link to a file of another kind is none of the configuration's."""
    config = write(tmp_path, {"targets.yaml": TARGETS})
    (config / "README.md").symlink_to("/etc/hostname")
    assert list(load(config).targets) == NAMES


def test_places_are_named_as_the_user_would(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is called by the path given and the rest of the way."""
    write(tmp_path, {"sub/a.yaml": "x: 1"})
    monkeypatch.chdir(tmp_path)
    for given, shown in ((Path("config"), "config/sub/a.yaml"), (Path("config/sub/a.yaml"), "config/sub/a.yaml")):
        assert [shown] == [mistake.place.file for mistake in mistakes_in(given) if mistake.place]


def test_a_file_name_that_breaks_the_line_is_escaped(tmp_path: Path) -> None:
    """A name that cannot be printed on one line is shown escaped."""
    (mistake,) = mistakes_in(write(tmp_path, {"a\nb.yaml": "x: 1"}))
    assert mistake.located.endswith("a\\nb.yaml:1:1")


@pytest.mark.parametrize(("spoil", "place", "name"), [
    (lambda file: file.symlink_to("nowhere"), "1:1", "config-unreadable"),
    (lambda file: file.symlink_to(file), "1:1", "config-unreadable"), (os.mkfifo, "1:1", "config-unreadable"),
    (lambda file: file.write_bytes("x: ä\ny: äö".encode() + b"\xe4"), "2:6", "config-not-utf8"),
    (lambda file: file.write_text("x: 1", encoding="utf-16"), "1:1", "config-not-utf8"),
    (lambda file: file.write_bytes(b"#" * (files.SIZE_LIMIT + 1)), "1:1", "config-too-large"),
], ids=["link to nothing", "link to itself", "pipe", "latin-1", "utf-16", "too large"])  # fmt: skip
def test_a_file_that_cannot_be_read_is_a_mistake(
    tmp_path: Path, spoil: Callable[[Path], None], place: str, name: str
) -> None:
    """It is reported at its own place, and so are the other files, without what it may declare."""
    config = write(tmp_path, {"z.yaml": UNDECLARED})
    spoil(config / "a.yaml")
    first, second = mistakes_in(config)
    assert (f"{config / 'a.yaml'}:{place}", f"{config / 'z.yaml'}:1:1") == (str(first.place), str(second.place))
    assert name == first.name
    (config / "z.yaml").unlink()
    assert [first] == mistakes_in(config)


@pytest.mark.parametrize("name", ["nowhere", "nowhere/a.yaml", "x" * 5000, "a\0b"])
def test_a_configuration_that_is_not_there_is_a_mistake(tmp_path: Path, name: str) -> None:
    """A path that leads to nothing names --config, and where an example is."""
    (mistake,) = mistakes_in(tmp_path / name)
    assert mistake.located.endswith(":1:1")
    assert ("reconciler", "init") == mistake.steps[-1].command


def test_a_directory_without_files_is_a_mistake(tmp_path: Path) -> None:
    """Nothing to read, but for files of other kinds, is not an empty configuration."""
    assert ["config-empty"] == [each.name for each in mistakes_in(write(tmp_path, {"targets.json": "{}"}))]


def test_a_directory_that_cannot_be_listed_is_a_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory that the system refuses is reported, as is the rest, without what the directory may declare."""
    config, listdir = write(tmp_path, {"a/targets.yaml": TARGETS, "z.yaml": UNDECLARED}), os.listdir
    monkeypatch.setattr(os, "listdir", lambda path: listdir(path / "gone" if path.name == "a" else path))
    assert ["config-unreadable", "unknown-key"] == [mistake.name for mistake in mistakes_in(config)]
