"""What is said on stderr: -v, -q and --log-format; never a secret."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from support.lending_service import CLIENT_SECRET, SIGNING_KEY, refusal
from support.terminal import at_terminal

if TYPE_CHECKING:
    from support.partner import Partner

WARNED = {"offers": ["XYZ00001"]}


def test_how_much_is_said(partner: Partner) -> None:
    """Warnings without a flag, settings with -v, calls with -vv, errors alone with -q."""
    partner.want(**WARNED)
    partner.write("state/asia/x.jsonl", "")
    partner.step("state", "init", "-q")
    plan = ("plan", "--accept-possible-duplicates", "asia/x")
    plain, more, quiet = (partner.step(*plan, *flag).err for flag in ([], ["-v"], ["-v", "-q"]))
    assert ["Warning", "Warning", "Warning"] == [
        line.partition(":")[0] for line in plain.splitlines() if line[0] != " "
    ]
    assert "" == quiet
    assert "Info: desired state: config\n" in more
    assert "Info: state record: state; " in more
    assert re.search(r"^Info: europe/staging: 1 entries, head [0-9a-f]{64}$", more, re.MULTILINE)
    assert set(plain.splitlines()) < set(more.splitlines())
    assert "Debug: " not in partner.step("-v", "token", "-t", "europe/staging", "--cache-dir", "other").err
    everything = partner.step("-vv", "token", "-t", "europe/staging").err
    assert re.search(r"^Debug: POST 127.0.0.1:\d+/tenant/oauth/token: 200, \d\.\d{3} s$", everything, re.MULTILINE)


def test_objects(partner: Partner) -> None:
    """With --log-format json every line is an object: warnings, progress, log records and errors."""
    partner.begin(**WARNED)
    partner.service.answer_next(refusal(500))
    done = partner.run_fork("apply", "--auto-approve", "-vv", "--log-format", "json")
    assert 3 == done.code
    told = [json.loads(line) for line in done.err.splitlines()]
    assert all(["time", "level", "logger", "message"] == list(one) for one in told)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", one["time"]) for one in told)
    assert {("warning", "reconciler"), ("info", "reconciler"), ("debug", "reconciler.service")} == {
        (one["level"], one["logger"]) for one in told
    }
    for arguments, words in (
        (["plan", "-t", "x/y"], "-t x/y: matches no target"),
        (["plan", "--bogus"], "No such option"),
    ):
        failed = partner.step("-q", "--log-format", "json", *arguments, code=None)
        error = json.loads(failed.err)
        assert (1, "error", "reconciler") == (failed.code, error["level"], error["logger"])
        assert error["message"].startswith(words)


def test_time_of_an_object_is_utc(partner: Partner) -> None:
    """It does not depend on the time zone, and has milliseconds."""
    partner.want(**WARNED)
    partner.environment["TZ"] = "XXX-9"
    partner.before_steps = "import time; time.tzset(); time.time = lambda: 1_800_000_000.0625"
    failed = partner.step("--log-format", "json", "plan", "-t", "x/y", code=1)
    assert "2027-01-15T08:00:00.062Z" == json.loads(failed.err.splitlines()[-1])["time"]


def test_objects_are_no_commands(partner: Partner) -> None:
    """What was given may be a command for a runner of Actions; the object holds it, and is none."""
    partner.want(**WARNED)
    done = partner.run_fork("plan", "--log-format", "json", "-t", "##[group]/y")
    assert (1, False) == (done.code, "##[" in done.err)
    assert json.loads(done.err.splitlines()[-1])["message"].startswith("-t ##[group]/y: ")


def test_log_records_from_the_libraries(partner: Partner) -> None:
    """A cache that cannot be written is warned of in our own words, on a line that begins with them."""
    partner.want(**WARNED)
    done = partner.step("token", "-t", "europe/staging", "--cache-dir", "/proc/reconciler")
    assert "Warning: cannot cache tokens: /proc/reconciler/tokens: No such file or directory\n" in done.err
    quiet = partner.step("-q", "token", "-t", "europe/staging", "--cache-dir", "/proc/reconciler")
    assert "" == quiet.err


@pytest.mark.parametrize("form", ["text", "json"])
def test_no_secret_at_any_level(partner: Partner, form: str) -> None:
    """Not of the client, not a token, not a subscription's."""
    partner.begin(**WARNED)
    partner.service.answer_next(refusal(401))
    done = partner.run_fork("apply", "--auto-approve", "-vv", "--log-format", form)
    assert 0 == done.code
    for secret in (CLIENT_SECRET, "token-number", SIGNING_KEY):
        assert secret not in done.out + done.err


def test_live_progress(partner: Partner) -> None:
    """At a terminal that shows colour there is a bar; with --log-format json, or -q, there is none."""
    partner.want(a=["ONB10001"], b=["ONB10002"])
    partner.step("state", "init")
    bar = at_terminal(partner, "apply", "--auto-approve", "-t", "*/*/a")
    assert "Creating" in bar.out
    assert "europe/staging/a  created (201)" in bar.out
    objects = at_terminal(partner, "apply", "--auto-approve", "--log-format", "json")
    assert "Creating" not in objects.out
    assert '"message": "1 of 1:  + europe/staging/b  created (201)"' in objects.out


def test_mistakes_are_annotated_in_actions(partner: Partner) -> None:
    """Beside the line they are in."""
    partner.write("config/all.yaml", "bogus: 1\n")
    partner.environment |= {"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": str(partner.path)}
    done = partner.run_fork("validate")
    assert 1 == done.code
    assert done.err.startswith("::error file=config/all.yaml,line=1,col=1::")
    del partner.environment["GITHUB_WORKSPACE"]
    assert "::error file=config/all.yaml,line=1,col=1::" in partner.step("validate", code=None).err
