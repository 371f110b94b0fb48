"""The record: what the program knows to exist at the service, as one append-only journal of facts.

`facts` are the kinds of entries, `chain` turns them into lines and back and checks that each line follows the one
before, `fold` adds them up to a `Record`, `merge` unites two histories. `gates` decides from the record, and from the
heads remembered elsewhere, whether it is the one to go by. `notes` remembers heads on this machine. `journal` puts
these over a store: it reads, appends and notes. None of them but the last two does I/O.
"""
