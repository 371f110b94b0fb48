"""Declarative webhook subscriptions for a service that can create, but not list, change or delete them.

The pipeline in short; ARCHITECTURE.md names the modules of each step:

1. `desired` reads the YAML files in `config/` into a `Desired`: the targets and the subscriptions desired on each. If
   they have mistakes, it reports every mistake with its position.
2. `record` checks the hash chain of the project's append-only record, which a store in `stores` returns as bytes, and
   folds its facts into a `Record`: the create calls that were made, and their outcomes.
3. `planning` compares the `Desired` with the `Record`, and returns a `Plan`, which is frozen, sorted and serialisable.
   It uses no network, clock or credentials.
4. `applying` carries out the plan. For each create it appends an *intent* to the record, sends the call after the
   intent is durable, and appends the *outcome* before anything depends on it. Each append is conditional on the
   record's head, so two runs cannot both send a create. The protocol is a state machine without I/O; a driver
   performs its effects with threads.
5. `service` sends one call and decides its outcome: created, certainly not created, or unknown. Only a call that
   certainly created nothing is retried.
6. `reports` turns values into text and documents. `operations` does what the commands ask for. `cli` parses the
   command line and prints the results.

`model` has the values that all rooms share, `disk` has durable writes and locks, and `errors` has the errors with their
exit codes. `notifications` verifies and parses notifications, and reads captured ones. `sandbox` is a local stand-in
for the service, and `receiver` is one for a partner's endpoint. Both use the server in `http_server`, and neither
shares code with `service`.
"""

__version__ = "0.1.0"
