"""Acts of a life: people run and paste commands, edit `config/`, move and restore records; the operator deletes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from support.lives import claims
from support.lives.person import imports, sources
from support.lives.world import ALIAS, ONE, TWO, Wanted

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from support.lives.life import Life
    from support.lives.machine import Machine

    Act = Callable[[Life, Machine, Random], object]


def say(life: Life, machine: Machine, rng: Random, *words: str) -> int:
    """Run a command, which may be killed; return its exit code."""
    kill_at = rng.randint(1, 12) if life.world.happens(0.08) else 0
    return life.people.run(machine, words, kill_at)[0].code


def paste(life: Life, machine: Machine, rng: Random) -> None:
    """Paste a command that was named, early or late, on the machine where it was read or on the other one."""
    pool = life.people.pool
    if not pool:
        say(life, machine, rng, "plan")
        return
    for _ in range(8):
        read = rng.choice(pool[-12:] if rng.random() < 0.7 else pool)
        there = read.machine if rng.random() < 0.85 else machine
        if life.machines.depth and there is not machine:
            continue
        ways = life.people.words(read, there, rng)
        if ways:
            say(life, there, rng, *rng.choice(ways))
            return


def apply(life: Life, machine: Machine, rng: Random) -> None:
    """Apply, as people do now and then."""
    say(life, machine, rng, "apply")


def plan(life: Life, machine: Machine, rng: Random) -> None:
    """Look at the plan, or at what else there is to see."""
    words = rng.choice(("plan", "plan", "removal list", "status", "state show", "plan --out p.json"))
    say(life, machine, rng, *words.split())


def begin(life: Life, machine: Machine, rng: Random) -> None:
    """Begin the record, as a person who knows that there is nothing yet does."""
    if machine.ci or any(True for _ in life.world.records()):
        return
    if not life.world.subscriptions:
        say(life, machine, rng, "state", "init", "--complete")


def edit(life: Life, machine: Machine, rng: Random) -> None:
    """Change `config/`, and use it on this machine."""
    wanted = life.wanted
    addresses = list(wanted.subscriptions)
    address = rng.choice(addresses)
    codes, url = wanted.subscriptions[address]
    match rng.choices(("add", "remove", "codes", "url", "rename", "service"), (4, 2, 4, 4, 2, 0.5))[0]:
        case "add" if len(addresses) < 5:
            life.add(rng, rng.choice(list(wanted.targets)))
        case "remove" if sum(other.startswith(address.rpartition("/")[0]) for other in addresses) > 1:
            del wanted.subscriptions[address]
        case "codes":
            new = tuple(sorted(rng.sample(("ONB10001", "ONB10002", "LOA10013"), rng.randint(1, 3))))
            wanted.subscriptions[address] = new, url
        case "url":
            wanted.subscriptions[address] = codes, life.url()
        case "rename":
            life.serial += 1
            new_address = f"{address.rpartition('/')[0]}/s{life.serial}"
            wanted.subscriptions[new_address] = wanted.subscriptions.pop(address)
        case "service":
            life.world.same_service[ALIAS] = ONE
            for name, there in wanted.targets.items():
                if there == ONE:
                    wanted.targets[name] = ALIAS
    life.world.tell(f"{machine.name}: config/ wants {wanted.subscriptions}")
    pull(life, machine, rng)


def pull(life: Life, machine: Machine, rng: Random) -> None:
    """Get the newest `config/`."""
    machine.write_config(life.copy_of_wanted(), life.state)


def share(life: Life, machine: Machine, rng: Random) -> None:
    """Have everybody use the place and the record that this machine's `config/` names."""
    assert machine.wanted is not None
    life.state, life.wanted.record = machine.state, machine.wanted.record


def operate(life: Life, machine: Machine, rng: Random) -> None:
    """The operator does what was asked for."""
    world = life.world
    if world.requests:
        request = world.requests.pop(rng.randrange(len(world.requests)))
        attempt = world.attempt(request.attempt)
        if attempt is not None:
            world.delete(request, attempt)


def back_up(life: Life, machine: Machine, rng: Random) -> None:
    """Back the record up."""
    machine.shelf().back_up()


def roll_back(life: Life, machine: Machine, rng: Random) -> None:
    """Restore an older record, as nobody should; who restores what only the machines can notice says so."""
    shelf, world = machine.shelf(), life.world
    if not shelf.backups or shelf.data is None:
        return
    backup = rng.choice(shelf.backups)
    shared = shelf.path is None
    how = rng.choice(("restored", "lost")) if not shared or claims.named(machine) else "restored"
    both = rng.random() < 0.3
    data = backup[0] if how == "restored" else None
    if shared and data is None and shelf.second is None and not backup[0]:
        return
    shelf.restore((data, backup[1] if data else ""), second=both)
    world.tell(f"{shelf.place} is {how}{' with its second place' if both and shelf.second is not None else ''}")
    if shared and (shelf.second is None or both):
        calm, world.calm = world.calm, True
        life.people.run(machine, ("state", "accept-loss"))
        world.calm = calm


def lose_second(life: Life, machine: Machine, rng: Random) -> None:
    """Somebody deletes the second branch."""
    shelf = machine.shelf()
    if shelf.second:
        shelf.second = ""
        life.world.tell(f"{shelf.place}: the second branch is deleted")


def mistake(life: Life, machine: Machine, rng: Random) -> None:
    """Apply once with the settings of another service, or account, than the record has."""
    wanted, shelf = machine.wanted, machine.shelf()
    assert wanted is not None
    if shelf.data is None or set(wanted.targets) - shelf.record.accounts.keys():
        return
    if rng.random() < 0.5:
        machine.client = "another"
    else:
        named = {name: rng.choice((ONE, TWO)) for name in wanted.targets}
        machine.write_config(Wanted(named, wanted.subscriptions, wanted.record, wanted.retries), machine.state)
    life.world.tell(f"{machine.name}: the settings name another service or account")
    say(life, machine, rng, "apply")
    machine.client = "client"
    machine.write_config(wanted, machine.state)


def lose_home(life: Life, machine: Machine, rng: Random) -> None:
    """A machine forgets what it knew. Of a place that cannot notice a restore, nobody restores anything after that."""
    life.world.tell(f"{machine.name} loses its home")
    machine.lose_home()


def clone(life: Life, machine: Machine, rng: Random) -> None:
    """Copy a file to the other machine."""
    other = next(other for other in life.all if other is not machine)
    source, to = machine.shelf(), other.shelf()
    if source.path is not None and source.data is not None and to.path is not None:
        to.data = source.data
        life.world.tell(f"{machine.name}'s {source.place} is copied to {other.name}'s {to.place}")


def copy(life: Life, machine: Machine, rng: Random) -> None:
    """Move the record to another place, and often have everybody use that."""
    here = machine.state
    there = rng.choice(("moved.jsonl", "git:moved", "s3://bucket/moved", "state.jsonl", "git:records"))
    if there != here and not (machine.ci and there.endswith(".jsonl")):
        code = say(life, machine, rng, "state", "copy", here, there)
        if code == 0 and rng.random() < 0.8:
            life.state = there
            pull(life, machine, rng)


def recover(life: Life, machine: Machine, rng: Random) -> None:
    """Merge what a backup, a recovery file or another place has."""
    known = sources(machine)
    if known:
        say(life, machine, rng, "state", "recover", rng.choice(known))


def hurry(life: Life, machine: Machine, rng: Random) -> None:
    """Restore an older record, accept the loss, say as soon as it is true that nothing is missing, and apply."""
    roll_back(life, machine, rng)
    if machine.ci or not claims.is_true(machine, ("state", "accept-loss")):
        return
    say(life, machine, rng, "state", "accept-loss")
    for words in imports(machine):
        say(life, machine, rng, *words)
    say_complete(life, machine, rng)
    say(life, machine, rng, "apply")


def say_complete(life: Life, machine: Machine, rng: Random) -> None:
    """Say that nothing is missing, with a command that was read some time ago."""
    pool = [read for read in life.people.pool if read.advice.words[:2] == ("state", "complete")]
    for read in rng.sample(pool, min(len(pool), 3)):
        for words in life.people.words(read, machine, rng):
            say(life, machine, rng, *words)


def abandon(life: Life, machine: Machine, rng: Random) -> None:
    """Begin a copy that is killed, and use the new place as far as it is true that nothing is missing there."""
    here, there = machine.state, rng.choice(("git:moved", "s3://bucket/moved"))
    if here == there or machine.wanted is None:
        return
    life.people.run(machine, ("state", "copy", here, there), rng.randint(3, 9))
    machine.write_config(machine.wanted, there)
    if claims.is_true(machine, ("state", "complete")):
        say(life, machine, rng, "state", "complete")
    say(life, machine, rng, "apply")
    machine.write_config(machine.wanted, here)


def follow_place(life: Life, machine: Machine, rng: Random) -> None:
    """Use the place where the record continues, as messages say."""
    shelf = machine.shelf()
    if shelf.data and shelf.record.closed_to:
        life.state = shelf.record.closed_to
        pull(life, machine, rng)


ACTS: dict[Act, float] = {
    paste: 40, apply: 14, plan: 9, begin: 8, edit: 8, pull: 5, share: 5, operate: 6, back_up: 5, roll_back: 4,
    lose_second: 0.7, lose_home: 1, mistake: 1.5, clone: 1.5, copy: 3.5, recover: 1.5, follow_place: 4, abandon: 0.5,
}  # fmt: skip
MEANWHILE: dict[Act, float] = {
    paste: 30, apply: 14, plan: 6, edit: 5, pull: 3, operate: 4, roll_back: 8, lose_second: 1, copy: 5, recover: 2,
}  # fmt: skip


class Profile(Struct, frozen=True):
    """What happens how often, and what at a durable step of a command, with which odds; `slow`: calls land late."""

    acts: dict[Act, float]
    meanwhile: dict[Act, float]
    odds: float = 0.06
    slow: int = 6


MIXED = Profile(ACTS, MEANWHILE)
LOST = Profile({**ACTS, back_up: 12, roll_back: 10, hurry: 4, say_complete: 12}, {**MEANWHILE, hurry: 20, back_up: 5})
COPIED = Profile({**ACTS, copy: 6, abandon: 4, recover: 8, clone: 3}, {**MEANWHILE, abandon: 10, recover: 6})
HASTY = Profile(
    {begin: 20, apply: 20, edit: 10, back_up: 10, plan: 5, hurry: 4, say_complete: 10, pull: 4}, {hurry: 1}, 0.15, 40
)
MERGED = Profile({begin: 8, paste: 40, plan: 8, apply: 8, recover: 20, say_complete: 10, edit: 4}, {paste: 1}, 0.1)
ABANDONED = Profile({begin: 20, apply: 20, edit: 10, plan: 4, abandon: 8, pull: 4}, {abandon: 1}, 0.5, 40)
CLONED = Profile({begin: 15, apply: 25, edit: 12, pull: 12, clone: 10, plan: 5}, {apply: 1}, 0.1)
UNRESOLVED = Profile({begin: 15, apply: 25, edit: 15, paste: 30, plan: 10, pull: 6}, {paste: 1}, 0.3, 50)
PROFILES = (MIXED, LOST, COPIED, HASTY, MERGED, ABANDONED)
"""Much of everything; much that is lost, or copied; people in haste, with files to merge, at unfinished copies."""
