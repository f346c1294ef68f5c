"""Latin squares over documents that were added to a plan, because the squares of the planned documents are complete."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.design.design_inputs import TestSet
from app.design.grouping import GroupedOutputs
from app.design.latin_square import assign_outputs_by_latin_squares, describe_outputs_without_rater
from app.design.open_groups import LatinSquareCellRater
from app.design.plan import Bucket, UnmetRequest
from app.domain.plural_forms import pluralize

Cell = tuple[int, str]
"""A stretch of the material, and a system."""
NO_SQUARE = "a square needs an output of every system, and no more raters in a bucket than systems"
NO_RATERS = "nobody is left in their bucket"


@dataclass(frozen=True, slots=True)
class AddedDocumentSquares:
    """Latin squares for added documents. cells: who edits which output."""

    cells: Mapping[Cell, LatinSquareCellRater]
    unmet: tuple[UnmetRequest, ...]

    def find_post_editor(self, stretch: int, system: str) -> LatinSquareCellRater | None:
        """Return who edits an output; None if nobody does or no new square covers it."""
        return self.cells.get((stretch, system))


def make_added_document_squares(
    rngs: Callable[[int], np.random.Generator],
    grouped: GroupedOutputs,
    test_set: TestSet,
    systems: Sequence[str],
    buckets: Sequence[Bucket],
    planned: Collection[str],
    *,
    uncovered: int = 0,
) -> AddedDocumentSquares:
    """Assign Latin squares, in each bucket, over the documents that have no planned group yet.

    Parameters
    ----------
    rngs : a generator for each bucket, by its number. planned : keys of the documents that have groups; uncovered : how
        many of their outputs nobody edits.

    Returns
    -------
    Who edits what. `unmet` lists what no square can contain: documents that lack a system's output for some segment,
    and documents in a bucket with no raters or with more raters than systems.

    Source: Bentivogli et al. 2018, §3.1.
    """
    whole = {(entry.stretch, system) for entry in grouped.entries for system in entry.systems}
    stretches: dict[str, list[int]] = defaultdict(list)
    for n, stretch in enumerate(grouped.stretches):
        stretches[test_set.documents[stretch.document].key].append(n)
    cells: dict[Cell, LatinSquareCellRater] = {}
    lacking: list[str] = []
    alone: list[str] = []
    for bucket in buckets:
        fresh = [key for key in bucket.documents if key not in planned]
        if not bucket.raters:
            alone += fresh
            continue
        able = [key for key in fresh if all((n, system) in whole for n in stretches[key] for system in systems)]
        able = [key for key in able if stretches[key] and len(bucket.raters) <= len(systems)]
        lacking += [key for key in fresh if key not in able]
        sentences = [n for key in able for n in stretches[key]]
        if sentences:
            uncovered += len(sentences) * (len(systems) - len(bucket.raters))
            rows = assign_outputs_by_latin_squares(
                rngs(bucket.number), len(sentences), len(systems), len(bucket.raters)
            )
            for n, row in zip(sentences, rows.tolist(), strict=True):
                for nth, (rater, system) in enumerate(zip(bucket.raters, row, strict=True), 1):
                    cells[n, systems[system]] = LatinSquareCellRater(nth, rater, 1 / len(systems))
    return AddedDocumentSquares(
        cells,
        (
            *_make_unmet_requests(lacking, NO_SQUARE),
            *_make_unmet_requests(alone, NO_RATERS),
            *describe_outputs_without_rater(uncovered, len(systems)),
        ),
    )


def _make_unmet_requests(documents: Sequence[str], why: str) -> tuple[UnmetRequest, ...]:
    if not documents:
        return ()
    named = ", ".join(documents[:5]) + (" …" if len(documents) > 5 else "")
    what = pluralize(len(documents), "document is given to nobody", "documents are given to nobody")
    return (UnmetRequest(what, f"{why}: {named}"),)
