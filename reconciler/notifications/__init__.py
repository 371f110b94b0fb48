"""Notifications of the service: their contents, their signatures, and the file format of captured ones.

The receiver and the commands use it. The sandbox does not: it makes and signs notifications by itself, so that each
checks the other.
"""
