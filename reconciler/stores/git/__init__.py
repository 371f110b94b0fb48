"""Stores a record on a branch of a git repository."""
