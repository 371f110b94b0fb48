"""A receiver for notifications, and a verifier for a partner's own endpoint; RECEIVER.md documents the public names.

`listen` stands in for a partner's endpoint during development: `receiver.Receiver.handle(request) -> response`, behind
a socket of 127.0.0.1. A notification is answered with a 2xx after it was appended to a capture file, durably. It shares
nothing with `reconciler.service`.
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
