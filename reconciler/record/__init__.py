"""The record: one append-only journal of facts about what exists at the service.

`facts` defines the kinds of entries. `chain` converts the facts to lines and back, and checks that each line follows
the previous one. `fold` computes a `Record` from the facts. `gates` decides, from the record and from the heads
remembered elsewhere, whether the record is current. `notes` stores heads on this machine. `journal` combines all of
these with a store: it reads the record, appends to it, and remembers its heads. Only `notes` and `journal` do I/O.
"""
