"""The capture file: what is written is read again, and what is not one is refused."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.notified import notification
from support.refusals import raised

from reconciler.errors import SettingsError
from reconciler.notifications import captured as captured_module
from reconciler.notifications.captured import Captured, line_of, parse_line, read_captured

AT = "2026-03-01T12:00:00Z"
LINE = line_of(Captured(AT, "ONB10011", "/offers", "https://a.example/offers", True, notification()))


@given(
    path=st.from_regex(r"\A/[!-~]{0,9}\Z"), url=st.sampled_from([None, "https://a.example/x?y"]),
    verified=st.sampled_from([None, True, False]), text=st.text(max_size=20),
    headers=st.lists(st.tuples(st.just("X-A"), st.text(max_size=9)), max_size=3),
)  # fmt: skip
@settings(max_examples=60)
def test_line_is_read_again(
    path: str, url: str | None, verified: bool | None, text: str, headers: list[tuple[str, str]]
) -> None:
    """Whatever is in it; a line is ASCII without control characters."""
    captured = Captured(AT, "LOA10013", path, url, verified, text.encode(), tuple(headers))
    line = line_of(captured)
    assert captured == parse_line(line, "here")
    assert line[:-1].decode().isascii()
    assert line[:-1].decode().isprintable()


def test_credentials_are_left_out() -> None:
    """The values of Authorization and Cookie headers are not written, but their names are."""
    headers = (("Authorization", "abc"), ("cookie", "abc"), ("Proxy-authorization", "abc"), ("X-Signature", "s"))
    line = line_of(Captured(AT, "", "/", headers=headers))
    assert (True, False) == (b"Authorization" in line, b"abc" in line)
    assert (("X-Signature", "s"),) == parse_line(line, "here").headers


@pytest.mark.parametrize(("document", "captured"), [
    ({"at": "2026-03-01T13:00:00.75+01:00", "code": "X", "url": "https://a.example/b?c"}, (AT, "X", "/b?c")),
    ({"at": AT, "path": "/x", "body": '{"EventCode": "LOA10013"}', "more": 1}, (AT, "LOA10013", "/x")),
    ({"at": AT, "path": "/x", "body": "?"}, (AT, "", "/x")),
    ({"at": AT, "path": "/x", "code": "", "body": '{"EventCode": "X"}'}, (AT, "", "/x")),
    ({"at": AT, "path": "/x", "code": ""}, (AT, "", "/x")), ({"at": AT, "path": "/x", "body": ""}, (AT, "", "/x")),
    ({"at": AT, "path": "/x", "url": "https://a.example/y", "code": "X"}, (AT, "X", "/x")),
    ({"at": AT, "path": "/x", "body": '{"a":' * 100_000}, (AT, "", "/x")),
    ({"at": AT, "url": "https://a.example", "code": "X"}, (AT, "X", "/")),
])  # fmt: skip
def test_lines_of_others(document: dict[str, Any], captured: tuple[str, str, str]) -> None:
    """A partner's endpoint needs to write little; the time is turned into UTC, the code may be that of the body."""
    read = parse_line(json.dumps(document).encode(), "here")
    assert captured == (read.at, read.code, read.path)


@pytest.mark.parametrize("line", [
    b"", b"[]", b"\xff", b'{"a":' * 100_000, b"{}", b'{"at": "yesterday", "path": "/", "code": "X"}',
    b'{"at": "2026-03-01T12:00:00", "path": "/", "code": "X"}', b'{"at": "2026-03-01T12:00:00Z", "code": "X"}',
    b'{"at": "2026-03-01T12:00:00Z", "url": "https:/somebody", "code": "X"}',
    b'{"at": "2026-03-01T12:00:00Z", "url": "http://[", "code": "X"}',
    b'{"at": "2026-03-01T12:00:00Z", "url": "https://somebody\\u2100/", "code": "X"}',
    b'{"at": "2026-03-01T12:00:00Z", "path": "/"}',
    b'{"at": "2026-03-01T12:00:00Z", "path": "", "url": "https://a.example/x", "code": "X"}',
    b'{"at": "2026-03-01T12:00:00Z", "path": "/", "code": "X", "verified": "somebody"}',
], ids=range(14))  # fmt: skip
def test_bad_line(line: bytes) -> None:
    """It is refused with its place, and nothing of it is shown."""
    message = raised(SettingsError, parse_line, line, "f:1")
    assert ("bad-capture", "f:1", 1) == (message.name, message.where, len(message.steps))
    assert "somebody" not in str(message)


def test_torn_last_line(tmp_path: Path) -> None:
    """What follows the last newline is left out wherever it is torn; whole, it counts."""
    file = tmp_path / "notifications.jsonl"
    for end in range(len(LINE)):
        file.write_bytes(LINE + LINE[:end])
        assert (2 if end == len(LINE) - 1 else 1) == len(list(read_captured(file)))


def test_bad_line_is_named_by_its_number(tmp_path: Path) -> None:
    """What comes before it is given."""
    file = tmp_path / "notifications.jsonl"
    file.write_bytes(LINE + b"\n" + LINE)
    lines = read_captured(file)
    assert "ONB10011" == next(lines).code
    assert f"{file}:2" == raised(SettingsError, lines.__next__).where


def test_endless_line_is_no_torn_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line as long as is read at most is a mistake, also at the end of the file."""
    file = tmp_path / "notifications.jsonl"
    file.write_bytes(LINE + LINE[:-2])
    monkeypatch.setattr(captured_module, "LINE_LIMIT", len(LINE) - 2)
    assert f"{file}:1" == raised(SettingsError, lambda: list(read_captured(file))).where


def test_file_that_cannot_be_read(tmp_path: Path) -> None:
    """A missing file, and a directory."""
    for path in (tmp_path / "missing", tmp_path):
        message = raised(SettingsError, lambda at: list(read_captured(at)), path)
        assert ("unreadable-capture", str(path)) == (message.name, message.where)


def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`-` stands for it, and it stays open; a file of that name elsewhere is a file."""
    (tmp_path / "-").touch()
    stream = io.BytesIO(LINE)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=stream))
    assert [] == list(read_captured(tmp_path / "-"))
    assert ["/offers"] == [captured.path for captured in read_captured(Path("-"))]
    assert not stream.closed
