"""A receiver of notifications, and a verifier for a partner's own endpoint. RECEIVER.md documents the public names.

`listen` stands in for a partner's endpoint during development: it serves `Receiver.handle(request) -> response` on
127.0.0.1. A notification gets a 2xx only after it has been durably appended to a capture file. The package shares no
code with `reconciler.service`.
"""

from reconciler.model.desired import Verification
from reconciler.notifications.notification import NotANotification, Notification, RequestRefused
from reconciler.receiver.verifier import BadSignature, Verifier, attempt_of

__all__ = [
    "BadSignature",
    "NotANotification",
    "Notification",
    "RequestRefused",
    "Verification",
    "Verifier",
    "attempt_of",
]
