"""The values of `state:`: which store each names, and what is said about the others."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support.configs import PLACES_WITH_CREDENTIALS, SECRET
from support.refusals import raised

from reconciler.errors import SettingsError
from reconciler.stores.location import open_store


@pytest.mark.parametrize(("place", "path"), [
    ("state.jsonl", "state.jsonl"), ("file:state.jsonl", "state.jsonl"), ("FILE:deep/a b", "deep/a b"),
    ("./a:b", "a:b"), ("deep/a:b", "deep/a:b"), ("file:a%20b", "a%20b"), ("../up.jsonl", "../up.jsonl"),
    ("~/state.jsonl", "~/state.jsonl"),
])  # fmt: skip
def test_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, path: str) -> None:
    """A path is relative to the directory that holds config/, wherever one is, and the place is absolute."""
    store = open_store(place, tmp_path / "config", tmp_path / "cache")
    assert str((tmp_path / path).resolve()) == store.place == str(store.path)
    monkeypatch.chdir(tmp_path)
    assert open_store(place, Path("config"), tmp_path / "cache").place == store.place
    assert open_store(store.place, Path("/config"), tmp_path / "cache").place == store.place


@pytest.mark.parametrize("config", ["config", "deep/../config"])
def test_config_that_is_a_symbolic_link(tmp_path: Path, config: str) -> None:
    """A path is relative to where the link is, wherever it leads."""
    (tmp_path / "elsewhere" / "config").mkdir(parents=True)
    (tmp_path / "config").symlink_to(tmp_path / "elsewhere" / "config")
    assert tmp_path / "state.jsonl" == open_store("state.jsonl", tmp_path / config, tmp_path / "cache").path


def test_absolute_paths(tmp_path: Path) -> None:
    """Absolute paths and file: URLs, percent-encoded, mean themselves."""
    expected = tmp_path / "a b"
    urls = (f"file://{tmp_path}/a%20b", f"file://localhost{tmp_path}/a%20b")
    for place in (str(expected), f"/{expected}", f"//{expected}", f"file:{expected}", *urls):
        assert open_store(place, Path("/config"), tmp_path).path == expected


@pytest.mark.parametrize(("place", "name"), [
    ("", "place-empty"), (" ", "place-empty"), ("a\nb", "place-control-character"),
    ("file:///a%00b", "place-control-character"), ("file:", "place-no-file"), ("file:state/", "place-no-file"),
    ("file://host/a", "place-host"), ("mysql://host/db", "place-unknown"), ("c:state", "place-unknown"),
    ("s3:bucket", "place-no-bucket"), ("s3://", "place-no-bucket"), ("s3://bucket/../x", "place-no-bucket"),
    ("s3://bucket//x", "place-no-bucket"), ("s3://bucket/.hidden", "place-no-bucket"),
    ("gs://Bucket name/x", "place-no-bucket"), ("postgresql://host/db?nonsense=1", "place-no-database"),
    ("postgresql://host/db?table=a;b", "place-no-table"), ("postgresql://host/db?table=a.b.c", "place-no-table"),
    ("git:", "place-no-branch"), ("git+https://host/p", "place-no-repository"),
])  # fmt: skip
def test_no_places(tmp_path: Path, place: str, name: str) -> None:
    """A value that names no place is an error of its own; if a path may be meant, it says how to write one."""
    message = raised(SettingsError, open_store, place, tmp_path / "config", tmp_path / "cache")
    assert (message.name, message.where, "./PATH" in str(message)) == (name, "--state", name == "place-unknown")


@pytest.mark.parametrize("place", PLACES_WITH_CREDENTIALS)
def test_credentials(tmp_path: Path, place: str) -> None:
    """Credentials in a place are refused, and not shown."""
    with pytest.raises(SettingsError) as caught:
        open_store(place, tmp_path / "config", tmp_path / "cache")
    assert [message.name for message in caught.value.messages] == ["place-credentials"]
    assert SECRET not in str(caught.value) + repr(caught.value)


@pytest.mark.parametrize(("place", "normal"), [
    ("postgresql://app@host:5432/db", ""), ("postgresql://app@[::1]:5432/db?sslmode=verify-full", ""),
    ("git+ssh://git@host:22/p.git#b", ""), ("git+git@host:p.git#b", ""), ("git+https://host:8443/p.git#b", ""),
    ("git+SSH://git@host/p.git#b", ""), ("git+HTTPS://host/p.git#b", ""), ("s3://bucket/a/b-c_d", ""),
    ("az://container", ""), ("S3://Bucket/A/", "s3://bucket/A"), ("GIT+https://host/p#b", "git+https://host/p#b"),
    ("POSTGRESQL://host/db?table=reconciler_record", "postgresql://host/db"),
    ("postgresql://host/db?table=t&sslmode=disable", "postgresql://host/db?sslmode=disable&table=t"),
    ("postgresql://host/db?sslmode=disable&table=t&port=1", "postgresql://host/db?sslmode=disable&port=1&table=t"),
])  # fmt: skip
def test_remote_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, normal: str) -> None:
    """A user is no credential; the place is what was given, in one spelling, and nothing is asked of it yet."""
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "account")
    store = open_store(place, tmp_path / "config", tmp_path / "cache")
    assert (normal or place, None) == (store.place, store.path)


@pytest.mark.parametrize(("place", "missing", "extra"), [
    ("s3://bucket/p", "obstore", "objectstore"), ("s3://bucket/p", "obstore.exceptions", "objectstore"),
    ("postgresql://host/db", "psycopg", "postgres"),
])  # fmt: skip
def test_library_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, missing: str, extra: str) -> None:
    """Without the library the message names what to install; without a module of another, it is not blamed."""
    library = missing.partition(".")[0]
    for name in [name for name in sys.modules if name.startswith((library, "reconciler.stores."))]:
        if name != "reconciler.stores.location":
            monkeypatch.delitem(sys.modules, name)
    with monkeypatch.context() as context:
        context.setitem(sys.modules, "reconciler.stores.waiting", None)
        with pytest.raises(ModuleNotFoundError):
            open_store(place, tmp_path / "config", tmp_path / "cache")
    monkeypatch.setitem(sys.modules, missing, None)
    message = raised(SettingsError, open_store, place, tmp_path / "config", tmp_path / "cache")
    assert (message.name, library in message.what) == ("place-library-missing", True)
    assert f"reconciler[{extra}]" in message.steps[0].text
