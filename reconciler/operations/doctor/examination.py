"""All checks of a partner's set-up."""

from collections.abc import Callable

from reconciler.errors import ReconcilerError, SelectionError, SettingsError
from reconciler.model.address import TargetName
from reconciler.model.desired import Desired
from reconciler.model.result import Finding, Health
from reconciler.model.selection import Selection
from reconciler.model.url import is_sandbox
from reconciler.operations.doctor.config_checks import read_config
from reconciler.operations.doctor.found import attempted, failure
from reconciler.operations.doctor.git_checks import git_findings
from reconciler.operations.doctor.jobs import Jobs
from reconciler.operations.doctor.network_checks import site_job, sites
from reconciler.operations.doctor.recipient_checks import recipient_findings
from reconciler.operations.doctor.record_checks import RecordChecks
from reconciler.operations.doctor.ruleset_checks import ruleset_findings
from reconciler.operations.doctor.setting_checks import common_settings, target_settings
from reconciler.operations.doctor.token_checks import token_job
from reconciler.operations.selecting import refuse_unmatched
from reconciler.operations.workspace import Workspace
from reconciler.service.credentials import Credentials
from reconciler.service.probing import Prober
from reconciler.service.token_cache import TokenCache
from reconciler.service.tokens import Tokens
from reconciler.service.transport import Transport
from reconciler.state.stores.store import Store

CHECKS = (
    "config", "setting", "DNS", "connection", "TLS", "certificate", "clock", "answer", "token", "record", "write",
    "recipients", "git", "ruleset",
)  # fmt: skip
"""The order of findings."""


def examine(
    workspace: Workspace, patterns: tuple[str, ...], *, write: bool, observe: Callable[[int, int], None]
) -> list[Finding]:
    """Check everything that an apply to the selected targets depends on; `write` tries to write, too.

    `observe` is told how many of the checks that wait for servers are over, and how many there are. Raises
    SelectionError for patterns that select nothing of a configuration without mistakes.
    """
    workspace.notices.start_logging()
    desired, findings = read_config(workspace)
    selection = Selection.of(patterns)
    try:
        refuse_unmatched(selection, list(desired.targets), list(desired.subscriptions))
    except SelectionError as problem:
        if all(finding.health is not Health.FAILED for finding in findings):
            raise
        findings.append(failure("config", "-t", problem))
    findings += _Examination(workspace, desired, selection).findings(Jobs(observe), write=write)
    return sorted(dict.fromkeys(findings), key=lambda finding: (CHECKS.index(finding.check), finding.about))


class _Examination:
    """What there is to check: the selected targets and subscriptions, with the credentials that are set."""

    def __init__(self, workspace: Workspace, desired: Desired, selection: Selection) -> None:
        self._workspace = workspace
        self._recipients = desired.recipients
        self._declared = desired.targets.keys()
        self._targets = [target for name, target in desired.targets.items() if selection.touches(name)]
        self._subscriptions = [one for address, one in desired.subscriptions.items() if selection.has(address)]
        self._accounts = dict[TargetName, Credentials]()

    def findings(self, jobs: Jobs, *, write: bool) -> list[Finding]:
        timeout, findings = common_settings(self._workspace)
        for target in self._targets:
            credentials, of_target = target_settings(self._workspace.variables, target, self._declared)
            findings += of_target
            if credentials is not None:
                self._accounts[target.name] = credentials
        findings += self._ask_servers(jobs, timeout)
        findings += self._look_at_records(write=write)
        return findings + jobs.findings()

    def _ask_servers(self, jobs: Jobs, timeout: float) -> list[Finding]:
        """Have servers asked, in the background; gives why not, where that cannot be done."""
        try:
            prober = Prober(timeout)
            transport = Transport()
        except SettingsError as problem:
            return [failure("connection", "the environment", problem)]
        for site in sites(self._targets, self._subscriptions):
            jobs.add(site_job(prober, site))
        try:
            tokens = Tokens(transport, TokenCache(self._workspace.cache_directory / "tokens"), timeout, pauses=())
        except SettingsError as problem:
            return [failure("token", "the cache directory", problem)]
        for target in self._targets:
            jobs.add(token_job(tokens, target, self._accounts.get(target.name)))
        return []

    def _look_at_records(self, *, write: bool) -> list[Finding]:
        workspace = self._workspace
        try:
            store = workspace.store
        except ReconcilerError as problem:
            return [failure("record", "--state", problem)]
        records = RecordChecks(workspace, self._accounts, write=write, encrypted=bool(self._recipients))
        return [
            *records.findings(store, self._targets),
            *attempted("recipients", "config/", lambda: self._recipient_findings(store)),
            *git_findings(
                workspace,
                store,
                [target.name for target in self._targets],
                [target.name for target in self._targets if is_sandbox(target.base_url)],
            ),
            *ruleset_findings(store),
        ]

    def _recipient_findings(self, store: Store) -> list[Finding]:
        """Raises SettingsError."""
        workspace = self._workspace
        shared = workspace.in_ci or store.path is None
        return recipient_findings(self._recipients, workspace.data_directory / "identities", shared=shared)
