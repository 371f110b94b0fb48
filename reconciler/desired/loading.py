"""Runs the stages that load the configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from reconciler.desired import credentials, files, merging, nodes, reading, sections, targets
from reconciler.desired.fields import PARITY, RECIPIENTS, RECORD, STATE, VERIFICATION
from reconciler.desired.mistakes import Mistakes, position
from reconciler.errors import ConfigError
from reconciler.model.desired import Desired

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from reconciler.desired.sections import Lookup


def load(config: Path, lookup: Lookup = lambda _name: None) -> Desired:
    """Return the desired state that `config`, a directory or a single file, describes.

    `lookup` returns the value of a variable, or None if it is unset. It is called for RECONCILER_RECIPIENTS, for
    the variables that override the URLs of targets, and for the variables that hold secrets. A secret in `config` is a
    mistake. Raises ConfigError with every mistake, sorted by place. Warnings are in the `warnings` of the result or of
    the error.
    """
    desired, problem = load_sound(config, lookup)
    if problem is not None:
        raise problem
    return desired


def load_sound(config: Path, lookup: Lookup = lambda _name: None) -> tuple[Desired, ConfigError | None]:
    """Return the valid parts of the desired state, and the error that `load` raises, or None without mistakes."""
    mistakes = Mistakes()
    contents = files.read(config, mistakes)
    gathered = sections.gather(_roots(contents, {}, mistakes), mistakes)
    secrets = credentials.secrets(gathered.targets, lookup)
    if any(secret.encode() in file.data for secret in secrets for file in contents):  # without the invalid parts
        mistakes = Mistakes()
        gathered = sections.gather(_roots(files.read(config, mistakes), secrets, mistakes), mistakes)
    declared = targets.read(gathered.targets, lookup, mistakes)
    subscriptions = merging.merge(gathered.patterns, declared, mistakes)
    merging.refuse_overlaps(subscriptions.values(), declared, mistakes)
    given = {name: member.value for name, member in gathered.single.items()}
    state, record = (
        reading.scalar(given[field.name], field, mistakes) if field.name in given else "" for field in (STATE, RECORD)
    )
    signed, parity = given.get(VERIFICATION.name), given.get(PARITY.name)
    desired = Desired(
        targets={name: target.target for name, target in declared.items() if target.target is not None},
        subscriptions=subscriptions,
        state=state or "",
        record=record or "",
        recipients=sections.read_recipients(given.get(RECIPIENTS.name), lookup, mistakes),
        verification=None if signed is None else sections.read_verification(signed, mistakes),
        parity_ignore=() if parity is None else sections.read_parity(parity, mistakes),
        warnings=tuple(sorted(mistakes.warnings, key=position)),
        unread=tuple(sorted(mistakes.unread, key=position)),
    )
    if not mistakes.found:
        return desired, None
    every = desired.subscriptions.items()
    sound = {address: each for address, each in every if not each.template.startswith(merging.NOWHERE)}
    return replace(desired, subscriptions=sound), ConfigError(mistakes.first_of_each_file(), mistakes.count)


def _roots(contents: Iterable[files.File], secrets: Mapping[str, str], mistakes: Mistakes) -> Iterator[nodes.Node]:
    for file in contents:
        root = nodes.build(credentials.cover(file, secrets, mistakes), mistakes)
        if root is not None:
            credentials.remove(root, mistakes)
            yield root
