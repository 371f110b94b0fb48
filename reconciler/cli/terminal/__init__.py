"""What writes to a terminal, or asks at one."""
