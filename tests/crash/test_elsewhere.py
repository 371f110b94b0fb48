"""A record that another machine sees: files from elsewhere, branches that went back, neighbours, other services."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from support.git_world import run_git
from support.machines import AFTER_LOSS, HERE, THERE, Machine, Partner, Place, Places, Route, names


def _sends_nothing_until_it_is_accepted_and_complete(machine: Machine) -> None:
    partner, before = machine.partner, machine.partner.creates
    refused = machine.apply()
    assert (refused.code, partner.creates) == (1, before), refused
    assert "state accept-loss" in refused.err + refused.out
    machine.succeed("state", "accept-loss", "--yes")
    assert (machine.apply().code, partner.creates) == (1, before)
    partner.wait(AFTER_LOSS)
    machine.settle()
    missing = partner.exists() - _recorded(machine)
    for target, _, url in missing:
        machine.succeed("state", "import", f"{target}/{url.rpartition('/')[2]}", "--yes")
    machine.succeed("state", "complete", "--yes")
    machine.recover()


def _recorded(machine: Machine) -> Counter[Route]:
    return Counter(
        (machine.partner.there(attempt["address"]), code, attempt["webhookUrl"])
        for attempt in machine.show()
        for code in attempt["eventCodes"]
    )


def test_a_file_that_was_cloned_to_another_machine_sends_nothing(tmp_path: Path, places: Places) -> None:
    """Without a note of it, a file is no record to go by."""
    with Partner(tmp_path / "p", places.make("file"), (HERE, THERE)) as partner:
        machine = partner.recovered()
        machine.declare(names(2))
        other = partner.machine("other")
        shutil.copy(machine.path / "state.jsonl", other.path / "state.jsonl")
        _sends_nothing_until_it_is_accepted_and_complete(other)


@pytest.mark.parametrize("kind", ["file", "git", "s3", "postgresql"])
def test_a_record_that_lost_its_tail_sends_nothing(partner: Partner, machine: Machine) -> None:
    """Restored from a backup, it lacks a head that this machine has seen."""
    restore = _backup(partner.place, machine)
    machine.recover()
    restore()
    machine.declare(names(2))
    _sends_nothing_until_it_is_accepted_and_complete(machine)


@pytest.mark.parametrize("kind", ["file", "git", "s3", "postgresql"])
def test_an_outcome_over_a_record_that_went_back_opens_no_gate(partner: Partner) -> None:
    """Set back while a call is in flight, the record or a recovery file gets its outcome; nothing more is sent."""
    machine = partner.first(2)
    restore, origin = _backup(partner.place, machine), partner.place.origin
    tip = run_git(origin, "rev-parse", "state").strip() if origin else ""
    apply = machine.start("apply", "--auto-approve", "--parallelism", "1", failpoint="after-send:1:1.5")
    while not partner.exists():
        pass
    run_git(origin, "update-ref", "refs/heads/state", tip) if origin else restore()
    ended = machine.finish(apply)
    assert (ended.code in (1, 3), partner.creates) == (True, 1), ended
    for file in (machine.data / "unrecorded").glob("*.jsonl"):
        machine.run("state", "recover", str(file))
    assert (machine.apply().code, partner.creates) == (1, 1)
    if origin:  # the second branch tells a machine that has never seen the record
        assert (partner.machine("other").apply().code, partner.creates) == (1, 1)
    _sends_nothing_until_it_is_accepted_and_complete(machine)


def _backup(place: Place, machine: Machine) -> Callable[[], object]:
    """Back the record up; return what restores it, as the owner of the place can."""
    match place.kind:
        case "file":
            shutil.copy(machine.path / "state.jsonl", machine.path / "backup")
            return lambda: shutil.copy(machine.path / "backup", machine.path / "state.jsonl")
        case "git":
            assert place.origin is not None
            origin = place.origin
            backup = origin.with_name("backup.git")
            shutil.copytree(origin, backup)

            def restore() -> None:
                shutil.rmtree(origin)
                backup.rename(origin)

            return restore
        case "s3":
            import obstore  # noqa: PLC0415 - only here
            from obstore.store import S3Store  # noqa: PLC0415 - likewise

            bucket, _, prefix = place.name.removeprefix("s3://").partition("/")
            store = S3Store(
                bucket, endpoint=place.environment["AWS_ENDPOINT_URL"], region=place.environment["AWS_REGION"],
                access_key_id=place.environment["AWS_ACCESS_KEY_ID"],
                secret_access_key=place.environment["AWS_SECRET_ACCESS_KEY"], client_options={"allow_http": True},
            )  # fmt: skip
            kept = {
                item["path"]: bytes(obstore.get(store, item["path"]).bytes())
                for page in obstore.list(store, prefix)
                for item in page
            }

            def put_back() -> None:
                for page in obstore.list(store, prefix):
                    for item in page:
                        obstore.delete(store, item["path"])
                for path, data in kept.items():
                    obstore.put(store, path, data)

            return put_back
        case _:
            import psycopg  # noqa: PLC0415 - only here

            url, _, table = place.name.partition("&table=")
            password = place.environment["PGPASSWORD"]
            with psycopg.connect(url, password=password) as connection:
                connection.execute(f"create table {table}_kept as table {table}")

            def put_rows_back() -> None:
                with psycopg.connect(url, password=password) as connection:
                    connection.execute(f"delete from {table} where seq > (select max(seq) from {table}_kept)")

            return put_rows_back


@pytest.mark.parametrize("how", ["set back", "begun anew", "deleted", "head deleted"])
def test_a_branch_that_went_back_is_noticed_by_one_that_never_saw_it(tmp_path: Path, places: Places, how: str) -> None:
    """The second branch disagrees with it: nothing is sent."""
    with Partner(tmp_path / "p", places.make("git")) as partner:
        machine = partner.first(1)
        assert partner.place.origin is not None

        def git(*words: str) -> str:
            return run_git(partner.place.origin, *words)  # type: ignore[arg-type]

        machine.recover()
        match how:
            case "set back":
                git("update-ref", "refs/heads/state", "state~1")
            case "begun anew":
                git("update-ref", "refs/heads/state", git("rev-list", "--max-parents=0", "state").split()[0])
            case "deleted":
                git("update-ref", "-d", "refs/heads/state")
            case _:
                git("update-ref", "-d", "refs/heads/state-head")
        other = partner.machine("other", names(2))
        other.environment["GIT_AUTHOR_NAME"] = "Somebody"
        _sends_nothing_until_it_is_accepted_and_complete(other)


def test_two_projects_on_one_machine_do_not_see_each_other(tmp_path: Path, places: Places) -> None:
    """With equal targets and other services, a rollback of one does not close a gate of the other."""
    with Partner(tmp_path / "a", places.make("file")) as first, Partner(tmp_path / "b", places.make("file")) as second:
        one, two = first.first(1), second.machine("laptop", names(1))
        two.home = one.home
        two.succeed("state", "init", "--complete", "--yes")
        shutil.copy(one.path / "state.jsonl", tmp_path / "backup")
        one.recover()
        two.recover()
        shutil.copy(tmp_path / "backup", one.path / "state.jsonl")
        assert one.apply().code == 1
        two.declare(names(2))
        two.recover()


def test_a_target_of_another_service_than_the_record_is_named_everywhere(tmp_path: Path, places: Places) -> None:
    """`status`, `plan` and `parity` say so and do not exit with 0; an apply sends nothing; rebound, it goes on."""
    with Partner(tmp_path / "p", places.make("file"), (HERE, THERE)) as partner:
        machine = partner.recovered()
        elsewhere = Partner(tmp_path / "elsewhere", places.make("file"), (HERE, THERE))
        with elsewhere:
            target = elsewhere.sandbox.world.targets[HERE]
            machine.environment |= {
                "RECONCILER_EUROPE_STAGING_BASE_URL": target.base_url,
                "RECONCILER_EUROPE_STAGING_AUTH_URL": target.provider.auth_url,
                "RECONCILER_EUROPE_STAGING_AUDIENCE_BASE": target.provider.audience_base,
            }
            machine.declare(names(2))
            for command in ("status", "plan"):
                done = machine.run(command, "--detailed-exitcode")
                assert done.code == 2, done
                assert "state rebind" in done.out + done.err, done
            for gate in ((), ("--gate",)):
                done = machine.run("parity", HERE, THERE, *gate)
                assert done.code == 2, done
                assert "state rebind" in done.out, done
            done = machine.apply("-t", HERE)
            assert done.code == 1, done
            assert elsewhere.creates == 0


def test_another_account_at_the_service_sends_nothing_until_it_is_rebound(partner: Partner) -> None:
    """A target belongs to one client id."""
    machine = partner.recovered()
    machine.declare(names(2))
    before = partner.creates
    known = partner.credentials["RECONCILER_EUROPE_STAGING_CLIENT_ID"]
    provider = partner.sandbox.world.targets[HERE].provider
    provider.clients["another"] = provider.clients[known]  # type: ignore[index]
    machine.environment["RECONCILER_EUROPE_STAGING_CLIENT_ID"] = "another"
    assert (machine.apply().code, partner.creates) == (1, before)
    machine.succeed("state", "rebind", "-t", HERE, "--yes")
    machine.recover()
