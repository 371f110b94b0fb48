"""The scenarios of the corpus: how one is opened, which commands run in it, and what of their results is compared."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from support.project import Project

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

HERE = Path(__file__).parents[1] / "corpus"
OUT = "out.json"
EXPECTED = "expected.txt"
PROJECT_PLACE = "@PROJECT@"
"""What stands in remembered heads for the directory that the record was seen in."""

SENTENCES = {
    "reasons": "why a change is planned, in words",
    "warnings": "what to know before a change is made, in words",
    "suggestion": "what to do about an unknown outcome, in words",
    "text": "the request to the operator, a letter",
    "detail": "what came of a call, in words",
    "tool_version": "every release has another",
}
"""The JSON members that are not compared, and why; whether they are empty is."""

ADDED_TO_PLANS = ("recipients",)
ADDED_TO_TARGETS = ("base_url", "auth_url", "audience_base")
"""The members that plans, and their targets, have gained since: they must be there; all the others are compared."""

VARIABLES = {
    "LOGNAME": "operator",
    **{
        f"RECONCILER_{target}_{name}": value
        for target in ("EUROPE_STAGING", "USA_STAGING", "ASIA_STAGING", "EUROPE_TWIN", "EUROPE_KEPT")
        for name, value in {"CLIENT_ID": "client", "CLIENT_SECRET": "not-a-secret"}.items()
    },
}
NO_HOST = 'import platform; platform.node = lambda: "laptop"'
"""Run before each command, so that a journal does not name the machine it was written on."""

_PLACE_IN_CONFIG = re.compile(r"[\w./-]+\.ya?ml:\d+:\d+")
_PLACE_IN_RECORD = re.compile(r"state/[\w/-]+\.jsonl:\d+")


@dataclass(frozen=True)
class Command:
    """A command of the program. What it prints on stdout is compared where it is `no_message`."""

    line: str
    no_message: bool = False
    stdin: str = ""


def document(line: str) -> Command:
    """A command that prints a document, or the bytes of a response, and nothing for people."""
    return Command(line, no_message=True)


def reading(*others: Command) -> tuple[Command, ...]:
    """The commands that read everything, then `others`, which may append to the record."""
    return (
        Command("validate"),
        Command("state verify"),
        document("plan --format json --detailed-exitcode --out out.json"),
        document("status --format json --detailed-exitcode"),
        document("state list --format json"),
        *others,
    )


DAMAGES = (
    "conflict", "crlf", "edited", "empty", "foreign", "format", "headless", "joined", "kind", "meaningless", "missing",
    "nul", "repeated", "swapped",
)  # fmt: skip

COMMANDS: Mapping[str, tuple[Command, ...]] = {
    "entries": reading(
        document("plan -t europe/staging --format json"),
        document("parity europe/staging usa/staging --format json"),
        document("parity europe/staging usa/staging --gate --format json"),
        document("secret show europe/staging/keeps --identity key.txt"),
        document("secret show europe/staging/told --identity key.txt"),
        Command("state mv europe/staging/after europe/staging/later"),
        Command("state resolve europe/staging/still-lost --created --note found"),
        Command("state retire europe/staging/told"),
        Command("state removed europe/staging/told"),
        Command("state import --all"),
        Command("secret set europe/staging/keeps", stdin="not a secret"),
        Command("state observe notifications.jsonl"),
        Command("state recover theirs.jsonl"),
    ),
    "actions": reading(
        document("plan -t europe/staging --format json --detailed-exitcode"),
        document("plan -t usa/staging --format json --detailed-exitcode"),
        document("plan -t europe/staging/back -t 'europe/staging/l*' --format json --detailed-exitcode"),
        Command("plan -t europe/staging/none --format json"),
        document("parity europe/staging usa/staging --format json"),
        document("parity usa/staging europe/staging --gate --format json"),
        Command("apply -t europe/staging --expect-digest sha256:0"),
        Command("apply --auto-approve --max-creates 0"),
        document("apply saved-plan.json --format json"),
        Command("apply saved-plan.json --format json"),
        document("apply -t europe/staging/back -t europe/staging/leaves --auto-approve --format json"),
        Command("apply -t europe/staging/lost --auto-approve"),
    ),
    "neighbours": reading(
        document("plan -t europe/twin --format json --detailed-exitcode"),
        document("parity europe/staging europe/twin --format json"),
        document("plan --allow-empty --format json --detailed-exitcode"),
        Command("state import europe/twin/takes"),
    ),
    "documents": reading(
        Command("plan --config config/base/targets.yaml --format json"),
        document("plan -t '*/production' --format json --detailed-exitcode"),
        document("parity europe/staging europe/production --format json"),
        document("parity europe/production usa/production --format json"),
        document("parity europe/staging europe/production --gate --format json"),
        Command("parity europe/staging asia/staging --format json"),
    ),
    "private": reading(
        document("secret show europe/staging/offers"),
        document("secret show europe/staging/offers --field subscriptionId"),
        document("secret show europe/staging/told"),
        Command("secret show europe/staging/none"),
    ),
    "kept": reading(
        Command("state resolve europe/kept/offers --not-created --force"),
        Command("state recover kept.jsonl"),
        Command("state recover kept.jsonl"),
        document("plan --format json --detailed-exitcode"),
        document("state list --format json"),
        document("secret show europe/kept/offers"),
    ),
    "copied": reading(
        document("plan -t europe/staging --format json --detailed-exitcode"),
        document("plan --state new -t usa/staging --format json --detailed-exitcode"),
        document("plan --state first -t europe/staging --format json --detailed-exitcode"),
        Command("state retire usa/staging/offers"),
        Command("state copy state new -t usa/staging"),
        Command("state copy state third -t usa/staging"),
        Command("state copy state first -t europe/staging"),
        Command("state retire --state new usa/staging/offers"),
        Command("state retire europe/staging/offers"),
    ),
    "resealed": reading(
        document("secret show europe/staging/offers --identity other.txt"),
        document("secret show europe/staging/offers --identity key.txt"),
        document("secret show europe/staging/told --identity third.txt"),
        document("secret show europe/staging/told --identity other.txt"),
        Command("secret reseal --identity key.txt"),
        Command("secret reseal --identity other.txt -t europe/staging/told"),
    ),
    "lost": reading(
        *(
            document(f"plan -t lost/{name} --format json --detailed-exitcode")
            for name in ("missing", "never", "older", "replaced", "torn", "whole")
        ),
        Command("state init -t lost/missing"),
        Command("state recover newer.jsonl"),
        Command("plan -t lost/older --format json --detailed-exitcode"),
        Command("state accept-rollback -t lost/replaced --force"),
        Command("plan -t lost/replaced --format json --detailed-exitcode"),
        Command("state import lost/torn/second"),
        Command("state list --format json"),
    ),
    "damaged": (
        Command("state verify"),
        document("status --format json --detailed-exitcode"),
        document("state list --format json"),
        *(Command(f"plan -t damaged/{name}") for name in DAMAGES),
        document("plan -t damaged/whole --format json --detailed-exitcode"),
    ),
    "invalid": (
        *(
            Command(f"validate --config {name}")
            for name in ("config/merging", "config/sections", "config/subscriptions", "config/targets", "config/none")
        ),
        Command("plan --config config/sections"),
        Command("status --config config/merging"),
    ),
}


def open_scenario(scenario: Path, place: Path) -> Project:
    """A copy of a scenario below `place`, as a user has it: a project, and a home with a cache and private files."""
    home = place / "home"
    project = Project(place / "project", {**VARIABLES, **homes(home)}, NO_HOST)
    shutil.copytree(scenario, project.path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("home", EXPECTED))
    if (scenario / "home").exists():
        shutil.copytree(scenario / "home", home)
        for path in home.rglob("*"):
            path.chmod(0o700 if path.is_dir() else 0o600)
    for heads in home.rglob("heads/*.json"):
        text = heads.read_text(encoding="utf-8")
        heads.write_text(text.replace(PROJECT_PLACE, str(project.path)), encoding="utf-8")
    return project


def homes(home: Path) -> dict[str, str]:
    """The variables that name a home's cache and data directory."""
    return {"XDG_CACHE_HOME": str(home / "cache"), "XDG_DATA_HOME": str(home / "data")}


def transcript(scenario: str, project: Project) -> str:
    """Run the commands of a scenario: what each comes to, without its messages."""
    return "\n".join("\n".join(_told(command, project)) for command in COMMANDS[scenario])


def _told(command: Command, project: Project) -> Iterator[str]:
    """The lines of the transcript about one command, after it has run."""
    before = journals(project)
    done = project.step(*shlex.split(command.line), code=None, stdin=command.stdin)
    yield f"$ {command.line}"
    yield f"exit code {done.code}"
    yield from (found[0] for line in done.err.splitlines() if (found := _PLACE_IN_CONFIG.search(line)))
    yield from dict.fromkeys(found for line in done.err.splitlines() for found in _PLACE_IN_RECORD.findall(line)[:1])
    for target, data in journals(project).items():
        if data != (old := before.get(target, b"")):
            whole = old[: old.rfind(b"\n") + 1]  # what is torn is cut off
            assert data.startswith(whole)
            yield from (f"{target} + {shape(line)}" for line in data.removeprefix(whole).splitlines())
    out_file = project.path / OUT
    if out_file.exists():
        yield f"{OUT} is {'what it prints' if out_file.read_text(encoding='utf-8') == done.out else 'something else'}"
        out_file.unlink()
    if command.no_message:
        yield comparable(done.out)


def journals(project: Project) -> dict[str, bytes]:
    """The journals of a project, by target."""
    state = project.path / "state"
    return {str(path.relative_to(state).with_suffix("")): path.read_bytes() for path in sorted(state.rglob("*.jsonl"))}


def comparable(out: str) -> str:
    """What a command printed without what is not compared of it; a JSON document must be written as all are."""
    if not out.startswith(("{\n", "[\n")):
        return out
    printed = json.loads(out)
    assert rendered(printed) == out
    return rendered(_blanked(_without_added(printed)))


def _without_added(printed: Any) -> Any:
    if not (isinstance(printed, dict) and {"digest", "changes"} <= printed.keys()):
        return printed
    for name in ADDED_TO_PLANS:
        del printed[name]
    for target in printed["targets"].values():
        for name in ADDED_TO_TARGETS:
            del target[name]
    return printed


def rendered(printed: object) -> str:
    """A JSON document as the program writes it."""
    return json.dumps(printed, indent=2) + "\n"


def shapes(project: Project) -> dict[str, list[str]]:
    """The shapes of the lines of all journals, by target; of the heads that are remembered, and of what is kept."""
    home = Path(project.environment["XDG_CACHE_HOME"]).parent
    found = {target: [shape(line) for line in data.splitlines()] for target, data in journals(project).items()}
    for pattern in ("heads/*.json", "unrecorded/*.jsonl"):
        lines = [line for path in home.rglob(pattern) for line in path.read_text(encoding="utf-8").splitlines()]
        found[pattern] = sorted(_members(json.loads(line)) for line in lines)
    return found


def shape(line: bytes) -> str:
    """The members of a journal line in their order, each with its type; the line must be written as all are."""
    entry = json.loads(line)
    assert json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode() == line
    return f"{entry['kind']} {_members(entry)}"


def _members(value: object) -> str:
    if isinstance(value, dict):
        return "{" + " ".join(f"{name}:{_members(one)}" for name, one in value.items()) + "}"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[" + " ".join(map(_members, value)) + "]"
    return type(value).__name__


def _blanked(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: "…" if name in SENTENCES and one else _blanked(one) for name, one in value.items()}
    return [_blanked(one) for one in value] if isinstance(value, list) else value
