"""A witness that is the commit statuses of the default branch.

GitHub keeps up to 1,000 statuses for each commit and context, and neither changes nor deletes one. The context names
the target, the description is the text. They are read from the latest commits, and set on the latest of all.

All statuses of a commit are read, one call for each: a summary shows the latest of each context, behind which somebody
could hide an earlier one. So a query is only believed that a commit has none at all, which nobody can make so.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from reconciler.errors import GitHubError
from reconciler.github.at_once import at_once
from reconciler.model.testimony import Reading, Testimony

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reconciler.github.client import Client
    from reconciler.model.address import TargetName

CONTEXT = "reconciler/"
COMMITS = 30
"""How many commits of the default branch are looked at."""
_QUERY = f"""query($owner: String!, $name: String!) {{
  repository(owner: $owner, name: $name) {{
    defaultBranchRef {{ target {{ ... on Commit {{
      history(first: {COMMITS}) {{ nodes {{ oid status {{ state }} }} }} }} }} }} }} }}"""
_FRESH = COMMITS // 2  # what stands on older commits is set again, where there is an occasion
_PAGES = 10  # of 100 statuses for each commit
_SECONDS = 15.0  # for reading all of them


class CommitStatuses:
    """The statuses in the repository of `client`; those set link to `run_url`. A `Witness`."""

    def __init__(self, client: Client, run_url: str | None) -> None:
        self.name = f"commit statuses of {client.repository}"
        self._client = client
        self._run_url = run_url
        self._latest: str | None = None

    def read(self) -> Reading:
        """The texts of the latest commits, and why they may not be all."""
        found, problems = at_once(lambda _: self._commits(), [None], _SECONDS)
        if problems:
            return Reading((), str(problems[0]))
        commits = found[0]
        self._latest = commits[0][0] if commits else None
        # The latest in any case: the statuses of a moment ago are there.
        asked = [(age, commit) for age, (commit, has_any) in enumerate(commits) if has_any or not age]
        lists, problems = at_once(lambda item: self._of_commit(*item), asked, _SECONDS)
        return Reading(tuple(testimony for testimonies in lists for testimony in testimonies), _gap(problems))

    def add(self, texts: Mapping[TargetName, str], seconds: float) -> None:
        """Set a status for each target on the latest commit that `read` has seen. Raises GitHubError."""
        if self._latest is None:
            raise GitHubError("the latest commit of the default branch is not known", where="GitHub")
        _, problems = at_once(lambda item: self._set(*item), list(texts.items()), seconds)
        if problems:
            raise problems[0]

    def _commits(self) -> list[tuple[str, bool]]:
        """The latest commits of the default branch, the latest first, and whether each may have a status."""
        owner, name = self._client.repository.split("/")
        with suppress(GitHubError):  # a token or a server that answers no queries: then each commit is read
            return _queried(self._client.query(_QUERY, owner=owner, name=name))
        found = [commit["sha"] for commit in self._client.get("/commits", per_page=COMMITS)]
        return [(commit, True) for commit in found if _is_hash(commit)]

    def _of_commit(self, age: int, commit: str) -> list[Testimony]:
        where = f"a status of commit {commit[:10]} in {self._client.repository}"
        statuses = self._client.pages(f"/commits/{commit}/statuses", _PAGES)
        texts = [(str(status["context"]), str(status["description"])) for status in statuses]
        ours = [(name.removeprefix(CONTEXT), text) for name, text in texts if name.startswith(CONTEXT)]
        return [Testimony(target, text, where, fading=age >= _FRESH) for target, text in ours]

    def _set(self, target: TargetName, text: str) -> None:
        body: dict[str, Any] = {"state": "success", "context": f"{CONTEXT}{target}", "description": text}
        if self._run_url:
            body["target_url"] = self._run_url
        self._client.send("POST", f"/statuses/{self._latest}", body)


def _queried(data: object) -> list[tuple[str, bool]]:
    """What the query answers. Raises GitHubError for anything else, the history of no commits too."""
    match data:
        case {"repository": {"defaultBranchRef": {"target": {"history": {"nodes": [_, *_] as nodes}}}}}:
            found = [(node["oid"], node["status"] is not None) for node in nodes if _is_node(node)]
            if len(found) == len(nodes):
                return found
    raise GitHubError("unexpected answer", where="GitHub: graphql")


def _is_node(node: object) -> bool:
    match node:
        case {"oid": str(commit), "status": None | {"state": _}}:
            return _is_hash(commit)
    return False


def _is_hash(text: str) -> bool:
    return len(text) >= 40 and not set(text) - set("0123456789abcdef")


def _gap(problems: Sequence[Exception]) -> str | None:
    if not problems:
        return None
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{problems[0]}{more}"
