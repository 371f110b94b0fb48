"""The only room that talks to the lending service.

A call goes down through `api` (what the service offers, and the new token after a 401), `tokens` (a token from
`token_cache` or the identity provider) and `transport` (one exchange, and whether it can have reached the service). The
response goes up through `outcomes`, which decides between created, certainly not created and unknown. Everything that
the service sends passes through `redaction` before it is shown.
"""
