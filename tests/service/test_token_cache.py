"""The cache of tokens on disk: who shares it, what is read of it, and what is not believed."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import Mock

import msgspec
import pytest
import time_machine
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from support.late_locks import during_the_wait
from support.refusals import raised

from reconciler.errors import SettingsError, TokenError
from reconciler.service import clock, tokens
from reconciler.service.tokens import Purpose, TokenCache
from reconciler.values import Instant

PURPOSE = Purpose("https://idp.example", "client-1", "https://api.example/notification")
SECRET = "hunter2/hunter2"
DAY = 86_400.0


class Provider:
    """Issues numbered tokens."""

    def __init__(self, lifetime: float = DAY) -> None:
        self.asked = 0
        self._lifetime = lifetime

    def __call__(self) -> tuple[str, float]:
        self.asked += 1
        return f"token-number-{self.asked}", self._lifetime


@pytest.fixture
def provider() -> Provider:
    """A provider whose tokens live a day."""
    return Provider()


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A directory that does not exist yet."""
    return tmp_path / "cache" / "tokens"


def file_of(directory: Path) -> Path:
    """Return the one file that holds a token."""
    (file,) = directory.glob("*.token")
    return file


def test_is_shared_between_runs(directory: Path) -> None:
    """A day of runs requests a token once and writes it once, however long it is, and it is private to its owner."""
    ask = Mock(return_value=("t" * 16_384, DAY))
    got = {(TokenCache(directory).get(PURPOSE, SECRET, ask), file_of(directory).stat().st_ino) for _ in range(3)}
    modes = [path.stat().st_mode & 0o777 for path in (directory, file_of(directory))]
    assert (["t" * 16_384], 1, [0o700, 0o600]) == ([token for token, _ in got], ask.call_count, modes)


def test_file_shows_nothing(directory: Path, provider: Provider) -> None:
    """Neither the token nor what it is for can be read without the secret; a token in memory shows no value."""
    cache = TokenCache(directory)
    cache.get(PURPOSE, SECRET, provider)
    assert "token-number" not in repr(cache._memory)
    content = b"".join(path.name.encode() + path.read_bytes() for path in directory.iterdir())
    assert not [text for text in ("token-number", "client-1", "idp.example", SECRET) if text.encode() in content]


@pytest.mark.parametrize("field", ["auth_url", "client_id", "audience", "secret"])
def test_each_purpose_has_its_own(directory: Path, provider: Provider, field: str) -> None:
    """Another provider, client, audience or secret gets another token, and does not wait for this one."""
    cache = TokenCache(directory)
    cache.get(PURPOSE, SECRET, provider)
    other = PURPOSE if field == "secret" else msgspec.structs.replace(PURPOSE, **{field: "other"})
    assert cache.get(other, "other" if field == "secret" else SECRET, provider) == "token-number-2"
    assert len({PURPOSE, other}) == len([*directory.glob("*.lock")])


def test_a_token_for_another_purpose_under_its_name(directory: Path, provider: Provider) -> None:
    """A file that was renamed is not believed, though its key is derived from the same secret."""
    other = msgspec.structs.replace(PURPOSE, audience="https://api.example/loan")
    cache = TokenCache(directory)
    cache.get(other, SECRET, provider)
    shutil.copy(file_of(directory), directory / f"{PURPOSE.key}.token")
    assert TokenCache(directory).get(PURPOSE, SECRET, provider) == "token-number-2"


def make_pipe(path: Path) -> None:
    """Put a pipe in the place of a file: opening it may block."""
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("damage", [
    lambda path: path.write_bytes(b""), lambda path: path.write_bytes(path.read_bytes()[:-5]),
    lambda path: path.write_bytes(b"\xff" * 100_000), lambda path: (path.unlink(), path.mkdir()), make_pipe,
    lambda path: path.symlink_to(path.rename(path.parent / "elsewhere")),
], ids=["empty", "cut", "noise", "directory", "pipe", "link"])  # fmt: skip
def test_a_damaged_entry_is_a_miss(directory: Path, provider: Provider, damage: Callable[[Path], object]) -> None:
    """Never an error, and it does not block."""
    TokenCache(directory).get(PURPOSE, SECRET, provider)
    damage(file_of(directory))
    assert TokenCache(directory).get(PURPOSE, SECRET, provider) == "token-number-2"


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(b'"\xff"')
@example(b'{"value": "\xff"}')
@given(
    st.binary(max_size=9)
    | st.recursive(st.none() | st.text(), lambda inner: st.dictionaries(st.text(), inner)).map(msgspec.json.encode)
)
def test_any_content_under_the_right_key(directory: Path, content: bytes) -> None:
    """An entry that was encrypted with the secret may be of another version, or no text: a miss."""
    cache, provider = TokenCache(directory), Provider()
    data = tokens._cipher(PURPOSE, SECRET).encrypt(content)
    (directory / f"{PURPOSE.key}.token").write_bytes(data)
    assert cache.get(PURPOSE, SECRET, provider) == "token-number-1"


@pytest.mark.parametrize(("lifetime", "age", "fresh"), [
    (DAY, 0, True), (DAY, DAY - 301, True), (DAY, DAY - 299, False), (100, 89, True), (100, 91, False),
    (DAY, -5, False),
])  # fmt: skip
def test_lifetime_less_a_margin(directory: Path, lifetime: float, age: float, fresh: bool) -> None:
    """Five minutes, or a tenth of the lifetime; a token from the future is not believed."""
    provider, start = Provider(lifetime), time.time()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clock, "boot_id", str)
        with time_machine.travel(start, tick=False):
            TokenCache(directory).get(PURPOSE, SECRET, provider)
        with time_machine.travel(start + age, tick=False):
            TokenCache(directory).get(PURPOSE, SECRET, provider)
    assert (provider.asked == 1) is fresh


@pytest.mark.parametrize(("boot", "next_boot", "steady", "fresh"), [
    ("boot", "boot", 50.0 + DAY, False), ("boot", "boot", 49.0, False), ("boot", "boot", 60.0, True),
    ("boot", "another", 0.0, True), ("", "", 0.0, True),
])  # fmt: skip
def test_a_clock_that_was_set_back(
    directory: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch, boot: str, next_boot: str, steady: float,
    fresh: bool,
) -> None:  # fmt: skip
    """Within one boot the steady clock must agree: a wall clock that was set back revives no token."""
    for at, instant in ((boot, Instant(1000.0, 50.0)), (next_boot, Instant(1010.0, steady))):
        monkeypatch.setattr(clock, "boot_id", lambda at=at: at)
        monkeypatch.setattr(clock, "now", lambda instant=instant: instant)
        token = TokenCache(directory).get(PURPOSE, SECRET, provider)
    assert ("token-number-1" if fresh else "token-number-2") == token


def test_a_lifetime_begins_with_the_request(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the provider counted from is not known; what was kept in memory expires too, and is renewed once for all."""
    monkeypatch.setattr(clock, "boot_id", str)
    caches, provider = [TokenCache(directory), TokenCache(directory)], Provider(lifetime=100.0)
    with time_machine.travel(1.8e9, tick=False) as machine:
        tokens = list[str]()

        def request() -> tuple[str, float]:
            machine.shift(50)
            return provider()

        for seconds in (0, 35, 10):
            machine.shift(seconds)
            tokens += [cache.get(PURPOSE, SECRET, request) for cache in caches]
    assert [f"token-number-{number}" for number in (1, 1, 1, 1, 2, 2)] == tokens


def test_a_token_renewed_during_the_wait_for_the_lock_is_kept(
    directory: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither is it discarded in place of the refused one, by any of several caches, nor is another one requested."""
    first, second = TokenCache(directory), TokenCache(directory)
    refused = first.get(PURPOSE, SECRET, provider)

    def renew() -> None:
        second.discard(PURPOSE, SECRET, refused)
        second.get(PURPOSE, SECRET, provider)

    during_the_wait(monkeypatch, tokens, "locked_file", renew)
    first.discard(PURPOSE, SECRET, refused)
    assert provider.asked == 2
    assert (first.get(PURPOSE, SECRET, provider), provider.asked) == ("token-number-2", 2)
    file_of(directory).unlink()
    third = TokenCache(directory)
    during_the_wait(monkeypatch, tokens, "locked_file", lambda: TokenCache(directory).get(PURPOSE, SECRET, provider))
    assert (third.get(PURPOSE, SECRET, provider), provider.asked) == ("token-number-3", 3)


def test_a_refused_token_that_cannot_be_deleted(
    directory: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is warned of, and the call goes on."""
    cache = TokenCache(directory)
    refused = cache.get(PURPOSE, SECRET, provider)
    monkeypatch.setattr(Path, "unlink", Mock(side_effect=PermissionError))
    cache.discard(PURPOSE, SECRET, refused)
    assert "cannot cache tokens" in caplog.text


def test_an_error_is_not_cached(directory: Path, provider: Provider) -> None:
    """The next caller requests again."""
    cache = TokenCache(directory)
    with pytest.raises(TokenError):
        cache.get(PURPOSE, SECRET, Mock(side_effect=TokenError))
    assert cache.get(PURPOSE, SECRET, provider) == "token-number-1"


def test_threads_request_once(directory: Path) -> None:
    """Between them, also with a cache for each."""
    provider = Provider()

    def slow() -> tuple[str, float]:
        time.sleep(0.05)
        return provider()

    with ThreadPoolExecutor(8) as pool:
        tokens = [*pool.map(lambda _: TokenCache(directory).get(PURPOSE, SECRET, slow), range(8))]
    assert (["token-number-1"] * 8, 1) == (tokens, provider.asked)


def test_a_lock_that_is_never_released(
    directory: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """After a while a token is requested without it, and can be cached."""
    monkeypatch.setattr(tokens, "_PATIENCE", 0.05)
    cache = TokenCache(directory)
    with cache._alone(PURPOSE):
        assert (TokenCache(directory).get(PURPOSE, SECRET, provider), caplog.messages) == ("token-number-1", [])


def test_a_directory_that_cannot_be_made(tmp_path: Path, provider: Provider, caplog: pytest.LogCaptureFixture) -> None:
    """Tokens are kept in memory, each until it is refused or expires, and that is logged once."""
    (tmp_path / "file").touch()
    cache = TokenCache(tmp_path / "file" / "tokens")
    for refused, got in ((0, 1), (0, 1), (1, 2), (1, 2)):
        cache.discard(PURPOSE, SECRET, f"token-number-{refused}")
        assert f"token-number-{got}" == cache.get(PURPOSE, SECRET, provider)
    with time_machine.travel(time.time() + 2 * DAY):
        assert ["token-number-3"] * 2 == [cache.get(PURPOSE, SECRET, provider) for _ in range(2)]
    assert len(caplog.messages) == 1
    assert "cannot cache tokens" in caplog.text


def test_an_unsafe_directory(tmp_path: Path) -> None:
    """A directory that others can write to is refused: they could choose the token."""
    unsafe = tmp_path / "unsafe"
    unsafe.mkdir()
    unsafe.chmod(0o777)
    assert raised(SettingsError, TokenCache, unsafe).name == "unsafe-directory"
