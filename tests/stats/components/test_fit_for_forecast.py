"""Which judgments the components of a forecast are fitted to."""

from __future__ import annotations

import numpy as np

from app.stats.components.fit_for_forecast import MOST_ROWS, sample_whole_documents
from tests.stats.components.worlds import crossed


def test_of_very_many_judgments_whole_documents_are_taken_for_a_plan() -> None:
    many = crossed(1, documents=400, systems=5, segments=5)
    part, documents = sample_whole_documents(many, MOST_ROWS)
    assert len(many) > 2 * MOST_ROWS
    assert 0.4 * MOST_ROWS < len(part) < 1.3 * MOST_ROWS
    assert documents == np.unique(part.document).size
    for code in np.unique(part.document):
        assert (part.document == code).sum() == (many.document == code).sum()
    few = crossed(1)
    assert sample_whole_documents(few, MOST_ROWS)[0] is few
