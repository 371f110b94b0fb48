"""The stories that the records of the corpus tell, each told by running the program against a scripted service."""

from __future__ import annotations

import json
import shutil
from hashlib import sha256
from typing import TYPE_CHECKING

from pyrage import x25519  # type: ignore[import-untyped]

from support.corpus import DAMAGES, NO_HOST, VARIABLES, homes
from support.project import Project

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from support.scripted_service import ScriptedService

    Wanted = Sequence[str] | tuple[Sequence[str], str]

EUROPE = "europe/staging"
USA = "usa/staging"
ACTIONS = {
    "GITHUB_ACTIONS": "true",
    "GITHUB_SERVER_URL": "https://github.example",
    "GITHUB_REPOSITORY": "partner/hooks",
    "GITHUB_RUN_ID": "1",
    "GITHUB_ACTOR": "operator",
    "GITHUB_SHA": "0" * 40,
}


class Story:
    """A project, a home and the service it works with."""

    def __init__(self, place: Path, service: ScriptedService) -> None:
        self.place = place
        self.home = place / "home"
        self.service = service
        self.project = Project(place / "project", {**VARIABLES, **homes(self.home)}, NO_HOST)
        self.step = self.project.step

    def want(self, wanted: Mapping[str, Mapping[str, Wanted]], **options: str) -> None:
        """Declare subscriptions, target -> name -> codes or (codes, the last part of the URL), and more of targets."""
        text = ["targets:"]
        for target in wanted:
            extra = options.get(target.replace("/", "_"), "")
            base = f"{self.service.root}/{target}"
            text += [f"  {target}:", f"    auth_url: {self.service.root}/login"]
            text += extra.splitlines()
            text += [] if "base_url" in extra else [f"    base_url: {base}"]
        text += ["subscriptions:"]
        for target, subscriptions in wanted.items():
            text += [f"  {target}:"] if subscriptions else []
            for name, some in subscriptions.items():
                codes, end = some if isinstance(some, tuple) else (some, name)
                url = f"https://hooks.partner.example/{target}/{end}"
                text += [f"    {name}:", f"      eventCodes: [{', '.join(codes)}]", f"      webhookUrl: {url}"]
        self.project.write("config/all.yaml", "\n".join(text) + "\n")

    def apply(self, *arguments: str, code: int = 0, **statuses: int) -> None:
        """Apply; `statuses` are what the service answers for some of the names, with _ for -."""
        self.service.statuses = {name.replace("_", "-"): status for name, status in statuses.items()}
        self.step("apply", "--auto-approve", "--parallelism", "1", *arguments, code=code)

    def journal(self, target: str) -> Path:
        return self.project.path / "state" / f"{target}.jsonl"

    def clone(self, name: str) -> Story:
        """The same on another machine."""
        other = Story(self.place / name, self.service)
        shutil.copytree(self.project.path, other.project.path, dirs_exist_ok=True)
        return other


def entries(story: Story) -> None:
    """Every kind of entry, with every field that one may have."""
    wanted: dict[str, Wanted] = {
        "before": ["ONB10001"], "by-hand": ["ONB10002"], "going": ["ONB10003"], "keeps": ["ONB10004", "LOA10013"],
        "leaving": ["ONB10005"], "lost": ["ONB10006"], "lost-too": ["ONB10007"], "refused": ["ONB10008"],
        "still-lost": ["ONB10009"], "told": ["ONB10010"],
    }  # fmt: skip
    here: dict[str, Wanted] = {"offers": ["ONB10011"]}
    story.project.seal()
    story.want({EUROPE: wanted, USA: here})
    story.step("state", "init")
    story.step("state", "import", f"{EUROPE}/by-hand")
    story.apply(code=3, lost=500, lost_too=0, refused=422, still_lost=503)
    story.step("state", "resolve", f"{EUROPE}/lost", "--created", "--note", "notifications arrived")
    story.step("state", "resolve", f"{EUROPE}/lost-too", "--not-created", "--force", "--note", "the operator says so")
    _removals(story, wanted, here)
    story.step("state", "mv", f"{EUROPE}/before", f"{EUROPE}/after")
    wanted["after"] = (["ONB10001"], "before")
    del wanted["before"]
    story.want({EUROPE: wanted, USA: here})
    story.step("secret", "set", f"{EUROPE}/told", stdin="not a secret")
    _observe(story)
    _rebind(story, wanted, here)
    _roll_back(story, wanted, here)
    _join(story, wanted, here)


def _removals(story: Story, wanted: dict[str, Wanted], here: dict[str, Wanted]) -> None:
    """A subscription that a plan retires and restores, and two that a person has removed."""
    story.want({EUROPE: {name: some for name, some in wanted.items() if name != "leaving"}, USA: here})
    story.apply("-t", f"{EUROPE}/leaving")
    story.want({EUROPE: wanted, USA: here})
    story.apply("-t", f"{EUROPE}/leaving")
    for arguments in (["retire"], ["retire", "--withdraw"], ["retire"], ["removed"]):
        story.step("state", *arguments, f"{EUROPE}/going")
    story.step("state", "removed", "--force", f"{EUROPE}/by-hand")
    del wanted["going"], wanted["by-hand"]


def _observe(story: Story) -> None:
    """Notifications that arrived, long ago: whether they count as silent must not depend on when a test runs."""
    url = f"https://hooks.partner.example/{EUROPE}/keeps"
    lines = [
        {"at": f"2025-01-0{day}T12:00:00Z", "url": url, "headers": {}, "body": json.dumps({"EventCode": code})}
        for day, code in ((1, "ONB10004"), (2, "LOA10013"), (3, "ONB10004"))
    ]
    story.project.write("notifications.jsonl", "".join(f"{json.dumps(line)}\n" for line in lines))
    story.step("state", "observe", "notifications.jsonl")
    lines[0] |= {"at": "2025-01-04T12:00:00Z"}
    story.project.write("notifications.jsonl", "".join(f"{json.dumps(line)}\n" for line in lines))


def _rebind(story: Story, wanted: dict[str, Wanted], here: dict[str, Wanted]) -> None:
    """Another account; another service, where the settings name no account; and the first account again."""
    environment = story.project.environment
    environment["RECONCILER_EUROPE_STAGING_CLIENT_ID"] = "another-client"
    story.step("state", "rebind", "-t", EUROPE, "--force")
    del environment["RECONCILER_EUROPE_STAGING_CLIENT_ID"]
    _want_moved(story, wanted, here)
    story.step("state", "rebind", "--force")
    environment.update(VARIABLES)
    story.step("state", "rebind", "--force")


def _want_moved(story: Story, wanted: dict[str, Wanted], here: dict[str, Wanted]) -> None:
    """Declare these, and that one of the services is at another address."""
    story.want({EUROPE: wanted, USA: here}, europe_staging=f"    base_url: {story.service.root}/europe/v2")


def _roll_back(story: Story, wanted: dict[str, Wanted], here: dict[str, Wanted]) -> None:
    """An older record that is accepted, and a new one in place of one that is lost."""
    older = story.journal(EUROPE).read_bytes()
    _want_moved(story, {**wanted, "lost-later": ["LOA10001"]}, here)
    story.apply("-t", f"{EUROPE}/lost-later")
    story.journal(EUROPE).write_bytes(older)
    story.step("state", "accept-rollback", "-t", EUROPE, "--force")
    story.journal(USA).unlink()
    story.step("state", "init", "-t", USA, code=1)
    story.step("state", "init", "-t", USA, "--force")


def _join(story: Story, wanted: dict[str, Wanted], here: dict[str, Wanted]) -> None:
    """Two histories, of which one is joined to the other; then the other goes on, and is not joined again."""
    other = story.clone("clone")
    _want_moved(other, {**wanted, "theirs": ["LOA10002"]}, here)
    other.apply("-t", f"{EUROPE}/theirs", "--accept-possible-duplicates", EUROPE)
    wanted["ours"] = ["LOA10003"]
    _want_moved(story, wanted, here)
    story.apply("-t", f"{EUROPE}/ours", "--accept-possible-duplicates", EUROPE)
    shutil.copy(other.journal(EUROPE), story.project.path / "theirs.jsonl")
    story.step("state", "recover", "theirs.jsonl")
    other.step("state", "retire", f"{EUROPE}/keeps")
    shutil.copy(other.journal(EUROPE), story.project.path / "theirs.jsonl")
    wanted |= {"theirs": ["LOA10002"], "by-hand": ["ONB10002"]}
    _want_moved(story, wanted, here)


def actions(story: Story) -> None:
    """Every action, and every reason to block one; a plan that was saved."""
    options = {"usa_staging": "    replace: wait", "asia_staging": "    base_url: http://127.0.0.1:9"}
    waits: dict[str, Wanted] = {"moves": ["ONB10003"], "keeps": ["ONB10001"]}
    wanted: dict[str, Wanted] = {
        "asked": ["LOA10013"], "back": ["ONB10004"], "gives": ["ONB10010", "ONB10014"], "grows": ["ONB10002"],
        "keeps": ["ONB10001"], "leaves": ["ONB10005"], "lost": ["ONB10007"], "moves": ["ONB10003"],
        "old-name": (["ONB10006"], "named"), "shrinks": ["ONB10008", "ONB10009"], "stays-away": ["LOA10001"],
    }  # fmt: skip
    asia: dict[str, Wanted] = {"nobody-there": ["ONB10001"]}
    story.want({EUROPE: wanted, USA: waits, "asia/staging": asia}, **options)
    story.step("state", "init")
    story.apply(code=3, lost=500)
    without = {name: some for name, some in wanted.items() if name not in ("back", "stays-away")}
    story.want({EUROPE: without, USA: waits, "asia/staging": asia}, **options)
    story.apply("-t", f"{EUROPE}/back", "-t", f"{EUROPE}/stays-away")
    story.step("state", "retire", f"{EUROPE}/asked")
    for name in ("leaves", "old-name", "stays-away"):
        del wanted[name]
    wanted |= {
        "gives": ["ONB10014"], "grows": ["ONB10012", "ONB10002"], "moves": (["ONB10003"], "moved"),
        "named": ["ONB10006"], "new": ["ONB10013"], "shrinks": ["ONB10008"], "takes": ["ONB10010"],
    }  # fmt: skip
    waits["moves"] = (["ONB10003"], "moved")
    story.want({EUROPE: wanted, USA: waits, "asia/staging": asia}, **options)
    story.step("plan", "-t", USA, "--out", "saved-plan.json")


def neighbours(story: Story) -> None:
    """Two targets that share a service, and the record of a third that is declared no more."""
    shared = f"    base_url: {story.service.root}/shared"
    options = {"europe_staging": shared, "europe_twin": f"{shared}\n    overlap: allow", "usa_staging": shared}
    gone: dict[str, Wanted] = {"left": ["ONB10003"]}
    story.want({EUROPE: {"gives": ["ONB10001"]}, "europe/twin": {"keeps": ["ONB10002"]}, USA: gone}, **options)
    story.step("state", "init")
    story.apply()
    story.want({EUROPE: {}, "europe/twin": {"keeps": ["ONB10002"], "takes": ["ONB10001"]}}, **options)
    url = "https://hooks.partner.example/europe/twin/takes"
    text = story.project.read("config/all.yaml").replace(url, f"https://hooks.partner.example/{EUROPE}/gives")
    text += "    left-over:\n      eventCodes: [ONB10003]\n      webhookUrl: https://hooks.partner.example/usa/staging/left\n"
    story.project.write("config/all.yaml", text)


def documents(story: Story) -> None:
    """A configuration of several files, with patterns, patches, templates and exceptions; a record of imports."""
    for region, environment in (("europe", "staging"), ("europe", "production"), ("usa", "production")):
        told = {
            "auth_url": f"https://login.{environment}.service.example",
            "base_url": f"https://api.{region}.{environment}.service.example",
            "audience_base": f"https://audience.{environment}.service.example",
        }
        body = "".join(f"    {name}: {value}\n" for name, value in told.items())
        body += f"    vars: {{hooks: 'https://hooks.{environment}.partner.example', brace: '{{{{x}}}}'}}\n"
        body += "    replace: wait\n    overlap: allow\n" if region == "usa" else ""
        place = "base/targets.yaml" if (region, environment) == ("europe", "staging") else f"{region}-{environment}.yml"
        story.project.write(f"config/{place}", f"targets:\n  {region}/{environment}:\n{body}")
    story.project.write("config/base/general.yaml", GENERAL)
    story.project.write("config/particular.yaml", PARTICULAR)
    story.project.write("config/parity.yaml", PARITY)
    story.step("state", "init")
    story.step("state", "import", "--all")
    story.project.write("config/later.yaml", LATER)


GENERAL = """\
subscriptions:
  "*/*":
    applications:
      eventCodes: [ONB10004, ONB10003, LOA10013, ONB10001]
      webhookUrl: "{hooks}/{region}/{name}"
    offers:
      eventCodes: [ONB10011]
      webhookUrl: "{hooks}/{region}/{environment}/offers?{{v}}=1"
  "*/production":
    payouts:
      eventCodes: [LOA10002]
      webhookUrl: HTTPS://Hooks.Partner.Example:443/payouts
"""
PARTICULAR = """\
subscriptions:
  "europe/*":
    applications:
      webhookUrl: "{hooks}/eu/applications"
  usa/production:
    applications:
      eventCodes: [ONB10001]
    offers: null
"""
PARITY = """\
parity:
  ignore:
    - {address: usa/production/applications, reason: the USA have codes of their own}
    - {address: europe/production/payouts, reason: there are none in staging}
    - {address: never, reason: nothing needs this one}
verification: {header: X-Signature, algorithm: hmac-sha256, encoding: hex, prefix: "sha256="}
"""
LATER = """\
subscriptions:
  europe/production:
    archive:
      eventCodes: [ONB10012]
      webhookUrl: "{hooks}/archive"
"""


def private(story: Story) -> None:
    """Responses in private files, and entries by a run of Actions."""
    story.project.environment.update(ACTIONS)
    story.want({EUROPE: {"offers": ["ONB10011"], "told": ["ONB10012"]}})
    story.step("state", "init")
    story.apply("--unsealed")
    story.step("secret", "set", f"{EUROPE}/told", stdin="not a secret")


def kept(story: Story) -> None:
    """A create whose outcome could not be appended, because the journal was damaged meanwhile."""
    target = "europe/kept"
    story.want({target: {"offers": ["ONB10011"]}})
    story.step("state", "init")

    def damage() -> None:
        whole.append(story.journal(target).read_bytes())
        story.journal(target).write_bytes(whole[0] + b"{}\n")

    whole: list[bytes] = []
    story.service.before_answer = damage
    story.apply(code=3)
    story.service.before_answer = lambda: None
    story.journal(target).write_bytes(whole[0])
    (file,) = (story.home / "data/reconciler/unrecorded").iterdir()
    shutil.copy(file, story.project.path / "kept.jsonl")


def lost(story: Story) -> None:
    """Records that are older than what was seen, missing, another one, or torn."""
    names = ("missing", "older", "replaced", "torn", "whole")
    first: dict[str, Wanted] = {"first": ["ONB10001"]}
    story.want({f"lost/{name}": first for name in names})
    story.step("state", "init")
    before = story.journal("lost/older").read_bytes()
    story.step("state", "import", "--all")
    shutil.copy(story.journal("lost/older"), story.project.path / "newer.jsonl")
    story.journal("lost/older").write_bytes(before)
    for name in ("missing", "replaced"):
        story.journal(f"lost/{name}").unlink()
    other = story.clone("other")  # where nobody has seen the record that is lost
    other.step("state", "init", "-t", "lost/replaced")
    shutil.copy(other.journal("lost/replaced"), story.journal("lost/replaced"))
    line = story.journal("lost/torn").read_bytes().splitlines()[-1]
    with story.journal("lost/torn").open("ab") as file:
        file.write(line[: len(line) // 2])
    for heads in story.home.rglob("heads/*.json"):  # one as earlier versions wrote it
        seen = json.loads(heads.read_text(encoding="utf-8"))
        if seen["target"] == "lost/whole":
            del seen["resolved"], seen["base_url"], seen["places"]
            heads.write_text(json.dumps(seen), encoding="utf-8")
    story.want({f"lost/{name}": {**first, "second": ["ONB10002"]} for name in (*names, "never")})


def copied(story: Story) -> None:
    """A record that was copied to another store, and one that was copied twice and opened again."""
    offers: dict[str, Wanted] = {"offers": ["ONB10011"]}
    story.want({EUROPE: offers, USA: offers})
    story.step("state", "init")
    story.apply()
    for place, target in (("new", USA), ("first", EUROPE), ("second", EUROPE), ("state", EUROPE)):
        cache = str(story.place / f"cache for {place}")  # each on a machine that does not know of the others
        story.step("state", "copy", "state", place, "-t", target, "--force", "--cache-dir", cache)


def resealed(story: Story) -> None:
    """Responses and a secret that were encrypted to a second key, and then some to a third that replaced the first."""
    story.project.seal()
    story.want({EUROPE: {"offers": ["ONB10011"], "told": ["ONB10012"]}})
    story.step("state", "init")
    story.apply()
    story.step("secret", "set", f"{EUROPE}/told", stdin="not a secret")
    public = {}
    for name in ("other", "third"):
        identity = x25519.Identity.generate()
        story.project.write(f"{name}.txt", f"{identity}\n")
        public[name] = str(identity.to_public())
    story.step("secret", "reseal", "--identity", "key.txt", "--to", public["other"])
    story.project.write("config/recipients.yaml", f"recipients: [{public['third']}]\n")
    story.step("secret", "reseal", "--identity", "other.txt", "-t", f"{EUROPE}/told")


def damaged(story: Story) -> None:
    """Records that are damaged, each in another way."""
    three: dict[str, Wanted] = {f"s{number}": [f"ONB1000{number}"] for number in range(3)}
    story.want({f"damaged/{name}": three for name in (*DAMAGES, "whole")})
    story.step("state", "init")
    story.step("state", "import", "--all")
    for name in DAMAGES:
        journal = story.journal(f"damaged/{name}")
        whole = story.journal("damaged/whole").read_bytes()
        journal.write_bytes(_damaged(name, journal.read_bytes().splitlines(keepends=True), whole))
    shutil.rmtree(story.home / "cache")


def _damaged(name: str, lines: list[bytes], other: bytes) -> bytes:
    first, second, third, last = lines
    ways: dict[str, Callable[[], list[bytes]]] = {
        "conflict": lambda: [first, second, b"<<<<<<< ours\n", third, b"=======\n", last, b">>>>>>> theirs\n"],
        "crlf": lambda: [line.replace(b"\n", b"\r\n") for line in lines],
        "edited": lambda: [first, second, third.replace(b"ONB1000", b"ONB1001"), last],
        "empty": list,
        "foreign": lambda: [other],
        "format": lambda: [_rehashed(first, b'"format":1', b'"format":2')],
        "headless": lambda: lines[1:],
        "joined": lambda: [*lines, other],
        "kind": lambda: [first, _rehashed(second, b'"kind":"imported"', b'"kind":"tomorrow"')],
        "meaningless": lambda: [first, second, _rehashed(third, *_same_attempt(second, third)), last],
        "missing": lambda: [first, third, last],
        "nul": lambda: [first, second, b"\0" * 64 + b"\n", last],
        "repeated": lambda: [first, second, second, third, last],
        "swapped": lambda: [first, third, second, last],
    }
    return b"".join(ways[name]())


def _same_attempt(second: bytes, third: bytes) -> tuple[bytes, bytes]:
    """The attempt of the third line, and that of the second."""
    return json.loads(third)["attempt"].encode(), json.loads(second)["attempt"].encode()


def _rehashed(line: bytes, old: bytes, new: bytes) -> bytes:
    """A line with something else in it, and a hash that is right."""
    body = line.rpartition(b',"hash":')[0].replace(old, new)
    return body + f',"hash":"{sha256(body).hexdigest()}"}}\n'.encode()


STORIES: Mapping[str, Callable[[Story], None]] = {
    told.__name__: told
    for told in (entries, actions, neighbours, documents, private, kept, lost, copied, resealed, damaged)
}
