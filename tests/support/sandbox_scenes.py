"""What the comments on the pages for users ask for: directories to begin in, and what happens besides."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from support.project import Project

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reconciler.sandbox import Sandbox
    from support.pages import Reader

TARGET = "europe/production"
CONFIG = """\
targets:
  europe/production:
    auth_url: https://login.europe.lending.example
    base_url: https://api.europe.lending.example
    audience_base: https://api.europe.lending.example
    vars:
      hooks: https://hooks.partner.example
"""
SUBSCRIPTIONS = """\
subscriptions:
  europe/production:
    loans:
      eventCodes: [LOA10013]
      webhookUrl: "{hooks}/loans"
    offers:
      eventCodes: [ONB10011]
      webhookUrl: "{hooks}/offers"
"""
PROTECTED = """\
#!/bin/sh
if [ -e protected ]; then echo "Changes must be made through a pull request." >&2; exit 1; fi
"""
SOMEBODY = ("-c", "user.name=Somebody", "-c", "user.email=somebody@partner.example", "-c", "init.defaultBranch=main")


class Scenes:
    """Scenes in directories of their own below `path`; the service is the sandbox, which has one target."""

    def __init__(self, path: Path, sandbox: Sandbox) -> None:
        self.path = path
        self.home = path / "home"
        self.sandbox = sandbox
        self.origin = path
        self.count = 0
        target = sandbox.world.targets[TARGET]
        self.names = {
            "https://login.europe.lending.example": target.provider.auth_url,
            "https://api.europe.lending.example": target.base_url,
        }
        self.directions: Mapping[str, Callable[[Reader], object]] = {
            "an empty directory": self.empty,
            "two subscriptions to create": self.planned,
            "two subscriptions in force": self.applied,
            "two subscriptions in force, in a repository": self.committed,
            "two subscriptions to create, the record on a branch": self.planned_on_branch,
            "two subscriptions in force, the record on a branch": self.applied_on_branch,
            "the branch is set back, and somebody adds to it": self.set_back,
            "two subscriptions in force, with a key": self.encrypted,
            "the response to the next create is lost": partial(self.fault, "reset-after"),
            "the next create does not arrive": partial(self.fault, "reset-before"),
            "the branch is protected while a create is under way": self.protect,
            "the branch is no longer protected": lambda _: self.origin.joinpath("protected").unlink(),
            "the record is deleted": lambda reader: self.journal(reader).unlink(),
            "the remote is away": lambda _: self.origin.rename(self.path / "away.git"),
            "the remote is back": lambda _: (self.path / "away.git").rename(self.origin),
            "the client secret is rotated": partial(self.rotate, client_id=False),
            "the account is replaced": partial(self.rotate, client_id=True),
            "another clone has created agreements": self.diverge,
            "the key is lost": self.lose_key,
            "the old recipient is removed": lambda reader: reader.project.write(
                "config/targets.yaml", f"{CONFIG}recipients:\n"
            ),
            "two subscriptions in force, with a key that is replaced in time": self.replaced_key,
            "two subscriptions in force, one at a misspelt URL": self.misspelt,
            "two subscriptions in force, one replaced by a wrong URL": self.misdirected,
            "two subscriptions in force, and one more to create": self.one_more,
            "two subscriptions in force, copied to records": self.copied,
            "two subscriptions in force, of which the one that is not wanted was recorded as removed, and the other"
            " deleted": self.wrong_one_deleted,
            "ten minutes pass": self.wait,
        }

    def fault(self, name: str, reader: Reader) -> None:
        self.sandbox.world.fail_next(name)

    def wait(self, reader: Reader) -> None:
        reader.later = 600

    # Directories

    def empty(self, reader: Reader) -> None:
        self.count += 1
        environment = {**reader.project.environment}
        environment.pop("RECONCILER_STATE", None)
        reader.later = 0
        reader.project = Project(self.home / f"hooks{self.count}", environment)
        reader.names["/home/partner/hooks"] = str(reader.project.path)

    def planned(self, reader: Reader, *, begin: bool = True) -> None:
        self.empty(reader)
        target = self.sandbox.world.targets[TARGET]
        self.issue(target.client_id, target.client_secret)
        reader.project.environment |= dict(self.sandbox.variables())
        reader.project.write("config/targets.yaml", CONFIG)
        reader.project.write("config/subscriptions.yaml", SUBSCRIPTIONS)
        if begin:
            self.step(reader, "state", "init")

    def applied(self, reader: Reader) -> None:
        self.planned(reader)
        self.step(reader, "apply", "--auto-approve")

    def committed(self, reader: Reader) -> None:
        self.applied(reader)
        self.repository(reader)

    def planned_on_branch(self, reader: Reader) -> None:
        self.planned(reader, begin=False)
        self.repository(reader)
        reader.project.environment["RECONCILER_STATE"] = "git:reconciler-state"
        self.step(reader, "state", "init")

    def applied_on_branch(self, reader: Reader) -> None:
        self.planned_on_branch(reader)
        self.step(reader, "apply", "--auto-approve", "--unsealed")

    def encrypted(self, reader: Reader) -> None:
        shutil.rmtree(self.identities, ignore_errors=True)
        self.planned(reader)
        self.use_new_key(reader, "other")
        self.step(reader, "apply", "--auto-approve")
        reader.project.write("new-secret", "whsec-2\n")

    def replaced_key(self, reader: Reader) -> None:
        self.encrypted(reader)
        (key,) = self.identities.glob("*.txt")
        key.rename(self.home / "old-key.txt")
        self.use_new_key(reader, "new")

    @property
    def identities(self) -> Path:
        return self.home / ".local" / "share" / "reconciler" / "identities"

    def misspelt(self, reader: Reader) -> None:
        self.planned(reader)
        reader.project.write("config/subscriptions.yaml", SUBSCRIPTIONS.replace("/offers", "/offres"))
        self.step(reader, "apply", "--auto-approve")

    def misdirected(self, reader: Reader) -> None:
        self.applied(reader)
        reader.project.write("config/subscriptions.yaml", SUBSCRIPTIONS.replace("/offers", "/offres"))
        self.step(reader, "apply", "--auto-approve")

    def one_more(self, reader: Reader) -> None:
        self.applied(reader)
        more = SUBSCRIPTIONS.replace("loans", "leads").replace("LOA10013", "ONB10001").partition("    offers")[0]
        reader.project.write("config/leads.yaml", more)
        reader.project.write("new-secret", "whsec-2\n")

    def wrong_one_deleted(self, reader: Reader) -> None:
        self.applied(reader)
        reader.project.write("config/subscriptions.yaml", SUBSCRIPTIONS.partition("    offers")[0])
        self.step(reader, "apply", "--auto-approve")
        newest = [one for one in self.sandbox.world.subscriptions() if one.codes == ("LOA10013",)][-1]
        self.sandbox.world.remove_subscription(newest.id)
        self.step(reader, "state", "removed", f"{TARGET}/offers")

    def copied(self, reader: Reader) -> None:
        self.applied(reader)
        self.step(reader, "state", "copy", "state", "records")

    # What happens

    def rotate(self, reader: Reader, *, client_id: bool) -> None:
        """The operator issues another secret, or another account; the token that was cached has expired."""
        client = "partner-2" if client_id else self.sandbox.world.targets[TARGET].client_id
        self.issue(client, "s3cr3t")
        shutil.rmtree(self.home / ".cache" / "reconciler" / "tokens", ignore_errors=True)

    def issue(self, client: str, secret: str) -> None:
        """Let only these credentials be valid."""
        clients: Any = self.sandbox.world.targets[TARGET].provider.clients
        clients.clear()
        clients[client] = secret

    def protect(self, reader: Reader) -> None:
        commit = self.sandbox.world.commit_subscription

        def commit_and_protect(*arguments: Any) -> Any:
            self.origin.joinpath("protected").touch()
            self.sandbox.world.commit_subscription = commit  # type: ignore[method-assign]
            return commit(*arguments)

        self.sandbox.world.commit_subscription = commit_and_protect  # type: ignore[method-assign, assignment]

    def diverge(self, reader: Reader) -> None:
        """Another clone creates one more subscription and pushes its record, while this one creates another."""
        here = reader.project
        there = Project(Path(shutil.copytree(here.path, self.path / "clone")), {**here.environment})
        there.environment["RECONCILER_CACHE_DIR"] = str(self.path / "cache")
        for project, name, code in ((there, "agreements", "ONB10003"), (here, "leads", "ONB10001")):
            more = f"    {name}:\n      eventCodes: [{code}]\n      webhookUrl: https://hooks.partner.example/{name}\n"
            project.write(f"config/{name}.yaml", f"subscriptions:\n  {TARGET}:\n{more}")
            project.before_steps = ""
            project.step("apply", "--auto-approve")
            git(project.path, "add", ".")
            git(project.path, "commit", "-q", "-m", f"Create {name}")
        git(there.path, "push", "-q")

    def set_back(self, reader: Reader) -> None:
        """The last commit of the branch is gone, and on another machine somebody goes on from the one before it."""
        git(self.origin, "update-ref", "refs/heads/reconciler-state", "reconciler-state~1")
        there = Project(reader.project.path, {**reader.project.environment})
        there.environment["RECONCILER_CACHE_DIR"] = str(self.path / "another-cache")
        there.step("state", "resolve", f"{TARGET}/*", "--created", "--force", "--note", "the operator sees it")

    def lose_key(self, reader: Reader) -> None:
        for path in self.identities.iterdir():
            path.unlink()

    # What they are made of

    def use_new_key(self, reader: Reader, directory: str) -> None:
        self.step(reader, "init", directory, "--age-key")
        keys = (
            reader.project.read(f"{directory}/config/targets.yaml").partition("\nrecipients:")[2].partition("\n\n")[0]
        )
        reader.project.write("config/targets.yaml", f"{CONFIG}recipients:{keys}\n")

    def step(self, reader: Reader, *arguments: str) -> None:
        reader.project.before_steps = ""
        reader.project.step(*arguments)

    def journal(self, reader: Reader) -> Path:
        return reader.project.path / "state" / f"{TARGET}.jsonl"

    def repository(self, reader: Reader) -> None:
        """Have the project in a repository that was pushed."""
        here = reader.project.path
        self.origin = self.path / f"{here.name}.git"
        reader.names["https://git.partner.example/hooks.git"] = str(self.origin)
        git(self.path, "init", "-q", "--bare", str(self.origin))
        hook = self.origin / "hooks" / "pre-receive"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(PROTECTED)
        hook.chmod(0o700)
        git(here, "init", "-q")
        git(here, "add", ".")
        git(here, "commit", "-q", "-m", "Begin")
        git(here, "remote", "add", "origin", str(self.origin))
        git(here, "push", "-q", "-u", "origin", "HEAD")


def git(directory: Path, *arguments: str) -> None:
    """Run git in a directory."""
    subprocess.run(["git", *SOMEBODY, *arguments], cwd=directory, check=True, env=os.environ, capture_output=True)
