"""Frozen values that every other package uses. This package does no I/O."""
