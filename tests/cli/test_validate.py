"""`reconciler validate`: the mistakes and warnings in each format. What is a mistake is tested in `tests/desired`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from support.project import Project


@pytest.mark.parametrize("count", [10, 11, 25])
def test_github_shows_ten_of_each_kind(project: Project, count: int) -> None:
    """The others are in the log, after how many they are, in lines that are no command."""
    text = "targets: {a/b: {auth_url: https://a.example, base_url: https://a.example}}\nsubscriptions:\n  a/b:\n"
    for number in range(count):
        text += f"    w{number}: {{eventCodes: [XYZ{number:05}], webhookUrl: https://a.example/w{number}}}\n"
        text += f"    e{number}: {{eventCodes: [ONB{number:05}], webhookUrl: '::error::{number}'}}\n"
    project.write("config/all.yaml", text)
    done = project.step("validate", "--format", "github", code=1)
    lines = done.out.splitlines()
    for kind, begin in (("error", "::error "), ("warning", "::warning ")):
        assert 10 == sum(line.startswith(begin) for line in lines)
        more = [line for line in lines if f" more {kind}" in line]
        words = f"{count - 10} more {kind}{'' if count == 11 else 's'}, only in this log:"
        assert ([words] if count > 10 else []) == more
    assert 2 * (count - 10) == sum(line.startswith("  config/all.yaml:") for line in lines)


def test_every_format_tells_every_mistake_and_warning(project: Project) -> None:
    """Text on stderr, a document, and workflow commands with what would end them escaped."""
    project.write(
        "config/a,b%.yaml", "subscriptions:\n  '*/*':\n    offers: {eventCodes: ['1::\\n%'], webhookUrl: x}\n"
    )
    project.write("config/more.ymal", "")
    project.write("config/README.md", "")  # for people, and no mistake
    told = project.run_fork("validate", "--format", "github")
    assert [
        "::error file=config/a%2Cb%25.yaml,line=2,col=3::*/* matches no declared target",
        "::error file=config/a%2Cb%25.yaml,line=3,col=27::eventCodes: not an event code: '1::\\\\n%25'",
        "::error file=config/a%2Cb%25.yaml,line=3,col=50::webhookUrl is not an absolute URL: 'x'",
        "::warning file=config/more.ymal,line=1,col=1::the file is not read",
    ] == [line.partition(";")[0].partition(": its name")[0] for line in told.out.splitlines()]
    assert (1, "") == (told.code, told.err)
    document = json.loads(project.step("validate", "--format", "json", code=1).out)
    assert (document["valid"], len(document["mistakes"]), len(document["warnings"])) == (False, 3, 1)
    assert {"file", "line", "column", "what", "remedy"} == {*document["mistakes"][0]}
    text = project.step("validate", code=1)
    assert text.out == ""
    assert ["Warning:", "Error:", "Error:", "Error:", "Error:"] == [line.split()[0] for line in text.err.splitlines()]


def test_annotations_name_files_from_the_root_of_the_checkout(project: Project) -> None:
    """The working directory may be below it. No subscription is a warning of a valid configuration."""
    project.environment["GITHUB_WORKSPACE"] = str(project.path.parent)
    project.write("config/all.yaml", "targets: {}\n")
    told = project.step("validate", "--format", "github").out
    assert f"::warning file={project.path.name}/config,line=1,col=1::the configuration defines no subscription" in told
    assert json.loads(project.step("validate", "--format", "json").out)["valid"] is True
