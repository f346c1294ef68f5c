"""A sign-in under way: what ties the provider's answer to the browser that asked. It stands in a cookie alone.

The cookie is a random secret; state, nonce and verifier are derived from it, so nothing is stored for a stranger.
It has to come along when the provider sends the browser back, so other sites may send it with a link (SameSite=Lax).
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
LASTS = 600  # seconds from the click to the way back
_VALUE = re.compile(r"([A-Za-z0-9_-]{43})\.([A-Za-z0-9_-]{0,1400})")


@dataclass(frozen=True, slots=True)
class SignInAttempt:
    """One attempt. secret: known to this browser only. next: the page that was wanted."""

    secret: str
    next: str

    def __repr__(self) -> str:
        """Without the secret, so that no log or trace can hold it."""
        return "SignInAttempt()"

    @property
    def state(self) -> str:
        """What comes back with the answer, and shows that this browser asked."""
        return self._derive("state")

    @property
    def nonce(self) -> str:
        """What stands in the identity token, which is then none of another sign-in."""
        return self._derive("nonce")

    @property
    def verifier(self) -> str:
        """What shows that who redeems the code is who asked for it (PKCE, RFC 7636)."""
        return self._derive("verifier")

    @property
    def challenge(self) -> str:
        """The verifier's SHA-256, which the provider is told first."""
        return _encode(hashlib.sha256(self.verifier.encode()).digest())

    def matches_state(self, given: str) -> bool:
        """Whether this is the state of this attempt."""
        return hmac.compare_digest(self.state.encode(), given.encode("utf-8", "replace"))

    def _derive(self, use: str) -> str:
        return _encode(hmac.new(self.secret.encode(), use.encode(), hashlib.sha256).digest())


def begin_sign_in_attempt(wanted: str | None) -> SignInAttempt:
    """A new attempt. wanted: the page to go on to, if it is one of ours."""
    return SignInAttempt(_encode(secrets.token_bytes(32)), choose_return_path(wanted, HOME))


def read_sign_in_attempt(request: Request) -> SignInAttempt:
    """The attempt of this browser. Raises SignInNotBegun."""
    parts = _VALUE.fullmatch(request.cookies.get(_cookie_name(request), ""))
    try:
        wanted = base64.urlsafe_b64decode(parts[2] + "=" * (-len(parts[2]) % 4)).decode() if parts else None
    except ValueError:
        parts = None
    if parts is None:
        raise SignInNotBegun
    return SignInAttempt(parts[1], choose_return_path(wanted, HOME))


def set_sign_in_attempt_cookie(request: Request, response: Response, attempt: SignInAttempt) -> None:
    """Hand the attempt to the browser."""
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
    """Take the attempt from the browser: it is over."""
    name = _cookie_name(request)
    response.delete_cookie(name, path="/", secure=is_request_https(request), httponly=True, samesite="lax")


def _cookie_name(request: Request) -> str:
    return "__Host-sign-in" if is_request_https(request) else "sign-in"


def _encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")
