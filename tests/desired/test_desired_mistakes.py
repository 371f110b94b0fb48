"""Every mistake that the grammar knows, at its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.desired_configs import (
    TARGETS,
    assert_mistakes,
    load_beside_targets,
    marked_places,
    mistakes_in,
    no_override,
    write,
)

from reconciler.desired import load, merging
from reconciler.desired.mistakes import shown
from reconciler.desired.templates import expand
from reconciler.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

KEY = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"

SECTIONS = [
    ("¦target: {}", "did you mean 'targets'?); valid keys: parity, recipients, subscriptions, targets, verification"),
    ("targets: ¦[a/b]", "targets: expected a mapping, got a list; write `key: value` lines, indented beneath it"),
    ("targets:¦", "targets: expected a mapping, got no value"),
    ("subscriptions: ¦~", "subscriptions: expected a mapping, got no value"),
    ("subscriptions: ¦null", "subscriptions: expected a mapping, got no value"),
    ("subscriptions: ¦text", "subscriptions: expected a mapping, got text"),
]
NAMES = [
    (
        "targets: {¦Europe/staging: {}}",
        (
            "expected a target region/environment, got 'Europe/staging';"
            " use a-z, 0-9 and -, starting with a letter or digit"
        ),
    ),
    ("targets: {¦europe: {}}", "expected a target region/environment"),
    ("targets: {¦a/b/c: {}}", "expected a target region/environment"),
    ("targets: {¦-a/b: {}}", "expected a target region/environment"),
    ('targets: {¦"*/b": {}}', "expected a target region/environment"),
    ('targets: {¦"a/b\\n": {}}', "got 'a/b\\n'"),
    ("subscriptions: {¦europe: {}}", "expected a pattern region/environment (either may be *), got"),
    ("subscriptions: {¦europe/stag*: {}}", "expected a pattern region/environment (either may be *), got"),
    ("subscriptions: {¦europe/staging/x: {}}", "expected a pattern region/environment (either may be *), got"),
    ("subscriptions: {europe/staging: {¦One: null}}", "expected a subscription name, got"),
    ("subscriptions: {europe/staging: {¦a_b: null}}", "expected a subscription name, got"),
    ('subscriptions: {europe/staging: {¦"": null}}', "expected a subscription name, got"),
    ("subscriptions: {europe/staging: ¦}", "europe/staging: expected a mapping, got no value"),
    (
        "subscriptions: {europe/staging: {one: ¦}}",
        "one: no value; to exclude the subscription here, write `null` in full",
    ),
    ("subscriptions: {europe/staging: ¦[one]}", "europe/staging: expected a mapping"),
]
SUBSCRIPTIONS = [
    ("¦~", "one: no value; to exclude the subscription here, write `null`"),
    ("¦Null", "one: no value; to exclude the subscription here, write `null`"),
    ('¦"null"', "one: expected a mapping, got text"),
    ("¦[]", "one: expected a mapping, got a list"),
    (
        "{¦eventCode: [], eventCodes: [ONB10001], webhookUrl: https://x.example}",
        "unknown key 'eventCode' in one (did you mean 'eventCodes'?); valid keys: eventCodes, webhookUrl",
    ),
    (
        "{eventCodes: ¦[], webhookUrl: https://x.example}",
        "eventCodes is empty; add a code, or write null for the subscription to exclude it",
    ),
    ("{eventCodes: ¦ONB10001, webhookUrl: https://x.example}", "eventCodes: expected a list, got text"),
    ("{eventCodes: ¦null, webhookUrl: https://x.example}", "eventCodes: expected a list, got no value"),
    (
        "{eventCodes: [¦onb10001, ONB10002], webhookUrl: https://x.example}",
        "eventCodes: not an event code: 'onb10001'; use three capital letters and five digits, for example ONB10011",
    ),
    ("{eventCodes: [¦ONB1000], webhookUrl: https://x.example}", "three capital letters and five digits"),
    ("{eventCodes: [¦ONB10001٣], webhookUrl: https://x.example}", "not an event code"),
    ('{eventCodes: [¦"ONB10001\\n"], webhookUrl: https://x.example}', "not an event code: 'ONB10001\\n'"),
    (
        "{eventCodes: [¦[ONB10001]], webhookUrl: https://x.example}",
        "eventCodes: expected text, got a list; write a single value; quote text that begins with { or [",
    ),
    ("{eventCodes: [¦~], webhookUrl: https://x.example}", "expected text, got no value"),
    ("{eventCodes: [ONB10001, LOA10001, ¦ONB10001], webhookUrl: https://x.example}", "duplicate event code ONB10001"),
    ("{eventCodes: [ONB10001], webhookUrl: ¦}", "webhookUrl: expected text, got no value"),
    ("{eventCodes: [ONB10001], webhookUrl: ¦{hooks: }}", "webhookUrl: expected text, got a mapping"),
    (
        '{eventCodes: [ONB10001], webhookUrl: ¦"{hooks"}',
        (
            "webhookUrl: unmatched brace in '{hooks'; use {region}, {environment}, {name} or a variable of the target;"
            " write {{ and }} for literal braces"
        ),
    ),
    ('{eventCodes: [ONB10001], webhookUrl: ¦"{hooks}}"}', "unmatched brace in '{"),
    ('{eventCodes: [ONB10001], webhookUrl: ¦"{Hooks}"}', "unmatched brace in '{"),
    ('{eventCodes: [ONB10001], webhookUrl: ¦"{}/x"}', "unmatched brace in '{"),
    (
        '{eventCodes: [ONB10001], webhookUrl: ¦"{hook}/x"}',
        (
            "webhookUrl: unknown variable hook for europe/staging (did you mean 'hooks'?);"
            " available: environment, hooks, name, region; define more under `vars` of the target"
        ),
    ),
    (
        "{eventCodes: [ONB10001], webhookUrl: ¦http://x.example}",
        "webhookUrl uses http, which is allowed for loopback addresses only: 'http://x.example'; use https",
    ),
    (
        "{eventCodes: [ONB10001], webhookUrl: ¦x.example}",
        "webhookUrl is not an absolute URL: 'x.example'; write the full URL: https://host/path",
    ),
    ("¦SAME: {eventCodes: [ONB10001]}", "europe/staging/one: missing webhookUrl"),
    ("¦SAME: {}", "europe/staging/one: missing eventCodes and webhookUrl"),
]
TARGET_FIELDS = [
    (
        "¦url: x, {ok}",
        "unknown key 'url' in a/b; valid keys: audience_base, auth_url, base_url, overlap, replace, vars",
    ),
    ("auth_url: ¦ftp://x.example, base_url: https://x.example", "auth_url is neither https nor http"),
    (
        "auth_url: https://x.example, base_url: ¦https://x.example/?a=b",
        "base_url has a query, but paths are appended to it; remove the ? and everything after it",
    ),
    ("auth_url: https://x.example, base_url: ¦", "base_url: expected text, got no value"),
    ("audience_base: ¦urn:x, {ok}", "audience_base is not an absolute URL"),
    ("audience_base: ¦[], {ok}", "audience_base: expected text"),
    ("overlap: ¦Refuse, {ok}", "overlap: invalid value 'Refuse'; expected one of: allow, refuse"),
    ("replace: ¦null, {ok}", "replace: expected text, got no value"),
    ("vars: ¦[], {ok}", "vars: expected a mapping"),
    ("vars: {¦name: x}, {ok}", "the variable name name is reserved; use another name"),
    ("vars: {¦Hooks: x}, {ok}", "vars: invalid variable name 'Hooks'; use a-z, 0-9 and _, starting with a letter"),
    ("vars: {hooks: ¦~}, {ok}", "hooks: expected text, got no value"),
    ("vars: {hooks: ¦[x]}, {ok}", "hooks: expected text"),
]
OTHERS = [
    ("recipients: ¦[]", "recipients is empty; add one, or remove the key"),
    ("recipients: ¦age1", "recipients: expected a list, got text; write [one, two], or one `- ` line for each"),
    ("recipients: [¦age1short]", "not an age X25519 public key"),
    ("recipients: [¦~]", "recipients: expected text, got no value; add a value, or remove the key"),
    (f"recipients: [¦{KEY.upper()}]", "use the public key (age1 and 58 characters), never the secret key"),
    (
        f"recipients: [¦{KEY[:-1]}q]",
        (
            "recipients: not an age X25519 public key; its checksum does not match (a typo?);"
            " copy the line that `age-keygen -y` prints"
        ),
    ),
    (f"recipients: [{KEY}, ¦{KEY[:30]}z{KEY[31:]}]", "not an age X25519 public key"),
    (f"recipients: [{KEY}, ¦{KEY}]", "duplicate recipient: already listed at"),
    ("verification: ¦[]", "verification: expected a mapping"),
    ("verification: ¦{algorithm: hmac-sha1}", "verification: missing header; add `header`"),
    ("verification: ¦{header: X}", "verification: missing algorithm; add `algorithm`"),
    ("verification: {header: ¦'X Y', algorithm: hmac-sha1}", "header: invalid value 'X Y'; use an HTTP header name"),
    (
        "verification: {header: X, algorithm: ¦md5}",
        "algorithm: invalid value 'md5'; expected one of: hmac-sha1, hmac-sha256, hmac-sha512",
    ),
    (
        "verification: {header: X, algorithm: hmac-sha1, encoding: ¦utf8}",
        "encoding: invalid value 'utf8'; expected one of: base64, hex",
    ),
    (
        "verification: {header: X, algorithm: hmac-sha1, key_encoding: ¦ascii}",
        "key_encoding: invalid value 'ascii'; expected one of: base64, hex, utf8",
    ),
    (
        "verification: {header: X, algorithm: hmac-sha1, content: ¦body}",
        "content: invalid value 'body'; use {body} exactly once; otherwise only {header:NAME} and text without braces",
    ),
    ("verification: {header: X, algorithm: hmac-sha1, content: ¦'{body}{body}'}", "use {body} exactly once"),
    ("verification: {header: X, algorithm: hmac-sha1, content: ¦'{body}{timestamp}'}", "use {body} exactly once"),
    (
        'verification: {header: X, algorithm: hmac-sha1, prefix: ¦"a\\n"}',
        r"prefix: invalid value 'a\n'; use printable ASCII",
    ),
    (
        "verification: {header: X, algorithm: hmac-sha1, enforce: ¦yes}",
        "enforce: invalid value; expected true or false, without quotes",
    ),
    (
        'verification: {header: X, algorithm: hmac-sha1, enforce: ¦"true"}',
        "enforce: invalid value; expected true or false",
    ),
    (
        "verification: {header: X, algorithm: hmac-sha1, enforce: ¦True}",
        "enforce: invalid value; expected true or false",
    ),
    ("verification: {header: X, algorithm: hmac-sha1, enforce: ¦}", "expected text, got no value"),
    ("parity: ¦[]", "parity: expected a mapping"),
    ("parity: {¦ignored: []}", "unknown key 'ignored' in parity (did you mean 'ignore'?); valid keys: ignore"),
    ("parity: {ignore: ¦{}}", "ignore: expected a list"),
    ("parity: {ignore: [¦offers]}", "ignore: expected a mapping"),
    ("parity: {ignore: [¦{reason: x}]}", "ignore: the exception is missing address; add `address`"),
    ("parity: {ignore: [¦{address: x}]}", "ignore: the exception is missing reason; add `reason`"),
    (
        "parity: {ignore: [{address: ¦europe/staging, reason: x}]}",
        (
            "address: expected region/environment/name or a name, got 'europe/staging';"
            " for example: europe/staging/offers, */staging/offers or offers"
        ),
    ),
    ("parity: {ignore: [{address: ¦, reason: x}]}", "address: expected text, got no value"),
    (
        "parity: {ignore: [{address: x, reason: ¦' '}]}",
        "reason: expected printable text; explain why the two may differ",
    ),
    ('parity: {ignore: [{address: x, reason: ¦"a\\u202e"}]}', "reason: expected printable text"),
    ("parity: {ignore: [{address: x, reason: ¦}]}", "reason: expected text, got no value"),
]


@pytest.mark.parametrize(("marked", "words"), SECTIONS + NAMES + OTHERS)
def test_a_mistake_is_reported_at_its_place(tmp_path: Path, marked: str, words: str) -> None:
    """Where it stands, what is wrong, and what to do; and nothing else."""
    assert_mistakes(tmp_path, marked, words)


@pytest.mark.parametrize(("marked", "words"), SUBSCRIPTIONS)
def test_a_mistake_in_a_subscription(tmp_path: Path, marked: str, words: str) -> None:
    """What stands under a subscription's name."""
    name, value = ("¦one", marked[7:]) if marked.startswith("¦SAME: ") else ("one", marked)
    assert_mistakes(tmp_path, f"subscriptions:\n  europe/staging:\n    {name}: {value}\n", words)


@pytest.mark.parametrize(("marked", "words"), TARGET_FIELDS)
def test_a_mistake_in_a_target(tmp_path: Path, marked: str, words: str) -> None:
    """What stands under a target's name; a subscription that uses what is broken adds no mistake of its own."""
    fields = marked.replace("{ok}", "auth_url: https://x.example, base_url: https://x.example")
    wanted = (
        "" if "vars: {¦" in marked else '\nsubscriptions: {a/b: {one: {eventCodes: [ONB10001], webhookUrl: "{hooks}"}}}'
    )
    if "vars" not in marked:
        wanted = wanted.replace("{hooks}", "https://hooks.example")
    assert_mistakes(tmp_path, f"targets: {{a/b: {{{fields}}}}}{wanted}", words)


def test_a_target_that_is_no_mapping_is_one_mistake(tmp_path: Path) -> None:
    """It is declared all the same, and what is wanted on it is not reported for that."""
    text = "targets: {a/b: ¦[]}\nsubscriptions: {a/b: {one: {eventCodes: [ONB10001], webhookUrl: '{hooks}'}}}"
    assert_mistakes(tmp_path, text, "a/b: expected a mapping, got a list")


def test_every_mistake_is_reported_in_one_run(tmp_path: Path) -> None:
    """All mistakes of all stages and files come together, sorted by place."""
    whole = [marked for marked, _ in OTHERS if not marked.startswith("recipients: [age1q")]
    config = write(tmp_path, {f"{n:02}.yaml": marked_places(marked)[0] for n, marked in enumerate(whole)})
    found = mistakes_in(config)
    assert found == sorted(found)
    assert {f"{n:02}.yaml" for n in range(len(whole))} <= {one.place.file.rpartition("/")[2] for one in found}


def test_the_same_thing_twice_names_the_other_place(tmp_path: Path) -> None:
    """Targets, subscriptions of one pattern and the single sections may stand once in all files together."""
    first = """\
targets: {a/b: {auth_url: https://a.example, base_url: https://b.example}}
subscriptions: {"*/*": {one: null}}
verification: {header: X, algorithm: hmac-sha1}
"""
    again = first.replace("{a/b", "{¦a/b").replace("{one", "{¦one").replace("verification", "¦verification")
    text, places = marked_places(again)
    config = write(tmp_path, {"1.yaml": first, "2.yaml": text})
    others = ["1:11", "2:25", "3:1"]
    assert [
        (f"{config}/2.yaml:{place}", f"{config}/1.yaml:{other}") for place, other in zip(places, others, strict=True)
    ] == [(str(one.place), one.what.split()[-1]) for one in mistakes_in(config)]


def test_two_targets_with_variables_of_one_name(tmp_path: Path) -> None:
    """Their credentials could not be told apart; the later one is reported and names the first."""
    fields = "{auth_url: https://a.example, base_url: https://b.example}"
    text = f"targets:\n  west-eu/a: {fields}\n  ¦west/eu-a: {fields}\n"
    assert_mistakes(tmp_path, text, "west/eu-a and west-eu/a use the same environment variables (RECONCILER_WEST_EU_A_")


def test_an_undeclared_target_is_reported_in_every_file(tmp_path: Path) -> None:
    """A pattern may stand in several files, and each of them is to be mended."""
    config = write(
        tmp_path, {"1.yaml": "subscriptions: {a/b: {}}", "2.yaml": "subscriptions: {a/b: {}}", "3.yaml": TARGETS}
    )
    assert ["1.yaml", "2.yaml"] == [one.place.file.rpartition("/")[2] for one in mistakes_in(config)]


def test_a_configuration_error_says_how_many(tmp_path: Path) -> None:
    """The error itself counts its mistakes, and each of them reads place, what, remedy."""
    config = write(tmp_path, {"a.yaml": "x: 1\ny: 2\n"})
    with pytest.raises(ConfigError, match=r"^2 mistakes in the configuration$") as caught:
        load(config, no_override)
    assert str(caught.value.mistakes[0]).startswith(f"{config}/a.yaml:1:1: unknown key 'x' in a file; valid keys: ")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "'plain'"),
        ("a\nb\x1b[0m", "'a\\nb\\x1b[0m'"),
        ("x" * 61, "'" + "x" * 60 + "'…"),
        ("https://a.example/?key=value", "'https://a.example/?…'"),
        ("me:secret@a.example", "a value with an @"),
    ],
)
def test_values_are_shown_with_care(text: str, expected: str) -> None:
    """Escaped, cut, and without what may be a secret."""
    assert expected == shown(text)


def test_warnings_do_not_keep_a_configuration_from_loading(tmp_path: Path) -> None:
    """What is only doubtful stands in `warnings`, sorted."""
    text = "subscriptions: {europe/staging: {one: {eventCodes: [ABC00002, ABC00001], webhookUrl: https://x.example}}}"
    warnings = load_beside_targets(tmp_path, text).warnings
    assert ["ABC00002", "ABC00001"] == [warning.what.split()[2] for warning in warnings]
    assert all(warning.remedy for warning in warnings)


def test_two_mistakes_in_one_subscription(tmp_path: Path) -> None:
    """One does not hide another: a bad code, a bad URL, an unknown key, and a code that another one holds."""
    text = """\
subscriptions:
  europe/staging:
    one: {eventCodes: [ONB10001], webhookUrl: https://one.example/}
    ¦two: {eventCodes: [ONB10001, ¦onb1], webhookUrl: ¦ftp://two.example/, ¦webhook: x}
    ¦three: {eventCodes: [¦[]], ¦url: https://three.example/}
    ¦four: {webhookUrl: ¦not-a-url}
"""
    assert_mistakes(
        tmp_path, text, "have the same event codes: ONB10001", "not an event code: 'onb1'", "is neither https nor http",
        "unknown key 'webhook'", "missing webhookUrl", "expected text", "unknown key 'url'", "missing eventCodes",
        "is not an absolute URL",
    )  # fmt: skip


def test_a_url_is_judged_where_the_variables_are_mistaken(tmp_path: Path) -> None:
    """`vars` that cannot be read make any variable unknown, and no other mistake."""
    text = """\
targets:
  x/y: {auth_url: https://a.example, base_url: https://b.example, vars: ¦[]}
subscriptions:
  x/y:
    one: {eventCodes: [ONB10001], webhookUrl: "{hooks}/one"}
    two: {eventCodes: [ONB10002], webhookUrl: ¦ftp://two.example/}
"""
    assert_mistakes(tmp_path, text, "expected a mapping", "is neither https nor http")


def test_every_recipient_is_checked(tmp_path: Path) -> None:
    """One that is no text does not hide a mistake in the next."""
    assert_mistakes(tmp_path, "recipients: [¦~, ¦age1short]", "expected text, got no value", "not an age X25519")


def test_every_brace_is_checked(tmp_path: Path) -> None:
    """A single brace is a mistake, and a doubled one stands for itself, whether or not the other kind is there."""
    for url in ("https://x.example/}", "https://x.example/{"):
        text = f'subscriptions: {{europe/staging: {{one: {{eventCodes: [ONB10001], webhookUrl: ¦"{url}"}}}}}}'
        assert_mistakes(tmp_path, text, "unmatched brace")


@pytest.mark.parametrize(("template", "text"), [("a{{", "a{"), ("}}a", "}a"), ("{{v}}{v}", "{v}1"), ("{{}}", "{}")])
def test_doubled_braces(template: str, text: str) -> None:
    """A doubled brace stands for itself, alone or with others."""
    assert text == expand(template, {"v": "1"}, 10)


def test_a_long_template_is_broken_off() -> None:
    """A value put in often does not fill memory: at most one piece is put in beyond the limit."""
    assert "xxx" * 4 == expand("{v}" * 1000, {"v": "xxx"}, 9)


def test_too_many_routes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Patterns that come to too many routes are one mistake, at the pattern with most subscriptions."""
    monkeypatch.setattr(merging, "ROUTE_LIMIT", 7)
    text = """\
subscriptions:
  "europe/*":
    one: {eventCodes: [ONB10001, ONB10004], webhookUrl: https://one.example/}
  ¦"*/staging":
    two: {eventCodes: [ONB10002], webhookUrl: https://two.example/}
    three: {eventCodes: [ONB10003], webhookUrl: https://three.example/}
"""
    more = "the configuration defines more than 7 routes; split it, with a separate state record for each part"
    assert_mistakes(tmp_path, text, more)
    monkeypatch.setattr(merging, "ROUTE_LIMIT", 8)
    load_beside_targets(tmp_path / "fewer", text.replace("¦", ""))


def test_very_many_mistakes_are_counted(tmp_path: Path) -> None:
    """Of one file the first hundred are told and the others counted; other files are told as ever."""
    config = write(tmp_path, {"a.yaml": "".join(f"key{n}: 1\n" for n in range(5000)), "b.yaml": "x: 1"})
    with pytest.raises(ConfigError, match=r"^5001 mistakes in the configuration$") as caught:
        load(config, no_override)
    *first, more, other = caught.value.mistakes
    assert [(n + 1, f"unknown key 'key{n}' in a file") for n in range(100)] == [
        (one.place.line, one.what.partition(" (")[0]) for one in first
    ]
    what = "4900 more mistakes not shown; fix the ones above first"
    assert f"{config}/a.yaml:101:1: {what}" == str(more)
    assert f"{config}/b.yaml" == other.place.file


def test_very_many_names_are_counted(tmp_path: Path) -> None:
    """A message lists twenty names at most."""
    fields = "{auth_url: https://a.example, base_url: https://b.example}"
    declared = "".join(f"  r{n:03}/e: {fields}\n" for n in range(100))
    [mistake] = mistakes_in(write(tmp_path, {"a.yaml": f"targets:\n{declared}subscriptions: {{x/y: {{}}}}"}))
    assert mistake.remedy.endswith("r018/e, r019/e, and 80 more")
