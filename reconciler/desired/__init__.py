"""Reads YAML files into the desired state, or reports every mistake in them with file, line and column.

Each stage adds the mistakes that it finds to one `Mistakes` and continues with the rest, so that one run reports all of
them:

1. `files` finds the files under `config/`, in sorted order, reads their bytes, and checks that they are valid UTF-8.
2. `nodes` turns the parser's events into a tree of mappings, lists and text. It refuses aliases, anchors, tags and
   duplicate keys, and keeps the position of every node.
3. `credentials` masks secrets in the text of a file before it is parsed, and removes values whose keys name a secret.
4. `sections` merges the top-level keys of all files: targets, patterns with their subscriptions, and `state`, `record`,
   `recipients`, `verification` and `parity`, which may occur only once.
5. `targets` reads the declared targets; environment variables override their URLs.
6. `patches` reads the fields that each pattern sets. `merging` merges them for each target from the most general
   pattern to the most specific, substitutes variables, checks the URL (`urls`), and refuses event codes that two
   subscriptions of one service have in common.

`fields` is the table of all keys. `reading` checks a node against a row of it, and `schema` makes a JSON Schema of it.
`loading` calls the stages.
"""

from reconciler.desired.fields import schema
from reconciler.desired.loading import load, load_sound

__all__ = ["load", "load_sound", "schema"]
