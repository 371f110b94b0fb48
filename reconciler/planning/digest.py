"""What approving a plan approves, as one hash for each target and one for the whole."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from reconciler.model.plan import Action

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reconciler.model.address import TargetName
    from reconciler.model.desired import Target
    from reconciler.model.plan import Change
    from reconciler.model.record import Record


def target_digest(target: Target, record: Record, changes: Iterable[Change], recipients: Iterable[str]) -> str:
    """`sha256:` over what would be done, on which state, where, in whose account, and for whom responses are sealed.

    Not the account that the first create of all binds the record to, but every rebinding since.

    Other targets and other addresses do not enter into it, nor does the time. The attempts that a change is about do:
    which of two is to be retired, address and action do not say.
    """
    changes = sorted(changes, key=lambda change: (change.address, change.action))
    return _digest(
        {
            "target": target.name,
            "record": [record.id, record.rebound] if record.rebound else record.id,
            "service": [target.auth_url, target.base_url, target.audience_base],
            "recipients": sorted(recipients),
            "changes": [
                [
                    change.address,
                    change.action,
                    change.request and [change.request.codes, change.request.url],
                    () if change.action is Action.BLOCKED else change.concerns,
                    record.touched.get(change.address),
                ]
                for change in changes
            ],
        }
    )


def plan_digest(targets: Mapping[TargetName, str]) -> str:
    """`sha256:` over the digests of the targets."""
    return _digest(sorted(targets.items()))


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()
