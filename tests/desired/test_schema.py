"""The JSON Schema and the loader are in step: one corpus of files is given to both."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft7Validator  # type: ignore[import-untyped]
from support.configs import EXAMPLE, ROOT, load_files

from desired.mistaken import KEY, MISTAKEN, in_subscription, in_target
from reconciler.desired import load, schema

SCHEMA = Draft7Validator(schema())
TARGET = "auth_url: https://x.test, base_url: https://x.test"
GOOD = [
    "", "# nothing\n", "targets: {}\nsubscriptions: {}\n", f"recipients: [{KEY}]\nparity: {{}}\n",
    "state: s3://bucket/prefix\nrecord: 5f0c8f5e9a1d4b7c8e2f3a4b5c6d7e8f", "record: 12345678901234567890123456789012",
    f"targets: {{a/b: {{{TARGET}, vars: {{hooks: https://y.test, number: 0123, word: yes, two_words: a b}}}}}}",
    "targets: {a/b: {auth_url: http://localhost:8080/x, base_url: 'HTTP://[::1]:1', audience_base: http://127.0.0.2}}",
    "targets: {a-1/2: {auth_url: https://x_y.test/a/@, base_url: 'https://[2001:db8::1]:65535/a%20b'}}",
    f"targets: {{a/b: {{{TARGET}, overlap: allow, replace: wait, unknown: retry}}}}\nsubscriptions: {{}}",
    f"""\
targets: {{a/b: {{{TARGET}, vars: {{v: 's://y'}}}}}}
subscriptions:
  a/b: {{one: {{eventCodes: [ABC00000], webhookUrl: https://y.test?q}}}}
  "*/*": {{two: {{eventCodes: [ONB10001], webhookUrl: "http{{v}}.test/{{region}}/{{attempt}}/{{{{x}}}}"}}}}
""",
    'parity: {ignore: [{address: 1, reason: 2026}, {address: "*/b/one", reason: "a\\n\\nb"}, {address: x, reason: n}]}',
    """\
verification: {header: 1, algorithm: hmac-sha1, prefix: 1, encoding: base64, key_encoding: utf8, enforce: false,
  content: "{header:X-Time}.{body}"}
""", "parity: {ignore: []}",
    *EXAMPLE.values(),
]  # fmt: skip
"""Files that the loader accepts, as a configuration of its own each."""

LOADER_ONLY = {
    "undeclared-target": "a target of another file", "state-password": "what is a password",
    "empty-subscription": "another spelling of null, or none", "missing-field": "a field that another file could have",
    "unknown-variable": "a variable of another file",
    "retry-without-attempt": "a URL of another file", "url-too-long": "a length without its variables",
}  # fmt: skip
"""Mistakes that a schema does not find."""

ALSO = {
    'targets: {¦"a/b\\n": {}}',
    in_subscription('{eventCodes: [¦"ONB10001\\n"], webhookUrl: https://x.test}'),
    'verification: {header: X, algorithm: hmac-sha1, prefix: ¦"a\\n"}',
    "record: ¦0123",
    in_subscription('{eventCodes: [ONB10001], webhookUrl: ¦"{hooks}/{{attempt}}"}'),
    "verification: {header: X, algorithm: hmac-sha1, enforce: ¦True}",
    "verification: {header: X, algorithm: hmac-sha1, enforce: ¦yes}",  # YAML 1.1, as read here
    f"recipients: [¦{KEY[:-1]}q]",
    f"recipients: [{KEY}, ¦{KEY[:30]}z{KEY[31:]}]",
    'state: ¦"a\\u202eb"',
    'parity: {ignore: [{address: x, reason: ¦"a\\u202e"}]}',
    in_subscription('{eventCodes: [ONB10001], webhookUrl: ¦"https://{attempt}.x.test/"}'),
    in_subscription('{eventCodes: [ONB10001], webhookUrl: ¦"{hooks}/#{attempt}"}'),
    in_target('vars: {hooks: ¦"a\\tb\\u0007"}, {ok}'),
}
"""The others: line breaks at the end, checksums, spellings, unprintable characters, `{attempt}` in the wrong place."""


@pytest.mark.parametrize(("marked", "name"), MISTAKEN)
def test_the_schema_finds_what_the_loader_finds(marked: str, name: str) -> None:
    """A file with a mistake is not valid, unless no schema can see it."""
    valid = SCHEMA.is_valid(yaml.load(marked.replace("¦", ""), yaml.CSafeLoader))
    assert (name in LOADER_ONLY or marked in ALSO) == valid


@pytest.mark.parametrize("text", GOOD)
def test_what_the_loader_accepts_is_valid(tmp_path: Path, text: str) -> None:
    """Every sound file is valid under the schema, however YAML reads its scalars."""
    assert [] == list(SCHEMA.iter_errors(yaml.load(text, yaml.CSafeLoader)))
    if "\ntargets:" in f"\n{text}":
        load_files(tmp_path, {"tested.yaml": text})


def test_the_schema_is_beside_the_configuration() -> None:
    """The repository has the current schema in `config/`, and the example loads with placeholders only."""
    assert schema() == json.loads(ROOT.joinpath("config/.schema.json").read_text())
    assert all(text.startswith("# yaml-language-server: $schema=.schema.json\n") for text in EXAMPLE.values())
    desired = load(ROOT / "config")
    targets = ["europe/production", "europe/staging", "usa/production", "usa/staging"]
    assert targets == list(desired.targets)
    assert [f"{target}/{name}" for target in targets for name in ("applications", "offers")] == list(
        desired.subscriptions
    )
    assert {"placeholder-host"} == {each.name for each in desired.warnings}
