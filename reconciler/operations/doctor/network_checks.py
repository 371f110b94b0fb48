"""Whether servers can be reached: those of the service, and those of the webhook URLs. No request is a POST."""

from collections.abc import Iterable, Iterator
from functools import partial
from ipaddress import ip_address
from typing import assert_never
from urllib.parse import urlsplit

from msgspec import Struct

from reconciler.model.desired import Subscription, Target
from reconciler.model.result import Finding
from reconciler.model.url import normal_url
from reconciler.operations.doctor.found import failed, ok, skipped, warning
from reconciler.operations.doctor.jobs import Checked, Job
from reconciler.reports.wording import counted
from reconciler.service.probing import Probe, Prober, Problem, Stage

_DAY = 86_400
_SOON = 14  # days before a certificate expires, when it is to be renewed
_TOLERATED = 15  # seconds by which clocks may differ (GUARANTEES.md, "Clocks")


class Site(Struct, frozen=True):
    """One server, with the URLs there: of the service, and of webhooks."""

    origin: str
    service: tuple[str, ...]
    webhooks: tuple[str, ...]


def sites(targets: Iterable[Target], subscriptions: Iterable[Subscription]) -> list[Site]:
    """The servers that these targets and subscriptions name, each once, sorted."""
    service, webhooks = dict[str, set[str]](), dict[str, set[str]]()
    for target in targets:
        for url in (target.auth_url, target.base_url):
            service.setdefault(_origin(url), set()).add(url)
    for subscription in subscriptions:
        webhooks.setdefault(_origin(subscription.url), set()).add(normal_url(subscription.url))
    return [
        Site(origin, tuple(sorted(service.get(origin, ()))), tuple(sorted(webhooks.get(origin, ()))))
        for origin in sorted({*service, *webhooks})
    ]


def _origin(url: str) -> str:
    parts = urlsplit(normal_url(url))
    return f"{parts.scheme}://{parts.netloc}"


def site_job(prober: Prober, site: Site) -> Job:
    """Look at a server with its first URL, and then, if it is reached, at the others of webhooks."""

    def check() -> Checked:
        first, *others = [*site.service[:1], *site.webhooks]
        probe = prober.probe(first)
        findings = [*_stages(site.origin, probe)]
        if site.service:
            findings += [_service_answer(first, probe), _clock(site.origin, probe)]
        else:
            findings.append(_webhook_answer(first, probe))
        if probe.problem is not None and probe.problem.stage is not Stage.ANSWER:
            return Checked(findings + [_webhook_answer(url, probe) for url in others])
        return Checked(findings, [partial(_look_at, prober, url) for url in others])

    return check


def _look_at(prober: Prober, url: str) -> Checked:
    return Checked([_webhook_answer(url, prober.probe(url))])


def _stages(origin: str, probe: Probe) -> Iterator[Finding]:
    """What came of the stages before the answer; one that comes after a failure is skipped."""
    problem = probe.problem
    yield _dns(origin, probe)
    if problem is not None and problem.stage is Stage.CONNECTION:
        remedy = "check the address, the proxy, the firewall, and that the server is running"
        yield failed("connection", origin, problem.what, remedy)
    for check in ("TLS", "certificate"):
        if not probe.secure:
            yield skipped(check, origin, "http, which is allowed on this machine only")
        elif problem is not None and problem.stage in (Stage.DNS, Stage.CONNECTION):
            yield skipped(check, origin, "no connection")
        elif problem is not None and problem.stage is Stage.TLS:
            yield _refused(origin, problem) if check == "TLS" else skipped(check, origin, "not accepted")
        else:
            yield ok("TLS", origin, "accepted") if check == "TLS" else _certificate(origin, probe)


def _dns(origin: str, probe: Probe) -> Finding:
    problem = probe.problem
    if problem is not None and problem.stage is Stage.DNS:
        return failed("DNS", origin, problem.what, "check the name in config/, and the network")
    if probe.proxied:
        return skipped("DNS", origin, "the proxy resolves the name")
    try:
        ip_address(urlsplit(origin).hostname or "")
    except ValueError:
        return ok("DNS", origin, "resolved")
    return skipped("DNS", origin, "an address, not a name")


def _refused(origin: str, problem: Problem) -> Finding:
    if problem.certificate:
        remedy = "replace the server's certificate; if its authority is your own, name it in SSL_CERT_FILE"
        return failed("TLS", origin, f"the certificate is not accepted: {problem.what}", remedy)
    return failed("TLS", origin, problem.what, "check that the server expects TLS on this port")


def _certificate(origin: str, probe: Probe) -> Finding:
    days = int((probe.expires_in or 0.0) // _DAY)
    what = f"expires in {counted(days, 'day')}"
    return ok("certificate", origin, what) if days >= _SOON else warning("certificate", origin, what, "renew it")


def _service_answer(url: str, probe: Probe) -> Finding:
    """Whether the service answers at all: which status a HEAD gets there is not documented."""
    return _unanswered(url, probe.problem) if probe.problem else ok("answer", url, f"{probe.status} to HEAD")


def _webhook_answer(url: str, probe: Probe) -> Finding:
    """What a webhook URL answers. A receiver need not accept HEAD, so hardly any status is an error."""
    if probe.problem is not None:
        return _unanswered(url, probe.problem)
    status = probe.status or 0
    what = f"{status} to HEAD"
    if 300 <= status < 400:
        remedy = "use the URL that it redirects to: whether the service follows redirects is not documented"
        return warning("answer", url, what, remedy)
    if status in (404, 410) or (status >= 500 and status != 501):
        return warning("answer", url, what, "check the receiver, unless it answers so to everything but POST")
    return ok("answer", url, what)


def _unanswered(url: str, problem: Problem) -> Finding:
    match problem.stage:
        case Stage.ANSWER:
            return failed("answer", url, problem.what, "check that the server expects HTTP on this port")
        case Stage.DNS | Stage.CONNECTION | Stage.TLS:
            return skipped("answer", url, "no connection")
        case _:
            assert_never(problem.stage)


def _clock(origin: str, probe: Probe) -> Finding:
    if probe.ahead is None:
        return skipped("clock", origin, "no answer with a date")
    if abs(probe.ahead) <= _TOLERATED:
        return ok("clock", origin, f"differs by less than {_TOLERATED} s")
    how = "ahead of" if probe.ahead > 0 else "behind"
    what = f"the clock of this machine is {abs(probe.ahead):.0f} s {how} the service's"
    return failed("clock", origin, what, "set the clock, and keep it set by NTP")
