"""All drills, in the order in which one would take them."""

from reconciler.operations.drills import accounts, deliveries, outcomes
from reconciler.operations.drills.drill import Drill

DRILLS = {
    drill.name: drill
    for drill in (
        Drill("lost-answer", "the connection closes before the service answers a create", outcomes.lost_answer, 1),
        Drill("killed-runner", "the machine is switched off during an apply", outcomes.killed_runner, 2),
        Drill("unrecorded-outcome", "the record is write-protected during an apply", outcomes.unrecorded_outcome, 1),
        Drill("full-disk", "the disk is full when a create is to be recorded", outcomes.full_disk, 1),
        Drill("restored-backup", "an old backup of the record was restored", outcomes.restored_backup, 1),
        Drill(
            "two-histories",
            "two clones have each applied to their own copy of the record",
            deliveries.two_histories,
            1,
            deliveries.histories_are_one,
        ),
        Drill(
            "wrong-account",
            "the credentials are those of another account",
            accounts.wrong_account,
            1,
            accounts.still_the_same_account,
        ),
        Drill("rotated-secret", "the client secret was rotated", accounts.rotated_secret, 1),
        Drill(
            "lost-age-key",
            "the key that the secrets are encrypted to is lost",
            accounts.lost_age_key,
            3,
            accounts.secrets_are_readable,
        ),
        Drill(
            "swapped-url",
            "the URLs of two subscriptions are swapped",
            deliveries.swapped_url,
            3,
            deliveries.urls_are_right,
        ),
        Drill("wrong-one-deleted", "the operator deletes the wrong subscription", deliveries.wrong_one_deleted, 3),
        Drill(
            "endpoint-down",
            "the endpoint is down when an event happens",
            deliveries.endpoint_down,
            2,
            deliveries.notification_was_kept,
        ),
    )
}
"""By name."""
