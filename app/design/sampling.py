"""The systems and documents that a design selects, with the inclusion probability of each document."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from app.design.design_choices import Design
from app.design.design_inputs import Codes, DocumentToPlan, Floats, System
from app.domain.errors import Invalid, Place


def choose_systems(design: Design, systems: Sequence[System]) -> tuple[str, ...]:
    """Return the keys of the systems judged, sorted.

    Raises Invalid naming those that do not exist.
    """
    known = {system.key for system in systems}
    if design.systems is None:
        if not known:
            raise Invalid("there are no systems")
        return tuple(sorted(known))
    missing = sorted(set(design.systems) - known)
    if missing:
        place = Place(("systems",), f"unknown: {', '.join(missing)}")
        raise Invalid(f"there is no system {missing[0]}", places=(place,))
    return tuple(sorted(design.systems))


def choose_documents(
    rng: np.random.Generator, design: Design, documents: Sequence[DocumentToPlan]
) -> tuple[Codes, Floats]:
    """Return the indices of the documents judged, ascending, and each document's inclusion probability, shape (D,).

    Documents chosen by key are not drawn, so their probability is 1, and that of the others 0.

    Raises
    ------
    Invalid
        A key is unknown, or more documents are requested than there are.
    """
    everyone = np.arange(len(documents))
    choice = design.documents
    if choice.keys is not None:
        missing = sorted(set(choice.keys) - {document.key for document in documents})
        if missing:
            place = Place(("documents",), f"unknown: {', '.join(missing)}")
            raise Invalid(f"there is no document {missing[0]}", places=(place,))
        is_chosen = np.array([document.key in set(choice.keys) for document in documents])
        return everyone[is_chosen], is_chosen.astype(np.float64)
    if choice.sample is None:
        return everyone, np.ones(len(documents))
    if choice.sample > len(documents):
        place = Place(("documents",), f"there are {len(documents)}")
        raise Invalid(f"{choice.sample} documents are asked for; there are {len(documents)}", places=(place,))
    strata: dict[str, list[int]] = {}
    for n, document in enumerate(documents):
        strata.setdefault((document.domain or "") if choice.by_domain else "", []).append(n)
    inclusion = np.zeros(len(documents))
    picked: list[int] = []
    for members, quota in zip(strata.values(), _proportional(choice.sample, list(strata.values())), strict=True):
        inclusion[members] = quota / len(members)
        picked += [members[n] for n in rng.permutation(len(members))[:quota]]
    return np.sort(np.array(picked, dtype=np.int64)), inclusion


def _proportional(sample: int, strata: list[list[int]]) -> list[int]:
    """Return shares of a sample in proportion to the sizes of the strata; the largest remainders get the rest."""
    everyone = sum(map(len, strata))
    exact = [Fraction(sample * len(members), everyone) for members in strata]
    quotas = [int(share) for share in exact]
    order = sorted(range(len(strata)), key=lambda n: (quotas[n] - exact[n], n))
    for n in order[: sample - sum(quotas)]:
        quotas[n] += 1
    return quotas
