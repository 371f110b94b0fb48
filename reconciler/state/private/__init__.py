"""Files that are their owner's alone: create responses, and entries that could not be recorded."""
