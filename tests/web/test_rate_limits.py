"""What is counted of each address: rates, turns, failures, and what an address is."""

from __future__ import annotations

import hashlib

import pytest

from app.web import unauthenticated_limits
from app.web.rate_limits import FailedSignIns, RefusalPacing, TokenBuckets, find_client_address

Address = tuple[str, int]


class Clock:
    """Time as a test has it."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize("since_start", [0.0, 100.0])
def test_turns_are_by_address_and_have_a_longest(since_start: float) -> None:
    """The clock begins with the machine, and the first refusal is at once however young that is."""
    now = since_start
    turns = RefusalPacing(10.0, 0.25, lambda: now)
    assert [round(turns.reserve_refusal_delay("a"), 6) for _ in range(5)] == [0.0, 0.1, 0.2, 0.25, 0.25]
    assert turns.reserve_refusal_delay("b") == 0.0
    now += 0.3
    assert round(turns.reserve_refusal_delay("a"), 6) == 0.05
    now += 10
    assert turns.reserve_refusal_delay("a") == 0.0


def test_failures_end_with_their_window() -> None:
    clock = Clock()
    failures = FailedSignIns(2, 60, clock)
    assert (failures.count_failure("a", b"1"), failures.seconds_until_next_try("a")) == (1, 0)
    clock.now += 10
    assert failures.count_failure("a", b"2") == 2
    assert (failures.seconds_until_next_try("a"), failures.seconds_until_next_try("b")) == (50, 0)
    clock.now += 49.9
    assert failures.seconds_until_next_try("a") == 1
    clock.now += 0.1
    assert failures.seconds_until_next_try("a") == 0, "the first has ended, the second has not"
    assert failures.count_failure("a", b"3") == 2
    assert failures.seconds_until_next_try("a") == 10


def test_a_rate_gives_back_what_time_brings() -> None:
    clock = Clock()
    rates = TokenBuckets(2, 3, clock)
    assert [rates.take_token_or_get_wait("a") for _ in range(4)] == [0, 0, 0, 1]
    assert rates.take_token_or_get_wait("b") == 0
    clock.now += 0.5
    assert [rates.take_token_or_get_wait("a") for _ in range(2)] == [0, 1]
    clock.now += 1000
    assert [rates.take_token_or_get_wait("a") for _ in range(4)] == [0, 0, 0, 1], "no more than the burst"


@pytest.mark.parametrize(
    ("client_", "address"),
    [
        (("192.0.2.7", 1), "192.0.2.7"),
        (("2001:db8:1:2:3:4:5:6", 1), "2001:db8:1:2::/64"),
        (("2001:db8:1:2:ffff::", 1), "2001:db8:1:2::/64"),
        (("2001:db8:1:3::", 1), "2001:db8:1:3::/64"),
        (("::ffff:192.0.2.7", 1), "192.0.2.7"),
        (("testclient", 1), "testclient"),
        (None, ""),
    ],
)
def test_an_address_is_that_of_a_customer(client_: Address | None, address: str) -> None:
    assert find_client_address({"type": "http", "client": client_}) == address


def test_a_request_shows_its_token_and_its_session_cookies_and_no_others() -> None:
    headers = [
        (b"host", b"plumbline.example.org"),
        (b"authorization", b"Bearer  plb_1"),
        (b"cookie", b"theme=dark; rater=one; __Host-staff=two;seen"),
        (b"cookie", b"staff=three"),
    ]
    expected = [hashlib.sha256(secret).digest() for secret in (b"plb_1", b"one", b"two", b"three")]
    assert list(unauthenticated_limits.hash_credentials({"headers": headers})) == expected
