"""HTML pages in the place of the API's answer, in whatever disguise."""

from __future__ import annotations

import gzip
import json
import tracemalloc
import zlib
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.raw_server import say

from reconciler.model.outcome import Outcome
from reconciler.service.outcomes import outcome_of
from reconciler.service.pages import is_page

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.raw_server import RawServer

    from reconciler.service.transport import Transport

PAGE = "<!DOCTYPE html>\n<html><title>Sign in \u2026</title>" + "<p>Please sign in.</p>" * 5000
JSON = json.dumps({"id": "sub-1", "html": "<html>", "page": PAGE[:50]})


def raw_deflate(text: bytes) -> bytes:
    """Deflate as some servers send it, without the header of zlib."""
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(text) + packer.flush()


def damaged(packed: bytes) -> bytes:
    """A compressed body whose second half is not what it was."""
    return packed[: len(packed) // 2] + b"\xff" * (len(packed) // 2)


@pytest.mark.parametrize(
    "kind",
    ["text/html", "Text/HTML; charset=utf-8", " application/xhtml+xml ;q=1", "text/html, a/b", "a/b, TEXT/HTML"],
)
def test_the_label_suffices(kind: str) -> None:
    """What calls itself a page is one, in any case and with any parameters, even beside another label."""
    assert is_page({"content-type": kind}, b"{}")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize(
    "prolog",
    ["", " \r\n\t", "<!-- a --> <!-- b > c -->\n", '<?xml version="1.0"?>\n<!--x-->', "<!DOCTYPE html SYSTEM 'x'>",
     f"<!--{'licence ' * 1000}-->"],
)  # fmt: skip
@pytest.mark.parametrize("start", [PAGE, "<html>", "<HTML lang=en>", "<!doctype  HTML public 'x'>"])
def test_a_page_begins_as_one(encoding: str, prolog: str, start: str) -> None:
    """Whatever it is labelled, whatever its encoding, and whatever comments stand before it."""
    assert is_page({"content-type": "application/json"}, (prolog + start).encode(encoding))


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_a_mark_in_front(encoding: str) -> None:
    """The mark that tells the byte order is no part of the page, in either order."""
    assert is_page({}, ("\ufeff" + PAGE).encode(encoding))


@pytest.mark.parametrize(
    ("pack", "label"),
    [
        (gzip.compress, "gzip"), (gzip.compress, ""), (zlib.compress, "deflate"), (zlib.compress, "gzip"),
        (raw_deflate, "deflate"), (raw_deflate, "Deflate"),
        (lambda text: gzip.compress(gzip.compress(text)), "gzip, gzip"),
        (lambda text: gzip.compress(text)[:150], "gzip"), (lambda text: damaged(gzip.compress(text, 0)), "gzip"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_compressed_page_is_one(pack: Callable[[bytes], bytes], label: str, encoding: str) -> None:
    """Compressed, even where nobody asked for that, says so, or sends all of it."""
    assert is_page({"content-encoding": label}, pack(PAGE.encode(encoding)))


@pytest.mark.parametrize(
    "body",
    [
        b"", b"<", b"<!--", b"<!-- <html> ", b"<?xml version='1.0'?><subscription/>", b"<htmlish>", b"text <html>",
        JSON.encode(), JSON.encode("utf-16"), gzip.compress(JSON.encode(), mtime=0), zlib.compress(JSON.encode()),
        b"x\x9c", b"\x1f\x8b",
        b'"<html>"', b"\xff\xfe", b"\0" * 100, b"<!-- -->" * 100_000, b"<?" * 100_000,
    ],
)  # fmt: skip
@pytest.mark.parametrize("label", ["", "gzip", "deflate", "br"])
def test_anything_else_is_none(body: bytes, label: str) -> None:
    """XML, JSON that quotes a page, and nonsense are no pages."""
    assert not is_page({"content-encoding": label}, body)


def test_a_bomb_is_not_unpacked() -> None:
    """Of a body that grows without bounds no more is unpacked than is looked at."""
    once = gzip.compress(bytes(200_000_000), 1)
    noise = Random(1)
    slow = gzip.compress(b"".join(noise.randbytes(24) + bytes(500) for _ in range(40_000)), 1)
    for packed in (once, slow, gzip.compress(once, 9)):
        tracemalloc.start()
        try:
            assert not is_page({"content-encoding": "gzip"}, packed)
            assert tracemalloc.get_traced_memory()[1] < 5_000_000
        finally:
            tracemalloc.stop()


@given(st.binary(max_size=200), st.sampled_from(["", "gzip", "deflate"]))
@settings(max_examples=100, deadline=None)
def test_any_body_is_judged(body: bytes, label: str) -> None:
    """Nothing a server can say makes the question fail."""
    assert is_page({"content-encoding": label}, body) in (True, False)


@pytest.mark.parametrize(
    ("head", "outcome"),
    [
        (b"Content-Type: text/HTML\r\nContent-Type: application/json", Outcome.UNKNOWN),
        (b"Content-Type: application/json\r\nContent-Type: text/html", Outcome.UNKNOWN),
        (b"Content-Type: application/json", Outcome.CREATED),
    ],
)
def test_a_body_that_breaks_off(
    serve: Callable[..., RawServer], transport: Transport, head: bytes, outcome: Outcome
) -> None:
    """Where no page was seen the head decides, whatever becomes of the body; each Content-Type counts."""
    server = serve(say(b"HTTP/1.1 201 Created\r\n" + head + b'\r\nContent-Length: 900\r\n\r\n{"id": "s'))
    assert outcome is outcome_of(transport.post(server.url, {}, b"{}", timeout=5), ()).outcome
