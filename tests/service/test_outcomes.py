"""The table of outcomes, written down independently of the code."""

from __future__ import annotations

import datetime as dt
import email.utils
import gzip
import json
import time
import zlib

import pytest
import time_machine
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.model.outcome import Outcome
from reconciler.service.outcomes import outcome_of
from reconciler.service.transport import Failure, Reply

REJECTED = {301, 307, 308, *range(400, 500)} - {408, 499}
NOW = 1_900_000_000.0
PAGE = b"<!DOCTYPE html><p>Sign in"


def reply(status: int, body: bytes = b"{}", *, whole: bool = True, **headers: str) -> Reply:
    """Return a reply with headers whose names are written with underscores."""
    return Reply(status, {name.replace("_", "-"): value for name, value in headers.items()}, b"", body, whole)


def expected(status: int) -> Outcome:
    """Return the outcome of the whole table, for a body that is no HTML page."""
    if status in range(200, 300):
        return Outcome.CREATED
    return Outcome.REJECTED if status in REJECTED else Outcome.UNKNOWN


@pytest.mark.parametrize("status", [0, 99, 100, 101, 103, *range(200, 601), 700, 999])
def test_every_status(status: int) -> None:
    """Each status has the outcome that is promised."""
    answer = outcome_of(reply(status), ())
    assert (expected(status), status) == (answer.outcome, answer.status)


@pytest.mark.parametrize(("sent", "outcome"), [(False, Outcome.NOT_SENT), (True, Outcome.UNKNOWN)])
def test_no_status_line(sent: bool, outcome: Outcome) -> None:
    """Without a status line it counts whether anything was sent."""
    answer = outcome_of(Failure(sent, "no connection\nto here"), ())
    assert (outcome, None, "no connection to here") == (answer.outcome, answer.status, answer.detail)


@pytest.mark.parametrize("result", [
    Failure(True, "no route to s3cret-0815"), reply(400, b'{"message": "bad s3cret-0815"}', date="s3cret-0815"),
    reply(301, location="https://s3cret-0815.example/"), reply(503, b"s3cret-0815", date="Tue s3cret-0815"),
])  # fmt: skip
def test_no_secret_is_told(result: Reply | Failure) -> None:
    """Whatever a server or a system error says of a secret, a person and the record do not see it."""
    answer = outcome_of(result, ["s3cret-0815"])
    assert "s3cret-0815" not in f"{answer.detail} {answer.date} {answer!r}"


@pytest.mark.parametrize("page", [
    reply(200, content_type="text/html; charset=utf-8"), reply(201, content_type="application/json, Text/HTML"),
    reply(200, content_type="application/xhtml+xml"), reply(200, PAGE),
    reply(200, b"\xef\xbb\xbf\r\n  <HTML lang=en>", content_type="application/json"),
    reply(200, b"<?xml version='1.0'?>\n<!-- a --><!-- b -->\n" + PAGE), reply(200, PAGE.decode().encode("utf-16")),
    reply(200, f"\ufeff{PAGE.decode()}".encode("utf-16-be")), reply(200, PAGE.decode().encode("utf-32-le")),
    reply(200, gzip.compress(b"<!--" + b"x" * 99 + b"-->" + PAGE, mtime=0)),
    reply(200, gzip.compress(PAGE, mtime=0)[:-9], whole=False), reply(200, zlib.compress(PAGE)),
    reply(200, zlib.compress(PAGE)[2:-4]), reply(204, b"<html>"),
])  # fmt: skip
def test_an_html_page_is_not_the_api(page: Reply) -> None:
    """A page with a 2xx may be a login or maintenance page, however it is encoded: the outcome is unknown."""
    answer = outcome_of(page, ())
    assert answer.outcome is Outcome.UNKNOWN
    assert "HTML page" in str(answer.detail)


@pytest.mark.parametrize("body", [
    b"", b"created", b"\xff\x00", b"[" * 100_000, b"<htmlish>", b'{"html": "<html>"}', b"<!--" * 50_000,
    gzip.compress(b"{}", mtime=0),
])  # fmt: skip
def test_any_other_body_is_created(body: bytes) -> None:
    """A 2xx is created whatever its body, and is not worth much of the processor's time."""
    started = time.thread_time()
    answer = outcome_of(reply(201, body, date="Tue, 01 Jan 2030 00:00:00 GMT"), ())
    assert time.thread_time() - started < 1
    assert (Outcome.CREATED, None, body) == (answer.outcome, answer.detail, answer.body)
    assert answer.date == "Tue, 01 Jan 2030 00:00:00 GMT"


@pytest.mark.parametrize("body", [b"", b"half", bytes(1 << 20)], ids=range(3))
def test_a_cut_off_body_is_created(body: bytes) -> None:
    """The detail says that it was cut off, since the secret may have been in it."""
    answer = outcome_of(reply(201, body, whole=False), ())
    assert (Outcome.CREATED, f"the response was cut off after {len(body)} bytes") == (answer.outcome, answer.detail)


@pytest.mark.parametrize(("location", "host"), [
    ("https://me:s3cret@login.example:8/path?token=abc", "login.example"), ("/elsewhere", "another path"),
    ("https://[bad", "an unreadable address"),
])  # fmt: skip
def test_a_redirect_names_its_host(location: str, host: str) -> None:
    """And nothing else: the rest may hold anything."""
    detail = f"HTTP 307 Temporary Redirect: redirect to {host} not followed; check the address"
    assert detail == outcome_of(reply(307, location=location), ()).detail


@pytest.mark.parametrize(("body", "detail"), [
    (b'{"message": "no such code"}', ": no such code"),
    (b'\xef\xbb\xbf{"title": "Invalid", "detail": "code\\nunknown"}', ": Invalid, code unknown"),
    (b'{"error": "x", "message": "x"}', ": x"), (b'{"error": {"code": 1}, "message": " "}', ""),
    (b'{"message": " ", "title": "x"}', ": x"), (b'{"message": "bad hunter2hunter2"}', ": bad [redacted]"),
    (b"<html>no", ""), (b'["message"]', ""),
])  # fmt: skip
def test_the_words_of_a_json_error(body: bytes, detail: str) -> None:
    """The usual members of a JSON error are shown, on one line and redacted; nothing of anything else is."""
    for named in ("HTTP 400 Bad Request", "HTTP 503 Service Unavailable", "HTTP 599"):
        assert named + detail == outcome_of(reply(int(named[5:8]), body), ["hunter2hunter2"]).detail


@pytest.mark.parametrize(("values", "length", "told"), [(2000, 4096, ": x"), (2001, 4096, ""), (2000, 4097, "")])
def test_a_body_with_too_much_to_search_for_secrets_is_not_shown(values: int, length: int, told: str) -> None:
    """Too many values, or values that may be secret and are too long together."""
    body = json.dumps({"message": "x", "token": "a" * length, "others": [0] * (values - 4)}).encode()
    assert f"HTTP 400 Bad Request{told}" == outcome_of(reply(400, body), ()).detail


def test_a_detail_is_short() -> None:
    """However much a server says, there or in a date."""
    answer = outcome_of(reply(400, b'{"message": "not %s"}' % (b"long " * 10_000), date="x" * 99), ())
    assert str(answer.detail).startswith("HTTP 400 Bad Request: not long ")
    assert (len("HTTP 400 Bad Request: ") + 200, 40) == (len(str(answer.detail)), len(str(answer.date)))


HOSTILE: dict[str, dict[str, object]] = {
    "16 dotted secrets": {f"token{n}": ".".join([f"{n}abcdefghijklmno"] * 250) for n in range(16)},
    "16 different ones": {f"token{n}": ".".join(f"{n}x{m:08}yz" for m in range(300)) for n in range(16)},
    "many secrets": {f"secret{n}": f"secret-number-{n}" for n in range(1900)},
    "one secret of many": {"secret": "ab" * 2000}, "escapes": {"secret": "%25" * 1300},
    "deep": {"a": [[[[{"token": "x" * 9}]]]] * 300}, "a long name": {"sign" * 200_000: "x"},
}  # fmt: skip


@pytest.mark.parametrize("shape", HOSTILE)
@pytest.mark.parametrize("words", ["%25" * 1300, "\\" * 4000, "eyJ" * 1300, "bearer " * 600, "0abcdefghijklmno." * 240])
def test_a_hostile_body_costs_no_time(shape: str, words: str) -> None:
    """A 400 is rejected, whatever its body calls a secret, for some milliseconds of this thread's processor time."""
    body = json.dumps({**HOSTILE[shape], "message": words}).encode()
    took = []
    for _ in range(3):
        started = time.thread_time()
        answer = outcome_of(reply(400, body), ["client-0815", "t0ken." * 200])
        took.append(time.thread_time() - started)
    assert answer.outcome is Outcome.REJECTED
    assert min(took) < 0.5


def http_date(seconds: float) -> str:
    """Return an HTTP date that lies `seconds` from NOW."""
    return email.utils.format_datetime(dt.datetime.fromtimestamp(NOW + seconds, dt.UTC), usegmt=True)


@pytest.mark.parametrize(("value", "seconds"), [
    ("120", 120.0), (" 0 ", 0.0), ("1.5", 1.5), ("-3", 0.0), (http_date(30), 30.0), (http_date(-30), 0.0),
    ("soon", None), ("", None), ("nan", None), ("1e9", None), ("9" * 400, None),
    ("Mon, 99 Foo 2030 00:00:00 GMT", None), ("+999999999999 Jan 1 24:61", None),
])  # fmt: skip
def test_retry_after(value: str, seconds: float | None) -> None:
    """Seconds and dates are understood, the past is now, and nonsense is nothing; it counts for a 429 only."""
    with time_machine.travel(NOW, tick=False):
        answer = outcome_of(reply(429, retry_after=value), ())
    assert (Outcome.REJECTED, seconds) == (answer.outcome, answer.retry_after)
    assert outcome_of(reply(503, retry_after=value), ()).retry_after is None


@given(
    st.integers(0, 999), st.binary(max_size=60),
    st.dictionaries(st.sampled_from(["retry-after", "location", "content-type", "date"]), st.text(max_size=30)),
)  # fmt: skip
@settings(max_examples=100)
def test_any_reply_has_an_outcome(status: int, body: bytes, headers: dict[str, str]) -> None:
    """Nothing a server can send makes the outcome fail; its words are one printable line."""
    answer = outcome_of(Reply(status, headers, b"", body), ["secret"])
    assert all(text is None or text.isprintable() for text in (answer.detail, answer.date))
    assert answer.outcome is not Outcome.NOT_SENT
