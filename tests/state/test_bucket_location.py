"""From a URL and the environment to a bucket."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from reconciler.errors import SettingsError
from reconciler.state.stores.location import open_store
from reconciler.state.stores.objects.objects import BucketStore

S3 = {"AWS_ACCESS_KEY_ID": "AKIAOFTHETESTS", "AWS_SECRET_ACCESS_KEY": "hunter2", "AWS_REGION": "eu-central-1"}
AZURE = {"AZURE_STORAGE_ACCOUNT_NAME": "acme", "AZURE_STORAGE_ACCOUNT_KEY": "aHVudGVyMg=="}
GOOGLE = {"GOOGLE_BEARER_TOKEN": "hunter2"}
ENVIRONMENT = {**S3, **AZURE, **GOOGLE}


def opened(spec: str, **variables: str) -> BucketStore:
    """The store, with credentials for each kind of object store, and other variables."""
    store = open_store(spec, Path("cache"), {**ENVIRONMENT, **variables})
    assert isinstance(store, BucketStore)
    return store


@pytest.mark.parametrize(
    ("spec", "location", "place"),
    [
        ("s3://records", "s3://records", "s3://records"),
        ("S3://records/", "s3://records", "s3://records"),
        ("s3://my.records-1/team/webhooks", "s3://my.records-1/team/webhooks", "s3://my.records-1/team/webhooks"),
        ("s3://records/team/webhooks/", "s3://records/team/webhooks", "s3://records/team/webhooks"),
        ("gs://records/Team_1", "gs://records/Team_1", "gs://records/Team_1"),
        ("az://records/x", "az://records/x", "az://records/x at acme"),
    ],
)
def test_a_place(spec: str, location: str, place: str) -> None:
    """One place has one spelling, for messages and in what is remembered."""
    store = opened(spec)
    assert (location, place, None) == (store.location, store.place.location, store.path)
    assert store.place.has_any([place])


def test_buckets_of_one_name_at_two_endpoints() -> None:
    """They are two stores: what was seen in one is not missed in the other."""
    here, there = (opened("s3://records/x", AWS_ENDPOINT_URL=f"https://{host}/") for host in ("a", "b"))
    assert "s3://records/x at https://a" == here.place.location
    assert not here.place.has_any([there.place.location])
    assert not here.place.has_any(["git:s3://records/x", "/srv/s3"])


def test_an_endpoint_with_a_password() -> None:
    """It is no part of what is remembered or shown."""
    for endpoint in ("https://me:hunter2@s3.example", "https://s3.example/?sig=hunter2", "https://s3.example#hunter2"):
        store = opened("s3://records", AWS_ENDPOINT_URL=endpoint)
        assert "s3://records at https://s3.example" == store.place.location


@pytest.mark.parametrize(
    "spec",
    [
        "s3:", "s3:records", "s3://", "s3:///x", "s3://key:hunter2@records/x", "s3://records/a//b",
        "s3://records/x?key=hunter2", "s3://records/x#y", "s3://records/../x", "s3://records/./x", "s3://records/.probe",
        "s3://records/a b", "s3://records/%2e", "gs://-x", "az://records/hunter2@x",
    ],
)  # fmt: skip
def test_what_names_no_place(spec: str) -> None:
    """It is refused, with an example, and nothing of it is echoed."""
    with pytest.raises(
        SettingsError, match="does not name a place in an object store; use s3://BUCKET/PREFIX"
    ) as caught:
        opened(spec)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "endpoint",
    ["https://storage.googleapis.com", "https://records.storage.googleapis.com:443/", "https://STORAGE.googleapis.com"],
)
@pytest.mark.parametrize("variable", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT"])
def test_google_as_s3(variable: str, endpoint: str) -> None:
    """Its S3 does not know the condition that appends depend on; its own protocol does."""
    with pytest.raises(SettingsError, match=r"ignores the conditions of S3.*; use gs://BUCKET/PREFIX"):
        opened("s3://records/x", **{variable: endpoint})
    assert "gs://records/x" == opened("gs://records/x", **{variable: endpoint}).place.location


@pytest.mark.parametrize(
    ("spec", "variables", "told"),
    [
        ("s3://records", {"AWS_ACCESS_KEY_ID": "AKIA", "AWS_REGION": "x"}, "Missing SecretAccessKey"),
        ("az://records", {}, "Account must be specified"),
        ("gs://records", {"GOOGLE_SERVICE_ACCOUNT": "/nowhere.json"}, "Unable to open service account file"),
        ("gs://records", {"GOOGLE_SERVICE_ACCOUNT_KEY": '"hunter2"'}, "Unable to decode service account file"),
        ("az://records", {**AZURE, "AZURE_STORAGE_ACCOUNT_KEY": "hunter2 "}, "Invalid Access Key"),
    ],
)
def test_settings_that_cannot_be_used(spec: str, variables: dict[str, str], told: str) -> None:
    """What is wrong with them is said, not what they are."""
    with pytest.raises(SettingsError, match="the settings in the environment cannot be used") as caught:
        open_store(spec, Path("cache"), variables)
    assert told in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_conditions_cannot_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a variable of the library."""
    monkeypatch.setenv("AWS_CONDITIONAL_PUT", "disabled")
    bucket = opened("s3://records/x")._bucket
    assert "etag" == bucket._writing.config["conditional_put"]  # type: ignore[attr-defined]
    assert 0 == bucket._writing.retry_config["max_retries"]  # type: ignore[attr-defined]


def test_the_library_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What to install is said; other stores do not need it."""
    for name in [name for name in sys.modules if name.startswith(("reconciler.state.stores.objects", "obstore"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(SettingsError, match=r"s3: stores need obstore.*pip install '\.\[objectstore\]'"):
        opened("s3://records")
    assert "state" == open_store("state", Path("cache"), os.environ).location


def test_the_library_is_loaded_for_its_store_only() -> None:
    """Opening another store does not cost what it costs."""
    code = "import os, sys, pathlib; from reconciler.state.stores.location import open_store;"
    code += "open_store('state', pathlib.Path('cache'), os.environ); assert 'obstore' not in sys.modules"
    assert 0 == os.spawnl(os.P_WAIT, sys.executable, sys.executable, "-c", code)
