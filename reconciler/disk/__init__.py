"""Durable writes, directories that are their owner's alone, and locks: the ground that state and service stand on."""
