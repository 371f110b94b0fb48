"""What approves an apply: a flag, a digest, or a saved plan."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reconciler.errors import Refused, SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from reconciler.model.plan import Plan

_PLAN_AGAIN = "look at a new plan, made with the same variables, and approve that"


@dataclass(frozen=True, slots=True)
class SavedPlan:
    """What a plan file says of the plan it holds: never anything to send."""

    file: str
    selection: tuple[str, ...]
    digest: str
    targets: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Approval:
    """What was given to approve the plan with."""

    automatic: bool
    digest: str | None
    saved: SavedPlan | None

    @property
    def given(self) -> bool:
        return self.automatic or self.digest is not None or self.saved is not None

    @property
    def selection(self) -> tuple[str, ...]:
        """What a saved plan was made for."""
        return self.saved.selection if self.saved else ()

    def refuse_other_plan(self, plan: Plan, *, whole: bool) -> None:
        """Raises Refused where the plan is another than the one approved: all of it, or the targets selected now."""
        if self.digest is not None and self.digest != plan.digest:
            raise Refused(
                f"the plan is another by now: its digest is {plan.digest}",
                where=f"--expect-digest {self.digest}",
                remedy=_PLAN_AGAIN,
            )
        if self.saved is None:
            return
        digests: dict[str, str] = {name: target.digest for name, target in plan.targets.items()}
        names = sorted({*digests, *self.saved.targets} if whole else digests)
        changed = [name for name in names if digests.get(name) != self.saved.targets.get(name)]
        if changed:
            raise Refused(
                f"the saved plan no longer holds for {', '.join(changed)}: it was applied, or the configuration, the"
                " settings or the record changed since, or it was made for another selection",
                where=self.saved.file,
                remedy=_PLAN_AGAIN,
            )


def read_plan_file(path: Path) -> SavedPlan:
    """A plan as `plan --out` wrote it. Raises SettingsError for a file that is none."""
    try:
        document = json.loads(path.read_bytes())
    except OSError as problem:
        raise SettingsError(f"the plan cannot be read: {problem.strerror}", where=path) from None
    except (ValueError, RecursionError):
        document = None
    match document:
        case {"format_version": str(version), "digest": str(digest), "selection": list(selection), "targets": dict()}:
            targets = {name: _digest_of(one) for name, one in document["targets"].items()}
            if version.startswith("1.") and all(targets.values()) and all(isinstance(one, str) for one in selection):
                return SavedPlan(str(path), tuple(selection), digest, targets)
    raise SettingsError(
        "this is no plan of this version", where=path, remedy="make one with: reconciler plan --out FILE"
    )


def _digest_of(target: object) -> str:
    match target:
        case {"digest": str(digest)}:
            return digest
        case _:
            return ""
