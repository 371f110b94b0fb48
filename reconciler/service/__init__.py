"""The only room that talks to the lending service.

A call goes down through `api` (what the service offers, and the new token after a 401), `tokens` (a token from
`token_cache` or the identity provider) and `transport` (one exchange, and whether it can have reached the service).
Below that, `routes` says where a URL leads, `connections` and `connecting` open what leads there, and `deadline` ends
what takes too long. The response goes up through `outcomes`, which decides between created, certainly not created and
unknown. Everything that the service sends passes through `redaction` before it is shown.
"""

import sys

# httpx imports its command line where click and rich are installed; rich takes longer to load than all else of it.
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
