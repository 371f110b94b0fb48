"""Bad input of every kind: one clear line on stderr, exit code 1, nothing sent and nothing lost."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest
from support.lending_service import CLIENT_SECRET

from reconciler.model.address import Address, TargetName
from reconciler.model.entry import Begun, Imported
from reconciler.state.journal.chain import link

if TYPE_CHECKING:
    from pathlib import Path

    from support.partner import Partner

OFFERS = "europe/staging/offers"

USA = """\
targets:
  usa/staging: {auth_url: https://a.example, base_url: https://b.example}
subscriptions:
  usa/staging: {a: {eventCodes: [ONB10001], webhookUrl: https://c.example}}
"""

TWINS = """\
targets:
  europe-staging/x: {auth_url: https://a.example, base_url: https://b.example}
  europe/staging-x: {auth_url: https://a.example, base_url: https://b.example}
"""

RUN = "run:\n    reconciler"
COMMAND_LINES = {
    # Flags of every command
    "no such command": ("bogus", "No such command 'bogus'; see:\n    reconciler --help"),
    "no such state command": ("state bogus", "No such command 'bogus'; see:\n    reconciler state --help"),
    "no such option": ("plan --bogus", "No such option"),
    "flags without a command": ("-v", "Missing command; see:\n    reconciler --help"),
    "colour": ("plan --color sometimes", "Invalid value for '--color'"),
    "log format": ("--log-format xml plan", "Invalid value for '--log-format'"),
    "empty flag": ("plan --config ''", "--config: the value is empty; set a value or remove the option"),
    "empty cache directory": ("--cache-dir '' plan", "--cache-dir: the value is empty; "),
    "no configuration": ("plan --config nowhere", "nowhere:1:1: not found; "),
    "empty state": ("plan --state ''", "--state: the value is empty; "),
    "blank state": ("plan --state ' '", "--state: the value is empty; "),
    "unknown store": ("plan --state ftp://user:hunter2@store", "--state: unknown store type ftp:; valid types: "),
    "state is a file": ("plan --state lead.json", "lead.json/europe/staging.jsonl: cannot read the state record: "),
    "cache is a file": ("plan --cache-dir lead.json", "lead.json: unsafe directory: "),
    "timeout 0": ("apply --auto-approve --timeout 0", "--timeout or RECONCILER_TIMEOUT: expected a number above 0 and"),
    "timeout nan": ("apply --auto-approve --timeout nan", "--timeout or RECONCILER_TIMEOUT: expected a number "),
    "timeout word": ("--timeout 30s apply --auto-approve", "--timeout or RECONCILER_TIMEOUT: expected a number "),
    "parallelism 0": ("apply --auto-approve --parallelism 0", "--parallelism or RECONCILER_PARALLELISM: expected a "),
    "parallelism 2.5": ("apply --auto-approve --parallelism 2.5", "expected a whole number from 1 to 64"),
    "parallelism 65": ("apply --auto-approve --parallelism 65", "expected a whole number from 1 to 64"),
    # plan
    "unknown target": ("plan -t 'asia/*'", "-t asia/*: matches no target or address; declared targets: "),
    "unknown address": ("plan -t europe/staging/x", "-t europe/staging/x: matches no target or address; "),
    "malformed pattern": ("plan -t europe", "-t europe: expected a target region/environment or an address "),
    "out nowhere": ("plan --out nowhere/plan", "--out nowhere/plan: cannot write the plan: No such file "),
    "out a directory": ("plan --out config", "--out config: cannot write the plan: Is a directory"),
    "out to a full disk": ("plan --out /dev/full", "--out /dev/full: cannot write the plan: No space "),
    "page nowhere": ("plan --page nowhere/plan", "--page nowhere/plan: cannot write the plan: No such file "),
    "plan format": ("plan --format yaml", "Invalid value for '--format'"),
    "plan argument": ("plan extra", "Got unexpected extra argument"),
    # apply
    "nobody there": ("apply", "no terminal: cannot ask for approval; use --auto-approve, a plan file, or "),
    "no plan file": ("apply plan.json", "plan.json: cannot read the plan file: No such file or directory"),
    "plan file a directory": ("apply config", "config: cannot read the plan file: Is a directory"),
    "plan file not JSON": ("apply config/all.yaml", "config/all.yaml: not a plan file of this version; to make "),
    "plan file of another kind": ("apply lead.json", "lead.json: not a plan file of this version; to make a new one"),
    "plan file to come": ("apply later.json", "later.json: not a plan file of this version; to make a new one"),
    "plan file bent": ("apply bent.json", "bent.json: not a plan file of this version; to make a new one"),
    "other digest": ("apply --expect-digest sha256:0", "--expect-digest sha256:0: the plan has changed: "),
    "too many creates": ("apply --auto-approve --max-creates 0", "--max-creates allows 0; review the plan"),
    "creates below none": ("apply --max-creates -1", "Invalid value for '--max-creates'"),
    # state
    "init of an address": ("state init -t europe/staging/offers", f"-t {OFFERS}: matches no target; known "),
    "malformed address": ("state show europe/staging", "europe/staging: expected an address region/environ"),
    "capital address": ("state mv europe/staging/offers europe/staging/New", "europe/staging/New: expected an "),
    "show nothing": ("state show europe/staging/x", "europe/staging/x: not in the state record; "),
    "history of nothing": ("state history europe/staging/x", "europe/staging/x: not in the state record; "),
    "show elsewhere": ("state show asia/staging/x", "no state record for asia/staging; check --state"),
    "import what": ("state import", "expected an ADDRESS, or --all (with optional -t); see:\n    reconciler state "),
    "import undesired": ("state import europe/staging/x", "europe/staging/x: not defined in config/; define it in "),
    "import none": ("state import --all -t 'asia/*'", "-t asia/*: matches no target and no address; known"),
    "import one of two": ("state import --all -t 'europe/*' -t 'asia/*'", "-t asia/*: matches no target and no "),
    "resolve how": ("state resolve europe/staging/offers", "use --created or --not-created; see:\n    "),
    "resolve nothing": ("state resolve '*/*' --created", f"*/*: no create with an unknown outcome; {RUN} state list"),
    "retire nothing": ("state retire europe/staging/x", f"europe/staging/x: no attempt in force; {RUN} state list"),
    "removed nothing": ("state removed europe/staging/x", f"europe/staging/x: no attempt in force; {RUN} state list"),
    "no such attempt": ("state removed europe/staging/offers --attempt 0", f"id 0 in force; {RUN} state show {OFFERS}"),
    "removed but live": ("state removed europe/staging/offers", "is live, and its removal was not requested; "),
    "mv nothing": ("state mv europe/staging/x europe/staging/y", "europe/staging/x: not in the state record; "),
    "mv over": ("state mv europe/staging/offers europe/staging/offers", f"{OFFERS}: already in the state record; "),
    "mv elsewhere": ("state mv europe/staging/offers usa/staging/offers", "cannot move a subscription to another "),
    "rebind nowhere": ("state rebind -t 'asia/*'", "-t asia/*: matches no target; known targets: "),
    "accept nowhere": ("state accept-rollback -t asia/x", "-t asia/x: matches no target; known targets: "),
    "accept what": ("state accept-rollback", "Missing option '-t' / '--target'"),
    # secret
    "no secret": ("secret show europe/staging/offers", f"{OFFERS}: no attempt has a response or a "),
    "empty secret": ("secret set europe/staging/offers", "standard input: expected a secret of 1 byte to 64 KiB"),
    # token and lead
    "token where": ("token", "Missing option '-t' / '--target'"),
    "token nowhere": ("token -t asia/staging", "-t asia/staging: target not declared in config/; declared targets: "),
    "token pattern": ("token -t europe/*", "-t europe/*: expected one target, not a pattern; declared targets: "),
    "token api": ("token -t europe/staging --api x", "Invalid value for '--api'"),
    "lead missing": ("lead create -t europe/staging x", "x: cannot read the lead file: No such file or "),
    "lead a directory": ("lead create -t europe/staging config", "config: cannot read the lead file: Is a "),
    "lead no JSON": ("lead create -t europe/staging config/all.yaml", "config/all.yaml:1:1: the lead is "),
    "lead NaN": ("lead create -t europe/staging nan.json", "nan.json: the lead is not JSON: it contains NaN"),
    "lead no UTF-8": (
        "lead create -t europe/staging latin.json",
        "latin.json: the lead is not JSON: it is not UTF-8; nothing was sent; correct the file\n",
    ),
    # sandbox
    "unknown fault": ("sandbox serve --fault x=1", "x: unknown fault; valid faults: "),
    "no probability": ("sandbox serve --fault 500=often", "--fault 500=often: the probability is not a number"),
    "too probable": ("sandbox serve --fault 500=2", "500: not a probability: 2.0; use a number from 0 to 1"),
    "retry interval": ("sandbox serve --retry-interval nan", "--retry-interval: expected 0 to 86400 seconds"),
    "port": ("sandbox serve --port 70000", "Invalid value for '--port'"),
}  # fmt: skip

ENVIRONMENTS = {
    "no credentials": (
        {"RECONCILER_EUROPE_STAGING_CLIENT_ID": "", "RECONCILER_EUROPE_STAGING_CLIENT_SECRET": ""},
        (
            "europe/staging: RECONCILER_EUROPE_STAGING_CLIENT_ID is not set, RECONCILER_EUROPE_STAGING_CLIENT_SECRET is"
            " not set; set it in the environment, in a file of RECONCILER_SECRETS_DIR or, outside of CI, in .env\n"
        ),
    ),
    "blank credentials": (
        {"RECONCILER_EUROPE_STAGING_CLIENT_ID": " "},
        "RECONCILER_EUROPE_STAGING_CLIENT_ID from the environment is blank; ",
    ),
    "no secrets directory": (
        {"RECONCILER_SECRETS_DIR": "nowhere"},
        "nowhere: RECONCILER_SECRETS_DIR is not a directory",
    ),
    "timeout": (
        {"RECONCILER_TIMEOUT": "soon"},
        "--timeout or RECONCILER_TIMEOUT: expected a number above 0 and at most 3600",
    ),
    "http elsewhere": (
        {"RECONCILER_EUROPE_STAGING_BASE_URL": "http://api.service.example"},
        "RECONCILER_EUROPE_STAGING_BASE_URL",
    ),
    "proxy": ({"ALL_PROXY": "bogus://proxy"}, "the proxy or certificate settings of the environment cannot be used"),
    "fail point": (
        {"RECONCILER_TEST_FAILPOINT": "x"},
        (
            "RECONCILER_TEST_FAILPOINT: expected STEP:N:WHAT or LIMIT=SECONDS, with no limit above its default; unset"
            " it: it is meant for tests\n"
        ),
    ),
    "data directory": (
        {"XDG_DATA_HOME": "/dev/null/x"},
        "cannot save a create response: Not a directory; nothing was sent; ",
    ),
}


@pytest.fixture
def prepared(partner: Partner) -> Partner:
    """A partner with one subscription recorded, another desired, and a few files that are not what they should be."""
    partner.want(offers=["ONB10011"], applications=["ONB10001"])
    target, at, by = TargetName("europe/staging"), "2026-01-01T00:00:00Z", {"user": "somebody"}
    begun = Begun(at=at, by=by, record="ab" * 16, target=target, base_url=partner.service.base_url)
    imported = Imported(
        at=at, by=by, attempt="1" * 16, address=Address(OFFERS), codes=("ONB10011",),
        url="https://hooks.partner.example/offers",
    )  # fmt: skip
    lines, _ = link(None, 0, [begun, imported])
    partner.write("state/europe/staging.jsonl", lines)
    partner.write("lead.json", "{}")
    partner.write("nan.json", '{"a": NaN}')
    partner.write("latin.json", b'{"a": "\xe9"}')
    partner.write("later.json", '{"format_version": "2.0", "digest": "d", "selection": [], "targets": {}}')
    partner.write("bent.json", '{"format_version": "1.0", "digest": "d", "selection": [], "targets": {"a/b": 1}}')
    return partner


def refused(partner: Partner, arguments: list[str], said: str) -> None:
    """Hold that a command is refused with one message that says so, and that nothing came of it."""
    journal = partner.journal.read_bytes()
    files = set(partner.path.rglob("*"))
    done = partner.step(*arguments, code=1)
    assert "" == done.out
    assert done.err.startswith("Error: ")
    assert said in done.err
    below = [line for line in done.err.splitlines()[1:] if not line.startswith("    reconciler ")]
    assert all(line.startswith("  ") and line.endswith("run:") for line in below)
    assert not any(word in done.err for word in ("Traceback", CLIENT_SECRET, "hunter2", "internal error"))
    assert partner.service.untouched
    assert (journal, files) == (partner.journal.read_bytes(), set(partner.path.rglob("*")))


@pytest.mark.parametrize(("arguments", "said"), COMMAND_LINES.values(), ids=COMMAND_LINES)
def test_command_lines(prepared: Partner, arguments: str, said: str) -> None:
    """What is wrong with the words on the command line, or with the files they name."""
    refused(prepared, shlex.split(arguments), said)


@pytest.mark.parametrize(("environment", "said"), ENVIRONMENTS.values(), ids=ENVIRONMENTS)
def test_environments(prepared: Partner, environment: dict[str, str], said: str) -> None:
    """What is wrong with the variables that an apply takes."""
    prepared.environment.update(environment)
    refused(prepared, ["apply", "--auto-approve"], said)


def test_every_mistake_in_one_run(prepared: Partner) -> None:
    """Each has its place, and validate, plan and apply say the same."""
    prepared.write("config/all.yaml", "targets:\n  europe/staging: {auth_url: x}\nsubscriptions: [1]\n  bad\n")
    prepared.write("config/more.yaml", "recipient: []\nsubscriptions:\n  asia/x:\n    a: {eventCodes: [ONB1]}\n")
    validated = prepared.run_fork("validate")
    assert (1, "") == (validated.code, validated.out)
    *mistakes, count = validated.err.splitlines()
    assert f"Error: {len(mistakes)} mistakes in the configuration" == count
    assert {"config/all.yaml", "config/more.yaml"} == {line.split()[1].partition(":")[0] for line in mistakes}
    for command in (["plan"], ["apply", "--auto-approve"]):
        assert validated == prepared.run_fork(*command)


def test_credentials_in_the_configuration_are_not_echoed(prepared: Partner) -> None:
    """They are an error."""
    prepared.write("config/secret.yaml", "targets:\n  usa/staging:\n    client_secret: hunter2\n")
    done = prepared.run_fork("validate")
    assert done.code == 1
    assert "config/secret.yaml:3:" in done.err
    assert "hunter2" not in done.err


def test_two_targets_with_one_name_for_their_variables(prepared: Partner) -> None:
    """Whose credentials would they be?"""
    prepared.write("config/twin.yaml", TWINS)
    done = prepared.run_fork("validate")
    assert done.code == 1
    assert "RECONCILER_EUROPE_STAGING_X_" in done.err


def test_every_target_without_credentials_is_named(prepared: Partner) -> None:
    """In one line, before anybody is asked for approval."""
    prepared.write("config/usa.yaml", USA)
    prepared.step("state", "init", "-t", "usa/*")
    prepared.environment.clear()
    done = prepared.run_fork("apply", "--auto-approve")
    assert done.code == 1
    assert "Error: europe/staging: RECONCILER_EUROPE_STAGING_CLIENT_ID is not set" in done.err
    assert "; usa/staging: RECONCILER_USA_STAGING_CLIENT_ID is not set" in done.err


def test_a_working_directory_that_is_gone(prepared: Partner, tmp_path: Path) -> None:
    """There is nothing to work with, and that is said."""
    done = prepared.shell("mkdir gone; cd gone; rmdir ../gone; exec $reconciler plan")
    assert (1, "") == (done.code, done.out)
    assert (
        done.err
        == "Error: the working directory cannot be used: No such file or directory; change to another directory\n"
    )
