"""The APIs of the service."""

from __future__ import annotations

API_NAMES = ("onboarding", "notification", "prequalification", "loan", "preapproval", "testsupport")
"""The names that an audience ends with (SERVICE.md, section 5)."""
