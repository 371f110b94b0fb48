"""Notifications of the service: their contents, their signatures, and the file format of captured notifications.

The receiver and the commands use this package. The sandbox does not: it makes and signs notifications with its own
code, so that each implementation checks the other.
"""
