"""`doctor`: checks everything that an apply depends on, and changes nothing. It continues after a failed check."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from reconciler.disk import host_only_locks
from reconciler.errors import ConfigError, Message, ReconcilerError, Step
from reconciler.model.address import Selection
from reconciler.model.desired import Desired
from reconciler.model.plan import Finding, Health
from reconciler.operations.recovery_file import recovery_messages
from reconciler.planning.blocking import foreign
from reconciler.record.attempt_rows import secret_step
from reconciler.record.gates import obstacle_messages
from reconciler.reports.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reconciler.model.desired import Target
    from reconciler.operations.project import Project

CHECKS = ("config", "setting", "server", "clock", "token", "record", "write", "responses")
"""The names of the checks, in the order in which their findings are shown."""

_THREADS = 16
_MISTAKES_SHOWN = 10
_CREDENTIAL_FIELDS = ("CLIENT_ID", "CLIENT_SECRET")

Check = tuple[str, str, Callable[[], Iterable[Finding]]]
"""A check: its name, the place that its errors mention, and a function that returns its findings."""


def examine(project: Project, patterns: tuple[str, ...], *, write: bool = False) -> list[Finding]:
    """Check everything that an apply to the selected targets depends on.

    With `write`, also check that the record can be written. Raises SelectionError for a malformed pattern.
    """
    selection = Selection.of(patterns)
    desired, findings = _check_config(project)
    targets = [target for name, target in desired.targets.items() if selection.touches(name)]
    urls = {
        subscription.template
        for address, subscription in desired.subscriptions.items()
        if selection.has(address) and selection.touches(address.target)
    }
    place = project.flags.state or desired.state
    findings += _check_settings(project, targets)
    checks = [*_server_checks(project, targets, urls), *_token_checks(project, targets)]
    with ThreadPoolExecutor(_THREADS) as threads:
        groups = list(threads.map(lambda check: _attempt(*check), checks))
    of_record = _attempt("record", place, partial(_check_record, project, targets))
    groups += [of_record, _attempt("responses", "", partial(_check_responses, project))]
    if write and any(finding.health is Health.OK for finding in of_record):  # nothing is written if there is no record
        groups.append(_attempt("write", place, partial(_check_write, project)))
    findings += [finding for group in groups for finding in group]
    return sorted(dict.fromkeys(findings), key=lambda finding: (CHECKS.index(finding.check), finding.message.located))


def has_failures(findings: Iterable[Finding]) -> bool:
    """True if a check has failed, so that an apply would fail or do harm."""
    return any(finding.health is Health.FAILED for finding in findings)


def _check_config(project: Project) -> tuple[Desired, list[Finding]]:
    try:
        desired = project.desired
    except ConfigError as problem:
        shown = [Finding("config", Health.FAILED, message) for message in problem.messages[:_MISTAKES_SHOWN]]
        if problem.count > _MISTAKES_SHOWN:
            step = Step("to list all, run", ("reconciler", "validate"))
            what = f"{problem.count} mistakes, of which the first {_MISTAKES_SHOWN} are shown"
            shown.append(_finding(Health.FAILED, "config", what, str(project.config), step))
        return Desired({}, {}), shown
    except ReconcilerError as problem:
        return Desired({}, {}), _failures("config", problem)
    warnings = [Finding("config", Health.WARNING, message) for message in desired.warnings]
    what = f"{counted(len(desired.subscriptions), 'subscription')} on {counted(len(desired.targets), 'target')}"
    return desired, [_finding(Health.OK, "config", what, str(project.config)), *warnings]


def _check_settings(project: Project, targets: Iterable[Target]) -> list[Finding]:
    """Return findings about the credentials of the targets. They contain the names of variables, but no values."""
    findings = []
    for target in targets:
        for field in _CREDENTIAL_FIELDS:
            name = f"{target.name.variable_prefix}{field}"
            value = project.sources.get(name)
            if not value:
                step = Step("set it in the environment, in .env, or as a file in RECONCILER_SECRETS_DIR")
                findings.append(_finding(Health.FAILED, "setting", "credential not set", name, step))
            elif value != value.strip("\"' \n"):
                step = Step("remove the quotes or spaces: they are part of the value")
                findings.append(_finding(Health.WARNING, "setting", "set, but with quotes or spaces", name, step))
            else:
                findings.append(_finding(Health.OK, "setting", "set", name))
    return findings


def _server_checks(project: Project, targets: Iterable[Target], urls: Iterable[str]) -> list[Check]:
    """Return a check for each server: the service, the identity providers and the webhook URLs.

    No check sends a POST.
    """
    from reconciler.service.probing import examine_server  # noqa: PLC0415 - it loads the HTTP client

    service = {url for target in targets for url in (target.base_url, target.auth_url)}
    return [
        ("server", url, partial(examine_server, url, of_service=of_service, timeout=project.flags.timeout))
        for of_service, group in ((True, service), (False, set(urls)))
        for url in sorted(group)
    ]


def _token_checks(project: Project, targets: Iterable[Target]) -> list[Check]:
    """Return, for each target, a check that an access token is available."""
    from reconciler.operations.credentials import credentials_of  # noqa: PLC0415 - it loads pydantic
    from reconciler.service.api import ServiceClient  # noqa: PLC0415 - it loads the HTTP client

    def check_token(target: Target) -> list[Finding]:
        if not all(project.sources.get(f"{target.name.variable_prefix}{field}") for field in _CREDENTIAL_FIELDS):
            return [_finding(Health.SKIPPED, "token", "its credentials are not set", target.name)]
        credentials = credentials_of(target.name, project.sources)
        ServiceClient(target, credentials, timeout=project.flags.timeout, cache_dir=project.cache_directory).authorise()
        return [_finding(Health.OK, "token", "an access token is available", target.name)]

    return [("token", target.name, partial(check_token, target)) for target in targets]


def _check_record(project: Project, targets: Iterable[Target]) -> Iterator[Finding]:
    journal = project.journal
    reading = journal.read()
    record = reading.record
    what = f"{counted(record.entries, 'entry', 'entries')}, record {record.id}"
    yield _finding(Health.OK, "record", what, journal.place)
    for message in obstacle_messages(record, reading.standing, project.now(), journal.expected):
        yield Finding("record", Health.FAILED, message)
    accounts = project.accounts()
    for target in targets:
        for message in foreign(target, record, accounts.get(target.name)):
            yield Finding("record", Health.FAILED, message)
    for message in dict.fromkeys(recovery_messages(project, reading).values()):
        yield Finding("record", Health.FAILED, message)
    in_force = (attempt for attempt in record.attempts.values() if attempt.in_force)
    bare = [attempt for attempt in in_force if not (attempt.responses or attempt.secrets)]
    if bare and project.desired.verification:
        what = f"notifications of {counted(len(bare), 'subscription')} cannot be verified: no secret is recorded"
        yield _finding(Health.WARNING, "record", what, bare[0].address, secret_step(bare[0]))
    if reading.torn:
        what = f"{counted(reading.torn, 'byte')} of a torn write: ignored"
        yield _finding(Health.WARNING, "record", what, journal.place)
    path = journal.store.path
    if path is not None and (kind := host_only_locks(path)):
        step = Step("apply from one host only, or keep the record in a git branch: state: git:reconciler-state")
        what = f"file locks on this file system ({kind}) may not work across hosts"
        yield _finding(Health.WARNING, "record", what, journal.place, step)


def _check_write(project: Project) -> list[Finding]:
    """Return a finding that the record can be written. Raises RecordError if it cannot be written."""
    project.journal.store.check_writable()
    return [_finding(Health.OK, "write", "writable", project.journal.place)]


def _check_responses(project: Project) -> Iterator[Finding]:
    """Yield findings about the storage of create responses, which may hold the only copy of a secret."""
    if project.desired.recipients:
        what = f"encrypted to {counted(len(project.desired.recipients), 'recipient')}"
        yield _finding(Health.OK, "responses", what, "recipients")
    elif project.in_ci or project.journal.store.path is None:
        step = Step("add recipients to config/", ("reconciler", "init", "--age-key"))
        yield _finding(Health.FAILED, "responses", "none: apply refuses to create here", "recipients", step)
    else:
        yield _finding(Health.OK, "responses", f"kept in {project.data_directory}", "recipients")


def _attempt(check: str, where: str, find: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """Return the findings of `find`. If it raises an error, add findings about the error."""
    findings: list[Finding] = []
    try:
        findings.extend(find())
    except ReconcilerError as problem:
        findings += _failures(check, problem, where)
    return findings


def _failures(check: str, problem: ReconcilerError, where: str = "") -> list[Finding]:
    located = (message if message.located else replace(message, where=where) for message in problem.messages)
    return [Finding(check, Health.FAILED, message) for message in located]


def _finding(health: Health, check: str, what: str, where: str, *steps: Step) -> Finding:
    return Finding(check, health, Message(f"doctor-{check}-{health}", what, where, steps))
