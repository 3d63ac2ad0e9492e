from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

import pytest

from citeproof.errors import InputError
from citeproof.tools.web import Web, fetch, fetch_pages, normalize
from citeproof.tools.web.crawl import Fetched
from citeproof.tools.web.links import is_below
from tests.tools.web.site import Answer, Site

HERE = Web(allow_private=True, delay=0)
CRAWL = replace(HERE, crawl=True)
Known = Mapping[str, Mapping[str, str]]


def one(url: str, web: Web = HERE) -> Fetched:
    [fetched] = fetch_pages([url], web)
    return fetched


def crawl(site: Site, path: str = "/", known: Known | None = None) -> dict[str, str]:
    """The paths below one, and whether they were read."""
    pages = fetch_pages([site.url + path], CRAWL, known)
    return {page.url.removeprefix(site.url): page.state for page in pages}


def test_a_page_is_fetched_with_what_tells_whether_it_changes(site: Site) -> None:
    site.page("/a", "High water is at noon.", "/b", "https://example.org/", "mailto:x@y.z")
    fetched = one(f"{site.url}/a#part")
    assert (fetched.url, fetched.state, fetched.ending) == (f"{site.url}/a", "read", ".html")
    assert fetched.validators["links"] == f"{site.url}/b"
    assert b"High water" in fetched.data
    known = {fetched.url: fetched.validators}
    [again] = fetch_pages([fetched.url], HERE, known)
    assert (again.state, again.data) == ("unchanged", b"")
    assert site.asked == ["/robots.txt", "/a", "/robots.txt", "/a if-none-match"]
    assert {agent.partition("/")[0] for agent in site.agents} == {"citeproof"}


@pytest.mark.parametrize(
    ("path", "kind", "ending"),
    [
        ("/a", "text/html", ".html"),
        ("/a", "text/plain", ".txt"),
        ("/a.md", "text/plain", ".md"),
        ("/a.html", "application/pdf", ".pdf"),
        ("/a.pdf", "application/octet-stream", ".pdf"),
        ("/a.html", "image/png", ""),
    ],
)
def test_the_content_type_decides_the_reader(site: Site, path: str, kind: str, ending: str) -> None:
    site.answers[path] = Answer(b"High water is at noon.", kind)
    fetched = one(site.url + path)
    assert fetched.ending == ending
    assert (fetched.state == "failed") == (not ending)


def test_the_encoding_that_the_server_names_counts(site: Site) -> None:
    site.answers["/a"] = Answer("Zürich".encode("latin-1"), "text/plain; charset=ISO-8859-1")
    assert one(f"{site.url}/a").data.decode("utf-8-sig") == "Zürich"


def test_what_is_below_a_page_is_crawled_and_nothing_else(site: Site) -> None:
    site.page("/docs/", "Start.", "one", "sub/two", "/other", "https://example.org/docs/")
    site.page("/docs/one", "One.", "/docs/", "/docs/dead", "/docs/picture.png")
    site.page("/docs/sub/two", "Two.", "../one?q=1")
    site.page("/docs/one?q=1", "One again.")
    site.page("/other", "Elsewhere.")
    assert crawl(site, "/docs/") == {
        "/docs/": "read",
        "/docs/one": "read",
        "/docs/sub/two": "read",
        "/docs/one?q=1": "read",
        "/docs/dead": "left out",
    }
    assert "/docs/picture.png" not in site.asked, "its ending says that nothing reads it"


def test_known_pages_lead_on_though_they_have_not_changed(site: Site) -> None:
    site.page("/", "Start.", "/a")
    site.page("/a", "A.", "/b")
    site.page("/b", "B.")
    first = list(fetch_pages([site.url], replace(CRAWL, max_pages=2)))
    assert [page.state for page in first] == ["read", "read", "left out"]
    known = {page.url: page.validators for page in first if page.state == "read"}
    del site.answers["/a"]
    assert crawl(site, known=known) == {"/": "unchanged", "/a": "gone"}
    site.page("/a", "A.", "/b")
    assert crawl(site, known=known) == {"/": "unchanged", "/a": "unchanged", "/b": "read"}


def test_sitemaps_are_read(site: Site) -> None:
    site.page("/", "Start.")
    site.page("/hidden", "Not linked to.")
    site.answers["/robots.txt"] = Answer(f"Sitemap: {site.url}/map.xml".encode(), "text/plain")
    place = f"<urlset><url><loc>{site.url}/hidden</loc></url></urlset>"
    site.answers["/map.xml"] = Answer(place.encode(), "application/xml")
    assert crawl(site) == {"/": "read", "/hidden": "read"}


def test_robots_txt_is_obeyed(site: Site) -> None:
    site.page("/", "Start.", "/private/a", "/open")
    site.page("/open", "Open.")
    site.page("/private/a", "Private.")
    rules = b"\xef\xbb\xbfUser-agent: *\nDisallow: /private/\nCrawl-delay: 1\n"
    site.answers["/robots.txt"] = Answer(rules, "text/plain")
    begun = time.monotonic()
    assert crawl(site) == {"/": "read", "/private/a": "left out", "/open": "read"}
    assert time.monotonic() - begun >= 1
    assert "/private/a" not in site.asked
    assert one(f"{site.url}/private/a").state == "left out", "also where it is named"


@pytest.mark.parametrize(("status", "state"), [(500, "failed"), (403, "left out"), (404, "read")])
def test_robots_txt_that_cannot_be_had(site: Site, status: int, state: str) -> None:
    site.page("/", "Start.")
    site.answers["/robots.txt"] = Answer(b"no", status=status)
    assert one(site.url).state == state


def test_redirects_are_followed_where_the_rules_allow(site: Site) -> None:
    site.page("/new", "Here.")
    site.page("/docs/", "Start.", "/docs/out")
    site.answers["/old"] = Answer(status=301, location="/new")
    site.answers["/docs/out"] = Answer(status=302, location="/new")
    site.answers["/round"] = Answer(status=302, location="/round")
    site.answers["/file"] = Answer(status=302, location="file:///etc/passwd")
    site.answers["/closed"] = Answer(status=302, location="/private")
    site.answers["/robots.txt"] = Answer(b"User-agent: *\nDisallow: /private", "text/plain")
    assert one(f"{site.url}/old").url == f"{site.url}/new"
    for path in ("/round", "/file", "/closed"):
        assert one(site.url + path).state == "failed"
    # A page that was known under its old address is gone from there.
    known: Known = {f"{site.url}/old": {}}
    found = list(fetch_pages([f"{site.url}/old"], HERE, known))
    assert [page.state for page in found] == ["read", "gone"]
    assert crawl(site, "/docs/") == {"/docs/": "read", "/docs/out": "left out"}


@pytest.mark.parametrize(
    ("limit", "value", "chunked", "why"),
    [
        ("MOST_BYTES", 1000, False, "larger than"),
        ("MOST_BYTES", 1000, True, "larger than"),
        ("_SECONDS", 0.0, False, "takes longer than"),
    ],
)
def test_a_page_beyond_a_limit_is_refused(
    site: Site, monkeypatch: pytest.MonkeyPatch, limit: str, value: float, chunked: bool, why: str
) -> None:
    monkeypatch.setattr(fetch, limit, value)
    site.answers["/"] = Answer(b"x" * 2000, "text/plain", chunked=chunked)
    assert why in one(site.url).why


def test_what_is_not_there_is_gone_and_other_trouble_is_not(site: Site) -> None:
    site.answers["/busy"] = Answer(b"no", status=503)
    site.answers["/same"] = Answer(b"no", status=304)
    assert one(f"{site.url}/missing").state == "gone"
    assert one(f"{site.url}/busy").state == "failed"
    assert one(f"{site.url}/same").state == "failed", "it is as it was, but was never fetched"
    assert one("http://127.0.0.1:1/").state == "failed"


@pytest.mark.parametrize("url", ["http://", "ftp://a.b/c", "https://u:p@a.b/", "http://a.b:x/"])
def test_what_is_no_url_of_a_page_is_refused_at_once(url: str) -> None:
    with pytest.raises(InputError):
        fetch_pages([url], HERE)


def test_urls_of_one_page_are_one() -> None:
    assert normalize("HTTP://Example.org:80#top") == "http://example.org/"
    assert normalize("https://example.org/a%2Fb?q=1#x") == "https://example.org/a%2Fb?q=1"


@pytest.mark.parametrize(
    ("url", "root", "below"),
    [
        ("https://a.b/docs/x", "https://a.b/docs/", True),
        ("https://a.b/docs/x", "https://a.b/docs/index.html", True),
        ("https://a.b/docs/x", "https://a.b/docs", True),
        ("https://a.b/docs", "https://a.b/docs/", True),
        ("https://a.b/docs2", "https://a.b/docs", False),
        ("https://a.b/3.12/x", "https://a.b/3.12", True),
        ("https://a.b/2.7", "https://a.b/3.12", False),
        ("http://a.b/docs/x", "https://a.b/docs", True),
        ("https://c.b/docs/x", "https://a.b/docs", False),
        ("https://a.b:8443/docs/x", "https://a.b/docs", False),
    ],
)
def test_what_lies_below_a_page(url: str, root: str, below: bool) -> None:
    assert is_below(url, root) == below
