"""Drills: bad days rehearsed against the sandbox, each in a directory of its own.

`catalog` has them all. Each is a `drill.Drill`, whose set-up plays it in a `scene.Scene`; set-ups are in `outcomes`,
`accounts` and `deliveries`. `score` compares what exists at the sandbox in the end with the record and the plan.
`operator` is a program of the scene.
"""
