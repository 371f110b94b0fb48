"""A partner's repository that is set up wrongly: each time where, what and what to do is said, and nothing is lost."""

from __future__ import annotations

import re
import shlex
import shutil
from typing import TYPE_CHECKING

import pytest
from pyrage import x25519  # type: ignore[import-untyped]
from support.git_world import SOMEBODY, snapshot
from support.raw_server import RawServer, say
from support.set_up import SetUp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def set_up(tmp_path: Path) -> Iterator[SetUp]:
    """A set-up in order, with a record in files and without a git repository."""
    with SetUp(tmp_path) as opened:
        opened.project.environment |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0"}
        yield opened


def git(it: SetUp, *lines: str) -> None:
    """Run git's commands in the project."""
    for line in lines:
        done = it.project.shell(f"git {shlex.join(SOMEBODY)} {line}")
        assert 0 == done.code, done


def in_git(it: SetUp) -> None:
    """The project is committed, the record with it, and pushed to an `origin`."""
    git(it, "init --quiet --bare -b main ../origin.git", "init --quiet -b main", "remote add origin ../origin.git")
    git(it, "add .", "commit --quiet -m begun", "push --quiet -u origin main")


def on_a_branch(it: SetUp) -> None:
    """The same, and the record is to be on a branch."""
    in_git(it)
    it.project.environment["RECONCILER_STATE"] = "git:records"


def secret_in_dotenv(it: SetUp, form: str) -> None:
    """The client secret is in a `.env`, written so."""
    name = f"{it.variable}CLIENT_SECRET"
    it.project.write(".env", form.format(name=name, value=it.project.environment.pop(name)))


# Where files are to be written


def config_of_others(it: SetUp) -> None:
    """config/ has files of another program."""
    shutil.rmtree(it.project.path / "config")
    it.project.write("config/deployment.yaml", "replicas: 3\n")


def file_as_config(it: SetUp) -> None:
    """config is a file."""
    shutil.rmtree(it.project.path / "config")
    it.project.write("config", "debug=1\n")


def gitignore_of_others(it: SetUp) -> None:
    """There is a .gitignore already."""
    it.project.write("new/.gitignore", "*.log\n")


def file_as_github(it: SetUp) -> None:
    """.github is a file."""
    it.project.write("new/.github", "not a directory\n")


def mistyped_store(it: SetUp) -> None:
    """The type of store is misspelt."""
    it.project.environment["RECONCILER_STATE"] = "gti:records"


# git


def no_repository(it: SetUp) -> None:
    """The record is to be on a branch, outside of any repository."""
    it.project.environment["RECONCILER_STATE"] = "git:records"


def no_remote(it: SetUp) -> None:
    """The repository has no `origin`."""
    on_a_branch(it)
    git(it, "remote remove origin")


def unreachable_remote(it: SetUp) -> None:
    """The `origin` is not there."""
    on_a_branch(it)
    git(it, "remote set-url origin ../gone.git")


def repository_of_another_user(it: SetUp) -> None:
    """git does not trust the repository, as in many containers."""
    on_a_branch(it)
    it.project.environment["GIT_TEST_ASSUME_DIFFERENT_OWNER"] = "1"


def files_of_another_user(it: SetUp) -> None:
    """The same, with the record in its files."""
    in_git(it)
    it.project.environment["GIT_TEST_ASSUME_DIFFERENT_OWNER"] = "1"


def detached_head(it: SetUp) -> None:
    """A commit is checked out, and no branch."""
    in_git(it)
    git(it, "checkout --quiet --detach")


def shallow_clone(it: SetUp) -> None:
    """The clone has the last commit only, as in a workflow."""
    in_git(it)
    git(it, "commit --quiet --allow-empty -m more", "push --quiet")
    git(it, f"clone --quiet --depth 1 file://{it.path}/origin.git s")
    shutil.rmtree(it.project.path / ".git")
    (it.project.path / "s" / ".git").rename(it.project.path / ".git")
    shutil.rmtree(it.project.path / "s")


def ignored_record(it: SetUp) -> None:
    """A rule of .gitignore hides the record."""
    it.project.write(".gitignore", "*.jsonl\n")
    git(it, "init --quiet -b main", "add .", "commit --quiet -m begun")


def protected_branch(it: SetUp) -> None:
    """The branch of the record is protected."""
    on_a_branch(it)
    hook = it.path / "origin.git" / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho protected >&2; exit 1\n")
    hook.chmod(0o755)


# The record


def file_as_store(it: SetUp) -> None:
    """A file is where the directory of the record should be."""
    it.project.write("records", "mine\n")
    it.project.environment["RECONCILER_STATE"] = "records"


def second_record(it: SetUp) -> None:
    """There is a record of this service already, in another place."""
    for field in ("AUTH_URL", "BASE_URL", "AUDIENCE_BASE"):
        del it.project.environment[f"{it.variable}{field}"]
    it.project.declare({"offers": (["ONB10011"], "https://hooks.partner.example/offers")})
    it.project.step("state", "init", "--state", "records")
    it.project.environment["RECONCILER_STATE"] = "elsewhere"


def runner(it: SetUp) -> None:
    """The record is in files, on a runner."""
    it.project.environment |= {"CI": "true", "RECONCILER_STATE": "elsewhere"}


# Settings


def quotes_in_a_variable(it: SetUp) -> None:
    """The client secret was copied with its quotes."""
    name = f"{it.variable}CLIENT_SECRET"
    it.project.environment[name] = f'"{it.project.environment[name]}"'


def typographic_quotes(it: SetUp) -> None:
    """A word processor has made other quotes of them."""
    secret_in_dotenv(it, "{name}=\N{LEFT DOUBLE QUOTATION MARK}{value}\N{RIGHT DOUBLE QUOTATION MARK}\n")


def half_a_quote(it: SetUp) -> None:
    """A quote in .env is not closed."""
    secret_in_dotenv(it, "# credentials\n{name}='{value}\n")


def misspelt_region(it: SetUp) -> None:
    """A variable is named after a region that is misspelt."""
    it.project.environment["RECONCILER_EUROP_STAGING_CLIENT_SECRET"] = it.project.environment.pop(
        f"{it.variable}CLIENT_SECRET"
    )


def carriage_return(it: SetUp) -> None:
    """The .env is one of Windows; that is no mistake."""
    secret_in_dotenv(it, "\ufeff{name}={value}\r\n")


def wrong_clock(it: SetUp) -> None:
    """The clocks here and at the service differ by years."""
    it.receivers.append(RawServer(say(b"HTTP/1.1 404 No\r\nDate: Sat, 21 Nov 2020 10:00:00 GMT\r\n\r\n")))
    it.project.environment[f"{it.variable}AUTH_URL"] = it.receivers[-1].url


def recipients_of_others(it: SetUp) -> None:
    """Nobody here can decrypt what is encrypted to them."""
    it.project.write("config/recipients.yaml", f"recipients: [{x25519.Identity.generate().to_public()}]\n")


# config/


def windows_file(it: SetUp) -> None:
    """A byte order mark, and lines that end as in Windows; that is no mistake."""
    text = it.project.read("config/all.yaml").replace("\n", "\r\n")
    it.project.write("config/all.yaml", f"\ufeff{text}")


def tabs(it: SetUp) -> None:
    """A line is indented with a tab."""
    it.project.write("config/all.yaml", it.project.read("config/all.yaml").replace("    auth_url", "\tauth_url", 1))


def other_encoding(it: SetUp) -> None:
    """A file was saved as UTF-16."""
    it.project.write("config/all.yaml", it.project.read("config/all.yaml").encode("utf-16"))


WRONG: list[tuple[Callable[[SetUp], None], str, int, str, str, str]] = [
    (config_of_others, "init", 1, "config/deployment.yaml", "already exists; nothing was written", "move what exists"),
    (file_as_config, "init", 1, "config", "already exists; nothing was written", "or use another directory"),
    (gitignore_of_others, "init new", 1, "new: .gitignore", "already exists; nothing was written", "move what exists"),
    (file_as_github, "init new --github", 1, "new: .github:", "already exists", "move what exists"),
    (mistyped_store, "init new", 1, "--state", "unknown store type gti:", "valid types:"),
    (runner, "init new --github", 1, "--github", "a runner's disk is lost with the job", "git:"),
    (no_repository, "doctor", 1, "git:records", "not a git repository", "run it inside the repository"),
    (no_remote, "doctor", 1, "git:records", "no remote `origin`", "git remote add origin URL"),
    (unreachable_remote, "doctor", 1, "gone.git", "does not appear to be a git repository", "check the network"),
    (repository_of_another_user, "doctor", 1, "git:records", "dubious ownership", "--add safe.directory"),
    (files_of_another_user, "doctor", 0, "state: git cannot be used", "dubious ownership", "--add safe.directory"),
    (detached_head, "doctor", 0, "state:", "HEAD is detached", "switch BRANCH"),
    (shallow_clone, "doctor", 0, "state:", "committed", ""),
    (ignored_record, "doctor", 1, "staging.jsonl", "git ignores this state record (.gitignore:1", "remove that rule"),
    (protected_branch, "state init", 1, "origin.git", "the push failed: protected", "check that the credentials"),
    (file_as_store, "doctor", 1, "staging.jsonl", "Not a directory", "a file is in the place of a directory"),
    (file_as_store, "state init", 1, "staging.jsonl", "Not a directory", "a file is in the place of a directory"),
    (second_record, "state init", 1, "europe/staging in elsewhere", "a record with 1 entry exists", "use it with"),
    (runner, "state init", 1, "elsewhere", "a CI runner's disk is lost with the job", "use a persistent store"),
    (quotes_in_a_variable, "doctor", 1, "STAGING_CLIENT_SECRET", "with quotes, which are part", "remove the quotes"),
    (typographic_quotes, "doctor", 1, "STAGING_CLIENT_SECRET", "in .env, with quotes", "remove the quotes"),
    (half_a_quote, "doctor", 1, ".env:2", "expected NAME=value, with quotes around all", "correct it"),
    (misspelt_region, "doctor", 1, "STAGING_CLIENT_SECRET", "not set", "EUROP_STAGING_CLIENT_SECRET is set"),
    (carriage_return, "doctor", 0, "STAGING_CLIENT_SECRET", "set, in .env", ""),
    (wrong_clock, "doctor", 1, "clock", "ahead of the service's", "set the clock"),
    (recipients_of_others, "doctor", 0, "recipients", "no identity on this machine", "check that someone has"),
    (windows_file, "doctor", 0, "config", "valid", ""),
    (tabs, "doctor", 1, "config/all.yaml:3:1", "cannot start any token", "use spaces to indent, not tabs"),
    (other_encoding, "doctor", 1, "config/all.yaml:1:1", "invalid UTF-8", "save it as UTF-8"),
]  # fmt: skip
"""How a set-up is wrong, what is run, its exit code, and what it says: where, what, and what to do."""


@pytest.mark.parametrize(
    ("spoil", "command", "code", "where", "what", "remedy"),
    WRONG,
    ids=[f"{spoil.__name__}-{command}".replace(" ", "-") for spoil, command, *_ in WRONG],
)
def test_what_is_wrong(
    set_up: SetUp, spoil: Callable[[SetUp], None], command: str, code: int, where: str, what: str, remedy: str
) -> None:
    """It is said in this order, together, and no file of the project is another one afterwards."""
    secret = set_up.project.environment[f"{set_up.variable}CLIENT_SECRET"]
    spoil(set_up)
    before = files(set_up)
    done = set_up.project.step(*command.split(), code=code)
    told = " ".join(f"{done.out}{done.err}".split())
    assert re.search(".*?".join(map(re.escape, (where, what, remedy))), told), told
    assert before == files(set_up)
    assert secret not in told


def files(set_up: SetUp) -> dict[str, bytes | str]:
    """All that the partner has, but for what git keeps for itself."""
    return {name: data for name, data in snapshot(set_up.project.path).items() if not name.startswith(".git/")}
