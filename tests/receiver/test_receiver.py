"""The receiver as a function: what it answers, what it keeps, what it tells."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from errno import ENOSPC
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.notified import notification

from reconciler.receiver.captured import Captured, parse_captured
from reconciler.receiver.exchange import Request, Response
from reconciler.receiver.readable import DEPTH_LIMIT, unreadable
from reconciler.receiver.receiver import Behaviour, Delivery, Receiver
from reconciler.receiver.redeliveries import Redeliveries

if TYPE_CHECKING:
    from collections.abc import Callable


def posted(body: bytes = notification(), target: str = "/offers", **headers: str) -> Request:
    """A notification on its way; `X_Y` becomes the header X-Y."""
    return Request("POST", target, {name.replace("_", "-"): value for name, value in headers.items()}, body)


def good(_: Request) -> None:
    """Finds nothing wrong with a signature."""


def bad(_: Request) -> str:
    """Finds every signature bad."""
    return "bad signature"


@dataclass
class Scene:
    """A receiver, and what it did."""

    behaviour: Behaviour = field(default_factory=Behaviour)
    check: Callable[[Request], str | None] | None = None
    kept: list[Captured] = field(default_factory=list)
    told: list[Delivery] = field(default_factory=list)
    slept: list[float] = field(default_factory=list)
    full: bool = False

    def __post_init__(self) -> None:
        self.receiver = Receiver(self.keep, self.told.append, self.behaviour, self.check, self.slept.append)

    def keep(self, line: bytes) -> None:
        if self.full:
            raise OSError(ENOSPC, "No space left on device")
        self.kept.append(parse_captured(line))

    def statuses(self, *requests: Request) -> list[int]:
        """The answers to requests."""
        return [self.receiver.handle(request).status for request in requests]


class TestConfirming:
    """A notification that can be read."""

    @pytest.mark.parametrize("target", ["/", "/offers", "/a/b?c=d", "*"])
    def test_is_confirmed_at_any_path(self, target: str) -> None:
        """With a 200, once it is kept."""
        scene = Scene()
        assert [200] == scene.statuses(posted(target=target))
        assert [(target, notification())] == [(one.path, one.body) for one in scene.kept]

    def test_is_kept_before_it_is_told_or_answered(self) -> None:
        """What is told of was kept."""
        order: list[str] = []
        receiver = Receiver(
            lambda _: order.append("kept"), lambda _: order.append("told"), sleep=lambda _: order.append("slept")
        )
        receiver.handle(posted())
        assert ["kept", "slept", "told"] == order

    def test_what_is_kept(self) -> None:
        """The URL it was received at, behind a tunnel that of the tunnel, and the headers."""
        scene = Scene()
        scene.statuses(
            posted(target="/a?b"),
            posted(Host="127.0.0.1:8080"),
            posted(host="tunnel.example", X_Forwarded_Proto="https"),
            posted(Host="tunnel.example", X_Forwarded_Proto="javascript"),
        )
        assert [
            None,
            "http://127.0.0.1:8080/offers",
            "https://tunnel.example/offers",
            "http://tunnel.example/offers",
        ] == [one.url for one in scene.kept]
        assert {"host": "tunnel.example", "X-Forwarded-Proto": "https"} == scene.kept[2].headers
        assert scene.kept[0].at.endswith("Z")

    @pytest.mark.parametrize("body", [b"{}", b' {"a": 1E400}', b'{"n": ' + b"9" * 10_000 + b"}", b'{"a": "\\ud800"}'])
    def test_what_its_fields_are_is_not_judged(self, body: bytes) -> None:
        """Nothing that might be one is turned away."""
        scene = Scene()
        assert ([200], [body]) == (scene.statuses(posted(body)), [one.body for one in scene.kept])

    def test_another_status(self) -> None:
        """A 2xx confirms, and is kept; another is not, since it was not confirmed."""
        for status, kept in ((204, 1), (299, 1), (302, 0), (500, 0)):
            scene = Scene(Behaviour(status=status))
            assert ([status], kept) == (scene.statuses(posted()), len(scene.kept))

    def test_delay(self) -> None:
        """Each answer to a notification comes later; a refusal does not."""
        scene = Scene(Behaviour(delay=2.5))
        scene.statuses(posted(), posted(b"["))
        assert [2.5] == scene.slept


class TestRepeats:
    """A notification that comes again."""

    def test_is_named(self) -> None:
        """By the same body at the same path, and confirmed again."""
        scene = Scene()
        assert [200] * 4 == scene.statuses(posted(), posted(), posted(target="/else"), posted(b"{}"))
        assert [False, True, False, False] == [one.duplicate for one in scene.kept]
        assert [1, 2, 1, 1] == [one.number for one in scene.told]
        assert [False, True, False, False] == [one.request.duplicate for one in scene.told]

    def test_is_named_after_a_restart(self) -> None:
        """What the file holds is remembered."""
        before, scene = Scene(), Scene()
        before.statuses(posted())
        scene.receiver.remember(before.kept)
        assert ([200], [True], [2]) == (
            scene.statuses(posted()), [one.duplicate for one in scene.kept], [one.number for one in scene.told],
        )  # fmt: skip

    def test_fail_first(self) -> None:
        """Of each notification; what failed is not kept, and so what follows is no duplicate."""
        scene = Scene(Behaviour(fail_first=2))
        other = posted(b"{}")
        assert [503, 503, 503, 200, 200, 503, 200] == scene.statuses(
            *[posted()] * 2, other, *[posted()] * 2, other, other
        )
        assert [(notification(), False), (notification(), True), (b"{}", False)] == [
            (one.body, one.duplicate) for one in scene.kept
        ]
        assert ["simulated failure 1 of 2", "simulated failure 2 of 2"] == [one.problem for one in scene.told[:2]]

    def test_memory_is_bounded(self) -> None:
        """The ones seen last are remembered."""
        repeats = Redeliveries(capacity=3)
        assert [1] * 3 == [repeats.count("/", body) for body in (b"a", b"b", b"c")]
        assert [2, 1, 3, 1] == [repeats.count("/", body) for body in (b"a", b"d", b"a", b"b")]
        assert len(repeats._known) == 3

    @given(one=st.tuples(st.text(), st.binary()), other=st.tuples(st.text(), st.binary()))
    @settings(max_examples=50, deadline=None)
    def test_paths_and_bodies_do_not_run_together(self, one: tuple[str, bytes], other: tuple[str, bytes]) -> None:
        """Only the same path and the same body are the same."""
        repeats = Redeliveries()
        repeats.confirm(*one)
        assert (one == other) == repeats.confirm(*other)


class TestKeepingFails:
    """A disk that does not take it."""

    def test_is_a_503(self) -> None:
        """The service is to deliver it again; then it is no duplicate."""
        scene = Scene(full=True)
        assert [503] == scene.statuses(posted())
        assert "could not save it: No space left on device" == scene.told[0].problem
        scene.full = False
        assert ([200], [False]) == (scene.statuses(posted()), [one.duplicate for one in scene.kept])

    def test_a_duplicate_stays_one(self) -> None:
        """It was kept before."""
        scene = Scene()
        scene.statuses(posted())
        scene.full = True
        assert [503] == scene.statuses(posted())
        scene.full = False
        scene.statuses(posted())
        assert [False, True] == [one.duplicate for one in scene.kept]


NESTED = [b'{"a": ' + b"[" * depth + b"]" * depth + b"}" for depth in (DEPTH_LIMIT - 1, DEPTH_LIMIT, 200_000)]


class TestRefusing:
    """What is no notification."""

    @pytest.mark.parametrize(
        ("body", "problem"),
        [
            (b"", "the body is empty"),
            (b"{", "the body is not JSON (line 1, column 2)"),
            (b'{\n"a": 1,}', "the body is not JSON (line 2, column 8)"),
            (b'{"a": NaN}', "the body is not JSON (NaN or Infinity)"),
            (b'{"a": "\n"}', "the body is not JSON (line 1, column 8)"),
            (b"\xef\xbb\xbf{}", "the body is not JSON (line 1, column 1)"),
            (b'{"a": "\xff"}', "the body is not UTF-8 (byte 7)"),
            (b"[]", "the body is not a JSON object"),
            (b'"x"', "the body is not a JSON object"),
            (b"null", "the body is not a JSON object"),
            (NESTED[1], "the body is nested deeper than 100 levels"),
            (NESTED[2], "the body is nested deeper than 100 levels"),
        ],
        ids=range(12),
    )
    def test_400(self, body: bytes, problem: str) -> None:
        """A body that cannot be read; it is not kept, and told apart from a bad signature."""
        scene = Scene()
        assert ([400], []) == (scene.statuses(posted(body)), scene.kept)
        assert [(400, problem, None)] == [(one.status, one.problem, one.number) for one in scene.told]

    def test_a_sane_depth_is_taken(self) -> None:
        """As deep as the limit, and no deeper."""
        assert unreadable(NESTED[0]) is None

    @given(body=st.binary(max_size=50) | st.text(max_size=50).map(str.encode))
    @settings(max_examples=100, deadline=None)
    def test_any_body_is_answered(self, body: bytes) -> None:
        """200 for a JSON object, 400 for anything else."""
        try:
            found: Any = json.loads(body.decode(), parse_constant=lambda _: 1 / 0)
        except (ValueError, ZeroDivisionError):
            found = None
        assert [200 if isinstance(found, dict) else 400] == Scene().statuses(posted(body))

    @pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE"])
    def test_405(self, method: str) -> None:
        """Notifications are POSTed."""
        scene = Scene()
        response = scene.receiver.handle(Request(method, "/", {}, notification()))
        assert (405, (("Allow", "POST"),), []) == (response.status, response.headers, scene.kept)

    def test_what_was_not_read(self) -> None:
        """Is answered as whoever tried to read it says."""
        scene = Scene()
        assert [413] == scene.statuses(Request("POST", "/", problem=Response(413, "too large")))
        assert [(413, "too large", "POST", b"")] == [
            (one.status, one.problem, one.method, one.request.body) for one in scene.told
        ]


class TestSignatures:
    """What verifying comes to; how it is done is somebody else's."""

    def test_a_right_one(self) -> None:
        """Is kept as verified."""
        scene = Scene(check=good)
        assert ([200], [True]) == (scene.statuses(posted()), [one.verified for one in scene.kept])

    def test_a_bad_one(self) -> None:
        """Is a 401, and kept as unverified where it may be a notification; as evidence it may be all there is."""
        scene = Scene(check=bad)
        assert [401, 401] == scene.statuses(posted(), posted(b"["))
        assert [(notification(), False, False, False)] == [
            (one.body, one.verified, one.confirmed, one.duplicate) for one in scene.kept
        ]
        assert [(401, "bad signature", False)] * 2 == [
            (one.status, one.problem, one.request.verified) for one in scene.told
        ]

    def test_a_bad_one_confirms_nothing(self) -> None:
        """What comes again with a right signature is no duplicate, after a restart neither."""
        before, after = Scene(check=bad), Scene(check=good)
        before.statuses(posted(), posted())
        after.receiver.remember(before.kept)
        after.statuses(posted(), posted())
        assert [(False, False), (False, False)] == [(one.duplicate, one.confirmed) for one in before.kept]
        assert [(False, True), (True, True)] == [(one.duplicate, one.confirmed) for one in after.kept]

    def test_a_bad_one_that_cannot_be_kept(self) -> None:
        """Is to be delivered again, as any other."""
        scene = Scene(check=bad, full=True)
        assert [503] == scene.statuses(posted())

    def test_a_bad_one_that_is_only_told(self) -> None:
        """Is confirmed, and kept as what it is; an unreadable body is a 400 all the same."""
        scene = Scene(Behaviour(enforce=False), bad)
        assert [200, 400] == scene.statuses(posted(), posted(b"["))
        assert [False] == [one.verified for one in scene.kept]
        assert [(200, "bad signature"), (400, "the body is not JSON (line 1, column 2)")] == [
            (one.status, one.problem) for one in scene.told
        ]

    def test_nobody_looks(self) -> None:
        """Neither right nor wrong."""
        scene = Scene()
        scene.statuses(posted())
        assert [None] == [one.verified for one in scene.kept]
