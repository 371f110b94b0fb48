"""What this machine knows and the record does not: it is recorded whole, and nobody is believed against it."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import pytest
from support.lending_service import SIGNING_KEY, refusal
from werkzeug import Response

if TYPE_CHECKING:
    from pathlib import Path

    from support.partner import Partner

OFFERS = "europe/staging/offers"


@pytest.fixture
def sealing(partner: Partner) -> Partner:
    """A partner that seals responses, with one create to make and its identity in `key.txt`."""
    partner.want(offers=["ONB10011"])
    partner.seal()
    partner.step("state", "init")
    partner.environment["RECONCILER_TEST_FAILPOINT"] = "send_window=0.1,margin=0"
    return partner


def apply_in_vain(partner: Partner, answer: Response) -> Path:
    """Apply where the journal cannot be written once the create is answered; the file of what was not recorded."""
    kept = partner.path / "kept.jsonl"

    def answer_without_journal() -> Response:
        shutil.copyfile(partner.journal, kept)
        partner.journal.unlink()
        partner.journal.mkdir()
        return answer

    partner.service.answer_next(answer_without_journal)
    partner.step("apply", "--auto-approve", "--timeout", "2", code=3)
    partner.journal.rmdir()
    kept.rename(partner.journal)
    (file,) = (partner.path.parent / "home" / "data" / "reconciler" / "unrecorded").iterdir()
    return file


def created() -> Response:
    """A create response with a secret."""
    return Response(f'{{"key": "{SIGNING_KEY}"}}', status=201, content_type="application/json")


def test_it_is_recorded_with_its_response(sealing: Partner) -> None:
    """The outcome, and the response that is told only once; a second time there is nothing left to record."""
    file = apply_in_vain(sealing, created())
    assert [("offers", "blocked")] == sealing.planned()
    with sealing.appending("outcome"):
        done = sealing.succeed("state", "recover", file)
    said = f"The record has all of it; {file} is no longer needed.\n"
    assert ("  europe/staging: 1 entry recovered, 1 already recorded\n", said) == (done.out, done.err)
    assert [] == sealing.planned()
    shown = sealing.step("secret", "show", OFFERS, "--identity", "key.txt", "--field", "key")
    assert f"{SIGNING_KEY}\n" == shown.out
    with sealing.appending():
        again = sealing.step("state", "recover", file)
    assert "  europe/staging: 0 entries recovered, 2 already recorded\n" == again.out


def test_what_is_unknown_still_is_said(sealing: Partner) -> None:
    """What was saved may be that nobody knows the outcome; the advice is that of a plan."""
    file = apply_in_vain(sealing, refusal(500))
    done = sealing.step("state", "recover", file)
    assert "  europe/staging: 1 entry recovered, 1 already recorded\n" == done.out
    assert re.match(rf"{OFFERS}: a create started \S+ \(.*\) by .* has an unknown outcome; ", done.err)
    assert f"    reconciler state resolve {OFFERS} --created\n" in done.err
    assert done.err in sealing.step("state", "recover", file).err


def test_the_file_is_needed_until_the_record_is_shared(sealing: Partner) -> None:
    """Where the record is committed, the work tree alone has it until then."""
    file = apply_in_vain(sealing, created())
    sealing.shell("git init -q")
    done = sealing.succeed("state", "recover", file)
    assert "To commit and share the record of europe/staging, run:\n" in done.err
    assert done.err.endswith(f"The record has all of it; after that, {file} is no longer needed.\n")


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_nobody_is_believed_against_it(sealing: Partner, force: list[str]) -> None:
    """What was created is not settled as not created, by force or without: it would be created a second time."""
    file = apply_in_vain(sealing, created())
    with sealing.appending():
        done = sealing.run("state", "resolve", OFFERS, "--not-created", *force)
    assert (1, "") == (done.code, done.out)
    problem = f"{OFFERS}: its outcome is known but could not be recorded: created"
    assert done.err.endswith(f"Error: {problem}; run:\n    reconciler state recover {file}\n")
    with sealing.appending("resolved"):
        done = sealing.step("state", "resolve", OFFERS, "--created")
    assert done.err.endswith(f"A create response is not in the record yet; run:\n    reconciler state recover {file}\n")


def test_what_was_rejected_was_not_created(sealing: Partner) -> None:
    """The same the other way round."""
    apply_in_vain(sealing, refusal(400))
    with sealing.appending():
        done = sealing.run("state", "resolve", OFFERS, "--created", "--force")
    assert (1, "") == (done.code, done.out)
    assert "its outcome is known but could not be recorded: rejected; " in done.err
    with sealing.appending("resolved"):
        sealing.step("state", "resolve", OFFERS, "--not-created")


def test_of_another_record(sealing: Partner) -> None:
    """What belongs to another record is not appended to this one."""
    file = apply_in_vain(sealing, created())
    sealing.step("state", "init", "--state", "another", "--force")
    done = sealing.run("state", "recover", file, "--state", "another")
    assert (1, "") == (done.code, done.out)
    told = f"{file} belongs to another record of this target; use --state with the store that it belongs to"
    assert f"Error: europe/staging: {told}\n" == done.err


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [("", 0, ""), ("{}", 1, "given.jsonl:1: not an entry of a recovery file; "), (None, 1, "No such file")],
)
def test_of_other_files(partner: Partner, text: str | None, code: int, said: str) -> None:
    """An empty file says so, any other is refused."""
    partner.begin(offers=["ONB10011"])
    if text is not None:
        partner.write("given.jsonl", text)
    with partner.appending():
        done = partner.run("state", "recover", "given.jsonl")
    assert (code, "" if code else "Nothing to recover.\n") == (done.code, done.out)
    assert said in done.err


@pytest.mark.parametrize(
    ("files", "named"),
    [
        ((), ""),
        (("europe/staging.jsonl",), " in it: given/europe/staging.jsonl"),
        (("b.jsonl", "a.jsonl", "a/c.jsonl", "notes.txt"), " in it: given/a.jsonl, given/b.jsonl, given/a/c.jsonl"),
    ],
)
def test_of_a_directory(partner: Partner, files: tuple[str, ...], named: str) -> None:
    """It is refused, with what may be meant."""
    partner.begin(offers=["ONB10011"])
    (partner.path / "given").mkdir()
    for file in files:
        partner.write(f"given/{file}", "")
    done = partner.run("state", "recover", "given")
    assert (1, "") == (done.code, done.out)
    assert f"Error: given: is a directory; name a journal or a recovery file{named}\n" == done.err


def test_of_a_directory_with_copies_of_records(partner: Partner) -> None:
    """Such as that of another clone: the file of each target is named, each in a command of its own."""
    partner.begin(offers=["ONB10011"])
    clone = partner.path / "other clone" / "state"
    shutil.copytree(partner.path / "state", clone)
    partner.step("apply", "--auto-approve")
    partner.write("other clone/state/notes.jsonl", "{}")
    done = partner.run("state", "recover", "other clone/state")
    assert (
        "Error: other clone/state: is a directory with copies of records; each is a file of its own; to recover that of"
        " europe/staging, run:\n    reconciler state recover 'other clone/state/europe/staging.jsonl'\n"
    ) == done.err
    many = partner.path / "many"
    for name in "abcde":
        shutil.copytree(clone / "europe", many / name)
    done = partner.run("state", "recover", "many")
    assert 3 == done.err.count("reconciler state recover many/")
    assert done.err.endswith("staging.jsonl\n  and so on for 2 others\n")


@pytest.mark.parametrize(("created", "code"), [("--created", 0), ("--not-created", 1)])
def test_where_nobody_can_look(partner: Partner, created: str, code: int) -> None:
    """Private files that cannot be read keep nobody from --created; --not-created wants them read."""
    partner.begin(offers=["ONB10011"])
    partner.lose_answer()
    folder = partner.path.parent / "home" / "data" / "reconciler" / "unrecorded"
    folder.rmdir()
    (folder.parent / "elsewhere").write_text("")
    folder.symlink_to(folder)
    done = partner.run("state", "resolve", OFFERS, created)
    assert code == done.code
    assert (code == 1) == ("cannot read the recovery file: Too many levels of symbolic links" in done.err)
    partner.environment["XDG_DATA_HOME"] = "/dev/null"
    if code:
        partner.step("state", "resolve", OFFERS, created, "--force")
