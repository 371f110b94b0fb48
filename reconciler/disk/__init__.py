"""Durable writes, private directories and locks, for `state` and `service`."""
