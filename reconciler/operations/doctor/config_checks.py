"""Whether `config/` is valid; and what of it is, if it is not."""

from reconciler.desired import load_sound
from reconciler.errors import SettingsError
from reconciler.mistake import Mistake
from reconciler.model.desired import Desired
from reconciler.model.result import Finding, Health
from reconciler.operations.doctor.found import failed, failure, ok
from reconciler.operations.pinned import with_recipients
from reconciler.operations.workspace import Workspace
from reconciler.reports.wording import counted

_CHECK = "config"
_SHOWN = 10


def read_config(workspace: Workspace) -> tuple[Desired, list[Finding]]:
    """What of the desired state is free of mistakes, and the findings: each mistake, of very many the first."""
    try:
        desired, problem = load_sound(workspace.config, workspace.variables.override, workspace.variables.secrets())
    except SettingsError as unusable:
        return Desired({}, {}), [failure(_CHECK, "config/", unusable)]
    findings = [_finding(mistake, Health.WARNING) for mistake in desired.warnings]
    try:
        desired = with_recipients(desired, workspace.variables)
    except SettingsError as unusable:
        findings.append(failure(_CHECK, "config/", unusable))
    if problem is None:
        counts = f"{counted(len(desired.subscriptions), 'subscription')} on {counted(len(desired.targets), 'target')}"
        return desired, [ok(_CHECK, "config/", f"valid: {counts}"), *findings]
    findings += [_finding(mistake, Health.FAILED) for mistake in problem.mistakes[:_SHOWN]]
    if len(problem.mistakes) > _SHOWN:
        what = f"{problem.what}, of which the first {_SHOWN} are shown"
        findings.append(failed(_CHECK, "config/", what, "to list all, run: reconciler validate"))
    return desired, findings


def _finding(mistake: Mistake, health: Health) -> Finding:
    return Finding(_CHECK, str(mistake.place), health, mistake.what, mistake.remedy)
