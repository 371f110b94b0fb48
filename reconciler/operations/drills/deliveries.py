"""Drills about subscriptions that exist and should not, or deliver where nobody listens."""

import shutil
import socket
import time
from collections import Counter
from datetime import UTC, datetime

from reconciler.operations.drills.finding import PAGE, Finding, Kind, Section
from reconciler.operations.drills.scene import CODES, HOOKS, TARGET, Scene
from reconciler.sandbox.deliveries import ATTEMPTS


def swapped_url(scene: Scene) -> str:
    """What is in force delivers to the wrong endpoints."""
    scene.declare("loans", "offers", loans=f"{HOOKS}/offers", offers=f"{HOOKS}/loans")
    scene.begin()
    scene.run("status")
    return (
        "The URLs of `loans` and `offers` were swapped in config/, and both were created a minute ago. Correct "
        f"this: {CODES['loans']} belongs to {HOOKS}/loans, {CODES['offers']} to {HOOKS}/offers."
    )


def urls_are_right(scene: Scene) -> list[Finding]:
    """Whether each code goes to the endpoint of its name."""
    there = {(code, one.url) for one in scene.sandbox.world.subscriptions() for code in one.codes}
    right = {(CODES[name], f"{HOOKS}/{name}") for name in ("loans", "offers")}
    sentences = [f"{code} is not delivered to {url}" for code, url in sorted(right - there)]
    sentences += [f"{code} is still delivered to {url}" for code, url in sorted(there - right)]
    return [Finding(Kind.OPEN, sentence, Section.WRONG_URL) for sentence in sentences]


def wrong_one_deleted(scene: Scene) -> str:
    """What awaits removal is still there, and what is wanted is not."""
    scene.begin("loans", "offers")
    scene.declare("loans")
    scene.run("apply", "--auto-approve")
    loans = next(one for one in scene.sandbox.world.subscriptions() if one.codes == (CODES["loans"],))
    scene.sandbox.world.remove_subscription(loans.id)
    return (
        "You asked the operator to delete `offers`. They answered that they have deleted the webhook "
        "subscription of `loans`, by mistake. Correct this: `loans` must exist, and `offers` must not. The record "
        "does not know it: for `plan` and `status`, `loans` is live. If the operator has deleted one that is live: "
        f'`reconciler state removed ADDRESS`; see {PAGE}, "{Section.WRONG_ONE}".'
    )


def two_histories(scene: Scene) -> str:
    """Two clones have both created, each with a record in its own working tree."""
    scene.begin("loans")
    origin, colleague = scene.elsewhere / "hooks.git", scene.elsewhere / "colleague"
    scene.write(".gitignore", ".env\n")
    scene.git("init", "-q", "--bare", str(origin), at=scene.elsewhere)
    scene.git("init", "-q")
    scene.git("add", ".")
    scene.git("commit", "-q", "-m", "Begin")
    scene.git("remote", "add", "origin", str(origin))
    scene.git("push", "-q", "-u", "origin", "HEAD")
    shutil.copytree(scene.project, colleague)
    for place, name in ((colleague, "agreements"), (scene.project, "leads")):
        config = place / "config" / f"{name}.yaml"
        config.write_text(
            f"subscriptions:\n  {TARGET}:\n    {name}:\n      eventCodes: [{CODES[name]}]\n"
            f"      webhookUrl: {HOOKS}/{name}\n",
            encoding="utf-8",
        )
        scene.quietly("--cache-dir", str(scene.elsewhere / name), "apply", "--auto-approve", project=place)
        scene.git("add", ".", at=place)
        scene.git("commit", "-q", "-m", f"Create {name}", at=place)
    scene.git("push", "-q", at=colleague)
    scene.git("config", "user.name", "Drill")
    scene.git("config", "user.email", "drill@partner.example")
    return (
        "The record is a directory of the repository. A colleague has added and applied `agreements` in another "
        "clone, and pushed it. You have added and applied `leads` here, and committed it, but the push was "
        "rejected. Start with `git pull --no-rebase`. Merge both into one record, and push it."
    )


def histories_are_one(scene: Scene) -> list[Finding]:
    """Whether the remote has what is here, and nothing is left to commit."""
    if changed := scene.git("status", "--porcelain").splitlines():
        names = ", ".join(line[3:] for line in changed)
        return [Finding(Kind.OPEN, f"not committed, or left over: {names}", Section.SEVERAL_CLONES)]
    if scene.git("rev-parse", "HEAD") != scene.git("rev-parse", "@{upstream}"):
        return [Finding(Kind.OPEN, "the merge is not pushed", Section.SEVERAL_CLONES)]
    return []


def endpoint_down(scene: Scene) -> str:
    """Nothing listens where a notification is being delivered."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    scene.declare("offers", offers=f"http://127.0.0.1:{port}/offers")
    scene.begin()
    scene.sandbox.deliveries.trigger(CODES["offers"], None, TARGET, 1)
    last = datetime.fromtimestamp(time.time() + 3 * scene.retry_interval, UTC).isoformat(timespec="seconds")
    return (
        f"Your endpoint for `offers`, http://127.0.0.1:{port}/offers, is down, and an event has just happened. "
        f"The service could not deliver it. It retries 3 times, {scene.retry_interval:g} seconds apart, the last time "
        f"at {last.removesuffix('+00:00')}Z; after that the notification is lost. Receive it in time, and record it as "
        "evidence that the subscription delivers. For more time, start this drill with `--retry-interval 60`."
    )


def notification_was_kept(scene: Scene) -> list[Finding]:
    """Whether the notification was accepted in the end, and one is recorded as evidence."""
    attempts = scene.sandbox.world.delivery_attempts
    begun = Counter((one.code, one.url) for one in attempts if one.number == 1)
    accepted = Counter((one.code, one.url) for one in attempts if one.status in range(200, 300))
    failed = [one for one in attempts if one.status not in range(200, 300)]
    given_up = Counter((one.code, one.url) for one in failed if one.number == ATTEMPTS)
    why = f"it was lost after {ATTEMPTS - 1} retries; --retry-interval 60 leaves more time"
    found = [(Kind.LOST, f"{_notification(route)}: {why}") for route in given_up]
    pending = begun - accepted - given_up
    found += [(Kind.OPEN, f"{_notification(route)}; the service still retries") for route in pending]
    if '"kind":"observed"' not in (scene.journal.read_text(encoding="utf-8") if scene.journal.exists() else ""):
        found.append((Kind.OPEN, "no notification is recorded as evidence"))
    return [Finding(kind, sentence, Section.ENDPOINT_DOWN) for kind, sentence in found]


def _notification(route: tuple[str, str]) -> str:
    return f"the notification of {route[0]} for {route[1]} was not received"
