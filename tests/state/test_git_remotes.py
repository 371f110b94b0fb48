"""What is appended can be read back: the remote that is pushed to is the one that is fetched from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.git_world import GitWorld, more_lines
from support.journal_samples import TARGET, entries, imported, journal, journal_bytes
from support.store_conformance import append_one

from reconciler.errors import HeadMoved, RecordLost, SettingsError, StateError, StoreUnavailable
from reconciler.state.heads.remembered import Heads
from reconciler.state.heads.tracking import read_journal
from reconciler.state.stores.git.places import branch_place
from reconciler.state.stores.store import StoreLocation

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.partner import Partner
    from support.project import Project

    from reconciler.state.stores.git.branch import GitStore


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitWorld:
    """A remote, a checkout of it, and a copy of the remote."""
    world = GitWorld(tmp_path, monkeypatch)
    world.git("clone", "--quiet", "--mirror", str(world.origin), str(tmp_path / "copy.git"), at=tmp_path)
    return world


def set_a_pushurl(world: GitWorld) -> None:
    """For this remote alone."""
    world.git("config", "remote.origin.pushurl", str(world.root / "copy.git"))


def rewrite_pushes(world: GitWorld) -> None:
    """For every remote of the user's."""
    world.settings.write_text(f'[url "{world.root}/copy.git"]\npushInsteadOf = {world.origin}\n')


def rewrite_both(world: GitWorld) -> None:
    """A short name that means one repository to a fetch, and another to a push."""
    world.git("remote", "set-url", "origin", "short:origin.git")
    world.settings.write_text(
        f'[url "{world.root}/"]\ninsteadOf = short:\n[url "{world.root}/copy.git"]\npushInsteadOf = short:origin.git\n'
    )


def add_a_url(world: GitWorld) -> None:
    """A push goes to every URL of a remote, a fetch to the first."""
    world.git("remote", "set-url", "--add", "origin", str(world.root / "copy.git"))


def push_nowhere(world: GitWorld) -> None:
    """As many guard themselves against a push by mistake."""
    world.git("config", "remote.origin.pushurl", "no_push")


def push_to_a_server(world: GitWorld) -> None:
    """A repository of this machine is fetched from."""
    world.git("config", "remote.origin.pushurl", "ssh://me:hunter2@git.example/srv/a.git")


@pytest.mark.parametrize(
    ("lead_away", "named"),
    [
        (set_a_pushurl, "copy.git"),
        (rewrite_pushes, "copy.git"),
        (rewrite_both, "copy.git"),
        (add_a_url, "origin.git and to .*copy.git"),
        (push_nowhere, "no_push"),
        (push_to_a_server, "ssh://me@git.example/srv/a.git"),
    ],
)
def test_push_to_another_repository(world: GitWorld, lead_away: Callable[[GitWorld], None], named: str) -> None:
    """Nothing is appended where it could not be read back; both URLs are named, and reading goes on."""
    lead_away(world)
    store = world.open()
    assert store.read(TARGET) is None
    with pytest.raises(StateError, match=f"fetch uses .*/origin.git but push uses .*{named}: ") as caught:
        store.append(TARGET, None, 1, journal_bytes(entries(2)), "begun")
    assert not isinstance(caught.value, StoreUnavailable)
    assert "hunter2" not in str(caught.value)
    for repository in (world.origin, world.root / "copy.git"):
        assert "" == world.git("branch", "--list", "state", at=repository)


def test_apply_where_a_push_leads_elsewhere(world: GitWorld, partner: Partner) -> None:
    """Nothing is sent where the intent could not be read back, though both repositories hold the same record so far."""
    partner.path = world.checkout
    partner.environment |= {"RECONCILER_STATE": "git:state"}
    partner.begin(first=["ONB10001"])
    world.git("fetch", "--quiet", str(world.origin), "+refs/*:refs/*", at=world.root / "copy.git")
    set_a_pushurl(world)
    before = world.tip()
    done = partner.run("apply", "--auto-approve", "--unsealed")
    assert (1, []) == (done.code, partner.service.creates)
    assert f"fetch uses {world.origin} but push uses {world.root}/copy.git" in done.out + done.err
    assert "Traceback" not in done.err
    assert (before, before) == (world.tip(), world.git("rev-parse", "state", at=world.root / "copy.git").strip())


def test_password_in_the_flag(world: GitWorld, project: Project) -> None:
    """A password among our own arguments is warned of, without an echo; one in the environment is not."""
    project.declare({"first": (["ONB10001"], "https://hooks.partner.example/first")})
    spec = "git+http://me:hunter2@127.0.0.1:9/a#state"
    flagged = project.run("plan", "--state", spec)
    project.environment["RECONCILER_STATE"] = spec
    quiet = project.run("plan")
    assert (1, 1) == (flagged.code, quiet.code)
    assert (
        "Warning: --state contains a password, which every user sees in the process list; use RECONCILER_STATE instead"
        in flagged.err
    )
    assert "Warning" not in quiet.err
    assert "hunter2" not in flagged.err + flagged.out + quiet.err + quiet.out


def test_push_of_a_url_to_another_repository(world: GitWorld) -> None:
    """git+URL follows the same rule, where the user's settings send pushes away."""
    rewrite_pushes(world)
    with pytest.raises(StateError, match=r"push uses .*/copy.git"):
        world.open(f"git+{world.origin}#state").append(TARGET, None, 1, journal_bytes(entries(2)), "begun")


def test_another_origin_in_the_user_settings(world: GitWorld) -> None:
    """git+URL is that URL, whatever `origin` the user's own settings know."""
    world.settings.write_text(f'[remote "origin"]\nurl = {world.root}/copy.git\npushurl = {world.root}/copy.git\n')
    store = world.open(f"git+{world.origin}#state")
    store.append(TARGET, None, 1, journal_bytes(entries(2)), "begun")
    assert journal_bytes(entries(2)).decode() == world.git("show", "state:europe/staging.jsonl", at=world.origin)
    assert "" == world.git("branch", "--list", "state", at=world.root / "copy.git")


def test_push_default(world: GitWorld) -> None:
    """Where the user's own pushes go by default is no matter of the record's."""
    world.git("remote", "add", "copy", str(world.root / "copy.git"))
    world.git("config", "remote.pushDefault", "copy")
    assert append_one(world.begin(), "a3")
    assert journal_bytes(entries(3)).decode() == world.git("show", "state:europe/staging.jsonl", at=world.origin)


@pytest.mark.parametrize("spelling", ["file://{}", "{}/", "{}/.", "link.git", "file://{}/objects/.."])
def test_spellings_of_one_repository(world: GitWorld, spelling: str) -> None:
    """Paths are one place if they lead to one, however they are written; nothing more is asked of the remote then."""
    (world.root / "link.git").symlink_to(world.origin)
    (world.checkout / "link.git").symlink_to(world.origin)
    world.git("config", "remote.origin.pushurl", spelling.format(world.origin))
    store = world.begin()
    assert append_one(store, "a3")
    assert journal_bytes(entries(3)) == store.read(TARGET)


def send_by_ssh(world: GitWorld, served: Path) -> None:
    """Fetch from one spelling of a URL and push to another; what the second leads to is `served`."""
    script = world.script(
        "ssh", f'while [ $# -gt 1 ]; do shift; done\ncase "$1" in *receive*) exec git-receive-pack {served};; '
        f"*) exec git-upload-pack {world.origin};; esac"
    )  # fmt: skip
    world.git("config", "core.sshCommand", str(script))
    world.git("remote", "set-url", "origin", "ssh://git@git.example/team/a.git")
    world.git("config", "remote.origin.pushurl", "git@git.example:team/a")


def begin_by_hand(store: GitStore) -> None:
    """Begin the journal."""
    store.append(TARGET, None, 1, journal_bytes(entries(2)), "begun")


def test_pushes_that_are_read_back(world: GitWorld) -> None:
    """Two URLs of one host and path are taken for one repository once a fetch shows what was pushed."""
    send_by_ssh(world, world.origin)
    store = world.open()
    begin_by_hand(store)
    assert append_one(store, "a3")
    assert journal_bytes(entries(3)) == store.read(TARGET)


def test_pushes_that_cannot_be_read_back(world: GitWorld) -> None:
    """A push that a fetch does not show is no success, and neither is the next one."""
    send_by_ssh(world, world.root / "copy.git")
    store = world.open()
    with pytest.raises(StoreUnavailable, match=r"the push succeeded but a fetch does not return it: .* git\+URL#"):
        begin_by_hand(store)
    with pytest.raises(StoreUnavailable, match="fetch and push use different branches"):
        begin_by_hand(store)
    assert store.read(TARGET) is None


def test_read_back_beside_others(world: GitWorld) -> None:
    """What others append meanwhile, to this journal and to others, does not hide what was pushed."""
    send_by_ssh(world, world.origin)
    store, other = world.open(), world.open(f"git+{world.origin}#state", cache="elsewhere")
    begin_by_hand(store)
    for attempt in ("a3", "a4"):
        assert append_one(other, f"other-{attempt}")
        assert append_one(store, attempt)
    head, lines = more_lines(2, [imported("late")])
    with pytest.raises(StateError):
        store.append(TARGET, head, 3, lines, "late")


@pytest.mark.parametrize(
    ("branch", "short"),
    [
        ("refs/heads/x", "x"),
        ("heads/x/y", "x/y"),
        ("refs/remotes/origin/x", "x"),
        ("remotes/origin/x", "x"),
        ("refs/tags/x", "BRANCH"),
    ],
)
def test_full_names_of_branches(world: GitWorld, branch: str, short: str) -> None:
    """A ref is no branch's name: taken for one, it would be another record than the branch's, silently."""
    told = rf"--state: expected a branch name, got a full ref; use git:{short}, or git\+URL#{short}$"
    for spec in (f"git:{branch}", f"git+{world.origin}#{branch}"):
        with pytest.raises(SettingsError, match=told):
            world.open(spec)


def break_the_user_settings(world: GitWorld) -> None:
    """A line of the user's file is no setting."""
    world.settings.write_text("[user\nname = Op\n")


def break_the_repository_settings(world: GitWorld) -> None:
    """A line of the repository's file is no setting."""
    (world.checkout / ".git" / "config").write_text("no setting\n")


def break_the_settings_of_the_remote(world: GitWorld) -> None:
    """A line of the remote's own file is no setting."""
    (world.origin / "config").write_text("no setting\n")


@pytest.mark.parametrize(
    "break_it", [break_the_user_settings, break_the_repository_settings, break_the_settings_of_the_remote]
)
def test_settings_that_cannot_be_read(world: GitWorld, break_it: Callable[[GitWorld], None]) -> None:
    """Where git cannot read a configuration file, the error names it, and not the branch or the network."""
    break_it(world)
    told = (
        r"git cannot read its configuration: bad config line \d in file .*config; correct that file; .*--show-origin$"
    )
    with pytest.raises(StateError, match=told):
        world.open().read(TARGET)


def test_settings_broken_between(world: GitWorld) -> None:
    """A configuration that breaks after the store was opened ends an append with that error."""
    store = world.begin()
    break_the_user_settings(world)
    with pytest.raises(StoreUnavailable, match="git cannot read its configuration: bad config line 1 in file"):
        append_one(store, "a3")
    world.settings.write_text("")
    assert append_one(store, "a3")


def test_remote_of_another_user(world: GitWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """A remote on this machine that git does not trust is named, with the command that trusts it."""
    world.settings.write_text(f"[safe]\ndirectory = {world.checkout}\n")
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    told = rf"dubious ownership .*; the repository belongs to another user; .* run: git config .* {world.origin}$"
    with pytest.raises(StoreUnavailable, match=told):
        world.open().read(TARGET)


def test_empty_remote(world: GitWorld) -> None:
    """A remote without any commit has no record yet, and takes one."""
    world.git("init", "--quiet", "--bare", str(world.root / "empty.git"))
    world.git("remote", "set-url", "origin", str(world.root / "empty.git"))
    assert append_one(world.begin(), "a3")


def test_deleted_branch(world: GitWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """A branch that is gone is a record that is gone: an append fails, and never begins another one."""
    store = world.begin()
    world.git("update-ref", "-d", "refs/heads/state", at=world.origin)
    monkeypatch.setattr("time.sleep", lambda _: None)
    head, lines = more_lines(2, [imported("a3")])
    with pytest.raises(HeadMoved, match="the journal is missing"):
        store.append(TARGET, head, 3, lines, "import a3")
    assert "" == world.git("branch", "--list", "state", at=world.origin)


@pytest.mark.parametrize(
    ("location", "other", "same"),
    [
        ("git:state of https://git.example/team/a.git", "git+ssh://git.example:22/team/a/#state", True),
        ("git:state of git@git.example:team/a", "git+https://GIT.example/team/a.git#state", True),
        ("git:state of https://git.example/team/a", "git:other of https://git.example/team/a", False),
        ("git:state of https://git.example/team/a", "git+https://git.example/team/b#state", False),
        ("git:state of https://git.example/team/a", "git+https://git.other/team/a#state", False),
        ("git:state of /srv/a", "git+file:///srv//./a#state", True),
        ("git:state of /srv/a", "/srv/a", False),
    ],
)
def test_a_record_that_is_gone_in_another_spelling(tmp_path: Path, location: str, other: str, same: bool) -> None:
    """What was seen of a branch is known by whichever of its spellings it is asked for, and of no other branch."""
    heads = Heads(tmp_path / "cache")
    assert None is heads.remember(journal(3), StoreLocation(location))
    assert same == (heads.seen().at(TARGET, StoreLocation(other, normalized=branch_place)) != [])


def test_deleted_branch_in_another_spelling(world: GitWorld) -> None:
    """A branch that is gone is not begun again because its URL is written in another way."""
    store = world.begin()
    heads = Heads(world.cache)
    read_journal(store, TARGET, heads)
    world.git("update-ref", "-d", "refs/heads/state", at=world.origin)
    with pytest.raises(RecordLost, match=r"2 entries"):
        read_journal(world.open(f"git+file://{world.origin}/#state"), TARGET, heads)
