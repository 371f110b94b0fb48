"""What a repository has not, of what the workflow needs; each a value with the sentence that says it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping


class AddEnvironment(Struct, frozen=True):
    """An environment that asks a reviewer, for the default branch alone; `settings` as the API takes them.

    `login` is the reviewer, None if the environment has some, who stay.
    """

    name: str
    login: str | None
    settings: Mapping[str, object]

    @property
    def text(self) -> str:
        asked = "" if self.login is None else f"required reviewer {self.login}, "
        return f"environment {self.name}: {asked}for chosen branches only"


class AllowBranch(Struct, frozen=True):
    """A branch from which jobs may use an environment."""

    environment: str
    branch: str

    @property
    def text(self) -> str:
        return f"environment {self.environment}: allow the branch {self.branch}, and no other"


class AddRuleset(Struct, frozen=True):
    """A ruleset for one branch; `rules` and `bypass` as the API takes them."""

    name: str
    branch: str
    rules: tuple[Mapping[str, object], ...]
    bypass: tuple[Mapping[str, object], ...]

    @property
    def text(self) -> str:
        kinds = ", ".join(str(rule["type"]) for rule in self.rules)
        others = "; only deploy keys may bypass it" if self.bypass else ""
        return f"ruleset {self.name}, branch {self.branch}: {kinds}{others}"


class ReplaceKey(Struct, frozen=True):
    """A new deploy key, with its private half as a secret of every stage; `replaced` are the ids of earlier ones."""

    stages: tuple[str, ...]
    replaced: tuple[int, ...]

    @property
    def text(self) -> str:
        return f"deploy key {KEY_TITLE}, its private half as the secret RECORD_KEY of {', '.join(self.stages)}"


class SetVariable(Struct, frozen=True):
    """A variable of an environment, from config/."""

    environment: str
    name: str
    value: str

    @property
    def text(self) -> str:
        return f"environment {self.environment}: variable {self.name} = {self.value}"


class SetSecret(Struct, frozen=True):
    """A secret of an environment, whose value only a person has."""

    environment: str
    name: str

    @property
    def text(self) -> str:
        return f"environment {self.environment}: secret {self.name}"


Change = AddEnvironment | AllowBranch | AddRuleset | ReplaceKey | SetVariable | SetSecret

KEY_TITLE = "state record"
"""The title of the deploy key, by which it is found again."""
