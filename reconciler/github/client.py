"""Calls of GitHub's REST API: one client, errors in words, rate limits waited for within bounds."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import httpx

from reconciler import __version__
from reconciler.errors import GitHubError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from reconciler.github.access import Access

_PAGE = 100  # items, the most that a page may have
_TIMEOUT = 20.0  # seconds for each phase of a call
_LIMITED = (403, 429)
_SHOWN = 200  # characters of what GitHub says

PERMISSION = "check `permissions:` of the job; the token of a pull request from a fork may only read"


class Client:
    """Calls the API for one repository, from any number of threads.

    `patience` are the seconds that one call may wait in all where GitHub limits the rate of calls.
    """

    def __init__(self, access: Access, patience: float = 0.0) -> None:
        """Raises GitHubError if the environment's proxy or certificate settings cannot be used."""
        self.repository = access.repository
        self._access = access
        self._patience = patience
        headers = {
            "Authorization": f"Bearer {access.token}",
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": "2022-11-28",
            "User-Agent": f"reconciler/{__version__}",
        }
        try:
            self._http = httpx.Client(headers=headers, timeout=_TIMEOUT)
        except (OSError, ValueError, ImportError) as problem:
            raise GitHubError(
                f"the proxy or certificate settings cannot be used ({type(problem).__name__})", where="GitHub"
            ) from None

    def get(self, path: str, **parameters: str | int) -> Any:
        """What a GET of `path`, below the repository, answers. Raises GitHubError."""
        return self._called("GET", self._url(path), {"params": parameters})

    def pages(self, path: str, most: int, **parameters: str | int) -> Iterator[Any]:
        """The items of a list, page by page. Raises GitHubError, also if there are more than `most` pages."""
        for number in range(1, most + 1):
            items = self.get(path, per_page=_PAGE, page=number, **parameters)
            if not isinstance(items, list):
                raise GitHubError("the answer is not a list", where=f"GitHub: {path}")
            yield from items
            if len(items) < _PAGE:
                return
        raise GitHubError(f"there are more than {most * _PAGE} items", where=f"GitHub: {path}")

    def send(self, method: str, path: str, body: Mapping[str, object]) -> Any:
        """What a call that changes something answers. Raises GitHubError, even if the change was made."""
        return self._called(method, self._url(path), {"json": body})

    def viewer(self) -> str:
        """The author of what this token writes, such as `github-actions[bot]`. Raises GitHubError.

        The token of a job must not read `/user`, but may ask this.
        """
        match self.query("query { viewer { login } }"):
            case {"viewer": {"login": str(login)}} if login:
                return login
        raise GitHubError("the answer does not name the user of the token", where="GitHub: viewer")

    def query(self, query: str, **variables: str | int) -> object:
        """The data that a GraphQL query answers. Raises GitHubError, also for an answer that is only a part."""
        answer = self._called("POST", self._access.graphql_url, {"json": {"query": query, "variables": variables}})
        match answer:
            case {"data": data, **others} if not others.get("errors"):
                return data
        raise GitHubError("the answer is not complete", where="GitHub: graphql")

    def _url(self, path: str) -> str:
        return f"{self._access.api_url}/repos/{self.repository}{path}"

    def _called(self, method: str, url: str, content: Mapping[str, Any]) -> Any:
        waited = 0.0
        while True:
            answer = self._answer(method, url, content)
            wait = _wait(answer)
            if wait is None or waited + wait > self._patience:
                return self._understood(method, url, answer)
            time.sleep(wait)
            waited += wait

    def _answer(self, method: str, url: str, content: Mapping[str, Any]) -> httpx.Response:
        try:
            return self._http.request(method, url, follow_redirects=method == "GET", **content)
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as problem:  # its text may hold the URL of a proxy
            raise GitHubError(f"no answer ({type(problem).__name__})", where=_where(method, url)) from None

    def _understood(self, method: str, url: str, answer: httpx.Response) -> Any:
        if answer.is_success:
            try:
                return answer.json() if answer.content else None
            except (ValueError, RecursionError):
                raise GitHubError("the answer is not JSON", where=_where(method, url)) from None
        raise GitHubError(self._refusal(answer), where=_where(method, url), remedy=_remedy(answer))

    def _refusal(self, answer: httpx.Response) -> str:
        """The status, and what GitHub says about it, which never is the token."""
        try:
            said = str(answer.json()["message"])
        except (ValueError, KeyError, TypeError, RecursionError):
            said = ""
        line = " ".join("".join(char if char.isprintable() else " " for char in said).split()).replace("run: ", "run:")
        line = line.replace(self._access.token, "[redacted]")[:_SHOWN]
        return f"HTTP {answer.status_code}{f': {line}' if line else ''}"


def _where(method: str, url: str) -> str:
    return f"GitHub: {method} {httpx.URL(url).path}"


def _remedy(answer: httpx.Response) -> str | None:
    match answer.status_code:
        case 403 | 429 if _is_limited(answer):
            return "the limit of calls is reached; retry later"
        case 401:
            return "check GITHUB_TOKEN"
        case 403 | 404:
            return PERMISSION
        case _:
            return None


def _is_limited(answer: httpx.Response) -> bool:
    return answer.status_code in _LIMITED and (
        "retry-after" in answer.headers
        or answer.headers.get("x-ratelimit-remaining") == "0"
        or answer.status_code == httpx.codes.TOO_MANY_REQUESTS
    )


def _wait(answer: httpx.Response) -> float | None:
    """Seconds after which a call that met a rate limit may be made again; None if it was answered otherwise."""
    if not _is_limited(answer):
        return None
    headers = answer.headers
    try:
        if "retry-after" in headers:
            wait = float(headers["retry-after"])
        else:
            wait = float(headers["x-ratelimit-reset"]) - time.time()
    except (KeyError, ValueError):
        wait = 1.0
    return max(wait, 0.1) if math.isfinite(wait) else None
