"""Lives of a project: machines, places, faults, and people who paste what messages name; `life.live` is the whole.

The commands, operations, gates and the protocol are the real ones, run in one process. Doubled are the bytes of the
stores, the service below its client, and the clock.
"""
