"""GitHub's API on loopback, as far as the program uses it: commits, statuses, comments, issues, who calls.

It keeps what was written as GitHub does: statuses are neither changed nor deleted, lists have pages, issues and pull
requests share their numbers. A test may write as somebody else, take a permission away, or have calls fail.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from threading import Event, Lock
from typing import TYPE_CHECKING, Any

import pytest
from werkzeug import Request, Response

from support.prompt_server import PromptServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

REPOSITORY = "lender/subscriptions"
TOKEN = "ghs_correctHorseBatteryStaple0815"
BOT = "github-actions[bot]"


def commit_id(number: int) -> str:
    """The hash of the commit with this number."""
    return f"{number:040x}"


@dataclass
class Fault:
    """What some calls are answered instead; `times`: how many more of them."""

    method: str
    path: str
    answer: Callable[[], Response]
    times: int


@dataclass
class Hub:
    """One repository. `commits` are numbers, the latest first; `calls` are the calls so far, as method and path.

    With `errors` a query about commits is answered in part, without their statuses.
    """

    server: PromptServer
    commits: list[int] = field(default_factory=lambda: [3, 2, 1])
    statuses: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    issues: list[dict[str, Any]] = field(default_factory=list)
    comments: list[dict[str, Any]] = field(default_factory=list)
    calls: list[tuple[str, str]] = field(default_factory=list)
    login: str = BOT
    pull_head: str = commit_id(3)
    errors: list[dict[str, str]] = field(default_factory=list)
    released: Event = field(default_factory=Event)
    _faults: list[Fault] = field(default_factory=list)
    _alone: Lock = field(default_factory=Lock)

    @property
    def environment(self) -> dict[str, str]:
        """The variables of a job."""
        url = f"http://127.0.0.1:{self.server.port}"
        return {
            "GITHUB_API_URL": f"{url}/api/v3",
            "GITHUB_REPOSITORY": REPOSITORY,
            "GITHUB_SERVER_URL": "https://github.example",
            "GITHUB_RUN_ID": "7",
            "GITHUB_RUN_ATTEMPT": "1",
            "GITHUB_TOKEN": TOKEN,
        }

    def fail(self, method: str, path: str, status: int, times: int = 1000, **headers: str) -> None:
        """Answer the calls whose path contains `path` with an error."""
        body = json.dumps({"message": f"a reason with {TOKEN} in it"})
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        self._faults.append(Fault(method, path, lambda: Response(body, status, names), times))

    def hang(self, method: str, path: str) -> None:
        """Answer such calls only when the test is over."""

        def wait() -> Response:
            self.released.wait(60)
            return Response("{}", 500)

        self._faults.append(Fault(method, path, wait, 1000))

    def heal(self) -> None:
        """Answer all calls again."""
        self._faults.clear()

    def called(self, method: str) -> list[str]:
        """The paths that were called with this method."""
        return [path for name, path in self.calls if name == method]

    @property
    def written(self) -> list[tuple[str, str]]:
        """The calls so far that change something."""
        return [call for call in self.calls if call[0] != "GET" and call != ("POST", "/api/graphql")]

    def answer(self, request: Request) -> Response:
        with self._alone:
            path = request.path.partition(f"/repos/{REPOSITORY}")[2] or request.path
            self.calls.append((request.method, path))
            fault = next((one for one in self._faults if one.method == request.method and one.path in path), None)
            if fault is not None:
                fault.times -= 1
                if not fault.times:
                    self._faults.remove(fault)
            else:
                return self._done(request, path)
        return fault.answer()

    def _done(self, request: Request, path: str) -> Response:
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return _json({"message": "Bad credentials"}, 401)
        if request.path == "/api/graphql":
            return self._query(json.loads(request.data))
        for pattern, handle in self._routes().items():
            if found := re.fullmatch(pattern, f"{request.method} {path}"):
                return handle(request, *found.groups())
        return _json({"message": "Not Found"}, 404)

    def _routes(self) -> dict[str, Callable[..., Response]]:
        return {
            r"GET /commits": lambda request: _page(request, [{"sha": commit_id(number)} for number in self.commits]),
            r"GET /commits/(\w+)/statuses": lambda request, sha: _page(request, self.statuses.get(sha, [])),
            r"POST /statuses/(\w+)": self._set_status,
            r"GET /pulls/(\d+)": lambda _, number: _json({"number": int(number), "head": {"sha": self.pull_head}}),
            r"GET /issues/\d+/comments": lambda request: _page(request, self.comments),
            r"POST /issues/\d+/comments": self._comment,
            r"PATCH /issues/comments/(\d+)": self._edit_comment,
            r"DELETE /issues/comments/(\d+)": self._delete_comment,
            r"GET /issues": self._list_issues,
            r"POST /issues": self._open_issue,
            r"PATCH /issues/(\d+)": self._edit_issue,
        }

    def _query(self, asked: dict[str, Any]) -> Response:
        if "viewer" in asked["query"]:
            return _json({"data": {"viewer": {"login": self.login}}})
        assert REPOSITORY == f"{asked['variables']['owner']}/{asked['variables']['name']}"
        (count,) = re.findall(r"history\(first: (\d+)\)", asked["query"])
        commits = [commit_id(number) for number in self.commits[: int(count)]]
        shown = {sha for sha in commits if self.statuses.get(sha) and not self.errors}
        nodes = [{"oid": sha, "status": {"state": "SUCCESS"} if sha in shown else None} for sha in commits]
        data = {"repository": {"defaultBranchRef": {"target": {"history": {"nodes": nodes}}}}}
        return _json({"data": data, **({"errors": self.errors} if self.errors else {})})

    def _set_status(self, request: Request, sha: str) -> Response:
        body = json.loads(request.data)
        assert body.keys() <= {"state", "context", "description", "target_url"}, body
        if len(body["description"]) > 140 or body["state"] != "success":
            return _json({"message": "Validation Failed"}, 422)
        self.statuses.setdefault(sha, []).insert(0, {**body, "creator": {"login": self.login}})
        return _json(body, 201)

    def forge(self, target: str, text: object, commit: int = 3) -> None:
        """Set a status as anybody may who has the permission."""
        status = {"context": f"reconciler/{target}", "description": text, "state": "success"}
        self.statuses.setdefault(commit_id(commit), []).insert(0, status)

    def texts(self, commit: int = 3) -> list[str]:
        """The descriptions of a commit's statuses, the oldest first."""
        return [status["description"] for status in reversed(self.statuses.get(commit_id(commit), []))]

    def say(self, body: str, login: str = BOT, kind: str = "Bot") -> dict[str, Any]:
        """Add a comment to the pull request."""
        number = 900 + len(self.comments)
        comment = {"id": number, "body": body, "user": {"login": login, "type": kind}}
        comment["html_url"] = f"https://github.example/{REPOSITORY}/pull/5#issuecomment-{number}"
        self.comments.append(comment)
        return comment

    def _comment(self, request: Request) -> Response:
        body = json.loads(request.data)["body"]
        if len(body) > 65_536:
            return _json({"message": "body is too long (maximum is 65536 characters)"}, 422)
        return _json(self.say(body, self.login), 201)

    def _edit_comment(self, request: Request, number: str) -> Response:
        (comment,) = [one for one in self.comments if one["id"] == int(number)]
        comment["body"] = json.loads(request.data)["body"]
        return _json(comment)

    def _delete_comment(self, _: Request, number: str) -> Response:
        self.comments = [one for one in self.comments if one["id"] != int(number)]
        return Response(status=204)

    def add_issue(self, body: str | None, login: str = BOT, **more: object) -> dict[str, Any]:
        """Open an issue."""
        number = 1 + len(self.issues)
        issue: dict[str, Any] = {"number": number, "title": "a title", "body": body, "state": "open"}
        issue |= {
            "user": {"login": login, "type": "Bot"},
            "html_url": f"https://github.example/issues/{number}",
            **more,
        }
        self.issues.append(issue)
        return issue

    def _list_issues(self, request: Request) -> Response:
        assert request.args["state"] == "open"
        return _page(request, [issue for issue in self.issues if issue["state"] == "open"])

    def _open_issue(self, request: Request) -> Response:
        fields = json.loads(request.data)
        return _json(self.add_issue(fields["body"], self.login, title=fields["title"]), 201)

    def _edit_issue(self, request: Request, number: str) -> Response:
        issue = self.issues[int(number) - 1]
        issue |= json.loads(request.data)
        return _json(issue)

    def open_issues(self) -> list[str]:
        """The titles of the issues that are open."""
        return [issue["title"] for issue in self.issues if issue["state"] == "open"]


def _json(value: object, status: int = 200) -> Response:
    return Response(json.dumps(value), status, content_type="application/json")


def _page(request: Request, items: list[Any]) -> Response:
    size, number = int(request.args["per_page"]), int(request.args.get("page", "1"))
    assert size <= 100
    return _json(items[size * (number - 1) : size * number])


@pytest.fixture
def hub() -> Iterator[Hub]:
    """GitHub with one repository of three commits."""
    server = PromptServer(host="127.0.0.1", port=0, threaded=True)
    hub = Hub(server)
    server.expect_request(re.compile("/.*")).respond_with_handler(hub.answer)
    server.start()
    yield hub
    hub.released.set()
    server.stop()
