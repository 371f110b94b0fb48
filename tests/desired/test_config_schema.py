"""The JSON Schema and the loader are in step: one corpus of files is given to both."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.desired_configs import EXAMPLE, load_files, write
from support.mistaken_configs import KEY, MISTAKEN, in_subscription

from reconciler.desired import patches, sections, targets
from reconciler.desired.schema import schema
from reconciler.desired.single_sections import PARITY_KEYS, VERIFICATION_KEYS
from reconciler.reports.documents import render

if TYPE_CHECKING:
    from support.project import Project

ROOT = Path(__file__).parents[2]

TARGET = "auth_url: https://x.example, base_url: https://x.example"
GOOD = [
    "",
    "# nothing\n",
    "targets: {}\nsubscriptions: {}\n",
    f"targets: {{a/b: {{{TARGET}, vars: {{hooks: https://y.example, number: 0123, word: yes, two_words: a b}}}}}}",
    "targets: {a/b: {auth_url: http://localhost:8080/x, base_url: 'HTTP://[::1]:1', audience_base: http://127.0.0.2}}",
    "targets: {a-1/2: {auth_url: https://x_y.example/a/@, base_url: 'https://[2001:db8::1]:65535/a%20b'}}",
    f"targets: {{a/b: {{{TARGET}, overlap: allow, replace: wait}}}}\nsubscriptions: {{'*/b': {{}}, a/*: {{x: null}}}}",
    f"""\
targets: {{a/b: {{{TARGET}, vars: {{v: 's://y'}}}}}}
subscriptions:
  a/b: {{one: {{eventCodes: [ABC00000], webhookUrl: https://y.example?q}}}}
  "*/*": {{two: {{eventCodes: [ONB10001], webhookUrl: "http{{v}}.example/{{region}}/{{{{x}}}}"}}}}
""",
    f"recipients: [{KEY}]\nparity: {{}}\n",
    "parity: {ignore: []}",
    """\
parity:
  ignore: [{address: 1, reason: 2026}, {address: "*/b/one", reason: "a\\n\\n  b"}, {address: x, reason: no}]
""",
    """\
verification: {header: 1, algorithm: hmac-sha1, prefix: 1, encoding: base64, key_encoding: utf8, enforce: false,
  content: "{header:X-Time}.{body}"}
""",
]
"""Files that the loader accepts, as a configuration of its own each."""

LOADER_ONLY = {
    'targets: {¦"a/b\\n": {}}': "a line break at the end of a key, which the pattern of a key does not see everywhere",
    "subscriptions: {europe/staging: {one: ¦}}": "no value, which is null",
    in_subscription("¦~"): "another spelling of null",
    in_subscription("¦Null"): "another spelling of null",
    "verification: {header: X, algorithm: hmac-sha1, enforce: ¦True}": "another spelling of true",
    f"recipients: [¦{KEY[:-1]}q]": "a checksum",
    f"recipients: [{KEY}, ¦{KEY[:30]}z{KEY[31:]}]": "a checksum",
    'parity: {ignore: [{address: x, reason: ¦"a\\u202e"}]}': "a character that is not printable",
    in_subscription('{eventCodes: [ONB10001], webhookUrl: ¦"{hook}/x"}'): "a variable that the target does not have",
    in_subscription("¦SAME: {eventCodes: [ONB10001]}"): "a field that another file could have",
    in_subscription("¦SAME: {}"): "fields that another file could have",
}
"""The mistakes that a schema does not find, and what it cannot see."""


def refused(tmp_path: Path, texts: list[str]) -> set[str]:
    """Those of the files that are not valid under the schema."""
    names = {f"{number}.yaml": text for number, text in enumerate(texts)}
    folder = write(tmp_path, {**names, "schema.json": render(schema())})
    done = subprocess.run(
        [Path(sys.executable).parent / "check-jsonschema", "-o", "json", "--schemafile", "schema.json", *names],
        cwd=folder, check=False, stdout=subprocess.PIPE,
    )  # fmt: skip
    said = json.loads(done.stdout)
    return {names[Path(one["filename"]).name] for one in (*said["errors"], *said["parse_errors"])}


def test_the_schema_finds_what_the_loader_finds(tmp_path: Path) -> None:
    """All that the loader accepts is valid; of what it refuses, all but what no schema can see is not.

    That the loader refuses these files, and why, is what test_desired_mistakes.py is about.
    """
    mistaken = {marked.replace("¦", ""): marked for marked in MISTAKEN}
    good = [*GOOD, *EXAMPLE.values()]
    found = refused(tmp_path, [*mistaken, *good])
    assert set() == found & {*good}
    assert set(LOADER_ONLY) == {mistaken[text] for text in {*mistaken} - found}


@pytest.mark.parametrize("text", GOOD)
def test_the_loader_accepts_what_is_good(tmp_path: Path, text: str) -> None:
    """So that the other test is about files of which that is true."""
    load_files(tmp_path, {"tested.yaml": text})


def keys(part: dict[str, Any]) -> set[str]:
    """The names that a mapping may have."""
    return {*part["properties"]}


def test_the_schema_has_the_loader_s_keys() -> None:
    """Those of each mapping, and each section says what it is for."""
    sections_of = schema()["properties"]
    (target,) = sections_of["targets"]["patternProperties"].values()
    (named,) = sections_of["subscriptions"]["patternProperties"].values()
    (subscription,) = named["patternProperties"].values()
    assert set(sections.KEYS) == {*sections_of}
    assert (set(targets._KEYS), set(patches._KEYS)) == (keys(target), keys(subscription))
    assert set(VERIFICATION_KEYS) == keys(sections_of["verification"])
    assert set(PARITY_KEYS) == keys(sections_of["parity"]["properties"]["ignore"]["items"])
    assert all(part["description"] for part in sections_of.values())


def test_what_is_printed_is_beside_the_configuration(project: Project) -> None:
    """The command prints what `init` writes, and what the repository has in config/; the files name it."""
    printed = project.succeed("schema").out
    project.step("init")
    assert printed == project.read("config/.schema.json")
    assert printed == ROOT.joinpath("config/.schema.json").read_text(encoding="utf-8")
    for name in EXAMPLE:
        assert project.read(f"config/{name}").startswith("# yaml-language-server: $schema=.schema.json\n")
