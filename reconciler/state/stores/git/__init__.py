"""Journals on a branch of a git repository, through copies of our own and the user's git command."""
