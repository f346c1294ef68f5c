"""Pictures of many systems, many recipes and many language pairs still say what they are about."""

from __future__ import annotations

import re

import pytest

from app.reports.ranking import view as ranking_view
from app.reports.ranking.renderings import render_ranking
from app.reports.ranking_comparison.compared_rankings import ComparedRanking, make_rankings_side_by_side
from app.reports.ranking_comparison.tables import render_rankings_side_by_side as render_beside
from tests.reports.ranking.test_forest_plot import texts


@pytest.fixture
def view(system, pair, report):
    def make(names):
        rows = [system(name, rank) for rank, name in enumerate(names, 1)]
        pairs = [pair(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
        return report(rows, pairs)

    return make


def beside(view, *rankings):
    return make_rankings_side_by_side(
        "subject",
        [
            ComparedRanking(f"c{i}", ranking_view.parse_ranking_view_json(view(names)))
            for i, names in enumerate(rankings)
        ],
    )


def test_a_matrix_of_forty_systems_has_its_figures_and_one_of_sixty_says_that_it_has_not(view):
    few, many = (texts(render_ranking(view([f"s{i}" for i in range(n)]), "svg", "pairs")) for n in (40, 60))
    figures = [sum(bool(re.fullmatch(r"<?\.\d{3}|1", text)) for text in found) for found in (few, many)]
    assert figures[0] >= 40 * 39 / 2
    assert figures[1] < 40
    assert any("below it the difference" in text for text in few)
    assert any("there is no room for the figures" in text for text in many)


def test_a_series_names_every_system_even_those_that_only_a_middle_ranking_has(view):
    found = texts(render_beside(beside(view, ["a", "b"], ["a", "only-here", "b"], ["b", "a"]), "svg"))
    assert {"a", "b", "only-here", "c0", "c1", "c2"} <= set(found)
    assert found.count("–") == 2
    assert "mean" in found


def test_rankings_of_the_same_systems_are_lines_and_neighbours_have_different_colours(view):
    names = [f"s{i}" for i in range(6)]
    svg = render_beside(beside(view, names, names[::-1], names), "svg").decode()
    strong = re.findall(r'stroke="(#[0-9a-f]{6})" stroke-width="1.8"', svg)
    assert len(set(strong)) == 5
    assert "mean" not in texts(svg)
