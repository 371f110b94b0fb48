"""What a sound configuration comes to."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import astuple
from pyrage import x25519  # type: ignore[import-untyped]
from support.configs import TARGETS, load_beside_targets, load_files, write

from reconciler.desired import load
from reconciler.errors import ConfigError
from reconciler.mistake import Place
from reconciler.model.address import TargetName
from reconciler.model.desired import (
    Desired,
    Overlap,
    ParityException,
    Replace,
    Target,
    Verification,
)

if TYPE_CHECKING:
    from pathlib import Path

DOCUMENTED = """\
targets:
  europe/staging:
    auth_url: https://login.staging.example/
    base_url: https://api.eu.staging.example//
    audience_base: https://api.staging.example
    vars: {hooks: https://hooks.staging.partner.example}
    overlap: refuse
    replace: wait
  usa/production:
    auth_url: http://127.0.0.1:8080
    base_url: http://localhost:8080/usa/
    vars: {hooks: https://hooks.partner.example}
    overlap: allow

subscriptions:
  "*/*":
    applications:
      eventCodes: [ONB10001, ONB10002, ONB10003, ONB10004, LOA10013]
      webhookUrl: "{hooks}/{region}/applications"
    offers: {eventCodes: [ONB10011], webhookUrl: "{hooks}/{environment}/{name}"}
  usa/production:
    applications:
      webhookUrl: https://hooks.us.partner.example/applications
    offers: null
"""


def test_the_documented_example_loads_whole(tmp_path: Path) -> None:
    """Targets, defaults, patterns, variables and `null` come to the values that are promised."""
    config = write(tmp_path, {"all.yaml": DOCUMENTED})
    file = str(config / "all.yaml")
    desired = load(config)
    codes = ("LOA10013", "ONB10001", "ONB10002", "ONB10003", "ONB10004")
    assert {
        "europe/staging": Target(
            TargetName("europe/staging"), "https://login.staging.example", "https://api.eu.staging.example",
            "https://api.staging.example", Overlap.REFUSE, Replace.WAIT, Place(file, 2, 3),
        ),
        "usa/production": Target(
            TargetName("usa/production"), "http://127.0.0.1:8080", "http://localhost:8080/usa",
            "http://localhost:8080/usa", Overlap.ALLOW, Replace.OVERLAP, Place(file, 9, 3),
        ),
    } == desired.targets  # fmt: skip
    assert [
        ("europe/staging/applications", codes, "https://hooks.staging.partner.example/europe/applications",
         "{hooks}/{region}/applications", Place(file, 17, 5)),
        ("europe/staging/offers", ("ONB10011",), "https://hooks.staging.partner.example/staging/offers",
         "{hooks}/{environment}/{name}", Place(file, 20, 5)),
        ("usa/production/applications", codes, "https://hooks.us.partner.example/applications",
         "https://hooks.us.partner.example/applications", Place(file, 22, 5)),
    ] == [(*astuple(one)[:-1], one.place) for one in desired.subscriptions.values()]  # fmt: skip
    assert (list(desired.subscriptions), ()) == (
        [one.address for one in desired.subscriptions.values()],
        desired.warnings,
    )


def test_an_empty_file_says_nothing(tmp_path: Path) -> None:
    """A file that is empty, or holds only comments or a document's beginning, is no mistake."""
    assert Desired({}, {}) == load_files(tmp_path, {"a.yaml": "", "b.yml": "# nothing\n", "c.yaml": "---\n"})


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    """A file that begins with a UTF-8 byte order mark is read like any other."""
    assert 3 == len(load_files(tmp_path, {"a.yaml": "\ufeff" + TARGETS}).targets)


def test_strings_stay_strings(tmp_path: Path) -> None:
    """What YAML would coerce (no, 0123, 1.0, dates) is put into a URL as it was written."""
    text = """\
targets:
  no/0123:
    auth_url: https://login.example
    base_url: https://api.example
    vars: {yes: no, number: 0123, float: 1.0, "on": 2001-01-01, empty: ""}
subscriptions:
  no/0123:
    0x1f: {eventCodes: [ONB10001], webhookUrl: "https://hooks.example/{yes}/{number}/{float}/{on}{empty}/{region}/{name}"}
"""
    (one,) = load_files(tmp_path, {"a.yaml": text}).subscriptions.values()
    assert ("no/0123/0x1f", "https://hooks.example/no/0123/1.0/2001-01-01/no/0x1f") == (one.address, one.url)


def test_variables_are_substituted_once(tmp_path: Path) -> None:
    """A variable's value is not looked into again, and doubled braces are braces."""
    text = """\
targets:
  a/b:
    auth_url: https://login.example
    base_url: https://api.example
    vars: {hooks: "https://hooks.example/{region}{{"}
subscriptions:
  a/b:
    one: {eventCodes: [ONB10001], webhookUrl: "{hooks}/{{region}}/{{{region}}}"}
"""
    (one,) = load_files(tmp_path, {"a.yaml": text}).subscriptions.values()
    assert "https://hooks.example/{region}{{/{region}/{a}" == one.url


def test_sections_may_stand_in_any_file(tmp_path: Path) -> None:
    """Targets, patterns and the subscriptions under one pattern may be spread over files."""
    first = '{eventCodes: [ONB10001], webhookUrl: "{hooks}/1"}'
    second = '{eventCodes: [ONB10002], webhookUrl: "{hooks}/2"}'
    desired = load_files(
        tmp_path,
        {
            "z.yaml": TARGETS,
            "a/b.yml": f'subscriptions: {{"europe/*": {{one: {first}}}}}',
            "c.yaml": f'subscriptions: {{"europe/*": {{two: {second}}}}}',
            "d.yaml": "targets: {x/y: {auth_url: https://a.example, base_url: https://b.example}}",
        },
    )
    assert [f"europe/{rest}" for rest in ("production/one", "production/two", "staging/one", "staging/two")] == list(
        desired.subscriptions
    )
    assert ["europe/production", "europe/staging", "usa/staging", "x/y"] == list(desired.targets)


def test_recipients_verification_and_parity_are_read(tmp_path: Path) -> None:
    """The sections that stand once come out as values."""
    keys = sorted(str(x25519.Identity.generate().to_public()) for _ in range(2))
    desired = load_beside_targets(
        tmp_path,
        f"""\
recipients: [{keys[1]}, {keys[0]}]
verification:
  header: X-Signature
  algorithm: hmac-sha512
  prefix: "sha512="
  encoding: base64
  key_encoding: hex
  content: "{{header:X-Timestamp}}.{{body}}"
  enforce: false
parity:
  ignore:
    - address: "*/production/offers"
      reason: >
        sold in one
        region only
    - {{address: offers, reason: "no"}}
""",
    )
    assert (keys[1], keys[0]) == desired.recipients
    content = "{header:X-Timestamp}.{body}"
    assert Verification("X-Signature", "hmac-sha512", "sha512=", "base64", "hex", content, enforce=False) == (
        desired.verification
    )
    file = str(tmp_path / "config" / "tested.yaml")
    assert (
        ParityException("*/production/offers", "sold in one region only\n", Place(file, 12, 7)),
        ParityException("offers", "no", Place(file, 16, 7)),
    ) == desired.parity_ignore


def test_verification_has_defaults(tmp_path: Path) -> None:
    """Only the header and the algorithm must be given; `enforce: true` is what holds anyway."""
    text = "verification: {header: X-Signature, algorithm: hmac-sha1, enforce: true}"
    assert Verification("X-Signature", "hmac-sha1") == load_beside_targets(tmp_path, text).verification


def test_parity_may_ignore_nothing(tmp_path: Path) -> None:
    """`parity: {}` is a mapping without exceptions."""
    assert () == load_beside_targets(tmp_path, "parity: {}").parity_ignore


def test_an_unfamiliar_family_is_a_warning_at_its_place(tmp_path: Path) -> None:
    """A code of another family than ONB and LOA is taken, and warned of once, however many targets it is for."""
    text = 'subscriptions: {"*/*": {one: {eventCodes: [XYZ00001], webhookUrl: "{hooks}/one"}}}'
    desired = load_beside_targets(tmp_path, text)
    (warning,) = desired.warnings
    assert (1, text.index("XYZ") + 1) == (warning.place.line, warning.place.column)
    assert "XYZ00001" in warning.what
    assert {("XYZ00001",)} == {one.codes for one in desired.subscriptions.values()}


def test_the_environment_lies_over_the_configuration(tmp_path: Path) -> None:
    """An override replaces what is written, makes up for what is not, and loses its trailing slashes too."""
    said = {
        ("a/b", "AUTH_URL"): ("http://127.0.0.1:9/login/", "VARIABLE"),
        ("a/b", "BASE_URL"): ("http://127.0.0.1:9", "VARIABLE"),
    }
    config = write(tmp_path, {"a.yaml": "targets: {a/b: {base_url: https://api.example, vars: {}}}"})
    target = load(config, lambda target, field: said.get((target, field))).targets[TargetName("a/b")]
    assert ("http://127.0.0.1:9/login", "http://127.0.0.1:9", "http://127.0.0.1:9") == (
        target.auth_url, target.base_url, target.audience_base,
    )  # fmt: skip


def test_a_bad_override_is_a_mistake_that_names_its_variable(tmp_path: Path) -> None:
    """Values from the environment obey the rules of URLs; each mistake stands at the target and shows no value."""
    config = write(tmp_path, {"a.yaml": "targets:\n  a/b: {}\n"})
    with pytest.raises(ConfigError) as caught:
        load(config, lambda target, field: ("https://user:hunter2@x.example", f"{target.variable_prefix}{field}"))
    names = [f"RECONCILER_A_B_{field}" for field in ("AUDIENCE_BASE", "AUTH_URL", "BASE_URL")]
    assert [(2, 3, name) for name in names] == [
        (one.place.line, one.place.column, one.what.split()[2]) for one in caught.value.mistakes
    ]
    assert "hunter2" not in "".join(map(str, caught.value.mistakes))


def test_missing_addresses_name_the_variable_that_would_do(tmp_path: Path) -> None:
    """A target without auth_url and base_url is told of both, at its own place."""
    config = write(tmp_path, {"a.yaml": "targets:\n  north-west/b: {}\n"})
    with pytest.raises(ConfigError) as caught:
        load(config)
    assert [
        "2:3: north-west/b: missing auth_url; add `auth_url: https://…`, or set RECONCILER_NORTH_WEST_B_AUTH_URL",
        "2:3: north-west/b: missing base_url; add `base_url: https://…`, or set RECONCILER_NORTH_WEST_B_BASE_URL",
    ] == [str(mistake).partition("a.yaml:")[2] for mistake in caught.value.mistakes]


def test_the_room_imports_nothing_heavy() -> None:
    """Every plan pays for what is imported here: PyYAML and the standard library's light part."""
    heavy = "pydantic httpx rich deepdiff asyncio importlib.metadata difflib click pyrage cryptography"
    code = f"import sys, reconciler.desired; print(*[name for name in {heavy.split()} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
