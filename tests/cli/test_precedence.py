"""Where settings come from, and which place wins: flag, environment, secrets directory, `.env`, `config/`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from support.project import Project

BASE_URL = "RECONCILER_EUROPE_STAGING_BASE_URL"


def url_in_use(project: Project, state: str) -> str:
    """The base URL that a new record is begun for."""
    return project.step("state", "init", "--force", "--state", state).out.rpartition(" ")[2].strip()


def test_places(project: Project) -> None:
    """Each place gives way to the one before; what is empty is unset."""
    project.declare({}, base_url="https://config.example")
    assert "https://config.example" == url_in_use(project, "1")
    project.write(".env", f"{BASE_URL}=https://dotenv.example\n")
    assert "https://dotenv.example" == url_in_use(project, "2")
    project.write(f"secrets/{BASE_URL}", "https://secrets.example\n")
    project.environment["RECONCILER_SECRETS_DIR"] = "secrets"
    assert "https://secrets.example" == url_in_use(project, "3")
    project.environment[BASE_URL] = "https://environment.example"
    assert "https://environment.example" == url_in_use(project, "4")
    project.environment[BASE_URL] = ""
    assert "https://secrets.example" == url_in_use(project, "5")
    del project.environment["RECONCILER_SECRETS_DIR"]
    project.environment["CI"] = "true"
    assert "https://config.example" == url_in_use(project, "6")


@pytest.mark.parametrize(
    ("flag", "variable"), [("--state", "RECONCILER_STATE"), ("--cache-dir", "RECONCILER_CACHE_DIR")]
)
def test_a_flag_wins_before_and_after_the_command(project: Project, flag: str, variable: str) -> None:
    """And the one after wins over the one before."""
    project.declare({}, base_url="http://127.0.0.1:1")  # a sandbox's records may be anywhere
    project.environment[variable] = "from-environment"
    project.write(".env", f"{variable}=from-dotenv\n")
    for arguments, place in (
        (["state", "init"], "from-environment"),
        ([flag, "before", "state", "init"], "before"),
        (["state", flag, "between", "init"], "between"),
        ([flag, "x", "state", flag, "x", "init", flag, "after"], "after"),
    ):
        assert not (project.path / place).exists()
        if flag == "--cache-dir":
            arguments += ["--state", f"state-{place}"]
        project.step(*arguments)
        assert (project.path / place).is_dir()
    project.environment[variable] = ""
    project.step("state", "init", *(["--state", "another"] if flag == "--cache-dir" else []))
    assert (project.path / "from-dotenv").is_dir()


def test_config_may_be_elsewhere_or_a_single_file(project: Project) -> None:
    """By flag or variable, a directory or a file."""
    project.declare({"offers": (["ONB10011"], "https://hooks.partner.example/offers")})
    (project.path / "config").rename(project.path / "wanted")
    said = "The configuration is valid: 1 subscription on 1 target.\n"
    assert said == project.step("validate", "--config", "wanted").out
    assert said == project.step("--config", "wanted/all.yaml", "validate").out
    project.environment["RECONCILER_CONFIG"] = "wanted"
    assert said == project.step("validate").out


def test_timeout_and_parallelism_from_variables(project: Project) -> None:
    """They are checked wherever they come from."""
    project.declare({})
    project.step("state", "init")
    project.environment |= {"RECONCILER_TIMEOUT": "2.5", "RECONCILER_PARALLELISM": "8"}
    project.step("apply")
    project.environment["RECONCILER_PARALLELISM"] = "many"
    project.step("apply", code=1)
    project.step("apply", "--parallelism", "64")


@pytest.mark.parametrize(
    ("environment", "flag", "coloured"),
    [
        ({}, [], False),
        ({"FORCE_COLOR": "1"}, [], True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, [], False),
        ({"FORCE_COLOR": "1"}, ["--color", "never"], False),
        ({"NO_COLOR": "1"}, ["--color", "always"], True),
        ({}, ["--color", "auto"], False),
    ],
)
def test_colour(project: Project, environment: dict[str, str], flag: list[str], coloured: bool) -> None:
    """The flag, then NO_COLOR, then FORCE_COLOR, then whether a terminal is there; a document has none."""
    project.declare({"offers": (["ONB10011"], "https://hooks.partner.example/offers")})
    project.step("state", "init")
    project.environment |= environment
    assert coloured == ("\x1b[" in project.step("plan", *flag).out)


def test_a_home_that_is_not_there(project: Project) -> None:
    """Without HOME the user's own is taken; with a cache directory given none is needed."""
    project.declare({})
    project.environment |= {"XDG_CACHE_HOME": "relative", "HOME": str(project.path / "home")}
    project.step("state", "init")
    assert (project.path / "home" / ".cache" / "reconciler" / "heads").is_dir()


# A user without an entry in the password file, as in many containers.
NOBODY = """
import pwd

def find(uid):
    raise KeyError(uid)

pwd.getpwuid = find
"""


def test_nobody_in_particular(project: Project) -> None:
    """Without a home a cache directory has to be named; without a name the number of the user stands in the record."""
    project.declare({})
    folder = project.write("hooks/sitecustomize.py", NOBODY).parent
    unset = " ".join(f"-u {name}" for name in ("HOME", "XDG_CACHE_HOME", "LOGNAME", "USER", "LNAME", "USERNAME"))
    bare = f"exec env {unset} PYTHONPATH={folder}"
    done = project.shell(f"{bare} $reconciler state init")
    assert (1, "") == (done.code, done.out)
    assert "Error: XDG_CACHE_HOME: no home directory found; set HOME or XDG_CACHE_HOME" in done.err
    assert 0 == project.shell(f"{bare} $reconciler state init --cache-dir cache").code
    assert '"user":"uid ' in project.read("state/europe/staging.jsonl")
