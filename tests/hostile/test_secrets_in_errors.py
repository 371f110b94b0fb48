"""Errors of the program itself, and the printed form of its values, hold no secret."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from pprint import pformat
from typing import TYPE_CHECKING

import pytest
from msgspec import Struct
from support.glass_house import GlassHouse
from support.leaks import Secrets

import reconciler
from reconciler.mistake import Place
from reconciler.model.address import TargetName
from reconciler.model.clock import Instant
from reconciler.model.desired import Overlap, Replace, Target
from reconciler.model.outcome import Answer, Outcome
from reconciler.operations.settings import TargetSettings
from reconciler.operations.variables import Variables
from reconciler.service.api import LeadAnswer, Service
from reconciler.service.credentials import Credentials
from reconciler.service.exchange import Reply
from reconciler.service.stored_token import Token
from reconciler.service.token_cache import TokenCache
from reconciler.service.tokens import TokenAnswer, TokenRequest, Tokens
from reconciler.service.transport import Transport
from reconciler.values import Discreet

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BREAKING = """
import importlib, os

module, _, path = os.environ["BREAK"].partition(":")
owner = importlib.import_module(module)
*parents, name = path.split(".")
for parent in parents:
    owner = getattr(owner, parent)
secrets = [value for name, value in os.environ.items() if "SECRET" in name]

def broken(*args, **kwargs):
    raise RuntimeError("induced", secrets, args, kwargs)

setattr(owner, name, broken)
"""

APPLY, TOKEN = "apply --auto-approve -vv --timeout 1", "token -t europe/staging -vv --timeout 1"

PLACES = {
    "reconciler.service.transport:Transport.post": APPLY,
    "reconciler.service.transport:_Exchange._read": APPLY,
    "reconciler.service.transport:_Exchange._release": TOKEN,
    "reconciler.service.connecting:Connector.open": TOKEN,
    "reconciler.service.api:outcome_of": APPLY,
    "reconciler.service.tokens:outcome_of": TOKEN,
    "reconciler.service.token_cache:seal": TOKEN,
    "reconciler.state.private.responses:PrivateFiles.keep": APPLY,
    "reconciler.operations.settings:TargetSettings.__init__": TOKEN,
    "reconciler.applying.service_caller:ServiceCaller.create": APPLY,
    "reconciler.state.stores.files:FileStore.append": APPLY,
}


FEW = ("Transport.post", "_Exchange._release", "token_request:outcome_of", "PrivateFiles.keep", "FileStore.append")
"""Those that stand for the others in the default run."""


@pytest.mark.parametrize(
    "place", [one if one.endswith(FEW) else pytest.param(one, marks=pytest.mark.soak) for one in PLACES]
)
def test_an_internal_error_shows_no_secret(tmp_path: Path, place: str) -> None:
    """An exception that holds every secret there is ends in words of our own, in Python's development mode too."""
    with GlassHouse(tmp_path, ["europe/staging"]) as house:
        hooks = house.project.write("hooks/sitecustomize.py", BREAKING).parent
        house.project.environment |= {"PYTHONPATH": str(hooks), "PYTHONDEVMODE": "1", "BREAK": place}
        done = house.run(PLACES[place])
        assert "RuntimeError" in done.err + done.out or done.code in (1, 3), done
        assert "Traceback" not in done.err
        house.assert_nothing_leaked()


SECRET = "unmistakable/secret+value"
PLACE = Place("config/all.yaml", 1, 1)
TARGET = Target(TargetName("a/b"), "https://a.example", "https://b.example", "x", Overlap.ALLOW, Replace.WAIT, PLACE)


@pytest.fixture
def values(tmp_path: Path) -> Iterator[list[object]]:
    """A value of each kind that holds secrets."""
    variables = Variables({"RECONCILER_A_B_CLIENT_ID": "id", "RECONCILER_A_B_CLIENT_SECRET": SECRET}, tmp_path)
    credentials, cache = Credentials("id", SECRET), TokenCache(tmp_path / "tokens")
    with Transport() as transport:
        tokens = Tokens(transport, cache, 1.0)
        body = SECRET.encode()
        yield [
            credentials,
            variables,
            TargetSettings(TargetName("a/b"), variables),
            Reply(201, {"authorization": f"Bearer {SECRET}"}, body, whole=True),
            Answer(Outcome.CREATED, body=body),
            LeadAnswer(201, body),
            TokenAnswer(access_token=SECRET, token_type="Bearer", expires_in=1),
            Token(SECRET, Instant(wall=0, steady=0), "", 1),
            TokenRequest(TARGET, credentials, "audience"),
            Service(transport, tokens, TARGET, credentials, 1.0),
            tokens,
            cache,
            transport,
        ]


def test_a_printed_value_holds_no_secret(values: list[object]) -> None:
    """However a value that holds a secret is printed, alone or within another, the secret is not."""
    secrets = Secrets([SECRET])
    for value in [*values, values, {"of": tuple(values)}]:
        for printed in (repr(value), str(value), f"{value}", pformat(value), f"{ValueError(value)!r}"):
            assert set() == secrets.leaked_in(printed.encode()), printed


TELLING = re.compile("secret|password|token|environ|clients")
OPEN = {
    ("Choices", "environments"),  # staging, production
    ("Attempt", "secrets"),  # where they are kept, sealed ones as they lie in the journal
    ("SecretSet", "secret"),
    ("Issued", "token"),  # what it is for; its text is not printed
    ("AllowBranch", "environment"),  # of GitHub, by its name
    ("SetVariable", "environment"),
    ("SetSecret", "environment"),
}


def test_fields_that_sound_like_secrets_are_not_printed() -> None:
    """A field of any value is left out of what is printed where its name says that it may hold a secret."""
    found = []
    for info in pkgutil.walk_packages(reconciler.__path__, "reconciler."):
        if info.name == "reconciler.__main__":
            continue
        for name, kind in inspect.getmembers(importlib.import_module(info.name), inspect.isclass):
            if issubclass(kind, Struct) and kind.__module__ == info.name:
                unprinted = kind.unprinted if issubclass(kind, Discreet) else ()
                assert set(unprinted) <= set(kind.__struct_fields__)
                found += [
                    f"{info.name}.{name}.{field}"
                    for field in kind.__struct_fields__
                    if field not in unprinted and TELLING.search(field) and (name, field) not in OPEN
                ]
    assert [] == found
