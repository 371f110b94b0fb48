"""The letters to the operator that `plan`, `apply` and `status` give: to keep what is wanted again, and questions."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING

import pytest
from support.lending_service import refusal

if TYPE_CHECKING:
    from support.partner import Partner

OFFERS = "europe/staging/offers"
ORDER = (
    "If none of that was to be sent, go on with what follows now. Otherwise go on only after the operator has answered:"
)
AGAIN = "For one message about all of that, and for what to run after the answer, run: reconciler removals"
KEEP = (
    "Please do not delete the webhook subscription of europe/staging that delivers ONB10011 to"
    " https://hooks.partner.example/offers, created "
)
QUESTION = (
    "Does a webhook subscription of europe/staging exist that delivers ONB10011 to"
    " https://hooks.partner.example/offers, created between "
)


@pytest.fixture
def restoring(partner: Partner) -> Partner:
    """A subscription that awaits removal, and is wanted again."""
    partner.begin(offers=["ONB10011"], loans=["LOA10013"])
    partner.step("apply", "--auto-approve", "--unsealed")
    partner.want(loans=["LOA10013"])
    partner.step("apply", "--auto-approve", "--unsealed")
    partner.want(offers=["ONB10011"], loans=["LOA10013"])
    return partner


@pytest.fixture
def unknown(partner: Partner) -> Partner:
    """A create of unknown outcome."""
    partner.begin(offers=["ONB10011"])
    partner.service.answer_next(refusal(500))
    partner.step("apply", "--auto-approve", "--unsealed", code=3)
    return partner


def plain(report: str) -> str:
    """Markdown or HTML as its reader sees it, on one line."""
    report = re.sub(r"<script.*?</script>", "", report, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", "", report)).split())


def reports(partner: Partner, command: str) -> list[str]:
    """What a command prints, in each format for people."""
    return [partner.step(command, "--format", form, code=0).out for form in ("text", "markdown", "html")]


@pytest.mark.parametrize("command", ["plan", "status"])
def test_what_is_wanted_again_is_not_to_be_deleted(restoring: Partner, command: str) -> None:
    """The letter has the id and the request that it withdraws; nothing asks for the deletion any more."""
    for report in reports(restoring, command):
        shown = plain(report)
        assert KEEP in shown
        assert re.search(r"\(subscriptionId sub-\d+\): we still need it, and our request of 2\S+Z to delete", shown)
        assert "If you never sent the request to delete it, send nothing." in shown[: shown.index(KEEP)]
        assert "Please delete" not in shown
        assert "awaits removal;" not in shown
        assert "reconciler removals" not in shown


def test_the_plan_as_data_stays(restoring: Partner) -> None:
    """JSON lists all that awaits removal now, whatever the plan is about to do."""
    plan = restoring.step("plan", "--format", "json").document
    assert ([OFFERS], 1) == ([one["address"] for one in plan["awaiting_removal"]], plan["summary"]["awaiting_removal"])


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_the_letter_after_the_apply(restoring: Partner, form: str) -> None:
    """It is given once more, with what to do if it comes too late; its command is taken as it is."""
    planned = restoring.step("plan").out
    (letter,) = re.findall(r"Please do not delete .*", planned)
    applied = plain(restoring.step("apply", "--auto-approve", "--format", form).out).replace("&#", "")
    _, _, results = applied.rpartition("restored (no call)" if form == "html" else "Digest")
    assert letter in results
    (command,) = re.findall(
        r"if it is already deleted, run: reconciler (state removed \S+ --attempt \w+ --force)", results
    )
    restoring.step(*command.split())
    assert "+ europe/staging/offers  create\n" in restoring.step("plan").out


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_what_is_to_be_kept_is_asked_for_first(restoring: Partner, form: str) -> None:
    """Whoever sends the letters in their order has nothing deleted while the other may be gone already."""
    restoring.want(offers=["ONB10011"])
    applied = plain(restoring.step("apply", "--auto-approve", "--format", form).out)
    _, _, results = applied.rpartition("Digest")
    assert 0 < results.index("Please do not delete the") < results.index("Please delete the")
    assert results.index("is withdrawn. Does it still exist?") < results.index(AGAIN) < results.index(ORDER)
    assert results.index(ORDER) < results.index("Please delete the")
    assert 1 == results.count(AGAIN)
    assert "we still need it. Does it still exist?" in restoring.step("removals").out


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_nothing_follows_what_is_to_be_kept(restoring: Partner, form: str) -> None:
    """Where nothing else is to be sent, no order of letters is given."""
    applied = plain(restoring.step("apply", "--auto-approve", "--format", form).out)
    assert AGAIN in applied
    assert ORDER not in applied


def test_a_page_asks_first_too(restoring: Partner) -> None:
    """What was withdrawn may be deleted already; another request to delete may be about the only one that is left."""
    restoring.step("apply", "--auto-approve")
    restoring.step("state", "retire", "europe/staging/loans")
    shown = plain(restoring.step("status", "--format", "html").out)
    asked = "1 removal request was withdrawn lately; if it was sent, ask the operator whether"
    assert 0 < shown.index(asked) < shown.index("Please delete")


def test_withdrawn_by_hand(restoring: Partner) -> None:
    """`state retire --withdraw` gives the letter too, with the same question, and what has it again."""
    done = restoring.step("state", "retire", OFFERS, "--withdraw")
    assert KEEP in done.out
    assert done.out.endswith("to delete it is withdrawn. Does it still exist?\n")
    assert AGAIN == " ".join(done.err.splitlines()[-2:]).replace("    ", "")
    assert "tell the operator" not in done.out


def test_an_unknown_create_with_the_same_url(restoring: Partner) -> None:
    """Whoever has one of two deleted that have the same URL is to know first whether there are two."""
    restoring.step("state", "retire", OFFERS, "--withdraw")
    restoring.step("state", "retire", OFFERS)
    restoring.service.answer_next(refusal(500))
    restoring.step("apply", "--auto-approve", "--unsealed", code=3)
    listed = restoring.step("state", "list", "--format", "json").document
    ids = {one["status"]: one["attempt"] for one in listed if one["address"] == OFFERS}
    caution = (
        f"{OFFERS} (attempt {ids['unknown']}), a create of unknown outcome, has the same URL as attempt"
        f" {ids['awaiting_removal']}: resolve it before you send the request to delete that"
    )
    for command in (("state", "retire", OFFERS, "--attempt", ids["awaiting_removal"]), ("removals",), ("status",)):
        shown = plain(restoring.step(*command).out)
        assert 0 < shown.index(caution) < shown.index("Please delete")
    page = plain(restoring.step("status", "--format", "html").out)
    assert 0 < page.index(caution) < page.index("Please delete")


def test_what_is_to_be_kept_beside_it(restoring: Partner) -> None:
    """Every report that asks for the deletion of one of two with the same codes and URL names the other."""
    restoring.step("state", "retire", OFFERS, "--withdraw")
    restoring.step("state", "retire", OFFERS)
    restoring.step("apply", "--auto-approve", "--unsealed")
    for report in reports(restoring, "status"):
        assert re.search(
            r"Please delete [^.]*\(subscriptionId sub-\d+\)\. Please keep the other one",
            plain(report).replace("https://hooks.partner.example", ""),
        )


def test_status_says_both(restoring: Partner) -> None:
    """That nothing is left to apply, and what the operator is left to delete."""
    restoring.want(loans=["LOA10013"])
    for report in (restoring.step("status").out, plain(restoring.step("status", "--format", "markdown").out)):
        assert "up to date; 1 subscription awaits removal; run: reconciler removals -t europe/staging" in " ".join(
            report.split()
        )
    assert "Please delete" in restoring.step("removals", "-t", "europe/staging").out
    restoring.step("state", "removed", OFFERS)
    assert restoring.step("status").out.endswith("  up to date\n")


def test_a_question_that_can_be_copied(unknown: Partner) -> None:
    """The plan, the status and the next apply have the same one; a browser shows it with the person who answers."""
    since, until = unknown.entries[-2]["at"], r"2\S+Z"
    question = re.compile(f"{re.escape(QUESTION)}{since} and {until} \\(UTC\\)\\?")
    shown = [*reports(unknown, "plan"), *reports(unknown, "status")]
    shown += [unknown.step("apply", "--auto-approve", code=3).out]
    assert 7 == len(shown)
    assert 1 == len({question.search(plain(report))[0] for report in shown})  # type: ignore[index]


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_the_question_after_the_apply(partner: Partner, form: str) -> None:
    """It stands where the outcome is unknown, once."""
    partner.begin(offers=["ONB10011"])
    partner.service.answer_next(refusal(500))
    applied = partner.step("apply", "--auto-approve", "--unsealed", "--format", form, code=3).out
    assert 1 == plain(applied).count(QUESTION)
    assert "Ask the operator" in applied


@pytest.fixture
def beside(partner: Partner) -> Partner:
    """A create of unknown outcome beside one that awaits removal, with the same URL and code."""
    partner.begin(offers=["ONB10011"], loans=["LOA10013"])
    partner.step("apply", "--auto-approve", "--unsealed")
    partner.step("state", "retire", OFFERS)
    partner.service.answer_next(refusal(500))
    return partner


def the_other(partner: Partner) -> str:
    """How a letter names the subscription that is known to exist."""
    listed = partner.step("state", "list", "--format", "json").document
    (other,) = (one for one in listed if one["status"] == "awaiting_removal")
    created = next(entry["at"] for entry in partner.entries if entry.get("attempt") == other["attempt"])
    return f"the one with subscriptionId {other['fields']['subscriptionId']} (created {created})"


def test_a_question_is_not_about_the_one_that_is_known(beside: Partner) -> None:
    """An operator who searches for the URL finds that one, and would answer yes."""
    applied = beside.step("apply", "--auto-approve", "--unsealed", code=3).out
    for report in (applied, *reports(beside, "plan"), *reports(beside, "status")):
        (rest,) = {found.partition("?")[0] for found in plain(report).split(QUESTION)[1:]}
        assert rest.endswith(f" (UTC), besides {the_other(beside)}")


def test_several_questions_are_not_about_what_is_known(beside: Partner) -> None:
    """Each names the other that has its URL; one that has none names none."""
    beside.service.answer_next(refusal(500), refusal(500))
    beside.want(offers=["ONB10011"], loans=["LOA10013"], deals=["ONB10001"])
    beside.step("apply", "--auto-approve", "--unsealed", code=3)
    for report in (*reports(beside, "plan"), *reports(beside, "status")):
        shown = plain(report).replace("> ", "")
        assert 1 == shown.count(f"if at all not {the_other(beside)}") == shown.count(" if at all not ")


def test_no_question_once_it_is_resolved(unknown: Partner) -> None:
    """What is known to exist is not asked about."""
    assert QUESTION in unknown.step("status").out
    unknown.step("state", "resolve", OFFERS, "--created", "--force")
    assert "Ask the operator" not in unknown.step("status").out + unknown.step("plan").out


@pytest.fixture
def three_unknown(partner: Partner) -> Partner:
    """Three creates of unknown outcome, of one target."""
    partner.begin(deals=["ONB10001"], loans=["LOA10013"], offers=["ONB10011", "ONB10012"])
    return partner


def lose(partner: Partner, form: str) -> str:
    """The report of an apply of which no create is answered."""
    partner.service.answer_next(*(refusal(500) for _ in range(3)))
    return partner.step("apply", "--auto-approve", "--unsealed", "--format", form, code=3).out


def as_read(report: str) -> str:
    """A report as its reader sees it, without the times and the signs of a quotation."""
    return re.sub(r"2\d{3}-\S+Z", "TIME", plain(report).replace("> ", ""))


MESSAGE = ["Which of these 3 webhook subscriptions of europe/staging exist? Each may have been created, or not."]
for number, (name, codes) in enumerate(
    {"deals": "ONB10001", "loans": "LOA10013", "offers": "ONB10011, ONB10012"}.items()
):
    MESSAGE += [
        f"{number + 1}. {name}",
        f"webhook URL: https://hooks.partner.example/{name}",
        f"event codes: {codes}",
        "created between TIME and TIME (UTC), if at all",
    ]


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_several_questions_are_one_message(three_unknown: Partner, form: str) -> None:
    """The apply, the plan and the status ask the operator of a target once, about all that nobody else knows."""
    for report in (
        lose(three_unknown, form),
        three_unknown.step("plan", "--format", form).out,
        three_unknown.step("status", "--format", form).out,
    ):
        assert " ".join(MESSAGE) in as_read(report)
        assert 1 == plain(report).count("Ask the operator, about 3 creates of europe/staging, in one message:")
        assert QUESTION not in plain(report)


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_an_answer_that_differs_by_number(three_unknown: Partner, form: str) -> None:
    """Below the message stands which address each number is, and what takes the rest; together they settle all."""
    lose(three_unknown, "text")
    report = as_read(three_unknown.step("status", "--format", form).out)
    after = report[report.index(" ".join(MESSAGE)) :]
    ways = [f"If {number} exists, run: reconciler state resolve europe/staging/{name} --created"
            for number, name in enumerate(("deals", "loans", "offers"), 1)]  # fmt: skip
    rest = "reconciler state resolve 'europe/staging/*' --not-created"
    places = [after.index(way) for way in (*ways, f"all the others certainly do not exist, run: {rest}")]
    assert sorted(places) == places
    three_unknown.step("state", "resolve", "europe/staging/loans", "--created", "--force")
    three_unknown.step("state", "resolve", "europe/staging/*", "--not-created", "--force")
    assert [("loans", "live", ["LOA10013"])] == three_unknown.listed()


def test_one_message_on_a_page(three_unknown: Partner) -> None:
    """A page has it once too, among what waits for the maintainer."""
    lose(three_unknown, "text")
    page = unescape(three_unknown.step("status", "--format", "html").out)
    assert 1 == page.count(MESSAGE[0])
    assert all(line in page for line in MESSAGE[1:4])


def test_the_rest_of_several_that_are_resolved(three_unknown: Partner) -> None:
    """What is left is asked about alone, where it stands."""
    lose(three_unknown, "text")
    for name in ("deals", "loans"):
        three_unknown.step("state", "resolve", f"europe/staging/{name}", "--created", "--force")
    report = three_unknown.step("status").out
    assert "Which of these" not in report
    assert "Does a webhook subscription of europe/staging exist that delivers ONB10011, ONB10012" in report
