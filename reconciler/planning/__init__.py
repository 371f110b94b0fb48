"""Pure functions over the model: what is wanted against what is recorded, and whether that may go ahead.

No network, no clock, no environment, no credentials: a plan can be made on a pull request from a fork.
"""
