"""One file per command: parse, call, render.

The only room that imports click. `operations` holds what each command does.
"""
