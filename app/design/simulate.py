"""Simulated studies: who would have rated what if the study had been repeated under a design.

They use the same assignment as campaigns (`assignment.py`, `entropy.py`), with the raters who really rated a bucket.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.design.allocation_input import make_output_allocation_input
from app.design.assignment import assign_groups_in_simulated_studies
from app.design.design_choices import Grouping
from app.design.design_inputs import Bools, Codes
from app.design.entropy import assign_groups_for_target_entropy
from app.domain.errors import Invalid


def simulate_rater_assignments(
    rng: np.random.Generator,
    *,
    grouping: Grouping,
    bucket_of_document: Codes,
    n_systems: int,
    pools: Sequence[Codes],
    n_raters: int,
    studies: int,
    entropy: float | None = None,
    ratings: int = 1,
    present: Bools | None = None,
) -> Codes:
    """Return the raters of every output in many studies of the same documents.

    Parameters
    ----------
    bucket_of_document : bucket of each document of the study, shape (D,). pools : rater codes of each bucket.
    entropy : normalized entropy of the work, None for an assignment that is as even as possible.
    ratings : raters of each output. present : which outputs exist, shape (D, S); None for all.

    Returns
    -------
    Rater codes, shape (studies, D, S, ratings), −1 if there is no output.

    Raises
    ------
    Invalid
        A bucket has too few raters, or the entropy is out of reach.

    Source: Riley et al. 2024, §6.1 and appendix 10.3. System-balanced assignment with an entropy is an extension:
    (document, system) units of a bucket are reassigned one by one.

    Examples
    --------
    >>> raters = simulate_rater_assignments(
    ...     np.random.default_rng(1), grouping="psxs", bucket_of_document=np.array([0, 0, 0]), n_systems=2,
    ...     pools=[np.array([0, 1, 2])], n_raters=3, studies=4,
    ... )
    >>> raters.shape, bool((raters[:, :, 0] == raters[:, :, 1]).all())
    ((4, 3, 2, 1), True)
    """
    if studies < 1 or n_systems < 1 or not len(bucket_of_document):
        raise Invalid("a study needs documents and systems")
    items = make_output_allocation_input(
        grouping, bucket_of_document, n_systems, pools, n_raters, ratings=ratings, present=present
    )
    if entropy is None:
        return items.map_group_raters_to_outputs(assign_groups_in_simulated_studies(rng, items.layout, studies))
    return items.map_group_raters_to_outputs(assign_groups_for_target_entropy(rng, items.layout, entropy, studies))
