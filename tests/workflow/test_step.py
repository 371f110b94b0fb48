"""The step that runs the program: which variables it is given, what is shown of it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import job
import pytest
import stage


@pytest.fixture
def step(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Return a function that runs a command with secrets and variables; it returns what the program was given."""

    def go(command: str, secrets: dict[str, str], variables: dict[str, str], text: str = "done\n") -> dict[str, Any]:
        seen: dict[str, Any] = {}

        def program(*words: str, stdin: str = "") -> tuple[int, str]:
            seen.update(words=words, stdin=stdin, environment=dict(os.environ))
            return 3, text

        before = dict(os.environ)
        monkeypatch.setattr(job, "reconciler", program)
        for name in ("SUMMARY", "OUTPUT"):
            monkeypatch.setenv(f"GITHUB_{'STEP_' * (name == 'SUMMARY')}{name}", str(tmp_path / name))
        monkeypatch.setenv("INPUT_COMMAND", command)
        monkeypatch.setenv("INPUT_SECRETS", json.dumps(secrets))
        monkeypatch.setenv("INPUT_VARIABLES", json.dumps(variables))
        try:
            stage.run()
        except SystemExit as ended:
            seen["code"] = ended.code
        finally:
            os.environ.clear()
            os.environ.update(before)
        seen["summary"] = (tmp_path / "SUMMARY").read_text() if "words" in seen else ""
        return seen

    return go


def test_variables(step: Any) -> None:
    """Names that the program knows become variables; no other name does, and the JSON of all is gone."""
    target = "RECONCILER_EUROPE_STAGING"
    secrets = {f"{target}_CLIENT_SECRET": "s1", "RECORD_KEY": "k", "LD_PRELOAD": "x", "github_token": "t"}
    variables = {f"{target}_BASE_URL": "https://b", "RECONCILER_RECIPIENTS": "age1", "RECONCILER_STATE": "s3://mine"}
    environment = step("apply --expect-digest sha256:0", secrets, variables)["environment"]
    names = (f"{target}_CLIENT_SECRET", f"{target}_BASE_URL", "RECONCILER_RECIPIENTS")
    assert ["s1", "https://b", "age1"] == [environment.get(name) for name in names]
    assert not {"RECORD_KEY", "LD_PRELOAD", "RECONCILER_STATE", "INPUT_SECRETS"} & environment.keys()


def test_secrets_do_not_stand_for_variables(step: Any) -> None:
    """A secret overrides no approved address, and a variable no secret: the repository's are set by writers."""
    target = "RECONCILER_EUROPE_STAGING"
    secrets = {f"{target}_AUTH_URL": "https://mine", "RECONCILER_RECIPIENTS": "mine", f"{target}_CLIENT_SECRET": "s1"}
    variables = {"RECONCILER_RECIPIENTS": "age1", f"{target}_CLIENT_SECRET": "mine", f"{target}_CLIENT_ID": "mine"}
    environment = step("apply --expect-digest sha256:0", secrets, variables)["environment"]
    known = {key: value for key, value in environment.items() if key.startswith("RECONCILER_") and "TEST" not in key}
    assert {"RECONCILER_RECIPIENTS": "age1", f"{target}_CLIENT_SECRET": "s1"} == known


def test_command(step: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command is taken apart without a shell, and its exit code is the step's. A file of a run is fetched."""
    monkeypatch.setattr(job, "_file", lambda number, name: f"{number}-{name}")
    assert ("state", "recover", "12-kept") == step("state recover run:12/kept", {}, {})["words"]
    seen = step("plan -t '*/staging' '$(id)'", {}, {})
    assert (("plan", "-t", "*/staging", "$(id)", "--format", "markdown"), 3) == (seen["words"], seen["code"])


def test_text_is_escaped(step: Any) -> None:
    """The output of a command without a report is a block that nothing in it can end."""
    summary = step("state show", {}, {}, "</pre><h1>approved</h1>\n::error::x\n")["summary"]
    assert "&lt;/pre&gt;&lt;h1&gt;" in summary


def test_secret_of_a_subscription(step: Any) -> None:
    """`secret set` alone reads SUBSCRIPTION_SECRET, and only where the environment names the recipients."""
    secrets = {"SUBSCRIPTION_SECRET": "hush"}
    assert "" == step("state recover -", secrets, {})["stdin"]
    seen = step("secret set europe/staging/offers --yes", secrets, {"RECONCILER_RECIPIENTS": "age1"})
    assert "hush" == seen["stdin"]
    assert "SUBSCRIPTION_SECRET" not in seen["environment"]
    assert "words" not in step("secret set europe/staging/offers --yes", secrets, {"RECONCILER_RECIPIENTS": ""})
