"""Journals on a branch of a git repository, accessed with local copies of it and the user's git command."""
