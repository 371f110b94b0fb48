"""The record: one append-only journal of facts about what exists at the service.

`facts` are the kinds of entries, `chain` turns them into lines and back and checks that each line follows the one
before, `fold` adds them up to a `Record`, `merge` unites two histories. `gates` decides from the record, and from the
heads remembered elsewhere, whether it is the current one. `notes` remembers heads on this machine. `journal` combines
these with a store: it reads, appends and notes. Only the last two do I/O.
"""
