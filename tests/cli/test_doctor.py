"""`doctor`: all that an apply depends on is checked, each failure is said with what to do, and nothing is changed."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest
from pyrage import x25519  # type: ignore[import-untyped]
from support.git_world import SOMEBODY, GitWorld, snapshot
from support.ports import free_port
from support.project import end
from support.raw_server import RawServer, say, wait_for_hangup
from support.sandbox_project import HERE, confined
from support.set_up import SetUp
from support.terminal import at_terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


ALWAYS = {"setting", "DNS", "TLS", "certificate", "clock", "answer", "token", "recipients", "git"}
"""What is checked whatever else is wrong with one target; the record is, too, if there is one."""


@pytest.fixture
def set_up(tmp_path: Path) -> Iterator[SetUp]:
    """A set-up in order."""
    with SetUp(tmp_path) as opened:
        yield opened


def methods(server: RawServer) -> set[bytes]:
    """Those of all requests so far."""
    return {request.partition(b" ")[0] for request in server.requests}


class TestInOrder:
    """A set-up in which nothing is wrong."""

    def test_all_is_well(self, set_up: SetUp) -> None:
        """A table and 0; the token is from the cache the second time; nothing but it is left, and nothing was sent."""
        before = snapshot(set_up.path)
        done = set_up.project.run_fork("doctor")
        assert (0, "") == (done.code, done.err)
        assert f"  ok       token        {HERE}: requested\n" in done.out
        assert f"  ok       record       {HERE}: read from state: 1 entry\n" in done.out
        assert done.out.splitlines()[-1].endswith(" skipped.")
        after = snapshot(set_up.path)
        assert before.items() <= after.items()
        assert {"home/cache/reconciler/tokens"} == {
            name.rpartition("/tokens")[0] + "/tokens" for name in after.keys() - before
        }
        found = set_up.doctor("-t", "*/staging", code=0)
        assert ["in the cache"] == [one["what"] for one in found.of("token")]
        assert found.checks == ALWAYS | {"config", "record", "write"}
        assert found.summary["failed"] == found.summary["warning"] == 0
        assert {b"HEAD"} == methods(set_up.receiver)
        assert [] == set_up.sandbox.world.commits

    def test_failures_are_counted_at_the_top(self, set_up: SetUp) -> None:
        """Where they scroll off, or are cut off, the first line says that there are any, and the last one how many."""
        no_secret(set_up)
        first, *lines, last = set_up.project.step("doctor", code=1).out.splitlines()
        assert "1 check failed; it is listed last, with what to do." == first
        assert lines[-2].startswith("  failed   setting ")
        assert last.endswith(" 1 failed.")
        missing_record(set_up)
        first, *_ = set_up.project.step("doctor", code=1).out.splitlines()
        assert "2 checks failed; they are listed last, with what to do." == first

    def test_the_record_of_a_sandbox(self, set_up: SetUp) -> None:
        """Git is meant to ignore it, by the rule that `init` writes; any other rule is a failure, there too."""
        project = set_up.project
        project.shell("git init --quiet; mkdir sandbox-state; mv state sandbox-state/1")
        project.environment["RECONCILER_STATE"] = "sandbox-state/1"
        project.write(".gitignore", "/sandbox-state/\n")
        (found,) = set_up.doctor().of("git")
        assert "skipped" == found["result"]
        assert "the record of a sandbox, which git is meant to ignore (.gitignore:1: /sandbox-state/)" == found["what"]
        project.write(".gitignore", "*.jsonl\n")
        assert set_up.doctor().of("git", "failed")

    def test_at_a_terminal(self, set_up: SetUp) -> None:
        """It shows how far it is."""
        set_up.project.environment["COLUMNS"] = "80"
        done = at_terminal(set_up.project, "doctor", "--timeout", "5")
        assert done.code == 0
        assert "Checking" in done.out
        assert "Checked: " in done.out

    def test_one_subscription(self, set_up: SetUp) -> None:
        """A pattern over addresses selects the webhook URLs that are asked; one that matches nothing is an error."""
        set_up.doctor("-t", "*/*/loans", code=0)
        assert {b"/loans"} == {request.split()[1] for request in set_up.receiver.requests}
        assert "matches no target" in set_up.project.step("doctor", "-t", "asia/*", code=1).err


def wrong_secret(it: SetUp) -> None:
    """The client secret is another one."""
    it.project.environment[f"{it.variable}CLIENT_SECRET"] = "hunter2-and-not-the-secret"


def no_secret(it: SetUp) -> None:
    """Its variable is misspelt."""
    it.project.environment[f"{it.variable}CLIENT_SECRE"] = it.project.environment.pop(f"{it.variable}CLIENT_SECRET")


def wrong_audience(it: SetUp) -> None:
    """Tokens are requested for an API that the identity provider does not know."""
    it.project.environment[f"{it.variable}AUDIENCE_BASE"] = "https://api.other.example"


def unknown_host(it: SetUp) -> None:
    """The webhook URL names a host that does not exist."""
    it.hook(offers="https://no-such-host.invalid/offers")


def unreachable_webhook(it: SetUp) -> None:
    """Nothing listens there."""
    it.hook(offers=f"https://127.0.0.1:{free_port()}/offers")


def silent_webhook(it: SetUp) -> None:
    """The receiver accepts the connection, and answers nothing."""
    it.receivers.append(RawServer(wait_for_hangup))
    it.project.environment["RECONCILER_TIMEOUT"] = "0.5"
    it.hook(offers=f"{it.receivers[-1].url}/offers")


def missing_webhook(it: SetUp) -> None:
    """The receiver does not know the path."""
    it.receivers.append(RawServer(say(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")))
    it.hook(offers=f"{it.receivers[-1].url}/offers")


def expired_certificate(it: SetUp) -> None:
    """The receiver's certificate expired yesterday."""
    it.hook(offers=f"{it.serve(days=-1).url}/offers")


def expiring_certificate(it: SetUp) -> None:
    """It expires soon."""
    it.hook(offers=f"{it.serve(days=3).url}/offers")


def self_signed_certificate(it: SetUp) -> None:
    """No authority has signed it."""
    it.hook(offers=f"{it.serve(trusted=False).url}/offers")


def silent_proxy(it: SetUp) -> None:
    """The way out is a proxy that refuses."""
    it.receivers.append(RawServer(say(b"HTTP/1.1 502 Bad Gateway\r\n\r\n")))
    it.project.environment["HTTPS_PROXY"] = it.receivers[-1].url
    it.hook(offers="https://hooks.partner.example/offers")


def unusable_proxy(it: SetUp) -> None:
    """The proxy of the environment is not a URL."""
    it.project.environment["HTTPS_PROXY"] = "http://[hunter2"


def missing_record(it: SetUp) -> None:
    """The record is not where --state says."""
    it.project.environment["RECONCILER_STATE"] = "elsewhere"


def lost_record(it: SetUp) -> None:
    """The record was deleted."""
    it.journal().unlink()


def record_of_another_service(it: SetUp) -> None:
    """The settings are those of another service than the record's."""
    it.project.environment[f"{it.variable}BASE_URL"] = f"{it.sandbox.url}/other"


def damaged_record(it: SetUp) -> None:
    """A line of the record was edited."""
    it.journal().write_bytes(it.journal().read_bytes().replace(b"base_url", b"base_uri"))


def no_store(it: SetUp) -> None:
    """The place of the record is incomplete."""
    it.project.environment["RECONCILER_STATE"] = "git:"


def strange_recipients(it: SetUp) -> None:
    """Nobody here has the key."""
    it.project.write("config/recipients.yaml", f"recipients: [{x25519.Identity.generate().to_public()}]\n")


def ignored_record(it: SetUp) -> None:
    """A rule of .gitignore matches the record."""
    it.project.write(".gitignore", "# of somebody else\nstate/\n")
    it.project.shell("git init --quiet")


def uncommitted_record(it: SetUp) -> None:
    """The record is in a work tree, and not in git."""
    it.project.shell("git init --quiet")


def disk_of_a_runner(it: SetUp) -> None:
    """The record is in files, in CI."""
    it.project.environment["CI"] = "true"


def clock_of_the_service(it: SetUp) -> None:
    """The clocks differ by years."""
    it.receivers.append(RawServer(say(b"HTTP/1.1 404 No\r\nDate: Sat, 21 Nov 2020 10:00:00 GMT\r\n\r\n")))
    it.project.environment[f"{it.variable}AUTH_URL"] = it.receivers[-1].url


def mistakes(it: SetUp) -> None:
    """A subscription in config/ is mistaken."""
    it.project.write("config/more.yaml", 'subscriptions:\n  "*/*":\n    odd: {eventCodes: [X], webhookUrl: nowhere}\n')


def mistake_in_the_target(it: SetUp) -> None:
    """The only target in config/ is mistaken."""
    it.project.write("config/all.yaml", it.project.read("config/all.yaml").replace("base_url:", "base_uri:"))


def wrong_settings(it: SetUp) -> None:
    """Numbers are no numbers."""
    it.project.environment |= {"RECONCILER_TIMEOUT": "soon", "RECONCILER_PARALLELISM": "many"}


def no_secrets_directory(it: SetUp) -> None:
    """The directory of variables does not exist."""
    it.project.environment["RECONCILER_SECRETS_DIR"] = "nowhere"


def cache_of_others(it: SetUp) -> None:
    """Every user may write to the cache."""
    cache = it.path / "cache"
    cache.mkdir()
    cache.chmod(0o777)
    (cache / "tokens").mkdir()
    (cache / "tokens").chmod(0o777)
    it.project.environment["RECONCILER_CACHE_DIR"] = str(cache)


WRONG: list[tuple[Callable[[SetUp], None], str, str, str, str]] = [
    (wrong_secret, "token", "failed", "invalid_client", "CLIENT_SECRET"),
    (no_secret, "setting", "failed", "not set", "CLIENT_SECRE is set, which may be a typo"),
    (wrong_audience, "token", "failed", "unknown audience", "the audience https://api.other.example/notification"),
    (unknown_host, "DNS", "failed", "cannot be resolved", "check the name"),
    (unreachable_webhook, "connection", "failed", "refused", "check the address"),
    (silent_webhook, "answer", "failed", "timed out", "check that the server"),
    (missing_webhook, "answer", "warning", "404 to HEAD", "check the receiver"),
    (expired_certificate, "TLS", "failed", "has expired", "replace the server's certificate"),
    (expiring_certificate, "certificate", "warning", "expires in 2 days", "renew it"),
    (self_signed_certificate, "TLS", "failed", "self-signed", "SSL_CERT_FILE"),
    (silent_proxy, "connection", "failed", "the proxy refused the connection: 502", "the proxy"),
    (unusable_proxy, "connection", "failed", "proxy or certificate settings", "check HTTPS_PROXY"),
    (missing_record, "record", "failed", "no state record", "run: reconciler state init -t europe/staging"),
    (lost_record, "record", "failed", "is missing", "restore it"),
    (record_of_another_service, "record", "failed", "belongs to the service at", "run: reconciler state rebind"),
    (damaged_record, "record", "failed", "", ""),
    (no_store, "record", "failed", "no branch given", "git:BRANCH"),
    (strange_recipients, "recipients", "warning", "no identity on this machine", "check that someone has"),
    (ignored_record, "git", "failed", "(.gitignore:2: state/)", "remove that rule"),
    (uncommitted_record, "git", "warning", "not committed", "run: git -C "),
    (disk_of_a_runner, "record", "warning", "lost with the job", "--state git:BRANCH"),
    (clock_of_the_service, "clock", "failed", " s ahead of the service's", "set the clock"),
    (mistakes, "config", "failed", "", ""),
    (mistake_in_the_target, "config", "failed", "base_uri", ""),
    (wrong_settings, "setting", "failed", "expected a number", ""),
    (no_secrets_directory, "setting", "failed", "is not a directory", "correct or unset it"),
    (cache_of_others, "token", "failed", "unsafe directory", "chmod 700"),
]
"""How a set-up is wrong: which check says so, what it says, and what to do."""


@pytest.mark.parametrize(("spoil", "check", "result", "what", "remedy"), WRONG, ids=[one[0].__name__ for one in WRONG])
def test_what_is_wrong(
    set_up: SetUp, spoil: Callable[[SetUp], None], check: str, result: str, what: str, remedy: str
) -> None:
    """It is found, and said with what to do; the exit code follows; everything else is checked nevertheless."""
    spoil(set_up)
    found = set_up.doctor()
    told = [one for one in found.of(check, result) if what in one["what"] and remedy in (one["remedy"] or "")]
    assert told, found.all
    assert found.code == int(result == "failed" or any(one["result"] == "failed" for one in found.all))
    assert "hunter2" not in str(found.all)
    assert found.checks >= expected_beside(spoil)
    assert {b"HEAD"} >= methods(set_up.receiver)


def expected_beside(spoil: Callable[[SetUp], None]) -> set[str]:
    """The checks that must not be missing."""
    if spoil is unusable_proxy:
        return ALWAYS - {"DNS", "TLS", "certificate", "clock", "answer", "token"}
    if spoil is no_store:
        return ALWAYS - {"recipients", "git"}
    if spoil is no_secrets_directory:  # nobody knows what it overrides
        return {"config", "setting", "record"}
    if spoil is mistake_in_the_target:
        return {"config", "setting", "recipients", "git"}
    return ALWAYS


class TestStore:
    """The state record: read, and with `--write` tried, without an entry."""

    def test_a_try_leaves_nothing(self, set_up: SetUp) -> None:
        """An append would work, and a response could be saved: both are tried, and nothing of it is left."""
        before = snapshot(set_up.project.path)
        found = set_up.doctor("--write", code=0)
        assert 2 == len(found.of("write", "ok"))
        assert before == snapshot(set_up.project.path)
        data = set_up.path / "home" / "data"
        assert [] == [path for path in data.rglob("*") if path.is_file()]

    def test_a_full_disk(self, set_up: SetUp) -> None:
        """What cannot be written is said, of the record and of responses."""
        done = set_up.run_under(confined("fsize", 0), "doctor", "--write", "--format", "json")
        assert 1 == done.code
        journal, response = [one["what"] for one in done.document["findings"] if one["result"] == "failed"]
        assert "cannot write the state record" in journal
        assert "cannot save a create response" in response

    def test_a_journal_that_is_no_file(self, set_up: SetUp) -> None:
        """As a directory of that name."""
        set_up.journal().unlink()
        set_up.journal().mkdir()
        assert "not a regular file" in str(set_up.doctor(code=1).of("record", "failed"))

    def test_a_head_is_not_remembered(self, set_up: SetUp) -> None:
        """A machine that has only checked a record takes an older one for it, as before."""
        set_up.project.environment["RECONCILER_CACHE_DIR"] = str(set_up.path / "another machine")
        set_up.doctor(code=0)
        assert {"tokens"} == {path.name for path in (set_up.path / "another machine").iterdir()}

    def test_identities(self, set_up: SetUp) -> None:
        """An identity in this user's data directory is recognised, among others and what is none; it is not shown."""
        set_up.project.seal()
        identities = set_up.path / "home" / "data" / "reconciler" / "identities"
        identities.mkdir(parents=True)
        (identities / "a.txt").write_bytes(b"\xff\n")
        (identities / "b.txt").write_text(f"{x25519.Identity.generate()}\nAGE-SECRET-KEY-1NONE\n")
        assert 1 == len(set_up.doctor(code=0).of("recipients", "warning"))
        key = set_up.project.read("key.txt")
        (identities / "c.txt").write_text(key)
        found = set_up.doctor(code=0)
        assert ["an identity on this machine decrypts what is encrypted to 1 of 1"] == [
            one["what"] for one in found.of("recipients", "ok")
        ]
        assert "AGE-SECRET" not in str(found.all)


@pytest.fixture
def shared(set_up: SetUp, monkeypatch: pytest.MonkeyPatch) -> tuple[SetUp, GitWorld]:
    """A set-up whose project is a checkout with an `origin`."""
    world = GitWorld(set_up.path, monkeypatch)
    set_up.project.shell(
        f"git init --quiet -b main && git remote add origin {world.origin} && git add . &&"
        f" git {' '.join(SOMEBODY)} commit --quiet -m begun && git push --quiet -u origin main:work"
        " && git branch --quiet --set-upstream-to origin/work && git config push.default upstream"
    )
    return set_up, world


class TestGit:
    """What git knows of the record."""

    def test_files(self, shared: tuple[SetUp, GitWorld]) -> None:
        """Committed and pushed; a change that is not committed, not pushed, or missing here, is told with a command."""
        set_up, _ = shared
        assert {"committed", "pushed to origin/work"} == {one["what"] for one in set_up.doctor(code=0).of("git", "ok")}
        begun = set_up.project.shell("git rev-parse HEAD").out.strip()
        set_up.project.step("state", "import", "--all")
        (uncommitted,) = set_up.doctor(code=0).of("git", "warning")
        set_up.project.shell("git config user.name S && git config user.email s@partner.example")
        assert 0 == set_up.project.shell(uncommitted["remedy"].removeprefix("run: ")).code
        journal = set_up.project.path / f"state/{HERE}.jsonl"
        contents = journal.read_bytes()
        journal.unlink()
        (deleted,) = [one for one in set_up.doctor(code=1).of("git", "warning") if "missing here" in one["what"]]
        assert 0 == set_up.project.shell(deleted["remedy"].removeprefix("run: ")).code
        assert contents == journal.read_bytes()
        (unpushed,) = set_up.doctor(code=0).of("git", "warning")
        assert "1 commit with the state record not pushed to origin/work" == unpushed["what"]
        assert 0 == set_up.project.shell(unpushed["remedy"].removeprefix("run: ")).code
        assert [] == set_up.doctor(code=0).troubles
        set_up.project.shell(f"git reset --quiet --hard {begun}")
        set_up.project.environment["RECONCILER_CACHE_DIR"] = str(set_up.path / "another machine")
        (behind,) = set_up.doctor(code=1).of("git", "failed")
        assert "behind origin/work" in behind["what"]

    @pytest.mark.parametrize(
        "done",
        [
            "git add state && rm -r state",
            "git add state && git commit --quiet -m more && git rm --quiet -r state",
            "git rm --quiet --cached -r state && git add state && rm -r state",
        ],
    )
    def test_missing_files(self, shared: tuple[SetUp, GitWorld], done: str) -> None:
        """What only the index has is restored from there."""
        set_up, _ = shared
        set_up.project.step("state", "import", "--all")
        journal = set_up.project.path / f"state/{HERE}.jsonl"
        contents = journal.read_bytes()
        set_up.project.shell(f"git config user.name S && git config user.email s@partner.example && {done}")
        (deleted,) = [one for one in set_up.doctor(code=1).of("git", "warning") if "missing here" in one["what"]]
        assert 0 == set_up.project.shell(deleted["remedy"].removeprefix("run: ")).code
        assert contents == journal.read_bytes()

    def test_a_file_that_only_the_index_lacks(self, shared: tuple[SetUp, GitWorld]) -> None:
        """It is not missing: what was appended since would be lost if git restored it."""
        set_up, _ = shared
        set_up.project.shell("git rm --quiet --cached -r state")
        set_up.project.step("state", "import", "--all")
        contents = (set_up.project.path / f"state/{HERE}.jsonl").read_bytes()
        (uncommitted,) = set_up.doctor(code=0).of("git", "warning")
        assert "has changes that are not committed" in uncommitted["what"]
        set_up.project.shell("git config user.name S && git config user.email s@partner.example")
        assert 0 == set_up.project.shell(uncommitted["remedy"].removeprefix("run: ")).code
        assert contents == set_up.project.shell(f"git show HEAD:state/{HERE}.jsonl").out.encode()

    def test_a_branch(self, shared: tuple[SetUp, GitWorld]) -> None:
        """A push is only tried, which shows whether it would succeed; the rules of a branch on a server are read."""
        set_up, world = shared
        set_up.project.environment["RECONCILER_STATE"] = "git:state"
        set_up.project.step("state", "init")
        tip = world.tip()
        found = set_up.doctor("--write", code=0)
        assert [("recipients", "warning")] == found.troubles
        assert ["the repository is on this machine"] == [one["what"] for one in found.of("ruleset")]
        assert (2, tip) == (len(found.of("write", "ok")), world.tip())
        refusing = world.script("receive-pack", "exit 1")
        set_up.project.shell(f"git config remote.origin.receivepack {refusing}")
        (refused,) = set_up.doctor("--write", code=1).of("write", "failed")
        assert "the push failed" in refused["what"]
        set_up.project.shell(
            "git remote set-url origin https://forge.example/partner/hooks.git &&"
            f" git config url.{world.origin}.insteadOf https://forge.example/partner/hooks.git"
        )
        called = world.root / "called"
        (world.root / "bin").mkdir()
        world.script(
            "bin/gh", f'echo "$@" >>{called}; echo \'[{{"type": "deletion"}}, {{"type": "non_fast_forward"}}]\''
        )
        set_up.project.environment["PATH"] = f"{world.root / 'bin'}:{os.environ['PATH']}"
        assert [("ruleset", "ok")] == [(one["check"], one["result"]) for one in set_up.doctor(code=0).of("ruleset")]
        assert "api --hostname forge.example repos/partner/hooks/rules/branches/state\n" == called.read_text()


class TestEnd:
    """However it ends, it ends soon."""

    def test_a_signal_ends_it_at_once(self, set_up: SetUp) -> None:
        """Though a server has not answered."""
        set_up.receivers.append(RawServer(wait_for_hangup))
        set_up.hook(offers=f"{set_up.receivers[-1].url}/offers")
        process = set_up.project.start("doctor", "--timeout", "3000")
        set_up.receivers[-1].wait_until(accepted=1)
        done = end(process, signal.SIGINT)
        assert (130, "", "Interrupted.\n") == (done.code, done.out, done.err)
