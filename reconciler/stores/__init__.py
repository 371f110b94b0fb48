"""Stores that keep a record in a file, on a git branch, in an object store or in a database."""
