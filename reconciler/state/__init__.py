"""The state record: what the program knows to exist at the service.

`journal`: entries as bytes, and the chain of hashes that holds them together. `stores`: where journals live, behind one
protocol. `heads`: what was last seen of each record, and the store that checks and remembers it. `private`: files of
this machine's user: create responses, and entries that could not be recorded.
"""
