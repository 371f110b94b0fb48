"""A secret that was pasted into `config/` by mistake: an error that names the place, and nothing that shows it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from pyrage import x25519  # type: ignore[import-untyped]

from reconciler.operations.variables import SECRETS
from reconciler.state.stores.objects.places import SCHEMES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from support.project import Project

SECRET = "Zk3v+Qw8/r'T5uX2yB9nM4cL"
PLAIN = "zk3vqw8rt5ux2yb9nm4cl7pd0s"
NAME = "RECONCILER_EUROPE_STAGING_CLIENT_SECRET"
VALUE = f"the value of {NAME}"
AGE_KEY = str(x25519.Identity.generate())
PEM = "-----BEGIN PRIVATE KEY-----\n" + f"{'MIGHAgEAMBMGByqGSM49' * 3}abcd\n" * 3 + "-----END PRIVATE KEY-----\n"
TOKEN = f"eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ{PLAIN}.c2lnbmF0dXJl{PLAIN}"

URL = "https://hooks.partner.example"
PLACES = {
    "a comment": "# {}\n",
    "a comment behind a value": "recipients: [] # {}\n",
    "a code": 'subscriptions: {{"*/*": {{others: {{eventCodes: ["{}"], webhookUrl: https://h.example/}}}}}}\n',
    "a key": '"{}": x\n',
    "a key twice": '"{0}": x\n"{0}": y\n',
    "a name": 'subscriptions: {{"*/*": {{"{}": {{eventCodes: [ONB10001], webhookUrl: https://h.example/}}}}}}\n',
    "a pattern": 'subscriptions: {{"{}": {{}}}}\n',
    "a field": 'subscriptions: {{"*/*": {{others: {{"{}": x}}}}}}\n',
    "a URL": 'subscriptions: {{"*/*": {{others: {{eventCodes: [ONB10001], webhookUrl: "{}"}}}}}}\n',
    "a path": 'subscriptions: {{"*/*": {{others: {{eventCodes: [ONB10001], webhookUrl: "https://h.example/{}/x"}}}}}}\n',
    "a target": 'targets: {{"europe/{}": {{auth_url: https://l.example, base_url: https://b.example}}}}\n',
    "an address": 'targets: {{usa/staging: {{auth_url: "{}", base_url: https://b.example}}}}\n',
    "a variable": 'targets: {{usa/staging: {{vars: {{hooks: "{}"}}}}}}\n',
    "a password": 'targets: {{usa/staging: {{client_secret: "{}"}}}}\n',
    "a recipient": 'recipients: ["{}"]\n',
    "a header": 'verification: {{header: "{}", algorithm: hmac-sha256}}\n',
    "an exception": 'parity: {{ignore: [{{address: "{}", reason: x}}]}}\n',
    "a broken file": 'targets: {{"{}": [\n',
}
COMMANDS = ("validate", "validate --format github", "validate --format json", "plan", "plan -vv", "status", "doctor")


def declare(project: Project) -> None:
    """A project whose record is initialized."""
    project.declare({"offers": (["ONB10011"], URL)})
    project.step("state", "init")


def said(project: Project, *commands: str) -> str:
    """All that these commands print, each of which fails or warns."""
    done = [project.step(*line.split(), code=None) for line in commands]
    return "".join(one.out + one.err for one in done)


def write_everywhere(project: Project, secret: str, places: Iterable[str], before: str = "") -> dict[str, int]:
    """Write a file for each place, with the secret there; the files, and the column it is in."""
    columns = {}
    for number, place in enumerate(places):
        text = PLACES[place].format(secret)
        columns[f"config/pasted-{number}.yaml"] = text.index(secret) + 1
        project.write(f"config/pasted-{number}.yaml", before + text)
    return columns


@pytest.mark.parametrize("secret", [SECRET, PLAIN], ids=["with signs", "plain"])
def test_the_value_of_a_variable_is_not_shown(project: Project, secret: str) -> None:
    """Wherever it is pasted, the mistake names the variable, file and line; and no part of it is printed."""
    declare(project)
    project.environment[NAME] = secret
    columns = write_everywhere(project, secret, PLACES, before="# two\n# lines\n")
    text = said(project, *COMMANDS)
    words = " ".join(text.split())
    for file, column in columns.items():
        assert f"{file}:3:{column}: the file contains {VALUE}; remove it, and replace the secret" in words
    assert secret[:8] not in text
    assert secret[-8:] not in text


@pytest.mark.parametrize("place", PLACES)
def test_a_secret_alone_is_not_shown(project: Project, place: str) -> None:
    """Nor where there is no other mistake to report."""
    declare(project)
    project.environment[NAME] = SECRET
    write_everywhere(project, SECRET, [place])
    text = said(project, "plan -vv")
    assert f"the file contains {VALUE}; remove it" in " ".join(text.split())
    assert SECRET[:8] not in text
    assert SECRET[-8:] not in text


@pytest.mark.parametrize(
    ("secret", "what"),
    [(AGE_KEY, "an age secret key"), (AGE_KEY.lower(), "an age secret key"), (TOKEN, "an access token")],
    ids=["age", "age in lower case", "token"],
)
def test_what_looks_like_a_secret_is_not_shown(project: Project, secret: str, what: str) -> None:
    """It needs no variable."""
    declare(project)
    files = write_everywhere(project, secret, [place for place in PLACES if place != "a path"])
    text = said(project, *COMMANDS)
    words = " ".join(text.split())
    for file in files:
        assert re.search(rf"{file}:1:\d+: the file contains {what}; remove it", words), file
    assert secret[20:40] not in text


@pytest.mark.parametrize(
    "text",
    [PEM, f"key: |\n  {PEM.replace(chr(10), chr(10) + '  ')}\n", f'key: "{PEM!r}"\n', PEM.rpartition("-----E")[0]],
)
def test_a_private_key_is_not_shown(project: Project, text: str) -> None:
    """Over several lines, in a block, on one line, and where its end is missing."""
    declare(project)
    project.write("config/pasted.yaml", f"# mine\n{text}")
    text = said(project, *COMMANDS)
    assert "the file contains a private key; remove it" in " ".join(text.split())
    assert "config/pasted.yaml:2:" in text
    assert "MIGHAgEAMBMG" not in text


FORMS = {
    "in a URL": quote(SECRET, safe=""),
    "in a path": quote(SECRET),
    "in small letters": re.sub("%..", lambda found: found[0].lower(), quote(SECRET, safe="")),
    "quoted": SECRET.replace("'", "''"),
    "as JSON": SECRET.replace("/", "\\/"),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_secret_is_found_as_it_is_written(project: Project, form: str) -> None:
    """As percent escapes in a URL, of whichever signs, with the quotes that YAML doubles, and as JSON escapes it."""
    declare(project)
    project.environment[NAME] = SECRET
    project.write("config/pasted.yaml", f"unknown: 'https://h.example/?{form}'\n")
    column = f"unknown: 'https://h.example/?{form}'".index(form) + 1
    text = said(project, *COMMANDS)
    assert f"config/pasted.yaml:1:{column}: the file contains {VALUE}" in text
    assert "T5uX2yB9nM4cL" not in text


@pytest.mark.parametrize("name", ["{}.yaml", "{}/all.yaml", "notes-{}.txt"])
def test_names_of_files_are_not_shown(project: Project, name: str) -> None:
    """Nor those of directories, and of files that are not read."""
    declare(project)
    project.environment[NAME] = PLAIN
    project.write(f"config/{name.format(PLAIN)}", "targets: {a/b: x}\n")
    text = said(project, *COMMANDS)
    assert f"the name of this file or directory contains {VALUE}; rename it" in " ".join(text.split())
    assert PLAIN[:8] not in text


@pytest.mark.parametrize("source", ["the environment", "a directory", ".env"])
def test_every_source_counts(project: Project, source: str) -> None:
    """A secret is known from wherever variables come, even where another source comes first."""
    declare(project)
    project.environment.pop("CI", None)
    match source:
        case "the environment":
            project.environment[NAME] = PLAIN
        case "a directory":
            project.write(f"secrets/{NAME}", f"{PLAIN}\n")
            project.environment |= {"RECONCILER_SECRETS_DIR": "secrets", NAME: "An0ther-secret"}
        case _:
            project.write(".env", f"{NAME}={PLAIN}\n")
            project.environment |= {"CI": "", NAME: "An0ther-secret"}
    project.write("config/pasted.yaml", f"# {PLAIN}\n")
    assert f"config/pasted.yaml:1:3: the file contains {VALUE}; " in project.step("validate", code=1).err


def test_what_any_text_may_contain_is_no_secret(project: Project) -> None:
    """Short secrets and plain words cover nothing; nor does one that cannot be read stop anything."""
    declare(project)
    for number, value in enumerate(("staging", "", "europe", "production", "a-partner", "\udcff" * 9)):
        project.environment[f"RECONCILER_R{number}_STAGING_CLIENT_SECRET"] = value
    project.environment["RECONCILER_SECRETS_DIR"] = "secrets"
    (project.path / "secrets" / NAME).mkdir(parents=True)
    project.write("config/pasted.yaml", "# a-partner's europe/production\nsubscriptions: {}\n# eyJ AGE-SECRET-KEY-1…\n")
    assert "https://hooks.partner.example" in project.step("plan").out


def test_other_mistakes_are_still_reported(project: Project) -> None:
    """A secret keeps no other mistake from being found, at its right place."""
    declare(project)
    project.environment[NAME] = SECRET
    codes = f'["{SECRET}", ONB1]'
    project.write(
        "config/pasted.yaml", f'subscriptions: {{"*/*": {{others: {{eventCodes: {codes}, webhookUrl: x}}}}}}\n'
    )
    found = project.step("validate", "--format", "json", code=1).document["mistakes"]
    start = len('subscriptions: {"*/*": {others: {eventCodes: ["')
    columns = [start + 1, start + 1 + len(f'{SECRET}", '), start + 1 + len(f'{SECRET}", ONB1], webhookUrl: ')]
    assert columns == [mistake["column"] for mistake in found]


OPAQUE = ("hJ8xQ2mV5rT9wL3nK7pD4sF6gB1cZ0yA8eU2iO5tR3k=", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b")
NAMING = ("a code", "a key", "a field", "a pattern", "a header", "a recipient", "a URL", "a path", "an exception")


@pytest.mark.parametrize("secret", OPAQUE)
def test_what_looks_random_is_not_repeated(project: Project, secret: str) -> None:
    """What nothing tells to be a secret may be one, where something else is expected."""
    declare(project)
    for number, place in enumerate(NAMING):
        project.write(f"config/{number}.yaml", PLACES[place].format(f"{secret}!"))
    text = said(project, "validate", "validate --format github", "validate --format json")
    assert "characters that may be a secret" in text
    assert secret[:12] not in text


def test_names_are_repeated(project: Project) -> None:
    """However long, a name is no secret."""
    declare(project)
    names = [
        "EuropeStagingApplications2024Renewals",
        "europe_staging_applications_2024_01",
        "ONB10011-ONB10012-ONB10013",
    ]
    project.write("config/more.yaml", "".join(f"{name}: x\n" for name in names))
    text = project.step("validate", code=1).err
    assert all(f"unknown key {name!r}" in " ".join(text.split()) for name in names)


def test_a_url_may_contain_a_token(project: Project) -> None:
    """An endpoint may ask for one: that is what was declared."""
    declare(project)
    project.declare({"offers": (["ONB10011"], f"{URL}/{TOKEN}?t={TOKEN}")})
    project.step("validate")


def test_every_secret_of_a_store_is_known() -> None:
    """The variables of object stores whose names say that they hold a secret."""
    names = {name for scheme in SCHEMES.values() for name in scheme.variables}
    hidden = ("SECRET", "_KEY", "TOKEN")
    others = ("_FILE", "_URI", "_ID", "_ENABLED", "_SERVICE_ACCOUNT_KEY")
    assert {name for name in names if any(word in name for word in hidden) and not name.endswith(others)} <= SECRETS
