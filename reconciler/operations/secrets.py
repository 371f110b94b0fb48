"""Finds the secrets of subscriptions, which come from create responses or from a person."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from reconciler.errors import Message, ReconcilerError, RecordError, Refused, step
from reconciler.operations.responses import Responses, fields_of
from reconciler.record.gates import secret_command
from reconciler.record.statements import SetSecret

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from reconciler.model.record import Attempt, Record
    from reconciler.operations.project import Project
    from reconciler.operations.responses import Response


def response_of(project: Project, address: str, attempts: Sequence[str], identity: Path | None) -> Response:
    """Return the last response that is recorded for an address. A secret that was set by hand counts as a response.

    Only attempts in force are considered, unless none is in force. Raises Refused if several attempts have a response,
    and RecordError if no response is recorded or it cannot be read.
    """
    responses = _responses(project)
    record = project.journal.read().record
    there = _at(record, address, attempts)
    known_to_deliver = [attempt for attempt in there if attempt.in_force]
    texts = {attempt.id: _texts(responses, attempt) for attempt in known_to_deliver or there}
    kept = {attempt: known for attempt, known in texts.items() if known}
    if not kept:
        named = secret_command(address, there[0].id if attempts else "")
        steps = (step("ask the operator for the secret, then run", *named),)
        raise RecordError(Message("no-response", "no create response is recorded", address, steps))
    if len(kept) > 1:
        given = ("--identity", str(identity)) if identity else ()
        show = ("reconciler", "secret", "show", address, *given, "--attempt")
        commands = tuple(step("", *show, attempt) for attempt in kept)
        raise Refused(Message("several-responses", "several attempts have a response; name one", address, commands))
    (known,) = kept.values()
    return responses.open(known[-1], identity)


def secret_statement(project: Project, address: str, attempts: Sequence[str], secret: bytes) -> SetSecret:
    """Return the statement that records a secret set by hand. Nothing is saved yet. Raises ReconcilerError."""
    there = _at(project.journal.read().record, address, attempts)
    live = [attempt for attempt in there if attempt.in_force or (attempts and attempt.unresolved)]
    if len(live) != 1:
        possible = live or [attempt for attempt in there if attempt.unresolved]
        when = "" if live else "if the operator says that the subscription exists, run"
        steps = tuple(step(when, *secret_command(address, attempt.id)) for attempt in possible)
        what = "several attempts are in force; name one" if live else "no attempt is in force"
        raise Refused(Message("several-attempts" if live else "none-in-force", what, address, steps))
    if fields_of(secret):
        show = ("reconciler", "secret", "show", address, "--attempt", live[0].id, "--field", "NAME")
        steps = (step("give only the field with the secret, as printed by", *show),)
        raise Refused(Message("secret-is-object", "expected the secret alone, got a JSON object", address, steps))
    if b"\n" in secret.strip(b"\n"):
        raise Refused(Message("secret-of-lines", "expected one line", address, (step("give only the secret"),)))
    return SetSecret(address, _responses(project).text_of_secret(live[0].id, secret), live[0].id)


def save_secret(project: Project, statement: SetSecret, secret: bytes) -> None:
    """Save the secret of a statement on this machine, unless the record will hold it. Raises RecordError."""
    _responses(project).save_secret(statement.secret, secret)


def secrets_by_template(project: Project, identity: Path | None) -> Mapping[str, set[bytes]]:
    """Return the secrets that may sign notifications, by URL template. Raises RecordError."""
    responses, secrets = _responses(project), dict[str, set[bytes]]()
    for attempt in project.journal.read().record.attempts.values():
        if attempt.in_force or attempt.unresolved:
            secrets.setdefault(attempt.template, set()).update(_secrets(responses, attempt, identity))
    return secrets


def secrets_of(project: Project, address: str, identity: Path | None) -> set[bytes]:
    """Return the recorded secrets of an address. Raises RecordError if it has none."""
    responses = _responses(project)
    attempts = _at(project.journal.read().record, address, ())
    secrets = {secret for attempt in attempts for secret in _secrets(responses, attempt, identity)}
    if not secrets:
        steps = (step("if you have the secret, run", *secret_command(address)),)
        raise RecordError(Message("no-secret", "no secret is recorded", address, steps))
    return secrets


def _responses(project: Project) -> Responses:
    return Responses(project.data_directory / "responses", project.desired.recipients)


def _at(record: Record, address: str, attempts: Sequence[str]) -> list[Attempt]:
    known = [attempt for attempt in record.at_address(address) if not attempts or attempt.id in attempts]
    if not known:
        lists = step("to list what is recorded, run", "reconciler", "state", "show")
        raise Refused(Message("not-recorded", "not in the record", address, (lists,)))
    return known


def _texts(responses: Responses, attempt: Attempt) -> list[str]:
    """Return the stored texts of an attempt's responses and secrets, including responses left by a killed run."""
    return [*(attempt.responses or responses.left(attempt.id)), *attempt.secrets]


def _secrets(responses: Responses, attempt: Attempt, identity: Path | None) -> Iterator[bytes]:
    """Yield the possible secrets of an attempt: secrets set by hand, and strings that occur only in its responses."""
    clear = {"", attempt.url, *attempt.codes, *map(str, attempt.fields.values())}
    problem: ReconcilerError | None = None
    found = False
    for text in _texts(responses, attempt):
        try:
            response = responses.open(text, identity)
        except ReconcilerError as error:
            problem = error
            continue
        found = True
        if response.was_set_by_hand:
            yield response.body
        else:
            yield from (value.encode(errors="surrogatepass") for value in texts_in(response.body) if value not in clear)
    if problem is not None and not found:
        raise problem


def texts_in(body: bytes) -> list[str]:
    """Return every string value in a JSON document, or an empty list if the data is not JSON."""
    try:
        waiting: list[Any] = [json.loads(body)]
    except (ValueError, RecursionError):
        return []
    texts = []
    while waiting:
        match waiting.pop():
            case str() as text:
                texts.append(text)
            case list() as items:
                waiting += items
            case dict() as fields:
                waiting += fields.values()
    return texts
