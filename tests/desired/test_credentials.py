"""Credentials in the configuration are reported, and never shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyrage import x25519  # type: ignore[import-untyped]
from support.configs import TARGETS, load_beside_targets, load_files, mistakes_in, write

from reconciler.desired import load_sound

SECRET = "hunter2-tr0ub4dor"
STAGING_SECRET = "RECONCILER_EUROPE_STAGING_CLIENT_SECRET"
PASTED = "Zk3v+Qw8/r'T5uX2yB9nM4cL"
AGE_KEY = str(x25519.Identity.generate())
PEM = "-----BEGIN PRIVATE KEY-----\n" + f"{'MIGHAgEAMBMGByqGSM49' * 3}abcd\n" * 3 + "-----END PRIVATE KEY-----\n"
TOKEN = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJzk3vqw8rt5ux2yb9nm4cl.c2lnbmF0dXJlzk3vqw8rt5ux2yb9nm4cl"

PLACES = {
    "a comment": "# {}\n", "a comment behind a value": "state: x # {}\n",
    "a code": 'subscriptions: {{"*/*": {{others: {{eventCodes: ["{}"], webhookUrl: https://h.test/}}}}}}\n',
    "a key": '"{}": x\n', "a key twice": '"{0}": x\n"{0}": y\n',
    "a name": 'subscriptions: {{"*/*": {{"{}": {{eventCodes: [ONB10001], webhookUrl: https://h.test/}}}}}}\n',
    "a pattern": 'subscriptions: {{"{}": {{x: {{webhookUrl: https://h.test/}}}},'
    ' "*/*": {{x: {{eventCodes: [ONB10001]}}}}}}\n',
    "a URL": 'subscriptions: {{"*/*": {{others: {{eventCodes: [ONB10001], webhookUrl: "{}"}}}}}}\n',
    "a target": 'targets: {{"europe/{}": {{auth_url: https://l.test, base_url: https://b.test}}}}\n',
    "an address": 'targets: {{usa/test: {{auth_url: "{}", base_url: https://b.test}}}}\n',
    "a variable": 'targets: {{usa/test: {{vars: {{hooks: "{}"}}}}}}\n',
    "a password": 'targets: {{usa/test: {{client_secret: "{}"}}}}\n', "a recipient": 'recipients: ["{}"]\n',
    "a header": 'verification: {{header: "{}", algorithm: hmac-sha256}}\n',
    "an exception": 'parity: {{ignore: [{{address: "{}", reason: x}}]}}\n', "a broken file": 'targets: {{"{}": [\n',
}  # fmt: skip
OTHERS = {
    "an address": ["url-not-absolute"], "a variable": ["missing-address"] * 2, "a recipient": ["bad-recipient"],
    "a password": ["missing-address", "missing-address", "credential"], "a broken file": ["yaml-syntax"],
}  # fmt: skip
"""The other mistakes that a file with a secret at such a place has."""


@pytest.mark.parametrize("key", [
    "client_id", "clientId", "CLIENT-SECRET", "secret", "password", "Passwd", "passphrase", "pwd", "token",
    "idToken", "api_key", "X-API-Key", "private key", "bearer", "Authorization", "credentials",
    "url_token",
])  # fmt: skip
@pytest.mark.parametrize("where", [
    "{{{}}}", "targets: {{a/b: {{{}}}}}", "targets: {{a/b: {{vars: [{{x: {{{}}}}}]}}}}",
    "parity: {{ignore: [[{{address: x, reason: y, {}}}]]}}", "verification: {{header: X, algorithm: hmac-sha1, {}}}",
])  # fmt: skip
def test_a_credential_is_a_mistake_anywhere(tmp_path: Path, key: str, where: str) -> None:
    """However its key is spelt and wherever it is, the variable to use is named and the value is not."""
    entry = f'"{key}": {f"[{SECRET}]" if key[-1] == "s" else SECRET}'
    text = where.format(entry)
    found = mistakes_in(write(tmp_path, {"a.yaml": text, "b.yaml": TARGETS}))
    (mistake,) = (each for each in found if each.name == "credential")
    assert f"a.yaml:1:{text.index(f'{chr(34)}{key}') + 1}" in mistake.located
    prefix = "RECONCILER_A_B_" if "a/b" in where else "RECONCILER_<REGION>_<ENVIRONMENT>_"
    name = f"{prefix}CLIENT_{'ID' if key.lower().endswith('id') else 'SECRET'}"
    assert name in mistake.steps[0].text
    assert SECRET not in str(found)


@pytest.mark.parametrize("text", [
    f"clientSecret: {SECRET}", f"unknown: {SECRET}", f"unknown: {{deeper: [{SECRET}, {{x: {SECRET}}}]}}",
    f"targets: {{a/b: {{auth_url: 'https://me:{SECRET}@login.test', base_url: https://b.test}}}}",
    f"targets: {{a/b: {{auth_url: 'https://b.test/?key={SECRET}', base_url: https://b.test}}}}",
    f"targets: {{a/b: {{auth_url: https://a.test, base_url: https://b.test, vars: {{v: 'https://{SECRET}@x'}}}}}}",
    f'subscriptions: {{"*/*": {{one: {{eventCodes: [ONB10001], webhookUrl: "https://{SECRET}@h.test"}}}}}}',
    f'subscriptions: {{"*/*": {{one: {{eventCodes: [ONB10001], webhookUrl: "h.test?{SECRET}"}}}}}}',
    f'subscriptions: {{"*/*": {{one: {{eventCodes: [ONB10001], webhookUrl: "https://h.test/{{?{SECRET}"}}}}}}',
    f'subscriptions: {{"*/*": {{token: {SECRET}}}}}', f"recipients: [AGE-SECRET-KEY-1{SECRET}]",
    f"recipients: [{SECRET}]", f"recipients: {{a: {SECRET}}}",
    f"verification: {{header: X, algorithm: hmac-sha1, key: {SECRET}}}",
    f"state: postgresql://me:{SECRET}@db.test/records",
    f"state: postgresql://db.test/records?user=me&password={SECRET}",
    f"state: git+https://{SECRET}@git.test/x.git#state",
])  # fmt: skip
def test_a_secret_is_never_shown(tmp_path: Path, text: str) -> None:
    """Values of unknown keys, user info, passwords and queries are in no message, and in nothing that is used."""
    desired, problem = load_sound(write(tmp_path, {"a.yaml": text, "b.yaml": TARGETS}))
    assert SECRET not in f"{desired} {problem and problem.messages}"


@pytest.mark.parametrize("state", ["git+ssh://git@git.test/x.git#state", "postgresql://me@db.test/records", "s3://b/p"])
def test_a_place_may_name_a_user(tmp_path: Path, state: str) -> None:
    """Without a password it is no credential."""
    assert state == load_files(tmp_path, {"a.yaml": f"state: {state}"}).state


@pytest.mark.parametrize("place", PLACES)
def test_what_looks_like_a_secret_is_not_shown(tmp_path: Path, place: str) -> None:
    """Wherever it is, a value of letters and digits in disorder is described instead of quoted."""
    text = PLACES[place].format("aB3d/5gH7+K9mN1/Q3sT5")
    _, problem = load_sound(write(tmp_path, {"a.yaml": text, "b.yaml": TARGETS}))
    assert "aB3d" not in str(problem)


def test_names_that_only_sound_like_credentials_are_taken(tmp_path: Path) -> None:
    """A subscription may be called token, and a variable may hold the host of one."""
    text = """\
targets: {a/b: {auth_url: https://a.test, base_url: https://b.test, vars: {token_host: hooks.test, authority: x}}}
subscriptions:
  a/b:
    token: {eventCodes: [ONB10001], webhookUrl: "https://{token_host}"}
    secret: null
"""
    assert ["a/b/token"] == list(load_beside_targets(tmp_path, text).subscriptions)


@pytest.mark.parametrize("place", PLACES)
# Named, since the keys are drawn anew by each process.
@pytest.mark.parametrize(("secret", "what"), [
    (PASTED, f"the value of {STAGING_SECRET}"), (TOKEN, "an access token"),
    (AGE_KEY, "an age secret key"), (AGE_KEY.lower(), "an age secret key"),
], ids=["a variable", "a token", "an age key", "an age key in lower case"])  # fmt: skip
def test_a_pasted_secret_is_covered(tmp_path: Path, place: str, secret: str, what: str) -> None:
    """Wherever it is, in comments too, its place is reported and no part or consequence of it is shown."""
    text = "# a line\n" + PLACES[place].format(secret)
    config = write(tmp_path, {"0.yaml": "", "a.yaml": text, "b.yaml": TARGETS})
    found = mistakes_in(config, {STAGING_SECRET: PASTED})
    secrets = [each for each in found if each.name == "secret"]
    assert OTHERS.get(place, []) == [each.name for each in found if each not in secrets]
    assert secrets[0].located.startswith(f"{config}/a.yaml:2:")
    assert secrets[0].what.endswith(what)
    assert secret[8:16] not in str(found)


@pytest.mark.parametrize("text", [PEM, f"key: |\n  {PEM.replace(chr(10), chr(10) + '  ')}\n", f'key: "{PEM!r}"\n'])
def test_a_private_key_is_covered(tmp_path: Path, text: str) -> None:
    """A key in PEM is recognised, however it is quoted, and moves nothing that follows."""
    found = mistakes_in(write(tmp_path, {"a.yaml": f"{text}more: 1", "b.yaml": TARGETS}))
    assert "secret" in [each.name for each in found]
    assert text.count("\n") + 1 == (found[-1].place and found[-1].place.line)
    assert "MIGHAg" not in str(found)


@pytest.mark.parametrize("written", [
    """Zk3v w8/r'T5"uX2y\\B9nMü""", r"""Zk3v w8/r'T5\"uX2y\\B9nM\u00fc""", """Zk3v w8/r''T5"uX2y\\B9nMü""",
    "Zk3v%20w8%2Fr%27T5%22uX2y%5CB9nM%C3%BC", "Zk3v%20w8/r%27T5%22uX2y%5cB9nM%c3%bc",
    "Zk3v%20w8/r'T5%22uX2y%5CB9nM%C3%BC", "Zk3v+w8%2Fr%27T5%22uX2y%5CB9nM%C3%BC", r"""Zk3v w8/r'T5\"uX2y\\B9nMü""",
])  # fmt: skip
def test_a_secret_is_covered_in_every_spelling(tmp_path: Path, written: str) -> None:
    """As it is, as YAML quotes it, and percent-encoded in any way, though its target has a mistake."""
    config = write(tmp_path, {"a.yaml": f"{TARGETS}    overlap: x # {written}"})
    found = mistakes_in(config, {STAGING_SECRET: """Zk3v w8/r'T5"uX2y\\B9nMü"""})
    assert [("invalid-value", 14), ("secret", 18)] == [(each.name, each.place and each.place.column) for each in found]


@pytest.mark.parametrize("name", [
    STAGING_SECRET, "GITHUB_TOKEN", "GH_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "PGPASSWORD",
    "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS_TOKEN", "AZURE_CLIENT_SECRET",
])  # fmt: skip
def test_every_variable_with_a_secret_is_named(tmp_path: Path, name: str) -> None:
    """At each place of its value, though blanks stand around it, beside others that begin alike, or cannot be read."""
    config = write(tmp_path, {"a.yaml": f"{TARGETS}# ä hunter2-long, Tr0ubador, hunter2-long"})
    (config / "b.yaml").write_bytes(b"\xff")
    other = "RECONCILER_USA_STAGING_CLIENT_SECRET"
    *found, unread = mistakes_in(config, {"GITHUB_TOKEN": "hunter2-", other: "Tr0ubador", name: " hunter2-long\n"})
    assert [(name, "14:5"), (other, "14:19"), (name, "14:30")] == [
        (each.what.split()[-1], each.located.partition(".yaml:")[2]) for each in found
    ]
    assert "config-not-utf8" == unread.name


@pytest.mark.parametrize(("value", "names"), [
    *((value, ["secret"]) for value in ("hunter2-xy", "Troubador", "europe-staging-an", "a1" * 999)),
    *((value, []) for value in ("short", "europe-staging", "europe_staging")),
])  # fmt: skip
def test_a_value_that_no_text_contains_by_chance_is_a_secret(tmp_path: Path, value: str, names: list[str]) -> None:
    """A digit, a capital letter or sixteen characters are enough; short values and plain words are not searched for."""
    _, problem = load_sound(write(tmp_path, {"a.yaml": f"{TARGETS}# {value}"}), {STAGING_SECRET: value}.get)
    assert names == [each.name for each in (problem.messages if problem else ())]
