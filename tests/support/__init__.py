"""What tests stand on: which to use when.

A project, from the plainest to the richest:

- `project.Project`: a directory, an environment, and `reconciler` run in it: `run` and `start` as a user does, `step`,
  `start_step` and `run_fork` as forks of a process that has loaded the program (`warm`). No service.
- `partner.Partner`: a project of one target whose service is a `LendingService`, with words for its record and plans.
  Its service is on plain http, so it counts as a sandbox: `state init` does not refuse a second store for it.
- `sandbox_project.SandboxProject`: a project of any number of targets with the sandbox; compares what was created with
  what the record says. `sandbox_pace` holds or slows down the answers.
- `glass_house.GlassHouse`: the same with secrets (`leaks`) looked for in all that is printed and written.
- `set_up.SetUp`: a sandbox project in which nothing is wrong, webhooks over TLS and all, to be spoilt for `doctor`.
- `sandbox_forge`: a repository (`forge.Forge`, workflows run by `act`) whose workflow applies to the sandbox. `scripts`
  runs a script of the action alone, as a fork.
- `disk_machine.DiskMachine`: state, cache and data on a recorded disk (`disk_recorder`), to be cut off at each write
  (`disk_model`).
- `git_world.GitWorld`: a remote and a checkout for the git store. `stopped_process`: a process that holds a lock.
- `remote_project.RemoteProject`: a sandbox project whose record is in an object store or a database.
- `pages.Reading`: a page for users, each command of which is run by a `pages.Reader`; `sandbox_scenes` has what its
  comments ask for.
- `terminal.at_terminal`: a person who answers prompts. `notified.listening`: a `listen` at work, and senders to it.

A lending service, and the reason for each:

- `reconciler.sandbox`: what the service is documented to do, with faults, and a count of what exists; `sandbox_client`
  asks it without any code of the program.
- `lending_service.LendingService`: answers that a test chooses, and the requests as they arrived.
- `raw_server.RawServer`: below HTTP: broken answers, hang-ups, TLS.
- `rude_service.RudeService`: a whole target on a raw server, for commands run against answers in bytes.

Servers of others, for the stores: `components` finds them, or skips the test. `postgres` starts one, with a schema for
each test; `object_servers` has an S3 and an Azure; all workers share them (`shared_server`). `tcp_proxy.Proxy` loses,
holds or delays what passes through it; `memory_bucket` is a bucket without a server, `broken_buckets` breaks it;
`contended` applies one configuration from many machines at once.

Plain values, without files or processes:

- `value_scene.Scene`: what is desired and what has happened, with verbs; `planning_strategies` draws such scenes.
- `desired_configs`: YAML with the places marked where a mistake is expected;
  `mistaken_configs`: every mistake there is.
- `journal_samples`, `journal_strategies`: the smallest whole journals, and drawn ones.
- `store_conformance`: what every store must do; a new store runs it.
- `applying_bench`, `applying_doubles`: the protocol of an apply without I/O, and the driver with doubles.
- `simulation`: many machines, people and mishaps in one thread under a seed.
- `report_values`: the tables of formats, and a value for each; `laced` puts a text before every text in one.
- `mutations`, `injections`: damaged texts, and texts that would act.

What a command costs: `work_counter` counts what the program does to files and how often it calls which function;
`benchmarks` has a service that answers quickly, and projects of any size.

Fixtures: `lending_service`, `partner`, and those of the service room in `service_fixtures`; `tests/conftest.py` has
`project` and the environment of every test.
"""
