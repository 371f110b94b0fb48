"""Plain frozen values that every other room uses. No I/O, and nothing but the standard library."""
