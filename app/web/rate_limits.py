"""What is counted of each address from which somebody asks who has not shown who they are."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import Generic, TypeVar

from starlette.types import Scope

MOST_ADDRESSES = 10_000  # those least lately seen are forgotten
NETWORK = 64  # bits of an IPv6 address that name a customer, who has all the others
Clock = Callable[[], float]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Allowance:
    """What all have together who ask from one address and have not shown a credential that holds.

    body: bytes of one body. seconds: until it is whole. places: bodies that arrive at once.
    rate, burst: requests a second, and at once after a rest. failures, window: refused sign-ins within seconds.
    """

    body: int = 16 << 10
    seconds: float = 5.0
    places: int = 32
    rate: float = 50.0
    burst: int = 500
    failures: int = 20
    window: float = 60.0


def address_of(scope: Scope) -> str:
    """Who asks, as far as the network tells: an IPv4 address, or the network of an IPv6 address."""
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
    """Something of each address seen lately."""

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


class Rates:
    """Requests of each address: so many a second, and some at once after a rest."""

    def __init__(self, rate: float, burst: int, clock: Clock = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._buckets = _ByAddress(lambda: _Bucket(burst, clock()))

    def wait(self, address: str) -> int:
        """Count a request; 0 where it may come now, else the seconds after which to try again."""
        bucket, now = self._buckets.of(address), self._clock()
        bucket.left = min(self._burst, bucket.left + (now - bucket.since) * self._rate)
        bucket.since = now
        if bucket.left < 1:
            return max(1, math.ceil((1 - bucket.left) / self._rate))
        bucket.left -= 1
        return 0


class Turns:
    """Refusals of each address, one after another: so many a second, however many ask and however soon they come again.

    Who is refused at once comes again at once, and a thousand such clients keep a process busy with refusing them.
    """

    def __init__(self, rate: float, longest: float, clock: Clock = time.monotonic) -> None:
        self._every, self._longest, self._clock = 1 / rate, longest, clock
        self._next = _ByAddress(lambda: [0.0])

    def wait(self, address: str) -> float:
        """Take a turn; the seconds until it comes, `longest` at most."""
        last, now = self._next.of(address), self._clock()
        turn = min(max(last[0] + self._every, now), now + self._longest)
        last[0] = turn
        return turn - now


class Failures:
    """Sign-ins of each address that were refused within a window; the same wrong secret again counts once.

    A success takes none of them back: else whoever has one credential could try as many others as they like.
    """

    def __init__(self, most: int, window: float, clock: Clock = time.monotonic) -> None:
        self._most, self._window, self._clock = most, window, clock
        self._of: _ByAddress[OrderedDict[bytes, float]] = _ByAddress(OrderedDict)

    def note(self, address: str, secret: bytes) -> int:
        """Count one; how many there are now. secret: a digest of what was tried."""
        failures = self._within(address)
        failures.setdefault(secret, self._clock())
        return len(failures)

    def wait(self, address: str) -> int:
        """0 where another may be tried, else the seconds after which it may."""
        failures = self._within(address)
        if len(failures) < self._most:
            return 0
        return max(1, math.ceil(next(iter(failures.values())) + self._window - self._clock()))

    def _within(self, address: str) -> OrderedDict[bytes, float]:
        failures, now = self._of.of(address), self._clock()
        while failures and (next(iter(failures.values())) + self._window <= now or len(failures) > self._most):
            failures.popitem(last=False)
        return failures
