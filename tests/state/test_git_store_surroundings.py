"""The git store wherever one stands: it takes the settings of the place along, and leaves no trace there."""

from __future__ import annotations

import base64
import gzip
import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

import pytest
from support.git_world import SOMEBODY, GitWorld, snapshot
from support.journal_samples import TARGET, entries, journal_bytes
from support.store_conformance import append_one, read_back
from werkzeug import Request, Response

from reconciler.errors import SettingsError, StateError, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_httpserver import HTTPServer

APPEND_IN_A_HOOK = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from reconciler.state.stores.location import open_store
from support.store_conformance import append_one
assert append_one(open_store("git:state", Path(sys.argv[2]), os.environ), "a3")
"""

BASIC = "AUTHORIZATION: basic " + base64.b64encode(b"x-access-token:hunter2").decode()


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitWorld:
    """A remote, and a checkout of it."""
    return GitWorld(tmp_path, monkeypatch)


def stand_at_the_top(world: GitWorld) -> Path:
    """A clone, a branch checked out, at its top."""
    return world.checkout


def stand_deep(world: GitWorld) -> Path:
    """A clone, in a directory below its top."""
    return world.checkout / "deep"


def stand_in_a_shallow_clone(world: GitWorld) -> Path:
    """As actions/checkout leaves it: one commit, no branch checked out."""
    clone = world.root / "runner"
    world.git("init", "--quiet", str(clone), at=world.root)
    world.git("remote", "add", "origin", f"file://{world.origin}", at=clone)
    world.git("fetch", "--quiet", "--depth=1", "origin", "main", at=clone)
    world.git("checkout", "--quiet", "--detach", "FETCH_HEAD", at=clone)
    assert (clone / ".git" / "shallow").exists()
    return clone


def stand_in_a_worktree(world: GitWorld) -> Path:
    """In a directory of a linked worktree; the remote's path is relative to the worktree's top."""
    world.git("remote", "set-url", "origin", "../origin.git")
    world.git("worktree", "add", "--quiet", "--detach", str(world.root / "linked"))
    return world.root / "linked" / "deep"


def stand_in_an_unfinished_merge(world: GitWorld) -> Path:
    """With something staged, something stashed and a conflict open."""
    (world.checkout / "staged").write_text("x")
    world.git("add", "staged")
    world.git(*SOMEBODY, "stash", "--quiet")
    (world.checkout / "staged").write_text("y")
    world.git("add", "staged")
    (world.checkout / ".git" / "MERGE_HEAD").write_text(world.tip("main"))
    return world.checkout


def stand_in_a_bare_repository(world: GitWorld) -> Path:
    """A bare clone, as a server has it."""
    world.git("clone", "--quiet", "--bare", str(world.origin), str(world.root / "bare.git"), at=world.root)
    return world.root / "bare.git"


@pytest.mark.parametrize(
    "stand",
    [
        stand_at_the_top,
        stand_deep,
        stand_in_a_shallow_clone,
        stand_in_a_worktree,
        stand_in_an_unfinished_merge,
        stand_in_a_bare_repository,
    ],
)
def test_no_trace(world: GitWorld, monkeypatch: pytest.MonkeyPatch, stand: Callable[[GitWorld], Path]) -> None:
    """Reads and appends, those that fail too, change no byte of the repository one stands in."""
    place = stand(world)
    monkeypatch.chdir(place)
    roots = [world.checkout, world.root / "runner", world.root / "linked", world.root / "bare.git"]
    before = [snapshot(root) for root in roots]
    store = world.begin()
    assert append_one(store, "a3")
    world.git("update-ref", "-d", "refs/heads/state", at=world.origin)
    assert not store.targets()
    world.origin.rename(world.root / "gone")
    with pytest.raises(StoreUnavailable):
        store.read(TARGET)
    assert before == [snapshot(root) for root in roots]


def test_below_a_hook(world: GitWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook around us speaks of its own repository, index and objects; none of that is ours."""
    before = snapshot(world.checkout)
    for name in ("DIR", "WORK_TREE", "INDEX_FILE", "OBJECT_DIRECTORY", "COMMON_DIR", "QUARANTINE_PATH", "CONFIG"):
        monkeypatch.setenv(f"GIT_{name}", str(world.root / "nowhere"))
    monkeypatch.setenv("GIT_NAMESPACE", "elsewhere")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2001-02-03T04:05:06Z")
    store = world.begin()
    assert append_one(store, "a3")
    assert not (world.root / "nowhere").exists()
    monkeypatch.undo()
    assert before == snapshot(world.checkout)
    assert not any(date.startswith("2001") for date in world.log("%cI"))
    assert journal_bytes(entries(3)).decode() == world.git("show", "state:europe/staging.jsonl", at=world.origin)


def test_in_a_hook(world: GitWorld) -> None:
    """A command in a real hook of git's finds the repository, and reads and appends as it does outside."""
    world.begin()
    script = world.root / "append.py"
    script.write_text(APPEND_IN_A_HOOK)
    hook = world.checkout / ".git" / "hooks" / "post-commit"
    hook.parent.mkdir(exist_ok=True)
    tests = Path(__file__).parents[1]
    hook.write_text(
        f'#!/bin/sh\nenv > {world.root}/seen\nexec "{sys.executable}" "{script}" "{tests}" "{world.cache}"\n'
    )
    hook.chmod(0o755)
    world.git(*SOMEBODY, "-C", "deep", "commit", "--quiet", "--allow-empty", "--message", "third")
    assert "GIT_INDEX_FILE=" in (world.root / "seen").read_text()
    assert ["import a3", f"{TARGET}: begun"] == world.log()


@pytest.mark.parametrize(
    ("settings", "variables", "expected"),
    [
        ("", {}, "reconciler <reconciler@localhost.invalid>"),
        ("[user]\nname = Op\nemail = op@partner.example\n", {}, "Op <op@partner.example>"),
        ("[user]\nname = Op\nuseConfigOnly = true\n", {}, "Op <reconciler@localhost.invalid>"),
        ("[author]\nname = A\n[committer]\nname = Op\n", {"GIT_COMMITTER_EMAIL": "x@y"}, "Op <x@y>"),
        ("[user]\nname = Op\n", {"GIT_COMMITTER_NAME": "Bot", "GIT_COMMITTER_EMAIL": ""},
         "Bot <reconciler@localhost.invalid>"),
    ],
)  # fmt: skip
def test_identity(
    world: GitWorld, monkeypatch: pytest.MonkeyPatch, settings: str, variables: dict[str, str], expected: str
) -> None:
    """A commit is by whoever the user has told git to be, and by the program where nobody has said."""
    world.settings.write_text(settings)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    world.begin()
    assert [expected] == world.log("%cn <%ce>")


def test_user_settings_that_would_be_in_the_way(world: GitWorld) -> None:
    """Signing, hooks, submodules, mirrors, tags and templates are for the user's own commits."""
    hooks = world.root / "hooks"
    hooks.mkdir()
    world.script("hooks/pre-push", "exit 1")
    world.settings.write_text(
        f"[core]\nhooksPath = {hooks}\nautocrlf = true\nlogAllRefUpdates = always\n"
        f"[init]\ntemplateDir = {hooks}\ndefaultBranch = x y\n"
        "[commit]\ngpgSign = true\n[push]\ngpgSign = true\nfollowTags = true\nrecurseSubmodules = on-demand\n"
        "[submodule]\nrecurse = true\n[fetch]\nprune = true\n[i18n]\ncommitEncoding = ISO-8859-1\n"
        "[gpg]\nprogram = false\n[user]\nname = Öp\nemail = op@partner.example\n"
    )
    world.git("config", "remote.origin.mirror", "true")
    world.git("config", "remote.origin.tagOpt", "--tags")
    store = world.begin()
    assert append_one(store, "a3")
    assert journal_bytes(entries(3)) == store.read(TARGET)
    assert ["Öp"] * 2 == world.log("%cn")
    assert world.tip("main")


def test_ssh(world: GitWorld) -> None:
    """ssh:// goes by the repository's own core.sshCommand, which may be relative to its top."""
    script = f'echo "$@" >> {world.root}/called\nwhile [ $# -gt 1 ]; do shift; done\nexec sh -c "$1"'
    (world.checkout / "tools").mkdir()
    world.script("ssh", script).rename(world.checkout / "tools" / "ssh")
    world.git("config", "core.sshCommand", "./tools/ssh -F none")
    world.git("remote", "set-url", "origin", f"ssh://git@host.example{world.origin}")
    store = world.begin()
    assert journal_bytes(entries(2)) == store.read(TARGET)
    called = (world.root / "called").read_text().splitlines()
    assert all(line.startswith("-F none ") and "git@host.example" in line for line in called)
    assert f"git:state of ssh://host.example{world.origin}" == store.location


def test_push_elsewhere(world: GitWorld) -> None:
    """pushurl and insteadOf mean what they mean to `git push` and `git fetch` here."""
    world.git("remote", "set-url", "origin", "short:origin.git")
    world.git("config", f"url.{world.root}/.insteadOf", "short:")
    world.git("config", "remote.origin.pushurl", f"file://{world.origin}")
    store = world.begin()
    assert journal_bytes(entries(2)) == store.read(TARGET)
    assert "git:state of short:origin.git" == store.location


@pytest.fixture
def served(world: GitWorld, httpserver: HTTPServer) -> list[list[str]]:
    """The remote over HTTP, for those who know the password; the Authorization headers of each request."""
    headers: list[list[str]] = []
    serve_with_password(world, httpserver, BASIC.partition(": ")[2], headers)
    world.git("config", "http.receivepack", "true", at=world.origin)
    world.git("remote", "set-url", "origin", httpserver.url_for("/origin.git"))
    return headers


def serve_with_password(world: GitWorld, httpserver: HTTPServer, wanted: str, headers: list[list[str]]) -> None:
    """Serve the remote to whoever sends that Authorization header; note those that are sent."""

    def serve(request: Request) -> Response:
        given = request.headers.getlist("Authorization")
        headers.append(given)
        if [one.partition(" ")[2] for one in given] != [wanted.partition(" ")[2]]:
            return Response("no", 401, {"WWW-Authenticate": 'Basic realm="git"'})
        return answer_with_git(world, request)

    httpserver.expect_request(re.compile(".*")).respond_with_handler(serve)


def answer_with_git(world: GitWorld, request: Request) -> Response:
    """What git's own server program answers to a request."""
    body = request.get_data()
    if request.headers.get("Content-Encoding") == "gzip":
        body = gzip.decompress(body)
    variables = {
        "GIT_PROJECT_ROOT": str(world.root),
        "GIT_HTTP_EXPORT_ALL": "1",
        "PATH_INFO": request.path,
        "QUERY_STRING": request.query_string.decode(),
        "REQUEST_METHOD": request.method,
        "CONTENT_TYPE": request.headers.get("Content-Type", ""),
        "CONTENT_LENGTH": str(len(body)),
        "GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
    }
    command = ["git", "http-backend"]
    said = subprocess.run(command, input=body, capture_output=True, env={**os.environ, **variables}, check=True).stdout
    head, _, rest = said.partition(b"\r\n\r\n")
    headers = dict(line.split(": ", 1) for line in head.decode().splitlines())
    return Response(rest, int(headers.pop("Status", "200").split()[0]), headers)


def set_in_the_repository(world: GitWorld, url: str) -> None:
    """As actions/checkout has long done it."""
    world.git("config", f"http.{url}.extraheader", BASIC)


def include_by_directory(world: GitWorld, url: str) -> None:
    """As actions/checkout does it now: in a file beside, for the one directory."""
    (world.root / "credentials").write_text(f'[http "{url}"]\nextraheader = {BASIC}\n')
    world.git("config", f"includeIf.gitdir:{world.checkout}/.git.path", str(world.root / "credentials"))


def include_for_the_user(world: GitWorld, url: str) -> None:
    """In the user's file, for all repositories below a directory, ours among them."""
    (world.root / "credentials").write_text(f'[http "{url}"]\nextraheader = {BASIC}\n')
    world.settings.write_text(f'[includeIf "gitdir:{world.root}/"]\npath = credentials\n')


def include_by_remote(world: GitWorld, url: str) -> None:
    """In the user's file, for all repositories with a remote there."""
    (world.root / "credentials").write_text(f'[http "{url}"]\nextraheader = {BASIC}\n')
    world.settings.write_text(f'[includeIf "hasconfig:remote.*.url:{url}**"]\npath = credentials\n')


def use_a_helper(world: GitWorld, url: str) -> None:
    """A credential helper in the repository; the user's own, which knows an old password, is struck out."""
    world.settings.write_text(f"[credential]\nhelper = {helper_that_says(world, 'old')}\n")
    world.git("config", "--add", "credential.helper", "")
    world.git("config", "--add", "credential.helper", helper_that_says(world, "hunter2"))


def helper_that_says(world: GitWorld, password: str) -> str:
    """A credential helper that knows one password."""
    says = f'[ "$1" = get ] && printf "username=x-access-token\\npassword={password}\\n"; exit 0'
    return str(world.script(f"helper-{password}", says))


def put_it_into_the_url(world: GitWorld, url: str) -> None:
    """In the remote's URL itself."""
    world.git("config", "remote.origin.url", f"{url.replace('://', '://x-access-token:hunter2@')}origin.git")


def rewrite_the_url(world: GitWorld, url: str) -> None:
    """In a URL that stands for the remote's, in the user's file."""
    world.settings.write_text(f'[url "{url.replace("://", "://x-access-token:hunter2@")}"]\ninsteadOf = {url}\n')


@pytest.mark.parametrize(
    "give",
    [
        set_in_the_repository,
        include_by_directory,
        include_for_the_user,
        include_by_remote,
        use_a_helper,
        put_it_into_the_url,
        rewrite_the_url,
    ],
)
def test_credentials(
    world: GitWorld, served: list[list[str]], httpserver: HTTPServer, give: Callable[[GitWorld, str], None]
) -> None:
    """Whichever way git knows the password here, the store does; it is sent once, and kept nowhere."""
    give(world, httpserver.url_for("/"))
    store = world.begin()
    assert append_one(store, "a3")
    assert journal_bytes(entries(3)) == store.read(TARGET)
    assert max(map(len, served)) == 1
    assert httpserver.url_for("/origin.git") in store.location
    kept = [data for data in snapshot(world.cache).values() if isinstance(data, bytes)]
    secrets = (b"hunter2", BASIC.rpartition(" ")[2].encode())
    assert not [data for data in kept if any(secret in data for secret in secrets)]
    assert not any(secret.decode() in store.location for secret in secrets)


def command_lines() -> list[bytes]:
    """What every user of this machine can read of the processes that this one has started."""
    parents, lines = dict[str, str](), dict[str, bytes]()
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parents[path.name] = (path / "stat").read_text().rpartition(")")[2].split()[1]
            lines[path.name] = (path / "cmdline").read_bytes()
    return [line for name, line in lines.items() if str(os.getpid()) in ancestors(name, parents)]


def ancestors(name: str, parents: dict[str, str]) -> list[str]:
    """The processes above one."""
    above = parents.get(name)
    return [] if above is None else [above, *ancestors(above, parents)]


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("give", [put_it_into_the_url, rewrite_the_url])
def test_credentials_in_no_command_line(
    world: GitWorld,
    served: list[list[str]],
    httpserver: HTTPServer,
    monkeypatch: pytest.MonkeyPatch,
    give: Callable[[GitWorld, str], None],
    own: bool,
) -> None:
    """No process is ever given the password of a URL as an argument: neither git's helpers nor a shell."""
    seen: list[bytes] = []
    monkeypatch.setattr(f"{__name__}.answer_with_git", spied_on(seen, answer_with_git))
    give(world, httpserver.url_for("/"))
    url = world.git("config", "remote.origin.url").strip()
    monkeypatch.setenv("GIT_TRACE", str(world.root / "trace"))
    store = world.open("git:state" if own else f"git+{url}#state")
    store.append(TARGET, None, 1, journal_bytes(entries(2)), "begun")
    assert journal_bytes(entries(2)) == store.read(TARGET)
    assert any(b"remote-http\0" in line for line in seen)
    assert not [line for line in seen if b"hunter2" in line]
    trace = (world.root / "trace").read_text()
    assert "credential" in trace or "RECONCILER_GIT_" in trace
    assert "hunter2" not in trace


def spied_on(seen: list[bytes], answer: Callable[[GitWorld, Request], Response]) -> Callable[..., Response]:
    """The same answers; the command lines of the moment of each are kept."""

    def spied(world: GitWorld, request: Request) -> Response:
        seen.extend(command_lines())
        return answer(world, request)

    return spied


@pytest.mark.parametrize("password", ["p%40ss%2Fw%25rd%24HOME%5Cn'%22", "", "%C3%A9%20%60id%60"])
def test_any_password(world: GitWorld, httpserver: HTTPServer, served: list[list[str]], password: str) -> None:
    """Whatever letters a password is made of, the remote gets it as the URL says it."""
    wanted = base64.b64encode(b"x-access-token:" + unquote_to_bytes(password)).decode()
    url = httpserver.url_for("/origin.git").replace("://", f"://x-access-token:{password}@")
    httpserver.clear()
    serve_with_password(world, httpserver, f"basic {wanted}", served)
    store = world.open(f"git+{url}#state")
    store.append(TARGET, None, 1, journal_bytes(entries(2)), "begun")
    assert journal_bytes(entries(2)) == store.read(TARGET)


def test_user_name_in_the_url(
    world: GitWorld, served: list[list[str]], httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user name alone leaves the password to whatever git asks for it."""
    says = 'case "$1" in Password*x-access-token@*) echo hunter2;; *) echo wrong;; esac'
    monkeypatch.setenv("GIT_ASKPASS", str(world.script("askpass", says)))
    url = httpserver.url_for("/origin.git").replace("://", "://x-access-token@")
    assert world.open(f"git+{url}#state").read(TARGET) is None


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("https://me:hunter2%0a@git.example/a", "the user name or the password in the URL contains a line break"),
        ("foo::https://me:hunter2@git.example/a", "this kind of URL cannot hold a password"),
    ],
)
def test_unusable_credentials(world: GitWorld, url: str, told: str) -> None:
    """A password that git could not be given safely is refused, without an echo, and a credential helper is named."""
    world.git("remote", "set-url", "origin", url)
    with pytest.raises(SettingsError, match=f"{told}.*remove it from the URL, and use a git credential h") as caught:
        world.open()
    assert "hunter2" not in str(caught.value)


def test_credentials_of_the_environment(
    world: GitWorld, served: list[list[str]], httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Settings in the environment reach git as well, and count over the repository's, wherever one stands."""
    url = httpserver.url_for("/")
    world.git("config", f"http.{url}.proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "2")
    for number, (name, value) in enumerate([("extraheader", BASIC), ("proxy", "")]):
        monkeypatch.setenv(f"GIT_CONFIG_KEY_{number}", f"http.{url}.{name}")
        monkeypatch.setenv(f"GIT_CONFIG_VALUE_{number}", value)
    store = world.begin()
    assert journal_bytes(entries(2)) == store.read(TARGET)
    assert journal_bytes(entries(2)) == world.open(f"git+{url}origin.git#state").read(TARGET)
    assert max(map(len, served)) == 1


def test_another_repository_takes_no_settings_of_this_one(
    world: GitWorld, served: list[list[str]], httpserver: HTTPServer
) -> None:
    """The credentials of the repository one stands in go nowhere else."""
    set_in_the_repository(world, httpserver.url_for("/"))
    with pytest.raises(StoreUnavailable, match="could not read Username"):
        world.open(f"git+{httpserver.url_for('/origin.git')}#state").read(TARGET)
    assert [[]] == served


def test_askpass(world: GitWorld, served: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has a program to ask is asked by it; nobody is ever asked at the terminal."""
    says = 'case "$1" in User*) echo x-access-token;; *) echo hunter2;; esac'
    monkeypatch.setenv("GIT_ASKPASS", str(world.script("askpass", says)))
    assert read_back(world.begin()).record().id


def test_no_password(world: GitWorld, served: list[list[str]]) -> None:
    """Without a password the error says what git lacks, and what to see to."""
    with pytest.raises(
        StoreUnavailable, match=r"could not read Username .*terminal prompts disabled; check the network"
    ):
        world.open().read(TARGET)


def test_no_repository(world: GitWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside any repository there is no origin; the error says what else can be written."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StateError, match=r"git:state: not a git repository .*run it inside the repository; or use git"):
        world.open()


def test_no_origin(world: GitWorld) -> None:
    """A repository without an origin has no place for a record."""
    world.git("remote", "rename", "origin", "upstream")
    with pytest.raises(StateError, match="has no remote `origin`; run: git remote add origin URL"):
        world.open()


def test_repository_of_another_user(world: GitWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where git does not trust the repository, the error says how to."""
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    command = f"git config --global --add safe.directory {world.checkout}"
    remedy = f"the repository belongs to another user; if you trust it, run: {command}$"
    with pytest.raises(StateError, match=f"dubious ownership.*{remedy}"):
        world.open()
    world.settings.write_text(f"[safe]\ndirectory = {world.checkout}\ndirectory = {world.origin}\n")
    assert world.open().read(TARGET) is None
