"""A mistake is told once, where it is, and not again as what follows from it; nothing hides another mistake."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.desired_configs import assert_mistakes, load_files, mistakes_in, write

if TYPE_CHECKING:
    from pathlib import Path

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


def test_files_that_are_not_read_are_told(tmp_path: Path) -> None:
    """All but hidden ones, such as those of editors and of git."""
    files = {"all.yaml": "targets: {}", "more.ymal": "", "below/notes.txt": "", ".gitignore": ""}
    unread = load_files(tmp_path, files).unread
    assert ["below/notes.txt", "more.ymal"] == [
        mistake.place.file.removeprefix(f"{tmp_path}/config/") for mistake in unread
    ]
