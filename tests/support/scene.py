"""A record made of facts, and a desired state, each with verbs; and an apply that carries plans out on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from reconciler.errors import Message, Place
from reconciler.model.address import Address, Selection, TargetName
from reconciler.model.desired import Desired, Overlap, ParityException, Replace, Subscription, Target, Unknown
from reconciler.model.outcome import Outcome
from reconciler.model.plan import SENDS, Action, Change, Plan
from reconciler.model.record import Attempt, Record
from reconciler.model.status import ProjectStatus
from reconciler.model.url import filled, has_attempt
from reconciler.planning.planner import plan
from reconciler.planning.status import status
from reconciler.record import facts as kinds
from reconciler.record.fold import fold
from reconciler.record.gates import Obstacle, Standing
from reconciler.values import stamp
from support.command_line import commands_in
from support.records import linked

EUROPE = TargetName("europe/staging")
USA = TargetName("usa/staging")
SERVICE = "https://api.service.example"
PLACE = Place("config/all.yaml", 1, 1)
BY = {"user": "deployer", "host": "build-7"}
START = 1_795_000_000.0
FLIGHT = 120.0
"""How long after its intent a call is settled."""


def hooks(path: str) -> str:
    """Return a webhook URL."""
    return f"https://hooks.partner.example/{path}"


def target(
    name: TargetName = EUROPE, base_url: str = SERVICE, overlap: Overlap = Overlap.REFUSE,
    mode: Replace = Replace.OVERLAP, unknown: Unknown = Unknown.WAIT
) -> Target:  # fmt: skip
    """Return a declared target."""
    return Target(name, "https://login.service.example", base_url, SERVICE, overlap, mode, unknown, PLACE)


def address_of(name: str) -> Address:
    """Return an address, or that of a subscription of europe/staging."""
    return Address(name) if "/" in name else Address.of(EUROPE, name)


def created(change: Change) -> Outcome:
    """Return what becomes of a create where the service is in order."""
    return Outcome.CREATED


@dataclass
class Scene:
    """What is desired and what has happened. Names are of subscriptions of europe/staging, or whole addresses."""

    targets: dict[TargetName, Target] = field(default_factory=lambda: {EUROPE: target()})
    wanted: dict[Address, Subscription] = field(default_factory=dict)
    facts: list[kinds.AnyFact] = field(default_factory=lambda: [kinds.Begun(at=stamp(START), by=BY, record="c0ffee")])
    recipients: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    obstacles: tuple[Obstacle, ...] = ()
    unrecovered: tuple[Message, ...] = ()
    now: float = START
    _folded: tuple[int, Record] | None = None

    # What is desired

    def declare(self, *targets: Target) -> None:
        """Declare targets, or declare them anew."""
        self.targets |= {found.name: found for found in targets}

    def set_mode(self, mode: Replace) -> None:
        """Let every target replace in this way."""
        self.targets = {name: replace(found, replace=mode) for name, found in self.targets.items()}

    def retry(self) -> None:
        """Let every target send unknown creates again."""
        self.targets = {name: replace(found, unknown=Unknown.RETRY) for name, found in self.targets.items()}

    def want(self, name: str, codes: str, url: str, written: str = "") -> None:
        """Desire a subscription: codes separated by spaces."""
        address = address_of(name)
        self.wanted[address] = Subscription(address, tuple(sorted(codes.split())), url, written or url, PLACE)

    def drop(self, name: str) -> None:
        """Desire a subscription no longer."""
        del self.wanted[address_of(name)]

    # What happened

    def tell(self, *facts: kinds.AnyFact) -> None:
        """Append facts; a second passes with each."""
        self.facts += facts
        self.now += len(facts)

    def begin(self, name: str, codes: str, url: str, supersedes: tuple[str, ...] = (), account: str = "") -> str:
        """Begin a create that may be in flight; return its attempt."""
        attempt, address = f"{len(self.facts):032x}", address_of(name)
        base_url = self.targets[address.target].base_url if address.target in self.targets else SERVICE
        what = kinds.What(
            str(address), tuple(sorted(codes.split())), filled(url, attempt), base_url,
            template=url if has_attempt(url) else "", account=account, send_by=self.now + FLIGHT / 2,
            settled_by=self.now + FLIGHT, supersedes=supersedes,
        )  # fmt: skip
        self.tell(kinds.Intended(at=self.at, by=BY, attempt=attempt, what=what))
        return attempt

    def hear(self, attempt: str, outcome: Outcome, response: str | None = None) -> None:
        """Record the outcome of a create."""
        what = self.what(attempt)
        self.tell(kinds.Answered(at=self.at, by=BY, attempt=attempt, what=what, outcome=outcome, response=response))

    def hold(self, name: str, codes: str, url: str, response: str | None = None) -> str:
        """Create a subscription; return its attempt."""
        attempt = self.begin(name, codes, url)
        self.hear(attempt, Outcome.CREATED, response)
        return attempt

    def lose(self, name: str, codes: str, url: str, supersedes: tuple[str, ...] = ()) -> str:
        """Create a subscription, with an unknown outcome, whose call is settled; return its attempt."""
        attempt = self.begin(name, codes, url, supersedes)
        self.hear(attempt, Outcome.UNKNOWN)
        self.now += FLIGHT
        return attempt

    def bring(self, name: str, codes: str, url: str) -> str:
        """Import a subscription; return its attempt."""
        attempt, address = f"{len(self.facts):032x}", address_of(name)
        what = kinds.What(str(address), tuple(sorted(codes.split())), url, self.targets[address.target].base_url)
        self.tell(kinds.Exists(at=self.at, by=BY, attempt=attempt, what=what))
        return attempt

    def resolve(self, attempt: str, *, created: bool) -> None:
        """Say what became of a create."""
        if created:
            self.tell(kinds.Exists(at=self.at, by=BY, attempt=attempt, what=self.what(attempt)))
        else:
            self.tell(kinds.Absent(at=self.at, by=BY, attempt=attempt))

    def request(self, attempt: str, codes: str = "", *, by_plan: bool = False) -> None:
        """Request the removal of an attempt, or of codes of it."""
        named = tuple(codes.split()) or self.attempt(attempt).codes
        self.tell(kinds.RemovalRequested(at=self.at, by=BY, attempt=attempt, codes=named, by_plan=by_plan))

    def cancel(self, attempt: str) -> None:
        """Take back every request for the removal of an attempt."""
        requests = self.attempt(attempt).requests
        self.tell(kinds.RemovalCancelled(at=self.at, by=BY, attempt=attempt, requests=requests))

    def confirm(self, attempt: str, codes: str = "") -> None:
        """Say that the operator has removed an attempt, or codes of it."""
        named = tuple(codes.split()) or self.attempt(attempt).codes
        self.tell(kinds.RemovalConfirmed(at=self.at, by=BY, attempt=attempt, codes=named))

    def move(self, source: str, to: str) -> None:
        """Rename what is recorded at an address."""
        attempts = tuple(attempt.id for attempt in self.record.at_address(address_of(source)))
        replaces = tuple(fact for attempt in attempts for fact in self.attempt(attempt).renames)
        self.tell(kinds.Renamed(at=self.at, by=BY, attempts=attempts, to=str(address_of(to)), replaces=replaces))

    def rebind(self, name: TargetName, base_url: str = "", account: str = "") -> None:
        """Say that the service and account of a target and these are one."""
        url = base_url or self.targets[name].base_url
        self.tell(kinds.Rebound(at=self.at, by=BY, target=str(name), base_url=url, account=account))

    def receive(self, url: str, *codes: str, at: str = "", base_url: str = SERVICE, first: str = "") -> None:
        """Receive notifications of codes at a URL."""
        at = at or self.at
        for code in codes:
            self.tell(kinds.Received(at=self.at, base_url=base_url, url=url, code=code, first=first or at, last=at))

    def open_loss(self, loss: str = "1055") -> None:
        """Lose the tail of the record."""
        self.tell(kinds.LossOpened(at=self.at, by=BY, loss=loss, cause="accepted"))
        self.obstacles = (Obstacle.LOSS_OPEN,)

    def complete(self, *losses: str) -> None:
        """Say that what exists is recorded."""
        self.tell(kinds.Completed(at=self.at, by=BY, losses=losses))
        self.obstacles = ()

    def keep_secret(self, attempt: str) -> None:
        """Record the secret of a subscription."""
        self.tell(kinds.SecretSet(at=self.at, by=BY, attempt=attempt, secret="sealed"))

    # What it comes to

    @property
    def at(self) -> str:
        """The time."""
        return stamp(self.now)

    @property
    def desired(self) -> Desired:
        """What `config/` says."""
        return Desired(
            dict(sorted(self.targets.items())), dict(sorted(self.wanted.items())), recipients=self.recipients,
            parity_ignore=tuple(ParityException(name, f"since {name}", PLACE) for name in self.ignore),
        )  # fmt: skip

    @property
    def record(self) -> Record:
        """What the facts add up to."""
        if self._folded is None or self._folded[0] != len(self.facts):
            self._folded = len(self.facts), fold(linked(None, 0, self.facts)[1])
        return self._folded[1]

    def what(self, attempt: str) -> kinds.What:
        """Return what an attempt stands for."""
        return next(
            fact.what
            for fact in self.facts
            if isinstance(fact, kinds.Intended | kinds.Exists) and fact.attempt == attempt
        )

    def attempt(self, attempt: str) -> Attempt:
        """Return what is known of an attempt."""
        return self.record.attempts[attempt]

    @property
    def attempts(self) -> list[Attempt]:
        """All attempts, oldest first."""
        return [*self.record.attempts.values()]

    def plan(
        self, *patterns: str, now: float | None = None, accounts: Mapping[TargetName, str] | None = None,
        allow_empty: bool = True
    ) -> Plan:  # fmt: skip
        """Plan at a time: by default when every call is settled."""
        missing = ("d" * 64,) if Obstacle.HEADS_MISSING in self.obstacles else ()
        return plan(
            self.desired, self.record, Standing("state.jsonl", self.obstacles, missing), Selection.of(patterns),
            now=self.now + FLIGHT if now is None else now, accounts=accounts or {}, allow_empty=allow_empty,
            unrecovered=self.unrecovered,
        )  # fmt: skip

    def changes(self, *patterns: str) -> list[Change]:
        """Return what is to be done."""
        return self.plan(*patterns).changes

    def change(self, *patterns: str) -> Change:
        """Return the one change there is."""
        (change,) = self.changes(*patterns)
        return change

    def status(self, *patterns: str, now: float | None = None) -> ProjectStatus:
        """Return the status at a time."""
        now = self.now + FLIGHT if now is None else now
        return status(self.desired, self.record, self.plan(*patterns, now=now), now)

    # Making a plan true

    def apply(self, plan: Plan | None = None, become: Callable[[Change], Outcome] = created) -> None:
        """Carry a plan out as `apply` does: creates first, what needs no call after those it waits for."""
        changes = (plan or self.plan()).changes
        outcomes = {change.address: self._send(change, become) for change in changes if change.action in SENDS}
        for change in changes:
            if all(outcomes.get(address) is Outcome.CREATED for address in change.depends_on):
                for attempt in change.concerns:
                    if change.action is Action.REMOVE:
                        self.request(attempt, by_plan=True)
                    elif change.action is Action.RESTORE:
                        self.cancel(attempt)

    def _send(self, change: Change, become: Callable[[Change], Outcome]) -> Outcome:
        assert change.request is not None
        supersedes = change.concerns if change.action is Action.RETRY else ()
        attempt = self.begin(change.address, " ".join(change.request.codes), change.request.template, supersedes)
        outcome = become(change)
        self.hear(attempt, outcome)
        if outcome is Outcome.UNKNOWN:
            self.now += FLIGHT
        if outcome is Outcome.CREATED and change.action is Action.REPLACE:
            for old in change.concerns:
                self.request(old, by_plan=True)
        return outcome


def actions(changes: list[Change]) -> list[tuple[str, Action]]:
    """Return name and action of each change."""
    return [(change.address.name, change.action) for change in changes]


def names(change: Change) -> list[str]:
    """Return the names of the reasons of a change."""
    return [message.name for message in change.reasons]


def warned(change: Change) -> list[str]:
    """Return the names of the warnings of a change."""
    return [message.name for message in change.warnings]


def commands(change: Change) -> list[str]:
    """Return the commands that the reasons of a change name."""
    return commands_in(change.reasons)
