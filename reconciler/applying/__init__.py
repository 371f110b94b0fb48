"""Carries out a plan so that a crash at any point loses nothing.

`protocol` is the write-ahead protocol of a run: a state machine without I/O that takes events and returns effects (see
`events`). `work_queue` holds the waiting changes, `creates` writes their intents, sends their calls and settles them,
and `append_queue` holds the facts to be recorded. `driver` performs the effects with threads. `execution` reads the
record before and after the run, and `verdict` derives the verdict from the results.
"""
