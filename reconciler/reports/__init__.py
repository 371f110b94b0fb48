"""Values in, text and documents out: `formats` has a table of renderers for each kind of value. No I/O.

Names, URLs and responses come from elsewhere. `visible` makes them harmless to a terminal, a runner and a reader; each
format escapes its own markup after that. Sentences that two formats say are in `wording`.
"""
