"""A development receiver for notifications, which stands in for a partner's endpoint.

Its core is `Receiver.handle(request) -> response`; `shell` puts it behind a socket of 127.0.0.1. A notification is
answered with a 2xx after it was appended to a capture file, durably; simultaneous appends share one sync.

With an `endpoint.Endpoint`, each is passed on after that, and answered as the endpoint answers: its status decides
whether the service delivers again. `selection` says which of the captured ones are to be sent again.

The capture file is JSON Lines, UTF-8, one object for each request that was confirmed or passed on, or refused only
because of its signature: that one may be the only evidence of a subscription whose secret was lost. A partner's own
endpoint can write the same format:

================  ========================================================================================
`at`              when it was received: UTC, ISO 8601 with a trailing Z
`body`            the body, as received; `body_base64` instead if it is not UTF-8
`path`            path and query it was sent to; `/` where that is left out
`url`             the whole URL, from the Host header (and X-Forwarded-Proto); null without one
`headers`         name -> value as received; the values of Authorization, Proxy-Authorization and Cookie are left out
`header_list`     [name, value] in the order sent; left out if `headers` has each name once as it was sent
`verified`        whether the signature was valid; null if it was not checked
`duplicate`       whether the same body was saved for the same path before
`confirmed`       false if it was refused; left out otherwise
================  ========================================================================================

Only `at` and a body are required; other fields are ignored. What follows the last newline may be an interrupted write:
readers ignore it if it cannot be read, and the next append removes it.

Nothing here is shared with `reconciler.service`: the receiver is given the function that checks a signature.

What this package exports is for an endpoint's own code, which RECEIVER.md explains.
"""

from typing import TYPE_CHECKING, Any

from reconciler.model.desired import Verification
from reconciler.receiver.verifier import BadSignature, NotANotification, RequestRefused, Verifier, read_verification

if TYPE_CHECKING:
    from reconciler.notifications.notification import Notification

__all__ = [
    "BadSignature",
    "NotANotification",
    "Notification",
    "RequestRefused",
    "Verification",
    "Verifier",
    "read_verification",
]


def __getattr__(name: str) -> Any:
    """`Notification`, loaded when it is first asked for: its library takes longer than all else here."""
    if name != "Notification":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from reconciler.notifications.notification import Notification  # noqa: PLC0415

    return Notification
