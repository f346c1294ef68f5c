"""Webhooks go to public addresses, and inside only where the installation lists it."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from app.domain.errors import Invalid
from app.services.webhooks.addresses import (
    LONGEST_URL,
    ONLY_PUBLIC,
    AllowedWebhookAddresses,
    check_webhook_url,
    is_public_address,
)

LISTED = AllowedWebhookAddresses.parse(["Hooks.lan", "10.2.0.0/16", "127.0.0.1", "fd00::/8"])
INSIDE = (
    *("127.0.0.1", "127.255.255.254", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1"),  # noqa: S104
    *("169.254.169.254", "100.64.0.1", "192.0.2.1", "198.18.0.1", "224.0.0.1", "239.1.1.1", "255.255.255.255"),
    *("::", "::1", "fe80::1", "fc00::1", "fd12::1", "ff02::1", "2001:db8::1"),
    *("::ffff:10.0.0.1", "::ffff:127.0.0.1", "64:ff9b::a00:1", "64:ff9b::7f00:1", "2002:a00:1::", "2002:7f00:1::1"),
)
OUTSIDE = (
    "1.1.1.1",
    "172.15.255.255",
    "172.32.0.1",
    "100.63.255.255",
    "100.128.0.0",
    "2606:4700::1111",
    "::ffff:1.1.1.1",
)


@pytest.mark.parametrize("address", INSIDE)
def test_an_address_of_the_inside_is_refused_unless_it_is_listed(address: str) -> None:
    assert not is_public_address(ip_address(address))
    assert not ONLY_PUBLIC.is_allowed("host.example.org", ip_address(address))
    assert AllowedWebhookAddresses.parse([address]).is_allowed("host.example.org", ip_address(address))
    literal = f"[{address}]" if ":" in address else address
    with pytest.raises(Invalid):
        check_webhook_url(f"https://{literal}/", ONLY_PUBLIC)
    check_webhook_url(f"https://{literal}/", AllowedWebhookAddresses.parse([address]))


@pytest.mark.parametrize("address", OUTSIDE)
def test_a_public_address_is_allowed(address: str) -> None:
    assert is_public_address(ip_address(address))
    check_webhook_url(f"https://{f'[{address}]' if ':' in address else address}:8443/a?b=c", ONLY_PUBLIC)


@pytest.mark.parametrize(
    ("host", "address", "allowed"),
    [
        ("hooks.lan", "10.9.9.9", True),
        ("HOOKS.LAN", "10.9.9.9", True),
        ("other.lan", "10.9.9.9", False),
        ("other.lan", "10.2.255.255", True),
        ("other.lan", "10.3.0.0", False),
        ("other.lan", "127.0.0.1", True),
        ("other.lan", "127.0.0.2", False),
        ("other.lan", "fd77::1", True),
    ],
)
def test_what_the_installation_lists_is_allowed_and_its_neighbours_are_not(
    host: str, address: str, allowed: bool
) -> None:
    assert LISTED.is_allowed(host, ip_address(address)) is allowed


@pytest.mark.parametrize(
    "url",
    [
        *("", "hooks", "ftp://a.org/", "https://", "https:///a", "javascript:alert(1)", "file:///etc/passwd"),
        *("https://user@a.org/", "https://u:p@a.org/", "https://a.org/#x", "https://a.org:99999/", "https://a.org/ b"),
        *("https://a.org/\n", "https://ä.org/", "http://a.org/", "http://1.1.1.1/", "https://[::1"),
        "https://a.org/" + "x" * (LONGEST_URL - 13),
    ],
)
def test_an_address_that_cannot_be_is_refused_with_its_place(url: str) -> None:
    with pytest.raises(Invalid) as refused:
        check_webhook_url(url, ONLY_PUBLIC)
    assert refused.value.places[0].loc == ("body", "url")


@pytest.mark.parametrize(
    "url", ["http://hooks.lan/", "http://127.0.0.1:8000/x", "https://a.org/" + "x" * (LONGEST_URL - 14)]
)
def test_plain_http_is_for_what_is_listed(url: str) -> None:
    check_webhook_url(url, LISTED)
