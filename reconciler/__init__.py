"""Declarative webhook subscriptions for a service that can create and nothing else.

The pipeline (ARCHITECTURE.md has it function by function):

1. `desired` reads the YAML files in `config/` into a `Desired`: the targets and the subscriptions desired on each. If
   they have mistakes, it reports every one with its position.
2. `record` checks the hash chain of the project's one append-only record, which a store in `stores` returns as bytes,
   and folds its facts into a `Record`: which create calls were made, and their outcomes.
3. `planning` compares the two values and returns a `Plan`: frozen, sorted, serialisable; no network, no clock, no
   credentials.
4. `applying` carries out the plan. For each create it appends an *intent* to the record, sends the call after the
   intent is durable, and appends the *outcome* before anything depends on it. Appends are compare-and-append on the
   record's head, so two runs cannot both send a create. The protocol is a state machine without I/O; a driver
   performs its effects with threads.
5. `service` sends one call and decides its outcome: created, certainly not created, or unknown. Only what was certainly
   not created is retried.
6. `reports` turns values into text and documents. `operations` holds what each command does, `cli` parses the command
   line and prints.

`model` has the values that all rooms share, `disk` durable writes and locks, `errors` the errors with their exit codes.
`notifications` verifies what the service sends and reads what was captured.
`sandbox` is a local stand-in for the service and `receiver` for a partner's endpoint, both on the server in
`http_server`; neither shares code with `service`.
"""

__version__ = "0.1.0"
