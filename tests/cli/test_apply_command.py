"""What approves an apply, what refuses it, and what becomes of each answer, through the executable."""

from __future__ import annotations

import re
import resource
import signal
import socket
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import pytest
from support.lending_service import CLIENT_SECRET, refusal
from support.project import end, finish
from support.terminal import at_terminal
from werkzeug import Response

if TYPE_CHECKING:
    from pathlib import Path

    from support.lending_service import LendingService
    from support.partner import Partner

OFFERS = "europe/staging/offers"
PROMPT = "Creates cannot be undone. Apply this plan? Type 'yes' to continue: "


@pytest.fixture
def begun(partner: Partner) -> Partner:
    """A partner with one create to make."""
    partner.begin(offers=["ONB10011"])
    return partner


class TestApproval:
    """A create cannot be taken back, so somebody has to approve it."""

    @pytest.mark.parametrize(("answer", "code", "creates"), [("yes\n", 0, 1), ("y\n", 1, 0), ("\x04", 1, 0)])
    def test_at_a_terminal(self, begun: Partner, answer: str, code: int, creates: int) -> None:
        """The plan is shown, and only a yes in full is one; the progress and the summary follow."""
        done = at_terminal(begun, "apply", answers={PROMPT: answer})
        assert (code, creates) == (done.code, len(begun.service.creates))
        assert f"+ {OFFERS}  create" in done.out
        assert ("Applied: 1 create call (1 new): 1 created." in done.out) == (code == 0)
        assert ("not approved; nothing was sent" in done.out) == (code == 1)

    def test_of_a_document_at_a_terminal(self, begun: Partner) -> None:
        """Nobody approves what they have not seen: the plan is shown before the question here too."""
        done = at_terminal(begun, "apply", "--format", "json", "--color", "never", answers={PROMPT: "yes\n"})
        assert 0 == done.code
        assert done.out.index(f"  + {OFFERS}  create\n") < done.out.index(PROMPT) < done.out.index('"format_version"')

    def test_without_creates(self, begun: Partner) -> None:
        """The question of a plan that creates nothing does not speak of creates."""
        begun.step("apply", "--auto-approve", "--unsealed")
        begun.want()
        done = at_terminal(begun, "apply", "--allow-empty", answers={"Apply this plan? Type": "yes\n"})
        assert "\nApply this plan? Type 'yes' to continue: " in done.out
        assert (0, 1) == (done.code, len(begun.service.creates))

    def test_an_unknown_outcome_says_when_it_can_be_resolved(self, begun: Partner) -> None:
        """The time until which --not-created is refused stands before the command, as in the plan that follows."""
        begun.service.answer_next(refusal(500))
        applied = begun.step("apply", "--auto-approve", "--unsealed", code=3).out
        (until,) = re.findall(r"if it certainly does not, wait until (\S+Z), in \d+ s, then run:\n", applied)
        refused = begun.step("state", "resolve", OFFERS, "--not-created", code=1).err
        assert f"if it certainly does not, wait until {until}, in " in refused
        assert f"wait until {until}, in " in begun.step("plan", code=None).out

    def test_what_is_blocked_needs_none(self, begun: Partner) -> None:
        """Where nothing would be sent or recorded, nobody is asked."""
        begun.lose_answer()
        begun.step("apply", code=3)

    def test_an_empty_digest_approves_nothing(self, begun: Partner) -> None:
        """A step that should have given the digest and gave none is no approval: refused, before any call."""
        with begun.appending():
            done = begun.step("apply", "--expect-digest", "", code=1)
        assert "Error: --expect-digest: the digest is empty, so no plan was approved; check the step that" in done.err
        assert begun.service.untouched

    @pytest.mark.parametrize("digest", [["--expect-digest", ""], []])
    def test_where_there_is_nothing_to_do_nothing_is_approved(self, begun: Partner, digest: list[str]) -> None:
        """An empty plan needs no digest."""
        begun.step("apply", "--auto-approve")
        with begun.appending():
            assert "Nothing to do.\n" in begun.step("apply", *digest).out

    def test_max_creates(self, begun: Partner) -> None:
        """As many as are allowed go through."""
        begun.step("apply", "--auto-approve", "--max-creates", "1")
        assert 1 == len(begun.service.creates)

    def test_unsealed_responses_in_ci(self, begun: Partner) -> None:
        """On a runner they would be lost with its disk: refused before any call, unless that is accepted."""
        begun.environment["CI"] = "true"
        with begun.appending():
            done = begun.run_fork("apply", "--auto-approve")
        assert (1, "") == (done.code, done.out)
        assert (
            "Error: create responses may contain secrets that the service sends only once; without `recipients`, they"
            " are stored unencrypted on this machine; to encrypt them into the record, run:\n"
            "    reconciler init new-key --age-key --region europe\n"
            "  then copy the lines of `recipients` from new-key/config/targets.yaml to config/, and delete new-key; or"
            " accept this with --unsealed\n"
        ) == done.err
        assert begun.service.untouched
        begun.step("apply", "--auto-approve", "--unsealed")
        begun.step("apply", "--auto-approve")

    def test_the_advice_for_encrypted_responses_works(self, begun: Partner) -> None:
        """The key that the refusal advises is made beside a project that exists, and its lines go into config/."""
        begun.environment["CI"] = "true"
        begun.step("apply", "--auto-approve", code=1)
        begun.step("init", "new-key", "--age-key")
        written = begun.read("new-key/config/targets.yaml")
        begun.write("config/recipients.yaml", "recipients:\n" + written.partition("\nrecipients:\n")[2])
        begun.step("apply", "--auto-approve")
        (identity,) = (begun.path.parent / "home").rglob("identities/*.txt")
        refused = begun.step("secret", "show", OFFERS, code=1).err
        assert f"no age identity; use --identity {identity}" in refused
        begun.step("secret", "show", OFFERS, "--identity", identity)


def closed_port() -> str:
    """An address that refuses connections."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


class TestOutcomes:
    """What happened, what is said and recorded of it, and what a plan is then."""

    @pytest.mark.parametrize(
        ("answer", "outcome", "code", "planned"),
        [
            (Response(status=204), "created", 0, []),
            (Response("<!doctype html><p>login", content_type="text/html"), "unknown", 3, ["blocked"]),
            (refusal(307, Location="/else"), "rejected", 1, ["create"]),
            (refusal(303, Location="/else"), "unknown", 3, ["blocked"]),
            (refusal(400), "rejected", 1, ["create"]),
            (refusal(408), "unknown", 3, ["blocked"]),
            (refusal(500), "unknown", 3, ["blocked"]),
        ],
        ids=lambda value: str(value.status_code) if isinstance(value, Response) else "",
    )
    def test_answers(self, begun: Partner, answer: Response, outcome: str, code: int, planned: list[str]) -> None:
        """The status line decides; what is unknown is never repeated."""
        begun.service.answer_next(answer)
        done = begun.step("apply", "--auto-approve", "--format", "json", code=code)
        (result,) = done.document["results"]
        assert (outcome, answer.status_code) == (result["outcome"], result["status"])
        assert result["attempt"] == begun.entries[-1]["attempt"]
        assert {outcome: 1} == {name: count for name, count in done.document["summary"].items() if count}
        assert 1 == len(begun.service.creates)
        assert planned == [action for _, action in begun.planned()]

    def test_no_answer(self, begun: Partner) -> None:
        """Unknown after --timeout seconds, and blocked from then on."""
        begun.service.answer_next(begun.service.hang)
        done = begun.run_fork("apply", "--auto-approve", "--timeout", "0.5")
        assert 3 == done.code
        assert f"! {OFFERS}  blocked" in begun.step("plan").out
        assert ("outcome", "unknown") == (begun.entries[-1]["kind"], begun.entries[-1]["outcome"])

    def test_no_connection(self, begun: Partner) -> None:
        """Not sent, however often it was tried, and left for the next apply."""
        begun.step("token", "-t", "europe/staging")
        begun.environment["RECONCILER_EUROPE_STAGING_BASE_URL"] = closed_port()
        begun.step("state", "rebind", "--force")
        done = begun.run_fork("apply", "--auto-approve", "--format", "json")
        assert 1 == done.code
        assert ["not_sent"] == [result["outcome"] for result in done.document["results"]]
        assert [("offers", "create")] == begun.planned()

    def test_a_token_that_is_refused_once(self, begun: Partner) -> None:
        """On 401 it is thrown away, another one fetched, and the call repeated once."""
        begun.service.answer_next(refusal(401))
        begun.step("apply", "--auto-approve")
        assert ["Bearer token-number-1", "Bearer token-number-2"] == [
            one.headers["authorization"] for one in begun.service.creates
        ]
        assert ["begun", "bound", "intent", "outcome"] == begun.kinds

    def test_no_token(self, begun: Partner) -> None:
        """No intent is recorded, the error is one line without the secret, and the other targets go on."""
        begun.write(
            "config/usa.yaml", USA.format(auth_url=f"{begun.service.url}/tenant", base_url=begun.service.base_url)
        )
        begun.step("state", "init", "-t", "usa/*")
        begun.environment |= {"RECONCILER_USA_X_CLIENT_ID": "c", "RECONCILER_USA_X_CLIENT_SECRET": "s"}
        begun.service.answer_next_token(denial())
        with begun.appending():
            done = begun.run_fork("apply", "--auto-approve", "--format", "json")
        assert 1 == done.code
        denied, created = done.document["results"]
        assert (OFFERS, "not_sent", None) == (denied["address"], denied["outcome"], denied["attempt"])
        assert ("usa/x/a", "created") == (created["address"], created["outcome"])
        assert (
            "europe/staging: no access token: HTTP 401 Unauthorized: access_denied, wrong secret; check "
            in denied["detail"]
        )
        assert CLIENT_SECRET not in done.out + done.err

    def test_one_failure_does_not_stop_the_others(self, partner: Partner) -> None:
        """The run ends with a summary of every address."""
        partner.begin(a=["ONB10001"], b=["ONB10002"], c=["ONB10003"])
        partner.service.answer_next(refusal(422))
        done = partner.run_fork("apply", "--auto-approve", "--parallelism", "1")
        assert 1 == done.code
        for line in ("a  rejected (422): HTTP 422", "b  created (201)", "c  created (201)"):
            assert f"  + europe/staging/{line}" in done.out
        assert "Applied: 3 create calls (3 new): 2 created; 1 rejected.\n" in done.out

    def test_an_outage_ends_a_target(self, partner: Partner) -> None:
        """Three unknown outcomes in a row, and the rest is skipped."""
        partner.begin(**{f"s{number}": [f"ONB1000{number}"] for number in range(6)})
        partner.service.answer_next(*[refusal(500)] * 3)
        done = partner.run_fork("apply", "--auto-approve", "--format", "json")
        assert 3 == done.code
        assert {"unknown": 3, "skipped": 3} == {
            name: count for name, count in done.document["summary"].items() if count
        }
        skipped = [row for row in done.document["results"] if row["outcome"] == "skipped"]
        outage = "3 unknown outcomes in a row: the service seems to be unavailable"
        then = "once it answers again, the next apply sends this, and repeats no create"
        assert {f"{outage}; {then}"} == {row["detail"] for row in skipped}
        before = len(partner.service.creates)
        again = partner.step("apply", "--auto-approve", "--format", "json", code=3).document["results"]
        assert {row["address"] for row in skipped} == {row["address"] for row in again if row["outcome"] == "created"}
        assert 3 == len(partner.service.creates) - before


USA = """\
targets:
  usa/x: {{auth_url: {auth_url}, base_url: {base_url}, overlap: allow}}
subscriptions:
  usa/x: {{a: {{eventCodes: [ONB10001], webhookUrl: https://a.example/}}}}
"""


def denial() -> Response:
    """How an identity provider says no."""
    body = '{"error": "access_denied", "error_description": "wrong secret"}'
    return Response(body, status=401, content_type="application/json")


class TestSignals:
    """Interrupted, an apply starts nothing more, and records what is in flight as what it is."""

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_while_a_call_hangs(self, begun: Partner, number: signal.Signals) -> None:
        """It waits for an answer for a while, then records that nobody knows."""
        begun.service.answer_next(begun.service.hang)
        begun.environment["RECONCILER_TEST_FAILPOINT"] = "grace=1"
        process = begun.start("apply", "--auto-approve")
        assert begun.service.hanging.wait(20)
        done = end(process, number, timeout=10)
        assert 128 + number == done.code
        assert "Interrupted: waiting up to 1 s for 1 call in flight; interrupt again " in done.err
        assert f"  + {OFFERS}  unknown: interrupted while the call was in flight\n" in done.out
        assert ("outcome", "unknown") == (begun.entries[-1]["kind"], begun.entries[-1]["outcome"])

    def test_a_second_time(self, begun: Partner) -> None:
        """At once, and recorded all the same."""
        begun.service.answer_next(begun.service.hang)
        process = begun.start("apply", "--auto-approve")
        assert begun.service.hanging.wait(20)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert process.stderr.readline().startswith(b"Interrupted: waiting up to 5 s for 1 call in flight; ")
        done = end(process, signal.SIGINT, timeout=3)
        assert 130 == done.code
        assert ("outcome", "unknown") == (begun.entries[-1]["kind"], begun.entries[-1]["outcome"])

    def test_an_answer_that_comes_in_time_counts(self, partner: Partner) -> None:
        """What was in flight is created; what was not begun is skipped, and left for the next apply."""
        partner.begin(a=["ONB10001"], b=["ONB10002"])
        partner.environment["RECONCILER_TEST_FAILPOINT"] = "after-send:1:int"
        done = partner.run_fork("apply", "--auto-approve", "--format", "json")
        assert 130 == done.code
        assert ["created", "skipped"] == [result["outcome"] for result in done.document["results"]]
        del partner.environment["RECONCILER_TEST_FAILPOINT"]
        assert [("b", "create")] == partner.planned()

    @pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
    def test_before_anything_was_begun(self, begun: Partner, number: signal.Signals, code: int) -> None:
        """While it waits for a token nothing is recorded."""
        begun.service.answer_next_token(begun.service.hang)
        process = begun.start("apply", "--auto-approve")
        assert begun.service.hanging.wait(20)
        with begun.appending():
            done = end(process, number, timeout=5)
        assert code == done.code
        assert "Traceback" not in done.err


IMPATIENT = "from reconciler.applying import run; run._PATIENCE_WITH_EARLIER = 0.1"
"""Has an apply not wait for seconds whether an earlier one still records its outcomes."""


@pytest.mark.parametrize("step", ["before-append", "after-append", "before-send", "after-send"])
def test_killed(begun: Partner, step: str) -> None:
    """Wherever it dies, the record is whole, and what may have been sent is not sent again."""
    begun.environment["RECONCILER_TEST_FAILPOINT"] = f"{step}:1:kill"
    begun.step("apply", "--auto-approve", code=-9)
    del begun.environment["RECONCILER_TEST_FAILPOINT"]
    begun.before_steps = IMPATIENT
    begun.step("state", "verify")
    expected = [("offers", "create" if step == "before-append" else "blocked")]
    assert expected == begun.planned()
    begun.step("apply", "--auto-approve", code=None)
    assert len(begun.service.creates) == (0 if step in ("after-append", "before-send") else 1)


def test_a_failing_store_loses_nothing(begun: Partner, lending_service: LendingService) -> None:
    """An outcome that cannot be appended is kept beside the record, and that is said, with -q too."""
    begun.service.answer_next(lambda: remove_journal(begun))
    done = begun.run_fork("apply", "--auto-approve", "-q")
    assert 3 == done.code
    (kept,) = (begun.path.parent / "home" / "data" / "reconciler" / "unrecorded").iterdir()
    problem = f"europe/staging: results could not be saved to the record; they are in {kept}. Cause: {begun.journal}: "
    cause = "cannot write the state record: Is a directory; check the disk and the permissions"
    advice = "Until recovered, these addresses have an unknown outcome; remove the cause, and run:\n"
    advice += f"    reconciler state recover {kept}"
    assert done.err.endswith(f"Error: {problem}{cause}. {advice}\n")
    assert "then run the command again" not in done.err
    assert (0, 1) == (done.out.count("Is a directory"), done.err.count("Is a directory"))
    assert "Applied: 1 create call (1 new): 1 created, not recorded." in done.out
    assert '"outcome": "created"' in kept.read_text(encoding="utf-8")


def test_no_module_is_compiled_while_calls_are_sent(begun: Partner) -> None:
    """On a disk that is full then, Python would keep a part of the file, and later commands would fail on it."""
    bytecode = begun.path / "bytecode"
    begun.environment.update(PYTHONPYCACHEPREFIX=str(bytecode), PYTHONDONTWRITEBYTECODE="")
    before: set[Path] = set()

    def answer() -> Response:
        before.update(bytecode.rglob("*.pyc"))
        return remove_journal(begun)

    begun.service.answer_next(answer)
    assert 3 == begun.run("apply", "--auto-approve").code
    assert before
    assert before == set(bytecode.rglob("*.pyc"))


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="elsewhere no running program can be given a limit")
def test_a_full_disk_is_told_once_with_one_command(begun: Partner) -> None:
    """Why the record cannot be written is said when it comes, and at the end with the file that has the results."""
    begun.environment["RECONCILER_TEST_FAILPOINT"] = "closing=0.3"
    running: SimpleQueue[int] = SimpleQueue()

    def answer() -> Response:
        size = begun.journal.stat().st_size
        resource.prlimit(running.get(timeout=20), resource.RLIMIT_FSIZE, (size, size))
        return Response('{"id": 1}', status=201)

    begun.service.answer_next(answer)
    process = begun.start("apply", "--auto-approve")
    running.put(process.pid)
    done = finish(process)
    assert 3 == done.code, done
    assert (2, 1) == (done.err.count("File too large"), done.err.count("reconciler state recover "))
    assert 1 == begun.run("plan").err.count("contains the results of 1 create that are not in the record")


def remove_journal(partner: Partner) -> Response:
    """Puts a directory in the place of the journal before it answers."""
    partner.journal.unlink()
    partner.journal.mkdir()
    return Response('{"id": 1}', status=201)


def test_documents_are_alone_on_stdout(begun: Partner) -> None:
    """Progress, warnings and notices go to stderr; the document has the keys that are promised."""
    done = begun.step("apply", "--auto-approve", "--format", "json")
    assert "" == done.err
    assert ["format_version", "results", "removal_requests", "summary", "not_recorded"] == list(done.document)
    assert ["address", "action", "outcome", "status", "attempt", "detail"] == list(done.document["results"][0])
    counts: dict[str, Any] = done.document["summary"]
    assert ["created", "rejected", "not_sent", "unknown", "restored", "retired", "skipped"] == list(counts)
