"""The state record: what the program knows to exist at the service.

`journal`: entries as bytes, and the hash chain over them. `stores`: where journals are stored, behind one protocol.
`heads`: the last known head of each record, and the store that checks and remembers it. `private`: files that only this
user can read: create responses, and entries that could not be appended.
"""
