"""The documents: their keys, their order, and that they are the same from run to run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler import __version__

if TYPE_CHECKING:
    from support.partner import Partner


def test_the_plan_document(partner: Partner) -> None:
    """The keys that are promised, and nothing but the document on stdout."""
    partner.begin(offers=["ONB10011"])
    partner.step("state", "import", "--all")
    partner.want(offers=["ONB10004"], others=["XYZ00001"])
    done = partner.step("plan", "--format", "json", "-t", "europe/*")
    assert done.err.startswith("Warning: config/all.yaml:")
    document = done.document
    assert ["1.0", __version__, ["europe/*"]] == [
        document[key] for key in ("format_version", "tool_version", "selection")
    ]
    assert [
        "format_version", "tool_version", "digest", "selection", "targets", "recipients", "changes",
        "awaiting_removal", "surplus", "summary",
    ] == list(document)  # fmt: skip
    there = document["targets"]["europe/staging"]
    assert ["digest", "head", "entries", "base_url", "auth_url", "audience_base"] == list(there)
    assert (partner.service.base_url, partner.service.auth_url) == (there["base_url"], there["auth_url"])
    assert [] == document["recipients"]
    extend, create = document["changes"]
    assert ["address", "action", "before", "after", "request", "reasons", "warnings"] == list(create)
    url = "https://hooks.partner.example/offers"
    (before,) = extend["before"]
    assert {"attempt": partner.attempt(), "eventCodes": ["ONB10011"], "webhookUrl": url, "status": "live"} == before
    assert {"eventCodes": ["ONB10004"], "webhookUrl": url} == extend["request"]
    assert [] == create["before"]
    assert [["ONB10011"]] == [surplus["eventCodes"] for surplus in document["surplus"]]
    assert {
        "create": 1, "extend": 1, "replace": 0, "restore": 0, "retire": 0, "blocked": 0, "unchanged": 0,
        "creates": 2, "surplus": 1, "awaiting_removal": 0,
    } == document["summary"]  # fmt: skip


def test_the_plan_document_is_stable(partner: Partner) -> None:
    """Byte for byte from run to run, whatever the locale; a file of it is replaced, and a link to one stays."""
    partner.begin(**{f"s{number}": [f"ONB1000{number}"] for number in range(9)})
    first = partner.run_raw("plan", "--format", "json")
    partner.environment |= {"PYTHONHASHSEED": "7", "LC_ALL": "POSIX", "PYTHONIOENCODING": "ascii", "TZ": "Asia/Tokyo"}
    partner.write("plans/one.json", "old")
    (partner.path / "plan.json").symlink_to("plans/one.json")
    assert first == partner.run_raw("plan", "--format", "json", "--out", "plan.json")
    assert first == (partner.path / "plans" / "one.json").read_bytes()
    assert (partner.path / "plan.json").is_symlink()
    assert first == partner.shell("$reconciler plan --out >(cat) >/dev/null; wait").out.encode()


def test_a_thousand_subscriptions(partner: Partner) -> None:
    """A large case is as right as a small one."""
    partner.begin(**{f"s{number}": [f"ABC{number:05}"] for number in range(1000)})
    done = partner.step("state", "import", "--all")
    assert 1000 == done.out.count(": imported, ABC")
    assert "\nNo changes. 1000 subscriptions match the configuration.\n" in partner.step("plan").out


def test_nothing_at_all(partner: Partner) -> None:
    """A target without subscriptions: nothing to do is no error."""
    partner.begin()
    assert "The configuration is valid: 0 subscriptions on 1 target.\n" == partner.step("validate").out
    planned = partner.step("plan", "--detailed-exitcode").out
    assert "\nNo changes. 0 subscriptions match the configuration.\n" in planned
    assert "Nothing to do.\n" == partner.step("apply").out


def test_records_that_nobody_declares(partner: Partner) -> None:
    """They are warned of, since nobody looks after what they hold."""
    partner.begin(offers=["ONB10011"])
    partner.write("config/all.yaml", partner.read("config/all.yaml").replace("europe/staging", "europe/test"))
    partner.step("state", "init")
    done = partner.step("plan")
    told = "europe/staging has a state record but is not declared in config/: its subscriptions are not managed"
    assert f"Warning: {told}\n" in done.err
    assert "" == partner.step("plan", "-t", "europe/test").err


def test_a_service_that_two_targets_share(partner: Partner) -> None:
    """What is in force on one stands in the way on the other, as far as there is a record of it."""
    partner.begin(offers=["ONB10011"])
    twin = partner.read("config/all.yaml").replace("europe/staging", "usa/staging").replace("offers", "chances")
    partner.write("config/usa.yaml", twin.replace("ONB10011", "ONB10012"))
    assert "2 subscriptions on 2 targets" in partner.step("validate").out
    partner.step("plan", "-t", "europe/*")
    partner.step("state", "init")
    partner.step("plan", "-t", "europe/*")
