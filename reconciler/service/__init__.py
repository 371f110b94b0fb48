"""The only room that talks to the lending service.

A call goes down through `api` (what the service offers, and the repeat after a 401), `tokens` (a token for the call:
from `token_cache`, or asked for by `token_request`) and `transport` (one exchange, and whether it can have reached the
service). What came back goes up through `outcomes`, which decides between created, certainly not created and unknown.
Everything the service says passes through `redaction` before a person sees it.
"""
