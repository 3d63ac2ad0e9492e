from __future__ import annotations

import socket

import httpx
import pytest

from citeproof.errors import DocumentError
from citeproof.tools.web import Web, fetch_pages
from citeproof.tools.web import addresses as module
from citeproof.tools.web.addresses import PublicTransport, is_public
from tests.tools.web.site import Answer, Site


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1::1", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("172.16.0.1", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("::1", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:93.184.216.34", True),
        ("64:ff9b::7f00:1", False),
        ("2002:7f00:1::", False),
    ],
)
def test_public_addresses(address: str, public: bool) -> None:
    assert is_public(address) == public


def test_this_machine_is_not_fetched_unless_that_is_allowed(site: Site) -> None:
    site.page("/", "Start.")
    [refused] = fetch_pages([site.url], Web(delay=0))
    assert refused.state == "failed"
    assert "127.0.0.1 is in a private network" in refused.why
    assert "--allow-private" in refused.why
    assert site.asked == []
    [allowed] = fetch_pages([site.url], Web(delay=0, allow_private=True))
    assert allowed.state == "read"


def test_a_name_is_connected_to_at_the_address_that_was_checked(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second look at the name would lead here; there is none."""
    site.answers["/a"] = Answer(b"here", "text/plain")
    port = httpx.URL(site.url).port
    looked: list[str] = []

    def rebinding(host: str, port: int) -> list[str]:
        looked.append(host)
        return ["93.184.216.34"] if len(looked) == 1 else ["127.0.0.1"]

    with httpx.Client(transport=PublicTransport(rebinding)) as client:
        # The test's network has no way to that address, and says which one was tried.
        with pytest.raises(RuntimeError, match="93.184.216.34"):
            client.get(f"http://innocent.example:{port}/a")
        with pytest.raises(DocumentError, match="private network, at 127.0.0.1"):
            client.get(f"http://innocent.example:{port}/a")
    assert (looked, site.asked) == (["innocent.example"] * 2, [])

    # What is checked is what is connected to, with the name in the request.
    monkeypatch.setattr(module, "is_public", lambda address: address == "127.0.0.1")
    with httpx.Client(transport=PublicTransport(lambda *_: ["10.0.0.1", "127.0.0.1"])) as client:
        assert client.get(f"http://innocent.example:{port}/a").text == "here"


def test_a_redirect_to_a_private_address_is_refused(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.answers["/out"] = Answer(status=302, location="http://169.254.169.254/latest/meta-data")
    monkeypatch.setattr(module, "is_public", lambda address: address == "127.0.0.1")
    [fetched] = fetch_pages([f"{site.url}/out"], Web(delay=0))
    assert fetched.state == "failed"
    assert "169.254.169.254 is in a private network" in fetched.why


@pytest.mark.parametrize("allow_private", [True, False])
def test_a_name_that_cannot_be_looked_up_is_an_error(
    monkeypatch: pytest.MonkeyPatch, allow_private: bool
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *_, **__: host.encode("idna"))
    [fetched] = fetch_pages(["https://example..org/"], Web(allow_private=allow_private))
    assert fetched.state == "failed"
    assert "example..org cannot be resolved" in fetched.why


def test_a_name_that_nobody_knows_is_an_error() -> None:
    def unknown(host: str, port: int) -> list[str]:
        raise OSError("Name or service not known")

    with (
        httpx.Client(transport=PublicTransport(unknown)) as client,
        pytest.raises(httpx.ConnectError, match=r"nobody\.example cannot be resolved"),
    ):
        client.get("http://nobody.example/")
