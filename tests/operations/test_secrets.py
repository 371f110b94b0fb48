"""Secrets of subscriptions: kept as responses are, and recorded for one attempt."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace
from pyrage import x25519  # type: ignore[import-untyped]
from support.memory_project import EU, NOW, URL, MemoryProject, created, desired_of, unknown, what
from support.memory_record import MemoryStore, record_of
from support.records import time_of
from support.refusals import raised

from reconciler.errors import ReconcilerError, Refused
from reconciler.model.outcome import Answer, Outcome
from reconciler.operations.responses import Responses
from reconciler.operations.secrets import response_of, save_secret, secret_statement, secrets_by_template, secrets_of
from reconciler.record.facts import Answered, SecretSet
from reconciler.record.statements import ConfirmRemoval

OFFERS, OWN, A, B, C, D = f"{EU}/offers", f"{EU}/own", "a" * 32, "b" * 32, "c" * 32, "d" * 32


@pytest.fixture
def project() -> MemoryProject:
    """A project with two live attempts of one address and an unknown one of another."""
    facts = (*created(A, OFFERS), *created(B, OFFERS, "ONB10002", supersedes=(A,)), *unknown(C, f"{EU}/loans"))
    project = MemoryProject({"memory:a": MemoryStore(record_of(*facts))})
    project.journal.read()
    return project


def keep(project: MemoryProject, address: str, attempts: tuple[str, ...], secret: bytes) -> None:
    """Record a secret, as `secret set` does."""
    statement = secret_statement(project, address, attempts, secret)
    save_secret(project, statement, secret)
    project.say(statement)


@pytest.mark.parametrize("is_sealed", [True, False])
def test_a_secret_belongs_to_the_attempt_that_is_named(project: MemoryProject, tmp_path: Path, is_sealed: bool) -> None:
    """With recipients it is encrypted in the record; that of one attempt is not shown for another."""
    other, key = x25519.Identity.generate(), x25519.Identity.generate()
    project.__dict__["desired"] = desired_of(
        recipients=(str(other.to_public()), str(key.to_public())) if is_sealed else ()
    )
    (tmp_path / "key").write_text(str(key))
    for attempt in (A, B):
        keep(project, OFFERS, (attempt,), attempt.encode())
    kept = {attempt: project.record_at().attempts[attempt].secrets for attempt in (A, B)}
    assert {len(texts) for texts in kept.values()} == {1}
    assert {texts[0].startswith("age:") for texts in kept.values()} == {is_sealed}
    shown = [response_of(project, OFFERS, (attempt,), tmp_path / "key").body for attempt in (A, B)]
    assert shown == [A.encode(), B.encode()]
    assert secrets_of(project, OFFERS, tmp_path / "key") == {A.encode(), B.encode()}


def test_an_unresolved_create_that_is_named_takes_a_secret(project: MemoryProject) -> None:
    """Its notifications can be verified, and so prove that it exists; a refusal without a name says how to name it."""
    keep(project, f"{EU}/loans", (C,), b"key")
    assert {b"key"} == secrets_by_template(project, None)[URL.format("loans")]
    refused = raised(Refused, secret_statement, project, f"{EU}/loans", (), b"x")
    assert ("reconciler", "secret", "set", f"{EU}/loans", "--attempt", C) == refused.steps[0].command


def test_the_secret_of_a_removed_subscription_is_not_shown_beside_that_of_its_successor(project: MemoryProject) -> None:
    """What `secret set` takes without `--attempt`, `secret show` shows without it."""
    for attempt in (A, B):
        keep(project, OFFERS, (attempt,), attempt.encode())
    assert "several-responses" == raised(Refused, response_of, project, OFFERS, (), None).name
    project.say(ConfirmRemoval(OFFERS, (A,)))
    assert B.encode() == response_of(project, OFFERS, (), None).body
    assert A.encode() == response_of(project, OFFERS, (A,), None).body
    assert {A.encode(), B.encode()} == secrets_of(project, OFFERS, None)
    project.add(*unknown(C, OFFERS, "ONB10003"), SecretSet(at=time_of(NOW), attempt=C, secret="file:x"))
    keep(project, OFFERS, (), b"later")
    assert b"later" == response_of(project, OFFERS, (), None).body


@pytest.mark.parametrize("is_recorded", [True, False])
def test_the_secret_that_was_set_last_is_shown(project: MemoryProject, is_recorded: bool) -> None:
    """It counts before a response, whether a fact names that or a killed run left it, and before earlier secrets."""
    text = Responses(project.data_directory / "responses").keep(
        A, Answer(Outcome.CREATED, head=b"HTTP/1.1 201 Created\r\n\r\n", body=b'{"secretKey": "old"}')
    )
    if is_recorded:
        call = what(OFFERS)
        project.add(Answered(at=time_of(NOW), attempt=A, what=call, outcome=Outcome.CREATED, response=text))
    for secret in (b"one", b"two"):
        project.clock += 1
        keep(project, OFFERS, (A,), secret)
        assert secret == response_of(project, OFFERS, (A,), None).body
    assert {b"old", b"one", b"two"} == secrets_of(project, OFFERS, None)


def test_secrets_by_the_template_of_what_may_deliver(project: MemoryProject) -> None:
    """What is unknown may deliver too, with no secret that is known."""
    for attempt in (A, B):
        keep(project, OFFERS, (attempt,), attempt.encode())
    own = URL.format("{attempt}")
    project.add(*created(D, f"{EU}/gone"), *created("e" * 32, OWN, url=URL.format("e"), template=own))
    project.say(ConfirmRemoval(f"{EU}/gone", (D,)))
    known = secrets_by_template(project, None)
    assert known == {URL.format("offers"): {A.encode(), B.encode()}, URL.format("loans"): set(), own: set()}


def test_what_may_be_a_secret(project: MemoryProject) -> None:
    """Every text in a response, however deep, but for those that the record says in the clear."""
    call = what(OWN, url=(url := URL.format("own")), template=URL.format("{attempt}"))
    document = {"id": "i1", "c": ["ONB10001"], "": url, "n": "7", "a": ["k", ""], "b": [[{"key": "k3y"}], "\ud800"]}
    for body in (json.dumps(document).encode(), b"[" * 100_000, b"text"):
        answer = Answer(Outcome.CREATED, head=b"HTTP/1.1 201 Created\r\n\r\n", body=body)
        text = Responses(project.data_directory / "responses").keep(D, answer)
        fact = Answered(at=time_of(NOW), attempt=D, what=call, outcome=Outcome.CREATED, response=text)
        project.add(replace(fact, fields={"id": "i1", "n": 7}))
    assert {b"k3y", b"k", b"\xed\xa0\x80"} == secrets_of(project, OWN, None)


def test_what_can_be_read_counts_beside_what_cannot(project: MemoryProject) -> None:
    """A response of another machine, or sealed to a lost key, hides no secret that was set."""
    for text in (f"file:{A}-response-00000000", "age:c2VhbGVk"):
        project.add(SecretSet(at=time_of(NOW), attempt=A, secret=text))
    raised(ReconcilerError, secrets_of, project, OFFERS, None)
    keep(project, OFFERS, (A,), b"k3y")
    assert {b"k3y"} == secrets_of(project, OFFERS, None)
