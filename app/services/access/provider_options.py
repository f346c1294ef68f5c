"""The settings of an installation for its identity provider."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import urlsplit

from app.services.access.provider_roles import GroupRole

USUAL_SCOPES = ("openid", "profile", "email")


@dataclass(frozen=True, slots=True)
class IdentityProviderOptions:
    """The settings for an identity provider.

    issuer: as in the provider's tokens. client, secret: this service's registration there; a public client has no
    secret. groups_claim: the claim that names groups, with dots for nested objects. roles: what groups may do; the
    first match wins. scopes: the scopes to request.
    """

    issuer: str
    client: str
    secret: str | None = field(default=None, repr=False)
    groups_claim: str = "groups"
    roles: tuple[GroupRole, ...] = ()
    scopes: tuple[str, ...] = USUAL_SCOPES


def is_safe_for_secrets(url: str) -> bool:
    """Return whether secrets may be sent to a URL: over https, or to this machine.

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
    r"""Return the page to go to next, always a path of this service. home: where to go otherwise.

    Browsers read `//host` and `/\\host` as other hosts, and ignore line ends and tabs in addresses.

    >>> [choose_return_path(address, "/") for address in ("/campaigns/a?b=c", "//evil.example", "https://evil.example")]
    ['/campaigns/a?b=c', '/', '/']
    """
    inside = address is not None and len(address) <= 1000 and re.fullmatch(r"/(?!/)[!-\[\]-~]*", address)
    return address if inside and address else home
