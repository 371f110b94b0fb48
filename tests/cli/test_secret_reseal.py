"""What is encrypted in a record, encrypted once more for keys that were added or replace one that was lost."""

from __future__ import annotations

import os
import signal
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from pyrage import x25519  # type: ignore[import-untyped]
from support.lending_service import SIGNING_KEY
from support.project import EXECUTABLE
from support.terminal import at_terminal

if TYPE_CHECKING:
    from support.partner import Partner

OFFERS, LOANS = "europe/staging/offers", "europe/staging/loans"
OLD, NEW = ("--identity", "key.txt"), ("--identity", "new.txt")


@dataclass
class Keys:
    """Public keys, whose private ones are in NAME.txt of the project."""

    new: str
    other: str


@pytest.fixture
def keys(partner: Partner) -> Keys:
    """Two key pairs that nothing is encrypted to."""
    public = {}
    for name in ("new", "other"):
        identity = x25519.Identity.generate()
        partner.write(f"{name}.txt", f"{identity}\n")
        public[name] = str(identity.to_public())
    return Keys(**public)


@pytest.fixture
def sealed(partner: Partner) -> Partner:
    """A partner with two creates, one of which has a secret beside its response, encrypted for `key.txt`."""
    partner.seal()
    partner.begin(offers=["ONB10011"], loans=["ONB10001"])
    partner.step("apply", "--auto-approve")
    partner.step("secret", "set", LOANS, stdin="hunter2")
    return partner


def test_for_one_more_key(sealed: Partner, keys: Keys) -> None:
    """It is shown what, for whom; who could decrypt it still can; a plan that was approved before still holds."""
    config = sealed.read("config/recipients.yaml").split("[")[1].rstrip("]\n")
    attempts = {entry["address"]: entry["attempt"] for entry in sealed.entries if entry["kind"] == "intent"}
    digest = sealed.plan()["digest"]
    with sealed.appending("resealed", "resealed", "resealed"):
        done = sealed.run_fork("secret", "reseal", "--to", keys.new, *OLD)
    things = [
        f"  {LOANS}: response of attempt {attempts[LOANS]}",
        f"  {LOANS}: secret of attempt {attempts[LOANS]}",
        f"  {OFFERS}: response of attempt {attempts[OFFERS]}",
    ]
    assert 0 == done.code
    preview = [
        "3 responses and secrets to encrypt to 2 keys:", f"  {config}", f"  {keys.new}", *things
    ]  # fmt: skip
    assert preview == done.err.splitlines()
    last = "3 encrypted again, 0 already encrypted to these keys."
    assert [*(f"{thing}: encrypted again" for thing in things), last] == done.out.splitlines()
    for identity in (OLD, NEW):
        assert f"{SIGNING_KEY}\n" == sealed.step("secret", "show", OFFERS, *identity, "--field", "key").out
        assert "hunter2\n" == sealed.step("secret", "show", LOANS, *identity).out
    assert "no identity can decrypt this" in sealed.step("secret", "show", LOANS, "--identity", "other.txt", code=1).err
    assert [config, keys.new] == sealed.entries[-1]["recipients"]
    journal = sealed.journal.read_text(encoding="utf-8")
    assert not [secret for secret in ("hunter2", SIGNING_KEY) if secret in journal]
    assert digest == sealed.plan()["digest"]


def test_what_was_done_before_is_skipped(sealed: Partner, keys: Keys) -> None:
    """The entries tell for which keys it was; without --to, the recipients of config/ are meant, as it is then."""
    sealed.step("secret", "reseal", "--to", keys.new, *OLD, "-t", LOANS)
    with sealed.appending("resealed"):
        done = sealed.step("secret", "reseal", "--to", keys.new, *OLD)
    assert "1 encrypted again, 2 already encrypted to these keys.\n" in done.out
    with sealed.appending():
        assert "0 encrypted again, 3 already" in sealed.step("secret", "reseal", "--to", keys.new).out
        assert "0 encrypted again, 3 already" in sealed.step("secret", "reseal").out
    more = sealed.read("config/recipients.yaml").replace("]", f", {keys.other}]")
    sealed.write("config/recipients.yaml", more)
    with sealed.appending("resealed", "resealed", "resealed"):
        sealed.step("secret", "reseal", *NEW)
    assert "hunter2\n" == sealed.step("secret", "show", LOANS, "--identity", "other.txt").out


def test_what_cannot_be_decrypted_does_not_stop_the_rest(sealed: Partner, keys: Keys) -> None:
    """Each is named, with the exit code of a failure; once the identity is there, only those are left."""
    sealed.write("config/recipients.yaml", f"recipients: [{keys.new}]\n")
    sealed.step("secret", "set", OFFERS, stdin="later")
    with sealed.appending("resealed"):
        done = sealed.run_fork("secret", "reseal", "--to", keys.other, *NEW)
    assert (1, 3) == (done.code, done.err.count("cannot be decrypted: no identity can decrypt this; "))
    assert f"Error: {LOANS}: the secret of attempt " in done.err
    assert "1 encrypted again, 0 already encrypted to these keys, 3 could not be decrypted.\n" in done.out
    with sealed.appending():
        assert "Encrypt" not in sealed.step("secret", "reseal", "--to", keys.other, *NEW, code=1).err
    with sealed.appending("resealed", "resealed", "resealed"):
        sealed.step("secret", "reseal", "--to", keys.other, *OLD)


@pytest.mark.parametrize("answer", ["yes", "no"])
def test_at_a_terminal(sealed: Partner, keys: Keys, answer: str) -> None:
    """It asks before it gives anybody access; anything but yes leaves the record as it was."""
    answers = {"Encrypt them to these keys? Type 'yes' to continue: ": f"{answer}\n"}
    with sealed.appending(*["resealed"] * (3 if answer == "yes" else 0)):
        done = at_terminal(sealed, "secret", "reseal", "--to", keys.new, *OLD, answers=answers)
    assert {"yes": 0, "no": 1}[answer] == done.code


@pytest.mark.parametrize("meanwhile", ["Ctrl-C", "another run"])
def test_while_it_asks(sealed: Partner, keys: Keys, meanwhile: str) -> None:
    """Ctrl-C leaves the record as it was; what another run has done by then is not done again."""
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [EXECUTABLE, "secret", "reseal", "--to", keys.new, *OLD],
        cwd=sealed.path, env=sealed.variables(), stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    os.close(theirs)
    assert process.stderr is not None
    shown = b""
    with sealed.appending(*["resealed"] * (3 if meanwhile == "another run" else 0)):
        while b"to continue: " not in shown:
            read = os.read(process.stderr.fileno(), 4096)
            assert read, shown
            shown += read
        if meanwhile == "Ctrl-C":
            process.send_signal(signal.SIGINT)
        else:
            sealed.step("secret", "reseal", "--to", keys.new, *OLD)
            os.write(ours, b"yes\n")
        out, _ = process.communicate(timeout=60)
    os.close(ours)
    skipped = (0, b"0 encrypted again, 3 already encrypted to these keys.\n")
    assert {"Ctrl-C": (130, b""), "another run": skipped}[meanwhile] == (process.returncode, out)


def test_the_keys_that_are_refused(sealed: Partner, keys: Keys) -> None:
    """None is shown, since it may be private; nothing is read or written with a wrong one."""
    private = sealed.read("new.txt").strip()
    for given, said in (
        (["--to", keys.new, "--to", private], "Error: --to: key 2 is a private key, which every user "),
        (["--to", private.lower()], "Error: --to: key 1 is a private key, which every user "),
        (["--to", f"{keys.new[:-1]}!"], "Error: --to: key 1 is not an age X25519 public key; use the public key "),
        (["--to", f"{keys.new[:-4]}qqqq"], "Error: --to: key 1 is not an age X25519 public key; its checksum "),
        ([private], "Error: Got unexpected extra argument ((private key)); see:\n    reconciler secret reseal --help"),
        (["--identity", private], "Error: --identity: expected a file, got a private key, which every user "),
        (["--to", ""], "Error: --to: key 1 is not an age X25519 public key; "),
    ):
        with sealed.appending():
            done = sealed.run_fork("secret", "reseal", *OLD, *given, "-vv")
        assert (1, "", True) == (done.code, done.out, said in done.err)
        assert private[16:].lower() not in done.err.lower()
        assert keys.new[:20] not in done.err


def test_the_identities_that_are_refused(sealed: Partner, keys: Keys) -> None:
    """A file that is none, or no file at all, stops it before anything is encrypted."""
    for given, said in (
        ([], "Error: no age identity; use --identity FILE"),
        (["--identity", "none.txt"], "Error: --identity none.txt: cannot read the identity file: "),
        (["--identity", "config/all.yaml"], "Error: line 1 of identity file 1 is not an age identity; "),
        ([*OLD, "-t", "asia/*"], "Error: -t asia/*: matches no target; "),
    ):
        with sealed.appending():
            done = sealed.step("secret", "reseal", "--to", keys.new, *given, code=1)
        assert ("", True) == (done.out, said in done.err)


def test_private_files_stay_as_they_are(partner: Partner, keys: Keys) -> None:
    """They are not encrypted, and that is said; without any key there is nothing to encrypt to."""
    partner.begin(offers=["ONB10011"])
    partner.step("apply", "--auto-approve")
    with partner.appending():
        assert "no keys to encrypt to; use --to" in partner.step("secret", "reseal", code=1).err
        done = partner.step("secret", "reseal", "--to", keys.new)
    assert "1 response or secret is in a private file, not in the record, and not encrypted\n" == done.err
    assert "0 encrypted again, 0 already encrypted to these keys.\n" == done.out


def test_what_a_run_that_died_has_left(partner: Partner, keys: Keys) -> None:
    """A response that was encrypted, and not recorded yet, is encrypted too."""
    partner.seal()
    partner.begin(offers=["ONB10011"])
    partner.environment["RECONCILER_TEST_FAILPOINT"] = "before-append:2:kill,send_window=0.1,margin=0"
    partner.step("apply", "--auto-approve", code=-9)
    del partner.environment["RECONCILER_TEST_FAILPOINT"]
    with partner.appending("resealed"):
        partner.step("secret", "reseal", "--to", keys.new, *OLD)
    assert f"{SIGNING_KEY}\n" == partner.step("secret", "show", OFFERS, *NEW, "--field", "key").out
