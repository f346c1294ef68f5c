"""Buckets: documents that the same people judge. They are automatic, of a given size, or listed by the manager."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.design.assignment import draw_documents_from_buckets
from app.design.design_choices import BucketRules, Design, ExplicitBucket
from app.design.design_inputs import Codes, Rater
from app.domain.errors import Invalid, Place

USUAL_SIZE = 3
"""Number of raters in an automatic bucket, as in Riley et al. 2024, §4.2."""


@dataclass(frozen=True, slots=True, eq=False)
class RaterDocumentBuckets:
    """The buckets of a plan.

    Names, and rater codes (ascending) of each bucket; the bucket of each document of the test set, −1 if it is in none.
    """

    names: tuple[str, ...]
    pools: tuple[Codes, ...]
    of_document: Codes


def keep_one_account_per_person(raters: Sequence[Rater]) -> tuple[tuple[Rater, ...], tuple[Rater, ...]]:
    """Return one account for each person, the first by key, and the accounts that therefore get no work."""
    kept: dict[tuple[str, str], Rater] = {}
    for rater in sorted(raters, key=lambda one: one.key):
        kept.setdefault(rater.person_key, rater)
    chosen = set(kept.values())
    return tuple(kept.values()), tuple(rater for rater in raters if rater not in chosen)


def make_rater_document_buckets(
    rng: np.random.Generator,
    design: Design,
    raters: Sequence[Rater],
    document_keys: Sequence[str],
    chosen_documents: Codes,
) -> RaterDocumentBuckets:
    """Assign raters and documents to buckets.

    Parameters
    ----------
    raters : one account per person. document_keys : of all documents of the test set.
    chosen_documents : indices of those to assign.

    Raises
    ------
    Invalid
        A bucket names something that does not exist, or needs more raters than there are.
    """
    if design.buckets.kind == "explicit":
        return _explicit(rng, design.buckets.explicit, raters, document_keys, chosen_documents)
    size, count = _shape(design, len(raters), len(chosen_documents))
    order = rng.permutation(len(raters))
    sets = [np.sort(order[places]) for places in make_overlapping_rater_sets(len(raters), size, count)]
    of_document = np.full(len(document_keys), -1, dtype=np.int64)
    of_document[rng.permutation(chosen_documents)] = _bucket_of_documents(
        rng, len(chosen_documents), np.arange(len(sets))
    )
    return RaterDocumentBuckets(tuple(str(n + 1) for n in range(len(sets))), tuple(sets), of_document)


def _bucket_of_documents(rng: np.random.Generator, documents: int, buckets: Codes) -> Codes:
    """Return a bucket for each document; all get equally many, and a remainder goes to randomly ordered buckets."""
    if not documents:
        return np.empty(0, dtype=np.int64)
    drawn = draw_documents_from_buckets(rng, np.full(len(buckets), documents, dtype=np.int64), documents, 1)[0]
    return np.repeat(buckets, [len(some) for some in drawn])


def _shape(design: Design, raters: int, documents: int) -> tuple[int, int]:
    """Return the number of raters per bucket, and the number of buckets.

    Automatically there are as many buckets as raters, each with three raters or as many as an item needs. If there are
    too few documents to give each rater of each bucket one, or too few raters for several sets, one bucket contains
    all.
    """
    buckets: BucketRules = design.buckets
    if buckets.kind == "auto" and design.structure == "latin_square":
        return raters, 1  # everyone edits every sentence
    if buckets.kind == "auto" or buckets.raters_per_bucket is None:
        size = max(USUAL_SIZE, design.ratings_per_item, design.overlap.ratings_per_item if design.overlap else 0)
        return (raters, 1) if raters <= size or documents < raters * size else (size, raters)
    size = buckets.raters_per_bucket
    if size > raters:
        place = Place(("buckets", "raters_per_bucket"), f"there are {raters} raters (people)")
        raise Invalid(f"buckets of {size} raters need as many; there are {raters}", places=(place,))
    return size, buckets.count or (1 if size == raters else raters)


def make_overlapping_rater_sets(n_raters: int, size: int, count: int) -> list[Codes]:
    """Return sets of places in a circle of raters that overlap in a chain; pairs meet as evenly as possible.

    The first set contains the places 0 and 1, and others whose differences are as new as possible. Each further set is
    the first one, rotated by one more (7 raters in sets of 3: 0, 1, 3, where every pair meets exactly once). If there
    are more sets than raters, they start again; if there are fewer, they are spread over the circle.

    Examples
    --------
    >>> [list(map(int, places)) for places in make_overlapping_rater_sets(7, 3, 2)]
    [[0, 1, 3], [3, 4, 6]]
    """
    base = [0, 1][:size]
    while len(base) < size:
        seen = {(a - b) % n_raters for a in base for b in base if a != b}
        fresh = [
            (-len({(c - a) % n_raters for a in base} | {(a - c) % n_raters for a in base} | seen), c)
            for c in range(n_raters)
            if c not in base
        ]
        base.append(min(fresh)[1])
    turns = [n % n_raters if count >= n_raters else n * n_raters // count for n in range(count)]
    return [np.array(sorted((place + turn) % n_raters for place in base), dtype=np.int64) for turn in turns]


def _explicit(
    rng: np.random.Generator,
    listed: Sequence[ExplicitBucket],
    raters: Sequence[Rater],
    keys: Sequence[str],
    chosen: Codes,
) -> RaterDocumentBuckets:
    places: list[Place] = []
    index = {key: n for n, key in enumerate(keys)}
    allowed = set(chosen.tolist())
    of_document = np.full(len(keys), -1, dtype=np.int64)
    pools = []
    for n, bucket in enumerate(listed):
        where = ("buckets", "explicit", n)
        pools.append(_pool(bucket, raters, (*where, "raters"), places))
        for key in bucket.documents or ():
            if key not in index:
                places.append(Place((*where, "documents"), f"there is no document {key}"))
            elif of_document[index[key]] >= 0:
                places.append(Place((*where, "documents"), f"document {key} is in two buckets"))
            elif index[key] in allowed:
                of_document[index[key]] = n
    if places:
        raise Invalid(f"the buckets are not valid: {places[0].msg}", places=tuple(places))
    takers = np.array([n for n, bucket in enumerate(listed) if bucket.documents is None], dtype=np.int64)
    rest = chosen[of_document[chosen] < 0]
    if len(takers):
        of_document[rng.permutation(rest)] = _bucket_of_documents(rng, len(rest), takers)
    return RaterDocumentBuckets(tuple(bucket.name for bucket in listed), tuple(pools), of_document)


def _pool(bucket: ExplicitBucket, raters: Sequence[Rater], where: tuple[str | int, ...], places: list[Place]) -> Codes:
    code: Mapping[str, int] = {rater.key: n for n, rater in enumerate(raters)}
    if bucket.raters is None:
        pool = [n for n, rater in enumerate(raters) if rater.buckets is None or bucket.name in rater.buckets]
    else:
        missing = [key for key in bucket.raters if key not in code]
        places.extend(Place(where, f"there is no rater {key}, or another account of that person") for key in missing)
        pool = [code[key] for key in bucket.raters if key in code]
    if not pool:
        places.append(Place(where, f"bucket {bucket.name} has no raters"))
    return np.array(sorted(pool), dtype=np.int64)
