"""What an installation says about its identity provider."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import urlsplit

from app.services.access.provider_roles import GroupRole

USUAL_SCOPES = ("openid", "profile", "email")


@dataclass(frozen=True, slots=True)
class IdentityProviderOptions:
    """issuer: as it stands in the provider's tokens. client, secret: as it knows us; no secret for a public client.

    groups_claim: where it names groups, with dots for objects within objects. roles: what groups may do, the first
    that fits. scopes: what is asked for.
    """

    issuer: str
    client: str
    secret: str | None = field(default=None, repr=False)
    groups_claim: str = "groups"
    roles: tuple[GroupRole, ...] = ()
    scopes: tuple[str, ...] = USUAL_SCOPES


def is_safe_for_secrets(url: str) -> bool:
    """Whether secrets may be sent there: over https, or to this very machine.

    >>> [is_safe_for_secrets(url) for url in ("https://id.example.org/a", "http://127.0.0.1:80", "http://id.example.org")]
    [True, True, False]
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        if parts.scheme == "https":
            return bool(host) and not parts.fragment
        return parts.scheme == "http" and (host == "localhost" or ip_address(host).is_loopback)
    except ValueError:
        return False


def choose_return_path(address: str | None, home: str) -> str:
    """The page to go on to: a path of ours, whatever was given. home: where to go without one.

    Browsers read `//host` and `/\\host` as other hosts, and drop line ends and tabs within addresses.

    >>> [choose_return_path(address, "/") for address in ("/campaigns/a?b=c", "//evil.example", "https://evil.example")]
    ['/campaigns/a?b=c', '/', '/']
    """
    inside = address is not None and len(address) <= 1000 and re.fullmatch(r"/(?!/)[!-\[\]-~]*", address)
    return address if inside and address else home
