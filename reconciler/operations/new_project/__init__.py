"""Writes the files of a new project: `config/`, what git ignores, a key, a workflow."""
