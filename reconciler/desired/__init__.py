"""YAML files -> the desired state, or every mistake in them with file:line:column.

Each stage reports what it finds to one `Mistakes` and goes on with what is left, so that one run tells all:

1. `files` finds the files under `config/`, in sorted order, and reads them: names and UTF-8 bytes.
2. `nodes` turns the parser's events into a tree of mappings, lists and text. It refuses what is no such tree (aliases,
   anchors, tags, duplicate keys), and keeps every node's place.
3. `credentials` takes out what looks like one, unseen.
4. `sections` lays the top-level keys of all files together: declared targets, patterns with the subscriptions under
   them, and what can be said only once.
5. `targets` reads the declarations and lays the environment's addresses over them.
6. `merging` reads what each pattern says of each subscription (`patches`), lays patch over patch for each target, from
   the general to the particular, puts variables in (`templates`) and judges the URL (`urls`).
7. `overlaps` looks for events that two subscriptions of one service would be told of.
8. `recipients`, `verification` and `parity` read the sections of their names.

`shapes` holds what all of them ask of a node: text, a list, a mapping, one of some words. `loading` calls the stages.
"""

from reconciler.desired.loading import load
from reconciler.desired.targets import Override

__all__ = ["Override", "load"]
