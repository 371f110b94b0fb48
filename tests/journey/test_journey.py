"""What a new user does, against a service that is not the sandbox, from an empty record to a retired subscription."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.lending_service import AUDIENCE_BASE, CLIENT_ID, CLIENT_SECRET, SIGNING_KEY

if TYPE_CHECKING:
    from pathlib import Path

    from support.lending_service import LendingService
    from support.partner import Partner

APPLICATIONS = ["ONB10002", "LOA10013", "ONB10001"]
URL = "https://hooks.partner.example/applications"
ADDRESS = "europe/staging/applications"

# Any event of the socket module, a mere look-up of a name included, ends the process's use of it.
NO_NETWORK = """
import sys

def refuse(event, arguments):
    if event.startswith("socket."):
        raise RuntimeError("the network was used: " + event)

sys.addaudithook(refuse)
"""


@pytest.fixture
def applied(partner: Partner) -> Partner:
    """A partner whose one subscription was created."""
    partner.begin(applications=APPLICATIONS)
    partner.step("apply", "--auto-approve")
    return partner


def cut_off(partner: Partner) -> None:
    """Take the network, and the credentials, away from the commands to come."""
    partner.before_steps, partner.environment = NO_NETWORK, {}


class TestFirstPlan:
    """Before anything exists."""

    def test_plan_needs_neither_credentials_nor_network(
        self, partner: Partner, lending_service: LendingService
    ) -> None:
        """From configuration to plan nothing leaves the machine."""
        partner.want(applications=APPLICATIONS)
        cut_off(partner)
        partner.step("validate")
        partner.step("state", "init")
        done = partner.run_fork("plan", "--detailed-exitcode")
        assert (2, "") == (done.code, done.err)
        assert f"  + {ADDRESS}  create\n" in done.out
        assert lending_service.untouched

    def test_the_network_is_really_gone(self, partner: Partner, lending_service: LendingService) -> None:
        """The test above would notice: under the same conditions an apply sends nothing."""
        partner.begin(applications=APPLICATIONS)
        credentials = partner.environment
        cut_off(partner)
        partner.environment.update(credentials)
        assert partner.run_fork("apply", "--auto-approve", "--timeout", "1").code == 1
        assert lending_service.untouched

    def test_without_a_record_there_is_no_plan(self, partner: Partner) -> None:
        """A missing record is not an empty one, and what to do is said."""
        partner.want(applications=APPLICATIONS)
        done = partner.run_fork("plan", "--detailed-exitcode")
        assert (1, "") == (done.code, done.out)
        assert "reconciler state init -t europe/staging" in done.err


class TestFirstApply:
    """One call, to the letter, and a record of it."""

    def test_the_requests_are_those_documented(self, applied: Partner, lending_service: LendingService) -> None:
        """SERVICE.md, sections 4.1 and 4.2: method, path, headers and body, with sorted codes."""
        (token,), (create,) = lending_service.token_requests, lending_service.creates
        assert (token.method, token.path) == ("POST", "/tenant/oauth/token")
        assert token.headers["content-type"] == "application/json"
        assert token.body == {
            "grant_type": "client_credentials",
            "client_id": CLIENT_ID,
            "client_secret": CLIENT_SECRET,
            "audience": f"{AUDIENCE_BASE}/notification",
        }
        assert (create.method, create.path) == ("POST", "/eu/v9/notification/webhooksubscription")
        assert create.headers["authorization"] == "Bearer token-number-1"
        assert create.headers["content-type"] == "application/json"
        assert create.body == {"eventCodes": sorted(APPLICATIONS), "webhookUrl": URL}

    def test_nothing_is_left_to_do(self, applied: Partner, lending_service: LendingService) -> None:
        """A plan is empty, and an apply needs no approval and sends nothing."""
        assert ["begun", "bound", "intent", "outcome"] == applied.kinds
        done = applied.run_fork("plan", "--detailed-exitcode")
        assert (0, "") == (done.code, done.err)
        assert "\nNo changes. 1 subscription matches the configuration.\n" in done.out
        journal = applied.journal.read_bytes()
        done = applied.run_fork("apply")
        assert (0, "Nothing to do.\n") == (done.code, done.out)
        assert (1, journal) == (len(lending_service.creates), applied.journal.read_bytes())

    def test_no_secret_lies_open(self, applied: Partner) -> None:
        """The response is private to its owner; nothing else holds the key, the token or the client secret."""
        secrets = (SIGNING_KEY.encode(), CLIENT_SECRET.encode(), b"token-number")
        files = [path for path in applied.path.parent.rglob("*") if path.is_file()]
        holders = [path for path in files if any(secret in path.read_bytes() for secret in secrets)]
        assert [(f"{applied.attempt()}.response.1", 0o600)] == [
            (one.name, one.stat().st_mode & 0o777) for one in holders
        ]


class TestChanges:
    """What becomes of a subscription that exists."""

    def test_another_order_is_no_change(self, applied: Partner) -> None:
        """Order never matters."""
        applied.want(applications=sorted(APPLICATIONS))
        assert applied.run_fork("plan", "--detailed-exitcode").code == 0

    def test_an_added_code_is_created_alone(self, applied: Partner, lending_service: LendingService) -> None:
        """One call with that code, so that nothing is delivered twice."""
        applied.want(applications=[*APPLICATIONS, "ONB10004"])
        assert [("applications", "extend")] == applied.planned()
        applied.step("apply", "--auto-approve")
        assert [{"eventCodes": ["ONB10004"], "webhookUrl": URL}] == lending_service.bodies[1:]
        assert [] == applied.planned()

    def test_a_changed_url_is_created_beside_the_old(self, applied: Partner, lending_service: LendingService) -> None:
        """One call with all codes; the old subscription awaits its removal, and delivers until then."""
        other = "https://hooks.partner.example/elsewhere"
        applied.declare({"applications": (APPLICATIONS, other)})
        done = applied.step("apply", "--auto-approve", "--format", "json")
        assert [{"eventCodes": sorted(APPLICATIONS), "webhookUrl": other}] == lending_service.bodies[1:]
        (request,) = done.document["removal_requests"]
        assert f"to {URL}, created" in request["text"]
        assert "(subscriptionId sub-1)" in request["text"]
        assert {"live", "awaiting_removal"} == {status for _, status, _ in applied.listed()}
        assert [request["attempt"]] == [one["attempt"] for one in applied.plan()["awaiting_removal"]]
        applied.step("state", "removed", ADDRESS)
        assert [("applications", "live", sorted(APPLICATIONS))] == applied.listed()

    def test_a_dropped_name_is_retired_without_a_call(self, applied: Partner, lending_service: LendingService) -> None:
        """The record says that it must go, and the request to the operator is printed."""
        applied.want(others=["ONB10011"])
        done = applied.step("apply", "--auto-approve")
        assert [
            {"eventCodes": ["ONB10011"], "webhookUrl": "https://hooks.partner.example/others"}
        ] == lending_service.bodies[1:]
        assert (
            f"Please delete the webhook subscription of europe/staging that delivers {', '.join(sorted(APPLICATIONS))}"
            in done.out
        )
        assert f"reconciler state removed {ADDRESS}" in done.out
        assert [] == applied.planned()

    def test_what_is_wanted_again_is_restored_without_a_call(
        self, applied: Partner, lending_service: LendingService
    ) -> None:
        """The record says that it stays."""
        applied.want(others=["ONB10011"])
        applied.step("apply", "--auto-approve")
        applied.want(applications=APPLICATIONS, others=["ONB10011"])
        assert [("applications", "restore")] == applied.planned()
        applied.step("apply", "--auto-approve")
        assert (2, "live") == (len(lending_service.creates), applied.listed()[0][1])


class TestSavedPlans:
    """A plan that was looked at is the plan that is applied, or none is."""

    @pytest.fixture
    def saved(self, partner: Partner) -> Path:
        """The plan of one create, in a file."""
        partner.begin(applications=APPLICATIONS)
        partner.step("plan", "--out", "plan.json")
        return partner.path / "plan.json"

    def test_the_file_is_the_document(self, partner: Partner, saved: Path) -> None:
        """`--out` writes what `--format json` prints."""
        assert partner.step("plan", "--format", "json").out == saved.read_text(encoding="utf-8")

    def test_it_applies_once(self, partner: Partner, lending_service: LendingService, saved: Path) -> None:
        """A second time it is refused: the record has moved."""
        partner.step("apply", "plan.json")
        journal = partner.journal.read_bytes()
        done = partner.run_fork("apply", "plan.json")
        assert (1, "") == (done.code, done.out)
        assert done.err.startswith("Error: plan.json: the saved plan is stale for europe/staging: ")
        assert (1, journal) == (len(lending_service.creates), partner.journal.read_bytes())

    @pytest.mark.parametrize("how", ["codes", "target gone", "base_url", "recipients"])
    def test_it_does_not_apply_to_something_else(
        self, partner: Partner, lending_service: LendingService, saved: Path, how: str
    ) -> None:
        """Other codes, other addresses, other recipients, a target that is no longer there: refused, nothing sent."""
        match how:
            case "codes":
                partner.want(applications=["ONB10011"])
            case "target gone":
                partner.write(
                    "config/all.yaml", partner.read("config/all.yaml").replace("europe/staging", "usa/staging")
                )
                partner.step("state", "init")
            case "base_url":
                partner.environment["RECONCILER_EUROPE_STAGING_AUTH_URL"] = "https://login.elsewhere.example"
            case "recipients":
                key = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"
                partner.write("config/recipients.yaml", f"recipients: [{key}]\n")
        done = partner.run_fork("apply", "plan.json")
        assert done.code == 1
        targets = "europe/staging, usa/staging" if how == "target gone" else "europe/staging"
        assert f"Error: plan.json: the saved plan is stale for {targets}: " in done.err
        assert lending_service.untouched

    def test_what_is_left_of_it_is_another_plan(self, partner: Partner, lending_service: LendingService) -> None:
        """Without one of its targets, nothing of it is applied; the targets that are left can be selected."""
        partner.begin(applications=APPLICATIONS)
        elsewhere = partner.read("config/all.yaml").replace(lending_service.base_url, "https://api.elsewhere.example")
        other = partner.write("config/usa.yaml", elsewhere.replace("europe/", "usa/"))
        partner.step("state", "init")
        partner.step("plan", "--out", "plan.json")
        other.unlink()
        done = partner.run_fork("apply", "plan.json")
        assert (1, "") == (done.code, done.out)
        assert "Error: plan.json: the saved plan is stale for usa/staging: " in done.err
        assert lending_service.untouched
        partner.step("apply", "plan.json", "-t", "europe/*")

    def test_nothing_is_sent_from_the_file(
        self, partner: Partner, lending_service: LendingService, saved: Path
    ) -> None:
        """A file that was tampered with changes nothing but its own words."""
        document = json.loads(saved.read_text(encoding="utf-8"))
        document["changes"][0]["request"]["webhookUrl"] = "https://evil.example/"
        saved.write_text(json.dumps(document), encoding="utf-8")
        partner.step("apply", "plan.json")
        assert [URL] == [body["webhookUrl"] for body in lending_service.bodies]

    def test_the_selection_comes_from_the_file(self, partner: Partner, lending_service: LendingService) -> None:
        """What was planned for some addresses is applied to those."""
        partner.begin(applications=["ONB10001"], offers=["ONB10011"])
        partner.step("plan", "-t", "*/*/offers", "--out", "plan.json")
        partner.step("apply", "plan.json")
        assert [["ONB10011"]] == [body["eventCodes"] for body in lending_service.bodies]

    def test_a_digest_applies_once(self, partner: Partner, lending_service: LendingService) -> None:
        """A stale digest is refused, with the one of the plan as it is now."""
        partner.begin(applications=APPLICATIONS)
        digest = partner.plan()["digest"]
        partner.step("apply", "--expect-digest", digest)
        done = partner.run_fork("apply", "--expect-digest", digest)
        assert (1, "") == (done.code, done.out)
        assert (
            f"Error: --expect-digest {digest}: the plan has changed: its digest is now {partner.plan()['digest']}; "
            in done.err
        )
        assert len(lending_service.creates) == 1
