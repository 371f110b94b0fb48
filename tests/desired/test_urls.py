"""Which URLs are taken."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.desired import urls
from reconciler.model.url import normal_url


@pytest.mark.parametrize("url", [
    "https://hooks.example", "https://hooks.example/", "HTTPS://Hooks.Example:8443/a/b?c=d&e",
    "https://hooks.example?x", "https://hooks.example/@user/{id}/%41/~a;b=c,d|e", "https://xn--bcher-kva.example",
    "https://under_score.example", "https://" + "a." * 126 + "a",
    "https://192.0.2.1:1/", "https://[2001:db8::1]:65535/", "http://localhost:8080/x",
    "http://app.localhost/x", "http://127.0.0.1", "http://127.8.9.10:80/", "http://[::1]:80/",
    "https://hooks.example/" + "x" * (2048 - 22), "https://hooks.example/{attempt}" + "x" * (2048 - 22 - 32),
])  # fmt: skip
def test_sound_urls_are_taken(url: str) -> None:
    """Absolute https, and http on loopback, with whatever a path and a query may hold."""
    assert urls.fault(url) is None


@pytest.mark.parametrize(("url", "name"), [
    ("", "url-not-absolute"), ("hooks.example/x", "url-not-absolute"), ("/x", "url-not-absolute"),
    ("//hooks.example/x", "url-not-absolute"), ("https:/hooks.example", "url-not-absolute"),
    ("mailto:a@b.example", "url-not-absolute"), ("ftp://hooks.example", "url-scheme"),
    ("http://hooks.example", "url-http"), ("http://127.evil1", "url-http"),
    ("http://localhost.evil.example", "url-http"), ("http://[2001:db8::1]/", "url-http"),
    ("https://user@hooks.example", "url-user-info"), ("https://user:pass@hooks.example/x", "url-user-info"),
    ("https://@hooks.example/x", "url-user-info"), ("https://hooks.example/#top", "url-fragment"),
    ("https://hooks.example/x#", "url-fragment"), ("https://hooks.example/a b", "url-unwritable"),
    (" https://hooks.example/", "url-unwritable"), ("https://hooks.example/\n", "url-unwritable"),
    ("https://hooks.example/\x00", "url-unwritable"), ("https://hooks.example/\x7f", "url-unwritable"),
    ("https://bücher.example/", "url-not-ascii"), ("https://hooks.example/ä", "url-not-ascii"),
    ("https://hoo\u212as.example/", "url-not-ascii"), ("https://hooks.example/\udc80", "url-not-ascii"),
    ("https://", "url-host"), ("https:///x", "url-host"), ("https://:443/x", "url-host"),
    ("https://hooks..example", "url-host"), ("https://hooks.example.", "url-host"),
    ("https://-hooks.example", "url-host"), ("https://" + "a" * 64 + ".example", "url-host"),
    ("https://" + "a." * 126 + "ab", "url-host"), ("https://hooks.example\\x", "url-host"),
    ("https://256.1.1.1", "url-host"), ("https://127.1", "url-host"), ("https://hooks.1", "url-host"),
    ("https://[::g]/", "url-host"), ("https://[fe80::1%25eth0]/", "url-host"), ("http://[:::]/", "url-host"),
    ("https://hooks.example:", "url-port"), ("https://hooks.example:0", "url-port"),
    ("https://hooks.example:65536", "url-port"), ("https://hooks.example:123456", "url-port"),
    ("https://hooks.example:http/x", "url-port"), ("https://hooks.example/" + "x" * (2049 - 22), "url-too-long"),
    ("https://hooks.example/{attempt}" + "x" * (2049 - 22 - 32), "url-too-long"),
    ("https://{attempt}.example/", "attempt-in-host"), ("https://hooks.example:{attempt}/", "attempt-in-host"),
])  # fmt: skip
def test_unsound_urls_are_not(url: str, name: str) -> None:
    """Each is refused for the most telling reason, with what to do."""
    fault = urls.fault(url)
    assert fault is not None
    assert name == fault.name
    assert fault.remedy


@pytest.mark.parametrize(("end", "name"), [("", None), ("?", "url-query"), ("?#", "url-fragment")])
def test_a_base_takes_no_query(end: str, name: str | None) -> None:
    """A URL that paths are put behind ends with its path."""
    fault = urls.base_fault(f"https://api.example/v1{end}")
    assert name == (fault and fault.name)


PIECES = st.sampled_from(
    ["https", "http", "://", "/", "?", "#", "@", ":", "[", "]", "::1", "hooks.example", "localhost", "443", "99999",
     ".", "-", "%", "{", " ", "\\", "ä", "\x00", "127.0.0.1", "\u212a", "\u0130"]
)  # fmt: skip


@given(
    st.lists(PIECES, max_size=9).map("".join)
    | st.lists(PIECES, max_size=7).map(lambda rest: "https://" + "".join(rest))
)
@settings(max_examples=300)
def test_every_url_that_is_taken_has_a_normal_form(url: str) -> None:
    """What is taken can be compared: its normal form is one of its own, and is taken too."""
    if urls.fault(url) is None:
        assert normal_url(url) == normal_url(normal_url(url))
        assert urls.fault(normal_url(url)) is None
