"""Carries out a plan. A crash at any step loses nothing.

`protocol` is the write-ahead protocol of a run, a state machine without I/O: events in, effects out (`events`). Changes
wait in `work_queue`, are intended, sent and settled by `creates`, and what is to be recorded goes through
`append_queue`. `driver` performs the effects with threads. `run` reads the record before and after, and `verdict`
derives the verdict from the results.
"""
