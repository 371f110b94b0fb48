"""The page of a plan and of the status: what it says, in which order, and that all of it stays text and small."""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode, b64encode
from hashlib import sha256
from html import unescape
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest
from support.report_values import overview_of
from support.value_scene import AT, BY, EUROPE, Scene, address_of, hooks, target

from reconciler.model.address import TargetName
from reconciler.model.desired import Overlap, Replace
from reconciler.model.entry import Imported, Observed
from reconciler.model.outcome import Outcome
from reconciler.reports.documents import plan_document, status_document
from reconciler.reports.formats import PLAN_PAGE, STATUS_PAGE
from reconciler.reports.html.contents import Contents
from reconciler.reports.html.marks import Kind
from reconciler.reports.html.tasks import When, Who

if TYPE_CHECKING:
    from reconciler.model.overview import Overview

PRODUCTION = TargetName("europe/production")
LIMIT = 300_000
"""Bytes of a page of 1,000 subscriptions."""


@pytest.fixture
def scene() -> Scene:
    """Staging and production of one region, each of its own service, with empty records."""
    names = (EUROPE, PRODUCTION)
    return Scene({name: target(name, base_url=f"https://{name.environment}.service.example") for name in names})


def plan_page(overview: Overview) -> str:
    """The page of a plan."""
    return str(PLAN_PAGE["html"](overview))


def status_page(overview: Overview) -> str:
    """The page of the status."""
    return str(STATUS_PAGE["html"](overview))


class _Text(HTMLParser):
    """The text of a page as a person reads it, without style, script and data."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.ids: list[str] = []
        self._skips = self._joins = False

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self._skips = tag in ("style", "script")
        self._joins = tag == "wbr"
        self.ids += [str(value) for name, value in attributes if name == "id"]

    def handle_endtag(self, tag: str) -> None:
        self._skips = False

    def handle_data(self, data: str) -> None:
        if not self._skips:
            words = data.split()
            if self._joins and words:
                words[0] = self.words.pop() + words[0]
            self.words += words
        self._joins = False


def read(page: str) -> str:
    """The text of a page, with single blanks."""
    parser = _Text()
    parser.feed(page)
    return " ".join(parser.words)


def ids(page: str) -> list[str]:
    """What can be linked to."""
    parser = _Text()
    parser.feed(page)
    return parser.ids


def embedded(page: str) -> Any:
    """The JSON document that a page holds."""
    (text,) = re.findall(r'<script type="application/json" id="\w+">(.*?)</script>', page)
    return json.loads(text)


def test_what_a_reviewer_asks_comes_first(scene: Scene) -> None:
    """The verdict; what is sent, what arrives twice, who must act, what is not known; the digest and the record."""
    scene.want("offers", "ONB10011", hooks("new"))
    scene.hold("offers", "ONB10011", hooks("old"))
    scene.lose("lost", "ONB10001", hooks("lost"))
    overview = overview_of(scene, unusable={TargetName("usa/staging"): "its record is missing"})
    text = read(plan_page(overview))
    assert text.index("What each must do") > text.index(overview.plan.digest)
    first = text.partition("What each must do")[0]
    assert "Plan: 1 create call to europe/staging, 1 blocked change will not be sent." in first
    stays = "the old one at …/old stays until the service's operator deletes it"
    sent = f"± replace offers (ONB10011): create at {hooks('new')}; {stays} A call cannot be undone."
    assert f"Will be sent 1 create call to europe/staging : {sent} See what each change does" in first
    assert "Will not be sent europe/staging/lost : an earlier create has an unknown outcome Arrives twice" in first
    assert "Must act Reviewer , before the apply: approve or refuse the plan" in first
    unknown = "resolve an unknown outcome (was it created?): europe/staging/lost"
    assert f"Maintainer , now; the apply need not wait: repair a record: usa/staging {unknown}" in first
    asks = "Service's operator , after the apply, when the maintainer asks with reconciler removals :"
    assert f"{asks} delete the old subscription europe/staging/offers at {hooks('old')} See what" in first
    until = f"until the service's operator deletes the old europe/staging/offers at {hooks('old')} See at which URLs"
    nothing = "Arrives twice Now : nothing, even if the create of unknown outcome exists"
    assert f"{nothing} After the call : ONB10011 on europe/staging , {until}" in first
    assert "Stops arriving Nothing" in first
    exists = "whether it exists : europe/staging/lost (ONB10001), a create of unknown outcome"
    assert f"{exists} what exists on usa/staging : no usable record" in first
    record = f"{scene.records[EUROPE].head[:12]} 5 {AT} (10 hours ago)"
    addresses = "https://staging.service.example https://login.service.example https://api.service.example"
    assert f"europe/staging {record} {addresses}" in text.partition("What is not known")[2]


def test_what_stops(scene: Scene) -> None:
    """A code that goes with no replacement is on the first screen; one that is replaced does not stop."""
    scene.want("moved", "ONB10001", hooks("there"))
    scene.hold("moved", "ONB10001", hooks("here"))
    scene.hold("gone", "ONB10003", hooks("gone"))
    first = read(plan_page(overview_of(scene))).partition("What each must do")[0]
    deleted = f"once the service's operator deletes europe/staging/gone at {hooks('gone')}"
    asks = "( not asked yet: the maintainer asks after the apply ). Nothing replaces it."
    assert f"Stops arriving ONB10003 on europe/staging , {deleted} {asks} Not known" in first


def test_a_deletion_that_was_asked_for(scene: Scene) -> None:
    """It says when, in the same words wherever it is; what is left of an address that goes on is the old one."""
    scene.retire(scene.hold("gone", "ONB10003", hooks("gone")))
    scene.want("moved", "ONB10001", hooks("there"))
    scene.hold("moved", "ONB10001", hooks("there"))
    scene.retire(scene.hold("moved", "ONB10002", hooks("here")))
    text = read(plan_page(overview_of(scene, unusable={})))
    gone = f"delete the subscription europe/staging/gone at {hooks('gone')} (asked on 2026-11-20)"
    old = f"delete the old subscription europe/staging/moved at {hooks('here')} (asked on 2026-11-20)"
    assert f"Must act Service's operator , now: {old} {gone} See what each must do" in text
    deleted = f"once the service's operator deletes europe/staging/gone at {hooks('gone')} ( asked on 2026-11-20 )"
    assert f"{deleted}. Nothing replaces it." in text
    assert "delete the subscription europe/staging/gone , attempt a1, asked on 2026-11-20 Please delete" in text


def test_what_config_does_not_ask_for(scene: Scene) -> None:
    """The first screen names the codes, whether they are too many or in force a second time."""
    scene.want("shrunk", "ONB10003", hooks("shrunk"))
    scene.hold("shrunk", "ONB10003 ONB10004", hooks("shrunk"))
    scene.want("double", "ONB10005", hooks("double"))
    scene.hold("double", "ONB10005", hooks("double"))
    scene.hold("double", "ONB10005", hooks("double"))
    text = read(plan_page(overview_of(scene, unusable={})))
    codes = "europe/staging/double (ONB10005), europe/staging/shrunk (ONB10004)"
    assert f"Maintainer , now: decide on surplus codes (in force, not asked for by config/): {codes} See what" in text


def test_what_is_urgent(scene: Scene) -> None:
    """Who must act stands out where somebody must whatever becomes of the plan, not for its approval."""
    scene.want("new", "ONB10001", hooks("new"))
    assert '<li class="act some">' in plan_page(overview_of(scene, unusable={}))
    scene.retire(scene.hold("gone", "ONB10003", hooks("gone")))
    assert '<li class="act urgent">' in plan_page(overview_of(scene, unusable={}))


def test_an_old_url_at_another_host(scene: Scene) -> None:
    """It is whole, since no URL before it has its host."""
    scene.want("moved", "ONB10001", hooks("there"))
    scene.hold("moved", "ONB10001", "https://hooks.partner.example.other.example/here")
    text = read(plan_page(overview_of(scene)))
    assert "the old one at https://hooks.partner.example.other.example/here stays until" in text


def test_before_the_apply(scene: Scene) -> None:
    """All that must precede it is listed with the approval, and before what need not."""
    scene.want("more", "ONB10002 ONB10003", hooks("more"))
    scene.hold("more", "ONB10002", hooks("more"))
    scene.lose("lost", "ONB10007", hooks("lost"))
    by_time = Contents(overview_of(scene, unusable={})).by_time(None)
    assert [(When.BEFORE, [Who.ENDPOINT]), (When.NOW, [Who.MAINTAINER])] == [
        (when, list(people)) for when, people in by_time.items()
    ]
    text = read(plan_page(overview_of(scene, unusable={})))
    assert 1 == text.count("Before the apply")
    assert "Before the apply Reviewer Approve or refuse 1 create call" in text


def test_every_change_is_explained(scene: Scene) -> None:
    """Also a create, and one that is not sent; a replacement has both URLs."""
    scene.want("new", "ONB10001", hooks("new"))
    scene.want("moved", "ONB10002", hooks("there"))
    old = scene.hold("moved", "ONB10002", hooks("here"))
    scene.want("lost", "ONB10003", hooks("lost"))
    scene.lose("lost", "ONB10003", hooks("lost"))
    text = read(plan_page(overview_of(scene))).partition("What each change does")[2]
    assert "! not sent europe/staging/lost an earlier create has an unknown outcome" in text
    assert f"URL: {hooks('here')} → {hooks('there')}" in text
    assert f"ONB10002 will arrive at both URLs until the service's operator deletes attempt {old}" in text
    assert f"+ create europe/staging/new sends ONB10001 to {hooks('new')}" in text


def test_all_is_green(scene: Scene) -> None:
    """Nothing is sent and nobody must act, and still the page says what cannot be known."""
    scene.want("offers", "ONB10011", hooks("a"))
    scene.hold("offers", "ONB10011", hooks("a"))
    text = read(plan_page(overview_of(scene, unusable={})))
    assert "No changes. 1 recorded subscription matches the configuration." in text
    assert "Will be sent Nothing No call to the service. Must act Nobody Arrives twice Nothing" in text
    assert "As far as the record knows. Stops arriving Nothing No code loses its last subscription. Not known" in text
    routes = "1 of 1 routes (one event code to one URL) in force, with no event ever seen: on europe/staging"
    assert f"Not known whether it delivers : {routes} what others changed" in text
    assert "What each must do" not in text
    assert "The service can neither list nor show a subscription" in text


def test_the_status(scene: Scene) -> None:
    """What is in force, and what is left to do; the same page, with the document of the status."""
    scene.want("offers", "ONB10011", hooks("a"))
    scene.want("applications", "ONB10001", hooks("b"))
    scene.hold("offers", "ONB10011", hooks("a"))
    scene.retire(scene.hold("gone", "ONB10002", hooks("gone")))
    scene.lose("lost", "ONB10003", hooks("lost"))
    overview = overview_of(scene, unusable={})
    page = status_page(overview)
    title = "2 subscriptions in force on 2 targets, 1 outcome unknown, 2 pending changes, 1 awaiting removal."
    assert title in read(page)
    assert "approve the plan" not in read(page)
    assert status_document(found.standing for found in overview.targets) == embedded(page)


def test_staging_stands_beside_production(scene: Scene) -> None:
    """Rows are codes that fare the same, columns are targets, production last; what differs comes before the rest."""
    for name in (EUROPE, PRODUCTION):
        scene.want(f"{name}/offers", "ONB10011 ONB10012", hooks("offers"))
        scene.want(f"{name}/same", "ONB10001", hooks("same"))
        scene.hold(f"{name}/same", "ONB10001", hooks("same"))
    scene.hold(f"{EUROPE}/offers", "ONB10011 ONB10012", hooks("offers"))
    scene.hold(f"{PRODUCTION}/offers", "ONB10011", hooks("offers"))
    (matrix,) = Contents(overview_of(scene)).matrices
    assert (EUROPE, PRODUCTION) == matrix.targets
    shown = [
        (row.name, row.codes, [[mark.kind for mark in cell.marks] if cell else [] for cell in row.cells])
        for row in (*matrix.rows, *matrix.steady)
    ]
    assert [
        ("offers", ("ONB10011",), [[Kind.UNSEEN], [Kind.UNSEEN]]),
        ("offers", ("ONB10012",), [[Kind.UNSEEN], [Kind.EXTEND]]),
        ("same", ("ONB10001",), [[Kind.UNSEEN], [Kind.UNSEEN]]),
    ] == shown
    assert 2 == len(matrix.rows)


def test_what_becomes_of_each_route(scene: Scene) -> None:
    """Every kind of mark, each where it belongs."""
    scene.want("new", "ONB10001", hooks("new"))
    scene.want("more", "ONB10002 ONB10003", hooks("more"))
    scene.hold("more", "ONB10002", hooks("more"))
    scene.want("moved", "ONB10004", hooks("there"))
    scene.hold("moved", "ONB10004", hooks("here"))
    scene.want("back", "ONB10005", hooks("back"))
    scene.retire(scene.hold("back", "ONB10005", hooks("back")))
    scene.hold("gone", "ONB10006", hooks("gone"))
    scene.lose("lost", "ONB10007", hooks("lost"))
    scene.want("lost", "ONB10007 ONB10012", hooks("lost"))
    scene.retire(scene.hold("going", "ONB10008", hooks("going")))
    scene.want("shrunk", "ONB10009", hooks("shrunk"))
    scene.hold("shrunk", "ONB10009 ONB10010", hooks("shrunk"))
    scene.want("quiet", "ONB10011", hooks("quiet"))
    scene.hold("quiet", "ONB10011", hooks("quiet"))
    for name, code, at in (("shrunk", "ONB10009", AT), ("quiet", "ONB10011", "2026-10-01T00:00:00Z")):
        heard = Observed(at=AT, by=BY, address=address_of(name), url=hooks(name), received={code: at})
        scene._tell(EUROPE, heard)
    contents = Contents(overview_of(scene))
    kinds = {
        code: [mark.kind for cell in row.cells if cell for mark in cell.marks]
        for matrix in contents.matrices
        for row in (*matrix.rows, *matrix.steady)
        for code in row.codes
    }
    assert {
        "ONB10001": [Kind.CREATE],
        "ONB10002": [Kind.UNSEEN],
        "ONB10003": [Kind.EXTEND],
        "ONB10004": [Kind.REPLACE, Kind.OLD],
        "ONB10005": [Kind.RESTORE],
        "ONB10006": [Kind.RETIRE],
        "ONB10007": [Kind.BLOCKED, Kind.UNKNOWN],
        "ONB10008": [Kind.LEAVING],
        "ONB10009": [Kind.PROVEN],
        "ONB10010": [Kind.SURPLUS],
        "ONB10011": [Kind.UNSEEN],
        "ONB10012": [Kind.BLOCKED],
    } == kinds
    assert [kind for kind in Kind if kind is not Kind.SILENT] == [item.kind for item in contents.legend]


def test_what_is_not_sent(scene: Scene) -> None:
    """Of a blocked change, what is desired at another URL, or not in force; not what is in force there already."""
    scene.declare(target(EUROPE, base_url="https://staging.service.example", mode=Replace.WAIT))
    scene.want("moved", "ONB10001", hooks("there"))
    scene.hold("moved", "ONB10001", hooks("here"))
    scene.want("grown", "ONB10002 ONB10003", hooks("grown"))
    scene.hold("grown", "ONB10002", hooks("grown"))
    scene.lose("grown", "ONB10003", hooks("grown"))
    (matrix,) = Contents(overview_of(scene)).matrices
    marks = {row.codes: [shown.kind for cell in row.cells if cell for shown in cell.marks] for row in matrix.rows}
    assert {
        ("ONB10001",): [Kind.BLOCKED, Kind.RETIRE],
        ("ONB10002",): [Kind.UNSEEN],
        ("ONB10003",): [Kind.BLOCKED, Kind.UNKNOWN],
    } == marks


def test_another_host_stands_out(scene: Scene) -> None:
    """The head of a column has the host of most of its URLs, which its cells leave out; any other URL is whole."""
    for name in ("a", "b"):
        scene.want(name, f"ONB1000{'ab'.index(name) + 5}", hooks(f"path/{name}"))
    scene.want("c", "ONB10001", "https://hooks.partner.example.other.example/path/c")
    scene.want("d", "ONB10002", "https://hooks.partner.example")
    scene.want(f"{PRODUCTION}/a", "ONB10007", hooks("alone"))
    (matrix,) = Contents(overview_of(scene)).matrices
    assert ("https://hooks.partner.example", "") == matrix.hosts
    shown = [mark.url for row in matrix.rows for cell in row.cells if cell for mark in cell.marks]
    others = ["https://hooks.partner.example.other.example/path/c", "https://hooks.partner.example"]
    assert ["…/path/a", hooks("alone"), "…/path/b", *others] == shown
    text = read(plan_page(overview_of(scene)))
    assert "europe/staging … is https://hooks.partner.example europe/production a" in text
    assert "…/ a URL at the host that the head of its column names" in text


def test_the_first_screen_has_an_end(scene: Scene) -> None:
    """Of many codes the first are there, and how many more; of many calls how many go where, and of which sort."""
    scene.want("wide", " ".join(f"ONB{number:05}" for number in range(60)), hooks("wide"))
    assert "ONB00004 ONB00005 and 54 more)" in read(plan_page(overview_of(scene)))
    for number in range(8):
        scene.want(f"{PRODUCTION}/s{number}", f"ONB{number:05}", hooks("many"))
    text = read(plan_page(overview_of(scene)))
    assert "Plan: 9 create calls to europe/staging and europe/production." in text
    assert "9 create calls to europe/staging : 1 (1 create) to europe/production : 8 (8 create) A call" in text


def test_every_address_has_an_anchor(scene: Scene) -> None:
    """One each, also where an address takes several rows."""
    scene.want("offers", "ONB10011 ONB10012", hooks("a"))
    scene.hold("offers", "ONB10011", hooks("a"))
    scene.want("other", "ONB10001", hooks("b"))
    page = plan_page(overview_of(scene))
    anchors = [name for name in ids(page) if "/" in name]
    assert ["europe/staging/offers", "europe/staging/other"] == sorted(anchors)
    assert len(set(ids(page))) == len(ids(page))


def test_twice_until_the_old_one_is_deleted(scene: Scene) -> None:
    """A replacement delivers twice until then; what is restored, or goes without a successor, does not."""
    scene.want("moved", "ONB10001 ONB10002", hooks("there"))
    old = scene.hold("moved", "ONB10001", hooks("here"))
    scene.hold("gone", "ONB10003", hooks("gone"))
    scene.want("back", "ONB10004", hooks("back"))
    scene.retire(scene.hold("back", "ONB10004", hooks("back")))
    (found,) = Contents(overview_of(scene)).twice
    assert (("ONB10001",), True, (old,)) == (found.codes, found.sure, found.leaving)
    text = read(plan_page(overview_of(scene)))
    until = "until the service's operator has deleted a1"
    assert f"ONB10001 will arrive more than once, once the plan is applied, {until}" in text


def test_twice_for_good() -> None:
    """Two targets of one service, or two subscriptions where that is allowed: nothing ends it."""
    one = Scene({EUROPE: target(EUROPE, overlap=Overlap.ALLOW)})
    one.want("a", "ONB10001", hooks("a"))
    one.want("b", "ONB10001", hooks("b"))
    (found,) = Contents(overview_of(one)).twice
    assert (("ONB10001",), True, ()) == (found.codes, found.sure, found.leaving)
    both = Scene({EUROPE: target(EUROPE), PRODUCTION: target(PRODUCTION)})
    both.hold(f"{EUROPE}/a", "ONB10001", hooks("a"))
    both.hold(f"{PRODUCTION}/b", "ONB10001", hooks("b"))
    both.retire("a1")
    (found,) = Contents(overview_of(both)).twice
    assert {EUROPE, PRODUCTION} == {delivery.address.target for delivery in found.deliveries}


def test_perhaps_twice(scene: Scene) -> None:
    """What has an unknown outcome may deliver."""
    scene.lose("lost", "ONB10001", hooks("a"))
    scene.hold("found", "ONB10001", hooks("b"))
    (found,) = Contents(overview_of(scene)).twice
    assert not found.sure
    may = "Now : not known for ONB10001 on europe/staging : unknown outcome of europe/staging/lost"
    assert f"{may} After the apply : nothing more" in read(plan_page(overview_of(scene)))


def test_perhaps_twice_now_and_surely_later() -> None:
    """What is sent makes sure what an unknown outcome leaves open."""
    scene = Scene({EUROPE: target(EUROPE, overlap=Overlap.ALLOW)})
    scene.want("held", "ONB10001", hooks("held"))
    scene.hold("held", "ONB10001", hooks("held"))
    scene.lose("lost", "ONB10001", hooks("lost"))
    scene.want("new", "ONB10001", hooks("new"))
    text = read(plan_page(overview_of(scene, unusable={})))
    may = "Now : not known for ONB10001 on europe/staging : unknown outcome of europe/staging/lost"
    assert f"{may} After the call : ONB10001 on europe/staging , with no end: no removal was requested" in text
    assert "ONB10001 will arrive more than once, once the plan is applied, permanently" in text


def test_every_task_has_its_command(scene: Scene) -> None:
    """Who must act finds what to run, whole, in an element of its own."""
    scene.lose("lost", "ONB10001", hooks("lost"))
    scene.want("shrunk", "ONB10003", hooks("shrunk"))
    scene.hold("shrunk", "ONB10003 ONB10004", hooks("shrunk"))
    going = scene.hold("gone", "ONB10002", hooks("gone"))
    scene.retire(going)
    scene.want("new", "ONB10005", hooks("new"))
    overview = overview_of(scene, "europe/*", unusable={})
    page = plan_page(overview)
    commands = [unescape(found) for found in re.findall(r'<code class="cmd" tabindex="0">(.*?)</code>', page)]
    assert [
        f"reconciler apply -t 'europe/*' --expect-digest {overview.plan.digest}",
        "reconciler state resolve europe/staging/lost --created",
        "reconciler state resolve europe/staging/lost --not-created",
        "reconciler state retire europe/staging/shrunk --attempt a2",
        f"reconciler state removed europe/staging/gone --attempt {going}",
        "reconciler state observe FILE",
    ] == commands
    assert {Who.MAINTAINER, Who.OPERATOR} == {task.who for task in Contents(overview).tasks}


def test_a_record_of_another_service(scene: Scene) -> None:
    """The address is where the calls go, and the page says so before an apply refuses."""
    scene.want("offers", "ONB10011", hooks("a"))
    scene.declare(target(EUROPE, base_url="https://other.example"))
    text = read(plan_page(overview_of(scene)))
    assert (
        "the record belongs to the service at https://staging.service.example, but the settings use"
        " https://other.example: apply refuses this" in text
    )


def test_recipients(scene: Scene) -> None:
    """Whom responses are encrypted to, or that they are not."""
    assert "Responses are not encrypted: config/ has no recipients." in read(plan_page(overview_of(scene)))
    scene.recipients = ("age1one", "age1two")
    assert "Responses are encrypted to age1one , age1two ." in read(plan_page(overview_of(scene)))


def test_what_a_browser_may_do(scene: Scene) -> None:
    """Nothing but show the one style and run the one script."""
    page = plan_page(overview_of(scene))
    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="(.*?)">', page)
    hashes = [
        f"'sha256-{b64encode(sha256(source.encode()).digest()).decode()}'"
        for source in re.findall(r"<(?:style|script)>(.*?)</(?:style|script)>", page, re.DOTALL)
    ]
    assert unescape(policy) == (
        f"default-src 'none'; style-src {hashes[0]}; script-src {hashes[1]}; base-uri 'none'; form-action 'none'"
    )
    assert not re.findall(r"\s(?:style|on\w+)=|<(?:link|img|iframe)\b|url\(|@import", page)


def test_no_name_ends_the_document(scene: Scene) -> None:
    """The document is what JSON has, whatever is in it, and no text ends its element."""
    scene.want("offers", "ONB10011", "https://hooks.example/</script><script>alert(1)</script><!--")
    overview = overview_of(scene)
    page = plan_page(overview)
    assert plan_document(overview.plan) == embedded(page)
    assert 2 == page.count("</script>")
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def many(kind: str, count: int) -> Scene:
    """So many subscriptions of one target: unchanged, new, or all with another URL."""
    scene = Scene()
    journal = scene.journals[EUROPE]
    for number in range(count):
        name, code = f"s{number:05}", f"ONB{number:05}"
        scene.want(name, code, hooks(f"staging/{name}"))
        if kind != "create":
            url = hooks(f"staging/{name}" if kind == "unchanged" else f"staging/{name}-old")
            chance = sha256(name.encode()).hexdigest()
            journal.append((imported(name, code, url, chance[:16]), chance))
    scene.refold()
    return scene


def imported(name: str, code: str, url: str, attempt: str) -> Any:
    """An import of one code."""
    return Imported(at=AT, by=BY, attempt=attempt, address=address_of(name), codes=(code,), url=url)


@pytest.mark.parametrize("kind", ["unchanged", "create", "replace"])
def test_size(kind: str) -> None:
    """A page of 1,000 subscriptions is small enough to be attached and opened anywhere."""
    overview = overview_of(many(kind, 1000))
    for page in (plan_page(overview), status_page(overview)):
        assert LIMIT > len(page.encode())
    assert 1000 == sum("/" in name for name in ids(page))


def test_a_long_document_is_compressed() -> None:
    """It is the same document."""
    overview = overview_of(many("create", 1000))
    document = json.loads(zlib.decompress(b64decode(embedded(plan_page(overview))["zlib"])))
    assert plan_document(overview.plan) == document


def test_lists_have_an_end() -> None:
    """What is left out is counted, and the tables have it."""
    scene = Scene()
    for number in range(25):
        scene.lose(f"lost-{number}", f"ONB{number:05}", hooks("lost"))
    text = read(plan_page(overview_of(scene, unusable={})))
    names = "europe/staging/lost-0 , europe/staging/lost-1 , europe/staging/lost-10 and 22 more"
    assert f"resolve an unknown outcome (was it created?): {names}" in text
    assert "What each change does (20 of 25)" in text
    assert "and 5 more (5 not sent): the tables have each, reconciler plan says them in full" in text
    assert "and 22 more: an earlier create has an unknown outcome" in text
    assert "about 25 creates of europe/staging, in one message, send Which of these 25 webhook subscriptions" in text
    assert "and 16 more: the tables have each, reconciler plan says them in full" in text


def test_many_targets() -> None:
    """No table is wider than eight targets, and the records are folded away."""
    names = [TargetName(f"r{number}/{name}") for number in range(6) for name in ("production", "staging")]
    scene = Scene({name: target(name, base_url=f"https://{name.region}.{name.environment}.example") for name in names})
    for name in names:
        scene.want(f"{name}/offers", "ONB10011", hooks("a"))
    overview = overview_of(scene)
    first, second = Contents(overview).matrices
    assert (8, 4) == (len(first.targets), len(second.targets))
    assert ("r0/staging", "r0/production", "r1/staging") == first.targets[:3]
    assert "Records of 12 targets; the oldest last entry is of 2026-11-20T13:30:00Z (10 hours ago)" in read(
        plan_page(overview)
    )


def test_evidence_resolves(scene: Scene) -> None:
    """Notifications of a create of unknown outcome are said, with the command."""
    lost = scene.lose("lost", "ONB10001", hooks("lost"))
    received = {"ONB10001": AT}
    scene._tell(EUROPE, Observed(at=AT, by=BY, address=address_of("lost"), url=hooks("lost"), received=received))
    assert Outcome.UNKNOWN is scene.attempt(lost).outcome
    text = read(plan_page(overview_of(scene, unusable={})))
    assert "its notifications arrive, so it exists; run: reconciler state resolve europe/staging/lost --created" in text
    assert "--not-created" not in text
