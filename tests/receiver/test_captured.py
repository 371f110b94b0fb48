"""Captured requests: a line says all there is, and readers take what was torn for what it is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from support.notified import notification

from reconciler.errors import SettingsError
from reconciler.receiver.captured import UNRECORDED, Captured, captured_in, line_of, parse_captured

if TYPE_CHECKING:
    from pathlib import Path

ONE = Captured("2026-11-20T14:00:00.000001Z", notification(), "/offers?tenant=7", "http://a.example/offers?tenant=7")
OTHER = Captured("2026-11-20T14:00:01Z", b"{}")

TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
ANY = st.builds(
    Captured,
    at=TEXT,
    body=st.binary(max_size=30) | TEXT.map(str.encode),
    path=TEXT,
    url=st.none() | TEXT,
    headers=st.dictionaries(TEXT, TEXT, max_size=3),
    verified=st.none() | st.booleans(),
    confirmed=st.booleans(),
    duplicate=st.booleans(),
)


class TestLine:
    """The line of one request."""

    @given(captured=ANY)
    @settings(max_examples=80, deadline=None)
    def test_says_all_there_is(self, captured: Captured) -> None:
        """What is read is what was written, whatever its bytes."""
        told = {
            name: "(not recorded)" if name.lower() in UNRECORDED else text for name, text in captured.headers.items()
        }
        assert replace(captured, headers=told) == parse_captured(line_of(captured))

    def test_is_as_the_package_documents(self) -> None:
        """Its fields, by name; the body as text, to the letter."""
        assert {
            "at": "2026-11-20T14:00:00.000001Z",
            "path": "/offers?tenant=7",
            "url": "http://a.example/offers?tenant=7",
            "headers": {},
            "body": notification().decode(),
            "verified": None,
            "duplicate": False,
        } == json.loads(line_of(ONE))

    def test_holds_nothing_that_acts(self) -> None:
        """One line of ASCII, whatever the sender chose."""
        line = line_of(Captured("t", "\u2028\x85\x9b\n".encode(), "/\r\n\x1b", None, {"X": "\u202e"}))
        assert (True, 1) == (line.isascii(), line.count(b"\n"))
        assert line.decode().rstrip("\n").isprintable()

    @pytest.mark.parametrize("name", ["Authorization", "authorization", "COOKIE", "Proxy-Authorization"])
    def test_leaves_credentials_out(self, name: str) -> None:
        """That they were there is told, what they were is not; signatures are kept, since they are needed."""
        line = line_of(Captured("t", b"{}", headers={name: "Bearer s3cret", "X-Signature": "sha256=00"}))
        assert {name: "(not recorded)", "X-Signature": "sha256=00"} == parse_captured(line).headers

    def test_headers_that_came_twice(self) -> None:
        """Are kept in order and as often as they came, without the credentials among them."""
        fields = (("X-A", "1"), ("authorization", "Bearer s3cret"), ("x-a", "\xff"))
        captured = Captured("t", b"{}", headers={"X-A": "1, \xff", "authorization": "Bearer s3cret"}, fields=fields)
        read = parse_captured(line_of(captured))
        assert (("X-A", "1"), ("x-a", "\xff")) == read.sent_headers()
        assert b"s3cret" not in line_of(captured)

    def test_headers_that_came_once(self) -> None:
        """Need no list of their own."""
        captured = Captured("t", b"{}", headers={"b": "1", "A": "2", "Cookie": "(not recorded)"})
        assert (("b", "1"), ("A", "2")) == parse_captured(line_of(captured)).sent_headers()
        assert "header_list" not in json.loads(line_of(captured))

    def test_a_body_that_is_no_text(self) -> None:
        """Is kept as base64."""
        assert {"body_base64": "/w=="}.items() <= json.loads(line_of(Captured("t", b"\xff"))).items()


class TestParse:
    """Lines that others wrote."""

    @pytest.mark.parametrize(
        ("document", "expected"),
        [
            ({"at": "t", "body": "{}"}, Captured("t", b"{}", "/")),
            ({"at": "t", "body": "{}", "more": [1]}, Captured("t", b"{}", "/")),
            ({"at": "t", "body": "", "url": "https://a.example/x?y"}, Captured("t", b"", "/x?y", "https://a.example/x?y")),
            ({"at": "t", "body": "", "url": "https://a.example"}, Captured("t", b"", "/", "https://a.example")),
            ({"at": "t", "body": "", "url": "https://[a"}, Captured("t", b"", "/", "https://[a")),
            ({"at": "t", "body_base64": "/w=="}, Captured("t", b"\xff", "/")),
        ],
        ids=str,
    )  # fmt: skip
    def test_few_fields_must_be_there(self, document: dict[str, Any], expected: Captured) -> None:
        """A time and a body; the path follows from the URL."""
        assert expected == parse_captured(json.dumps(document).encode())

    @pytest.mark.parametrize(
        "line",
        [
            b"", b"x", b"[]", b"\xff", b"[" * 100_000, b"{}", b'{"at": "t"}', b'{"at": 1, "body": ""}',
            b'{"at": "t", "body": 1}', b'{"at": "t", "body": "", "body_base64": ""}',
            b'{"at": "t", "body_base64": "!"}',
            b'{"at": "t", "body": "\\ud800"}', b'{"at": "t", "body": "", "path": 1}',
            b'{"at": "t", "body": "", "url": 1}', b'{"at": "t", "body": "", "headers": []}',
            b'{"at": "t", "body": "", "headers": {"X": 1}}', b'{"at": "t", "body": "", "verified": 1}',
            b'{"at": "t", "body": "", "duplicate": null}', b'{"at": "t", "body": "", "header_list": {}}',
            b'{"at": "t", "body": "", "header_list": [["a"]]}', b'{"at": "t", "body": "", "header_list": [["a", 1]]}',
        ],
    )  # fmt: skip
    def test_what_is_no_captured_request(self, line: bytes) -> None:
        """Is an error that says where, and nothing of what is in it."""
        with pytest.raises(SettingsError, match=r"^log\.jsonl:7: invalid captured request: .*`listen --rec"):
            parse_captured(line, "log.jsonl:7")


class TestReading:
    """A whole file."""

    def test_in_order(self, tmp_path: Path) -> None:
        """As they were written."""
        path = tmp_path / "r.jsonl"
        path.write_bytes(line_of(ONE) + line_of(OTHER))
        assert [ONE, OTHER] == list(captured_in(path))

    @pytest.mark.parametrize("length", [1, 20, -2])
    def test_a_torn_last_line_is_left_out(self, tmp_path: Path, length: int) -> None:
        """It was never confirmed; whoever wants to know is told which line it is."""
        path = tmp_path / "r.jsonl"
        path.write_bytes(line_of(ONE) + line_of(OTHER)[:length])
        assert [ONE] == list(captured_in(path))
        told: list[SettingsError] = []
        assert [ONE] == list(captured_in(path, told.append))
        assert [f"{path}:2"] == [one.where for one in told]

    def test_a_last_line_that_lacks_only_its_newline_is_read(self, tmp_path: Path) -> None:
        """Others may have written it so."""
        path = tmp_path / "r.jsonl"
        path.write_bytes(line_of(ONE) + line_of(OTHER).rstrip())
        told: list[SettingsError] = []
        assert ([ONE, OTHER], []) == (list(captured_in(path, told.append)), told)

    def test_any_other_damage_is_an_error(self, tmp_path: Path) -> None:
        """That names the line."""
        path = tmp_path / "r.jsonl"
        path.write_bytes(line_of(ONE) + b"{}\n" + line_of(OTHER))
        read = captured_in(path)
        assert next(read) == ONE
        with pytest.raises(SettingsError, match=r"r\.jsonl:2: "):
            next(read)

    def test_a_line_without_end_is_an_error(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is not read whole, and not taken for a torn one."""
        monkeypatch.setattr("reconciler.receiver.captured.LINE_LIMIT", 100)
        path = tmp_path / "r.jsonl"
        path.write_bytes(b"x" * 500)
        with pytest.raises(SettingsError, match=r"r\.jsonl:1: "):
            list(captured_in(path))

    def test_what_cannot_be_read(self, tmp_path: Path) -> None:
        """Is an error, and not an empty file."""
        for path in (tmp_path, tmp_path / "none"):
            with pytest.raises(SettingsError, match=r"cannot be read: (Is a directory|No such file)"):
                list(captured_in(path))
