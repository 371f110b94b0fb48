"""From a URL and the environment to what libpq is given, and to the name that messages have for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from reconciler.errors import SettingsError
from reconciler.state.stores.postgres.database import database_of, database_place
from reconciler.state.stores.postgres.table import open_postgres

if TYPE_CHECKING:
    from collections.abc import Mapping

HELP = "use postgresql://USER@HOST:PORT/DATABASE, with the password in PGPASSWORD or in a password file"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("postgresql://me:hunter2@DB.example/records", "postgresql://db.example:5432/records"),
        ("POSTGRESQL://db.example:6432/records?sslmode=require", "postgresql://db.example:6432/records"),
        ("postgresql:///records?host=/run/Postgres", "postgresql://%2Frun%2FPostgres:5432/records"),
        ("postgresql://%2Frun%2FPostgres/records", "postgresql://%2Frun%2FPostgres:5432/records"),
        ("postgresql://a,b:3/records", "postgresql://a:5432,b:3/records"),
        ("postgresql://a,b/records?port=3", "postgresql://a:3,b:3/records"),
        ("postgresql://[::1]:5433/records", "postgresql://[::1]:5433/records"),
        ("postgresql:///records", "postgresql:///records"),
        ("postgresql://?service=records", "postgresql:///?service=records"),
        ("postgresql://h/a%20b?password=hunter2", "postgresql://h:5432/a%20b"),
        ("postgresql://h/r?reconciler_schema=team_a", "postgresql://h:5432/r?reconciler_schema=team_a"),
        ("postgresql://h/r?reconciler_schema=public", "postgresql://h:5432/r"),
        ("postgresql://h/r?reconciler_schema=a&sslmode=require", "postgresql://h:5432/r?reconciler_schema=a"),
        ("postgresql://h/r?sslmode=require&reconciler_schema=a", "postgresql://h:5432/r?reconciler_schema=a"),
        ("postgresql://?service=r&reconciler_schema=a", "postgresql:///?service=r&reconciler_schema=a"),
    ],
)
def test_location(spec: str, expected: str) -> None:
    """One form for all spellings, without credentials; it names the same store again."""
    database = database_of(spec, {})
    assert (expected, expected) == (database.location, database_of(database.location, {}).location)
    assert "hunter2" not in repr(database)


@pytest.mark.parametrize(
    ("spec", "environment", "expected"),
    [
        (
            "postgresql://",
            {"PGHOST": "h", "PGDATABASE": "r", "PGUSER": "me", "PGPASSWORD": "pw", "PGSSLMODE": "verify-full"},
            {"host": "h", "dbname": "r", "user": "me", "password": "pw", "sslmode": "verify-full"},
        ),
        (
            "postgresql://h/r",
            {"PGHOST": "other", "PGPASSFILE": "/pass"},
            {"host": "h", "dbname": "r", "passfile": "/pass"},
        ),
        ("postgresql://", {"PGSERVICE": "s", "PGHOST": "other"}, {"service": "s"}),
        ("postgresql://?service=s", {"PGSERVICE": "t", "PGUSER": "other"}, {"service": "s"}),
        ("postgresql://h/r?connect_timeout=3&sslmode=require", {}, {"host": "h", "dbname": "r", "sslmode": "require"}),
        ("postgresql://h/r", {"PGCLIENTENCODING": "LATIN1", "PGUSER": ""}, {"host": "h", "dbname": "r"}),
    ],
)
def test_parameters(spec: str, environment: Mapping[str, str], expected: Mapping[str, str]) -> None:
    """The URL is before the environment; a service before both of its own accord, since libpq reads its file."""
    parameters = dict(database_of(spec, environment).parameters)
    assert ("utf8", "reconciler") == (
        parameters.pop("client_encoding"), parameters.pop("fallback_application_name")
    )  # fmt: skip
    assert parameters.pop("connect_timeout") == ("3" if "timeout" in spec else "10")
    assert expected == parameters


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("postgresql:records", "not a PostgreSQL URL"),
        ("postgresql://me:hunter2%@h/r", "not a PostgreSQL URL"),
        ("postgresql://me:hunter2@h/r?hunter2=1", "not a PostgreSQL URL"),
        ("postgresql://me:hunter2@h", "no database given"),
    ],
)
def test_no_database(spec: str, told: str) -> None:
    """What names no database is refused, and nothing of it is echoed."""
    with pytest.raises(SettingsError) as caught:
        open_postgres(spec, {})
    assert f"--state: {told}; {HELP}" == str(caught.value)


@pytest.mark.parametrize(
    "spec",
    [
        "postgresql://me:hun/ter2@h/r",
        "postgresql://me:12/ter2@h/r",
        "postgresql://me:12/ter2@h",
        "postgresql://me:hun@ter2@h/r",
        "postgresql://me:h?n@ter2@h/r",
        "postgresql://me:hunter2",
    ],
)
def test_a_password_that_is_not_encoded(spec: str) -> None:
    """A part of it would be taken for a host, a port or a database, and be in each message: nothing is echoed."""
    environment = {"PGDATABASE": "r"}
    with pytest.raises(
        SettingsError, match=r"^--state: a special character makes the PostgreSQL URL ambiguous; "
    ) as caught:
        open_postgres(spec, environment)
    assert "ter2" not in str(caught.value)
    for name in ("postgresql://me:hunter2@h/r", "dbname=r password=hunter2"):
        with pytest.raises(
            SettingsError, match=r"^--state or PGDATABASE: the name of the database is a URL, or "
        ) as caught:
            open_postgres("postgresql://", {"PGDATABASE": name})
        assert "ter2" not in str(caught.value)
    assert "h:5432/a%40b%2Fc" in database_of("postgresql://me:hun%2Fter2@h/a%40b%2Fc?password=a@b", {}).location


@pytest.mark.parametrize("name", ["", "A", "a;b", "a%22", "pg catalog", "x" * 64])
def test_no_schema(name: str) -> None:
    """The name of a schema is a plain one, since it is part of a command that is to be pasted."""
    with pytest.raises(SettingsError, match="reconciler_schema is not a plain name"):
        database_of(f"postgresql://h/r?reconciler_schema={name}", {})


def test_place() -> None:
    """It is that of a database, and of no other store."""
    place = database_of("postgresql://H/r", {}).place
    assert place.has_any(["/state", "postgresql://h:5432/r"])
    assert not place.has_any(["", "/state", "git:state of /srv/origin.git", "postgresql://h:5432/other"])
    assert "" == database_place("/state")


def test_secrets_are_hidden() -> None:
    """However libpq or a server spells a password, and in one line."""
    database = database_of("postgresql://me:hunter%2F2@h/r?sslpassword=key9", {})
    assert "a *** b *** c *** d" == database.hide_secrets("a hunter/2\nb hunter%2F2\x1b c key9\td")
