"""Every mistake that the grammar knows, at its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.configs import TARGETS, assert_mistakes, load_beside_targets, marked_places, mistakes_in, write

from desired.mistaken import MISTAKEN
from reconciler.desired import load, load_sound, merging
from reconciler.desired.mistakes import shown
from reconciler.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

WHOLE = "{eventCodes: [ONB10001], webhookUrl: https://x.test}"
PLACES = "auth_url: https://login.test, base_url: https://api.test"


@pytest.mark.parametrize(("marked", "name"), MISTAKEN)
def test_a_mistake_is_reported_at_its_place(tmp_path: Path, marked: str, name: str) -> None:
    """Each mistake is one message at the place where it is, with a step; nothing that follows is reported."""
    assert_mistakes(tmp_path, marked, name)


def test_every_mistake_is_reported_in_one_run(tmp_path: Path) -> None:
    """All mistakes of all stages and files come together, sorted by place."""
    left_out = ("undeclared-target", "missing-field")  # a broken section could hold what is missing
    marked = [text.replace("one:", f"s{n}:") for n, (text, name) in enumerate(MISTAKEN) if name not in left_out]
    texts = {f"{n:03}.yaml": marked_places(text)[0] for n, text in enumerate(marked) if "a/b: {" not in text}
    found = mistakes_in(write(tmp_path, texts | {"zz.yaml": TARGETS}))
    places = [each.place for each in found if each.place]
    assert texts.keys() <= {place.file.rpartition("/")[2] for place in places}
    assert sorted(places) == places


def test_a_misspelt_key_is_explained(tmp_path: Path) -> None:
    """A key that resembles another is asked about, and the valid ones are listed."""
    (mistake,) = assert_mistakes(tmp_path, "¦target: {}", "unknown-key")
    assert "did you mean 'targets'?" in mistake.what
    assert "parity, recipients, record, state, subscriptions, targets, verification" in mistake.steps[0].text


@pytest.mark.parametrize(
    ("marked", "names"),
    [
        (f"¦target: {{a/b: {{{PLACES}}}}}\nsubscriptions: {{a/b: {{x: {WHOLE}}}}}", ["unknown-key"]),
        (f"targets: {{¦A/b: {{{PLACES}}}}}\nsubscriptions: {{a/b: {{x: {WHOLE}}}}}", ["invalid-name"]),
        (
            (
                f"targets: {{a/b: {{{PLACES}, ¦hooks: https://x.test}}}}\n"
                'subscriptions: {a/b: {x: {eventCodes: [ONB10001], webhookUrl: "{hooks}/a"}}}'
            ),
            ["unknown-key"],
        ),
        (
            (
                f"targets: {{a/b: {{{PLACES}, ¦var: {{hooks: https://x.test}}}}}}\n"
                'subscriptions: {a/b: {x: {eventCodes: [ONB10001], webhookUrl: "{hooks}/a"}}}'
            ),
            ["unknown-key"],
        ),
        ("targets: {a/b: {¦authUrl: https://login.test, base_url: https://api.test}}", ["unknown-key"]),
        (
            (
                f"targets: {{a/b: {{{PLACES}}}}}\n"
                "subscriptions: {a/b: {x: {eventCodes: [ONB10001], ¦webhookUrls: https://x.test}}}"
            ),
            ["unknown-key"],
        ),
        (
            (
                f"targets: {{a/b: {{{PLACES}}}}}\n"
                "subscriptions: {'*/*': {x: {eventCodes: [ONB10001]}}, ¦a/bb: {x: {webhookUrl: https://x.test}}}"
            ),
            ["undeclared-target"],
        ),
        (
            "subscriptions: {¦a/b: {x: {eventCodes: [¦ONB1], webhookUrl: ¦ftp://x.test}}}",
            ["undeclared-target", "invalid-value", "url-scheme"],
        ),
        (
            "targets: {a/b: ¦[]}\nsubscriptions: {a/b: {x: {eventCodes: [ONB10001], webhookUrl: '{hooks}'}}}",
            ["wrong-type"],
        ),
        (
            (
                f"targets: {{a/b: {{{PLACES}, vars: ¦[]}}}}\nsubscriptions:\n  a/b:\n"
                '    x: {eventCodes: [ONB10001], webhookUrl: "{hooks}/x"}\n'
                "    y: {eventCodes: [ONB10002], webhookUrl: ¦ftp://two.test/}"
            ),
            ["wrong-type", "url-scheme"],
        ),
        ("recipients: [¦~, ¦age1short]", ["no-value", "bad-recipient"]),
    ],
)
def test_a_cause_is_reported_and_what_follows_is_not(tmp_path: Path, marked: str, names: list[str]) -> None:
    """A misspelt or broken part is one mistake, and hides no other."""
    assert_mistakes(tmp_path, marked, *names, beside="")


def test_one_mistake_does_not_hide_another(tmp_path: Path) -> None:
    """A bad code, a bad URL, an unknown key, and a code that another one holds are reported for one subscription."""
    text = """\
subscriptions:
  europe/staging:
    one: {eventCodes: [ONB10001], webhookUrl: https://one.test/}
    ¦two: {eventCodes: [ONB10001, ¦onb1], webhookUrl: ¦ftp://two.test/, ¦webhook: x}
    ¦three: {eventCodes: [¦[]], ¦url: https://three.test/}
    ¦four: {webhookUrl: ¦not-a-url}
"""
    assert_mistakes(
        tmp_path, text, "overlap", "invalid-value", "url-scheme", "unknown-key", "missing-field", "wrong-type",
        "unknown-key", "missing-field", "url-not-absolute",
    )  # fmt: skip


def test_the_same_thing_twice_names_the_other_place(tmp_path: Path) -> None:
    """Targets, subscriptions of one pattern and the single sections may be defined once in all files together."""
    first = f'targets: {{a/b: {{{PLACES}}}}}\nsubscriptions: {{"*/*": {{one: null}}}}\nstate: x.jsonl\n'
    again = first.replace("{a/b", "{¦a/b").replace("{one", "{¦one").replace("state", "¦state")
    text, places = marked_places(again)
    config = write(tmp_path, {"1.yaml": first, "2.yaml": text})
    found = mistakes_in(config)
    assert [(f"{config}/2.yaml:{place}", "duplicate-key") for place in places] == [
        (str(each.place), each.name) for each in found
    ]
    assert [f"{config}/1.yaml:{place}" for place in places] == [each.what.split()[-1] for each in found]


def test_two_targets_with_variables_of_one_name(tmp_path: Path) -> None:
    """Their credentials could not be told apart; the later one is reported."""
    text = f"targets:\n  west-eu/a: {{{PLACES}}}\n  ¦west/eu-a: {{{PLACES}}}\n"
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
"""
    assert_mistakes(tmp_path, text, "unknown-variable", "url-scheme", "missing-field")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "'plain'"), ("a\nb\x1b[0m", "'a\\nb\\x1b[0m'"), ("x" * 61, "'" + "x" * 60 + "'…"),
        ("https://a.test/?key=value", "'https://a.test/?…'"), ("me:secret@a.test", "a value with an @"),
        ("aB3dE5gH7jK9mN1pQ3sT5", "a value of 21 characters that may be a secret"),
    ],
)  # fmt: skip
def test_values_are_shown_with_care(text: str, expected: str) -> None:
    """A value is escaped, cut, and shown without what may be a secret."""
    assert expected == shown(text)


def test_warnings_do_not_keep_a_configuration_from_loading(tmp_path: Path) -> None:
    """A doubtful code and a placeholder are warnings, each once however many targets they are for."""
    text = (
        'subscriptions: {"*/*": {one: {eventCodes: [ABC00002, ABC00001], webhookUrl: "https://Hooks.example/{region}"},'
        " two: {eventCodes: [ONB10001], webhookUrl: https://hooks.example}}}"
    )
    warnings = load_beside_targets(tmp_path, text).warnings
    assert ["unfamiliar-code", "unfamiliar-code", "placeholder-host"] == [each.name for each in warnings]
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
    """Of a configuration with mistakes, sound targets and subscriptions remain."""
    text = """\
subscriptions:
  europe/staging:
    one: {eventCodes: [ONB10001], webhookUrl: https://one.test/}
    two: {eventCodes: [ONB10002], webhookUrl: ftp://two.test/}
"""
    desired, problem = load_sound(write(tmp_path, {"a.yaml": text, "b.yaml": TARGETS + "  x/y: {}\n"}))
    assert ["europe/staging/one"] == list(desired.subscriptions)
    assert ["europe/production", "europe/staging", "usa/staging"] == list(desired.targets)
    assert problem is not None
    assert 3 == problem.count


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
    monkeypatch.setattr(merging, "LIMIT", 6)
    load_beside_targets(tmp_path / "fewer", text.replace("¦", ""))


def test_very_many_mistakes_are_counted(tmp_path: Path) -> None:
    """Of one file the first hundred are reported and the others counted; other files are reported whole."""
    config = write(tmp_path, {"a.yaml": "".join(f"key{n}: 1\n" for n in range(5000)), "b.yaml": "x: 1"})
    with pytest.raises(ConfigError) as caught:
        load(config)
    *first, other = caught.value.messages
    assert 5001 == caught.value.count
    assert list(range(1, 101)) == [each.place.line for each in first if each.place]
    assert f"{config}/b.yaml:1:1" == str(other.place)


def test_very_many_names_are_counted(tmp_path: Path) -> None:
    """A message lists twenty names at most."""
    declared = "".join(f"  r{n:03}/e: {{{PLACES}/{n}}}\n" for n in range(100))
    (mistake,) = mistakes_in(write(tmp_path, {"a.yaml": f"targets:\n{declared}subscriptions: {{x/y: {{}}}}"}))
    assert mistake.steps[0].text.endswith("r018/e, r019/e, and 80 more")
