"""Plain frozen values that every other room speaks in. No I/O, nothing but the standard library."""
