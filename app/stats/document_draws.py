"""Bootstrap draws of documents in blocks, because all draws of a large campaign would take gigabytes of memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from app.stats.ratings import Floats

_BLOCK = 1 << 21  # values held at once
_EVEN = 8  # block sizes are multiples of this, so that matrix products give the same sums as one large block


def compute_draws_per_block(size: int) -> int:
    """Number of draws of `size` values that are held in memory at once."""
    return max(_EVEN, _BLOCK // max(size, 1) // _EVEN * _EVEN)


def iterate_draw_block_sizes(draws: int, size: int) -> Iterator[int]:
    """Yield the number of draws in each block, for draws of `size` values."""
    step = compute_draws_per_block(size)
    return (min(step, draws - start) for start in range(0, draws, step))


def iterate_bootstrap_document_counts(
    rng: np.random.Generator, documents: int, draws: int, *, rows: int | None = None
) -> Iterator[Floats]:
    """Draw D of D documents and count each; yields blocks of shape (≤ rows, D). rows: None chooses the block size."""
    step = rows or compute_draws_per_block(documents)
    for start in range(0, draws, step):
        n = min(step, draws - start)
        if not documents:
            yield np.zeros((n, 0))
            continue
        picked = rng.integers(0, documents, size=(n, documents))
        picked += documents * np.arange(n)[:, None]
        yield np.bincount(picked.ravel(), minlength=n * documents).reshape(n, documents).astype(np.float64)


def bootstrap_document_sums(
    rng: np.random.Generator, documents: int, draws: int, sums: Sequence[Floats]
) -> list[Floats]:
    """Sums over the documents of each draw; all sums use the same draws.

    Parameters
    ----------
    sums : what each document contributes, shape (D,) each. The result has shape (draws,) for each.
    """
    return sum_documents_by_draw(iterate_bootstrap_document_counts(rng, documents, draws), sums)


def sum_documents_by_draw(blocks: Iterable[Floats], sums: Sequence[Floats]) -> list[Floats]:
    """Compute every sum in every draw of the blocks, shape (draws,) each."""
    parts: list[list[Floats]] = [[np.empty(0)] for _ in sums]
    for counts in blocks:
        for part, own in zip(parts, sums, strict=True):
            part.append(counts @ own)
    return [np.concatenate(part) for part in parts]
