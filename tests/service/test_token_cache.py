"""Tokens on disk: who may read them, when they count, and who asks."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import logging
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.errors import SettingsError, TokenError
from reconciler.model.clock import Instant
from reconciler.service import clock, token_cache
from reconciler.service.stored_token import Purpose, Token, decrypt, encrypt
from reconciler.service.token_cache import TokenCache
from reconciler.service.tokens import TokenAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PURPOSE = Purpose("https://login.example", "client-1", "https://api.example/notification")
SECRET = "the client secret"


class Provider:
    """Gives numbered tokens, and counts how often it was asked."""

    def __init__(self, lifetime: int = 86_400) -> None:
        self.asked = 0
        self._lifetime = lifetime

    def __call__(self) -> tuple[str, float]:
        self.asked += 1
        return f"token-{self.asked}", self._lifetime


class Clock:
    """Two clocks that are moved by hand."""

    def __init__(self) -> None:
        self.wall = 1_000_000.0
        self.steady = 500.0

    def __call__(self) -> Instant:
        return Instant(self.wall, self.steady)

    def pass_time(self, seconds: float) -> None:
        self.wall += seconds
        self.steady += seconds


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Where the cache is to be; not made yet."""
    return tmp_path / "cache" / "tokens"


class TestFiles:
    """What lies on disk."""

    @pytest.fixture(autouse=True)
    def everything_open(self) -> Iterator[None]:
        """A umask that hides nothing."""
        before = os.umask(0)
        yield
        os.umask(before)

    def test_only_the_owner_can_read(self, directory: Path) -> None:
        """Directories are 0700 and files 0600 under any umask."""
        TokenCache(directory).get(PURPOSE, SECRET, Provider())
        made = [directory.parent, directory, *directory.iterdir()]
        assert {0o700, 0o600} == {path.stat().st_mode & 0o777 for path in made}
        assert all(path.is_dir() or path.stat().st_mode & 0o777 == 0o600 for path in made)

    def test_nothing_readable_is_in_there(self, directory: Path) -> None:
        """Neither the token nor the secret nor the client is in a file or its name."""
        TokenCache(directory).get(PURPOSE, SECRET, Provider())
        for path in directory.iterdir():
            for text in (b"token-1", SECRET.encode(), b"client-1", b"api.example"):
                assert text not in path.name.encode() + path.read_bytes()

    @pytest.mark.parametrize("mode", [0o770, 0o702, 0o777])
    def test_a_directory_that_others_can_write_is_refused(self, directory: Path, mode: int) -> None:
        """Somebody else could put a token of theirs there."""
        directory.mkdir(parents=True)
        directory.chmod(mode)
        with pytest.raises(SettingsError, match="writable by other users"):
            TokenCache(directory)

    @pytest.mark.parametrize("dangling", [False, True])
    def test_a_symbolic_link_is_refused(self, directory: Path, dangling: bool) -> None:
        """Somebody else could point it elsewhere."""
        directory.parent.mkdir()
        if not dangling:
            (directory.parent / "real").mkdir(mode=0o700)
        directory.symlink_to(directory.parent / "real")
        with pytest.raises(SettingsError, match="symbolic link"):
            TokenCache(directory)

    def test_a_file_in_its_place_is_refused(self, directory: Path) -> None:
        """A file is no directory."""
        directory.parent.mkdir()
        directory.touch()
        with pytest.raises(SettingsError, match="not a directory"):
            TokenCache(directory)

    def test_a_directory_of_someone_else_is_refused(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Its owner could read and replace what is in it."""
        monkeypatch.setattr(os, "geteuid", lambda: 4711)
        with pytest.raises(SettingsError, match="another user"):
            TokenCache(directory)

    def test_a_link_in_the_place_of_a_file_is_not_followed(self, directory: Path, tmp_path: Path) -> None:
        """It is replaced, and what it points to stays as it is."""
        elsewhere = tmp_path / "elsewhere"
        elsewhere.write_bytes(encrypt(Token("planted", clock.now(), "", 86_400), PURPOSE, SECRET))
        cache = TokenCache(directory)
        (directory / f"{PURPOSE.key}.token").symlink_to(elsewhere)
        before = elsewhere.read_bytes()
        assert cache.get(PURPOSE, SECRET, Provider()) == "token-1"
        assert elsewhere.read_bytes() == before
        assert not (directory / f"{PURPOSE.key}.token").is_symlink()

    def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(self, directory: Path) -> None:
        """It is replaced."""
        cache = TokenCache(directory)
        os.mkfifo(directory / f"{PURPOSE.key}.token")
        assert cache.get(PURPOSE, SECRET, Provider()) == "token-1"
        assert (directory / f"{PURPOSE.key}.token").is_file()


class TestUnwritable:
    """A cache that cannot be written is none, and no error."""

    def test_works_without(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        """Tokens are kept in memory alone, and that is said once."""
        (tmp_path / "file").touch()
        cache, provider = TokenCache(tmp_path / "file" / "tokens"), Provider()
        assert [cache.get(PURPOSE, SECRET, provider) for _ in range(3)] == ["token-1"] * 3
        cache.discard(PURPOSE, SECRET, "token-1")
        assert cache.get(PURPOSE, SECRET, provider) == "token-2"
        (record,) = caplog.records
        assert (record.name, record.levelno) == ("reconciler.service", logging.WARNING)
        assert "cannot cache tokens" in record.message

    def test_a_disk_that_fills_up_leaves_no_scraps(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A file that cannot be finished is taken away."""

        def fail(self: Path, target: Path) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(Path, "replace", fail)
        assert TokenCache(directory).get(PURPOSE, SECRET, Provider()) == "token-1"
        assert [path.name for path in directory.iterdir()] == [f"{PURPOSE.key}.lock"]


class TestHits:
    """When a kept token counts."""

    def test_the_next_run_finds_it(self, directory: Path) -> None:
        """A token is asked for once, whatever number of runs want it."""
        provider = Provider()
        assert [TokenCache(directory).get(PURPOSE, SECRET, provider) for _ in range(3)] == ["token-1"] * 3
        assert provider.asked == 1

    @pytest.mark.parametrize(
        "other",
        [
            Purpose("https://other.example", PURPOSE.client_id, PURPOSE.audience),
            Purpose(PURPOSE.auth_url, "client-2", PURPOSE.audience),
            Purpose(PURPOSE.auth_url, PURPOSE.client_id, "https://api.example/loan"),
        ],
    )
    def test_for_one_purpose_only(self, directory: Path, other: Purpose) -> None:
        """Another provider, client or audience has a token of its own, even if the file is put in its place."""
        cache, provider = TokenCache(directory), Provider()
        cache.get(PURPOSE, SECRET, provider)
        (directory / f"{PURPOSE.key}.token").rename(directory / f"{other.key}.token")
        assert cache.get(other, SECRET, provider) == "token-2"

    def test_for_one_secret_only(self, directory: Path) -> None:
        """Another secret opens nothing, neither on disk nor in memory."""
        cache, provider = TokenCache(directory), Provider()
        cache.get(PURPOSE, SECRET, provider)
        assert cache.get(PURPOSE, "another secret", provider) == "token-2"

    @pytest.mark.parametrize(
        "damage",
        [
            lambda data: b"", lambda data: data[:-1],
            lambda data: data[:40] + bytes([data[40] ^ 1]) + data[41:], lambda data: b"\x00\xff" * 50,
        ],
        ids=["empty", "short", "flipped", "binary"],
    )  # fmt: skip
    def test_a_damaged_file_is_a_miss(self, directory: Path, damage: Callable[[bytes], bytes]) -> None:
        """Damage costs a request, and the file is mended by it."""
        provider = Provider()
        TokenCache(directory).get(PURPOSE, SECRET, provider)
        path = directory / f"{PURPOSE.key}.token"
        path.write_bytes(damage(path.read_bytes()))
        assert [TokenCache(directory).get(PURPOSE, SECRET, provider) for _ in range(2)] == ["token-2"] * 2

    @given(st.binary(max_size=300))
    @settings(max_examples=50, deadline=None)
    def test_nothing_opens_but_what_was_sealed(self, data: bytes) -> None:
        """No bytes that were not sealed are ever taken for a token."""
        assert decrypt(data, PURPOSE, SECRET) is None

    def test_a_seal_tells_what_it_is_for(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """What is sealed is checked against the purpose, even where the key alone would open it."""
        other = Purpose("https://other.example", "client-2", "x")
        monkeypatch.setattr(Purpose, "key", "one key for all")
        assert decrypt(encrypt(Token("t", Instant(0, 0), "", 1), other, SECRET), PURPOSE, SECRET) is None

    def test_a_kept_token_still_opens(self) -> None:
        """The derivation of the key is part of the format: what an earlier version wrote is read."""
        kept = (
            b"gAAAAABrArSk7Lj84DQAowhoZ8MOnW9e7crjT7kYAQsp3idfiRVbh9DTVjXSEJdcG1P2Wq_nO4ZvNDfz9ZQg-kNuE5XMugD-"
            b"cvC7mFBNy__Pv-HwTbbo2Rf6-GKST932fKwhoO7DTQolPKqzPNHJe4jF5WMVX8UWdlVXctbF3ck8aUU9gZCsmEUzw3MHmt00"
            b"CAgn7VEqPhGmv2szEiY7QtgftlIZ5YxoPFLo9fw9eAcMJ4Znotwy-mvvJdgkkh_sDeGJA6FtQQAkyjUtOW_UNef58yE4FFZ5"
            b"80i6EY9LDx2KwXxbH4u96R441khpl6OY4W2CQOh72nI2"
        )
        assert Token("an access token", Instant(1.5, 2.5), "boot-1", 86_400.0) == decrypt(kept, PURPOSE, SECRET)

    @pytest.mark.parametrize("boot", ["", "boot-1"])
    @pytest.mark.parametrize("lifetime", [86_400, 3_000, 100])
    def test_what_is_sealed_comes_back(self, boot: str, lifetime: int) -> None:
        """Sealing loses nothing."""
        token = Token("value", Instant(1.5, 2.5), boot, lifetime)
        assert token == decrypt(encrypt(token, PURPOSE, SECRET), PURPOSE, SECRET)


class TestExpiry:
    """A token is used for its lifetime less a margin, whatever happens to the clocks."""

    @pytest.mark.parametrize(("lifetime", "usable"), [(86_400, 86_100), (3_000, 2_700), (100, 90), (1, 0.9)])
    @pytest.mark.parametrize("fresh_process", [False, True])
    def test_margin(self, directory: Path, lifetime: int, usable: float, fresh_process: bool) -> None:
        """The margin is a tenth, and five minutes at most."""
        now, provider = Clock(), Provider(lifetime)
        cache = TokenCache(directory, now, "boot-1")

        def get() -> str:
            return (TokenCache(directory, now, "boot-1") if fresh_process else cache).get(PURPOSE, SECRET, provider)

        get()
        now.pass_time(usable - 0.01)
        assert get() == "token-1"
        now.pass_time(0.02)
        assert get() == "token-2"

    @pytest.mark.parametrize(
        ("wall", "steady", "boot", "fresh"),
        [
            (0, 0, "boot-1", True),
            (60, 60, "boot-1", True),
            (-1, 60, "boot-1", False),
            (60, 90_000, "boot-1", False),
            (60, -1, "boot-1", False),
            (90_000, 60, "boot-1", False),
            (60, -400, "boot-2", True),
            (60, 90_000, "boot-2", True),
            (90_000, 60, "boot-2", False),
            (-1, 60, "boot-2", False),
            (60, -400, "", True),
        ],
    )
    def test_clocks_that_were_set(self, directory: Path, wall: float, steady: float, boot: str, fresh: bool) -> None:
        """The wall clock never makes a token older than it is young, and within one boot the steady one checks it."""
        now, provider = Clock(), Provider()
        TokenCache(directory, now, "boot-1").get(PURPOSE, SECRET, provider)
        now.wall += wall
        now.steady += steady
        TokenCache(directory, now, boot).get(PURPOSE, SECRET, provider)
        assert (1 if fresh else 2) == provider.asked

    def test_counts_from_the_question(self, directory: Path) -> None:
        """How long the answer took is part of its life."""
        now, provider = Clock(), Provider(lifetime=1000)

        def answer_late() -> tuple[str, float]:
            now.pass_time(900)
            return provider()

        cache = TokenCache(directory, now)
        for _ in range(2):
            cache.get(PURPOSE, SECRET, answer_late)
        assert 2 == provider.asked

    def test_unknown_boots_are_not_the_same(self) -> None:
        """Where the system does not tell its boots apart, the wall clock alone counts."""
        token = Token("t", Instant(0, 1000), "", 86_400)
        assert token.is_fresh(Instant(10, 0), "")


class TestDiscard:
    """A token that was refused is forgotten."""

    @pytest.mark.parametrize("fresh_process", [False, True])
    def test_is_gone(self, directory: Path, fresh_process: bool) -> None:
        """Neither memory nor disk gives it again."""
        cache, provider = TokenCache(directory), Provider()
        cache.get(PURPOSE, SECRET, provider)
        (TokenCache(directory) if fresh_process else cache).discard(PURPOSE, SECRET, "token-1")
        for again in (TokenCache(directory), *([] if fresh_process else [cache])):
            assert again.get(PURPOSE, SECRET, provider) == "token-2"

    def test_another_one_stays(self, directory: Path) -> None:
        """What somebody else has renewed meanwhile is not thrown away."""
        cache, provider = TokenCache(directory), Provider()
        cache.get(PURPOSE, SECRET, provider)
        cache.discard(PURPOSE, SECRET, "an older one")
        assert cache.get(PURPOSE, SECRET, provider) == "token-1"
        assert TokenCache(directory).get(PURPOSE, SECRET, provider) == "token-1"

    def test_another_one_stays_in_memory(self, tmp_path: Path) -> None:
        """The same holds where there is no disk to read it from again."""
        (tmp_path / "file").touch()
        cache, provider = TokenCache(tmp_path / "file" / "tokens"), Provider()
        cache.get(PURPOSE, SECRET, provider)
        cache.discard(PURPOSE, SECRET, "an older one")
        assert cache.get(PURPOSE, SECRET, provider) == "token-1"

    def test_of_nothing(self, directory: Path) -> None:
        """Where nothing is kept, nothing happens."""
        TokenCache(directory).discard(PURPOSE, SECRET, "token-1")


class TestAskingOnce:
    """Whoever wants the same token at the same time asks for it once between them."""

    @pytest.mark.parametrize("writable", [True, False])
    def test_threads(self, directory: Path, writable: bool) -> None:
        """Many threads of one process make one request, with or without a disk to write to."""
        directory.parent.mkdir()
        if not writable:
            directory = directory.parent / "file" / "tokens"
            directory.parent.touch()
        cache, provider = TokenCache(directory), Provider()
        found: list[str] = []

        def ask_slowly() -> tuple[str, float]:
            time.sleep(0.1)
            return provider()

        threads = [
            threading.Thread(target=lambda: found.append(cache.get(PURPOSE, SECRET, ask_slowly))) for _ in range(12)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (found, provider.asked) == (["token-1"] * 12, 1)

    def test_processes(self, directory: Path, tmp_path: Path) -> None:
        """Many processes make one request."""
        program = """
import sys, time
from pathlib import Path
from reconciler.service.token_cache import TokenCache
from reconciler.service.stored_token import Purpose
def ask():
    with open(sys.argv[2], "a") as log:
        log.write("asked\\n")
    time.sleep(0.3)
    return "the-token", 1000
print(TokenCache(Path(sys.argv[1])).get(Purpose("a", "b", "c"), "secret", ask))
"""
        command = [sys.executable, "-c", program, str(directory), str(tmp_path / "log")]
        running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={}) for _ in range(5)]
        said = [process.communicate(timeout=60)[0] for process in running]
        assert (said, (tmp_path / "log").read_text()) == (["the-token\n"] * 5, "asked\n")

    def test_a_stopped_holder_is_not_waited_for(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """There is no lock to get stuck: after a while the token is asked for here too."""
        monkeypatch.setattr(token_cache, "_PATIENCE", 0.2)
        cache = TokenCache(directory)
        with (directory / f"{PURPOSE.key}.lock").open("w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            assert cache.get(PURPOSE, SECRET, Provider()) == "token-1"

    def test_a_file_system_without_locks(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where there are no locks, the worst is a second request."""

        def refuse(descriptor: int, operation: int) -> None:
            raise OSError(errno.ENOLCK, "No locks available")

        monkeypatch.setattr(fcntl, "flock", refuse)
        assert TokenCache(directory).get(PURPOSE, SECRET, Provider()) == "token-1"

    def test_a_failure_is_everyones_own(self, directory: Path) -> None:
        """Where no token is to be had the next one asks again, and no lock is left behind."""

        def fail() -> tuple[str, float]:
            raise TokenError("no access token")

        cache = TokenCache(directory)
        with contextlib.suppress(TokenError):
            cache.get(PURPOSE, SECRET, fail)
        assert cache.get(PURPOSE, SECRET, Provider()) == "token-1"


class TestClock:
    """The clocks of the machine."""

    def test_steady_counts_on(self) -> None:
        """It moves with time and is not the wall's."""
        before = clock.now()
        time.sleep(0.02)
        after = clock.now()
        assert 0.01 < after.steady - before.steady < 5
        assert abs(after.wall - time.time()) < 5

    def test_boot_id(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """The system's own, and empty where it has none."""
        (tmp_path / "boot_id").write_text("abc\n")
        for path, expected in ((tmp_path / "boot_id", "abc"), (tmp_path / "none", "")):
            monkeypatch.setattr(clock, "_BOOT_ID", path)
            clock.boot_id.cache_clear()
            assert expected == clock.boot_id()
        clock.boot_id.cache_clear()


def test_no_secret_in_a_repr() -> None:
    """What holds a token does not show it."""
    assert "value-1" not in repr(Token("value-1", Instant(0, 0), "", 1))
    assert "value-1" not in repr(TokenAnswer(access_token="value-1", token_type="Bearer", expires_in=1))
