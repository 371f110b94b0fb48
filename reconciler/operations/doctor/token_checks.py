"""Whether there is an access token for each target."""

from reconciler.model.desired import Target
from reconciler.model.result import Finding
from reconciler.operations.doctor.found import attempted, ok, skipped
from reconciler.operations.doctor.jobs import Checked, Job
from reconciler.service.credentials import Credentials
from reconciler.service.tokens import Tokens

_CHECK = "token"
_API = "notification"


def token_job(tokens: Tokens, target: Target, credentials: Credentials | None) -> Job:
    """Get a token for a target, from the cache if there is one."""

    def find() -> list[Finding]:
        if credentials is None:
            return [skipped(_CHECK, target.name, "its credentials are not set")]
        is_new = tokens.is_new(target, credentials, _API)
        return [ok(_CHECK, target.name, "requested" if is_new else "in the cache")]

    return lambda: Checked(attempted(_CHECK, target.name, find))
