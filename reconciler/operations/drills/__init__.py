"""Drills: bad days rehearsed against the sandbox, each in a directory of its own.

`catalog` has them all. Each is a `drill.Drill`, whose set-up plays it in a `scene.Scene`; set-ups are in `outcomes`,
`accounts` and `deliveries`. `score` has what `checks` find in the end, at the sandbox, in the record and in the
plan, each a `finding.Finding`, and the `commands` that it took. `operator` and `counted` are programs of the scene.
"""
