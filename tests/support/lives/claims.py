"""What a command asserts, and whether that is true: as far as the service, its operator and the team can know."""

from __future__ import annotations

from reconciler.model.record import Attempt, Record
from reconciler.model.url import has_attempt, normal_url
from support.lives.machine import Machine
from support.lives.world import World

SILENT = (
    "rebind", "apply", "plan", "status", "show", "list", "request", "recover", "copy", "init", "verify", "history",
)  # fmt: skip
"""The commands that assert nothing, or nothing that is false in any life."""


def is_true(machine: Machine, words: tuple[str, ...]) -> bool:
    """True if what a command would assert on this machine is so now."""
    world = machine.world
    name = words[1] if words[0] in ("state", "removal") else words[0]
    named, codes = values(words, "--attempt"), values(words, "--code")
    match name:
        case "accept-loss":
            return not in_use(machine, words)
        case "complete":
            return not in_use(machine, words) and is_whole(machine, words)
        case "resolve":
            attempts = [world.attempt(attempt) for attempt in named]
            alive = [bool(attempt and world.alive(attempt)) for attempt in attempts]
            return bool(named) and (all(alive) if "--created" in words else not any(alive))
        case "confirm":
            return bool(named) and all(_is_deleted(world, attempt, codes) for attempt in named)
        case "cancel":
            return not any(_is_deleted(world, attempt, codes) for attempt in named)
        case "import":
            return imports_truly(machine, words)
        case "rebind":
            return _is_same_service(machine, values(words, "-t")[0])
        case "mv":
            return _was_renamed(machine, words[2], words[3])
    assert name in SILENT, words
    return True


def _was_renamed(machine: Machine, source: str, to: str) -> bool:
    """True if nobody desires the one name any more, and the other has the URL of what is recorded as the one."""
    wanted = machine.wanted
    assert wanted is not None
    found = (attempt for _, record in machine.world.records() for attempt in record.at_address(source))
    templates = {attempt.template for attempt in found}
    return source not in wanted.subscriptions and wanted.subscriptions.get(to, ((), ""))[1] in templates


def _is_same_service(machine: Machine, target: str) -> bool:
    assert machine.wanted is not None
    shelf, url = machine.shelf(), machine.wanted.targets.get(target)
    there = shelf.record.base_urls.get(target, ()) if shelf.data else ()
    services = {machine.world.service_of(known) for known in there}
    return machine.client == "client" and url is not None and services == {machine.world.service_of(url)}


def values(words: tuple[str, ...], option: str) -> list[str]:
    """Return the values of an option."""
    return [words[index + 1] for index, word in enumerate(words[:-1]) if word == option]


def _is_deleted(world: World, named: str, codes: list[str]) -> bool:
    """True if the operator has deleted these codes of an attempt (none: all that it delivers or is to be rid of)."""
    attempt = world.attempt(named)
    if attempt is None:
        return False
    return not world.alive(attempt) & set(codes or attempt.requested_codes or attempt.codes)


def imports_truly(machine: Machine, words: tuple[str, ...]) -> bool:
    """True if what an import would record exists."""
    assert machine.wanted is not None
    world, address = machine.world, words[2]
    codes, url = machine.wanted.subscriptions.get(address, ((), ""))
    url = (values(words, "--url") or [url])[0]
    codes = tuple(values(words, "--code")) or codes
    target = machine.wanted.targets.get(address.rpartition("/")[0])
    if target is None or not url:
        return False
    if has_attempt(url):
        url = url.replace("{attempt}", (values(words, "--attempt") or ["?"])[0])
    there = [
        found
        for found in world.subscriptions
        if found.service == world.service_of(target) and normal_url(found.url) == normal_url(url)
    ]
    return bool(codes) and any(set(codes) <= found.codes for found in there)


def in_use(machine: Machine, words: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    """Return the places of other records that somebody's next apply may go by."""
    if machine.machines.one_is_left:
        return []
    here = machine.key(place_of(machine, words))
    known = (key for key, record in machine.machines.records() if not record.open_losses)
    return [key for key in (*known, *machine.machines.beginning()) if key != here]


def place_of(machine: Machine, words: tuple[str, ...]) -> str:
    """Return the place that a command is about."""
    return (values(words, "--state") or [machine.state])[0]


def is_whole(machine: Machine, words: tuple[str, ...] = ()) -> bool:
    """True if what exists is in force in the machine's record, and nothing else is."""
    shelf = machine.shelf(place_of(machine, words))
    if shelf.data is None:
        return False
    record = shelf.record
    return not unrecorded(machine.world, record) and not deleted(machine.world, record)


def unrecorded(world: World, record: Record) -> list[tuple[str, set[str]]]:
    """Return what exists and is not in force in a record: attempt and codes."""
    known: dict[tuple[str, str], set[str]] = {}
    for attempt in record.attempts.values():
        if attempt.in_force:
            spot = world.service_of(attempt.base_url), normal_url(attempt.url)
            known.setdefault(spot, set()).update(attempt.codes)
    superseded = world.superseded()
    return [
        (found.attempt, missing)
        for found in world.subscriptions
        if found.attempt not in superseded
        if (missing := found.codes - known.get((found.service, normal_url(found.url)), set()))
    ]


def deleted(world: World, record: Record) -> list[tuple[Attempt, set[str]]]:
    """Return what is in force in a record and does not exist: attempts with their codes."""
    return [
        (attempt, missing)
        for attempt in record.attempts.values()
        if attempt.in_force and (missing := set(attempt.codes) - world.alive(attempt))
    ]


def named(machine: Machine) -> bool:
    """True if the machine's `config/` names the record."""
    return bool(machine.wanted and machine.wanted.record)
