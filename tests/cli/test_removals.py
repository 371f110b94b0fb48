"""`removals`, and `state removed` with what one message to the operator asked for."""

from __future__ import annotations

import json
import re
import shlex
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import TYPE_CHECKING

import pytest
from support.report_values import printed
from support.value_scene import AT, BY, EUROPE, Scene, address_of, hooks

from reconciler.model.entry import Observed, Restored
from reconciler.model.selection import Selection
from reconciler.planning.removals import removal_requests
from reconciler.planning.status import doubted_until, status_of
from reconciler.reports.formats import REMOVALS, STATUS
from reconciler.reports.removals import removal_message
from reconciler.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.project import Project

    from reconciler.model.removal import RemovalRequest

CONFIG = """\
targets:
  europe/staging: {auth_url: https://login.example, base_url: https://eu.example}
  usa/staging: {auth_url: https://login.example, base_url: https://us.example}
subscriptions:
  "*/*":
    offers: {eventCodes: [ONB10011], webhookUrl: "https://hooks.partner.example/{region}/offers"}
    loans: {eventCodes: [LOA10013], webhookUrl: "https://hooks.partner.example/{region}/loans"}
"""
NOW = datetime(2026, 11, 22, tzinfo=UTC)
NEW_URL = 'subscriptions: {europe/staging: {offers: {webhookUrl: "https://hooks.partner.example/new"}, loans: null}}'


@pytest.fixture
def partner(project: Project) -> Iterator[Project]:
    """A project in which two subscriptions of europe/staging await removal: one was replaced, one is not wanted."""
    with Sandbox(targets=["europe/staging", "usa/staging"]) as sandbox:
        project.environment |= dict(sandbox.variables())
        project.write("config/all.yaml", CONFIG)
        project.step("state", "init")
        project.step("apply", "--auto-approve", "--unsealed")
        project.write("config/new.yaml", NEW_URL)
        project.step("apply", "--auto-approve", "--unsealed")
        yield project


def awaiting(partner: Project) -> list[str]:
    """The addresses that await removal."""
    listed = json.loads(partner.step("state", "list", "--format", "json").out)
    return [one["address"] for one in listed if one["status"] == "awaiting_removal"]


def the_command(text: str) -> list[str]:
    """The arguments of the one command that the text says to run."""
    commands = re.findall(r"^ *reconciler (.+)$", text, re.MULTILINE)
    assert len(commands) == 1
    return shlex.split(commands[0])


def test_one_message_for_each_target(partner: Project) -> None:
    """The message has all that the operator needs, and says what is delivered until then."""
    text = partner.step("removals").out
    assert 1 == text.count("Please delete these 2 webhook subscriptions of europe/staging:")
    assert "usa/staging" not in text
    assert "https://hooks.partner.example/europe/offers" in text
    assert re.search(r"\w+[iI]d: \S+", text)
    assert re.search(r"removal requested 2\S+ \(just now\)", text)
    assert "delivered twice: ONB10011 (also to https://hooks.partner.example/new)" in text
    assert "still delivered: LOA10013" in text


def test_what_is_wanted_must_not_be_deleted_yet(partner: Project) -> None:
    """A request for what config/ wants, and nothing else delivers, comes with a warning."""
    partner.step("state", "retire", "europe/staging/offers")
    warned = partner.step("removals").err
    assert "config/ wants ONB10011, which only attempt" in warned
    assert "before this request is sent, run:\n    reconciler apply" in warned
    partner.step("apply", "--auto-approve", "--unsealed")
    assert "config/ wants" not in partner.step("removals").err


def test_what_is_wanted_again_is_in_no_message(partner: Project) -> None:
    """After a wrong URL was applied and `config/` is right again, no request asks to delete the right subscription."""
    partner.write("config/new.yaml", "subscriptions: {europe/staging: {loans: null}}")
    for form in ("text", "markdown"):
        said = unescape(re.sub(r"<[^>]+>", "", partner.step("removals", "--format", form).out))
        message, _, after = said.partition("After they are deleted")
        assert ("On hold" in message, "On hold" in after) == (False, True)
        assert "Please delete this webhook subscription of europe/staging:" in message
        assert "https://hooks.partner.example/europe/loans" in message
        assert "https://hooks.partner.example/europe/offers" not in message
        again = (
            r"config/ wants it again: the request of 2\S+Z to delete europe/staging/offers \(attempt \w+\), ONB10011"
        )
        assert re.search(f"{again} to https://hooks.partner.example/europe/offers\n", said)
        assert "If such a request was sent already, the operator may still act on it." in said
        assert re.search(r"for the letter that withdraws it,\s+run:\s+reconciler apply -t europe/staging", said)
        assert "1 subscription awaits removal on 1 target." in said
    document = partner.step("removals", "--format", "json").document["targets"]["europe/staging"]
    (offers,) = (one for one in document["awaiting_removal"] if one["address"] == "europe/staging/offers")
    assert [offers["attempt"]] == document["wanted_again"]
    assert "https://hooks.partner.example/europe/offers" not in document["text"]
    assert offers["attempt"] not in document["after_deletion"]
    without = partner.step("removals", "-t", "*/*/offers", "--format", "json").document["targets"]["europe/staging"]
    assert ("", "") == (without["text"], without["after_deletion"])
    only = partner.step("removals", "-t", "*/*/offers").out
    assert "Please delete" not in only
    assert only.endswith("No request to delete is to be sent before the apply.\n")
    partner.step("apply", "--auto-approve", "--unsealed")
    assert "to delete it is withdrawn" in partner.step("removals", "-t", "*/*/offers").out


def test_what_was_recorded_as_removed_and_exists(project: Project) -> None:
    """The operator has deleted another one, and the answer was recorded: the way out creates nothing twice."""
    offers, loans = "europe/staging/offers", "europe/staging/loans"
    with Sandbox(targets=["europe/staging"]) as sandbox:
        project.environment |= dict(sandbox.variables())
        project.write("config/all.yaml", "".join(line for line in CONFIG.splitlines(True) if "usa" not in line))
        project.step("state", "init")
        project.step("apply", "--auto-approve", "--unsealed")
        ids = {one.codes[0]: one.id for one in sandbox.world.subscriptions()}
        project.write("config/gone.yaml", "subscriptions: {europe/staging: {offers: null}}")
        project.step("apply", "--auto-approve", "--unsealed")
        sandbox.world.remove_subscription(ids["LOA10013"])
        told = project.step("state", "removed", offers).err
        assert "Nothing awaits removal.\n" == project.step("removals").out
        assert f"exactly as it exists; then, before any apply, run:\n    reconciler state import {offers}\n" in told
        assert "before any apply, which would create it" in project.step("state", "import", offers, code=1).err

        gone = project.path / "config" / "gone.yaml"
        gone.rename(project.path / "gone.yaml")
        assert f"subscriptionId {ids['ONB10011']}; name that" in " ".join(
            project.step("state", "import", offers).err.split()
        )
        (project.path / "gone.yaml").rename(gone)
        project.step("state", "removed", loans, "--force")
        project.step("apply", "--auto-approve", "--unsealed")
        assert "Please delete this webhook subscription of europe/staging:" in project.step("removals").out
        assert ["LOA10013", "ONB10011"] == sorted(one.codes[0] for one in sandbox.world.subscriptions())

        sandbox.world.remove_subscription(ids["ONB10011"])
        project.step("state", "removed", offers)
        assert "No changes." in project.step("plan").out
        assert ["LOA10013"] == [one.codes[0] for one in sandbox.world.subscriptions()]


def test_the_command_records_what_the_message_asked_for(partner: Project) -> None:
    """What was requested after the message was written is not recorded as deleted by the command that came with it."""
    command = the_command(partner.step("removals").out)
    partner.step("state", "retire", "europe/staging/offers")
    assert 3 == len(awaiting(partner))
    partner.step(*command)
    assert ["europe/staging/offers"] == awaiting(partner)
    assert "Please delete this webhook subscription of europe/staging:" in partner.step("removals").out


def test_formats_agree(partner: Project) -> None:
    """JSON and Markdown give the same message as the text, line by line."""
    document = partner.step("removals", "--format", "json").document
    [(target, request)] = document["targets"].items()
    assert "europe/staging" == target
    assert ["europe/staging/loans", "europe/staging/offers"] == [one["address"] for one in request["awaiting_removal"]]
    text = partner.step("removals").out
    markdown = unescape(re.sub(r"<[^>]+>", "", partner.step("removals", "--format", "markdown").out))
    for line in request["text"].splitlines():
        assert line.strip() in text
        assert line.strip() in markdown
    assert the_command(text) == shlex.split(request["after_deletion"])[1:]


def test_selection(partner: Project) -> None:
    """`-t` limits to targets or addresses; that nothing awaits removal there is said; no match is an error."""
    only = partner.step("removals", "-t", "*/*/loans").out
    assert "europe/loans" in only
    assert "europe/offers" not in only
    assert "Nothing awaits removal." in partner.step("removals", "-t", "usa/*").out
    assert 1 == partner.run("removals", "-t", "asia/*").code


def test_removed_takes_the_same_selection(partner: Project) -> None:
    """`state removed -t` records all that awaits removal there; an address and `-t` together are one too many."""
    assert 1 == partner.run("state", "removed").code
    assert 1 == partner.run("state", "removed", "europe/staging/loans", "-t", "europe/staging").code
    assert 1 == partner.run("state", "removed", "-t", "europe/staging", "--attempt", "0123456789abcdef").code
    partner.step("state", "removed", "-t", "europe/staging")
    assert [] == awaiting(partner)


def test_a_removal_that_was_cancelled(partner: Project) -> None:
    """What is not removed for that reason is told apart from what was never to be removed."""
    address = "usa/staging/offers"
    assert "live, and its removal was not requested; " in partner.step("state", "removed", address, code=1).err
    partner.step("state", "retire", address)
    partner.step("state", "retire", address, "--withdraw")
    refused = partner.step("state", "removed", address, code=1).err
    assert re.search(
        r"is live, and its removal was requested at \S+Z and cancelled at \S+Z; if it was deleted", refused
    )


def test_what_stays_at_the_same_url(partner: Project) -> None:
    """Two with one URL and the same codes differ in their ids alone, so the one to keep is named."""
    partner.step("state", "removed", "-t", "europe/staging")
    partner.step("state", "retire", "europe/staging/offers")
    partner.step("apply", "--auto-approve", "--unsealed")
    shown = partner.step("removals").out
    listed = json.loads(partner.step("state", "list", "--format", "json").out)
    ids = {one["status"]: one["fields"] for one in listed if one["address"] == "europe/staging/offers"}
    kept, deleted = (ids[status]["subscriptionId"] for status in ("live", "awaiting_removal"))
    assert "until it is deleted, delivered twice: ONB10011 (by another subscription with this URL)\n" in shown
    assert re.search(rf"please keep the other one with this URL: created 2\S+Z \(.*subscriptionId {kept}\)\n", shown)
    assert f"     subscriptionId: {deleted}\n" in shown
    assert "also to" not in shown


def test_one_letter_wherever_it_is_printed(partner: Project) -> None:
    """`state retire` and `status` name the one to keep, and what must not be deleted yet, as `removals` does."""
    partner.step("state", "removed", "-t", "europe/staging")
    first = partner.step("state", "retire", "europe/staging/offers")
    assert "config/ wants ONB10011, which only attempt" in first.err
    assert "Please keep" not in first.out
    partner.step("apply", "--auto-approve", "--unsealed")
    keep = r"Please keep the other one with this URL: created 2\S+Z \(.*subscriptionId \S+\)\.\n"
    again = partner.step("state", "retire", "europe/staging/offers", "--attempt", attempt_awaiting(partner))
    assert re.search(keep, again.out)
    assert "config/ wants" not in again.err
    assert re.search(keep, partner.step("status").out)
    assert "Please keep the other one" in partner.step("status", "--format", "markdown").out
    partner.write("config/new.yaml", "subscriptions: {")
    unread = partner.step("state", "retire", "europe/staging/offers", "--attempt", attempt_awaiting(partner))
    assert re.search(keep, unread.out)


def attempt_awaiting(partner: Project) -> str:
    """The id of the one attempt that awaits removal."""
    listed = json.loads(partner.step("state", "list", "--format", "json").out)
    (found,) = [one["attempt"] for one in listed if one["status"] == "awaiting_removal"]
    return str(found)


def test_what_was_withdrawn_comes_first(partner: Project) -> None:
    """What the operator may have deleted all the same is to be asked about, before what it replaced is deleted."""
    partner.write("config/new.yaml", "subscriptions: {europe/staging: {loans: null}}")
    partner.step("apply", "--auto-approve", "--unsealed")
    shown = partner.step("removals").out
    first, _, rest = shown.partition("Send to the operator of europe/staging:")
    old = "https://hooks.partner.example/europe/offers"
    before, _, after = first.partition("  Please do not delete this webhook subscription of europe/staging:")
    assert (
        "If you never sent them, send nothing about them. Otherwise ask the operator of europe/staging first" in before
    )
    assert "before anything else is deleted:\n" in before
    assert "we still need it. Does it still exist?\n" in after
    assert f"\n\n  1. webhook URL: {old}\n     event codes: ONB10011\n" in after
    assert re.search(r"\n     our request of 2\S+Z to delete it is withdrawn\n", after)
    answered = r"\n1\. europe/staging/offers \(attempt \w+\), shown until 2\S{9}; if it was deleted, run:"
    assert re.search(rf"{answered}\n +reconciler state removed europe/staging/offers --attempt \w+ --force\n", after)
    assert "What exists needs nothing more.\n" in after
    assert f"delivered twice: ONB10011 (also to {old} unless it was deleted)" in rest
    pointed = partner.step("status").out
    assert "1 removal request was withdrawn lately; if it was sent, ask the operator whether what" in pointed
    assert "      reconciler removals -t europe/staging\n" in pointed
    assert "lately" not in partner.step("status", "-t", "*/*/loans").out
    assert "1 removal request was withdrawn lately" in partner.step("status", "--format", "markdown").out
    document = partner.step("removals", "--format", "json").document
    (withdrawn,) = document["withdrawn"]
    assert f"to {old}, created 2" in withdrawn["text"]
    markdown = unescape(re.sub(r"<[^>]+>", "", partner.step("removals", "--format", "markdown").out))
    assert all(line.strip() in markdown for line in first.splitlines() if not line.endswith("run:"))
    partner.step("state", "removed", "-t", "europe/staging")
    document = partner.step("removals", "--format", "json").document
    assert ({}, 1) == (document["targets"], len(document["withdrawn"]))
    assert partner.step("removals").out.endswith("Nothing awaits removal.\n")


def test_how_long_a_withdrawal_is_in_doubt() -> None:
    """Until a notification has come that nothing else sent, or for 14 days; a new request ends it too."""
    scene = Scene()
    offers = scene.hold("offers", "ONB10011", hooks("offers"))
    scene.ask_away(offers)
    scene._tell(EUROPE, Restored(at=AT, by=BY, attempt=offers))
    at = datetime.fromisoformat(AT)

    def withdrawn(days: float) -> list[str]:
        record, plan = scene.records[EUROPE], scene.plan().targets[EUROPE]
        return [attempt.id for attempt in status_of(record, plan, at + timedelta(days=days)).withdrawn]

    def observe(when: str) -> None:
        scene._tell(
            EUROPE,
            Observed(at=when, by=BY, address=address_of("offers"), url=hooks("offers"), received={"ONB10011": when}),
        )

    assert ([offers], []) == (withdrawn(14), withdrawn(14.1))
    assert "2026-12-04" == doubted_until(scene.attempt(offers))
    observe(AT)
    assert [offers] == withdrawn(1)
    other = scene.hold("offers", "ONB10011", hooks("offers"))
    observe("2099-01-01T00:00:00Z")
    assert [offers] == withdrawn(1)
    scene.remove(other)
    assert [] == withdrawn(1)


def test_what_stays_at_both_urls() -> None:
    """Where the codes go elsewhere too, both are said."""
    scene = Scene()
    going = scene.hold("offers", "ONB10011", hooks("offers"))
    scene.ask_away(going)
    scene.hold("offers", "ONB10011", hooks("offers"))
    scene.hold("more", "ONB10011", hooks("more"))
    status = status_of(scene.records[EUROPE], scene.plan().targets[EUROPE], NOW)
    (request,) = removal_requests([status], Selection(), NOW.timestamp())
    both = f"by another subscription with this URL, and also to {hooks('more')}"
    assert f"   until it is deleted, delivered twice: ONB10011 ({both})" in removal_message(request)


def test_several_that_were_withdrawn_are_one_message() -> None:
    """Numbered as those to delete are, and each with the command for the answer that it is deleted."""
    scene = Scene()
    for name, code in (("offers", "ONB10011"), ("loans", "LOA10013")):
        attempt = scene.hold(name, code, hooks(name))
        scene.want(name, code, hooks(name))
        scene.ask_away(attempt)
        scene.restore(attempt)
    shown = printed(REMOVALS["text"](requests_of(scene)))
    assert "Please do not delete these 2 webhook subscriptions of europe/staging: we still need them. Do they" in shown
    assert ["loans", "offers"] == re.findall(rf"^  \d\. webhook URL: {hooks('')}(\w+)$", shown, re.MULTILINE)
    assert ["a2", "a1"] == re.findall(
        r"^\d\. .*, shown until 2026-12-04; .* --attempt (\w+) --force", shown, re.MULTILINE
    )
    assert "Please delete" not in shown


def requests_of(scene: Scene) -> list[RemovalRequest]:
    """What `removals` shows of europe/staging."""
    status = status_of(scene.records[EUROPE], scene.plan().targets[EUROPE], NOW)
    return removal_requests([status], Selection(), NOW.timestamp())


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_an_unknown_create_beside_it(form: str) -> None:
    """Where a create of unknown outcome may have the URL and a code of what is to be deleted, that comes first."""
    scene = Scene()
    going = scene.hold("offers", "ONB10011", hooks("offers"))
    scene.ask_away(going)
    scene.lose("offers", "ONB10011", hooks("offers"))
    scene.lose("loans", "LOA10013", hooks("offers"))
    shown = unescape(re.sub(r"<[^>]+>", "", printed(REMOVALS[form](requests_of(scene)))))
    before, _, message = shown.partition("Please delete this webhook subscription of europe/staging:")
    unknown = "europe/staging/offers (attempt a2), a create of unknown outcome, has the same URL as attempt a1"
    assert f"warning: {unknown}: resolve it before you send the request to delete that" in before
    assert "run: reconciler status -t europe/staging" in before
    assert "a3" not in shown
    assert "unknown" not in message
    standing = status_of(scene.records[EUROPE], scene.plan().targets[EUROPE], NOW)
    status = unescape(re.sub(r"<[^>]+>", "", printed(STATUS[form]([standing]))))
    assert unknown in status
    assert form == "markdown" or status.index(unknown) < status.index("Please delete")
