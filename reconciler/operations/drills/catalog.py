"""All drills, in the order in which one would take them."""

from reconciler.operations.drills import accounts, deliveries, outcomes
from reconciler.operations.drills.drill import Drill
from reconciler.operations.drills.finding import Section
from reconciler.operations.drills.scene import TARGET

_LOANS, _OFFERS = f"{TARGET}/loans", f"{TARGET}/offers"
_NEW_CREDENTIALS = ("cp vault.env .env", "reconciler apply")

_DRILLS = (
    Drill(
        "lost-answer",
        "the connection closes before the service answers a create",
        Section.UNKNOWN_OUTCOME,
        outcomes.lost_answer,
        (
            "operator",
            f"reconciler state resolve {_OFFERS} --created",
            f"operator secret ID | reconciler secret set {_OFFERS}",
        ),
    ),
    Drill(
        "killed-runner",
        "the machine is switched off during an apply",
        Section.UNKNOWN_OUTCOME,
        outcomes.killed_runner,
        (
            "operator",
            "# wait until the time that `reconciler plan` names",
            f"reconciler state resolve {_OFFERS} --not-created",
            "reconciler apply",
        ),
    ),
    Drill(
        "unrecorded-outcome",
        "the record is write-protected during an apply",
        Section.NOT_RECORDED,
        outcomes.unrecorded_outcome,
        ("reconciler state recover FILE",),
    ),
    Drill(
        "full-disk",
        "the disk is full when a create is to be recorded",
        Section.NOT_RECORDED,
        outcomes.full_disk,
        ("reconciler state recover FILE",),
    ),
    Drill(
        "restored-backup",
        "an old backup of the record was restored",
        Section.LOST_RECORD,
        outcomes.restored_backup,
        (f"reconciler state recover laptop/state/{TARGET}.jsonl",),
    ),
    Drill(
        "two-histories",
        "two clones have each applied to their own copy of the record",
        Section.SEVERAL_CLONES,
        deliveries.two_histories,
        (
            "git pull --no-rebase",
            "git -C state/europe checkout --ours production.jsonl",
            "git -C state/europe show :3:./production.jsonl >theirs.jsonl",
            "reconciler state recover theirs.jsonl",
            "rm theirs.jsonl",
            "git add state && git commit -m 'Merge the records' && git push",
        ),
        deliveries.histories_are_one,
        "the record is committed and pushed",
    ),
    Drill(
        "wrong-account",
        "the credentials are those of another account",
        Section.ROTATED_SECRET,
        accounts.wrong_account,
        _NEW_CREDENTIALS,
        accounts.still_the_same_account,
        "the record still belongs to the right account",
    ),
    Drill(
        "rotated-secret",
        "the client secret was rotated",
        Section.ROTATED_SECRET,
        accounts.rotated_secret,
        _NEW_CREDENTIALS,
    ),
    Drill(
        "lost-age-key",
        "the key that the secrets are encrypted to is lost",
        Section.LOST_KEY,
        accounts.lost_age_key,
        (
            "reconciler init new-key --age-key --region europe",
            "# delete the line of the lost key, the last one, from config/targets.yaml",
            "grep age1 new-key/config/targets.yaml >>config/targets.yaml",
            "rm -r new-key",
            f"operator secret ID | reconciler secret set {_LOANS}",
            f"operator secret ID | reconciler secret set {_OFFERS}",
        ),
        accounts.no_project_is_left,
        "the project that the new key came with is deleted",
    ),
    Drill(
        "swapped-url",
        "the URLs of two subscriptions are swapped",
        Section.WRONG_URL,
        deliveries.swapped_url,
        (
            "# exchange the URLs in config/subscriptions.yaml",
            "reconciler apply",
            "operator delete ID ID",
            f"reconciler state removed -t {TARGET} --attempt ID --attempt ID",
        ),
        deliveries.urls_are_right,
        "each event code goes to its own URL",
    ),
    Drill(
        "wrong-one-deleted",
        "the operator deletes the wrong subscription",
        Section.WRONG_ONE,
        deliveries.wrong_one_deleted,
        (
            f"reconciler state removed {_LOANS} --force",
            "reconciler apply",
            "operator delete ID",
            f"reconciler state removed {_OFFERS}",
        ),
    ),
    Drill(
        "endpoint-down",
        "the endpoint is down when an event happens",
        Section.ENDPOINT_DOWN,
        deliveries.endpoint_down,
        (
            "# use the port of the endpoint in place of 8080",
            "reconciler listen --port 8080 --record notifications.jsonl",
            "# when the notification has arrived, press Ctrl-C",
            "reconciler state observe notifications.jsonl",
        ),
        deliveries.notification_was_kept,
        "the notification is received and recorded",
    ),
)

DRILLS = {drill.name: drill for drill in _DRILLS}
"""By name."""
