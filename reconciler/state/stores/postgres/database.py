"""Which database a URL and the environment name, for libpq and for messages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Conninfo

from reconciler.errors import SettingsError
from reconciler.state.stores.store import StoreLocation
from reconciler.values import Discreet

if TYPE_CHECKING:
    from collections.abc import Mapping

_SCHEMA = re.compile(r"([?&])reconciler_schema=([^&]*)(&|$)")
_SCHEMA_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_MISREAD = re.compile(r"[^/?]*@[^/?]*@|[^/?]*/[^?]*@")
"""An @ that libpq does not take for the end of the password, so that it takes a part of it for a host or a database."""
_NO_NAME = re.compile(r"://|password *=")
"""What libpq does not take for the name of a database: with a password in it, that would be in each message."""
_SECRETS = ("password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key")
_OURS = {
    "client_encoding": "utf8",  # in SQL_ASCII, texts would come as bytes
    "fallback_application_name": "reconciler",
}
_CONNECT_TIMEOUT = "10"  # seconds for each address of the server
_REMEDY = "use postgresql://USER@HOST:PORT/DATABASE, with the password in PGPASSWORD or in a password file"
_ENCODE = "write special characters in a user, a password or a name as %40 for @, %2F for /, %3A for :, %3F for ?"


class Database(Discreet, frozen=True):
    """What libpq is given, and the schema of the table."""

    unprinted = ("parameters",)

    parameters: Mapping[str, str]
    schema: str
    url: str
    """Without credentials, and without the schema: as other programs take it."""

    @property
    def location(self) -> str:
        if self.schema == "public":
            return self.url
        return f"{self.url}{'&' if '?' in self.url else '?'}reconciler_schema={self.schema}"

    @property
    def place(self) -> StoreLocation:
        return StoreLocation(self.location, normalized=database_place)

    def hide_secrets(self, text: str) -> str:
        """A message of libpq or of a server in one line, without the passwords."""
        for secret in (self.parameters.get(name) for name in _SECRETS):
            for spelling in (secret, quote(secret, safe="")) if secret else ():
                text = text.replace(spelling, "***")
        return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())[:600].rstrip(".")


def database_of(spec: str, environment: Mapping[str, str]) -> Database:
    """The database that `postgresql://…` names. No message echoes the URL: it may contain a password.

    Raises SettingsError.
    """
    scheme, _, rest = spec.partition("://")
    url, schema = _without_schema(f"{scheme.lower()}://{rest}")
    try:
        given = {name: str(value) for name, value in conninfo_to_dict(url).items() if value}
    except ProgrammingError:  # its text quotes the URL
        raise SettingsError("not a PostgreSQL URL", where="--state", remedy=_REMEDY) from None
    if _MISREAD.match(url.partition("://")[2]) or not _is_plausible(given):
        raise SettingsError("a special character makes the PostgreSQL URL ambiguous", where="--state", remedy=_ENCODE)
    given = _from_environment(given, environment)
    if _NO_NAME.search(given.get("dbname", "")):
        what = "the name of the database is a URL, or a string of parameters"
        raise SettingsError(what, where="--state or PGDATABASE", remedy=_REMEDY)
    if not (given.get("dbname") or given.get("service")):
        raise SettingsError("no database given", where="--state", remedy=_REMEDY)
    parameters = {"connect_timeout": _CONNECT_TIMEOUT, **given, **_OURS}
    return Database(parameters, schema, _bare_url(given))


def _is_plausible(given: Mapping[str, str]) -> bool:
    """Whether hosts and ports can be such, and no part of a password; the name of an abstract socket begins with @."""
    hosts, ports = (given.get(name, "").split(",") for name in ("host", "port"))
    return all("@" not in host[1:] for host in hosts) and all(not port or port.isdecimal() for port in ports)


def database_place(location: str) -> str:
    """The location of a database, which has one form already; "" for the location of another store."""
    return location if location.startswith("postgresql://") else ""


def _without_schema(spec: str) -> tuple[str, str]:
    """The URL for libpq, and the schema that it names for the table."""
    found = _SCHEMA.search(spec)
    if found is None:
        return spec, "public"
    if not _SCHEMA_NAME.fullmatch(found[2]):
        remedy = "use a-z, 0-9 and _, starting with a letter"
        raise SettingsError("reconciler_schema is not a plain name of a schema", where="--state", remedy=remedy)
    return spec[: found.start()] + (found[1] if found[3] else "") + spec[found.end() :], found[2]


def _from_environment(given: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """What the URL says, before what the environment does. A service file is before the environment: libpq reads it."""
    defaults = {
        option.keyword.decode(): environment.get(option.envvar.decode(), "")
        for option in Conninfo.get_defaults()
        if option.envvar
    }
    if "service" in given or defaults.get("service"):
        defaults = {"service": defaults.get("service", "")}
    return {name: value for name, value in defaults.items() if value} | dict(given)


def _bare_url(given: Mapping[str, str]) -> str:
    """The database as a URL that has neither credentials nor anything else that may change."""
    hosts = (given.get("host") or given.get("hostaddr") or "").split(",")
    ports = given.get("port", "").split(",")
    ports = ports * len(hosts) if len(ports) == 1 else ports
    servers = ",".join(_server(host, port) for host, port in zip(hosts, ports, strict=False))
    query = f"?service={quote(given['service'], safe='')}" if "service" in given else ""
    return f"postgresql://{servers}/{quote(given.get('dbname', ''), safe='')}{query}"


def _server(host: str, port: str) -> str:
    """One server of a URL, its port always there; "" for the default one of a service or of this machine."""
    if not host and not port:
        return ""
    if host.startswith("/"):  # the directory of a socket
        name = quote(host, safe="")
    else:
        name = f"[{host}]" if ":" in host else quote(host.lower(), safe="")
    return f"{name}:{port or 5432}"
