"""Sums by item of a campaign that does not fit into memory, computed in blocks of whole documents.

The functions that sum a whole campaign lay out and sum each block; this module combines the sums.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from app.design.design_inputs import Bools, Codes
from app.stats.ratings import Floats, RatingLabels, Ratings
from app.stats.stability.multiply_rated_documents import (
    DocumentRaterPools,
    UnusableDocumentReasons,
    arrange_multiply_rated_documents,
    average_repeated_ratings,
    require_usable_documents,
)
from app.stats.stability.studies import RaterDocumentSums, find_rater_positions_in_pools, sum_ratings_over_segments

_EMPTY = {"total": 0.0, "square": 0.0, "errors": 0.0, "low": np.inf, "high": -np.inf}
"""Values at the places without a rater, by the name of the sum."""


@dataclass(frozen=True, slots=True, eq=False)
class _BlockSums:
    """Sums of the usable documents of a block. pools: codes, among all raters, of the raters of each bucket."""

    sums: RaterDocumentSums
    pools: tuple[Codes, ...]


def sum_ratings_over_blocks(
    blocks: Iterable[Ratings], systems: Codes, *, centre: float, labels: RatingLabels, higher_is_better: bool
) -> RaterDocumentSums:
    """Sum the multiply-rated documents of all blocks.

    The result is what `extract_multiply_rated_documents` and `sum_ratings_over_segments` return for
    all ratings at once.

    Parameters
    ----------
    blocks : the ratings that an analysis uses, some whole documents at a time, in the order of their codes.
    systems : codes of all systems that were rated, ascending. centre : any number near the scores.

    Raises
    ------
    NoMultiplyRatedDocuments
    """
    reasons: list[UnusableDocumentReasons] = []
    summed: list[_BlockSums] = []
    marked = True
    code = {rater: n for n, rater in enumerate(labels.raters)}
    for ratings in blocks:
        averaged = average_repeated_ratings(ratings, systems)
        reasons.append(averaged.find_unusable_document_reasons())
        marked = marked and not (ratings.n_errors < 0).any()
        if not reasons[-1].usable.any():
            continue
        data = arrange_multiply_rated_documents(ratings, averaged, reasons[-1].usable, ())
        raters = np.array([code[rater] for rater in data.raters], dtype=np.int64)
        summed.append(_BlockSums(sum_ratings_over_segments(data, centre), tuple(raters[pool] for pool in data.pools)))
    facts = UnusableDocumentReasons.concatenate(reasons) if reasons else _no_documents()
    usable, left_out = facts.choose_usable_documents()
    require_usable_documents(systems.size, usable, left_out)
    kept = usable[facts.usable]
    rated = replace(
        _put_together_documents(summed, kept, labels, systems, higher_is_better=higher_is_better), left_out=left_out
    )
    arrays = {name: _put_together(summed, name, kept, int(rated.n_raters_by_document.max())) for name in _EMPTY}
    if not marked:
        arrays["errors"][:] = 0.0
    return RaterDocumentSums(
        data=rated,
        centre=centre,
        place=find_rater_positions_in_pools(rated.pools, len(rated.raters)),
        n_segments=np.concatenate([block.sums.n_segments for block in summed])[kept],
        **arrays,
    )


def _no_documents() -> UnusableDocumentReasons:
    none, no = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.bool_)
    return UnusableDocumentReasons(none, none, no, no, no)


def _put_together_documents(
    summed: list[_BlockSums], kept: Bools, labels: RatingLabels, systems: Codes, *, higher_is_better: bool
) -> DocumentRaterPools:
    """Combine the documents, with their buckets by raters, as if all documents had been read at once."""
    names = [name for block in summed for name in block.sums.data.documents]
    pools = [pool for block in summed for pool in block.pools]
    first = np.cumsum([0, *(len(block.pools) for block in summed)])
    pool = np.concatenate([block.sums.data.bucket + first[n] for n, block in enumerate(summed)])[kept]
    of_pool, pool = np.unique(pool, return_inverse=True)
    chosen = [pools[n] for n in of_pool]
    used = np.unique(np.concatenate(chosen))
    # Pack one bit per rater: rows of bits sort like rows of booleans.
    sets = np.zeros((len(chosen), -(-used.size // 8)), dtype=np.uint8)
    for row, raters in enumerate(chosen):
        held = np.zeros(used.size, dtype=np.bool_)
        held[np.searchsorted(used, raters)] = True
        sets[row] = np.packbits(held)
    distinct, bucket = np.unique(sets, axis=0, return_inverse=True)
    rated = np.unpackbits(distinct, axis=1, count=used.size).astype(np.bool_)
    return DocumentRaterPools(
        systems=tuple(labels.systems[n] for n in systems),
        documents=tuple(name for name, there in zip(names, kept, strict=True) if there),
        raters=tuple(labels.raters[n] for n in used),
        bucket=bucket.ravel()[pool].astype(np.int64),
        pools=tuple(np.flatnonzero(row).astype(np.int64) for row in rated),
        higher_is_better=higher_is_better,
        left_out=(),
    )


def _put_together(summed: list[_BlockSums], name: str, kept: Bools, most: int) -> Floats:
    """Combine one of the sums of all documents in use. most: raters of the largest pool; one empty place is added."""
    n_systems = summed[0].sums.total.shape[1]
    whole = np.full((int(kept.sum()), n_systems, most + 1), _EMPTY[name])
    at = begin = 0
    for block in summed:
        values = getattr(block.sums, name)
        own = values[kept[begin : begin + len(values)]]
        wide = min(own.shape[2] - 1, most)
        whole[at : at + len(own), :, :wide] = own[:, :, :wide]
        at, begin = at + len(own), begin + len(values)
    return whole
