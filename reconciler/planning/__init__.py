"""Pure functions over the model: they compare the desired state with the records, and refuse dangerous plans.

No network, no clock, no environment, no credentials: a plan can be made on a pull request from a fork.
"""
