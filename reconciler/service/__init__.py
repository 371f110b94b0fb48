"""The only room that talks to the lending service.

A call goes down through `api` (the calls that the service offers, and the new token after a 401), `tokens` (a token
from `token_cache` or from the identity provider) and `transport` (one exchange, and whether its request can have
reached the service). Its result goes up through `outcomes`, which decides between created, certainly not created and
unknown. Everything that the service sends passes through `redaction` before it is shown, and `fields` picks what of a
response may be stored in the clear. `probing` is for `doctor`: it looks at a server and sends no POST.
"""

import sys

# httpx imports its command line where click and rich are installed; rich takes longer to load than all the rest.
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
