"""A name that is spelt wrongly: the error says what may be meant."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from support.partner import Partner

OFFERS = "europe/staging/offers"
LINES = {
    "statsu": "No such command 'statsu' (did you mean status or state?); see:\n    reconciler --help",
    "mv a b": "No such command 'mv' (did you mean `reconciler state mv`?); see:\n    reconciler --help",
    "state plan": "No such command 'plan' (did you mean `reconciler plan`?); see:\n    reconciler state --help",
    "state lst": "No such command 'lst' (did you mean list?); see:\n    reconciler state --help",
    "plan europe/staging": "(did you mean -t europe/staging?); see:\n    reconciler plan --help",
    "plan x": "Got unexpected extra argument (x); see:\n    reconciler plan --help",
    "plan -t europe/stagin": "-t europe/stagin: matches no target or address (did you mean europe/staging?); declared",
    "plan -t europe/staging/ofers": f"matches no target or address (did you mean {OFFERS}?); declared targets: ",
    "token -t europe/stagin": "target not declared in config/ (did you mean europe/staging?); declared targets: ",
    "state init -t eurpe/staging": "matches no target (did you mean europe/staging?); known targets: ",
    "state show europe/staging/offer": f"not in the state record (did you mean {OFFERS}?); to list",
    "state retire europe/staging/offer": f"no attempt in force (did you mean {OFFERS}?); run:",
    "state import europe/staging/offer": f"not defined in config/ (did you mean {OFFERS}?); define it ",
    "apply europe/staging": "cannot read the plan file: No such file or directory; to apply the changes of a target"
    " or an address only, run:\n    reconciler apply -t europe/staging\n",
    "apply 'europe/*'": "run:\n    reconciler apply -t 'europe/*'\n",
    "apply plans/europe.json": "plans/europe.json: cannot read the plan file: No such file or directory\n",
}


@pytest.mark.parametrize("line", LINES)
def test_what_may_be_meant(partner: Partner, line: str) -> None:
    """Commands, also those of another group; targets and addresses; a target where a plan file is expected."""
    partner.begin(offers=["ONB10011"])
    partner.step("state", "import", "--all")
    done = partner.step(*shlex.split(line), code=1)
    assert LINES[line] in done.err
