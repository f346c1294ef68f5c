"""A ranking as CSV, LaTeX, Markdown and on a terminal."""

from __future__ import annotations

import csv
import doctest
import io
import json

import numpy as np
import pytest
from rich.console import Console

from app.cli.kit.terminal import format_ranking_table
from app.domain.errors import Invalid
from app.reports.kit import table, text_formatting
from app.reports.kit.render import csv_text, latex
from app.reports.ranking import captions as ranking_captions
from app.reports.ranking import csv as ranking_csv
from app.reports.ranking import tables as ranking_tables
from app.reports.ranking import view as ranking_view
from app.reports.ranking.renderings import render_ranking
from app.stats.ranking.result import SegmentScoreTable

WIDER = (-0.25, 1.5)
FORMULAS = ["=cmd()", "+1+1", "-2+3", "@SUM(A1)", "\tx", "\rx"]


def rows_of(body: bytes) -> list[dict[str, str]]:
    """The rows of a CSV file by heading."""
    return list(csv.DictReader(io.StringIO(body.decode(), newline="")))


def test_csv_keeps_every_digit_of_every_number(system, report):
    row = rows_of(render_ranking(report([system("A", 1, score=0.911531190926276, relative=-0.1)]), "csv"))[0]

    assert float(row["score"]) == 0.911531190926276
    assert row["relative"] == "-0.1"


def test_csv_has_one_row_a_system_and_names_recipe_and_data_version(system, report):
    rows = rows_of(render_ranking(report([system("A", 1), system("B", 2)]), "csv"))

    assert [row["system"] for row in rows] == ["A", "B"]
    assert {(row["recipe"], row["recipe_hash"], row["data_version"]) for row in rows} == {
        ("recommended", "sha256:abc", "7")
    }


@pytest.mark.parametrize("name", FORMULAS)
def test_csv_marks_a_name_that_a_spreadsheet_would_run(system, pair, report, name):
    body = report([system(name, 1)], [pair(name, "B")])

    assert rows_of(render_ranking(body, "csv"))[0]["system"] == f"'{name}"
    assert rows_of(render_ranking(body, "csv", "pairs"))[0]["better"] == f"'{name}"


def test_csv_leaves_unknown_figures_empty(system, pair, report):
    body = report([system("A", 1, interval=None, n_documents=None)], [pair("A", "B", p_value=None, testable=False)])

    assert rows_of(render_ranking(body, "csv"))[0]["interval_low"] == ""
    first = rows_of(render_ranking(body, "csv", "pairs"))[0]
    assert (first["p_value"], first["testable"]) == ("", "false")


@pytest.mark.parametrize("known", [(), ("new raters",), ("new domains",), ("new raters", "new domains")])
def test_pairs_show_each_population_that_is_known_beside_these_raters(system, pair, report, known):
    wider = {f"{of.replace(' ', '_')}_interval": WIDER for of in known}
    shown = ranking_tables.make_pairs_table(
        ranking_view.parse_ranking_view_json(report([system("A", 1), system("B", 2)], [pair("A", "B", **wider)]))
    )
    here = [i for i, heading in enumerate(shown.headings) if heading.startswith("95% interval")]
    assert [shown.headings[i] for i in here] == ["95% interval", *(f"95% interval, {of}" for of in known)]
    assert {shown.rows[0][i] for i in here[1:]} == ({"[−0.250, 1.500]"} if known else set())


def test_segment_csv_is_written_in_batches_with_a_missing_score_empty(monkeypatch):
    monkeypatch.setattr(ranking_csv, "_CSV_BATCH", 2)
    codes = np.array([0, 0, 1], dtype=np.int32)
    table = SegmentScoreTable(
        systems=("A", "=B"),
        documents=("d1",),
        system=codes,
        document=np.zeros(3, dtype=np.int32),
        position=np.array([1, 2, 1], dtype=np.int32),
        score=np.array([0.5, np.nan, 2.0]),
        raw=np.array([0.5, 1.0, 2.0]),
        n=np.array([1, 1, 2], dtype=np.int32),
    )

    parts = list(ranking_csv.make_segments_csv(table, recipe="recommended"))

    assert len(parts) == 3
    rows = rows_of(b"".join(parts))
    assert [row["score"] for row in rows] == ["0.5", "", "2.0"]
    assert rows[2]["system"] == "'=B"


def test_markdown_is_the_expected_table(system, report):
    shown = render_ranking(report([system("A", 1), system("B", 2, kind="human"), system("C", 3)]), "md").decode()

    assert shown.splitlines()[:7] == [
        "**`test_campaign (en → de)`**: ranking by `recommended`, lower is better",
        "",
        (
            "| Cluster | Rank | System | MQM score | 95% interval | Rank range | Segments | Documents | Effective "
            "| Ratings |"
        ),
        "| --: | --: | :-- | --: | :-- | :-- | --: | --: | --: | --: |",
        r"| 1 | 1 | `A` | 1.12 | \[0.87, 1.37\] | 1–2 | 1,529 | 12 | – | 1,529 |",
        r"| 1 | 2 | `B (human)` | 1.74 | \[1.49, 1.99\] | 2–3 | 1,529 | 12 | – | 1,529 |",
        r"| 2 | 3 | `C` | 2.35 | \[2.10, 2.60\] | 3–4 | 1,529 | 12 | – | 1,529 |",
    ]
    assert "Recipe recommended" in shown
    assert "- Warning: 5 documents" in shown


@pytest.mark.parametrize("name", ["a|b", "`x`", "@someone", "<img src=x>", "[x](http://y)", "a\nb"])
def test_markdown_shows_a_name_and_never_runs_it(system, report, name):
    line = next(
        row
        for row in render_ranking(report([system(name, 1)]), "md").decode().splitlines()
        if row.startswith("| 1 | 1 |")
    )
    cells = line.replace("\\|", "").split("|")

    assert len(cells) == 12  # 10 cells between the outer bars: nothing in the name ended one
    assert cells[3].strip().startswith("`")
    assert cells[3].strip().endswith("`")


def test_latex_escapes_every_special_character():
    assert latex.escape_latex("a_b&c%d#e$f{g}h~i^j\\k") == (
        r"a\_b\&c\%d\#e\$f\{g\}h\textasciitilde{}i\textasciicircum{}j\textbackslash{}k"
    )


def test_latex_draws_a_rule_between_clusters_and_none_within(system, report):
    lines = render_ranking(report([system("A", 1), system("B", 2), system("C_1", 3)]), "tex").decode().splitlines()
    body = lines[next(i for i, line in enumerate(lines) if r"\midrule" in line) + 1 :]

    assert [line.strip().split(" &")[0] for line in body[:4]] == ["1", "1", r"\midrule", "2"]
    assert r"C\_1" in body[3]
    assert lines.count(r"    \bottomrule") == 1


def test_latex_caption_names_recipe_test_level_adjustment_and_data_version(system, report):
    text = render_ranking(report([system("A", 1)]), "tex").decode()
    caption = next(line for line in text.splitlines() if r"\caption" in line)

    for part in ("recommended", "permutation test", r"\ensuremath{\leq} 0.05", "Holm", "Data version 7"):
        assert part in caption
    assert text.count("{") == text.count("}")


def test_latex_of_pairs_is_a_long_table_of_all_pairs(system, pair, report):
    body = report([system("A", 1)], [pair("A", "B"), pair("A", "C", testable=False, p_value=None)])
    text = render_ranking(body, "tex", "pairs").decode()

    assert text.count(r"\begin{longtable}") == text.count(r"\end{longtable}") == 1
    assert r"\ensuremath{<}0.0001" in text
    assert "not testable" in text


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({}, "significant at p ≤ 0.05, Holm; strict clusters"),
        ({"clusters": "none"}, "significant at p ≤ 0.05, Holm; no clusters"),
        ({"inclusive": False, "adjust": "none"}, "significant at p < 0.05, no adjustment for multiple pairs; strict"),
        (
            {"test": "none", "clusters": "none", "exclude": ["A", "B"]},
            "scores as given; no test; no clusters; without A, B",
        ),
        ({"alternative": "greater", "test": "welch"}, "scores as given; Welch's t-test over documents, one-sided; "),
    ],
)
def test_a_recipe_in_words_says_what_it_does(system, report, changed, says):
    told = json.loads(report([system("A", 1)]))
    view = ranking_view.parse_ranking_view_json(json.dumps(told | {"recipe": told["recipe"] | changed}).encode())

    assert says in ranking_captions.describe_recipe(view.recipe)


@pytest.mark.parametrize(("headings", "row"), [(["A"], ["a", "1"]), (["A", "B"], ["a"]), (["A", "B"], ["a", "1", "2"])])
def test_a_row_with_a_cell_too_many_or_too_few_is_no_table(headings, row):
    sides = ("left",) * len(headings)
    whole = tuple(map(str.lower, headings))

    assert table.Table(tuple(headings), sides, (whole,)).rows == (whole,)
    assert csv_text.render_csv(headings, [whole]).decode().count("\n") == 2
    with pytest.raises(ValueError, match="one cell for each"):
        table.Table(tuple(headings), sides, (whole, tuple(row)))
    with pytest.raises(ValueError, match="one cell for each"):
        csv_text.render_csv(headings, [whole, row])


def test_raw_scores_stand_beside_normalized_ones_and_only_then(system, report):
    same = ranking_view.parse_ranking_view_json(report([system("A", 1)]))
    other = ranking_view.parse_ranking_view_json(report([system("A", 1, raw=4.2)], unit="z"))

    assert "Raw score" not in ranking_tables.make_systems_table(same).headings
    assert "Raw score" in ranking_tables.make_systems_table(other).headings
    assert "MQM z-score" in ranking_tables.make_systems_table(other).headings


def test_numbers_get_digits_by_their_spread_and_no_negative_zero():
    assert text_formatting.choose_decimals([0.9, 2.1]) == 2
    assert text_formatting.choose_decimals([61.0, 88.0]) == 1
    assert text_formatting.choose_decimals([-0.02, 0.03]) == 4
    assert text_formatting.choose_decimals([]) == text_formatting.choose_decimals([0.0, 0.0]) == 2
    assert text_formatting.choose_decimals([61.3, 61.3]) == 1
    assert text_formatting.choose_decimals([0.613, 0.613]) == 3
    assert text_formatting.format_number(-0.004, 2) == "0.00"
    assert text_formatting.format_number(-0.625, 2) == "−0.62"


@pytest.mark.parametrize(("kind", "table"), [("pdf", "systems"), ("csv", "judgments"), ("svg", "segments")])
def test_an_unknown_rendering_is_refused_with_what_there_is(system, report, kind, table):
    with pytest.raises(Invalid) as refused:
        render_ranking(report([system("A", 1)]), kind, table)

    assert "must be one of" in refused.value.places[0].msg


def test_the_terminal_shows_clusters_warnings_and_names_as_they_are(system, report):
    body = json.loads(report([system("A", 1), system("[bold]B[/bold]", 2), system("C", 3)]))
    console = Console(width=140, record=True, file=io.StringIO())

    console.print(format_ranking_table(body))

    text = console.export_text()
    assert "[bold]B[/bold]" in text
    assert "Warning: 5 documents" in text
    lines = text.splitlines()
    above, below = (next(i for i, line in enumerate(lines) if name in line.split()) for name in ("[bold]B[/bold]", "C"))
    assert below - above == 2  # the rule between clusters


def test_the_terminal_table_fits_eighty_columns_with_long_names_folded(system, report):
    name = "a-very-long-name-of-a-system-that-goes-on-and-on"
    body = json.loads(report([system(name, 1, raw=4.2, kind="human"), system("B", 2)], unit="z"))
    console = Console(width=80, record=True, file=io.StringIO())

    console.print(format_ranking_table(body))

    text = console.export_text()
    assert max(len(line) for line in text.splitlines()) <= 80
    for heading in ("Cl.", "#", "System", "MQM z-score", "Raw", "95% interval", "Ranks", "n"):
        assert heading in text.splitlines()[2].replace("  ", " | ")
    assert "…" not in text


@pytest.mark.parametrize("module", [text_formatting, latex])
def test_the_examples_in_the_docstrings_hold(module):
    assert doctest.testmod(module).failed == 0
    assert doctest.testmod(module).attempted > 0
