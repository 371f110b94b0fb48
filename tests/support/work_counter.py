"""Counts the work that the installed program does, from within its process: time shows it on a quiet machine only.

Counted are the files that are opened and synced, the bytes that are written into them, and the calls of functions that
are named.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from support.project import Project

_SITE: Final = """\
import atexit, json, os, sys, threading

counted, alone = {}, threading.Lock()
watched = json.loads(os.environ["COUNTED_FUNCTIONS"])

def count(what, which, by=1):
    with alone:
        counted.setdefault(what, {}).setdefault(which, 0)
        counted[what][which] += by

def fsync(descriptor, really=os.fsync):
    count("synced", os.readlink(f"/proc/self/fd/{descriptor}"))
    return really(descriptor)

def pwrite(descriptor, data, offset, really=os.pwrite):
    written = really(descriptor, data, offset)
    count("bytes written to", os.readlink(f"/proc/self/fd/{descriptor}"), written)
    return written

def audit(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, os.PathLike)):
        count("opened", os.path.abspath(arguments[0]))

def profile(frame, event, _):
    file, what = watched.get(frame.f_code.co_qualname, ("", ""))
    if event == "call" and file == frame.f_code.co_filename:
        count("called", what)

def tell():
    sys.setprofile(None)
    with open(os.environ["COUNTED_INTO"], "w") as file:
        json.dump(counted, file)

os.fsync, os.pwrite = fsync, pwrite
sys.addaudithook(audit)
threading.setprofile(profile)
sys.setprofile(profile)
atexit.register(tell)
"""

_PLACES: Final = {
    "journals": r"/state/.+\.jsonl",
    "directories of journals": r"/state(/[^/.]+)?",
    "remembered heads": r"/heads/.+\.json(\..+)?",
    "responses": r"/responses/.+/\..*\.response\..+",
    "directories of responses": r"/responses/[0-9a-f]+",
    "configuration files": r"/config/.+\.yaml",
}
"""What the files that count are called, by their paths."""


def count_work(project: Project, functions: Mapping[str, str], *arguments: str) -> Counter[str]:
    """Run a command, which must succeed: how often it did what, such as `journals synced`.

    `functions` are counted as what their keys say, each written `reconciler.module:name`. They must be there: one that
    was renamed would count as never called.
    """
    site, into = project.path.parent / "site", project.path.parent / "counted"
    site.mkdir(exist_ok=True)
    (site / "sitecustomize.py").write_text(_SITE)
    watched = {function.partition(":")[2]: (_file(function), what) for what, function in functions.items()}
    given = {"PYTHONPATH": str(site), "COUNTED_INTO": str(into), "COUNTED_FUNCTIONS": json.dumps(watched)}
    kept = project.environment
    project.environment = {**kept, **given}
    try:
        project.succeed(*arguments)
    finally:
        project.environment = kept
    work: Counter[str] = Counter()
    for verb, found in json.loads(into.read_text()).items():
        for which, times in found.items():
            work[_named(verb, which)] += times
    return work


def _file(function: str) -> str:
    """The file that a function is in."""
    name, _, qualified = function.partition(":")
    module = import_module(name)
    assert callable(attrgetter(qualified)(module)), function
    return str(module.__file__)


def _named(verb: str, which: str) -> str:
    """What is counted, in words: a file by the kind it is of."""
    if verb == "called":
        return which
    kind = next((name for name, pattern in _PLACES.items() if re.fullmatch(f".*{pattern}", which)), "other files")
    return f"{verb} {kind}" if verb.endswith(" to") else f"{kind} {verb}"
