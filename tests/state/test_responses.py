"""Create responses: sealed, or private to their owner."""

from __future__ import annotations

import os
import resource
import signal
import stat
from typing import TYPE_CHECKING

import pyrage  # type: ignore[import-untyped]
import pytest
from support.journal_samples import RECORD

from reconciler.errors import SettingsError, StateError
from reconciler.state.private.responses import PrivateFiles, decrypt, encrypt, split_response

if TYPE_CHECKING:
    from pathlib import Path


def identity() -> tuple[str, str]:
    """A key pair: the content of an identity file, and the recipient."""
    key = pyrage.x25519.Identity.generate()
    return f"# created: today\n# public key: {key.to_public()}\n\n{key}\n", str(key.to_public())


@pytest.mark.parametrize("response", [b"", b'{"secretKey": "s3cret"}', bytes(range(256)) * 40])
def test_sealed_and_opened(response: bytes) -> None:
    """Each recipient can open what was sealed, among identities that cannot."""
    (one, to_one), (other, to_other), (stranger, _) = identity(), identity(), identity()
    sealed = encrypt([to_one, to_other], response)
    assert sealed.startswith("age:")
    assert sealed.isascii()
    assert response == decrypt(sealed, [one]) == decrypt(sealed, [stranger, other])


def test_sealed_hides() -> None:
    """Nobody else can open it, and the error says so."""
    sealed = encrypt([identity()[1]], b"s3cret")
    with pytest.raises(StateError, match="no identity can decrypt this; use the identity of a"):
        decrypt(sealed, [identity()[0]])


@pytest.mark.parametrize("text", ["", "file", "age:", "age:%%%", "age", "YWdl"])
def test_not_sealed(text: str) -> None:
    """What was never sealed is not opened."""
    with pytest.raises(StateError, match="not an encrypted response"):
        decrypt(text, [identity()[0]])


@pytest.mark.parametrize("damage", ["age:YWdl", "age:AAAA"])
def test_damaged(damage: str) -> None:
    """Damage is an error."""
    with pytest.raises(StateError, match="no identity can"):
        decrypt(damage, [identity()[0]])


def test_no_identity() -> None:
    """Without an identity nothing is opened; comments are none."""
    with pytest.raises(StateError, match=r"no age identity.*--identity"):
        decrypt("age:YWdl", ["# nothing here\n\n"])


def test_bad_identity() -> None:
    """A line that is no identity is named by its number, never by its text."""
    content = identity()[0] + "AGE-SECRET-KEY-1BROKEN\n"
    with pytest.raises(StateError, match="line 5 of identity file 2 is not an age identity") as caught:
        decrypt("age:YWdl", [identity()[0], content])
    assert "BROKEN" not in str(caught.value)


def test_bad_recipient() -> None:
    """A recipient that is none, perhaps the private key, is named by its number, never by its text."""
    content, recipient = identity()
    secret = content.splitlines()[-1]
    with pytest.raises(SettingsError, match=r"recipient 2 is not an age public key.*age1") as caught:
        encrypt([recipient, secret], b"")
    assert secret not in str(caught.value)


def test_no_recipients() -> None:
    """Sealing to nobody would lose the response."""
    with pytest.raises(SettingsError, match="no recipients"):
        encrypt([], b"s3cret")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A directory for private files, not made yet."""
    return tmp_path / "data" / "responses"


def test_kept_and_read(directory: Path) -> None:
    """What is kept is read again, oldest first; a second response of an attempt does not overwrite the first."""
    files = PrivateFiles(directory)
    kept = [files.keep(RECORD, "a-1", "response", data) for data in (b"one", b"two")]
    files.keep(RECORD, "a-1", "secret", b"other kind")
    files.keep(RECORD, "a-11", "response", b"other attempt")
    expected = [str(directory / RECORD / f"a-1.response.{number}") for number in (1, 2)]
    assert (expected, [b"one", b"two"]) == (kept, PrivateFiles(directory).read(RECORD, "a-1", "response"))


def test_many_kept(directory: Path) -> None:
    """The tenth comes after the ninth."""
    files = PrivateFiles(directory)
    expected = [str(number).encode() for number in range(12)]
    for data in expected:
        files.keep(RECORD, "a1", "response", data)
    assert expected == files.read(RECORD, "a1", "response")


def test_nothing_kept(directory: Path) -> None:
    """Where nothing was kept there is nothing."""
    assert PrivateFiles(directory).read(RECORD, "a1", "response") == []


def test_modes(directory: Path) -> None:
    """Files and directories are their owner's alone, whatever the umask; nothing else is left behind."""
    before = os.umask(0)
    try:
        PrivateFiles(directory).check_writable(RECORD)
        PrivateFiles(directory).keep(RECORD, "a1", "response", b"s3cret")
    finally:
        os.umask(before)
    below = directory / RECORD
    assert [stat.S_IMODE(path.stat().st_mode) for path in (directory, below)] == [0o700, 0o700]
    assert [stat.S_IMODE(path.stat().st_mode) for path in below.iterdir()] == [0o600]
    assert [below] == list(directory.iterdir())


def test_on_the_disk_before_it_returns(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is synced before it has its name, and the directory afterwards; first what was there before."""
    steps: list[str] = []
    link, sync = os.link, os.fsync

    def note_link(source: Path, target: Path) -> None:
        steps.append("link")
        link(source, target)

    def note_sync(file: int) -> None:
        steps.append("directory" if stat.S_ISDIR(os.fstat(file).st_mode) else "file")
        sync(file)

    files = PrivateFiles(directory)
    files.keep(RECORD, "a1", "response", b"first")
    monkeypatch.setattr(os, "link", note_link)
    monkeypatch.setattr(os, "fsync", note_sync)
    files.keep(RECORD, "a2", "response", b"second")
    assert ["directory", "file", "link", "directory"] == steps


@pytest.mark.parametrize(
    "parts", [("../x", "a1", "response"), (RECORD, "a/1", "response"), (RECORD, "a1", "R"), ("", "a", "b")]
)
def test_no_names_for_files(directory: Path, parts: tuple[str, str, str]) -> None:
    """What comes from a journal never leads out of the directory."""
    files = PrivateFiles(directory)
    with pytest.raises(StateError, match="not a valid file name"):
        files.keep(*parts, b"s3cret")
    with pytest.raises(StateError, match="not a valid file name"):
        files.read(*parts)


def test_cannot_be_written(tmp_path: Path) -> None:
    """That a response could not be kept is known beforehand, and said with what to do."""
    (tmp_path / "file").write_text("")
    files = PrivateFiles(tmp_path / "file" / "responses")
    with pytest.raises(StateError, match=r"cannot save a create response: Not a directory.*recipients"):
        files.check_writable(RECORD)
    with pytest.raises(StateError, match="cannot save a create response"):
        files.keep(RECORD, "a1", "response", b"s3cret")
    assert [] == files.read(RECORD, "a1", "response")


def test_no_room(directory: Path) -> None:
    """What is tried beforehand takes as much room as the largest response, at its very place, and leaves nothing."""
    files = PrivateFiles(directory)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, ((1 << 20) - 1, limits[1]))
    try:
        with pytest.raises(StateError, match="cannot save a create response: File too large"):
            files.check_writable(RECORD)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    files.check_writable(RECORD)
    assert [] == list((directory / RECORD).iterdir())
    (directory / RECORD).chmod(0o777)
    with pytest.raises(SettingsError, match="unsafe directory"):
        files.check_writable(RECORD)


def test_open_to_others(directory: Path) -> None:
    """Nothing is kept where others can write."""
    directory.mkdir(parents=True)
    directory.chmod(0o777)
    with pytest.raises(SettingsError, match="unsafe directory"):
        PrivateFiles(directory).check_writable(RECORD)


HEAD = b"HTTP/1.1 201 Created\r\nLocation: /4711\r\n\r\n"


@pytest.mark.parametrize("head", [HEAD, b"HTTP/1.1 201 \r\n\r\n", b"HTTP/1.0 299 a\xff\r\nX: \r\n\r\n", b""])
@pytest.mark.parametrize("body", [b"", b"{}", b"\r\n\r\n", b"a\r\n\r\nb", b"\xff\n"])
def test_a_kept_response_has_a_head_and_a_body(head: bytes, body: bytes) -> None:
    """Both come back; earlier versions kept the body alone."""
    assert (head, body) == split_response(head + body)


@pytest.mark.parametrize(
    "kept", [b"", b"HTTP/1.1 201 Created\r\n", b'{"a": "HTTP/1.1 201 x\r\n\r\n"}', b"HTTP/1.1\r\n\r\n"]
)
def test_what_is_no_message_is_a_body(kept: bytes) -> None:
    """What does not begin with a whole head is a body that an earlier version kept."""
    assert (b"", kept) == split_response(kept)
