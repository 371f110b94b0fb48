"""Pure functions over the model: plan, status, parity of targets, evidence, and messages to the operator.

They use no network, clock, environment or credentials, so a plan can be made for a pull request from a fork.
"""
