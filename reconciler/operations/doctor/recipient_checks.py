"""Whether what is encrypted to the recipients can be decrypted by somebody on this machine."""

from collections.abc import Sequence
from pathlib import Path

import pyrage  # type: ignore[import-untyped]

from reconciler.model.result import Finding
from reconciler.operations.doctor.found import ok, skipped, warning
from reconciler.operations.new_project.age_key import HOW_TO_ENCRYPT
from reconciler.reports.wording import counted

_CHECK = "recipients"
_ABOUT = "config/"
_KEY = "AGE-SECRET-KEY-1"
_LONGEST = 1 << 16


def recipient_findings(recipients: Sequence[str], identities: Path, *, shared: bool) -> list[Finding]:
    """Whether an identity in a file of the directory `identities` belongs to one of the recipients.

    `shared` says whether other users or machines read the record.
    """
    if not recipients and shared:
        what = "none: create responses would be stored unencrypted, so `apply` refuses creates without --unsealed"
        return [warning(_CHECK, _ABOUT, what, HOW_TO_ENCRYPT)]
    if not recipients:
        return [skipped(_CHECK, _ABOUT, "none: create responses are stored in private files of this machine")]
    known = _public_keys(identities)
    opened = sum(recipient in known for recipient in recipients)
    if opened:
        what = f"an identity on this machine decrypts what is encrypted to {opened} of {len(recipients)}"
        return [ok(_CHECK, _ABOUT, what)]
    return [
        warning(
            _CHECK,
            _ABOUT,
            f"no identity on this machine belongs to the {counted(len(recipients), 'recipient')}",
            f"check that someone has the private key; one that belongs to this machine goes into {identities}",
        )
    ]


def _public_keys(identities: Path) -> set[str]:
    """The public keys of the identities in a directory; files that cannot be read have none."""
    keys = set()
    for path in sorted(identities.glob("*.txt")):
        try:
            with path.open(encoding="utf-8") as file:
                lines = file.read(_LONGEST).split()
        except (OSError, UnicodeDecodeError):
            continue
        for line in lines:
            if line.startswith(_KEY):
                try:
                    keys.add(str(pyrage.x25519.Identity.from_str(line).to_public()))
                except pyrage.IdentityError:
                    continue
    return keys
