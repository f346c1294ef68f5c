"""A sign-in attempt: it connects the provider's answer to the browser that began, and is stored only in a cookie.

The cookie is a random secret, from which state, nonce and verifier are derived, so the server stores nothing for
strangers. The browser must send it when the provider sends the browser back, so links from other sites may send it
(SameSite=Lax).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass

from fastapi import Request, Response

from app.services.access.provider_options import choose_return_path
from app.web.cookies import is_request_https
from app.web.single_sign_on.errors import SignInNotBegun

HOME = "/campaigns"
LASTS = 600  # seconds from the click to the return
_VALUE = re.compile(r"([A-Za-z0-9_-]{43})\.([A-Za-z0-9_-]{0,1400})")


@dataclass(frozen=True, slots=True)
class SignInAttempt:
    """One attempt. secret: known to this browser only. next: the requested page."""

    secret: str
    next: str

    def __repr__(self) -> str:
        """Return a text without the secret, so that no log or trace can contain it."""
        return "SignInAttempt()"

    @property
    def state(self) -> str:
        """The value that returns with the answer, and proves that this browser began the sign-in."""
        return self._derive("state")

    @property
    def nonce(self) -> str:
        """The value in the identity token, which proves that the token is of this sign-in."""
        return self._derive("nonce")

    @property
    def verifier(self) -> str:
        """The proof that the client that redeems the code also began the sign-in (PKCE, RFC 7636)."""
        return self._derive("verifier")

    @property
    def challenge(self) -> str:
        """The verifier's SHA-256, which is sent to the provider first."""
        return _encode(hashlib.sha256(self.verifier.encode()).digest())

    def matches_state(self, given: str) -> bool:
        """Tell whether this is the state of this attempt."""
        return hmac.compare_digest(self.state.encode(), given.encode("utf-8", "replace"))

    def _derive(self, use: str) -> str:
        return _encode(hmac.new(self.secret.encode(), use.encode(), hashlib.sha256).digest())


def make_sign_in_attempt(wanted: str | None) -> SignInAttempt:
    """Begin an attempt. wanted: the page to open afterwards, if it is one of ours."""
    return SignInAttempt(_encode(secrets.token_bytes(32)), choose_return_path(wanted, HOME))


def read_sign_in_attempt(request: Request) -> SignInAttempt:
    """Return the attempt of this browser. Raises SignInNotBegun."""
    parts = _VALUE.fullmatch(request.cookies.get(_cookie_name(request), ""))
    try:
        wanted = base64.urlsafe_b64decode(parts[2] + "=" * (-len(parts[2]) % 4)).decode() if parts else None
    except ValueError:
        parts = None
    if parts is None:
        raise SignInNotBegun
    return SignInAttempt(parts[1], choose_return_path(wanted, HOME))


def set_sign_in_attempt_cookie(request: Request, response: Response, attempt: SignInAttempt) -> None:
    """Give the attempt to the browser."""
    response.set_cookie(
        _cookie_name(request),
        f"{attempt.secret}.{_encode(attempt.next.encode())}",
        max_age=LASTS,
        path="/",
        secure=is_request_https(request),
        httponly=True,
        samesite="lax",
    )


def clear_sign_in_attempt_cookie(request: Request, response: Response) -> None:
    """Delete the cookie of an attempt that is over."""
    name = _cookie_name(request)
    response.delete_cookie(name, path="/", secure=is_request_https(request), httponly=True, samesite="lax")


def _cookie_name(request: Request) -> str:
    return "__Host-sign-in" if is_request_https(request) else "sign-in"


def _encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")
