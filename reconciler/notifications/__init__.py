"""Notifications of the service: their contents, their signatures, and the file format of captured ones.

The receiver and the commands use this package. The sandbox makes and signs notifications by itself, so that each checks
the other.
"""
