"""Pure functions over the model: the plan, the status, the parity of targets, evidence, and news for the operator.

No network, no clock, no environment, no credentials: a plan can be made for a pull request from a fork.
"""
