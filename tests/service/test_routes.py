"""Which proxy is on the way to a URL: the one that httpx would take."""

from __future__ import annotations

import httpx
import pytest

from reconciler.service.routes import Proxy, Routes, Server

URLS = [
    "https://api.example.com/x", "https://example.com", "https://notexample.com", "https://api.example.com:8443/x",
    "https://10.0.0.1", "https://10.0.0.2:444", "https://[2001:db8::1]/", "https://localhost", "https://127.0.0.1:8443",
    "https://[::1]:1", "https://LOCALHOST", "https://other.test",
]  # fmt: skip
EXEMPTED = [
    "", "example.com", ".example.com", "api.example.com", "example.com:8443", "*", "10.0.0.1", "10.0.0.0/8",
    "10.0.0.2:444", "2001:db8::1", "localhost", "https://example.com", "http://example.com", "all://*.example.com",
    "other.test, example.com", " , ,", "EXAMPLE.com",
]  # fmt: skip


@pytest.mark.parametrize("exempted", EXEMPTED)
@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "ALL_PROXY", "https_proxy"])
def test_no_proxy_is_read_as_httpx_reads_it(monkeypatch: pytest.MonkeyPatch, exempted: str, variable: str) -> None:
    """With loopback, which never has a proxy, left out by us in any spelling that httpx is told of."""
    monkeypatch.setenv(variable, "http://proxy.test:3128")
    monkeypatch.setenv("NO_PROXY", exempted)
    direct = {f"all://{host}": None for host in ("127.0.0.1", "[::1]", "localhost")}
    routes = Routes()
    with httpx.Client(mounts=direct) as client:
        expected = {url: client._transport_for_url(httpx.URL(url)) is not client._transport for url in URLS}
    assert expected == {url: routes.to(url).route.proxy is not None for url in URLS}


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("name", ["HTTPS_PROXY", "ALL_PROXY"])
def test_a_proxy_is_where_its_url_leads(monkeypatch: pytest.MonkeyPatch, scheme: str, name: str) -> None:
    """With what it is to be told of who asks; HTTPS_PROXY comes before ALL_PROXY."""
    monkeypatch.setenv("ALL_PROXY", "http://other.test")
    monkeypatch.setenv(name, f"{scheme}://us%65r:p%40ss@proxy.test")
    proxy = Routes().to("https://service.example").route.proxy
    server = Server(scheme == "https", "proxy.test", 443 if scheme == "https" else 80)
    assert Proxy(server, (b"user", b"p@ss")) == proxy
    assert "p@ss" not in repr(Routes().to("https://service.example"))


def test_a_url_is_taken_apart_as_httpx_does() -> None:
    """Names beyond ASCII, ports and paths go out as httpx sends them."""
    place = Routes().to("https://bücher.example:8443/ä b?q=ü")
    url = httpx.URL("https://bücher.example:8443/ä b?q=ü")
    server = Server(True, "xn--bcher-kva.example", 8443)
    assert (server, url.netloc.decode(), url.raw_path) == (place.route.server, place.netloc, place.target)
