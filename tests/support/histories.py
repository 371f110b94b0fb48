"""Hypothesis strategies: small worlds in which codes, URLs and services meet as often as they can."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from reconciler.model.address import Address, TargetName
from reconciler.model.desired import Overlap, Replace, Unknown
from reconciler.model.outcome import Outcome
from reconciler.model.record import Status
from reconciler.model.url import normal_url, service_key
from support.scene import EUROPE, SERVICE, USA, Scene, target

ALONE = TargetName("usa/production")
SERVICES = {EUROPE: SERVICE, USA: "https://API.service.example:443", ALONE: "https://api.alone.example"}
"""Two targets of one service, spelt differently, and one of another."""
CODES = ["LOA10013", "ONB10001", "ONB10002"]
SHARED = ["https://hooks.example/one", "https://HOOKS.example:443/one", "https://hooks.example/two"]
OWN = ["https://hooks.example/{attempt}", "https://hooks.example/two?id={attempt}"]

code_lists = st.sets(st.sampled_from(CODES), min_size=1).map(sorted).map(" ".join)
addresses = st.builds(Address.of, st.sampled_from(list(SERVICES)), st.sampled_from(["a", "b", "c"]))


@st.composite
def scenes(draw: DrawFn) -> Scene:
    """Draw what may have happened, in any order, and then something that `config/` may say."""
    unknown = draw(st.sampled_from(Unknown))
    overlap = draw(st.sampled_from(Overlap))
    scene = Scene({name: target(name, url, overlap, unknown=unknown) for name, url in SERVICES.items()})
    for _ in range(draw(st.integers(0, 12))):
        draw(st.sampled_from(_HAPPENINGS))(draw, scene)
    draw_wishes(draw, scene)
    return scene


def draw_wishes(draw: DrawFn, scene: Scene) -> None:
    """Desire something else altogether, such as the checks of `config/` would let pass."""
    scene.set_mode(draw(st.sampled_from(Replace)))
    scene.wanted.clear()
    taken: set[tuple[str, str, str]] = set()
    for address in sorted(draw(st.sets(addresses, max_size=6))):
        url, declared = _url(draw, scene), scene.targets[address.target]
        key = service_key(declared.base_url)
        place = normal_url(url) if declared.overlap is Overlap.ALLOW else ""
        codes = [code for code in draw(code_lists).split() if (key, code, place) not in taken]
        taken.update((key, code, place) for code in codes)
        if codes:
            scene.want(address, " ".join(codes), url)


def _url(draw: DrawFn, scene: Scene) -> str:
    retries = any(found.unknown is Unknown.RETRY for found in scene.targets.values())
    return draw(st.sampled_from(OWN if retries else [*SHARED, *OWN]))


def _create(draw: DrawFn, scene: Scene) -> None:
    attempt = scene.begin(draw(addresses), draw(code_lists), _url(draw, scene))
    outcome = draw(st.sampled_from([Outcome.CREATED, Outcome.CREATED, *Outcome, None]))
    if outcome is not None:
        scene.hear(attempt, outcome)


def _import(draw: DrawFn, scene: Scene) -> None:
    scene.bring(draw(addresses), draw(code_lists), draw(st.sampled_from(SHARED)))


def _apply(draw: DrawFn, scene: Scene) -> None:
    draw_wishes(draw, scene)
    outcomes = st.sampled_from([Outcome.CREATED, Outcome.CREATED, Outcome.UNKNOWN, Outcome.REJECTED])
    scene.apply(become=lambda change: draw(outcomes))


def _settle(draw: DrawFn, scene: Scene) -> None:
    _with(draw, scene, lambda found: scene.resolve(found, created=draw(st.booleans())), Status.UNKNOWN, Status.PENDING)


def _hear_late(draw: DrawFn, scene: Scene) -> None:
    attempts = [found.id for found in scene.attempts if not found.imported and found.status is not Status.LIVE]
    if attempts:
        scene.hear(draw(st.sampled_from(attempts)), Outcome.CREATED)


def _receive(draw: DrawFn, scene: Scene) -> None:
    def receive(found: str) -> None:
        attempt = scene.attempt(found)
        scene.receive(attempt.url, draw(st.sampled_from(CODES)), base_url=attempt.base_url)

    _with(draw, scene, receive, *Status)


def _request(draw: DrawFn, scene: Scene) -> None:
    def request(found: str) -> None:
        codes = draw(st.sampled_from(["", scene.attempt(found).codes[0]]))
        scene.request(found, codes, by_plan=not codes and draw(st.booleans()))

    _with(draw, scene, request, Status.LIVE, Status.AWAITING_REMOVAL)


def _cancel(draw: DrawFn, scene: Scene) -> None:
    _with(draw, scene, scene.cancel, Status.AWAITING_REMOVAL)


def _confirm(draw: DrawFn, scene: Scene) -> None:
    _with(draw, scene, scene.confirm, Status.AWAITING_REMOVAL)


def _move(draw: DrawFn, scene: Scene) -> None:
    before, after = draw(addresses), draw(addresses)
    one_service = service_key(SERVICES[before.target]) == service_key(SERVICES[after.target])
    if one_service and scene.record.at_address(before) and not scene.record.at_address(after):
        scene.move(before, after)


def _with(draw: DrawFn, scene: Scene, act: Callable[[str], None], *statuses: Status) -> None:
    found = [attempt.id for attempt in scene.attempts if attempt.status in statuses]
    if found:
        act(draw(st.sampled_from(found)))


_HAPPENINGS = [_create, _create, _import, _apply, _settle, _hear_late, _receive, _request, _cancel, _confirm, _move]
