"""`lead create` and `token`: what is sent, what is printed, and how it fails."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest
from support.lending_service import AUDIENCE_BASE, CLIENT_SECRET, refusal
from support.project import end
from support.terminal import at_terminal
from werkzeug import Response

if TYPE_CHECKING:
    from support.partner import Partner

LEAD = '{"applicant": {"name": "Zo\u00eb"}, "amount": "100.00"}'
CREATE = ("lead", "create", "-t", "europe/staging")


@pytest.fixture
def declared(partner: Partner) -> Partner:
    """A partner with a target and nothing more."""
    partner.want()
    return partner


class TestLead:
    """One POST, and its answer."""

    @pytest.mark.parametrize("source", ["lead.json", "-"])
    def test_the_request_is_the_one_documented(self, declared: Partner, source: str) -> None:
        """SERVICE.md, section 4.3: method, path, headers, and the file as it is; the answer is printed as it came."""
        declared.write("lead.json", LEAD)
        done = declared.step(*CREATE, source, stdin=LEAD)
        assert ('{"lead": {"ref": 1.10}}\n', "") == (done.out, done.err)
        (lead,) = declared.service.leads
        assert ("POST", "/eu/v9/onboarding/leads") == (lead.method, lead.path)
        assert {
            "authorization": "Bearer token-number-1",
            "accept": "application/json",
            "content-type": "application/json",
        } == {name: lead.headers[name] for name in ("authorization", "accept", "content-type")}
        assert {"applicant": {"name": "Zo\u00eb"}, "amount": "100.00"} == lead.body
        assert [f"{AUDIENCE_BASE}/onboarding"] == [one.body["audience"] for one in declared.service.token_requests]

    @pytest.mark.parametrize(
        ("status", "said"),
        [(422, "the lead was rejected: HTTP 422"), (500, "the lead was sent, but its outcome is unknown: ")],
    )
    def test_failures(self, declared: Partner, status: int, said: str) -> None:
        """One line that says whether the lead may exist; it is never sent twice."""
        declared.service.answer_next(refusal(status))
        done = declared.run_fork(*CREATE, "-", stdin=LEAD)
        assert (1, "", 1) == (done.code, done.out, len(declared.service.leads))
        assert f"Error: europe/staging: {said}" in done.err

    def test_no_answer(self, declared: Partner) -> None:
        """After --timeout seconds nobody knows."""
        declared.service.answer_next(declared.service.hang)
        done = declared.run_fork(*CREATE, "-", "--timeout", "0.5", stdin=LEAD)
        assert 1 == done.code
        assert "check with the operator before you send it again" in done.err

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    def test_interrupted_after_it_was_sent(self, declared: Partner, number: signal.Signals) -> None:
        """It may exist, and nobody should send it again without asking."""
        declared.write("lead.json", LEAD)
        declared.service.answer_next(declared.service.hang)
        process = declared.start(*CREATE, "lead.json")
        assert declared.service.hanging.wait(30)
        done = end(process, number)
        assert (128 + number, "", 1) == (done.code, done.out, len(declared.service.leads))
        assert done.err == (
            "Error: europe/staging: the lead was sent, but its outcome is unknown: interrupted; check with the operator"
            " before you send it again: a second send may create a duplicate\nInterrupted.\n"
        )

    def test_interrupted_before_it_was_sent(self, declared: Partner) -> None:
        """Nothing exists, and nothing is said of it."""
        declared.write("lead.json", LEAD)
        declared.service.answer_next_token(declared.service.hang)
        process = declared.start(*CREATE, "lead.json")
        assert declared.service.hanging.wait(30)
        done = end(process, signal.SIGTERM)
        assert (143, "", "Interrupted.\n", []) == (done.code, done.out, done.err, declared.service.leads)

    def test_an_answer_that_breaks_off(self, declared: Partner) -> None:
        """What came of it is printed, with a warning."""
        declared.service.answer_next(Response(iter([b'{"ref":']), status=201, headers={"Content-Length": "99"}))
        done = declared.step(*CREATE, "-", stdin=LEAD)
        assert '{"ref":\n' == done.out
        assert "Warning: the response was cut off after 7 bytes\n" == done.err


class TestToken:
    """One line on stdout."""

    def test_it_is_printed_from_the_cache(self, declared: Partner) -> None:
        """A second time nobody is asked."""
        for _ in range(2):
            done = declared.step("token", "-t", "europe/staging")
            assert ("token-number-1\n", "") == (done.out, done.err)
        assert 1 == len(declared.service.token_requests)
        assert "token-number-1\n" in at_terminal(declared, "token", "-t", "europe/staging").out

    def test_in_actions_it_is_masked(self, declared: Partner) -> None:
        """On stderr, so that a capture holds the token alone."""
        declared.environment["GITHUB_ACTIONS"] = "true"
        done = declared.step("token", "-t", "europe/staging")
        assert ("token-number-1\n", "::add-mask::token-number-1\n") == (done.out, done.err)

    @pytest.mark.parametrize(
        ("answer", "said"),
        [
            (refusal(403), "no access token: HTTP 403 Forbidden: no, because of 403; check RECONCILER_EUROPE_STAGING_"),
            (Response("{}"), "no access token: HTTP 200 without a valid access_token, expires_in, token_type; "),
            (Response("<html>"), "no access token: HTTP 200 without a valid access_token, "),
        ],
        ids=["refused", "empty", "page"],
    )  # fmt: skip
    def test_failures(self, declared: Partner, answer: Response, said: str) -> None:
        """One line: the target, the status, what was said, what to check; never the secret."""
        declared.service.answer_next_token(answer)
        done = declared.run_fork("token", "-t", "europe/staging")
        assert (1, "", 1) == (done.code, done.out, done.err.count("\n"))
        assert f"Error: europe/staging: {said}" in done.err
        assert CLIENT_SECRET not in done.err
