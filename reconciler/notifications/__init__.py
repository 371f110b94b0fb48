"""Notifications of the service: what they contain, how they are signed, and the file that captured ones are kept in.

The receiver and the commands use it. The sandbox does not: it makes and signs notifications by itself, so that each
checks the other.
"""
