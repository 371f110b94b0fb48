"""The same work for those that a user would pick instead, as far as they are installed."""

from __future__ import annotations

import copy
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from benchmarks.races import Runner, plain_environment

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_TERRAFORM = {"CHECKPOINT_DISABLE": "1", "TF_IN_AUTOMATION": "1"}

_UNCHANGED_TF = """\
locals { subscriptions = yamldecode(file("subscriptions.yaml")) }
resource "terraform_data" "subscription" {
  for_each = local.subscriptions
  input = each.value
}
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
    if (runner := _terraform(directory, _UNCHANGED_TF, "plan", "-detailed-exitcode")) is None:
        return None
    subscriptions = {
        name: {"codes": [f"ONB{name[1:]}"], "url": f"https://hooks.partner.example/{name}"} for name in _names(count)
    }
    file = directory / "subscriptions.yaml"
    first = [*subscriptions.items()][:1]
    file.write_text(json.dumps(dict(first)), encoding="utf-8")  # which is YAML, too
    _prepare(runner, "apply", "-auto-approve")
    _multiply(directory / "terraform.tfstate", subscriptions)
    file.write_text(yaml.safe_dump(subscriptions), encoding="utf-8")
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


def _multiply(state: Path, subscriptions: Mapping[str, object]) -> None:
    """Make a state of one resource one of all: to apply ten thousand would take Terraform an hour."""
    document = json.loads(state.read_text(encoding="utf-8"))
    (first,) = document["resources"][0]["instances"]
    instances = document["resources"][0]["instances"] = [copy.deepcopy(first) for _ in subscriptions]
    for number, (instance, (name, wanted)) in enumerate(zip(instances, subscriptions.items(), strict=True)):
        instance["index_key"] = name
        instance["attributes"]["id"] = f"00000000-0000-0000-0000-{number:012d}"
        for attribute in ("input", "output"):
            instance["attributes"][attribute]["value"] = wanted
    state.write_text(json.dumps(document), encoding="utf-8")


def octodns_plan(directory: Path, count: int) -> Runner | None:
    """octoDNS's unchanged plan of so many records, YAML to YAML; None if it is not beside this interpreter."""
    found = Path(sys.executable).with_name("octodns-sync")
    if not found.exists():
        return None
    records = "".join(f"{name}:\n  type: CNAME\n  value: {name}.hooks.example.\n" for name in _names(count))
    for name in ("desired", "actual"):
        (directory / name).mkdir(parents=True)
        (directory / name / "partner.example.yaml").write_text(records, encoding="utf-8")
    (directory / "octodns.yaml").write_text(_OCTODNS, encoding="utf-8")
    return Runner([found, "--config-file", "octodns.yaml"], directory)


def _names(count: int) -> list[str]:
    return [f"s{number:05d}" for number in range(count)]
