"""The only package that talks to the lending service.

`api` makes the calls that the service offers, and renews the token after a 401. `tokens` gets a token from its cache or
from the identity provider. `transport` performs one exchange and reports whether the request can have reached the
service. `outcomes` decides from the result whether the call created something, certainly created nothing, or has an
unknown outcome. `redaction` removes secrets from everything that the service sends before it is shown, and selects the
parts of a response that may be stored unencrypted. `probing` examines a server for `doctor`, and never sends a POST.
"""

import sys

# httpx imports its own command line if click and rich are installed, and rich takes longer to load than all the rest.
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
