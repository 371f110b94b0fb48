"""The same work for those that a user would pick instead, as far as they are installed."""

from __future__ import annotations

import copy
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.races import Runner, plain_environment

if TYPE_CHECKING:
    from collections.abc import Callable

_TERRAFORM = {"CHECKPOINT_DISABLE": "1", "TF_IN_AUTOMATION": "1"}

# `count`, since Terraform evaluates a `for_each` once for each of its instances.
_UNCHANGED_TF = """\
resource "terraform_data" "subscription" {{
  count = {count}
  input = {{ codes = [format("ONB%05d", count.index)], url = "https://hooks.partner.example/${{count.index}}" }}
}}
"""

_CURL_TF = """\
resource "terraform_data" "subscription" {{
  count = {count}
  provisioner "local-exec" {{
    command = join(" ", ["curl -sSf -o /dev/null -H 'content-type: application/json'",
      "-d '{{\\"eventCodes\\":[\\"${{format("ONB%05d", count.index)}}\\"]}}'",
      "{url}/notification/webhooksubscription"])
  }}
}}
"""

_OCTODNS = """\
providers:
  desired: {class: octodns.provider.yaml.YamlProvider, directory: ./desired}
  actual: {class: octodns.provider.yaml.YamlProvider, directory: ./actual}
zones:
  partner.example.: {sources: [desired], targets: [actual]}
"""


def terraform_plan(directory: Path, count: int) -> Runner | None:
    """Terraform's unchanged plan of so many resources that need no provider; None if it is not installed."""
    runner = _terraform(directory, _UNCHANGED_TF.format(count=1), "plan", "-detailed-exitcode")
    if runner is not None:
        _prepare(runner, "apply", "-auto-approve")
        _multiply(directory / "terraform.tfstate", count)
        (directory / "main.tf").write_text(_UNCHANGED_TF.format(count=count), encoding="utf-8")
    return runner


def terraform_apply(directory: Path, count: int, url: str, after: Callable[[], object]) -> Runner | None:
    """Terraform's apply of so many creates, each by curl, ten at a time as is its default; None likewise."""

    def forget() -> None:
        for file in directory.glob("terraform.tfstate*"):
            file.unlink()

    text = _CURL_TF.format(count=count, url=url)
    return _terraform(directory, text, "apply", "-auto-approve", before=forget, after=after)


def _terraform(directory: Path, text: str, *arguments: str, **around: Any) -> Runner | None:
    found = shutil.which("terraform")
    if found is None:
        return None
    directory.mkdir(parents=True)
    (directory / "main.tf").write_text(text, encoding="utf-8")
    runner = Runner([found, *arguments], directory, _TERRAFORM, **around)
    _prepare(runner, "init")
    return runner


def _prepare(runner: Runner, *arguments: str) -> None:
    """Run another command of the same program, once."""
    environment = plain_environment(runner.directory, **runner.environment)
    command = [runner.command[0], *arguments]
    subprocess.run(command, cwd=runner.directory, env=environment, check=True, capture_output=True)


def _multiply(state: Path, count: int) -> None:
    """Make a state of one resource one of `count`: to apply ten thousand would take Terraform an hour."""
    document = json.loads(state.read_text(encoding="utf-8"))
    (first,) = document["resources"][0]["instances"]
    instances = document["resources"][0]["instances"] = [copy.deepcopy(first) for _ in range(count)]
    for number, instance in enumerate(instances):
        instance["index_key"] = number
        instance["attributes"]["id"] = f"00000000-0000-0000-0000-{number:012d}"
        for name in ("input", "output"):
            value = {"codes": [f"ONB{number:05d}"], "url": f"https://hooks.partner.example/{number}"}
            instance["attributes"][name]["value"] = value
    state.write_text(json.dumps(document), encoding="utf-8")


def octodns_plan(directory: Path, count: int) -> Runner | None:
    """octoDNS's unchanged plan of so many records, YAML to YAML; None if it is not beside this interpreter."""
    found = Path(sys.executable).with_name("octodns-sync")
    if not found.exists():
        return None
    names = [f"s{number:05d}" for number in range(count)]
    records = "".join(f"{name}:\n  type: CNAME\n  value: {name}.hooks.example.\n" for name in names)
    for name in ("desired", "actual"):
        (directory / name).mkdir(parents=True)
        (directory / name / "partner.example.yaml").write_text(records, encoding="utf-8")
    (directory / "octodns.yaml").write_text(_OCTODNS, encoding="utf-8")
    return Runner([found, "--config-file", "octodns.yaml"], directory)
