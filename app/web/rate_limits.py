"""Rates, refusals and failed sign-ins by address, for clients without a valid credential."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from starlette.types import Scope

MOST_ADDRESSES = 10_000  # the least recently seen are dropped
NETWORK = 64  # leading bits of an IPv6 address that identify a customer, who controls the rest
Clock = Callable[[], float]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class UnauthenticatedLimits:
    """Limits that all strangers at one address share.

    body: bytes of one body. seconds: until it is complete. places: bodies that may arrive at once.
    rate, burst: requests per second, and at once after a pause. failures, window: failed sign-ins within seconds.
    """

    body: int = 16 << 10
    seconds: float = 5.0
    places: int = 32
    rate: float = 50.0
    burst: int = 500
    failures: int = 20
    window: float = 60.0


def find_client_address(scope: Scope) -> str:
    """Return the client's IPv4 address, or the network of its IPv6 address."""
    client = scope.get("client")
    if not client:
        return ""
    try:
        address = ip_address(client[0].partition("%")[0])
    except ValueError:
        return str(client[0])
    if isinstance(address, IPv6Address):
        mapped = address.ipv4_mapped
        return str(mapped) if mapped else f"{IPv6Address(int(address) >> NETWORK << NETWORK)}/{NETWORK}"
    return str(address)


class _ByAddress(Generic[T]):
    """A counter for each recently seen address."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._of: OrderedDict[str, T] = OrderedDict()

    def of(self, address: str) -> T:
        counter = self._of.get(address)
        if counter is None:
            counter = self._of[address] = self._make()
        self._of.move_to_end(address)
        while len(self._of) > MOST_ADDRESSES:
            self._of.popitem(last=False)
        return counter


@dataclass(slots=True)
class _Bucket:
    left: float
    since: float


class TokenBuckets:
    """A token bucket for each address: a rate per second, and a burst after a pause."""

    def __init__(self, rate: float, burst: int, clock: Clock = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._buckets = _ByAddress(lambda: _Bucket(burst, clock()))

    def take_token_or_get_wait(self, address: str) -> int:
        """Count a request. Return 0 if it is allowed now, else the seconds after which to try again."""
        bucket, now = self._buckets.of(address), self._clock()
        bucket.left = min(self._burst, bucket.left + (now - bucket.since) * self._rate)
        bucket.since = now
        if bucket.left < 1:
            return max(1, math.ceil((1 - bucket.left) / self._rate))
        bucket.left -= 1
        return 0


class RefusalPacing:
    """Spaces out the refusals to each address, at a fixed rate, however many clients retry and however soon.

    A client that is refused at once retries at once, and a thousand such clients keep a process busy with refusals.
    """

    def __init__(self, rate: float, longest: float, clock: Clock = time.monotonic) -> None:
        self._every, self._longest, self._clock = 1 / rate, longest, clock
        self._next = _ByAddress(lambda: [-math.inf])  # no refusal yet: the clock counts from the machine's start

    def reserve_refusal_delay(self, address: str) -> float:
        """Return the seconds by which to delay the next refusal, at most `longest`."""
        last, now = self._next.of(address), self._clock()
        turn = min(max(last[0] + self._every, now), now + self._longest)
        last[0] = turn
        return turn - now


class FailedSignIns:
    """Failed sign-ins of each address within a window. The same wrong secret counts once.

    A success does not reset them. Otherwise, the owner of one credential could try any number of others.
    """

    def __init__(self, most: int, window: float, clock: Clock = time.monotonic) -> None:
        self._most, self._window, self._clock = most, window, clock
        self._of: _ByAddress[OrderedDict[bytes, float]] = _ByAddress(OrderedDict)

    def count_failure(self, address: str, secret: bytes) -> int:
        """Count a failure, and return the current number. secret: a digest of the secret that was tried."""
        failures = self._recent_failures(address)
        failures.setdefault(secret, self._clock())
        return len(failures)

    def seconds_until_next_try(self, address: str) -> int:
        """Return 0 if another try is allowed, else the seconds until it is."""
        failures = self._recent_failures(address)
        if len(failures) < self._most:
            return 0
        return max(1, math.ceil(next(iter(failures.values())) + self._window - self._clock()))

    def _recent_failures(self, address: str) -> OrderedDict[bytes, float]:
        failures, now = self._of.of(address), self._clock()
        while failures and (next(iter(failures.values())) + self._window <= now or len(failures) > self._most):
            failures.popitem(last=False)
        return failures
