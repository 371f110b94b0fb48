"""Carries out a plan, such that a crash at any step loses nothing.

`protocol` is the write-ahead protocol of one target, a state machine without I/O: events in, effects out. `creates` has
its calls, `append_queue` its appends. `driver` performs the effects with threads. `run` takes a whole plan through the
protocol, target by target; `verdict` decides what the results come to.
"""
