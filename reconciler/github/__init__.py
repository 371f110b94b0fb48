"""What the program says to and reads from GitHub, by calls of its API: commit statuses, comments, issues."""
