"""All that one page shows of a plan or of the status: what is planned, in force, proven and not known, at one time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reconciler.model.address import TargetName
    from reconciler.model.desired import Target
    from reconciler.model.plan import Plan
    from reconciler.model.status import TargetStatus


class TargetOverview(Struct, frozen=True):
    """One target: its status, and where its calls go (`declared`, None if it is not declared).

    `service` is the base URL that its record is bound to; `head` and `written` (UTC, ISO 8601) are the hash and the
    time of the last of its `entries`.
    """

    standing: TargetStatus
    service: str
    head: str
    entries: int
    written: str
    declared: Target | None


class Overview(Struct, frozen=True):
    """The selected targets as of `now` (UTC, ISO 8601), sorted by name, with the plan for them.

    `recipients` are the age keys that create responses are encrypted to. `unusable` says of targets and services
    whose records cannot be used what is wrong with them: what exists there is not known.
    """

    now: str
    plan: Plan
    targets: tuple[TargetOverview, ...]
    recipients: tuple[str, ...] = ()
    unusable: Mapping[TargetName, str] = {}
