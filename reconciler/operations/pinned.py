"""What is fixed outside of the checkout, so that whoever changes `config/` cannot send a secret elsewhere."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from reconciler.errors import SettingsError
from reconciler.operations.variables import RECIPIENTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reconciler.model.address import TargetName
    from reconciler.model.desired import Desired, Target
    from reconciler.model.selection import Selection
    from reconciler.operations.variables import Variables


def with_recipients(desired: Desired, variables: Variables) -> Desired:
    """The desired state with the recipients that RECONCILER_RECIPIENTS gives, if it is set.

    Raises SettingsError for what is no recipient, and where `config/` names others: neither list silently wins.
    """
    recipients = given_recipients(variables)
    if recipients and desired.recipients and {*desired.recipients} != {*recipients}:
        raise SettingsError(
            f"the variable has {', '.join(sorted(recipients))}, but `recipients` in config/ has"
            f" {', '.join(sorted(desired.recipients))}",
            where=RECIPIENTS,
            remedy="find out who changed which of the two, and make them the same; or remove `recipients` from config/",
        )
    return desired if desired.recipients else replace(desired, recipients=recipients)


def given_recipients(variables: Variables) -> tuple[str, ...]:
    """What RECONCILER_RECIPIENTS gives; nothing if it is not set. Raises SettingsError for what is no recipient."""
    given = variables.get(RECIPIENTS)
    if given is None:
        return ()
    recipients = tuple(dict.fromkeys(re.findall(r"[^\s,]+", given)))
    _refuse_unusable(recipients)
    return recipients


def refuse_unpinned(desired: Desired, selection: Selection, variables: Variables, *, unsealed: bool) -> None:
    """Raises SettingsError that names each address in use, and the recipients, that come from the checkout alone.

    `unsealed` does without recipients.
    """
    selected = [target for name, target in desired.targets.items() if selection.touches(name)]
    missing = {target.name: [*_unpinned(target, variables)] for target in selected}
    lines = [f"{name}: {', '.join(names)}" for name, names in missing.items() if names]
    if selected and not variables.from_outside(RECIPIENTS) and not (unsealed and not desired.recipients):
        lines.append(f"recipients: {RECIPIENTS}")
    if lines:
        raise SettingsError(
            f"not set outside of the checkout: {'; '.join(lines)}",
            where="--pinned",
            remedy="set these variables in the environment, or in files of RECONCILER_SECRETS_DIR; config/ and .env do"
            " not count",
        )


def _unpinned(target: Target, variables: Variables) -> Iterator[str]:
    fields = ["AUTH_URL", "BASE_URL"]
    if target.audience_base != target.base_url:
        fields.append("AUDIENCE_BASE")
    return (name for field in fields if not variables.from_outside(name := _variable(target.name, field)))


def _variable(target: TargetName, field: str) -> str:
    return f"{target.variable_prefix}{field}"


def _refuse_unusable(recipients: tuple[str, ...]) -> None:
    """Raises SettingsError, without the value: it might be the secret half of a key."""
    from reconciler.desired.single_sections import recipient_remedy  # noqa: PLC0415 - few runs need it

    if not recipients:
        raise SettingsError("contains no key", where=RECIPIENTS, remedy="set it to age1…, or unset it")
    for number, recipient in enumerate(recipients, 1):
        remedy = recipient_remedy(recipient)
        if remedy:
            raise SettingsError(f"not an age X25519 public key (number {number})", where=RECIPIENTS, remedy=remedy)
