"""All schedules of a few actors, of the code that runs in production, interleaved at every call of a port."""
