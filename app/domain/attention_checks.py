"""Attention checks: documents with known answers that are placed at random among a rater's tasks."""

from __future__ import annotations

import hashlib

KIND = "attention"
"""The kind of their documents, and the key of their data in the `meta` of segments and tasks."""
ROLE = 5
"""The role of their items, besides those of `RatingRole`; these items give no ratings."""


def choose_attention_check(
    seed: int, campaign_id: int, rater_id: int, handed_in: int, *, rate: float, n_checks: int
) -> int | None:
    """Return which of `n_checks` checks a rater gets after a number of hand-ins; None for none. Repeated calls agree.

    >>> [choose_attention_check(1, 7, 3, n, rate=0.5, n_checks=4) for n in range(8)]
    [None, None, None, 1, None, None, 0, None]
    """
    drawn = hashlib.sha256(f"attention {seed} {campaign_id} {rater_id} {handed_in}".encode()).digest()
    if not n_checks or int.from_bytes(drawn[:7]) / 2**56 >= rate:
        return None
    return int.from_bytes(drawn[7:15]) % n_checks
