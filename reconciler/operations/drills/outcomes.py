"""Drills about creates whose outcome is not where it should be."""

import resource
import shutil

from reconciler.errors import Refused
from reconciler.operations.drills.scene import TARGET, Scene

_PROTECTED = """\
#!/bin/sh
if [ -e protected ]; then echo "Changes must be made through a pull request." >&2; exit 1; fi
"""


def lost_answer(scene: Scene) -> str:
    """A create is processed, and its answer is lost."""
    scene.begin("loans")
    scene.declare("loans", "offers")
    scene.sandbox.world.fail_next("reset-after")
    scene.run("apply", "--auto-approve")
    return (
        "You added `offers`, and the connection closed before the service answered. Find out whether the "
        "subscription exists, and resolve its create. Its secret was in the lost answer, and its endpoint needs it."
    )


def killed_runner(scene: Scene) -> str:
    """An apply is killed after an intent is recorded, and before its call is sent."""
    scene.begin("loans")
    scene.declare("loans", "offers")
    points = "send_window=2,margin=1,before-send:1:kill"
    scene.run("--timeout", "2", "apply", "--auto-approve", failpoint=points)
    return (
        "You added `offers`. The machine that ran the apply was switched off during the apply, so its output "
        "ends here. Find out whether the subscription exists, and finish the change."
    )


def unrecorded_outcome(scene: Scene) -> str:
    """The store refuses what is appended after a create was sent."""
    origin = scene.elsewhere / "hooks.git"
    scene.git("init", "-q", "--bare", str(origin), at=scene.elsewhere)
    hook = origin / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(_PROTECTED, encoding="utf-8")
    hook.chmod(0o755)
    scene.git("init", "-q")
    scene.git("remote", "add", "origin", str(origin))
    scene.begin("loans", settings="RECONCILER_STATE=git:reconciler-state\n")
    scene.declare("loans", "offers")
    with scene.during_create("apply", "--auto-approve", "--unsealed"):
        (origin / "protected").touch()
    (origin / "protected").unlink()
    return (
        "The record is on the branch reconciler-state of a repository. While `offers` was being created, that "
        "branch was protected. The protection has been removed again. Complete the record."
    )


def full_disk(scene: Scene) -> str:
    """The journal cannot grow after a create was sent."""
    if not hasattr(resource, "prlimit"):
        raise Refused("this drill needs Linux: elsewhere no running program can be given a limit")
    scene.begin("loans", "leads")
    scene.declare("loans", "leads", "offers")
    with scene.during_create("apply", "--auto-approve") as apply:
        size = scene.journal.stat().st_size
        resource.prlimit(apply.pid, resource.RLIMIT_FSIZE, (size, size))
    return (
        "The disk was full when the service answered the create of `offers`. It has free space again. Complete "
        "the record. (The drill fills no disk: it limits the size of files, as `ulimit -f` does, so the error above is "
        "that of the limit.)"
    )


def restored_backup(scene: Scene) -> str:
    """The record is one from before the last create; a newer copy exists."""
    scene.begin("loans")
    shutil.copytree(scene.project / "state", scene.elsewhere / "backup")
    scene.declare("loans", "offers")
    scene.quietly("apply", "--auto-approve")
    shutil.copytree(scene.project / "state", scene.project / "laptop" / "state")
    shutil.rmtree(scene.project / "state")
    shutil.copytree(scene.elsewhere / "backup", scene.project / "state")
    scene.run("plan")
    return (
        "The disk failed, and the directory was restored from last night's backup. `offers` was created this "
        "morning. After that, a colleague had copied the project to a laptop; the copy of its record is "
        f"`laptop/state/{TARGET}.jsonl`. Complete the record."
    )
