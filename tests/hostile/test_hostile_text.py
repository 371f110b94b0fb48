"""Text from elsewhere (the service, the configuration, a journal, a note) is text, and acts as nothing else."""

from __future__ import annotations

import json
from itertools import chain, product
from typing import TYPE_CHECKING

import pytest
from pyrage import x25519  # type: ignore[import-untyped]
from support.injections import EVERYTHING, INJECTIONS, assert_harmless, foreign_commands, strange_characters
from support.rude_service import RudeService, json_response, response, rude
from support.terminal import at_terminal
from werkzeug import Response

from reconciler.model.address import Address, TargetName
from reconciler.model.entry import (
    Begun,
    Bound,
    Imported,
    Intent,
    Removed,
    Resealed,
    Resolved,
    Retired,
    SecretSet,
    Settled,
)
from reconciler.model.outcome import Outcome
from reconciler.reports.formats import APPLIED, LIST, PARITY, PLAN, REMOVALS, STATUS
from reconciler.state.journal.chain import link

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.lending_service import LendingService
    from support.partner import Partner
    from support.project import Finished, Project

    from reconciler.model.entry import AnyEntry

__all__ = ["rude"]


def in_header(text: str) -> str:
    """As much of a text as a header can carry without ending it."""
    return text.replace("\r", " ").replace("\n", " ")


def in_actions(project: Project) -> None:
    """Have the commands run as in a step of GitHub Actions."""
    project.environment |= {"GITHUB_ACTIONS": "true", "GITHUB_ACTOR": EVERYTHING.replace("\0", "")}


def assert_all_harmless(*finished: Finished) -> None:
    """Nothing that was printed acts as anything, and nobody had to excuse themselves."""
    for done in finished:
        assert_harmless(done.out)
        assert_harmless(done.err)
        assert "internal error" not in done.err


BODIES: dict[str, Callable[[str], bytes]] = {
    "message": lambda text: json_response({"message": text, "detail": text, "title": text}, "422 No"),
    "id": lambda text: json_response({"id": text, "subscriptionId": text, f"{text}Id": text}),
    "token": lambda text: json_response({"error": text, "error_description": text}, "400 No"),
}
HEADERS: dict[str, Callable[[str], bytes]] = {
    "reason": lambda text: response("", f"422 {text}"),
    "location": lambda text: response("", "307 Moved", f"Location: https://{text}/"),
    "date": lambda text: json_response({"id": "1"}, "201 Created", f"Date: {text}"),
    "retry": lambda text: json_response({"error": text}, "429 Busy", f"Retry-After: {text}"),
    "page": lambda text: response(f"<html>{text}", "200 OK", f"Content-Type: text/html; {text}"),
}


class TestService:
    """What the service says."""

    def answers(self) -> dict[str, bytes]:
        """What may hold text, with every injection that can stand there."""
        bodies = product(BODIES.items(), INJECTIONS.values())
        headers = product(HEADERS.items(), [in_header(EVERYTHING), INJECTIONS["html"], INJECTIONS["old command"]])
        return {
            f"{name}-{number}": respond(text) for number, ((name, respond), text) in enumerate(chain(bodies, headers))
        }

    @pytest.mark.parametrize(
        "form", ["text", *(pytest.param(form, marks=pytest.mark.soak) for form in APPLIED if form != "text")]
    )
    def test_what_it_says_is_text(self, project: Project, rude: RudeService, form: str) -> None:
        """In a response of any kind: in the reports of applies, in plans, and in all that shows the record."""
        answers = self.answers()
        rude.creates, rude.tokens = answers, {name: answers[name] for name in answers if name.startswith("token")}
        project.write("config/all.yaml", rude.declare(*answers))
        project.environment |= rude.credentials(*answers)
        project.step("state", "init")
        in_actions(project)
        apply = ("apply", "--auto-approve", "-v", "--timeout", "5", "--format")
        applied = project.step(*apply, form, code=None)
        assert (3, True) == (applied.code, "pwned" in applied.out)
        show = [project.step("state", "show", f"{name}/rude/offers") for name in answers if name.startswith("id")]
        lists = [project.step("state", "list"), project.step("state", "list", "--format", "json")]
        assert_all_harmless(applied, *show, *lists, project.step("state", "history"))

    def test_a_document_holds_it_unchanged(self, project: Project, rude: RudeService) -> None:
        """What is spelt out for people is what it was for programs that read the JSON."""
        rude.creates["one"] = json_response({"message": INJECTIONS["old command"]}, "422 No")
        project.write("config/all.yaml", rude.declare("one"))
        project.environment |= rude.credentials("one")
        project.step("state", "init")
        (result,) = project.step("apply", "--auto-approve", "--format", "json", code=1).document["results"]
        assert INJECTIONS["old command"] in result["detail"]

    def test_a_response_is_printed_harmlessly_in_actions(
        self, partner: Partner, lending_service: LendingService
    ) -> None:
        """Of a lead and of a create response, printed where a runner reads it, no line is a command."""
        partner.begin(offers=["ONB10011"])
        text = "\n".join(INJECTIONS.values())
        lending_service.answer_next(created(text), created(json.dumps(INJECTIONS, indent=1)), created(text))
        in_actions(partner)
        lead = ("lead", "create", "-t", "europe/staging", "-")
        leads = [partner.step(*lead, stdin="{}"), partner.step(*lead, stdin="{}")]
        assert INJECTIONS == leads[1].document
        partner.step("apply", "--auto-approve")
        for done in (*leads, partner.step("secret", "show", "europe/staging/offers")):
            assert "pwned" in done.out
            assert_harmless(done.out)
            assert [] == foreign_commands(done.err, masks=True)

    def test_one_field_is_printed_harmlessly_or_not_at_all(
        self, partner: Partner, lending_service: LendingService
    ) -> None:
        """A single value is printed bare, unless a runner would take it for a command: then it is refused."""
        partner.begin(offers=["ONB10011"])
        lending_service.answer_next(created(json.dumps(INJECTIONS)))
        partner.step("apply", "--auto-approve")
        in_actions(partner)
        for name, text in INJECTIONS.items():
            done = partner.step("secret", "show", "europe/staging/offers", "--field", name, code=None)
            if foreign_commands(text):
                assert "the value contains a GitHub Actions workflow command" in done.err
            elif name != "separators":  # where other programs than the runner see lines begin
                assert f"{text}\n" == done.out
            assert [] == foreign_commands(done.out)
            assert [] == foreign_commands(done.err, masks=True)

    def test_a_secret_is_masked_as_it_is_shown(self, partner: Partner, lending_service: LendingService) -> None:
        """A runner that leaves out what is masked shows no secret, however the service spelt it."""
        partner.begin(offers=["ONB10011"])
        lending_service.answer_next(
            created('{"a": "abc\\u002Bdefghijkl", "b": ["mno\\/pqr\\"stuvw"], "c": {"d": "xyz\u200b0123456"}}')
        )
        partner.step("apply", "--auto-approve")
        in_actions(partner)
        done = partner.step("secret", "show", "europe/staging/offers")
        masks = [line.removeprefix("::add-mask::").replace("%25", "%") for line in done.err.splitlines()]
        shown = done.out
        for mask in sorted(masks, key=len, reverse=True):
            shown = shown.replace(mask, "***")
        assert '{"a": "***", "b": ["***"], "c": {"d": "***"}}\n' == shown

    def test_a_terminal_is_not_driven(self, partner: Partner, lending_service: LendingService) -> None:
        """What the service said does not move the cursor of whoever looks at it."""
        partner.begin(offers=["ONB10011"])
        lending_service.answer_next(created(json.dumps({"key": EVERYTHING}, ensure_ascii=False)))
        partner.step("apply", "--auto-approve")
        for more in ([], ["--field", "key"]):
            done = at_terminal(partner, "--color", "never", "secret", "show", "europe/staging/offers", *more)
            assert done.code == 0
            assert set() == strange_characters(done.out)


def created(body: str) -> Response:
    """A create response of the service."""
    return Response(body, status=201, content_type="application/json")


class TestPeople:
    """What people write: notes, reasons, and the configuration."""

    def test_a_note_is_text(self, partner: Partner) -> None:
        """A note is kept as it was given, and shown harmlessly."""
        partner.begin(offers=["ONB10011"])
        partner.lose_answer()
        in_actions(partner)
        resolve = ("state", "resolve", "europe/staging/offers", "--created", "--force", "--note", EVERYTHING)
        resolved = partner.step(*resolve)
        shown = partner.step("state", "show", "europe/staging/offers")
        history = partner.step("state", "history", "europe/staging/offers")
        assert EVERYTHING == partner.entries[-1]["note"]
        assert all("pwned" in one.out for one in (shown, history))
        assert_all_harmless(resolved, shown, history, partner.step("state", "list"))

    def test_a_reason_is_text(self, partner: Partner) -> None:
        """Why two targets may differ is shown harmlessly in every format."""
        partner.want(offers=["ONB10011"])
        reason = json.dumps(" ".join(INJECTIONS[name] for name in ("lines", "separators", "old command", "html")))
        partner.write("config/more.yaml", f"parity: {{ignore: [{{address: offers, reason: {reason}}}]}}\n")
        target = "{auth_url: https://a.example, base_url: https://b.example}"
        partner.write("config/other.yaml", f"targets:\n  usa/staging: {target}\n")
        in_actions(partner)
        for form in PARITY:
            done = partner.step("parity", "europe/staging", "usa/staging", "--format", form)
            assert "pwned" in done.out
            assert_all_harmless(done)
            if form not in ("text", "json"):
                assert not [part for part in ("<script", "<img") if part in done.out]

    def test_mistakes_are_text(self, partner: Partner) -> None:
        """Whatever stands in the configuration, and however its files are called, mistakes and annotations are ours."""
        for number, text in enumerate(INJECTIONS.values()):
            quoted = json.dumps(text)
            partner.write(
                f"config/{number}.yaml", HOSTILE_CONFIG.replace("HERE", quoted).replace("NUMBER", str(number))
            )
        named = INJECTIONS["lines"].replace("/", "")
        partner.write(f"config/{named}.yaml", "unknown: 1")
        partner.write("config/::error file=x::.yaml", f"{json.dumps(EVERYTHING)}: 1")
        in_actions(partner)
        done = partner.run("validate")
        assert done.code == 1
        assert "::error file=config/0.yaml,line=" in done.err
        assert_all_harmless(done)


HOSTILE_CONFIG = """
HERE: 1
targets:
  HERE: {auth_url: https://a.example}
  tNUMBER/x: {auth_url: HERE, base_url: HERE, overlap: HERE, HERE: 1, vars: {HERE: HERE, v: HERE}}
  sNUMBER/x: {auth_url: https://a.example, base_url: https://b.example/NUMBER, vars: {v: HERE}}
subscriptions:
  HERE: {}
  sNUMBER/x:
    HERE: {}
    one: {eventCodes: [HERE], webhookUrl: HERE, HERE: HERE}
    two: {eventCodes: HERE, webhookUrl: "https://h.example/{v}"}
    three: HERE
"""


class TestJournals:
    """A journal is written by whoever may write the store, and its chain is no proof of good will."""

    COMMANDS = (
        *(f"plan --format {form}" for form in PLAN), *(f"status --format {form}" for form in STATUS),
        *(f"removals --format {form}" for form in REMOVALS),
        *(f"state list --format {form}" for form in LIST), "state history", "state verify",
        "state show europe/staging/offers", "state retire europe/staging/offers",
        f"secret reseal --to {x25519.Identity.generate().to_public()} -t europe/staging/offers",
        "secret show europe/staging/offers", "state removed europe/staging/offers", "state rebind --force",
    )  # fmt: skip

    @pytest.mark.parametrize(
        "name",
        [
            "lines",
            "old command",
            *(pytest.param(name, marks=pytest.mark.soak) for name in ("terminal", "bare command", "bidi")),
        ],
    )
    def test_a_forged_journal_is_text(self, partner: Partner, name: str) -> None:
        """Entries that say anything, in a chain that holds, are shown harmlessly or refused."""
        partner.want(offers=["ONB10011"])
        partner.write("state/europe/staging.jsonl", link(None, 0, forged(INJECTIONS[name]))[0])
        in_actions(partner)
        ran = {words: partner.step(*words.split(), code=None) for words in self.COMMANDS}
        assert_all_harmless(*ran.values())
        reading = ("plan", "status", "state list", "state history", "state verify")
        assert {0} == {done.code for words, done in ran.items() if words.startswith(reading)}


def forged(text: str) -> list[AnyEntry]:
    """A journal in which every text that can be anything is `text`."""
    target, by = TargetName("europe/staging"), {"user": text, "host": text, "url": text, text: text}
    offers, other = Address("europe/staging/offers"), Address("europe/staging/others")

    def intent(attempt: str, address: Address, url: str) -> Intent:
        return Intent(
            at=text, by=by, attempt=attempt, address=address, action=text, codes=(text, "ONB10011"), url=url,
            send_by=1.0, settled_by=2.0, run=text,
        )  # fmt: skip

    def settled(attempt: str, outcome: Outcome) -> Settled:
        fields = {"id": text, text: text}
        return Settled(
            at=text, by=by, attempt=attempt, outcome=outcome, status=500, detail=text, date=text, fields=fields,
            response=text,
        )  # fmt: skip

    return [
        Begun(at=text, by=by, record="c0ffee00", target=target, base_url=text),
        Bound(at=text, by=by, base_url=text, account=text),
        intent("a1", offers, text),
        settled("a1", Outcome.CREATED),
        intent(text, other, "https://h.example"),
        settled(text, Outcome.UNKNOWN),
        Resolved(at=text, by=by, attempt=text, created=True, note=text),
        Imported(at=text, by=by, attempt=f"{text}2", address=other, codes=(text,), url=text),
        Retired(at=text, by=by, attempt=f"{text}2", reason=text),
        SecretSet(at=text, by=by, attempt="a1", secret=text),
        Resealed(at=text, by=by, attempt="a1", original=text, sealed=text, recipients=(text,)),
        intent("a3", Address("europe/staging/gone"), text),
        settled("a3", Outcome.CREATED),
        Removed(at=text, by=by, attempt="a3"),
    ]
