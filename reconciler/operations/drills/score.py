"""What became of a drill: what exists at the service, beside what the record says and what is desired."""

from collections import Counter
from collections.abc import Iterable

from msgspec import Struct

from reconciler.operations.drills.drill import Drill
from reconciler.operations.drills.scene import Scene


class Score(Struct, frozen=True):
    """How a drill ended; of `twice`, `lost` and `open`, each item is a sentence.

    `twice`: a route that more than one subscription delivers. `lost`: what exists and is not recorded, or the reverse.
    `open`: what is still to be done. `commands` were run; the recommended way takes `enough` of them.
    """

    twice: tuple[str, ...]
    lost: tuple[str, ...]
    open: tuple[str, ...]
    commands: int
    enough: int

    @property
    def passed(self) -> bool:
        return not (self.twice or self.lost or self.open)


def score_of(drill: Drill, scene: Scene) -> Score:
    """Look at the service, the record and the plan as they are now."""
    there = Counter((code, one.url) for one in scene.sandbox.world.subscriptions() for code in one.codes)
    recorded = scene.ask("state", "list")
    if recorded is None:
        return Score((), (), ("the record cannot be read",), scene.commands, drill.commands)
    in_force = [one for one in recorded if one["status"] != "unknown"]
    here = Counter((code, one["webhookUrl"]) for one in in_force for code in one["eventCodes"])
    return Score(
        twice=_sentences((route for route, count in there.items() if count > 1), "is delivered twice"),
        lost=(
            *_sentences(there - here, "is delivered but not recorded"),
            *_sentences(here - there, "is recorded as in force but does not exist"),
        ),
        open=(*_open(scene), *drill.check(scene)),
        commands=scene.commands,
        enough=drill.commands,
    )


def _sentences(routes: Iterable[tuple[str, str]], what: str) -> tuple[str, ...]:
    return tuple(f"{code} to {url} {what}" for code, url in sorted(routes))


def _open(scene: Scene) -> list[str]:
    plan = scene.ask("plan")
    if plan is None:
        return ["`reconciler plan` fails"]
    changes = [f"the plan has a change: {one['action']} {one['address']}" for one in plan["changes"]]
    awaiting = [f"{one['address']} awaits removal" for one in plan["awaiting_removal"]]
    return changes + awaiting
