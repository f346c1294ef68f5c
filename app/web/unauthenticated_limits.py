"""Limits for strangers, who have not shown a valid credential, applied before a request is parsed or admitted.

Each address has a rate, and its bodies must be small and arrive soon. If too many bodies from one address arrive at
once, the oldest is dropped for the newest. So a client that sends 200 bytes at once gets through even if others keep
their connections open. A client that shows a valid credential is no longer a stranger from then on.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
import time
from collections import OrderedDict, defaultdict
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from starlette.requests import HTTPConnection, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.web.admission import ALWAYS, STRANGER
from app.web.logs import REQUEST
from app.web.problems import ErrorPage, problem_response
from app.web.rate_limits import FailedSignIns, RefusalPacing, TokenBuckets, UnauthenticatedLimits, find_client_address
from app.web.request_bodies import BodyTooLarge, BodyTooSlow
from app.web.request_log import request_id

COOKIES = frozenset({"staff", "rater", "__Host-staff", "__Host-rater"})
SIGN_IN_ANSWER = "/oidc/callback"  # where an identity provider sends browsers back: each code is a try
REFUSALS, HELD = 50.0, 5.0  # refusals per second to one address, and the most seconds that one is delayed
MOST_HELD = 2_000  # delayed at once; each holds the part of its body that has arrived, at most 64 KiB
FAMILIAR = 10_000  # credentials per process
FAMILIAR_FOR = 3600.0  # seconds since a credential was last shown
CLOSE: Mapping[str, str] = MappingProxyType({"Connection": "close"})
log = logging.getLogger("plumbline.access")


class RecentlyValidCredentials:
    """Digests of credentials that were valid when last checked. Their rights are still checked on every request."""

    def __init__(self) -> None:
        self._seen: OrderedDict[bytes, float] = OrderedDict()

    def has(self, digest: bytes) -> bool:
        """Tell whether this credential was shown recently."""
        seen = self._seen.get(digest)
        return seen is not None and time.monotonic() - seen < FAMILIAR_FOR

    def keep(self, digest: bytes) -> None:
        """Store a credential. If there are too many, the one least recently shown is dropped."""
        self._seen[digest] = time.monotonic()
        self._seen.move_to_end(digest)
        while len(self._seen) > FAMILIAR:
            self._seen.popitem(last=False)


class UnauthenticatedRequest:
    """One request of a stranger. Reading its body raises BodyTooLarge and BodyTooSlow."""

    def __init__(
        self,
        layer: UnauthenticatedLimitsMiddleware,
        address: str,
        receive: Receive,
        scope: Scope,
        *,
        shows_nothing: bool,
    ) -> None:
        self._layer, self._receive = layer, receive
        self.address, self.scope = address, scope
        self._loop = asyncio.get_running_loop()
        self._until = self._loop.time() + layer.allowance.seconds
        self._waiting: asyncio.Timeout | None = None
        self._size = 0
        self._whole = False
        self.tried = False
        self.shows_nothing = shows_nothing
        self.known = False

    @property
    def has_sent_body_or_sign_in_code(self) -> bool:
        """Whether a body was read, or a code was checked with the identity provider."""
        return self._size > 0 or self.tried

    async def receive(self) -> Message:
        """Return the next message, within the limits for strangers."""
        if self.known or self._whole:
            return await self._receive()
        self._layer.count_arriving_body(self.address, self)
        try:
            async with asyncio.timeout_at(self._until) as self._waiting:
                message = await self._receive()
        except TimeoutError:
            if self.known:
                return await self._receive()
            raise BodyTooSlow("who has not signed in sends a body at once") from None
        finally:
            self._waiting = None
        self._size += len(message.get("body", b""))
        if self._size > self._layer.allowance.body and not self.known:
            raise BodyTooLarge(f"at most {self._layer.allowance.body} bytes of who has not signed in")
        if not message.get("more_body", False):
            self._whole = True
            self.uncount_arriving_body()
        return message

    def stop_waiting_for_body(self) -> None:
        """Stop waiting for the body, because a newer one has come."""
        self._until = self._loop.time()
        if self._waiting is not None:
            self._waiting.reschedule(self._until)

    def uncount_arriving_body(self) -> None:
        """Stop counting this body as arriving."""
        self._layer.stop_counting_arriving_body(self.address, self)

    def lift_limits(self) -> None:
        """Lift the limits, because a valid credential was shown. May be called from any thread."""
        self.known = True
        self._loop.call_soon_threadsafe(self.uncount_arriving_body)


class UnauthenticatedLimitsMiddleware:
    """Applies an allowance to strangers. page: the error page for browsers."""

    def __init__(
        self, app: ASGIApp, allowance: UnauthenticatedLimits, familiar: RecentlyValidCredentials, page: ErrorPage
    ) -> None:
        self.app = app
        self.allowance = allowance
        self._familiar, self._page = familiar, page
        self._rates = TokenBuckets(allowance.rate, allowance.burst)
        self._failures = FailedSignIns(allowance.failures, allowance.window)
        self._turns = RefusalPacing(REFUSALS, HELD)
        self._held = 0
        self._arriving: defaultdict[str, OrderedDict[UnauthenticatedRequest, None]] = defaultdict(OrderedDict)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it with 429."""
        if scope["type"] != "http" or scope["path"] in ALWAYS:
            await self.app(scope, receive, send)
            return
        shown = list(hash_credentials(scope))
        if any(self._familiar.has(digest) for digest in shown):
            await self.app(scope, receive, send)
            return
        address = find_client_address(scope)
        tries = scope["method"] == "POST" or (bool(shown) and scope["path"].startswith("/v1/"))
        tries = tries or scope["path"] == SIGN_IN_ANSWER
        wait = self._rates.take_token_or_get_wait(address) or (
            self._failures.seconds_until_next_try(address) if tries else 0
        )
        if wait:
            await self._delay_refusal(address)
            await self._refuse(scope, receive, send, wait)
            return
        stranger = UnauthenticatedRequest(self, address, receive, scope, shows_nothing=not shown)
        scope.setdefault("state", {})[STRANGER] = stranger
        try:
            await self.app(scope, stranger.receive, self._watch_refusals(stranger, shown, send) if tries else send)
        finally:
            stranger.uncount_arriving_body()

    def count_arriving_body(self, address: str, stranger: UnauthenticatedRequest) -> None:
        """Count an arriving body. If there are too many, the oldest one of the same address is dropped."""
        arriving = self._arriving[address]
        if stranger in arriving:
            return
        while len(arriving) >= self.allowance.places:
            arriving.popitem(last=False)[0].stop_waiting_for_body()
        arriving[stranger] = None

    def stop_counting_arriving_body(self, address: str, stranger: UnauthenticatedRequest) -> None:
        """Stop counting a body that has arrived, or will not arrive."""
        arriving = self._arriving.get(address)
        if arriving is not None:
            arriving.pop(stranger, None)
            if not arriving:
                del self._arriving[address]

    def _watch_refusals(self, stranger: UnauthenticatedRequest, shown: list[bytes], send: Send) -> Send:
        """Return a `send` that counts refused credentials, from the headers or from a body that was read."""

        async def watched(message: Message) -> None:
            # The return from an identity provider checks no credential, and other sites can send browsers there.
            shows_credential = bool(shown) and stranger.scope["path"] != SIGN_IN_ANSWER
            counts = stranger.has_sent_body_or_sign_in_code or shows_credential
            if message["type"] == "http.response.start" and message["status"] == 401 and counts:
                # The contents of a body are not known here, so each such try counts separately.
                same = bool(shown) and not stranger.tried
                failed = self._failures.count_failure(stranger.address, shown[0] if same else secrets.token_bytes(16))
                said = {"request": request_id(stranger.scope), "address": stranger.address, "failed": failed}
                log.warning("a credential was refused", extra={REQUEST: said})
            await send(message)

        return watched

    async def _delay_refusal(self, address: str) -> None:
        """Delay a refusal: a client that retries at once then waits, and costs almost nothing."""
        if self._held >= MOST_HELD:
            return
        self._held += 1
        try:
            await asyncio.sleep(self._turns.reserve_refusal_delay(address))
        finally:
            self._held -= 1

    async def _refuse(self, scope: Scope, receive: Receive, send: Send, wait: int) -> None:
        request, headers = Request(scope), {"Retry-After": str(wait), **CLOSE}
        title = "Too many requests of this address by who has not signed in"
        answer = self._page(request, 429, headers) or problem_response(
            request, 429, title, kind="too-many", headers=headers
        )
        await answer(scope, receive, send)


def mark_sender_authenticated(request: HTTPConnection, secret: str) -> None:
    """Note that the sender of this request has shown a valid credential. May be called from any thread."""
    familiar = getattr(request.app.state, "familiar", None)
    if isinstance(familiar, RecentlyValidCredentials):
        familiar.keep(_digest(secret.encode("utf-8", "replace")))
    stranger = request.scope.get("state", {}).get(STRANGER)
    if isinstance(stranger, UnauthenticatedRequest):
        stranger.lift_limits()


def note_sign_in_attempt(request: HTTPConnection) -> None:
    """Note a try of a secret that is in no header, so that a refusal counts separately, whatever cookie was sent.

    May be called from any thread.
    """
    stranger = request.scope.get("state", {}).get(STRANGER)
    if isinstance(stranger, UnauthenticatedRequest):
        stranger.tried = True


def hash_credentials(scope: Scope) -> Iterator[bytes]:
    """Yield the digests of a request's credentials: its token and its session cookies."""
    for name, value in scope["headers"]:
        if name == b"authorization":
            yield _digest(value.partition(b" ")[2].strip(b" "))
        elif name == b"cookie":
            for part in value.split(b";"):
                cookie, _, secret = part.strip().partition(b"=")
                if cookie.decode("latin-1") in COOKIES:
                    yield _digest(secret)


def _digest(secret: bytes) -> bytes:
    return hashlib.sha256(secret).digest()
