"""Credentials in the configuration: reported, never shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.desired_configs import TARGETS, assert_mistakes, load_beside_targets, mistakes_in, write

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "hunter2-tr0ub4dor"


@pytest.mark.parametrize(
    "key",
    ["client_id", "clientId", "CLIENT-SECRET", "ClientSecret", "secret", "password", "Passwd", "passphrase", "pwd",
     "token", "accessToken", "api_key", "apikey", "X-API-Key", "private key", "bearer", "Authorization", "credentials"],
)  # fmt: skip
@pytest.mark.parametrize(
    "where",
    ["{}", "targets: {{a/b: {{auth_url: https://a.example, base_url: https://b.example, {}}}}}", "targets: {{a/b: {}}}",
     "parity: {{ignore: [{{address: x, reason: y, {}}}]}}", "verification: {{header: X, algorithm: hmac-sha1, {}}}"],
)  # fmt: skip
def test_a_credential_is_a_mistake_anywhere(tmp_path: Path, key: str, where: str) -> None:
    """Whatever its key's spelling and wherever it stands, the variable to use is named and the value is not."""
    entry = f'"{key}": {SECRET}'
    text = where.format("{" + entry + "}" if where in ("{}", "targets: {{a/b: {}}}") else entry)
    found = [
        one for one in mistakes_in(write(tmp_path, {"a.yaml": text, "b.yaml": TARGETS})) if "credential" in one.what
    ]
    (mistake,) = found
    assert text.index(f'"{key}"') + 1 == mistake.place.column
    prefix = "RECONCILER_A_B_" if "a/b" in where else "RECONCILER_<REGION>_<ENVIRONMENT>_"
    assert f"{prefix}CLIENT_{'ID' if key.lower().endswith('id') else 'SECRET'}" in mistake.remedy


@pytest.mark.parametrize(
    "text",
    [
        f"clientSecret: {SECRET}",
        f"unknown: {SECRET}",
        f"unknown: {{deeper: [{SECRET}, {{x: {SECRET}}}]}}",
        f"targets: {{a/b: {{auth_url: 'https://me:{SECRET}@login.example', base_url: https://b.example}}}}",
        f"targets: {{a/b: {{auth_url: 'https://b.example/?key={SECRET}', base_url: https://b.example}}}}",
        f"targets: {{a/b: {{auth_url: 'me:{SECRET}@login.example', base_url: https://b.example}}}}",
        f"targets: {{a/b: {{auth_url: https://a.example, base_url: https://b.example, vars: {{hooks: 'https://{SECRET}@x'}}}}}}",
        f'subscriptions: {{"*/*": {{one: {{eventCodes: [ONB10001], webhookUrl: "https://{SECRET}@h.example"}}}}}}',
        f'subscriptions: {{"*/*": {{one: {{eventCodes: [ONB10001], webhookUrl: "h.example?{SECRET}"}}}}}}',
        f'subscriptions: {{"*/*": {{one: {{eventCodes: [ONB10001], webhookUrl: "https://a:{{x}}{SECRET}/@h.example"}}}}}}',
        f'subscriptions: {{"*/*": {{token: {SECRET}}}}}',
        f"recipients: [AGE-SECRET-KEY-1{SECRET}]",
        f"recipients: [{SECRET}]",
        f"parity: {{ignore: [{{address: offers, reason: 'see https://me:{SECRET}@x.example'}}]}}",
        f"verification: {{header: X, algorithm: hmac-sha1, key: {SECRET}}}",
        f"verification: {{header: X, algorithm: hmac-sha1, enforce: {SECRET}}}",
        f"recipients: {{a: {SECRET}}}",
    ],
)
def test_a_secret_is_never_shown(tmp_path: Path, text: str) -> None:
    """Values of unknown keys, user info and queries are in no message."""
    found = mistakes_in(write(tmp_path, {"a.yaml": text, "b.yaml": TARGETS}))
    assert SECRET not in "\n".join(map(str, found))


def test_user_info_is_reported_once_where_it_stands(tmp_path: Path) -> None:
    """A URL that is a mistake for its user info is not one for anything else besides."""
    text = 'subscriptions: {"*/*": {one: {eventCodes: [ONB10001], webhookUrl: ¦"https://me@hooks.example/#x"}}}'
    assert_mistakes(tmp_path, text, "contains credentials")
    listed = "unknown: [¦https://me@hooks.example, https://hooks.example/@me]"
    assert_mistakes(tmp_path / "more", "¦" + listed, "unknown key", "contains credentials")


def test_names_that_only_sound_like_credentials_are_taken(tmp_path: Path) -> None:
    """A subscription may be called token, also where it is not wanted, and a variable may hold the host of one."""
    text = """\
targets: {a/b: {auth_url: https://a.example, base_url: https://b.example, vars: {token_host: hooks.example}}}
subscriptions:
  a/b:
    token: {eventCodes: [ONB10001], webhookUrl: "https://{token_host}"}
    secret: null
"""
    assert ["a/b/token"] == list(load_beside_targets(tmp_path, text).subscriptions)
