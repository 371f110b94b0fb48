"""URLs that mean the same compare equal, and no others do."""

from __future__ import annotations

import pytest

from reconciler.model.url import filled, has_attempt, is_loopback, is_placeholder, is_sandbox, normal_url, service_key

SAME = [
    ("https://api.example", "https://API.example:443/", "HTTPS://api.example", "https://api.example./"),
    ("https://api.example/eu", "https://api.example/eu/", "https://api.example/x/../eu", "https://api.example/%2e/eu"),
    ("https://api.example/a~b", "https://api.example/a%7Eb", "https://api.example/a%7eb"),
    ("https://api.example/a%2Fb", "https://api.example/a%2fb"),
    ("https://api.example/b", "https://api.example/a/%2e%2E/b", "https://api.example/../b"),
    ("https://api.example/%C3%A4", "https://api.example/%c3%a4"),
    ("https://api.example/a%20b%26", "https://api.example/%61%20b%26"),
    ("https://[::1]:8443/x", "https://[0:0:0:0:0:0:0:1]:8443/x/"),
    ("http://127.0.0.1", "http://127.0.0.1:80/"),
    ("https://port.example:8443", "https://PORT.example.:8443/", "https://port.example.:8443/x/.."),
    ("https://port.example:8443/v1.2", "https://port.example.:8443/v1.2/", "https://port.example:8443/a/../v1.2"),
    ("https://deep.example/a/b", "https://deep.example/a/x/../b", "https://deep.example/a/./b/c/d/../.."),
    ("https://[::1]:8443", "https://[::0:1]:8443/", "https://[::1]:8443/."),
    ("https://[::1]", "https://[0::1]:443"),
]
OTHERS = [
    "https://api.example:8443", "https://api.example:80", "http://api.example", "http://api.example:443",
    "https://api.example/eu/v1", "https://api.example/EU", "https://api.example/a/b", "https://api.example/a%25b",
    "https://api.example/v1.2", "https://[::1]/x", "https://api.example/v1.2/X", "https://api.example/v1.2//x",
]  # fmt: skip


@pytest.mark.parametrize("spellings", SAME, ids=lambda spellings: spellings[0])
def test_spellings_of_one_service(spellings: tuple[str, ...]) -> None:
    """Case, a default port, escapes that are not needed, dots and a last slash make no other service."""
    assert {service_key(spellings[0])} == {*map(service_key, spellings)}


def test_services_that_differ() -> None:
    """Whatever a server may tell apart is kept apart."""
    urls = [*(spellings[0] for spellings in SAME), *OTHERS]
    assert len(urls) == len({*map(service_key, urls)})


@pytest.mark.parametrize(("url", "normal"), [
    ("HTTPS://Hooks.Example:443", "https://hooks.example/"),
    ("https://hooks.example:8443/A", "https://hooks.example:8443/A"),
    ("https://hooks.example:80/A", "https://hooks.example:80/A"), ("http://localhost:443/A", "http://localhost:443/A"),
    ("http://[::1]:80/a?", "http://[::1]/a?"), ("https://[::1]:8443", "https://[::1]:8443/"),
    ("https://hooks.example?a", "https://hooks.example/?a"), ("https://HOOKS.example?A=b", "https://hooks.example/?A=b"),
    ("https://hooks.example/a/?B=%2f", "https://hooks.example/a/?B=%2f"),
])  # fmt: skip
def test_normal_url(url: str, normal: str) -> None:
    """Of a webhook only what no endpoint can see is made alike."""
    assert (normal, normal) == (normal_url(url), normal_url(normal))


def test_kinds_of_hosts() -> None:
    """A placeholder has a reserved name, a sandbox no TLS, and loopback an address or name of its own."""
    urls = ("https://A.EXAMPLE", "https://a.example:8443/x", "https://example", "https://a.example.com")
    assert [True, True, False, False] == [*map(is_placeholder, urls)]
    assert [True, True, False] == [*map(is_sandbox, ("http://a", "HTTP://a", "https://http"))]
    assert all(map(is_loopback, ("localhost", "a.localhost", "127.0.0.1", "127.9.9.9", "::1")))
    assert not any(map(is_loopback, ("10.0.0.1", "localhost.com", "notlocalhost", "")))


def test_the_id_of_an_attempt() -> None:
    """It is filled in wherever the template has its place."""
    template = "https://a.example/{attempt}/x?id={attempt}"
    assert "https://a.example/7/x?id=7" == filled(template, "7")
    assert [True, False] == [has_attempt(template), has_attempt(filled(template, "{}"))]
