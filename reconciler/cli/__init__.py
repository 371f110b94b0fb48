"""One file per command: parse, call, render.

The only room that knows click, reads the environment or builds objects.
"""
