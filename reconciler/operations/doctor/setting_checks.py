"""Which settings are set, and where: by name, never by value."""

from collections.abc import Collection, Sequence
from difflib import get_close_matches

from reconciler.errors import SettingsError
from reconciler.model.address import TargetName
from reconciler.model.desired import Target
from reconciler.model.result import Finding
from reconciler.operations.doctor.found import attempted, failed, failure, ok, warning
from reconciler.operations.settings import CREDENTIALS, WHERE_TO_SET, credentials_or_faults
from reconciler.operations.variables import SECRETS_DIR, Variables
from reconciler.operations.workspace import Workspace
from reconciler.service.credentials import Credentials

_CHECK = "setting"
_FLAGS = ("config", "state", "cache_dir", "timeout", "parallelism")
_ADDRESSES = ("AUTH_URL", "BASE_URL", "AUDIENCE_BASE")
_DEFAULT_TIMEOUT = 30.0
_QUOTED = ('""', "''", "\N{LEFT DOUBLE QUOTATION MARK}\N{RIGHT DOUBLE QUOTATION MARK}")


def common_settings(workspace: Workspace) -> tuple[float, list[Finding]]:
    """The settings of every command, and the timeout to use: the default if the setting cannot be used."""
    findings = [finding for flag in _FLAGS for finding in _setting(workspace, flag)]
    findings += attempted(_CHECK, SECRETS_DIR, lambda: [_variable(workspace.variables, SECRETS_DIR, "not set")])
    timeout = _DEFAULT_TIMEOUT
    try:
        timeout = workspace.timeout
    except SettingsError as problem:
        findings.append(failure(_CHECK, "RECONCILER_TIMEOUT", problem))
    try:
        _ = workspace.parallelism
    except SettingsError as problem:
        findings.append(failure(_CHECK, "RECONCILER_PARALLELISM", problem))
    return timeout, findings


def _setting(workspace: Workspace, flag: str) -> list[Finding]:
    name = f"RECONCILER_{flag.upper()}"
    if flag in workspace.notices.flags:
        return [ok(_CHECK, name, f"set, by --{flag.replace('_', '-')}")]
    return attempted(_CHECK, name, lambda: [_variable(workspace.variables, name, "not set; the default applies")])


def _variable(variables: Variables, name: str, unset: str) -> Finding:
    """Raises SettingsError."""
    source = variables.source(name)
    return ok(_CHECK, name, unset if source is None else f"set, in {source}")


def target_settings(
    variables: Variables, target: Target, declared: Collection[TargetName]
) -> tuple[Credentials | None, list[Finding]]:
    """The credentials of a target, if they can be used, and what there is of its variables.

    `declared` are the names of all targets: a variable of one of them is no mistyped one of another.
    """
    prefix = target.name.variable_prefix
    try:
        given = credentials_or_faults(target.name, variables)
        overriding = [f"{prefix}{field}" for field in _ADDRESSES if variables.get(f"{prefix}{field}")]
        faults = {} if isinstance(given, Credentials) else given
        others = _undeclared(variables, declared) if faults else []
        findings = [_credential(variables, f"{prefix}{field}", faults, others) for field in CREDENTIALS]
        findings += [ok(_CHECK, name, f"set, in {variables.source(name)}: overrides config/") for name in overriding]
    except SettingsError as problem:
        return None, [failure(_CHECK, f"{prefix}…", problem)]
    return given if isinstance(given, Credentials) else None, findings


def _credential(variables: Variables, name: str, faults: dict[str, str], others: Sequence[str]) -> Finding:
    if name not in faults:
        what, value = f"set, in {variables.source(name)}", (variables.get(name) or "").strip()
        if len(value) > 1 and f"{value[0]}{value[-1]}" in _QUOTED:
            return warning(_CHECK, name, f"{what}, with quotes, which are part of the value", "remove the quotes")
        return ok(_CHECK, name, what)
    similar = get_close_matches(name, others, n=1, cutoff=0.9)
    hint = f"{similar[0]} is set, which may be a typo; " if similar else ""
    return failed(_CHECK, name, faults[name].removeprefix("is "), hint + WHERE_TO_SET)


def _undeclared(variables: Variables, declared: Collection[TargetName]) -> list[str]:
    """The variables of the environment that are set for the program, and for none of these targets."""
    fields = (*CREDENTIALS, *_ADDRESSES)
    known = {f"{name.variable_prefix}{field}" for name in declared for field in fields}
    return [name for name in variables.environ if name.startswith("RECONCILER_") and name not in known]
