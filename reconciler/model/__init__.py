"""Frozen values that every other room uses, without I/O."""
