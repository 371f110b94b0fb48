"""A repository whose workflow applies subscriptions to the sandbox, and what a test says and asks of the two."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.model.address import TargetName
from reconciler.sandbox import Sandbox
from support.forge import Forge

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

RECIPIENT = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"
CREDENTIALS = {"CLIENT_ID": "client", "CLIENT_SECRET": "the-client-secret"}
REGIONS = ("europe", "usa")
ENVIRONMENTS = ("staging", "production")


def one_client_sandbox(regions: Sequence[str] = REGIONS, environments: Sequence[str] = ENVIRONMENTS) -> Sandbox:
    """The service, with one client for every target."""
    targets = [f"{region}/{environment}" for region in regions for environment in environments]
    return Sandbox(
        targets=targets, credentials=dict.fromkeys(targets, (CREDENTIALS["CLIENT_ID"], CREDENTIALS["CLIENT_SECRET"]))
    )


def declared_repository(path: Path, sandbox: Sandbox, initialized: Sequence[str] = ("*",)) -> Forge:
    """A repository that declares two subscriptions on each target of the sandbox, with a record of these regions.

    The stages of its workflow are the environments of the targets.
    """
    stages = dict.fromkeys(TargetName(target).environment for target in sandbox.world.targets)
    forge = Forge(path, stages=tuple(stages))
    forge.secrets = {
        f"{TargetName(target).variable_prefix}{name}": value
        for target in sandbox.world.targets
        for name, value in CREDENTIALS.items()
    } | {"RECORD_KEY": "a-deploy-key"}
    forge.variables = variables(sandbox)
    declare(forge, sandbox, ["ONB10001"])
    forge.push("Declare subscriptions")
    patterns = [part for region in initialized for part in ("-t", f"{region}/*")]
    forge.project.step("state", "init", "--state", "git:reconciler-state", *patterns)
    return forge


def declare(forge: Forge, sandbox: Sandbox, codes: list[str]) -> None:
    """Write config/: applications with these codes, and offers, on every target."""
    lines = [f"recipients: [{RECIPIENT}]", "targets:"]
    for name, target in sandbox.world.targets.items():
        lines += [
            f"  {name}:",
            f"    auth_url: {target.provider.auth_url}",
            f"    base_url: {target.base_url}",
            f"    audience_base: {target.provider.audience_base}",
        ]
    lines += ["subscriptions:", '  "*/*":', "    applications:", f"      eventCodes: [{', '.join(codes)}]"]
    lines += ['      webhookUrl: "https://hooks.partner.example/{region}/{environment}/applications"', "    offers:"]
    lines += ["      eventCodes: [ONB10011]", '      webhookUrl: "https://hooks.partner.example/{region}/offers"']
    forge.project.write("config/all.yaml", "\n".join(lines) + "\n")


def variables(sandbox: Sandbox) -> dict[str, str]:
    """The variables of the GitHub environments: the addresses, and who may read responses, as they were approved."""
    found = {"RECONCILER_RECIPIENTS": RECIPIENT}
    for name, target in sandbox.world.targets.items():
        prefix = TargetName(name).variable_prefix
        found[f"{prefix}AUTH_URL"] = target.provider.auth_url
        found[f"{prefix}BASE_URL"] = target.base_url
        found[f"{prefix}AUDIENCE_BASE"] = target.provider.audience_base
    return found


def committed(sandbox: Sandbox, environment: str) -> list[tuple[str, tuple[str, ...]]]:
    """What the service has in an environment: (target, codes), sorted."""
    return sorted((one.target, one.codes) for one in sandbox.world.commits if one.target.endswith(environment))


def push(forge: Forge, *approved: str, **extra: str) -> tuple[int, str]:
    """Run the jobs of a push, with these stages approved; the exit code and the log."""
    forge.approved = approved
    done = forge.run("push", {}, extra=extra)
    return done.code, done.log
