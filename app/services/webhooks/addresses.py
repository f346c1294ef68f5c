"""Which addresses webhooks may be sent to: never the internal network, unless the installation lists it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import SplitResult, urlsplit

from app.domain.errors import Invalid, Place

LONGEST_URL = 1000
Address = IPv4Address | IPv6Address
_NAT64 = ip_network("64:ff9b::/96")


@dataclass(frozen=True, slots=True)
class AllowedWebhookAddresses:
    """What an installation allows in addition to public addresses. hosts: names. networks: addresses."""

    hosts: frozenset[str] = frozenset()
    networks: tuple[IPv4Network | IPv6Network, ...] = ()

    @classmethod
    def parse(cls, listed: Sequence[str]) -> AllowedWebhookAddresses:
        """Parse host names and networks such as `10.2.0.0/16`.

        >>> AllowedWebhookAddresses.parse(["hooks.example.lan", "10.2.0.0/16"]).is_allowed("x", ip_address("10.2.3.4"))
        True
        """
        hosts, networks = set(), []
        for name in listed:
            try:
                networks.append(ip_network(name))
            except ValueError:
                hosts.add(name.lower())
        return cls(frozenset(hosts), tuple(networks))

    def is_listed(self, host: str, address: Address | None) -> bool:
        """Return whether the installation lists a host or its address."""
        if host.lower() in self.hosts:
            return True
        return address is not None and any(address in network for network in self.networks)

    def is_allowed(self, host: str, address: Address) -> bool:
        """Return whether webhooks may be sent to this address of a host."""
        return self.is_listed(host, address) or is_public_address(address)


ONLY_PUBLIC = AllowedWebhookAddresses()


def is_public_address(address: Address) -> bool:
    """Return whether an address is public, including IPv4 addresses embedded in IPv6.

    >>> [is_public_address(ip_address(one)) for one in ("1.1.1.1", "10.0.0.1", "::ffff:127.0.0.1", "64:ff9b::a00:1")]
    [True, False, False, False]
    """
    if isinstance(address, IPv6Address):
        carried = address.ipv4_mapped or address.sixtofour or (address.teredo or (None, None))[1]
        if address in _NAT64:
            carried = IPv4Address(int(address) & 0xFFFFFFFF)
        if carried is not None and not is_public_address(carried):
            return False
        if address.ipv4_mapped is not None:
            return True
    return address.is_global and not address.is_multicast


def check_webhook_url(url: str, allowed: AllowedWebhookAddresses) -> None:
    """Raise Invalid unless webhooks may be sent to a URL. Names are resolved on sending, not here."""
    problem = _fault(url, allowed)
    if problem is not None:
        raise Invalid(places=(Place(("body", "url"), problem),))


def _fault(url: str, allowed: AllowedWebhookAddresses) -> str | None:
    if len(url) > LONGEST_URL or not (url.isascii() and url.isprintable()) or " " in url:
        return f"must be at most {LONGEST_URL} printable ASCII characters"
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "must be an address such as https://hooks.example.org/plumbline"
    if not host or parts.scheme not in {"http", "https"} or parts.username is not None or parts.fragment:
        return "must be an address such as https://hooks.example.org/plumbline, without a user or a fragment"
    return _fault_of_host(parts, host, allowed)


def _fault_of_host(parts: SplitResult, host: str, allowed: AllowedWebhookAddresses) -> str | None:
    address = parse_ip_address(host)
    if parts.scheme == "http" and not allowed.is_listed(host, address):
        return "must start with https://; others can read what goes over http://"
    if address is not None and not allowed.is_allowed(host, address):
        return "is not a public address; PLUMBLINE_WEBHOOK_ALLOWED lists the other addresses that are allowed"
    return None


def parse_ip_address(host: str) -> Address | None:
    """Return the address that a host is; None for a name."""
    try:
        return ip_address(host)
    except ValueError:
        return None
