"""Items that every rater judges: a sample of a calibration set, or whole stretches of the test set."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.design.design_choices import CalibrationRules, Placement
from app.design.design_inputs import Codes, DocumentToPlan
from app.design.item_order import ItemToPlace, ScreenBlock
from app.domain.errors import Invalid, Place


def sample_common_calibration_items(
    rng: np.random.Generator, calibration: CalibrationRules, documents: Sequence[DocumentToPlan]
) -> list[ItemToPlace]:
    """Return the items of the calibration set that everyone judges, the same for all and in the set's order.

    A sample has equally many items of every level of quality (± 1), or all of a level that has fewer.

    Raises
    ------
    Invalid
        The set contains fewer items than requested, or was not imported.

    Source: Licht et al. 2022, §4 (pairs across levels of quality).
    """
    if calibration.set is None:
        return []
    wanted = calibration.sample or len(documents)
    if not 0 < wanted <= len(documents):
        place = Place(("calibration", "sample"), f"the set holds {len(documents)} items")
        raise Invalid(f"{wanted} calibration items are asked for; the set holds {len(documents)}", places=(place,))
    strata: dict[str, list[int]] = {}
    for n, document in enumerate(documents):
        strata.setdefault(document.stratum or "", []).append(n)
    members = [strata[name] for name in sorted(strata)]
    counts = compute_equal_quotas(rng, wanted, np.array([len(each) for each in members], dtype=np.int64)).tolist()
    drawn = [rng.permutation(each)[:count].tolist() for each, count in zip(members, counts, strict=True)]
    chosen = sorted(n for each in drawn for n in each)
    return [
        ItemToPlace(documents[n].key, 1, documents[n].n_segments, sum(documents[n].words), "calibration")
        for n in chosen
    ]


def compute_equal_quotas(rng: np.random.Generator, wanted: int, sizes: Codes) -> Codes:
    """Return how many to take from each part, as equally as sizes allow; random parts give one more.

    Examples
    --------
    >>> compute_equal_quotas(np.random.default_rng(1), 18, np.array([20, 20, 2, 20, 20]))
    array([4, 4, 2, 4, 4])
    """
    counts = np.zeros_like(sizes)
    while left := wanted - int(counts.sum()):
        able = np.flatnonzero(counts < sizes)
        if left < len(able):
            counts[rng.permutation(able)[:left]] += 1
        else:
            counts[able] += np.minimum(left // len(able), sizes[able] - counts[able])
    return counts


def draw_common_documents(rng: np.random.Generator, wanted: int, items: Codes) -> Codes:
    """Draw documents, in random order, that together have `wanted` items; everyone judges them, outside the buckets.

    items: items of each document, shape (D,).

    Raises
    ------
    Invalid
        Nothing would be left for the buckets.
    """
    order = rng.permutation(len(items))
    enough = int(np.searchsorted(np.cumsum(items[order]), wanted)) + 1
    if enough >= len(items):
        place = Place(("calibration", "common_items"), f"the chosen documents have {int(items.sum())} items")
        raise Invalid(f"{wanted} common items leave nothing for the buckets", places=(place,))
    return np.sort(order[:enough])


def place_calibration_items(
    blocks: Sequence[ScreenBlock], calibration: Sequence[ScreenBlock], placement: Placement
) -> list[ScreenBlock]:
    """Place the calibration items in a rater's work: first, spread evenly, or half first and half last."""
    if placement == "first" or not blocks:
        return [*calibration, *blocks]
    if placement == "first_and_last":
        half = -(-len(calibration) // 2)
        return [*calibration[:half], *blocks, *calibration[half:]]
    result: list[ScreenBlock] = []
    done = 0
    for n, block in enumerate(blocks):
        due = len(calibration) * (2 * n + 1) // (2 * len(blocks))
        result += [*calibration[done:due], block]
        done = due
    return [*result, *calibration[done:]]
