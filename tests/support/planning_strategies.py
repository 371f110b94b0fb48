"""Hypothesis strategies: small worlds in which codes, URLs and services meet as often as they can."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from reconciler.model.address import Address, TargetName
from reconciler.model.desired import Overlap, Replace
from reconciler.model.outcome import Outcome
from reconciler.model.record import Status
from reconciler.model.url import normal_url, service_key
from support.value_scene import EUROPE, USA, Scene, target

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import DrawFn

ALONE = TargetName("usa/production")
SERVICES = {
    EUROPE: "https://api.service.example",
    USA: "https://API.service.example:443",  # the same service, spelt otherwise
    ALONE: "https://api.alone.example",
}
CODES = ["LOA10013", "ONB10001", "ONB10002"]
URLS = ["https://hooks.example/one", "https://HOOKS.example:443/one", "https://hooks.example/two"]

code_lists = st.sets(st.sampled_from(CODES), min_size=1).map(sorted).map(" ".join)
urls = st.sampled_from(URLS)
addresses = st.builds(Address.of, st.sampled_from(list(SERVICES)), st.sampled_from(["a", "b", "c"]))


@st.composite
def scenes(draw: DrawFn) -> Scene:
    """What may have happened, in any order, and then something that `config/` may say."""
    overlap = draw(st.sampled_from(Overlap))
    scene = Scene({name: target(name, base_url=url, overlap=overlap) for name, url in SERVICES.items()})
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
        url, declared = draw(urls), scene.targets[address.target]
        key = service_key(declared.base_url)
        place = normal_url(url) if declared.overlap is Overlap.ALLOW else ""
        codes = [code for code in draw(code_lists).split() if (key, code, place) not in taken]
        taken.update((key, code, place) for code in codes)
        if codes:
            scene.want(address, " ".join(codes), url)


def _create(draw: DrawFn, scene: Scene) -> None:
    attempt = scene.begin(draw(addresses), draw(code_lists), draw(urls))
    outcome = draw(st.sampled_from([Outcome.CREATED, Outcome.CREATED, *Outcome, None]))
    if outcome is not None:
        scene.hear(attempt, outcome)


def _import(draw: DrawFn, scene: Scene) -> None:
    scene.bring(draw(addresses), draw(code_lists), draw(urls))


def _apply(draw: DrawFn, scene: Scene) -> None:
    draw_wishes(draw, scene)
    scene.apply()


def _settle(draw: DrawFn, scene: Scene) -> None:
    _with_one(draw, scene, lambda one: scene.resolve(one, created=draw(st.booleans())), Status.UNKNOWN)


def _hear_late(draw: DrawFn, scene: Scene) -> None:
    _with_one(draw, scene, lambda one: scene.hear(one, Outcome.CREATED), Status.UNKNOWN, Status.PENDING, Status.GONE)


def _retire(draw: DrawFn, scene: Scene) -> None:
    _with_one(draw, scene, draw(st.sampled_from([scene.retire, scene.ask_away])), Status.LIVE, Status.AWAITING_REMOVAL)


def _remove(draw: DrawFn, scene: Scene) -> None:
    _with_one(draw, scene, scene.remove, Status.AWAITING_REMOVAL)


def _move(draw: DrawFn, scene: Scene) -> None:
    before, after = draw(addresses), draw(addresses)
    if before.target == after.target and not scene.records[after.target].at_address(after):
        scene.move(before, after)


def _with_one(draw: DrawFn, scene: Scene, act: Callable[[str], None], *statuses: Status) -> None:
    found = [one.id for one in scene.all_attempts() if one.status in statuses]
    if found:
        act(draw(st.sampled_from(found)))


_HAPPENINGS = [_create, _create, _import, _apply, _settle, _hear_late, _retire, _retire, _remove, _move]
