"""Checks of a partner's set-up: everything that an apply depends on, and nothing is changed.

`examination` begins with `config_checks`, which gives what of `config/` is free of mistakes, and `setting_checks`,
which gives the credentials. What waits for servers is done by the threads of `jobs`: `network_checks` and
`token_checks`. Meanwhile the main thread does what runs git, which a signal must end: `record_checks`, `git_checks` and
`ruleset_checks`; and `recipient_checks`. Each gives findings, and one that fails keeps no other from being made.
"""

from reconciler.operations.doctor.examination import examine

__all__ = ["examine"]
