"""A sound configuration as values."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import astuple
from pyrage import x25519  # type: ignore[import-untyped]
from support.configs import TARGETS, load_beside_targets, load_files, mistakes_in, write

from reconciler.errors import Place
from reconciler.model.address import TargetName
from reconciler.model.desired import Desired, Overlap, ParityException, Replace, Target, Unknown, Verification

DOCUMENTED = """\
state: git:reconciler-state
record: 5f0c8f5e9a1d4b7c8e2f3a4b5c6d7e8f
targets:
  europe/staging:
    auth_url: https://login.staging.test/
    base_url: https://api.eu.staging.test//
    audience_base: https://api.staging.test
    vars: {hooks: https://hooks.staging.partner.test}
    overlap: refuse
    replace: wait
    unknown: wait
  usa/production:
    auth_url: http://127.0.0.1:8080
    base_url: http://localhost:8080/usa/
    vars: {hooks: https://hooks.partner.test}
    overlap: allow

subscriptions:
  "*/*":
    applications:
      eventCodes: [ONB10001, ONB10002, ONB10003, ONB10004, LOA10013]
      webhookUrl: "{hooks}/{region}/applications/{attempt}"
    offers: {eventCodes: [ONB10011], webhookUrl: "{hooks}/{environment}/{name}"}
  usa/production:
    applications:
      webhookUrl: https://hooks.us.partner.test/applications
    offers: null
"""


def test_the_documented_example_loads_whole(tmp_path: Path) -> None:
    """Targets, defaults, patterns, variables and `null` come to the values that are promised."""
    desired = load_files(tmp_path, {"all.yaml": DOCUMENTED})
    file = str(tmp_path / "config" / "all.yaml")
    codes = ("LOA10013", "ONB10001", "ONB10002", "ONB10003", "ONB10004")
    assert ("git:reconciler-state", "5f0c8f5e9a1d4b7c8e2f3a4b5c6d7e8f") == (desired.state, desired.record)
    assert {
        "europe/staging": Target(
            TargetName("europe/staging"), "https://login.staging.test", "https://api.eu.staging.test",
            "https://api.staging.test", Overlap.REFUSE, Replace.WAIT, Unknown.WAIT, Place(file, 4, 3),
        ),
        "usa/production": Target(
            TargetName("usa/production"), "http://127.0.0.1:8080", "http://localhost:8080/usa",
            "http://localhost:8080/usa", Overlap.ALLOW, Replace.OVERLAP, Unknown.WAIT, Place(file, 12, 3),
        ),
    } == desired.targets  # fmt: skip
    assert [
        ("europe/staging/applications", codes, "https://hooks.staging.partner.test/europe/applications/{attempt}",
         "{hooks}/{region}/applications/{attempt}", Place(file, 20, 5)),
        ("europe/staging/offers", ("ONB10011",), "https://hooks.staging.partner.test/staging/offers",
         "{hooks}/{environment}/{name}", Place(file, 23, 5)),
        ("usa/production/applications", codes, "https://hooks.us.partner.test/applications",
         "https://hooks.us.partner.test/applications", Place(file, 25, 5)),
    ] == [astuple(each) for each in desired.subscriptions.values()]  # fmt: skip
    assert () == desired.warnings


def test_an_empty_file_says_nothing(tmp_path: Path) -> None:
    """A file that is empty, or holds only comments or a document's beginning, is no mistake."""
    assert Desired({}, {}) == load_files(tmp_path, {"a.yaml": "", "b.yml": "# nothing\n", "c.yaml": "---\n"})


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    """A file that begins with a UTF-8 byte order mark is read like any other."""
    assert 3 == len(load_files(tmp_path, {"a.yaml": "\ufeff" + TARGETS}).targets)


def test_strings_stay_strings(tmp_path: Path) -> None:
    """Values that YAML would coerce (no, 0123, 1.0, dates) are substituted as they were written."""
    text = """\
targets:
  no/0123:
    auth_url: https://login.test
    base_url: https://api.test
    vars: {yes: no, number: 0123, float: 1.0, "on": 2001-01-01, empty: ""}
subscriptions:
  no/0123:
    0x1f: {eventCodes: [ONB10001], webhookUrl: "https://hooks.test/{yes}/{number}/{float}/{on}{empty}/{region}/{name}"}
"""
    (each,) = load_files(tmp_path, {"a.yaml": text}).subscriptions.values()
    assert ("no/0123/0x1f", "https://hooks.test/no/0123/1.0/2001-01-01/no/0x1f") == (each.address, each.template)


def test_variables_are_substituted_once(tmp_path: Path) -> None:
    """A variable's value is not looked into again, and doubled braces are braces."""
    text = """\
targets: {a/b: {auth_url: https://l.test, base_url: https://b.test, vars: {hooks: "https://hooks.test/{region}{{"}}}
subscriptions:
  a/b:
    one: {eventCodes: [ONB10001], webhookUrl: "{hooks}/{{region}}/{{{region}}}"}
    two: {eventCodes: [ONB10002], webhookUrl: "https://hooks.test/}}"}
"""
    one, two = load_files(tmp_path, {"a.yaml": text}).subscriptions.values()
    assert ("https://hooks.test/{region}{{/{region}/{a}", "https://hooks.test/}") == (one.template, two.template)


def test_recipients_verification_and_parity_are_read(tmp_path: Path) -> None:
    """The sections that are given once come out as values."""
    keys = sorted((str(x25519.Identity.generate().to_public()) for _ in range(2)), reverse=True)
    desired = load_beside_targets(
        tmp_path,
        f"""\
recipients: [{", ".join(keys)}]
verification: {{header: X-Signature, algorithm: hmac-sha512, prefix: "sha512=", encoding: base64, key_encoding: hex,
  content: "{{header:X-Timestamp}}.{{body}}", enforce: false}}
parity:
  ignore:
    - address: "*/production/offers"
      reason: >
        sold in one
        region only
    - {{address: offers, reason: "no\\t\\r"}}
""",
    )
    assert tuple(keys) == desired.recipients
    content = "{header:X-Timestamp}.{body}"
    assert Verification("X-Signature", "hmac-sha512", "sha512=", "base64", "hex", content, enforce=False) == (
        desired.verification
    )
    file = str(tmp_path / "config" / "tested.yaml")
    assert (
        ParityException("*/production/offers", "sold in one region only\n", Place(file, 6, 7)),
        ParityException("offers", "no\t\r", Place(file, 10, 7)),
    ) == desired.parity_ignore


def test_verification_has_defaults(tmp_path: Path) -> None:
    """Only the header and the algorithm must be given."""
    text = "verification: {header: X-Signature, algorithm: hmac-sha1, enforce: true}"
    assert Verification("X-Signature", "hmac-sha1") == load_beside_targets(tmp_path, text).verification
    assert () == load_beside_targets(tmp_path, "parity: {}").parity_ignore


def test_files_that_are_not_read_are_reported(tmp_path: Path) -> None:
    """All but hidden ones, such as those of editors and of git, and pages."""
    unread = [f"{name}.txt" for name in "fbdaec"]
    files = {"all.yaml": "targets: {}", **dict.fromkeys((".gitignore", "README.md", "below/notes.txt", *unread), "")}
    found = [each.located.removeprefix(f"{tmp_path}/config/") for each in load_files(tmp_path, files).unread]
    assert [f"{name}:1:1" for name in sorted([*unread, "below/notes.txt"])] == found


A_B = "targets:\n  a/b: {base_url: https://api.test, vars: {}}\n"


def test_the_environment_overrides_the_configuration(tmp_path: Path) -> None:
    """A variable replaces what is written, makes up for what is not, and is noted; an empty one is unset."""
    variables = {
        "RECONCILER_A_B_AUTH_URL": "http://127.0.0.1:9/login/",
        "RECONCILER_A_B_BASE_URL": "http://127.0.0.1:9",
        "RECONCILER_A_B_AUDIENCE_BASE": "",
    }
    (target,) = load_files(tmp_path, {"a.yaml": A_B}, variables).targets.values()
    assert ("http://127.0.0.1:9/login", "http://127.0.0.1:9", "http://127.0.0.1:9", ("auth_url", "base_url")) == (
        target.auth_url, target.base_url, target.audience_base, target.overridden,
    )  # fmt: skip
    (same,) = load_files(tmp_path, {"a.yaml": A_B}, dict.fromkeys(variables, "https://api.test")).targets.values()
    assert ("auth_url", "base_url", "audience_base") == same.overridden


def test_a_bad_override_is_a_mistake_that_names_its_variable(tmp_path: Path) -> None:
    """Values from the environment obey the rules of URLs, as do those they replace; none is shown."""
    names = [f"RECONCILER_A_B_{field}" for field in ("AUDIENCE_BASE", "AUTH_URL", "BASE_URL")]
    found = mistakes_in(write(tmp_path, {"a.yaml": A_B}), dict.fromkeys(names, "https://user:hunter2@x.test"))
    assert [(2, 3, name) for name in names] == [
        (each.place.line, each.place.column, each.what.split()[2]) for each in found if each.place
    ]
    assert "hunter2" not in "".join(map(str, found))
    config = write(tmp_path, {"a.yaml": A_B.replace("https:", "ftp:")})
    assert ["url-scheme"] == [each.name for each in mistakes_in(config, dict.fromkeys(names, "https://x.test"))]


def test_missing_addresses_name_the_variable_that_would_do(tmp_path: Path) -> None:
    """A target without auth_url and base_url is told of both, at its own place."""
    found = mistakes_in(write(tmp_path, {"a.yaml": "targets:\n  north-west/b: {}\n"}))
    assert ["missing-address", "missing-address"] == [each.name for each in found]
    assert ["RECONCILER_NORTH_WEST_B_AUTH_URL", "RECONCILER_NORTH_WEST_B_BASE_URL"] == [
        each.steps[0].text.split()[-1] for each in found
    ]


KEYS = sorted((str(x25519.Identity.generate().to_public()) for _ in range(2)), reverse=True)


def test_recipients_of_the_environment(tmp_path: Path) -> None:
    """The variable takes the place of the section, in which the order makes no difference."""
    variables = {"RECONCILER_RECIPIENTS": f"{','.join(KEYS)}, {KEYS[0]}"}
    assert tuple(KEYS) == load_files(tmp_path, {"a.yaml": A_B}, {**variables, **AUTH}).recipients
    both = {"a.yaml": f"{A_B}recipients: [{KEYS[1]}, {KEYS[0]}]"}
    assert (KEYS[1], KEYS[0]) == load_files(tmp_path, both, {**variables, **AUTH}).recipients


AUTH = {"RECONCILER_A_B_AUTH_URL": "https://login.test"}


def test_other_recipients_in_the_environment_are_a_mistake(tmp_path: Path) -> None:
    """Nobody who sets a variable may read what `config/` did not allow, and no bad key is taken."""
    for written, given in ((1, 2), (2, 1)):
        config = write(tmp_path, {"a.yaml": f"{A_B}recipients: [{', '.join(KEYS[:written])}]"})
        (mistake,) = mistakes_in(config, {"RECONCILER_RECIPIENTS": " ".join(KEYS[:given]), **AUTH})
        assert ("other-recipients", 3) == (mistake.name, mistake.place and mistake.place.line)
    config = write(tmp_path, {"a.yaml": f"{A_B}recipients: [age1x]"})
    bad, other = mistakes_in(config, {"RECONCILER_RECIPIENTS": "age1x", **AUTH})
    assert ("bad-recipient", "RECONCILER_RECIPIENTS", None) == (bad.name, bad.where, bad.place)
    assert "bad-recipient" == other.name


@pytest.mark.parametrize(("typo", "given"), [
    (", age1x", KEYS[1]), (", []", KEYS[1]), (f", {KEYS[1]}", "age1x"),
], ids=["in the list", "of another kind", "in the variable"])  # fmt: skip
def test_recipients_with_a_mistake_are_not_compared(tmp_path: Path, typo: str, given: str) -> None:
    """What is written wrong in the list, or in the variable, is one mistake, whatever the other one names."""
    config = write(tmp_path, {"a.yaml": f"{A_B}recipients: [{KEYS[0]}{typo}]"})
    assert 1 == len(mistakes_in(config, {"RECONCILER_RECIPIENTS": f"{KEYS[0]} {given}", **AUTH}))
