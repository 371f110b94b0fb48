"""What was probably meant by a name that is not known."""

from __future__ import annotations

import pytest

from reconciler.model.address import suggestion

TARGETS = ["europe/staging", "europe/production", "usa/staging", "usa/production"]
ADDRESSES = [f"{target}/{name}" for target in TARGETS for name in ("offers", "applications")]


@pytest.mark.parametrize(("unknown", "known", "meant"), [
    ("europe/stagin", TARGETS, "europe/staging"), ("uas/staging", TARGETS, "usa/staging"), ("staging", TARGETS, ""),
    ("europe/staging/offer", ADDRESSES, "europe/staging/offers"),
    ("usa/production/aplications", ADDRESSES, "usa/production/applications"),
    ("europe/staging/zebra", ADDRESSES, ""),  # the target alone makes it like none
    ("asia/staging/offers", ADDRESSES, ""), ("europe/staging", ADDRESSES, ""), ("europe/staging", [], ""),
])  # fmt: skip
def test_a_name_that_is_like_another(unknown: str, known: list[str], meant: str) -> None:
    """Each segment must be like its own."""
    assert suggestion([unknown], known) == (f" (did you mean {meant}?)" if meant else "")


def test_several_that_are_alike() -> None:
    """The best three, the best first."""
    assert suggestion(["ab1"], ["ab12", "ab13", "ab14", "ab15", "ab1x2"]) == " (did you mean ab12 or ab13 or ab14?)"
    assert suggestion(["loans"], ["aloansx", "loan"]) == " (did you mean loan or aloansx?)"
    assert suggestion(["ab1", "cd1"], ["ab12", "ab13", "cd12", "cd13"]) == " (did you mean ab12 or ab13 or cd12?)"
