"""Files that only their owner can read: create responses, and entries that could not be appended."""
