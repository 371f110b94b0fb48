"""The life of a project, told by its commands: begun, created, changed, observed, removed, moved."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from support import servers
from support.git_world import GitWorld
from support.machines import HERE, KINDS, THERE, Partner, Places


@pytest.fixture
def places(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> Places:
    """Makes places that no other test uses."""
    return Places(tmp_path_factory, tmp_path / "repositories", GitWorld.make_template(tmp_path_factory.mktemp("git")))


@pytest.mark.parametrize("kind", KINDS)
def test_a_project_lives_through_every_kind_of_change(tmp_path: Path, places: Places, kind: str) -> None:
    """Created, extended, replaced, renamed, removed: the service has what is desired, and the record agrees."""
    with Partner(tmp_path / "p", places.make(kind), (HERE, THERE)) as partner:
        machine = partner.first(2)
        assert machine.run("plan", "--detailed-exitcode").code == 2
        machine.succeed("plan", "--out", "plan.json")
        machine.succeed("apply", "plan.json")
        partner.assert_done(machine)
        tokens = dict(partner.sandbox.world.requests)
        machine.declare({"s0": ["ONB10000", "LOA10013"], "s1": ["ONB10001"]})
        assert "extend" in machine.succeed("plan").out
        machine.recover()
        assert partner.sandbox.world.requests["token", "staging"] == tokens["token", "staging"]
        partner.moved["s1"] = "https://hooks.partner.example/elsewhere"
        machine.declare(partner.wanted)
        assert "removal" in machine.apply().out
        machine.succeed("status", "--detailed-exitcode")  # a removal that is awaited is no change
        letters = machine.succeed("removal", "list").out
        for target in (HERE, THERE):
            assert f"{target}" in letters
            machine.succeed("removal", "confirm", f"{target}/s1", "--yes")
        for created in partner.sandbox.world.subscriptions():
            if created.url.endswith("/s1"):
                partner.sandbox.world.remove(created.id)
        partner.assert_done(machine)
        for target in (HERE, THERE):
            machine.succeed("state", "mv", f"{target}/s1", f"{target}/renamed")
        partner.moved["renamed"] = partner.moved["s1"]
        machine.declare({"s0": ["ONB10000", "LOA10013"], "renamed": ["ONB10001"]})
        partner.assert_done(machine)
        assert machine.run("parity", HERE, THERE, "--gate").code == 0
        assert machine.run("status", "--detailed-exitcode").code == 0
        machine.succeed("state", "verify")
        assert json.loads(machine.succeed("state", "history", "--format", "json").out)
        assert machine.succeed("doctor").code == 0


def test_a_notification_proves_an_unknown_create(tmp_path: Path, places: Places) -> None:
    """With {attempt} in its URL, an unknown outcome heals once a notification was received at it, and observed."""
    with Partner(tmp_path / "p", places.make("file")) as partner:
        port = servers.free_port()
        partner.moved["s0"] = f"http://127.0.0.1:{port}/s0/{{attempt}}"
        machine = partner.first(1)
        listen = machine.start("listen", "--port", str(port), "--record", "notifications.jsonl")
        try:
            partner.sandbox.world.fail_next("reset-after")
            assert machine.apply().code == 3
            machine.environment["RECONCILER_SANDBOX_URL"] = partner.sandbox.url
            machine.succeed("sandbox", "trigger", "ONB10000")
            assert partner.sandbox.wait_idle(20)
        finally:
            listen.send_signal(signal.SIGTERM)
        assert machine.finish(listen).code == 143
        machine.succeed("state", "observe", "notifications.jsonl")
        assert machine.run("plan", "--detailed-exitcode").code == 0
        wrong = machine.run("state", "resolve", f"{HERE}/s0", "--not-created", "--force", "--yes")
        assert machine.run("plan", "--detailed-exitcode").code == 0, wrong
