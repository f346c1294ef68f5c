"""The client of the identity provider (OpenID Connect: discovery, code with PKCE, refresh).

Its documents and keys are cached, so requests of strangers cause no requests to it. If it does not answer, no request
waits for it in the next few seconds. Only a few requests at once may wait for it, because each holds a thread.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

import httpx

from app.services.access import identity_tokens
from app.services.access.identity_tokens import IdentityTokenRules, LogoutNotice, UnknownSigningKey
from app.services.access.provider_options import IdentityProviderOptions, is_safe_for_secrets
from app.services.access.single_sign_on import ProviderPerson, ProviderTokens
from app.web.single_sign_on.cached_document import CachedProviderDocument
from app.web.single_sign_on.errors import ProviderGroupsNotRereadable, ProviderRefused, ProviderSilent

DISCOVERY = "/.well-known/openid-configuration"
TIMEOUT = httpx.Timeout(5.0, connect=2.0)
SILENT_FOR = 5.0  # seconds during which a provider that did not answer gets no requests
AT_ONCE = 8  # most requests that wait for it at once
LONGEST_ANSWER = 1 << 20  # bytes
LONGEST_NAME = 200
MOST_GROUPS = 10_000
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ProviderConfirmation:
    """The provider's current confirmation. sid: its name of its own session."""

    person: ProviderPerson
    tokens: ProviderTokens
    sid: str | None


class IdentityProviderClient:
    """An identity provider. transport: carries the requests if not the network. clock: in seconds."""

    def __init__(
        self,
        options: IdentityProviderOptions,
        *,
        transport: httpx.BaseTransport | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        identity_tokens.check_joserfc_installed()
        self.options = options
        self._rules = IdentityTokenRules(options.issuer, options.client)
        self._http = httpx.Client(timeout=TIMEOUT, transport=transport, follow_redirects=False)
        self._clock = clock
        self._places = threading.BoundedSemaphore(AT_ONCE)
        self._silent_until = -SILENT_FOR
        self._document = CachedProviderDocument(self._ask_for_document, clock)
        self._keys = CachedProviderDocument(lambda: self._ask("GET", self._endpoint("jwks_uri")), clock)

    def close(self) -> None:
        """Close its connections."""
        self._http.close()

    def authorization_address(self, *, back: str, state: str, nonce: str, challenge: str) -> str:
        """Return the address where a browser signs in. back: the return address. Raises ProviderSilent."""
        asked = {
            "response_type": "code",
            "client_id": self.options.client,
            "redirect_uri": back,
            "scope": " ".join(self.options.scopes),
            "state": state,
            "nonce": nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        return _with_query(self._endpoint("authorization_endpoint"), asked)

    def sign_out_address(self, identity_token: str, *, back: str) -> str | None:
        """Return the address where a browser signs out; None if the provider has none, or does not answer."""
        try:
            address = self._endpoint("end_session_endpoint")
        except (ProviderSilent, ProviderRefused):
            return None
        asked = {
            "id_token_hint": identity_token,
            "client_id": self.options.client,
            "post_logout_redirect_uri": back,
        }
        return _with_query(address, asked)

    def check_answering_issuer(self, issuer: str | None) -> None:
        """Raise ProviderRefused if another provider sent the browser back (RFC 9207)."""
        must = self._document.get().get("authorization_response_iss_parameter_supported") is True
        if issuer != self.options.issuer and (must or issuer is not None):
            raise ProviderRefused("another provider answered")

    def redeem_authorization_code(
        self, code: str, *, back: str, verifier: str, nonce: str, now: datetime
    ) -> ProviderConfirmation:
        """Return who signed in, for the code with which the browser came back.

        Raises ProviderRefused, ProviderSilent, BadIdentityToken, ProviderGroupsNotRereadable.
        """
        sent = {"grant_type": "authorization_code", "code": code, "redirect_uri": back, "code_verifier": verifier}
        answer = self._ask_for_tokens(sent)
        given = _tokens_of(answer, before=None)
        claims = self.verify_identity_token(given.identity, now=now, nonce=nonce, access_token=given.access)
        shown = self._ask_userinfo(given.access, str(claims["sub"]))
        if self._groups(shown) is None and (self._groups(claims) is None or given.refresh is None):
            claim = self.options.groups_claim
            raise ProviderGroupsNotRereadable(
                f"userinfo must have the claim {claim}, or identity tokens and refresh tokens"
            )
        sid = claims.get("sid")
        return ProviderConfirmation(self._person(claims, shown), given, sid if isinstance(sid, str) else None)

    def reconfirm_person(
        self, subject: str, given: ProviderTokens, *, now: datetime, keep: Callable[[ProviderTokens], None]
    ) -> ProviderConfirmation:
        """Confirm who a person is now. Raises ProviderRefused if they are signed out there, ProviderSilent.

        keep: called with renewed tokens before any further request, because the earlier tokens may no longer be valid.
        """
        shown: Mapping[str, Any] = {}
        try:
            shown = self._ask_userinfo(given.access, subject)
            if self._groups(shown) is not None:
                return ProviderConfirmation(self._person({"sub": subject}, shown), given, None)
        except ProviderRefused:
            if given.refresh is None:
                raise
        if given.refresh is None:
            raise ProviderRefused("it shows no groups any more")
        answer = self._ask_for_tokens({"grant_type": "refresh_token", "refresh_token": given.refresh})
        renewed = _tokens_of(answer, before=given)
        keep(renewed)
        claims: Mapping[str, Any] = {"sub": subject}
        if answer.get("id_token") is not None:
            claims = self.verify_identity_token(renewed.identity, now=now, nonce=None, access_token=renewed.access)
            if claims["sub"] != subject:
                raise ProviderRefused("it names somebody else")
        shown = self._ask_userinfo(renewed.access, subject)
        if self._groups(shown) is None and self._groups(claims) is None:
            raise ProviderRefused("it shows no groups any more")
        return ProviderConfirmation(self._person(claims, shown), renewed, None)

    def verify_identity_token(
        self, token: str, *, now: datetime, nonce: str | None, access_token: str
    ) -> Mapping[str, Any]:
        """Return the claims of an identity token. Raises BadIdentityToken, ProviderSilent."""

        def read(keys: Mapping[str, Any]) -> Mapping[str, Any]:
            return identity_tokens.verify_identity_token(
                token, keys, self._rules, now=now, nonce=nonce, access_token=access_token
            )

        return self._with_keys(read)

    def verify_logout_token(self, token: str, *, now: datetime) -> LogoutNotice:
        """Return whom a logout token signs out. Raises BadIdentityToken, ProviderSilent."""
        return self._with_keys(lambda keys: identity_tokens.verify_logout_token(token, keys, self._rules, now=now))

    def _with_keys(self, read: Callable[[Mapping[str, Any]], T]) -> T:
        """Read a token with the cached keys; if none fits, once more with the current keys."""
        known = self._keys.get()
        try:
            return read(known)
        except UnknownSigningKey:
            keys = self._keys.get(fresh=True)
            if keys is known:
                raise
            return read(keys)

    def _person(self, claims: Mapping[str, Any], shown: Mapping[str, Any]) -> ProviderPerson:
        both = {**claims, **shown}
        named = [both.get(key) for key in ("name", "preferred_username", "email")]
        name = next((text for text in named if isinstance(text, str) and text.strip()), str(claims["sub"]))
        printable = "".join(character for character in name if character.isprintable())
        groups = self._groups(shown)
        if groups is None:
            groups = self._groups(claims)
        return ProviderPerson(self.options.issuer, str(claims["sub"]), printable[:LONGEST_NAME], groups or frozenset())

    def _groups(self, claims: Mapping[str, Any]) -> Collection[str] | None:
        """Return the groups in the claims; None if they say nothing about groups."""
        value: Any = claims.get(self.options.groups_claim)
        if value is None and "." in self.options.groups_claim:
            value = claims
            for part in self.options.groups_claim.split("."):
                value = value.get(part) if isinstance(value, Mapping) else None
        if isinstance(value, str):
            return frozenset({value})
        if isinstance(value, list):
            return frozenset(group for group in value[:MOST_GROUPS] if isinstance(group, str))
        return None

    def _ask_for_tokens(self, sent: Mapping[str, str]) -> Mapping[str, Any]:
        address, body, auth = self._endpoint("token_endpoint"), dict(sent), None
        ways = self._document.get().get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        if self.options.secret is None or "client_secret_basic" not in ways:
            body["client_id"] = self.options.client
            if self.options.secret is not None:
                body["client_secret"] = self.options.secret
        else:  # both are form-encoded first (RFC 6749, section 2.3.1)
            auth = httpx.BasicAuth(quote(self.options.client, safe=""), quote(self.options.secret, safe=""))
        return self._ask("POST", address, data=body, auth=auth)

    def _ask_userinfo(self, access_token: str, subject: str) -> Mapping[str, Any]:
        """Return the provider's data on a person; empty if it has no userinfo address."""
        if "userinfo_endpoint" not in self._document.get():
            return {}
        headers = {"Authorization": f"Bearer {access_token}", "Accept": "application/json"}
        shown = self._ask("GET", self._endpoint("userinfo_endpoint"), headers=headers)
        if shown.get("sub") != subject:
            raise ProviderRefused("it names somebody else")
        return shown

    def _endpoint(self, name: str) -> str:
        address = self._document.get().get(name)
        if not isinstance(address, str) or not is_safe_for_secrets(address):
            raise ProviderRefused(f"its document has no {name} over https")
        return address

    def _ask_for_document(self) -> Mapping[str, Any]:
        document = self._ask("GET", self.options.issuer.rstrip("/") + DISCOVERY)
        if document.get("issuer") != self.options.issuer:
            raise ProviderRefused("its document names another issuer")
        return document

    def _ask(self, method: str, url: str, **sent: Any) -> Mapping[str, Any]:
        """Return the answer as JSON. Raises ProviderSilent without an answer, ProviderRefused for a refusal."""
        with self._place():
            try:
                answer = self._http.request(method, url, **sent)
            except httpx.TransportError as error:
                self._silent_until = self._clock() + SILENT_FOR
                raise ProviderSilent(retry_after=int(SILENT_FOR)) from error
        if answer.status_code >= 500 or answer.status_code == 429:
            raise ProviderSilent(retry_after=int(SILENT_FOR))
        try:
            content = answer.json() if len(answer.content) <= LONGEST_ANSWER else None
        except (ValueError, RecursionError):
            content = None
        if answer.status_code != 200 or not isinstance(content, dict):
            raise ProviderRefused
        return content

    @contextmanager
    def _place(self) -> Iterator[None]:
        """Take one of the few places to wait for it. Raises ProviderSilent at once if none is free."""
        if self._clock() < self._silent_until or not self._places.acquire(blocking=False):
            raise ProviderSilent(retry_after=int(SILENT_FOR))
        try:
            yield
        finally:
            self._places.release()


def _tokens_of(answer: Mapping[str, Any], *, before: ProviderTokens | None) -> ProviderTokens:
    """Return the tokens of an answer; a refresh need not return all of them again."""
    access = answer.get("access_token")
    refresh = answer.get("refresh_token") or (before.refresh if before is not None else None)
    identity = answer.get("id_token") or (before.identity if before is not None else None)
    if not isinstance(access, str) or not isinstance(identity, str) or not isinstance(refresh, str | None):
        raise ProviderRefused("its answer lacks tokens")
    return ProviderTokens(access, refresh, identity)


def _with_query(address: str, values: Mapping[str, str]) -> str:
    return f"{address}{'&' if '?' in address else '?'}{urlencode(values)}"
