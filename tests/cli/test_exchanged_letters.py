"""After an apply that exchanged URLs: the request to delete what may be the right ones comes with a warning."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING

import pytest
from support.lending_service import refusal
from support.value_scene import EUROPE, Scene, hooks

from reconciler.planning.exchanges import exchanges

if TYPE_CHECKING:
    from support.partner import Partner

WARNING = "the URLs of europe/staging/loans and europe/staging/offers are exchanged; is that intended?"
HOLD = "Until you are certain, send the operator no request to delete."
BACK = "If it is not intended, put their URLs in config/ back and apply:"
OF_OLD = [("loans", "LOA10013"), ("offers", "ONB10011")]


def want(partner: Partner, *, exchanged: bool, more: bool = False) -> None:
    """Two subscriptions with URLs of their own, or each with the other's; and one that is about nothing here."""
    offers, loans = ("loans", "offers") if exchanged else ("offers", "loans")
    wanted = {"offers": (["ONB10011"], hooks(offers)), "loans": (["LOA10013"], hooks(loans))}
    partner.declare(wanted | ({"deals": (["ONB10001"], hooks("deals"))} if more else {}))


@pytest.fixture
def partner(partner: Partner) -> Partner:
    """A partner whose config/ has just exchanged the URLs of two subscriptions, and left out a third."""
    want(partner, exchanged=False, more=True)
    partner.step("state", "init")
    partner.step("apply", "--auto-approve", "--unsealed")
    want(partner, exchanged=True)
    return partner


def plain(report: str) -> str:
    """A report as its reader sees it, on one line."""
    report = re.sub(r"<script.*?</script>", "", report, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", "", report)).split())


def results(partner: Partner, form: str = "text", *arguments: str, code: int = 0) -> str:
    """What an apply prints after its plan."""
    done = partner.step("apply", "--auto-approve", "--unsealed", "--format", form, *arguments, code=code)
    return plain(done.out).rpartition("Digest")[2]


def letters(partner: Partner, report: str) -> list[str]:
    """The addresses, by name, of those that a report asks to delete."""
    return [name for name, code in OF_OLD if f"delivers {code} to {hooks(name)}" in report]


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_the_apply_holds_the_letters_back(partner: Partner, form: str) -> None:
    """It says so in the words of the plan, once, and gives the letter of the third only."""
    assert WARNING in plain(partner.step("plan").out)
    shown = results(partner, form)
    assert 1 == shown.count(WARNING) == shown.count(HOLD) == shown.count(BACK)
    assert [] == letters(partner, shown)
    assert (
        f"Please delete the webhook subscription of europe/staging that delivers ONB10001 to {hooks('deals')}" in shown
    )
    assert "run: reconciler removals" in shown


def test_json_stays(partner: Partner) -> None:
    """A program that read the plan has its warning, and finds every request where it always was."""
    document = partner.step("apply", "--auto-approve", "--unsealed", "--format", "json").document
    assert ["deals", "loans", "offers"] == sorted(
        one["address"].rpartition("/")[2] for one in document["removal_requests"]
    )
    assert {"format_version", "results", "removal_requests", "summary", "not_recorded"} == set(document)


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_the_letters_stay_available(partner: Partner, form: str) -> None:
    """`removals` has the same caution before the message, which it gives."""
    results(partner)
    shown = plain(partner.step("removals", "--format", form).out)
    caution, _, message = shown.partition("Please delete these 3 webhook subscriptions of europe/staging:")
    assert 1 == caution.count(WARNING) == caution.count(HOLD) == caution.count(BACK)
    assert "If it is intended, send the message below." in caution
    assert all(hooks(name) in message for name, _ in OF_OLD)


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_the_status_holds_them_back_too(partner: Partner, form: str) -> None:
    """A page keeps its letters, after the task to be certain."""
    results(partner)
    shown = plain(partner.step("status", "--format", form).out)
    assert 1 == shown.count(WARNING)
    assert HOLD in shown
    if form == "html":
        assert shown.index(WARNING) < shown.index("Please delete the webhook")
    else:
        assert [] == letters(partner, shown)
        assert hooks("deals") in shown


def test_what_was_not_meant_is_put_back(partner: Partner) -> None:
    """As the report says: without a create call the old ones are restored, and the new ones await removal."""
    results(partner)
    creates = len(partner.service.creates)
    want(partner, exchanged=False, more=True)
    assert WARNING not in plain(partner.step("removals").out + partner.step("status").out)
    want(partner, exchanged=False)
    assert WARNING not in results(partner)
    assert creates == len(partner.service.creates)
    live = {(name, codes[0]) for name, status, codes in partner.listed() if status == "live"}
    assert {("offers", "ONB10011"), ("loans", "LOA10013")} == live
    shown = plain(partner.step("removals").out + partner.step("status").out)
    assert WARNING not in shown
    assert [] == partner.planned()
    (command,) = re.findall(r"run: reconciler (state removed europe/staging/loans --attempt \w+ --force)", shown)
    partner.step(*command.split())
    assert [("loans", "replace")] == partner.planned()


def test_it_is_over_with_the_first_deletion(partner: Partner) -> None:
    """Whoever had one deleted was certain."""
    results(partner)
    listed = partner.step("state", "list", "--format", "json").document
    (attempt,) = (
        one["attempt"]
        for one in listed
        if (one["address"], one["status"]) == ("europe/staging/loans", "awaiting_removal")
    )
    partner.step("state", "removed", "europe/staging/loans", "--attempt", attempt)
    shown = plain(partner.step("removals").out)
    assert WARNING not in shown
    assert hooks("offers") in shown


@pytest.mark.parametrize("half", ["selected", "unknown"])
def test_half_an_exchange(partner: Partner, half: str) -> None:
    """Where only one of the two was replaced, its letter is held back too."""
    if half == "selected":
        shown = results(partner, "text", "-t", "europe/staging/loans")
    else:
        partner.service.answer_next((201, "{}", {}), refusal(500))
        shown = results(partner, code=3)
    assert WARNING in shown
    assert [] == letters(partner, shown)
    assert WARNING in plain(partner.step("removals").out)


def test_the_second_half(partner: Partner) -> None:
    """Its own letter is held back as well, though the other one was replaced by an apply before."""
    results(partner, "text", "-t", "europe/staging/loans")
    assert WARNING in plain(partner.step("plan").out)
    shown = results(partner, "text", "-t", "europe/staging/offers")
    assert WARNING in shown
    assert [] == letters(partner, shown)


def test_put_back_under_another_name(partner: Partner) -> None:
    """What was to be deleted is wanted, though not by its address: `removals` warns until the record has the name."""
    results(partner)
    partner.declare({"credits": (["LOA10013"], hooks("loans")), "offers": (["ONB10011"], hooks("offers"))})
    name = "europe/staging/credits"
    assert f"config/ wants LOA10013 to {hooks('loans')} as {name}, and only attempt" in partner.step("removals").err
    shown = plain(partner.step("plan", "-t", name).out)
    (command,) = re.findall(r"if the subscription was renamed, run: reconciler (state mv \S+ \S+)", shown)
    partner.step(*command.split())
    assert "config/ wants" not in partner.step("removals").err
    assert [("credits", "restore"), ("credits", "retire")] == partner.planned()[:2]


def test_what_is_no_exchange() -> None:
    """Two that moved to new URLs, one that took over a URL, and one whose removal a person asked for."""
    scene = Scene()
    for name in ("loans", "offers"):
        old = scene.hold(name, "LOA10013", hooks(name))
        scene.retire(old)
        scene.hold(name, "LOA10013", hooks(f"new-{name}"))
    asked = scene.hold("deals", "ONB10001", hooks("deals"))
    scene.ask_away(asked)
    scene.hold("deals", "ONB10001", hooks("loans"))
    record = scene.records[EUROPE]
    assert () == exchanges(record.attempts.values(), ())
