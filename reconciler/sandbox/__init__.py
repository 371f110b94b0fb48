"""A local stand-in for the lending service (service description, sections 4 to 8), with faults to inject.

`World` is a state machine that takes the clock and the source of randomness as arguments. `Service` answers requests to
it: `Service.handle(request) -> response`. `Sandbox` serves it on a socket and delivers notifications. Where the service
is undocumented (error bodies, the response to a create, the signature of notifications), the docstrings state what the
sandbox does instead. The sandbox shares no code with `reconciler.service`, so that each can test the other.
"""

from reconciler.sandbox.sandbox import Sandbox

__all__ = ["Sandbox"]
