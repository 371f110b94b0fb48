"""The doubles that tests stand on, one of each; which to use when.

A command, from the nearest to the real thing:

- `memory_project`: a project in memory whose time stands still, for operations without a command line.
- `command_line.CommandLine`: commands called within the process, in a directory, against a sandbox.
- `unmeasured` is the environment of processes whose modules are counted.
- `machines.Partner` and its `Machine`s: the installed executable, a home for each machine, a place of each kind.
- `forge.Forge`: a repository whose workflows `act` runs, with a double of `gh`.

A record: `records` are the smallest whole ones, `memory_record` a store with faults and the notes of a machine,
`scene.Scene` what is desired and what has happened, with verbs; `histories` draws whole worlds. `git_world.GitWorld` is
a remote and a checkout for the git store; `late_locks` has another process write while a lock is waited for; `servers`
has PostgreSQL, PgBouncer, an S3 and an Azure, or skips the test; `tcp_proxy.Proxy` loses requests or answers on the way
to them.

A lending service: the sandbox does what is documented, with faults, and `sandbox_client` asks it without any code of
the program; `lending_service.LendingService` answers as a test scripts; `raw_server.RawServer` is below HTTP, with
`certificates` for TLS; `service_targets` has targets and credentials for both. `notified` sends notifications.

An apply: `applying_bench` puts the test in the place of the driver, `applying_doubles` has a caller and ports,
`simulation` has many machines, people and mishaps in one thread under a seed.

Values: `configs` are texts of `config/` with the places of mistakes marked, `desired_values` desired states in a line,
`plan_values` plans by hand and by hypothesis, `pages` what a browser shows of them.
"""
