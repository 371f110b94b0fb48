"""Makes a plan true, survivably.

`protocol` is the write-ahead protocol of one target as a state machine without I/O: events in, effects out; `creates`
and `append_queue` hold its calls and its appends. `driver` performs the effects with threads. `run` takes a whole plan
through the protocol, target by target, and `verdict` judges the results.
"""
