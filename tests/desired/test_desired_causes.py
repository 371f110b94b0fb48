"""A mistake is told once, where it is, and not again as what follows from it; nothing hides another mistake."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.desired_configs import assert_mistakes, load_files, mistakes_in, write

from reconciler.desired import load
from reconciler.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from reconciler.desired.targets import Override
    from reconciler.model.address import TargetName

WHOLE = "{eventCodes: [ONB10001], webhookUrl: https://x.example}"
PLACES = "auth_url: https://login.example, base_url: https://api.example"
CASES = {
    "a misspelt section": (
        f"¦target: {{europe/staging: {{{PLACES}}}}}\nsubscriptions: {{europe/staging: {{a: {WHOLE}}}}}"
    ),
    "a misspelt target": (
        f"targets: {{¦Europe/staging: {{{PLACES}}}}}\nsubscriptions: {{europe/staging: {{a: {WHOLE}}}}}"
    ),
    "a variable beside vars": (
        f"targets: {{europe/staging: {{{PLACES}, ¦hooks: https://x.example}}}}\n"
        'subscriptions: {europe/staging: {a: {eventCodes: [ONB10001], webhookUrl: "{hooks}/a"}}}'
    ),
    "misspelt vars": (
        f"targets: {{europe/staging: {{{PLACES}, ¦var: {{hooks: https://x.example}}}}}}\n"
        'subscriptions: {europe/staging: {a: {eventCodes: [ONB10001], webhookUrl: "{hooks}/a"}}}'
    ),
    "a misspelt field of a target": (
        "targets: {europe/staging: {¦authUrl: https://login.example, base_url: https://api.example}}"
    ),
    "a misspelt field of a subscription": (
        f"targets: {{europe/staging: {{{PLACES}}}}}\n"
        "subscriptions: {europe/staging: {a: {eventCodes: [ONB10001], ¦webhookUrls: https://x.example}}}"
    ),
    "a misspelt pattern": (
        f"targets: {{europe/staging: {{{PLACES}}}}}\n"
        "subscriptions: {'*/*': {a: {eventCodes: [ONB10001]}}, ¦europe/stagin: {a: {webhookUrl: https://x.example}}}"
    ),
    "a code and a URL where no target is declared": (
        "subscriptions: {¦europe/staging: {a: {eventCodes: [¦ONB1], webhookUrl: ¦ftp://x.example}}}"
    ),
    "a code and a URL where one is": (
        f"targets: {{europe/staging: {{{PLACES}}}}}\n"
        "subscriptions: {europe/staging: {a: {eventCodes: [¦ONB1], webhookUrl: ¦ftp://x.example}}}"
    ),
}


@pytest.mark.parametrize("marked", CASES.values(), ids=CASES)
def test_the_cause_is_told_and_nothing_else(tmp_path: Path, marked: str) -> None:
    """Each cause, and every one."""
    assert_mistakes(tmp_path, marked, *[""] * marked.count("¦"), beside="")


def test_one_mistake_is_told_once_for_all_targets(tmp_path: Path) -> None:
    """A field that is missing, and a code that two have, on three targets; the second says where else."""
    fields = "auth_url: https://login.example, base_url: https://{}.example"
    targets = ", ".join(f"europe/{name}: {{{fields.format(name)}}}" for name in "abc")
    text = (
        f"targets: {{{targets}}}\nsubscriptions:\n  '*/*':\n    one: {WHOLE}\n    two: {WHOLE.replace('x', 'y')}\n"
        "    three: {eventCodes: [ONB10009]}\n"
    )
    overlapping, missing = mistakes_in(write(tmp_path, {"all.yaml": text}))
    assert "missing webhookUrl" in missing.what
    assert "(likewise on europe/b, europe/c)" in overlapping.what
    assert overlapping.remedy.endswith("set `overlap: allow` under europe/a, europe/b, europe/c")


TWO = """\
targets:
  europe/production: {auth_url: https://login.example, base_url: https://api.example}
  europe/staging: {auth_url: https://login.example, base_url: https://api.staging.example}
subscriptions:
  "*/*":
    one: {eventCodes: [ONB10001], webhookUrl: "https://{environment}.example/one"}
    two: {eventCodes: [ONB10002], webhookUrl: https://x.example/two}
"""
FROM_VARIABLE = "RECONCILER_EUROPE_STAGING_BASE_URL"


def overridden(given: dict[str, str]) -> Override:
    """An environment that sets these variables."""

    def override(target: TargetName, field: str) -> tuple[str, str] | None:
        name = f"{target.variable_prefix}{field}"
        return (given[name], name) if name in given else None

    return override


def test_a_variable_that_makes_one_service_of_two_is_told(tmp_path: Path) -> None:
    """Not each subscription of the two that overlaps then: nothing is wrong with those."""
    config = write(tmp_path, {"all.yaml": TWO})
    with pytest.raises(ConfigError) as caught:
        load(config, overridden({FROM_VARIABLE: "https://API.example/"}))
    (mistake,) = caught.value.mistakes
    assert ("all.yaml", 3) == (mistake.place.file.rpartition("/")[2], mistake.place.line)
    assert (
        f"{FROM_VARIABLE} gives europe/staging the service of europe/production, https://API.example, and both have the"
        " same event codes"
    ) == mistake.what
    assert "set it to the address of europe/staging, or unset it" == mistake.remedy


def test_variables_that_give_two_targets_one_address_are_told(tmp_path: Path) -> None:
    """Both, since either may be the wrong one."""
    given = dict.fromkeys((FROM_VARIABLE, "RECONCILER_EUROPE_PRODUCTION_BASE_URL"), "https://moved.example")
    with pytest.raises(ConfigError) as caught:
        load(write(tmp_path, {"all.yaml": TWO}), overridden(given))
    (mistake,) = caught.value.mistakes
    assert mistake.what.startswith("RECONCILER_EUROPE_PRODUCTION_BASE_URL and RECONCILER_EUROPE_STAGING_BASE_URL give ")


def test_a_variable_does_not_hide_what_config_makes_one_service(tmp_path: Path) -> None:
    """Where both targets have one address in `config/` too, or one target has a code twice, the files are told."""
    one_service = TWO.replace("api.staging.example", "api.example")
    with pytest.raises(ConfigError) as caught:
        load(write(tmp_path, {"all.yaml": one_service}), overridden({FROM_VARIABLE: "https://api.example"}))
    assert {6, 7} == {mistake.place.line for mistake in caught.value.mistakes}
    twice = TWO.replace("ONB10002", "ONB10001")
    with pytest.raises(ConfigError) as caught:
        load(write(tmp_path, {"all.yaml": twice}), overridden({FROM_VARIABLE: "https://api.example"}))
    assert {3, 7} == {mistake.place.line for mistake in caught.value.mistakes}


def test_a_variable_for_two_targets_without_overlap_is_none_of_it(tmp_path: Path) -> None:
    """Two targets of one service may each have codes of their own, as in a rehearsal."""
    apart = TWO.replace('"*/*"', "europe/staging")
    assert load(write(tmp_path, {"all.yaml": apart}), overridden({FROM_VARIABLE: "https://api.example"})).targets


def test_files_that_are_not_read_are_told(tmp_path: Path) -> None:
    """All but hidden ones, such as those of editors and of git."""
    files = {"all.yaml": "targets: {}", "more.ymal": "", "below/notes.txt": "", ".gitignore": ""}
    unread = load_files(tmp_path, files).unread
    assert ["below/notes.txt", "more.ymal"] == [
        mistake.place.file.removeprefix(f"{tmp_path}/config/") for mistake in unread
    ]
