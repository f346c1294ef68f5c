"""No p-value is shown as 0: in no table and no file of any report that has one."""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Mapping
from typing import Any

import pytest

from app.api.models import ranking as _ranking
from app.reports import registry
from app.reports.gate.report import REPORT as GATE
from app.reports.kit.render import representations
from app.reports.kit.render.representations import render_report
from app.reports.kit.report import Report
from app.reports.quality import report as quality_report
from app.reports.ranking import renderings
from app.reports.ranking import view as ranking_view

P = re.compile(r"^[pq]_(value|adjusted|reverse|signed)$")
NOUGHT = re.compile(r"(?<![\d.,])[−-]?0?[.,]?0+(?:e[+-]?\d+)?(?![\d.,])")
LEAST = 1e-13  # less than any number of decimals shows; 0 is what is left of it where a distribution underflows


def with_p(value: object, p: float) -> Any:
    """The same report with another p wherever it has one."""
    if isinstance(value, Mapping):
        return {name: p if P.match(name) and isinstance(one, float) else with_p(one, p) for name, one in value.items()}
    return [with_p(one, p) for one in value] if isinstance(value, list | tuple) else value


def of_kind(kind: Report[Any, Any], example: Any, shape: str) -> str:
    view = kind.result.model_validate(example)
    return representations.render_report(kind, view.model_dump_json().encode(), shape, "default").decode()


def changed(before: str, after: str) -> list[str]:
    """The cells and lines that are others."""
    if "," in before.partition("\n")[0]:
        cells = [[cell for row in csv.reader(io.StringIO(text)) for cell in row] for text in (before, after)]
    else:
        ends = r"(?<!\\)&|\n" if "\\begin" in before else r"[|\n]"
        cells = [re.split(ends, html.unescape(text)) for text in (before, after)]
    assert len(cells[0]) == len(cells[1])
    return [new.strip() for old, new in zip(*cells, strict=True) if old != new]


ALL = [kind for kind in (*registry.ALL.values(), GATE) if with_p(kind.example, 0.4321) != with_p(kind.example, 0.5678)]


@pytest.mark.parametrize("p", [LEAST, 0.0])
@pytest.mark.parametrize("shape", ["csv", "md", "tex"])
def test_no_report_shows_a_p_of_nought(shape: str, p: float) -> None:
    assert {kind.name for kind in ALL} >= {"arms", "gate", "metrics", "preferences"}
    for kind in ALL:
        cells = changed(*(of_kind(kind, with_p(kind.example, one), shape) for one in (0.4321, p)))
        if shape != "csv":
            assert cells, kind.name
        assert [cell for cell in cells if NOUGHT.fullmatch(cell)] == [], kind.name


@pytest.mark.parametrize("shape", ["csv", "md", "tex"])
def test_no_ranking_and_no_quality_report_shows_a_p_of_nought(shape: str) -> None:
    ranking = _ranking.EXAMPLE.model_dump(mode="json")
    for plus_one, least in ((True, "<0.0001"), (False, "<0.001")):
        ranking["recipe"] |= {"plus_one": plus_one, "permutations": 1000}
        views = [ranking_view.RankingView.model_validate(with_p(ranking, p)) for p in (0.4321, 0.0)]
        cells = changed(
            *(renderings.render_ranking(one.model_dump_json().encode(), shape, "pairs").decode() for one in views)
        )
        assert set(cells) == {least.replace("<", r"\textless{}") if shape == "tex" else least} or cells == [
            cell for cell in cells if least.lstrip("<") in cell
        ]
        assert cells
    quality = quality_report.EXAMPLE.model_dump(mode="json")
    bodies = [
        quality_report.RaterQualityView.model_validate(with_p(quality, p)).model_dump_json().encode()
        for p in (0.4321, 0.0)
    ]
    cells = changed(*(render_report(quality_report.REPORT, body, shape).decode() for body in bodies))
    assert cells
    assert [cell for cell in cells if NOUGHT.fullmatch(cell)] == []
