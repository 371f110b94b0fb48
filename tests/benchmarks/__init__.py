"""Benchmarks: what the program costs, as ratios to what a user would pick instead, measured in one run.

`python -m benchmarks` from `tests/` runs all of them, prints a table and writes JSON; with names it runs those only.
Ours and the others run in turns, so that whatever else the machine does meets all of them, and what is compared are
medians.

- `launcher`: starts processes and tells what they took, from a process small enough not to count itself.
- `races`: what is run, in turns, and the medians of what it took.
- `course`: what each measurement is given.
- `rows`: one line of the table: a ratio or an amount, and what it may be at most.
- `projects`: configurations and records of any size, written as the program writes them.
- `peers`: the same work for Terraform and octoDNS. One that is not installed makes its row say so.
- `quick_service`, `bare_client`: a service that answers after a pause, and a client of it that keeps no record.
- `starting`, `planning`, `applying`, `reading`, `many_targets`, `action`: the rows, by what they are about.
- `growth`, `picture`: how the time grows with the number of subscriptions.
- `suite`: the table of all of them; `report`: what they came to, as text, JSON and the table of BENCHMARKS.md.
"""
