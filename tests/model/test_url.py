"""How URLs compare."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.model.url import is_loopback, normal_url, same_service


@pytest.mark.parametrize(
    ("url", "normal"),
    [
        ("https://HOOKS.example/Offers", "https://hooks.example/Offers"),
        ("HTTPS://hooks.example/", "https://hooks.example/"),
        ("https://hooks.example:443/a", "https://hooks.example/a"),
        ("http://127.0.0.1:80/a", "http://127.0.0.1/a"),
        ("http://127.0.0.1:443/a", "http://127.0.0.1:443/a"),
        ("https://hooks.example:8443/a", "https://hooks.example:8443/a"),
        ("https://hooks.example", "https://hooks.example/"),
        ("https://hooks.example/a?x=1&Y=2", "https://hooks.example/a?x=1&Y=2"),
        ("https://hooks.example/a?", "https://hooks.example/a?"),
        ("http://[::1]:8080/a", "http://[::1]:8080/a"),
    ],
)
def test_normal(url: str, normal: str) -> None:
    """Scheme and host case and the default port make no difference; path and query do."""
    assert normal == normal_url(url)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("https://api.example", "https://API.example:443/", True),
        ("https://api.example/v1", "https://api.example/v1/", True),
        ("https://api.example/v1", "https://api.example/v2", False),
        ("https://api.example", "http://api.example", False),
        ("https://api.example", "https://API.example.", True),
        ("https://api.example:8443", "https://api.example.:8443/", True),
        ("https://api.example", "https://api.example.:443/.", True),
        ("https://api.example/v1", "https://api.example/./v1", True),
        ("https://api.example/v1", "https://api.example/x/../v1/", True),
        ("https://api.example/v1", "https://api.example/../%2e/v1/./", True),
        ("https://api.example/x1", "https://api.example/%781", True),
        ("https://api.example/%c3%bc", "https://api.example/%C3%BC", True),
        ("https://api.example/~x", "https://api.example/%7ex", True),
        ("https://api.example/a%2Fb", "https://api.example/a/b", False),
        ("https://api.example/v1.2", "https://api.example/v1.2/", True),
        ("https://api.example/v1.2", "https://api.example/v1.3", False),
        ("https://api.example/V1", "https://api.example/v1", False),
        ("http://[::1]/api", "http://[0:0::0001]:80/api/", True),
        ("http://[::1]:8080", "http://[0:0:0:0:0:0:0:1]:8080/", True),
        ("http://[::1]:8080", "http://[::1]:8081", False),
        ("https://api.example.:8443", "https://api.example.:8444", False),
    ],
)
def test_same_service(one: str, other: str, *, same: bool) -> None:
    """Two base URLs are one service if they are spellings of one address, or differ in a trailing slash."""
    assert same == same_service(one, other) == same_service(other, one)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["https", "HTTP"]),
    st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9-]{0,5}[A-Za-z0-9])?(\.example)?", fullmatch=True),
    st.none() | st.integers(1, 65535),
    st.from_regex(r"(/[!-\"$-~]{0,6}){0,3}", fullmatch=True),
)
def test_normal_twice(scheme: str, host: str, port: int | None, path: str) -> None:
    """The normal form of a normal form is itself, and whatever case the host has."""
    rest = f"{'' if port is None else f':{port}'}{path}"
    normal = normal_url(f"{scheme}://{host}{rest}")
    assert normal == normal_url(normal) == normal_url(f"{scheme.swapcase()}://{host.swapcase()}{rest}")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:8000/", True),
        ("http://127.9.9.9/", True),
        ("http://localhost/", True),
        ("http://hooks.localhost/", True),
        ("https://[::1]:8443/", True),
        ("http://10.0.0.1/", False),
        ("http://localhost.partner.example/", False),
        ("http://notlocalhost/", False),
        ("http://127.0.0.1.partner.example/", False),
        ("http:///", False),
    ],
)
def test_loopback(url: str, *, expected: bool) -> None:
    """Loopback addresses and the names reserved for them are loopback; a name that looks like one is not."""
    assert expected is is_loopback(urlsplit(url).hostname or "")
