"""A private key that is pasted where something else belongs is not repeated, by whichever error."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest
from pyrage import x25519  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from support.project import Project

KEY = str(x25519.Identity.generate())
ADDRESS = "europe/staging/offers"
LINES = (
    "{}", "state {}", "secret show {}", "secret show {} -v", "secret show europe/staging/{}", "secret set {}",
    "secret show {} --log-format json", "secret show {address} --identity {}", "secret show {address} --attempt {}",
    "secret show {address} --field {}", "secret reseal {}", "secret reseal --to {}", "secret reseal --identity {}",
    "state show {}", "state history {}", "state import {}", "state resolve {} --created", "state retire {}",
    "state removed {}", "state mv {} {address}", "state mv {address} {}", "state recover {}",
    "state observe {}", "plan -t {}", "plan -t europe/{}", "plan --{}", "plan {}", "apply {}",
    "apply --auto-approve -t {}",
    "plan --config {}", "plan --state {}", "apply --auto-approve --timeout {}", "status --format {}",
    "parity {} europe/staging",
    "token -t {}", "lead create -t {} -", "doctor -t {}", "init {} --region {}",
    "verification infer {}", "listen --port {}",
    "sandbox trigger {}", "completion {}", "validate --config {}",
)  # fmt: skip
"""Command lines with a key in place of each kind of argument."""


@pytest.mark.parametrize("spelt", [KEY, KEY.lower()], ids=["as made", "lower case"])
def test_a_key_is_not_repeated(project: Project, spelt: str) -> None:
    """The error says what is wrong without it."""
    project.declare({"offers": (["ONB10011"], "https://hooks.partner.example/offers")})
    project.step("state", "init")
    project.step("state", "import", "--all")
    for line in LINES:
        words = shlex.split(line.replace("{address}", ADDRESS).replace("{}", spelt))
        done = project.step(*words, code=None)
        assert KEY[15:40].lower() not in (done.out + done.err).lower(), line
        assert done.code == 0 or done.err, line
