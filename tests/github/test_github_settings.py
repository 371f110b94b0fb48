"""Where the token for GitHub is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.operations.github_settings import access
from reconciler.operations.variables import Variables

if TYPE_CHECKING:
    from pathlib import Path

GIVEN = {"GITHUB_TOKEN": "ghs_token", "GITHUB_REPOSITORY": "partner/hooks"}


def test_a_file_in_the_checkout_does_not_say_where_the_token_goes(tmp_path: Path) -> None:
    """A `.env` that somebody has committed cannot send it elsewhere; the variables of a job can name a server."""
    (tmp_path / ".env").write_text("GITHUB_API_URL=http://127.0.0.1:9\nGITHUB_GRAPHQL_URL=http://127.0.0.1:9\n")
    found = access(Variables(GIVEN, tmp_path))
    assert ("https://api.github.com", "https://api.github.com/graphql") == (found.api_url, found.graphql_url)
    there = access(Variables({**GIVEN, "GITHUB_API_URL": "https://git.partner.example/api/v3"}, tmp_path))
    assert ("https://git.partner.example/api/v3", "https://git.partner.example/api/graphql") == (
        there.api_url,
        there.graphql_url,
    )
