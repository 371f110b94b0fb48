"""Comments and issues that this program has written, found again by a marker that is their first line.

Only what the same user has written counts: anybody may copy a marker. Each workflow of the repository is that user.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from reconciler.errors import GitHubError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reconciler.github.client import Client

_JOB = "github-actions[bot]"
_PAGES = 50  # of 100 comments or issues


class Written(Struct, frozen=True):
    """A comment (by its id) or an issue (by its number): the rest of its marker, its text and its page."""

    number: int
    rest: str
    body: str
    url: str


class Texts:
    """The comments and issues of a repository that the token's user has written."""

    def __init__(self, client: Client) -> None:
        self._client = client
        try:
            self._login = client.viewer()
        except GitHubError:
            self._login = _JOB

    def comments(self, pull_request: int, marker: str) -> list[Written]:
        """Those on a pull request whose first line is the marker, the oldest first. Raises GitHubError."""
        found = self._client.pages(f"/issues/{pull_request}/comments", _PAGES)
        return self._ours(found, "id", marker)

    def issues(self, marker: str) -> list[Written]:
        """The open issues whose first line is the marker, the oldest first. Raises GitHubError."""
        found = self._client.pages("/issues", _PAGES, state="open")
        return self._ours((issue for issue in found if "pull_request" not in issue), "number", marker)

    def add_comment(self, pull_request: int, body: str) -> str:
        """Add a comment, and give its page. Raises GitHubError."""
        return _page(self._client.send("POST", f"/issues/{pull_request}/comments", {"body": body}))

    def edit_comment(self, comment: Written, body: str) -> None:
        """Replace its text. Raises GitHubError."""
        self._client.send("PATCH", f"/issues/comments/{comment.number}", {"body": body})

    def delete_comment(self, comment: Written) -> None:
        """Delete it. Raises GitHubError."""
        self._client.send("DELETE", f"/issues/comments/{comment.number}", {})

    def open_issue(self, title: str, body: str) -> str:
        """Open an issue, and give its page. Raises GitHubError."""
        return _page(self._client.send("POST", "/issues", {"title": title, "body": body}))

    def edit_issue(self, issue: Written, title: str, body: str) -> None:
        """Replace its title and its text. Raises GitHubError."""
        self._client.send("PATCH", f"/issues/{issue.number}", {"title": title, "body": body})

    def close_issue(self, issue: Written) -> None:
        """Close it. Raises GitHubError."""
        self._client.send("PATCH", f"/issues/{issue.number}", {"state": "closed", "state_reason": "completed"})

    def _ours(self, found: Iterable[Any], key: str, marker: str) -> list[Written]:
        first_line = re.compile(rf"<!-- {re.escape(marker)} ([\w ]+) -->\r?(?:\n|$)")
        written = []
        for one in found:
            match one:
                case {"user": {"login": str(login)} as user, "body": str(body)} if line := first_line.match(body):
                    if self._is_ours(login, user.get("type")):
                        written.append(Written(int(one[key]), line[1], body, _page(one)))
        return sorted(written, key=lambda text: text.number)

    def _is_ours(self, login: str, kind: object) -> bool:
        return login == self._login or (kind == "Bot" and login == f"{self._login}[bot]")


def _page(answer: object) -> str:
    match answer:
        case {"html_url": str(url)} if url.isprintable():
            return url
    return "its page is unknown"
