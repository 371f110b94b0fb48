"""A development receiver for notifications: a partner's endpoint, as far as the service can tell.

`Receiver.handle(request) -> response` is all there is to it; `shell` puts it behind a socket of 127.0.0.1. A
notification is answered with a 2xx only after it was appended to a capture file, durably; each append waits for the
disk together with those that gather meanwhile.

The capture file is JSON Lines, UTF-8, one object for each notification that was confirmed, or refused for its signature
alone: that one may be the only evidence of a subscription whose secret nobody has. A partner's own endpoint can write
the same:

================  ========================================================================================
`at`              when it was received: UTC, ISO 8601 with a trailing Z
`body`            the body, as text, to the letter; where it is not UTF-8, `body_base64` stands instead
`path`            path and query it was sent to; `/` where that is left out
`url`             the whole URL, as far as the Host header (and X-Forwarded-Proto) told it; or null
`headers`         name -> value as received; the values of Authorization, Proxy-Authorization and Cookie are left out
`verified`        whether the signature was right; null where that was not looked at
`duplicate`       whether the same body came to the same path before, and was confirmed
`confirmed`       false where it was refused all the same; left out otherwise
================  ========================================================================================

`at` and a body are all that must be there; fields that are not listed are passed over. What follows the last newline
may be a torn write: readers leave it out if it cannot be read, and the next append cuts it off.

Nothing here is shared with `reconciler.service` or `reconciler.sandbox`: verifying a signature is a function that the
receiver is given.
"""

from __future__ import annotations

from reconciler.receiver.capture_file import CaptureFile
from reconciler.receiver.captured import Captured, captured_in, parse_captured
from reconciler.receiver.exchange import Request, Response
from reconciler.receiver.receiver import Behaviour, Delivery, Receiver, Signature
from reconciler.receiver.shell import Server

__all__ = [
    "Behaviour",
    "CaptureFile",
    "Captured",
    "Delivery",
    "Receiver",
    "Request",
    "Response",
    "Server",
    "Signature",
    "captured_in",
    "parse_captured",
]
