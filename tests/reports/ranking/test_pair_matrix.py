"""The pairwise matrix: every pair twice, clusters framed, the same bytes always, harmless."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from app.reports.ranking.renderings import render_ranking

SVG = "{http://www.w3.org/2000/svg}"


def texts(picture: bytes) -> list[str]:
    """Every text of a picture, in drawing order."""
    return ["".join(t.itertext()) for t in ET.fromstring(picture).iter(f"{SVG}text")]  # noqa: S314, our own


def ranked(report, system, pair, n, **other):
    """A ranking of n systems with all pairs."""
    systems = [system(f"system-{i}", i) for i in range(1, n + 1)]
    pairs = [
        pair(f"system-{i}", f"system-{j}", p_adjusted=0.011 * j, difference=j - i + 0.25, **other)
        for i in range(1, n + 1)
        for j in range(i + 1, n + 1)
    ]
    return report(systems, pairs)


def test_every_pair_has_its_p_value_above_and_its_difference_below(report, system, pair):
    shown = texts(render_ranking(ranked(report, system, pair, 4), "svg", "pairs"))

    assert [shown.count(p) for p in (".022", ".033", ".044")] == [1, 2, 3]
    assert [shown.count(d) for d in ("1.25", "2.25", "3.25")] == [3, 2, 1]
    assert all(shown.count(f"system-{i}") == 2 for i in range(1, 5))


def test_the_p_value_is_the_adjusted_one_where_there_is_one_and_the_line_below_says_which(report, system, pair):
    systems, pairs = [system("A", 1), system("B", 2)], [pair("A", "B", p_value=0.2, p_adjusted=None)]

    adjusted = texts(render_ranking(ranked(report, system, pair, 2), "svg", "pairs"))
    plain = texts(render_ranking(report(systems, pairs), "svg", "pairs"))

    assert any(text.startswith("Above the diagonal adjusted p") for text in adjusted)
    assert any(text.startswith("Above the diagonal p of") for text in plain)
    assert ".200" in plain


def test_pairs_that_could_not_be_tested_have_no_p_value(report, system, pair):
    untested = ranked(report, system, pair, 2, testable=False, significant=False)

    assert ".022" not in texts(render_ranking(untested, "svg", "pairs"))


@pytest.mark.parametrize("n", [0, 1, 2, 14, pytest.param(60, marks=pytest.mark.soak)])
def test_a_matrix_of_any_size_is_a_picture_and_the_same_one_again(report, system, pair, n):
    body = ranked(report, system, pair, n)

    picture = render_ranking(body, "svg", "pairs")

    assert picture == render_ranking(body, "svg", "pairs")
    assert texts(picture).count(f"system-{n}") == (2 if n else 0)


def test_the_matrix_is_another_picture_than_the_forest_plot_and_holds_nothing_that_runs(report, system, pair):
    body = ranked(report, system, pair, 3)
    picture = render_ranking(body, "svg", "pairs")

    assert picture != render_ranking(body, "svg")
    root = ET.fromstring(picture)  # noqa: S314, our own
    assert not [e for e in root.iter() if e.tag.rpartition("}")[2] in {"script", "image", "foreignObject", "a"}]
    assert not [name for e in root.iter() for name in e.attrib if name.lower().startswith("on")]
