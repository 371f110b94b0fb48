"""`apply --pinned` and RECONCILER_RECIPIENTS: whoever changes `config/` cannot send a secret elsewhere."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from pyrage import x25519  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from support.partner import Partner

PREFIX = "RECONCILER_EUROPE_STAGING_"


def new_key() -> str:
    """An age public key."""
    return str(x25519.Identity.generate().to_public())


@pytest.fixture
def begun(partner: Partner) -> Partner:
    """A partner with one create to make and a recipient in config/, who has pinned nothing."""
    partner.begin(offers=["ONB10011"])
    partner.seal()
    return partner


def addresses(partner: Partner) -> dict[str, str]:
    """The variables that pin the addresses of the partner's service."""
    service = partner.service
    return {f"{PREFIX}AUTH_URL": service.auth_url, f"{PREFIX}BASE_URL": service.base_url}


def recipient(partner: Partner) -> str:
    """The recipient in config/."""
    return partner.read("config/recipients.yaml").partition("[")[2].rstrip("]\n")


def pin(partner: Partner) -> None:
    """Pin all that there is, with the audience in config/."""
    audience = {f"{PREFIX}AUDIENCE_BASE": partner.service.base_url}
    partner.environment |= {**addresses(partner), **audience, "RECONCILER_RECIPIENTS": recipient(partner)}


def refused(partner: Partner, *arguments: str) -> str:
    """The error of a command that must not reach the service nor the record."""
    with partner.appending():
        done = partner.step("apply", "--auto-approve", *arguments, code=1)
    assert partner.service.untouched
    return done.err


def test_all_that_is_missing_in_one_message(begun: Partner) -> None:
    """Every target and variable is named at once, before any call or token request."""
    err = refused(begun, "--pinned")
    assert (
        f"Error: --pinned: not set outside of the checkout: europe/staging: {PREFIX}AUTH_URL, {PREFIX}BASE_URL" in err
    )
    assert "; recipients: RECONCILER_RECIPIENTS; set these variables in the environment" in err


@pytest.mark.parametrize("field", ["AUTH_URL", "BASE_URL"])
def test_each_address_counts(begun: Partner, field: str) -> None:
    """One that is left out, or empty, is named alone."""
    pin(begun)
    begun.environment[f"{PREFIX}{field}"] = ""
    assert f"checkout: europe/staging: {PREFIX}{field}; set" in refused(begun, "--pinned")


def test_an_audience_that_config_declares(begun: Partner) -> None:
    """An audience of its own comes from outside too; the one that follows the address does so anyway."""
    pin(begun)
    text = begun.read("config/all.yaml")
    begun.write("config/all.yaml", text.replace("audience_base: ", "audience_base: https://elsewhere.example #"))
    del begun.environment[f"{PREFIX}AUDIENCE_BASE"]
    assert f"checkout: europe/staging: {PREFIX}AUDIENCE_BASE; set" in refused(begun, "--pinned")


def test_all_pinned(begun: Partner) -> None:
    """Nothing more is asked for, and the create is made; targets that are not selected need nothing."""
    pin(begun)
    begun.write("config/more.yaml", f"targets:\n  usa/staging:\n    auth_url: {begun.service.auth_url}\n"
                f"    base_url: {begun.service.base_url}/usa\n")  # fmt: skip
    begun.step("apply", "--auto-approve", "--pinned", "-t", "europe/*")
    assert 1 == len(begun.service.creates)


def test_files_of_secrets_count(begun: Partner) -> None:
    """A directory that the environment names is outside of the checkout."""
    pin(begun)
    for name in [name for name in begun.environment if name.endswith(("_URL", "_BASE", "_RECIPIENTS"))]:
        begun.write(f"secrets/{name}", begun.environment.pop(name))
    begun.environment["RECONCILER_SECRETS_DIR"] = "secrets"
    begun.step("apply", "--auto-approve", "--pinned")


@pytest.mark.parametrize("directory", [False, True])
def test_a_dotenv_does_not_count(begun: Partner, directory: bool) -> None:
    """A pull request can write it, and a directory that it names."""
    pin(begun)
    names = [name for name in begun.environment if name.endswith(("_URL", "_BASE", "_RECIPIENTS"))]
    values = {name: begun.environment.pop(name) for name in names}
    if directory:
        for name, value in values.items():
            begun.write(f"secrets/{name}", value)
        values = {"RECONCILER_SECRETS_DIR": "secrets"}
    begun.write(".env", "".join(f"{name}={value}\n" for name, value in values.items()))
    assert f"{PREFIX}AUTH_URL, {PREFIX}BASE_URL" in refused(begun, "--pinned")
    begun.step("apply", "--auto-approve")


def test_unsealed_without_recipients(begun: Partner) -> None:
    """Where nothing is encrypted on purpose, there is no key to pin; recipients in config/ are not taken for it."""
    pin(begun)
    del begun.environment["RECONCILER_RECIPIENTS"]
    assert "recipients: RECONCILER_RECIPIENTS;" in refused(begun, "--pinned", "--unsealed")
    begun.write("config/recipients.yaml", "")
    assert "recipients: RECONCILER_RECIPIENTS;" in refused(begun, "--pinned")
    begun.step("apply", "--auto-approve", "--pinned", "--unsealed")


@pytest.mark.parametrize("command", ["validate", "plan", "apply --auto-approve", "status"])
def test_other_recipients_in_config(begun: Partner, command: str) -> None:
    """An error for every command that reads config/, which names both lists: neither wins."""
    pinned = new_key()
    begun.environment["RECONCILER_RECIPIENTS"] = pinned
    done = begun.step(*command.split(), code=1)
    assert (
        f"RECONCILER_RECIPIENTS: the variable has {pinned}, but `recipients` in config/ has {recipient(begun)}; "
        in done.err
    )
    assert begun.service.untouched


@pytest.mark.parametrize("separator", [" ", ",", ", ", "\n"])
def test_the_same_recipients(begun: Partner, separator: str) -> None:
    """In whatever order, separated by spaces or commas: the plan has the digest it has without the variable."""
    keys = [recipient(begun), new_key()]
    begun.write("config/recipients.yaml", f"recipients: [{', '.join(keys)}]\n")
    before = begun.plan()
    begun.environment["RECONCILER_RECIPIENTS"] = separator.join(reversed(keys))
    assert before == begun.plan()
    assert sorted(keys) == before["recipients"]


def test_recipients_from_the_variable_alone(begun: Partner) -> None:
    """Without `recipients` in config/, the variable's are used: what is approved has them, and responses are sealed."""
    begun.write("config/recipients.yaml", "")
    unsealed = begun.plan()
    key = new_key()
    begun.environment |= {"RECONCILER_RECIPIENTS": key, "CI": "true"}
    plan = begun.plan()
    assert [key] == plan["recipients"]
    assert unsealed["digest"] != plan["digest"]
    begun.step("apply", "--auto-approve")
    assert "age-encryption" not in json.dumps(begun.entries[-1])
    assert begun.entries[-1]["response"] not in (None, "file")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (",", "RECONCILER_RECIPIENTS: contains no key; "),
        ("AGE-SECRET-KEY-1QQQ", "RECONCILER_RECIPIENTS: not an age X25519 public key (number 1); "),
    ],
)
def test_what_is_no_key(begun: Partner, value: str, message: str) -> None:
    """Is refused, and never shown: it might be the secret half."""
    begun.environment["RECONCILER_RECIPIENTS"] = value
    err = begun.step("plan", code=1).err
    assert f"Error: {message}" in err
    assert "SECRET" not in err


def test_doctor_tells_of_other_recipients(begun: Partner) -> None:
    """Beside all the other checks."""
    begun.environment["RECONCILER_RECIPIENTS"] = new_key()
    done = begun.step("doctor", code=1)
    assert "RECONCILER_RECIPIENTS: the variable has " in done.out
