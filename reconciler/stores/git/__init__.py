"""A record on a branch of a git repository."""
