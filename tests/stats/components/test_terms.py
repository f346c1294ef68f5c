"""Which terms a design can tell apart."""

from __future__ import annotations

import numpy as np
import pytest

from app.stats.components.observations import ModelObservations, make_model_observations
from app.stats.components.terms import TERMS, IdentifiableTerms, encode_term_levels, select_identifiable_terms
from tests.stats.components.worlds import crossed


def said(found: IdentifiableTerms) -> dict[str, str]:
    return {one.term: one.why for one in found.left_out}


def test_two_raters_an_item_and_several_segments_tell_all_terms_apart() -> None:
    found = select_identifiable_terms(make_model_observations(crossed(1, documents=8)))
    assert found.terms == TERMS
    assert not found.left_out


def test_one_rater_a_document_cannot_be_told_from_the_document() -> None:
    found = select_identifiable_terms(make_model_observations(crossed(1, documents=12, ratings=1)))
    assert found.terms == ("rater", "doc", "segment", "doc_system", "rater_system")
    assert said(found) == {
        "segment_system": "confounded with residual",
        "rater_doc": "confounded with document",
        "rater_segment": "confounded with segment",
        "rater_doc_system": "confounded with document × system",
    }


def test_one_of_a_kind_has_no_levels() -> None:
    alone = said(select_identifiable_terms(make_model_observations(crossed(1, raters=1, ratings=1))))
    assert alone["rater"] == "fewer than two levels"
    assert alone["rater_system"] == "confounded with the systems"
    system = said(select_identifiable_terms(make_model_observations(crossed(1, systems=1))))
    assert system["doc_system"] == "confounded with document"


def test_one_rater_a_system_cannot_be_told_from_the_system() -> None:
    ratings = crossed(4, documents=10, raters=3, ratings=3)
    found = select_identifiable_terms(make_model_observations(ratings.where(ratings.system == ratings.rater)))
    assert said(found)["rater"] == "confounded with the systems"


@pytest.mark.parametrize("seed", range(4))
def test_what_is_kept_is_what_the_rank_of_the_matrices_says(seed: int) -> None:
    """A slow twin with the N × N matrices themselves, on designs with holes."""
    rng = np.random.default_rng(seed)
    how = {
        "documents": int(rng.integers(1, 5)),
        "ratings": int(rng.integers(1, 3)),
        "segments": int(rng.integers(1, 3)),
    }
    rows = make_model_observations(crossed(seed + 50, systems=2, raters=3, missing=0.3, **how))
    assert select_identifiable_terms(rows).terms == by_rank(rows)


def by_rank(rows: ModelObservations) -> tuple[str, ...]:
    x = np.eye(len(rows.systems))[rows.system]
    m = np.eye(len(rows)) - x @ np.linalg.pinv(x)
    kept, flat = [], [m.ravel()]
    for term in TERMS:
        level = encode_term_levels(rows, term)
        matrix = m @ (level[:, None] == level[None]) @ m
        if (
            np.linalg.matrix_rank(np.stack([*flat, matrix.ravel()]), tol=1e-7) > len(flat)
            and np.abs(matrix).max() > 1e-9
        ):
            kept.append(term)
            flat.append(matrix.ravel())
    return tuple(kept)
