"""When a request is sent again, and after how long.

A request that got no answer may have been carried out. It is sent again only if carrying it out twice is the same as
once: reads, PUT and DELETE, whatever has an `Idempotency-Key`, and the few other requests of which the interface says
so. The others are sent again only if the server certainly did not carry them out.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import httpx

from plumbline_client.errors import retry_after

BUSY = frozenset({429, 503})
NEVER_CARRIED_OUT = frozenset({429})
"""503 may also mean that the database broke away while the request was carried out."""
REPEATABLE_METHODS = frozenset({"GET", "HEAD", "PUT", "DELETE"})


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and after how many seconds a request is sent again.

    tries: of a request, in all. first, longest: seconds; the pause doubles from one to the other, and a random part of
    it, up to half, is left out, so that many clients do not come at the same moment. A longer `Retry-After` of the
    server is waited for, up to `patience` seconds; if the server wants more, its refusal is raised.
    """

    tries: int = 6
    first: float = 0.5
    longest: float = 30.0
    patience: float = 120.0

    def pause_after_answer(self, answer: httpx.Response, attempt: int, *, repeatable: bool) -> float | None:
        """Seconds until the next attempt, or None if the answer stands. attempt: counts from 1."""
        worth_it = answer.status_code in (BUSY if repeatable else NEVER_CARRIED_OUT)
        wanted = retry_after(answer) or 0.0
        if not worth_it or attempt >= self.tries or wanted > self.patience:
            return None
        return max(wanted, self.backoff(attempt))

    def pause_after_error(self, error: httpx.TransportError, attempt: int, *, repeatable: bool) -> float | None:
        """Seconds until the next attempt after a connection that failed, or None to give up. attempt: counts from 1."""
        unsent = isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout))
        hopeless = isinstance(error, (httpx.UnsupportedProtocol, httpx.LocalProtocolError))
        if attempt >= self.tries or hopeless or not (unsent or repeatable):
            return None
        return self.backoff(attempt)

    def backoff(self, attempt: int) -> float:
        """Seconds to pause after an attempt that failed, longer each time. attempt: counts from 1."""
        pause: float = min(self.first * 2 ** (attempt - 1), self.longest)
        return pause * random.uniform(0.5, 1)  # noqa: S311  (nothing secret depends on it)


NO_RETRIES = RetryPolicy(tries=1)
