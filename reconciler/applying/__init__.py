"""Makes a plan true, survivably.

`protocol` is the write-ahead protocol of one target as a state machine without I/O: events in, effects out. `driver`
performs its effects with threads. `run` takes a whole plan through it, target by target, and `verdict` says what the
run came to.
"""
