"""A local stand-in for the lending service (service description, sections 4 to 8), with faults to inject.

Its core is a state machine, `World`, and `Service.handle(request) -> response` over it, with clock and randomness as
arguments; `Sandbox` puts them behind a socket and delivers. What is not documented was decided here, and the docstrings
say so: error bodies, the response to a create, how notifications are signed. It shares no code with
`reconciler.service`, so that each checks the other.
"""

from reconciler.sandbox.sandbox import Sandbox

__all__ = ["Sandbox"]
