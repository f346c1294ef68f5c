"""Content negotiation: which of the available types a client prefers (RFC 9110, §12.5.1)."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import Request

MOST_RANGES = 50


def choose_media_type(request: Request, available: Sequence[str]) -> str:
    """Return the available type that `Accept` ranks highest; the first one if it ranks none of them."""
    ranges = [_read(part) for text in request.headers.getlist("accept") for part in text.split(",")][:MOST_RANGES]
    best, best_quality = available[0], 0.0
    for offered in available:
        quality = _quality(offered, ranges)
        if quality > best_quality:
            best, best_quality = offered, quality
    return best


def _read(part: str) -> tuple[str, float]:
    media_range, *parameters = (piece.strip().lower() for piece in part.split(";"))
    weights = [text[2:] for text in parameters if text.startswith("q=")]
    try:
        quality = float(weights[0]) if weights else 1.0
    except ValueError:
        quality = 0.0
    return media_range, quality if 0 <= quality <= 1 else 0.0


def _quality(offered: str, ranges: Sequence[tuple[str, float]]) -> float:
    """Return the weight of the most specific range that covers a type."""
    main = offered.partition("/")[0]
    for covering in (offered, f"{main}/*", "*/*"):
        for media_range, quality in ranges:
            if media_range == covering:
                return quality
    return 0.0
