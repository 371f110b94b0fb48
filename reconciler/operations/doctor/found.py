"""Findings, by what the checks came to."""

from collections.abc import Callable

from reconciler.errors import ReconcilerError
from reconciler.model.result import Finding, Health


def ok(check: str, about: str, what: str) -> Finding:
    """All is well."""
    return Finding(check, about, Health.OK, what)


def skipped(check: str, about: str, reason: str) -> Finding:
    """It was not checked."""
    return Finding(check, about, Health.SKIPPED, reason)


def warning(check: str, about: str, what: str, remedy: str) -> Finding:
    """It works, or it may be meant so."""
    return Finding(check, about, Health.WARNING, what, remedy)


def failed(check: str, about: str, what: str, remedy: str | None) -> Finding:
    """An apply would fail, or do harm."""
    return Finding(check, about, Health.FAILED, what, remedy)


def failure(check: str, about: str, problem: ReconcilerError) -> Finding:
    """What an error says; its place too, unless that is what the check is about."""
    where = "" if problem.where in (None, about) else f"{problem.where}: "
    return failed(check, about, f"{where}{problem.what}", problem.remedy)


def attempted(check: str, about: str, find: Callable[[], list[Finding]]) -> list[Finding]:
    """What `find` finds, or the error that it raises."""
    try:
        return find()
    except ReconcilerError as problem:
        return [failure(check, about, problem)]
