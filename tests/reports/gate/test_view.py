"""What the gate's table says of the recipe's own test; no database."""

from __future__ import annotations

import pytest

from app.reports.gate.report import EXAMPLE
from app.reports.gate.view import GateView, make_tables

NOBODY, OLD = {"significant": False}, {"significant": False, "significantly_better": "old"}


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            {"p_value": 0.2, "p_reverse": 0.8, "p_adjusted": 0.2, **NOBODY},
            "new ranks higher, not significant, p 0.2000",
        ),
        (
            {"p_value": 0.02, "p_adjusted": 0.04, "significant": True, "significantly_better": "new"},
            "new ranks higher, significant, p 0.0400",
        ),
        (
            {"p_value": 0.953, "p_reverse": 0.047, "p_adjusted": 0.953, **OLD},
            "new ranks higher, but old is significantly better, p 0.0470",
        ),
        (
            {"p_value": 0.999, "p_reverse": 0.001, "p_adjusted": 0.006, **OLD},
            "new ranks higher, but old is significantly better, p 0.0060",
        ),
        (
            {"p_value": 0.03, "p_reverse": None, "p_adjusted": 0.03, **OLD},
            "new ranks higher, but old is significantly better, p 0.0300",
        ),
    ],
    ids=["neither", "the higher-ranked", "reverse alone", "reverse adjusted", "reverse two-sided"],
)
def test_the_table_names_who_is_significantly_better_and_by_which_p(found: dict[str, object], said: str) -> None:
    by_recipe = {"test": "rank_sum by segment", "better": "new", "p_reverse": None, **found}
    view = GateView.model_validate({**EXAMPLE, "by_recipe": by_recipe})
    assert dict(make_tables(view)[0].table.rows)["By recipe"] == f"{said} (rank_sum by segment)"
