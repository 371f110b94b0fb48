"""What is checked after every drill: the service, the record, the plan, the secrets, and what is left over."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from reconciler.operations.drills.finding import Finding, Kind, Section
from reconciler.operations.drills.scene import Scene

Route = tuple[str, str]
"""An event code and a webhook URL."""

_ABOUT_SECRETS = (Section.UNKNOWN_OUTCOME, Section.ROTATED_SECRET, Section.LOST_KEY)
"""The sections that say how a secret is stored."""


def all_findings(scene: Scene, section: Section) -> Iterator[Finding]:
    """What is wrong, as it is now; `section` explains what the drill is about.

    Recovers what was not recovered, so nothing may come after it.
    """
    recorded = scene.ask("state", "list")
    if recorded is None:
        yield Finding(Kind.OPEN, "the record cannot be read", Section.LOST_RECORD)
        return
    in_force = [one for one in recorded if one["status"] != "unknown"]
    yield from _routes(scene, in_force)
    yield from _accounts(scene)
    yield from _plan(scene, section, is_unknown=len(in_force) < len(recorded))
    yield from _secrets(scene, in_force, section)
    yield from _left_over(scene)
    yield from _not_recovered(scene)


def _routes(scene: Scene, in_force: list[Any]) -> Iterator[Finding]:
    there = Counter((code, one.url) for one in scene.sandbox.world.subscriptions() for code in one.codes)
    here = Counter((code, one["webhookUrl"]) for one in in_force for code in one["eventCodes"])
    twice = (route for route, count in there.items() if count > 1)
    what = "is delivered twice; the operator must delete one of the two: operator delete ID"
    yield from _of(twice, Kind.TWICE, what, Section.EXISTS_TWICE)
    yield from _of(there.keys() - here.keys(), Kind.LOST, "is delivered but not recorded", Section.LOST_RECORD)
    yield from _of(here - there, Kind.LOST, "is recorded as in force but does not exist", Section.WRONG_ONE)


def _of(routes: Iterable[Route], kind: Kind, what: str, section: Section) -> Iterator[Finding]:
    return (Finding(kind, f"{code} to {url} {what}", section) for code, url in sorted(routes))


def _secrets(scene: Scene, in_force: list[Any], section: Section) -> Iterator[Finding]:
    """The secret of each subscription that exists is the one that `secret show` prints, with a key that is here."""
    for one in in_force:
        route = tuple(one["eventCodes"]), one["webhookUrl"]
        existing = [each.secret for each in scene.sandbox.world.subscriptions() if (each.codes, each.url) == route]
        command = ("secret", "show", one["address"], "--attempt", one["attempt"])
        keys = [("--identity", str(key)) for key in scene.identities.glob("*.txt")]
        shown = [text for words in [(), *keys] if (text := scene.prints(*command, *words))]
        if existing and not any(secret in text for secret in existing for text in shown):
            what = "is recorded, and is not the one that the operator has" if shown else "cannot be read here"
            about = section if section in _ABOUT_SECRETS else Section.ROTATED_SECRET
            yield Finding(Kind.OPEN, f"a secret of {one['address']} {what}", about)


def _accounts(scene: Scene) -> Iterator[Finding]:
    """Everything was created at the account that the drill began with."""
    others = [one for one in scene.sandbox.world.subscriptions() if one.account != scene.account.client_id]
    routes = [(code, one.url) for one in others for code in one.codes]
    return _of(routes, Kind.LOST, "was created at another account", Section.ROTATED_SECRET)


def _plan(scene: Scene, section: Section, *, is_unknown: bool) -> Iterator[Finding]:
    """What the plan would do; what is blocked is explained by the page only where an outcome `is_unknown`."""
    plan = scene.ask("plan")
    if plan is None:
        yield Finding(Kind.OPEN, "`reconciler plan` fails", section)
        return
    for one in plan["changes"]:
        sentence = f"the plan has a change: {one['action']} {one['address']}"
        unknown = Section.UNKNOWN_OUTCOME if is_unknown else None
        yield Finding(Kind.OPEN, sentence, unknown if one["action"] == "blocked" else section)
    for one in plan["awaiting_removal"]:
        yield Finding(Kind.OPEN, f"{one['address']} awaits removal", Section.WRONG_URL)


def _left_over(scene: Scene) -> Iterator[Finding]:
    """No copy of a journal is in the project that was not there before: it would be committed, or be taken for it."""
    for path in scene.journals():
        if path != scene.journal and path not in scene.copies:
            sentence = f"{path.relative_to(scene.project)}, a copy of the record, is left over; delete it"
            yield Finding(Kind.OPEN, sentence, Section.SEVERAL_CLONES)


def _not_recovered(scene: Scene) -> Iterator[Finding]:
    """Recovering a recovery file once more adds nothing to the record, whether the person has deleted it or not."""
    for name, data in scene.recovery_files.items():
        before = scene.prints("state", "verify")
        copy = scene.elsewhere / name
        copy.write_bytes(data)
        scene.prints("state", "recover", str(copy))
        if scene.prints("state", "verify") != before:
            is_there = name in scene.unrecorded()
            what = "is not recovered" if is_there else "was deleted, and was not recovered"
            kind = Kind.OPEN if is_there else Kind.LOST
            yield Finding(kind, f"the recovery file {name} {what}", Section.NOT_RECORDED)
