"""Which URLs are taken."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.desired import urls
from reconciler.model.url import normal_url


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.example",
        "https://hooks.example/",
        "HTTPS://Hooks.Example:8443/a/b?c=d&e",
        "https://hooks.example?x",
        "https://hooks.example/@user/{id}/%41/~a;b=c,d|e",
        "https://xn--bcher-kva.example",
        "https://under_score.example",
        "https://192.0.2.1:1/",
        "https://[2001:db8::1]:65535/",
        "http://localhost:8080/x",
        "http://app.localhost/x",
        "http://127.0.0.1",
        "http://127.8.9.10:80/",
        "http://[::1]:80/",
        "https://hooks.example/" + "x" * (2048 - 22),
    ],
)
def test_sound_urls_are_taken(url: str) -> None:
    """Absolute https, and http on loopback, with whatever a path and a query may hold."""
    assert urls.fault(url) is None


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("", "not an absolute URL"),
        ("hooks.example/x", "not an absolute URL"),
        ("/x", "not an absolute URL"),
        ("//hooks.example/x", "not an absolute URL"),
        ("https:/hooks.example", "not an absolute URL"),
        ("mailto:a@b.example", "not an absolute URL"),
        ("ftp://hooks.example", "neither https nor http"),
        ("http://hooks.example", "uses http"),
        ("http://127.evil1", "uses http"),
        ("http://localhost.evil.example", "uses http"),
        ("http://[2001:db8::1]/", "uses http"),
        ("https://user@hooks.example", "contains credentials"),
        ("https://user:pass@hooks.example/x", "contains credentials"),
        ("https://@hooks.example/x", "contains credentials"),
        ("https://hooks.example/#top", "fragment"),
        ("https://hooks.example/x#", "fragment"),
        ("https://hooks.example/a b", "white space"),
        (" https://hooks.example/", "white space"),
        ("https://hooks.example/\n", "white space"),
        ("https://hooks.example/\x00", "control character"),
        ("https://hooks.example/\x7f", "control character"),
        (
            "https://bücher.example/",
            "contains non-ASCII characters write the host in punycode (xn--…), and percent-encode",
        ),
        ("https://hooks.example/ä", "punycode"),
        ("https://hoo\u212as.example/", "punycode"),
        ("https://hooks.example/\udc80", "punycode"),
        ("https://", "an invalid host"),
        ("https:///x", "an invalid host"),
        ("https://:443/x", "an invalid host"),
        ("https://hooks..example", "an invalid host"),
        ("https://hooks.example.", "an invalid host"),
        ("https://-hooks.example", "an invalid host"),
        ("https://" + "a" * 64 + ".example", "an invalid host"),
        ("https://" + "a." * 127 + "example", "an invalid host"),
        ("https://hooks.example\\x", "an invalid host"),
        ("https://256.1.1.1", "an invalid host"),
        ("https://127.1", "an invalid host"),
        ("https://[::g]/", "an invalid host"),
        ("https://[fe80::1%25eth0]/", "an invalid host"),
        ("https://[:::]/", "an invalid host"),
        ("https://hooks.example:", "an invalid port"),
        ("https://hooks.example:0", "an invalid port"),
        ("https://hooks.example:65536", "an invalid port"),
        ("https://hooks.example:123456", "an invalid port"),
        ("https://hooks.example:http/x", "an invalid port"),
        ("https://hooks.example/" + "x" * (2049 - 22), "longer than 2048"),
    ],
)
def test_unsound_urls_are_not(url: str, words: str) -> None:
    """Each is refused for what is most telling about it, and told what to do; the fault never holds the URL."""
    fault = urls.fault(url)
    assert fault is not None
    assert words in f"{fault.what} {fault.remedy}"


def test_a_base_takes_no_query() -> None:
    """A URL that paths are put behind ends with its path."""
    assert urls.base_fault("https://api.example/v1") is None
    assert "a query" in (urls.base_fault("https://api.example/v1?") or urls.USER_INFO).what
    assert "fragment" in (urls.base_fault("https://api.example/v1#") or urls.USER_INFO).what


PIECES = st.sampled_from(
    ["https", "http", "://", "/", "?", "#", "@", ":", "[", "]", "::1", "hooks.example", "localhost", "443", "99999",
     ".", "-", "%", "{", " ", "\\", "ä", "\x00", "127.0.0.1", "\u212a", "\u0130"]
)  # fmt: skip


@given(
    st.lists(PIECES, max_size=9).map("".join)
    | st.lists(PIECES, max_size=7).map(lambda rest: "https://" + "".join(rest))
)
@settings(max_examples=300, deadline=None)
def test_every_url_that_is_taken_has_a_normal_form(url: str) -> None:
    """What is taken can be compared: its normal form is one of its own, and is taken too."""
    if urls.fault(url) is None:
        assert normal_url(url) == normal_url(normal_url(url))
        assert urls.fault(normal_url(url)) is None
