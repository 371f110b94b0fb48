"""The room's pipeline, stage by stage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from reconciler.desired import credentials, files, merging, nodes, overlaps, sections, targets
from reconciler.desired.mistakes import Mistakes
from reconciler.desired.single_sections import read_parity, read_recipients, read_verification
from reconciler.errors import ConfigError
from reconciler.model.desired import Desired

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from reconciler.desired.targets import Override


def load(config: Path, override: Override, secrets: Mapping[str, str] | None = None) -> Desired:
    """The desired state that the directory (or the one file) `config` describes.

    `override` says how the environment overrides a target's addresses, and `secrets` are the values that must not stand
    in `config`, each with the name of its variable. Raises ConfigError with every mistake, sorted by place; warnings
    are in the `warnings` of the result, or of the error.
    """
    desired, problem = load_sound(config, override, secrets)
    if problem is not None:
        raise problem
    return desired


def load_sound(
    config: Path, override: Override, secrets: Mapping[str, str] | None = None
) -> tuple[Desired, ConfigError | None]:
    """As `load`, for what looks at a configuration with mistakes: the targets and URLs without any, and the error."""
    mistakes = Mistakes(credentials.forms(secrets or {}))
    config_sections = sections.gather(_roots(config, mistakes), mistakes)
    desired = _judge(config_sections, override, mistakes)
    if not mistakes.found:
        return desired, None
    sound = {
        address: subscription
        for address, subscription in desired.subscriptions.items()
        if not subscription.url.startswith(merging.NOWHERE)
    }
    problem = ConfigError(mistakes.first_of_each_file(), mistakes.count, desired.warnings, desired.unread)
    return replace(desired, subscriptions=sound), problem


def _roots(config: Path, mistakes: Mistakes) -> Iterator[nodes.Node]:
    for file in files.read(config, mistakes):
        covered = credentials.cover(file, mistakes)
        root = nodes.build(covered, mistakes)
        if root is not None and covered is not file:
            root = credentials.without_covered(root, mistakes)
        if root is not None:
            credentials.remove(root, mistakes)
            yield root


def _judge(config_sections: sections.Sections, override: Override, mistakes: Mistakes) -> Desired:
    declared = targets.read(config_sections.targets, override, mistakes)
    sound = {name: target.target for name, target in declared.items() if target.target is not None}
    subscriptions = merging.merge(config_sections.patterns, declared, mistakes)
    overlaps.check(subscriptions.values(), declared, mistakes)
    single = {name: member.value for name, member in config_sections.single.items()}
    return Desired(
        targets=sound,
        subscriptions=subscriptions,
        recipients=read_recipients(single["recipients"], mistakes) if "recipients" in single else (),
        verification=read_verification(single["verification"], mistakes) if "verification" in single else None,
        parity_ignore=read_parity(single["parity"], mistakes) if "parity" in single else (),
        warnings=tuple(sorted(mistakes.warnings)),
        unread=tuple(sorted(mistakes.unread)),
    )
