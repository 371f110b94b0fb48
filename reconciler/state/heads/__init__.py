"""The last known head of each record on this machine, and the reads and appends that check and remember it."""
