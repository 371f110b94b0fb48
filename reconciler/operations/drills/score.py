"""What became of a drill: what is wrong in the end, and how many commands it took."""

from msgspec import Struct

from reconciler.operations.drills.checks import all_findings
from reconciler.operations.drills.commands import Counted
from reconciler.operations.drills.drill import Drill
from reconciler.operations.drills.finding import Finding, Kind
from reconciler.operations.drills.scene import Scene


class Score(Struct, frozen=True):
    """How a drill ended: what is wrong, and the commands that the person has run."""

    findings: tuple[Finding, ...]
    commands: Counted

    def of(self, kind: Kind) -> list[Finding]:
        return [finding for finding in self.findings if finding.kind is kind]

    @property
    def passed(self) -> bool:
        return not self.findings


def score_of(drill: Drill, scene: Scene) -> Score:
    """Look at the service, the record and the plan as they are now."""
    commands = scene.commands
    return Score((*drill.check(scene), *all_findings(scene, drill.section)), commands)
