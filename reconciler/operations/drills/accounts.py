"""Drills about credentials and keys."""

import secrets
import shutil
from typing import Any

from reconciler.operations.drills.finding import Finding, Kind, Section
from reconciler.operations.drills.scene import TARGET, Scene


def wrong_account(scene: Scene) -> str:
    """The credentials are valid, and those of another account."""
    scene.begin("loans")
    scene.declare("loans", "offers")
    account = scene.account
    scene.give_credentials(account.client_id, account.client_secret, "vault.env")
    clients: Any = scene.account.provider.clients
    clients["another-partner"] = secrets.token_urlsafe()
    scene.give_credentials("another-partner", clients["another-partner"])
    scene.run("apply", "--auto-approve")
    return (
        "You added `offers`. The credentials in `.env` were replaced by those of another account of your "
        "company, which must not have any subscriptions. Those of the right account are in `vault.env`. Create "
        "`offers`."
    )


def still_the_same_account(scene: Scene) -> list[Finding]:
    """The record was bound to its account by the first apply, and never to another."""
    lines = scene.journal.read_text(encoding="utf-8") if scene.journal.exists() else ""
    if lines.count('"kind":"bound"') == 1:
        return []
    return [Finding(Kind.OPEN, "the record was bound to the other account", Section.ROTATED_SECRET)]


def rotated_secret(scene: Scene) -> str:
    """The service no longer takes the client secret, nor the token that is cached."""
    scene.begin("loans")
    scene.declare("loans", "offers")
    clients: Any = scene.account.provider.clients
    clients[scene.account.client_id] = secrets.token_urlsafe()
    for token in list(scene.sandbox.world.tokens):
        scene.sandbox.world.revoke_token(token)
    scene.give_credentials(scene.account.client_id, clients[scene.account.client_id], "vault.env")
    scene.run("apply", "--auto-approve")
    return (
        "You added `offers`, and the operator has rotated the client secret overnight. The new one is in "
        "`vault.env`. Create `offers`."
    )


def lost_age_key(scene: Scene) -> str:
    """The private key of the only recipient is gone."""
    scene.declare("loans", "offers")
    scene.quietly("init", str(scene.elsewhere / "first"), "--age-key", "--region", "europe")
    first = (scene.elsewhere / "first" / "config" / "targets.yaml").read_text(encoding="utf-8")
    key = next(line.strip(" -") for line in first.splitlines() if line.strip().startswith("- age1"))
    targets = (scene.project / "config" / "targets.yaml").read_text(encoding="utf-8")
    scene.write("config/targets.yaml", f"{targets}recipients:\n  - {key}\n")
    scene.begin()
    shutil.rmtree(scene.identities)
    scene.run("secret", "show", f"{TARGET}/offers")
    return (
        "The responses of the service, with the secrets of the subscriptions, are encrypted to one age key, and "
        "its private key is lost. Both endpoints verify signatures and need their secrets: ask the operator for "
        "them, and record them encrypted to a new key."
    )


def no_project_is_left(scene: Scene) -> list[Finding]:
    """No second `config/` is in the project, which `init` wrote beside the new key."""
    others = [path.parent for path in scene.project.rglob("config/targets.yaml")]
    names = [f"{path.parent.relative_to(scene.project)}/" for path in others if path.parent != scene.project]
    return [Finding(Kind.OPEN, f"{name} is left over; delete it", Section.LOST_KEY) for name in names]
