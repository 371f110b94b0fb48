"""A local stand-in for the lending service (SERVICE.md, sections 4 to 8), with faults to inject.

Its core is `handle(request) -> response`; `shell` puts it behind a socket. What that page does not document was decided
here, and the docstrings say so: error bodies, the response to a create, how notifications are signed. It shares no code
with `reconciler.service`, so that each checks the other.
"""

from reconciler.sandbox.sandbox import Sandbox

__all__ = ["Sandbox"]
