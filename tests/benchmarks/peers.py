"""The same work for those that a user would pick instead, as far as they are installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.races import Runner, plain_environment

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_TERRAFORM = {"CHECKPOINT_DISABLE": "1", "TF_IN_AUTOMATION": "1"}

_UNCHANGED_TF = """\
locals {{ subscriptions = {{ for number in range({count}) : format("s%05d", number) => {{
  codes = [format("ONB%05d", number)], url = format("https://hooks.partner.example/s%05d", number)
}} }} }}
resource "terraform_data" "subscription" {{
  for_each = local.subscriptions
  input = each.value
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
    return _terraform(directory, _UNCHANGED_TF.format(count=count), "plan", "-detailed-exitcode", applied=True)


def terraform_apply(directory: Path, count: int, url: str, after: Callable[[], object]) -> Runner | None:
    """Terraform's apply of so many creates, each by curl, ten at a time as is its default."""
    text = _CURL_TF.format(count=count, url=url)
    return _terraform(directory, text, "apply", "-auto-approve", applied=False, after=after)


def _terraform(
    directory: Path, text: str, *arguments: str, applied: bool, after: Callable[[], object] = lambda: None
) -> Runner | None:
    found = shutil.which("terraform")
    if found is None:
        return None
    directory.mkdir(parents=True)
    (directory / "main.tf").write_text(text, encoding="utf-8")
    _prepare(directory, [found, "init"], _TERRAFORM)
    if applied:
        _prepare(directory, [found, "apply", "-auto-approve"], _TERRAFORM)

    def forget() -> None:
        for file in () if applied else directory.glob("terraform.tfstate*"):
            file.unlink()

    return Runner([found, *arguments], directory, _TERRAFORM, before=forget, after=after)


def octodns_plan(directory: Path, count: int) -> Runner | None:
    """octoDNS's unchanged plan of so many records, YAML to YAML; None if it is not beside this interpreter."""
    found = Path(sys.executable).with_name("octodns-sync")
    if not found.exists():
        return None
    records = "".join(
        f"s{number:05d}:\n  type: CNAME\n  value: h{number:05d}.hooks.example.\n" for number in range(count)
    )
    for name in ("desired", "actual"):
        (directory / name).mkdir(parents=True)
        (directory / name / "partner.example.yaml").write_text(records, encoding="utf-8")
    (directory / "octodns.yaml").write_text(_OCTODNS, encoding="utf-8")
    return Runner([found, "--config-file", "octodns.yaml"], directory)


def _prepare(directory: Path, command: list[str], environment: Mapping[str, str]) -> None:
    subprocess.run(
        command, cwd=directory, env=plain_environment(directory, **environment), check=True, stdout=subprocess.DEVNULL
    )
