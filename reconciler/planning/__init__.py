"""Pure functions over the model: what is desired against what is recorded, and whether a plan may be applied.

No network, no clock, no environment, no credentials: a plan can be made on a pull request from a fork.
"""
