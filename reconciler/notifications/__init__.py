"""Notifications of the service: what they contain, and how they are signed. Pure functions.

The receiver and the commands use it, the client of the service does not. The sandbox does not either: it makes and
signs notifications by itself, so that each checks the other.
"""
