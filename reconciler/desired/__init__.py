"""YAML files -> the desired state, or every mistake in them with file:line:column.

Each stage adds what it finds to one `Mistakes` and continues with the rest, so that one run reports all of them:

1. `files` finds the files under `config/`, in sorted order, and reads them: names and UTF-8 bytes.
2. `nodes` turns the parser's events into a tree of mappings, lists and text. It refuses aliases, anchors, tags
   and duplicate keys, and keeps the position of every node.
3. `credentials` covers secrets in the text of a file, before it is parsed, and removes what is called like one.
4. `sections` merges the top-level keys of all files: declared targets, patterns with their subscriptions, and the
   sections that may occur only once.
5. `targets` reads the declarations; variables of the environment override their addresses.
6. `merging` reads the fields that each pattern sets (`patches`), merges them for each target from the general pattern
   to the specific one, substitutes variables (`templates`) and checks the URL (`urls`).
7. `overlaps` finds event codes that two subscriptions of one service have in common.
8. `single_sections` reads `recipients:`, `verification:` and `parity:`.

`shapes` has the checks that all of them share: text, a list, a mapping, one of several words. `loading` calls the
stages.
"""

from reconciler.desired.loading import load, load_sound
from reconciler.desired.targets import Override

__all__ = ["Override", "load", "load_sound"]
