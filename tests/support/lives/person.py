"""The people of a life: what they have read, what they know to be true, and what they paste."""

from __future__ import annotations

from random import Random

from msgspec import Struct

from support.command_line import Ran
from support.lives import advice as reading
from support.lives import claims
from support.lives.advice import Advice
from support.lives.machine import Machine
from support.lives.world import World

IN_FLIGHT = 60 + 300 + 15
"""Seconds after an accepted loss from when it can be said what exists."""
_UNUSED = ("secret", "init", "sandbox", "listen", "signature", "validate", "doctor", "demo", "cd")
_HOLES = ("ADDRESS", "FILE", "PLACE", "ID", "URL", "CODE")
_READS = ("show", "history", "verify", "list", "copy")


class Read(Struct, frozen=True):
    """A command that was read on a machine, and whether what it asserts was true then; `text` is that of `config/`."""

    advice: Advice
    machine: Machine
    true: bool
    at: float
    text: str


class People:
    """All people of a life: they tell each other everything."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.pool: list[Read] = []
        self.named: set[str] = set()
        self.pasted: set[str] = set()

    def read(self, machine: Machine, ran: Ran) -> list[Read]:
        """Read an output: keep its commands, and send its letters; return the former."""
        new = []
        for found in reading.commands(ran):
            self.named.add(found.shape)
            if found.words[0] not in _UNUSED and found.words[:2] != ("state", "observe"):
                new.append(self._known(machine, found))
        self.pool += new
        self.pool = self.pool[-60:]
        for verb, request in reading.letters(ran):
            if verb == "delete" and request not in self.world.requests:
                self.world.requests.append(request)
            elif verb == "keep":
                self.world.requests = [each for each in self.world.requests if each.attempt != request.attempt]
        record = reading.record(ran)
        if record and machine.wanted is not None:
            machine.wanted.record = record
            machine.write_config(machine.wanted, machine.state)
        return new

    def _known(self, machine: Machine, found: Advice) -> Read:
        concrete = not set(found.words) & set(_HOLES)
        true = concrete and not found.since and claims.is_true(machine, found.words)
        return Read(found, machine, true, self.world.now, _config(machine))

    def words(self, read: Read, machine: Machine, rng: Random) -> list[tuple[str, ...]]:
        """Return what may be pasted on a machine for a command that was read: as it is, or with its blanks filled in.

        Empty if it would not be, or was not, true.
        """
        found = read.advice
        if machine.ci and found.words[:2] == ("state", "copy"):
            return []  # a file there would be lost
        if set(found.words) & set(_HOLES):
            filled = self._filled(found.words, machine, rng)
            return [words for words in filled if claims.is_true(machine, words)]
        if found.since:
            may = self.world.now >= found.since and claims.is_true(machine, found.words)
        elif read.machine is not machine or (found.words[:2] == ("state", "import") and read.text != _config(machine)):
            may = claims.is_true(machine, found.words)  # it would say something else here, or now
        elif found.words[:2] == ("state", "complete"):
            may = read.true and not claims.in_use(machine, found.words)
            if may and self._was_early(read, machine):
                may = claims.is_true(machine, found.words)
        else:
            may = read.true
        return [found.words] if may else []

    def _was_early(self, read: Read, machine: Machine) -> bool:
        """True if a call from before a loss could still create something when the command was read."""
        shelf = machine.shelf(claims.place_of(machine, read.advice.words))
        losses = shelf.record.open_losses if shelf.data else ()
        return any(reading.epoch(loss.at) + IN_FLIGHT > read.at for loss in losses)

    def _filled(self, words: tuple[str, ...], machine: Machine, rng: Random) -> list[tuple[str, ...]]:
        """Return a command with its blanks filled in as people can, in every way that they know."""
        if words[:2] == ("state", "import"):
            return imports(machine)
        if words[:2] == ("state", "observe"):
            return []  # no notification arrives in these lives
        if "FILE" in words:
            return [tuple(source if word == "FILE" else word for word in words) for source in sources(machine)]
        if "PLACE" in words:
            number = rng.randrange(100)
            place = rng.choice((f"git:copy{number}", f"s3://bucket/copy{number}", f"copy{number}.jsonl"))
            return [tuple(place if word == "PLACE" else word for word in words)]
        if "CODE" in words:
            attempt = self.world.attempt(claims.values(words, "--attempt")[0])
            gone = set(attempt.codes) - self.world.alive(attempt) if attempt else set()
            return [(*words[: words.index("--code")], *_options("--code", gone))] if gone else []
        raise AssertionError(words)

    def run(self, machine: Machine, words: tuple[str, ...], kill_at: int = 0) -> tuple[Ran, list[Read]]:
        """Run a command as people do, with their consent, and read what it prints."""
        shape = reading.shape_of(words)
        self.pasted.add(shape)
        given = words
        if (words[0] in ("state", "removal") and words[1] not in _READS) or words[:2] == ("state", "copy"):
            given = (*words, "--yes")
        elif words[0] == "apply" and "--expect-digest" not in words and not (words[1:] and words[1].endswith(".json")):
            given = (*words, "--auto-approve")
        ran = machine.run(*given, kill_at=kill_at)
        why = next((f": {line}" for line in ran.err.splitlines() if ran.code and line.startswith("Error")), "")
        self.world.tell(f"{machine.name}$ {' '.join(given)} -> {ran.code}{why}")
        return ran, self.read(machine, ran)


def _config(machine: Machine) -> str:
    return str(machine.wanted and (machine.wanted.subscriptions, machine.wanted.targets))


def _options(option: str, given: set[str] | list[str]) -> list[str]:
    return [word for value in sorted(given) for word in (option, value)]


def imports(machine: Machine) -> list[tuple[str, ...]]:
    """Return the commands that record what exists and is not in force in the machine's record."""
    world, wanted, shelf = machine.world, machine.wanted, machine.shelf()
    assert wanted is not None
    if shelf.data is None:
        return []
    found: list[tuple[str, ...]] = []
    for attempt, missing in claims.unrecorded(world, shelf.record):
        subscription = next(there for there in world.subscriptions if there.attempt == attempt)
        targets = [name for name, url in wanted.targets.items() if world.service_of(url) == subscription.service]
        template = subscription.template
        of_url = [address for address, (_, url) in wanted.subscriptions.items() if url == template]
        desired = [address for address in of_url if address.rpartition("/")[0] in targets]
        if not desired and subscription.url != template and template in machine.machines.urls():
            continue  # others desire it: recorded with that address, its URL is known as one with {attempt}
        address = (*desired, f"{targets[0]}/found{len(found)}")[0]
        is_as_desired = subscription.url == template and desired
        if is_as_desired and set(wanted.subscriptions[address][0]) <= missing:
            found.append(("state", "import", address))
        else:
            found.append(("state", "import", address, "--url", subscription.url, *_options("--code", missing)))
    return found


def confirmations(machine: Machine) -> list[tuple[str, ...]]:
    """Return the commands that record what is in force in the machine's record, and does not exist."""
    shelf = machine.shelf()
    if shelf.data is None:
        return []
    return [
        ("removal", "confirm", str(attempt.address), "--attempt", attempt.id, *_options("--code", missing))
        for attempt, missing in claims.deleted(machine.world, shelf.record)
    ]


def sources(machine: Machine) -> list[str]:
    """Return what can be recovered from on a machine: recovery files, backups and other places."""
    files = sorted((machine.home / "reconciler" / "unrecorded").glob("*.jsonl"), key=lambda file: file.read_bytes())
    found = [str(file) for file in files]
    for (owner, place), shelf in [*machine.world.places.items()]:
        saved = [data for data, _ in shelf.backups if data]
        if owner not in ("", machine.name) and shelf.data:
            saved.append(shelf.data)
        for number, data in enumerate(saved):
            file = machine.path / f"{owner}{''.join(filter(str.isalnum, place))}{number}.jsonl"
            file.write_bytes(data)
            found.append(file.name)
        if owner in ("", machine.name) and shelf.data and shelf is not machine.shelf():
            found.append(place)
    return found
