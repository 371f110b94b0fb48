"""The lending service, played on loopback (SERVICE.md, sections 4 to 8), and what can go wrong with it.

`handle(request) -> response` is all there is to it; `shell` puts it behind a socket. What that page leaves open
is decided here, and said where it is: error bodies, the answer to a create, how notifications are signed. It
shares no code with `reconciler.service`, so that each checks the other.
"""

from __future__ import annotations

from reconciler.sandbox.sandbox import Sandbox

__all__ = ["Sandbox"]
