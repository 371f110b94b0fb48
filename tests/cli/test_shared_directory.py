"""A state record on a file system that other hosts may share, but not its locks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from support.partner import Partner

WARNING = (
    "Warning: state: file locks on this file system (nfs4, mounted with local_lock=all) may not work across hosts; run"
    " reconciler on one host only, or use"
    " --state git:BRANCH\n"
)


def test_host_only_locks_are_warned_of(partner: Partner) -> None:
    """`state init` and `apply` warn, and go on; `plan`, which writes nothing, does not."""
    partner.declare({"offers": (["ONB10011"], "https://hooks.partner.example/offers")})
    table = partner.write("mounts", f"90 22 0:50 / {partner.path} rw - nfs4 server:/export rw,local_lock=all\n")
    hook = f"import pathlib, reconciler.disk.mounts as mounts\nmounts._MOUNTS = pathlib.Path({str(table)!r})\n"
    partner.environment["PYTHONPATH"] = str(partner.write("hooks/sitecustomize.py", hook).parent)
    assert 1 == partner.succeed("state", "init").err.count(WARNING)
    assert "" == partner.succeed("plan").err
    assert 1 == partner.succeed("apply", "--auto-approve").err.count(WARNING)
    assert "" == partner.succeed("state", "init", "-q").err
