"""Create responses: where they are kept, who can open them, and what a failure shows."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pyrage  # type: ignore[import-untyped]
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.refusals import raised

from reconciler.errors import ReconcilerError, RecordError, Refused, SettingsError
from reconciler.model.outcome import Answer, Outcome
from reconciler.operations import responses as operation
from reconciler.operations.responses import Responses, field_of, seal

ATTEMPT = "0123456789abcdef0123456789abcdef"
HEAD, BODY = b"HTTP/1.1 201 Created\r\nX-Secret: k3y\r\n\r\n", b'{"secretKey": "k3y"}'
ANSWER = Answer(Outcome.CREATED, 201, head=HEAD, body=BODY)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A directory that does not exist yet."""
    return tmp_path / "data" / "responses"


@pytest.fixture
def identity(tmp_path: Path) -> Path:
    """A file with an age identity, as age-keygen writes it."""
    key = pyrage.x25519.Identity.generate()
    file = tmp_path / "identity.txt"
    file.write_text(f"# created: today\n# public key: {key.to_public()}\n{key}\n")
    return file


def recipient_of(identity: Path) -> str:
    """Return the public key of an identity file."""
    return identity.read_text().split("public key: ")[1].split()[0]


def name_of(read: Callable[[], object], kind: type[ReconcilerError]) -> str:
    """Return the name of the message of the error that `read` raises."""
    with pytest.raises(kind) as caught:
        read()
    assert "k3y" not in str(caught.value) + repr(caught.value)
    return caught.value.messages[0].name


# Without recipients, in files of this machine.


def test_comes_back(directory: Path) -> None:
    """Head and body as they were, from a file that only its owner can read, beside which a trial leaves nothing."""
    responses = Responses(directory)
    responses.prepare()
    text = responses.keep(ATTEMPT, ANSWER)
    opened = responses.open(text, None)
    assert (HEAD, BODY) == (opened.head, opened.body)
    (file,) = directory.iterdir()
    modes = [path.stat().st_mode & 0o777 for path in (file, directory)]
    assert (f"file:{file.name}", [0o600, 0o700]) == (text, modes)
    assert ("k3y" in repr(opened), "k3y" in text) == (False, False)


def test_nothing_is_overwritten(directory: Path) -> None:
    """A second response of an attempt has a file of its own."""
    responses = Responses(directory)
    texts = [responses.keep(ATTEMPT, ANSWER), responses.keep(ATTEMPT, Answer(Outcome.CREATED, body=b"second"))]
    assert [BODY, b"second"] == [responses.open(text, None).body for text in texts]
    (directory / f"{ATTEMPT}-response-half").touch()
    for oldest_first in (texts, texts[::-1]):
        for number, text in enumerate(oldest_first):
            os.utime(directory / text.removeprefix("file:"), (number, number))
        assert oldest_first == responses.left(ATTEMPT)


def test_a_secret_that_came_another_way(directory: Path) -> None:
    """It has no head, and is no response."""
    responses = Responses(directory)
    text = responses.text_of_secret(ATTEMPT, b"k3y")
    responses.save_secret(text, b"k3y")
    opened = responses.open(text, None)
    assert (b"", b"k3y", []) == (opened.head, opened.body, responses.left(ATTEMPT))


@pytest.mark.parametrize("text", [
    f"file:{ATTEMPT}-response-00000000", "file:../../etc/passwd", "file:", "file:/etc/passwd", "file",
    f"file:{ATTEMPT}-response-00000001/../x", f"file:{ATTEMPT}-response-000000000", "k3y",
])  # fmt: skip
def test_a_file_of_another_machine(directory: Path, text: str) -> None:
    """The record names a file that is not here, or a name that leads elsewhere: nothing is read or shown."""
    (directory / f"{ATTEMPT}-response-00000001").mkdir(parents=True)
    for name in ("x", f"{ATTEMPT}-response-000000000", "k3y"):
        (directory / name).write_text("k3y")
    assert name_of(lambda: Responses(directory).open(text, None), RecordError) == "response-elsewhere"


@pytest.mark.parametrize("attempt", ["../x", "*", "", "a/b"])
def test_an_attempt_from_a_record_leads_nowhere_else(directory: Path, attempt: str) -> None:
    """It is looked for by its exact name."""
    Responses(directory).keep(ATTEMPT, ANSWER)
    assert Responses(directory).left(attempt) == []


# Before the first intent.


def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    """Then no create may be sent; nor if others can write to it."""
    (tmp_path / "file").touch()
    tmp_path.chmod(0o777)
    assert name_of(Responses(tmp_path).prepare, SettingsError) == "unsafe-directory"
    responses = Responses(tmp_path / "file" / "responses")
    message = raised(RecordError, responses.prepare)
    assert ("response-not-saved", str(tmp_path / "file" / "responses")) == (message.name, message.where)
    assert name_of(lambda: responses.keep(ATTEMPT, ANSWER), RecordError) == "response-not-saved"


@pytest.mark.parametrize("fails", [f"replace_file:{1 << 20}", "sync_directory:0"])
def test_a_disk_that_is_too_small(directory: Path, monkeypatch: pytest.MonkeyPatch, fails: str) -> None:
    """There must be room for the longest response, and its name must reach the disk."""
    name, _, most = fails.partition(":")

    def fail(_: Path, data: bytes = b"\0", *__: int) -> None:
        if len(data) > int(most):
            raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(operation, name, fail)
    assert name_of(Responses(directory).prepare, RecordError) == "response-not-saved"


@pytest.mark.parametrize("recipient", ["age1nonsense", "AGE-SECRET-KEY-1k3y", ""])
def test_a_recipient_that_is_none(directory: Path, recipient: str) -> None:
    """It is not shown: it may be the private key by mistake."""
    recipients = [str(pyrage.x25519.Identity.generate().to_public()), recipient]
    message = raised(SettingsError, Responses(directory, recipients).prepare)
    assert ("bad-recipient", "recipient 2 is not an age public key") == (message.name, message.what)


# With recipients, in the record.


def test_each_key_counts(directory: Path, identity: Path) -> None:
    """After a rotation, a file with the old and the new key opens what either, or both, can open."""
    keys = [pyrage.x25519.Identity.generate() for _ in range(3)]
    identity.write_text("# old\n{}\n\n \t\n# new\n  {}  \n{}".format(*keys))
    names = [str(key.to_public()) for key in keys]
    for recipients in (*([name] for name in names), names):
        assert Responses(directory).open(seal(BODY, recipients), identity).body == BODY
    for number, key in enumerate(keys):
        identity.write_text(str(key))
        assert Responses(directory).open(seal(BODY, names), identity).body == BODY, number


def test_a_killed_run_loses_nothing(directory: Path, identity: Path) -> None:
    """A copy is on the disk until the record holds the response; one that was not encrypted then stays."""
    plain, responses = Responses(directory).keep(ATTEMPT, ANSWER), Responses(directory, [recipient_of(identity)])
    responses.prepare()
    text = responses.keep(ATTEMPT, ANSWER)
    assert {plain, text} == {*responses.left(ATTEMPT)}
    responses.forget_sealed(ATTEMPT)
    assert ([plain], 1) == (responses.left(ATTEMPT), len(list(directory.iterdir())))


@pytest.mark.parametrize("spoil", [Path.touch, lambda path: (path.mkdir(), path.chmod(0o777))])
def test_needs_no_disk(tmp_path: Path, identity: Path, spoil: Callable[[Path], object]) -> None:
    """In a container without a home, or with one that is everybody's, the record is enough."""
    spoil(tmp_path / "file")
    responses = Responses(tmp_path / "file", [recipient_of(identity)])
    responses.prepare()
    assert responses.open(responses.keep(ATTEMPT, ANSWER), identity).body == BODY
    with patch.object(Path, "iterdir", side_effect=PermissionError):
        assert [] == responses.left(ATTEMPT)
    assert [] == responses.left(ATTEMPT)
    elsewhere = f"file:{ATTEMPT}-response-00000000"
    assert name_of(lambda: responses.open(elsewhere, identity), RecordError) == "response-elsewhere"


def test_what_cannot_be_decrypted(directory: Path, identity: Path) -> None:
    """A text that is no age file, or that is for another identity, is not opened."""
    for text in ("age:", "age:!", "age:AAAA", seal(BODY, [str(pyrage.x25519.Identity.generate().to_public())])):
        message = raised(RecordError, Responses(directory).open, text, identity)
        assert ("cannot-decrypt", f"--identity {identity}") == (message.name, message.where)


@pytest.mark.parametrize(("content", "name"), [
    (b"# none\n", "cannot-decrypt"), (b"# none\n\nk3y\n", "bad-identity"), (b"\xff", "identity-unreadable"),
    (None, "identity-unreadable"),
])  # fmt: skip
def test_an_identity_that_is_none(directory: Path, identity: Path, content: bytes | None, name: str) -> None:
    """The error says so, and shows nothing of it; one must be named, so that whoever asks means to decrypt."""
    text = seal(BODY, [recipient_of(identity)])
    identity.unlink()
    if content is not None:
        identity.write_bytes(content)
    message = raised(ReconcilerError, Responses(directory).open, text, identity)
    told = message.name, message.where, "line 3 " in message.what
    assert (name, f"--identity {identity}", name == "bad-identity") == told
    assert name_of(lambda: Responses(directory).open(text, None), SettingsError) == "no-identity"
    assert name_of(lambda: Responses(directory).open(text, identity.parent), SettingsError) == "identity-unreadable"


@pytest.mark.parametrize("key", ["AGE-SECRET-KEY-1k3y", "age-secret-key-1k3y", "keys/AGE-Secret-Key-1k3y"])
def test_a_private_key_in_place_of_a_file(directory: Path, identity: Path, key: str) -> None:
    """It is refused, and not shown, however it is written."""
    text = seal(BODY, [recipient_of(identity)])
    assert name_of(lambda: Responses(directory).open(text, Path(key)), SettingsError) == "identity-in-the-open"


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200) | st.just(HEAD + BODY), st.booleans(), st.sampled_from([b" Created", b"", b" "]))
def test_any_body(directory: Path, identity: Path, body: bytes, sealed: bool, reason: bytes) -> None:
    """Whatever the service sent comes back whole."""
    responses = Responses(directory, [recipient_of(identity)] if sealed else [])
    head = HEAD.replace(b" Created", reason)
    opened = Responses(directory).open(responses.keep(ATTEMPT, Answer(Outcome.CREATED, head=head, body=body)), identity)
    assert (head, body) == (opened.head, opened.body)


@pytest.mark.parametrize(("name", "value"), [("a", "text"), ("b", "7"), ("c", '{"d": null}'), ("e", "null")])
def test_a_field(name: str, value: str) -> None:
    """A text as it is, anything else as JSON."""
    assert value == field_of(b'{"a": "text", "b": 7, "c": {"d": null}, "e": null}', name)


@pytest.mark.parametrize(("body", "names"), [
    (b'{"b": "k3y", "c": 1}', "b, c"), (b'["a"]', "none"), (b"{}", "none"), (b"", "none"), (b"k3y", "none"),
    (b'"a"', "none"), (b"[" * 100_000, "none"),
])  # fmt: skip
def test_no_such_field(body: bytes, names: str) -> None:
    """The names of those that are there are given, and no value."""
    message = raised(Refused, field_of, body, "a")
    assert ("no-such-field", [f"available fields: {names}"]) == (message.name, [step.text for step in message.steps])
