"""Declarative webhook subscriptions for a service that can create and nothing else.

The pipeline, told once:

1. `desired` reads the YAML files in `config/` and gives `Desired`: the targets, and the subscriptions wanted on
   each, or every mistake in them with its place.
2. `state` reads one append-only journal for each target from a `Store`, checks its hash chain, and folds its entries
   into a `Record`: which create calls were made, and what is known to have become of them.
3. `planning` takes the two values and gives a `Plan`: frozen, sorted, serialisable; no network, no clock, no
   credentials.
4. `applying` makes the plan true. For each create it appends an *intent* to the journal, sends the call only once
   that is durable, and appends the *outcome* before anything depends on it. Appends are compare-and-append on the
   journal's head, so two runs can never both send a create. The protocol is a state machine without I/O; a driver
   performs its effects with threads.
5. `service` sends one call and says what became of it: created, certainly not created, or unknown. Only what was
   certainly not created is ever repeated.
6. `reports` turns values into text and documents; `cli` is where files, flags, variables and objects come together.

`sandbox` is a local stand-in for the service and `receiver` for a partner's endpoint, both on the server in `loopback`;
neither shares code with `service`.
"""

__version__ = "0.1.0"
