"""Every mistake that the grammar knows, at its place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.configs import TARGETS, assert_mistakes, load_beside_targets, marked_places, mistakes_in, write

from desired.mistaken import KEY, MISTAKEN, in_subscription
from reconciler.desired import load, load_sound, merging
from reconciler.desired.mistakes import Mistakes, Positioned, shown
from reconciler.errors import ConfigError, Step

UNDECLARED = "subscriptions: {¦europe/stagin: {}}\n"
PLACES = "auth_url: https://login.test, base_url: https://api.test"


@pytest.mark.parametrize(("marked", "name"), MISTAKEN)
def test_a_mistake_is_reported_at_its_place(tmp_path: Path, marked: str, name: str) -> None:
    """Each mistake is one message at the place where it is, with a step; nothing that follows is reported."""
    (mistake,) = assert_mistakes(tmp_path, marked, name)
    assert Step("") not in mistake.steps


def test_every_mistake_is_reported_in_one_run(tmp_path: Path) -> None:
    """All mistakes of all stages and files come together, sorted by place."""
    left_out = ("undeclared-target", "missing-field")  # a broken section could hold what is missing
    marked = [text.replace("one:", f"s{n}:") for n, (text, name) in enumerate(MISTAKEN) if name not in left_out]
    texts = {f"{n:03}.yaml": marked_places(text)[0] for n, text in enumerate(marked) if "a/b: {" not in text}
    found = mistakes_in(write(tmp_path, texts | {"zz.yaml": TARGETS}))
    places = [each.place for each in found if each.place]
    assert texts.keys() <= {place.file.rpartition("/")[2] for place in places}
    assert sorted(places) == places
    assert [] == [each for each in found if each.place and each.where]


@pytest.mark.parametrize(("marked", "name", "meant", "known"), [
    ("¦target: {}", "unknown-key", "targets", "parity, recipients, record, state, subscriptions, targets, verif"),
    (UNDECLARED, "undeclared-target", "europe/staging", "europe/production, europe/staging, usa/staging"),
    (in_subscription('{eventCodes: [ONB10001], webhookUrl: ¦"{hook}"}'), "unknown-variable", "hooks",
     "attempt, environment, hooks, name, region"),
])  # fmt: skip
def test_a_misspelt_name_is_explained(tmp_path: Path, marked: str, name: str, meant: str, known: str) -> None:
    """A name that resembles another is asked about, and the valid ones are listed."""
    (mistake,) = assert_mistakes(tmp_path, marked, name)
    assert f"did you mean {meant!r}?" in mistake.what
    assert known in mistake.steps[0].text


@pytest.mark.parametrize("marked", [marked for marked, _ in MISTAKEN])
def test_only_an_unread_section_leaves_a_target_in_doubt(tmp_path: Path, marked: str) -> None:
    """Whatever else is wrong, an undeclared target is reported, unless it may be declared in what is not read."""
    text, _ = marked_places(marked)
    found = mistakes_in(write(tmp_path, {"a.yaml": text, "b.yaml": "subscriptions: {x/y: {}}", "c.yaml": TARGETS}))
    is_read = re.search(r"¦target:|targets: ?{?¦|subscriptions: ?¦", marked) is None
    assert is_read == ("x/y" in str(found))


@pytest.mark.parametrize(("marked", "names"), [
    ("¦target: {a/b: {ADDRESSES}}\nWANTED https://x.test}}}", "unknown-key"),
    ("targets: {¦A/b: {ADDRESSES}}\nWANTED https://x.test}}}", "invalid-name"),
    ("targets: {a/b: {¦authUrl: https://login.test, base_url: https://api.test}}", "unknown-key"),
    ("targets: {a/b: {ADDRESSES, ¦hooks: https://x.test}}\nWANTED '{hooks}/a'}}}", "unknown-key"),
    ("targets: {a/b: {ADDRESSES, ¦var: {hooks: https://x.test}}}\nWANTED '{hooks}/a'}}}", "unknown-key"),
    ("targets: {a/b: {ADDRESSES, vars: {hooks: https://x.test}, ¦hooks: x}}\nWANTED ¦'{hooks}/#a'}}}",
     "unknown-key url-fragment"),
    ("targets: {a/b: {ADDRESSES, vars: ¦[]}}\nWANTED '{hooks}'}, y: {eventCodes: [ONB10002], webhookUrl: ¦ftp://x}}}",
     "wrong-type url-scheme"),
    ("targets: {a/b: ¦[]}\nWANTED '{hooks}'}}}", "wrong-type"),
    ("targets: {a/b: {ALLOWED, unknown: retry}, c/d: {ALLOWED}}\nWANTED ¦x}, y: CODES ¦y}}, MORE ¦z}}}",
     "url-not-absolute url-not-absolute url-not-absolute"),
    ("DECLARED {a/b: {x: {eventCodes: [ONB10001], ¦webhookUrls: x}}}", "unknown-key"),
    ('DECLARED {a/b: {¦X: {eventCodes: ¦x}, ¦"\\e[m": ¦x}}', "invalid-name wrong-type invalid-name wrong-type"),
    ("DECLARED {'*/*': {x: {eventCodes: [ONB10001]}, ¦y: {}}, ¦a/bb: {x: {webhookUrl: https://x}}}",
     "missing-field undeclared-target"),
    ("subscriptions: {¦a/b: {x: {eventCodes: [¦ONB1], webhookUrl: ¦ftp://x.test}}}",
     "undeclared-target invalid-value url-scheme"),
    ("subscriptions: {¦a/b: {x: CODES 'https://{region}.test'}}}", "undeclared-target"),
    ("DECLARED {'a/*': {x: {eventCodes: [¦ONB1, ONB10003]}, y: ¦[]}, '*/b': {x: CODES https://x}, y: CODES https://y}}}",
     "invalid-value wrong-type"),
    ("¦&a targets: {¦&b a/b: {ADDRESSES}}\nWANTED https://x}}}", "yaml-anchor yaml-anchor"),
    ("DECLARED {'*/*': {x: CODES x}}, '*/b': {x: null}, a/b: {¦x: {}}}", "missing-field"),
    ("subscriptions: {¦'*/*': {}}", "undeclared-target"), ("verification: ¦¦{}", "missing-key missing-key"),
    ("verification: ¦{algorithm: ¦md5}", "missing-key invalid-value"),
    ("targets: {a/b: {ADDRESSES, vars: {v: x}}, c/d: {ADDRESSES}}\nsubscriptions: {c/d: {x: CODES ¦'{v}/a'}}}",
     "unknown-variable"),
    ("recipients: [¦~, ¦age1short]", "no-value bad-recipient"),
    ("¦unknown: [¦to ftp://me@hooks.test, https://hooks.test/@me]", "unknown-key url-user-info"),
    ("{¦unknown: ¦ftp://me@hooks.test, ¦other: ftp://hooks.test}", "unknown-key url-user-info unknown-key"),
    ("{¦[a]: b, subscriptions: {¦a/b: {}}}", "key-not-text undeclared-target"),
])  # fmt: skip
def test_a_cause_is_reported_and_what_follows_is_not(tmp_path: Path, marked: str, names: str) -> None:
    """A misspelt or broken part is one mistake, and hides no other."""
    marked = marked.replace("ALLOWED", "ADDRESSES, overlap: allow")
    marked = marked.replace("DECLARED", "targets: {a/b: {ADDRESSES}}\nsubscriptions:").replace("ADDRESSES", PLACES)
    marked = marked.replace("WANTED", "subscriptions: {a/b: {x: CODES").replace("MORE", "c/d: {x: CODES")
    marked = marked.replace("CODES", "{eventCodes: [ONB10001], webhookUrl:")
    assert "".join(map(str, assert_mistakes(tmp_path, marked, *names.split(), beside=""))).isprintable()


def test_one_mistake_does_not_hide_another(tmp_path: Path) -> None:
    """A bad code, a bad URL, an unknown key, and a code that another one holds are reported for one subscription."""
    text = """\
subscriptions:
  europe/staging:
    one: {eventCodes: [ONB10001], webhookUrl: https://one.test/}
    ¦two: {eventCodes: [ONB10001, ¦onb1], webhookUrl: ¦ftp://two.test/, ¦webhook: x}
    ¦three: {eventCodes: [¦[]], ¦url: https://three.test/}
    ¦four: {webhookUrl: ¦not-a-url}
    ¦five: {eventCodes: ¦[]}
"""
    assert_mistakes(
        tmp_path, text, "overlap", "invalid-value", "url-scheme", "unknown-key", "missing-field", "wrong-type",
        "unknown-key", "missing-field", "url-not-absolute", "missing-field", "no-codes",
    )  # fmt: skip


def test_the_same_thing_twice_names_the_other_place(tmp_path: Path) -> None:
    """Targets, subscriptions of one pattern and the single sections may be defined once in all files together."""
    first = f'targets: {{a/b: {{{PLACES}}}}}\nsubscriptions: {{"*/*": {{one: null}}}}\nstate: x.jsonl\n'
    again = first.replace("{a/b", "{¦a/b").replace("{one", "{¦one").replace("state", "¦state")
    text, places = marked_places(again)
    config = write(tmp_path, {"1.yaml": first, "2.yaml": text, "3.yaml": text})
    assert [
        ("duplicate-key", f"{config}/{later}.yaml:{place}", f"{config}/1.yaml:{place}")
        for later in (2, 3)
        for place in places
    ] == [(each.name, str(each.place), each.what.split()[-1]) for each in mistakes_in(config)]


def test_an_item_twice_names_the_first(tmp_path: Path) -> None:
    """Recipients and event codes may be listed once."""
    text = in_subscription("{eventCodes: [ONB10001, LOA10001, ¦ONB10001], webhookUrl: https://x.test}")
    text += f"recipients: [{KEY}, ¦{KEY}]"
    found = assert_mistakes(tmp_path, text, "duplicate-code", "duplicate-recipient")
    assert ["3:24", "4:14"] == [each.what.rpartition("yaml:")[2] for each in found]


def test_two_targets_with_variables_of_one_name(tmp_path: Path) -> None:
    """Their credentials could not be told apart; the later one is reported."""
    text = f"targets:\n  west/eu-a: {{{PLACES}}}\n  ¦west-eu/a: {{{PLACES}}}\n"
    (mistake,) = assert_mistakes(tmp_path, text, "shared-variables")
    assert "RECONCILER_WEST_EU_A_" in mistake.what


def test_an_undeclared_target_is_reported_in_every_file(tmp_path: Path) -> None:
    """A pattern may be in several files, and each of them is to be corrected."""
    undeclared = "subscriptions: {a/b: {}}"
    found = mistakes_in(write(tmp_path, {"1.yaml": undeclared, "2.yaml": undeclared, "3.yaml": TARGETS}))
    assert ["1.yaml", "2.yaml"] == [each.place.file.rpartition("/")[2] for each in found if each.place]


def test_a_mistake_is_reported_once_for_all_targets(tmp_path: Path) -> None:
    """A value that is merged into three targets is one mistake."""
    text = """\
subscriptions:
  "*/*":
    one: {eventCodes: [ONB10001], webhookUrl: ¦"{hoks}/1"}
    two: {eventCodes: [ONB10002], webhookUrl: ¦"ftp://{region}.test/"}
    ¦three: {webhookUrl: https://hooks.test}
    ¦four: {}
"""
    mistakes = assert_mistakes(tmp_path, text, "unknown-variable", "url-scheme", "missing-field", "missing-field")
    assert ["eventCodes", "eventCodes and webhookUrl"] == [each.what.partition("missing ")[2] for each in mistakes[2:]]
    with pytest.raises(ConfigError) as caught:
        load(tmp_path / "config")
    assert len(mistakes) == caught.value.count


@pytest.mark.parametrize(("text", "expected"), [
    ("plain", "'plain'"), ("a\nb\x1b[0m", "'a\\nb\\x1b[0m'"), ("x" * 61, "'" + "x" * 60 + "'…"),
    ("https://a.test/?key=value", "'https://a.test/?…'"), ("me:secret@a.test", "a value with an @"),
    ("https://hooks-of-our-partner.test/of/the/lender.aB3d/5gH7+K9mN1/Q3sT5",
     "a value of 69 characters that may be a secret"),
])  # fmt: skip
def test_values_are_shown_with_care(text: str, expected: str) -> None:
    """A value is escaped, cut, and shown without what may be a secret."""
    assert expected == shown(text)


def test_warnings_do_not_keep_a_configuration_from_loading(tmp_path: Path) -> None:
    """A doubtful code and a placeholder are warnings, each once however many targets they are for."""
    text = (
        'subscriptions: {"*/*": {one: {eventCodes: [ABC00002, ABC00001], webhookUrl: "https://Hooks.example/{region}"},'
        " two: {eventCodes: [ONB10001], webhookUrl: https://hooks.example}}}"
    )
    desired = load_beside_targets(tmp_path, text)
    warnings = desired.warnings
    assert {("ABC00001", "ABC00002"), ("ONB10001",)} == {each.codes for each in desired.subscriptions.values()}
    names = ["unfamiliar-code", "unfamiliar-code", "placeholder-host"]
    assert [(name, 1) for name in names] == [(each.name, len(each.steps)) for each in warnings]
    assert [text.index(word) + 1 for word in ("ABC00002", "ABC00001", '"https:')] == [
        each.place.column for each in warnings if each.place
    ]


def test_warnings_come_with_mistakes(tmp_path: Path) -> None:
    """A mistake keeps no warning back, nor that a file, which may explain it, is not read."""
    text = "subscriptions: {europe/staging: {one: {eventCodes: [ABC00001, x], webhookUrl: https://x.test}}}"
    desired, problem = load_sound(write(tmp_path, {"targets.yaml": TARGETS, "tested.yaml": text, "more.json": "{}"}))
    assert problem is not None
    assert (["unfamiliar-code"], ["config-not-read"]) == tuple(
        [each.name for each in found] for found in (desired.warnings, desired.unread)
    )


def test_what_is_sound_is_returned_beside_the_error(tmp_path: Path) -> None:
    """Of a configuration with mistakes, sound targets, subscriptions and exceptions remain."""
    text = """\
subscriptions:
  europe/staging:
    one: {eventCodes: [ONB10001], webhookUrl: https://one.test/}
    two: {eventCodes: [ONB10002], webhookUrl: ftp://two.test/}
    three: {eventCodes: [ONB10003], webhookUrl: "{"}
  "europe/*": {three: {webhookUrl: https://three.test/}}
  europe/production: {three: null}
verification: {header: X, algorithm: md5}
parity: {ignore: [{address: one, reason: ''}, {address: two, reason: x}]}
"""
    targets = TARGETS + f"  x/y: {{{PLACES}, audience_base: x}}\n"
    desired, problem = load_sound(write(tmp_path, {"a.yaml": text, "b.yaml": targets}))
    assert ["europe/staging/one"] == list(desired.subscriptions)
    assert ["europe/production", "europe/staging", "usa/staging"] == list(desired.targets)
    assert (None, ["two"]) == (desired.verification, [each.address for each in desired.parity_ignore])
    assert problem is not None
    assert 5 == problem.count


def test_too_many_subscriptions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Patterns that come to too many subscriptions are one mistake, at the pattern with most subscriptions."""
    text = """\
subscriptions:
  "europe/*":
    one: {eventCodes: [ONB10001, ONB10004], webhookUrl: https://one.test/}
  ¦"*/staging":
    two: {eventCodes: [ONB10002], webhookUrl: https://two.test/}
    three: {eventCodes: [ONB10003], webhookUrl: https://three.test/}
"""
    monkeypatch.setattr(merging, "LIMIT", 4)
    assert_mistakes(tmp_path, text, "too-many-subscriptions")
    assert {} == load_sound(tmp_path / "config")[0].subscriptions
    monkeypatch.setattr(merging, "LIMIT", 6)
    load_beside_targets(tmp_path / "fewer", text.replace("¦", ""))


def test_very_many_mistakes_are_counted(tmp_path: Path) -> None:
    """Of each file the first hundred by place are reported, and the others counted."""
    many = "".join(f"key{n}: 1\n" for n in range(2, 801))
    files = {"a.yaml": UNDECLARED.replace("¦", "") + many, "b.yaml": "key: 1\n" * 1000 + many, "c.yaml": TARGETS}
    config = write(tmp_path, {**files, "d.yaml": "parity: {ignored: []}"})
    with pytest.raises(ConfigError) as caught:
        load(config)
    found = caught.value.messages
    assert 800 + 1799 + 1 == caught.value.count
    assert [*range(1, 101), *range(1, 101), 1] == [each.place.line for each in found if each.place]
    # to look for what was meant takes time, in a file with many mistakes
    assert [False, True] == ["did you mean" in each.what for each in (found[0], found[-1])]
    mistakes, at, meant = Mistakes(), Positioned("a.yaml", 0, 0), list[str | None]()
    for number in range(102):
        meant.append(mistakes.nearest("key", ["keys"], at))
        mistakes.add("unknown-key", at, str(number))
    assert ["keys"] * 101 + [None] == meant


@pytest.mark.parametrize(
    ("count", "end"), [(0, ": none"), (20, "r018/e, r019/e"), (100, "r018/e, r019/e, and 80 more")]
)
def test_very_many_names_are_counted(tmp_path: Path, count: int, end: str) -> None:
    """A message lists twenty names at most, in order."""
    declared = "".join(f"  r{n:03}/e: {{{PLACES}/{n}}}\n" for n in reversed(range(count))) or "  {}\n"
    (mistake,) = mistakes_in(write(tmp_path, {"a.yaml": f"targets:\n{declared}subscriptions: {{x/y: {{}}}}"}))
    assert mistake.steps[0].text.endswith(end)
