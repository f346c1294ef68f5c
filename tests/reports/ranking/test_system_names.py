"""Names of systems that could not be keys: shown beside the key wherever people read a ranking, and never run."""

from __future__ import annotations

import csv
import io
import json

import pytest
from rich.console import Console

from app.api.models.ranking_comparison import RankingsSideBySideOut
from app.cli.kit.terminal import format_ranking_table
from app.reports.kit.render import markup
from app.reports.ranking import tables as ranking_tables
from app.reports.ranking import view as ranking_view
from app.reports.ranking.renderings import render_ranking
from app.reports.ranking_comparison import tables as side_by_side_renderings
from app.reports.ranking_comparison.compared_rankings import ComparedRanking, make_rankings_side_by_side
from tests.services.data.test_imports import judgment, lines
from tests.spine import opened

KEY, NAME = "_n_c_d_sys_~1a2b", "Ünï/cødé sys"


@pytest.fixture
def body(system, pair, report):
    return report([system("A", 1, name="A"), system(KEY, 2, name=NAME)], [pair("A", KEY)])


def test_a_ranking_gives_the_name_of_a_system_beside_its_key(database_url):
    rows = [judgment("A", f"d{d}", 50 + d) for d in range(7)]
    named = {"type": "system", "key": "B", "name": NAME, "kind": "human"}
    with opened(database_url) as spine:
        spine.take("c", "jsonl", lines(named, *rows, *(judgment("B", f"d{d}", 20 + d) for d in range(7))))
        found = spine.rank("c", "recommended")["systems"]
    assert [(row["system"], row["name"], row["kind"]) for row in found] == [("A", "A", "mt"), ("B", NAME, "human")]


def test_a_name_that_is_not_the_key_stands_before_it(system, report):
    lines_of = [system("A", 1, name="A"), system(KEY, 2, name=NAME), system("C", 3, name="Çe", kind="human")]
    shown = ranking_tables.make_systems_table(ranking_view.parse_ranking_view_json(report([*lines_of, system("D", 4)])))
    assert [row[2] for row in shown.rows] == ["A", f"{NAME} [{KEY}]", "Çe [C] (human)", "D"]


def test_pairs_have_names_too(body):
    row = ranking_tables.make_pairs_table(ranking_view.parse_ranking_view_json(body)).rows[0]
    assert row[:2] == ("A", f"{NAME} [{KEY}]")


@pytest.mark.parametrize("table", ["systems", "pairs"])
def test_markdown_and_latex_show_the_name(body, table):
    assert f"`{NAME} [{KEY}]`" in render_ranking(body, "md", table).decode()
    assert rf"{NAME} [\_n\_c\_d\_sys\_\textasciitilde{{}}1a2b]" in render_ranking(body, "tex", table).decode()


def test_the_terminal_shows_the_name_and_obeys_none_of_it(system, report):
    console = Console(width=140, record=True, file=io.StringIO())
    console.print(format_ranking_table(json.loads(report([system("A", 1, name=f"{NAME}\x1b[2J\u202e\n[bold]x")]))))
    text = console.export_text()
    assert f"{NAME} [2J [bold]x [A]" in text
    assert "\u202e" not in text


@pytest.mark.parametrize("name", ["=cmd()", "+1+1", "-2", "@SUM(A1)"])
def test_csv_has_the_name_in_a_column_of_its_own_marked_as_text(system, report, name):
    text = render_ranking(report([system("A", 1, name=name), system("B", 2, name=NAME)]), "csv").decode()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [(row["system"], row["name"]) for row in rows] == [("A", f"'{name}"), ("B", NAME)]


@pytest.mark.parametrize("name", [r"\input{x}", "50 % of R&D_1", "$x^2$"])
def test_latex_escapes_names(system, report, name):
    text = render_ranking(report([system("A", 1, name=name)]), "tex").decode()
    assert name not in text
    assert "[A] &" in text


@pytest.mark.parametrize("name", ["a`b", "a``b`c", "```"])
def test_no_number_of_backticks_in_a_name_ends_its_code_span(name):
    shown = markup.format_code_span(name)
    fence = shown[: len(shown) - len(shown.lstrip("`"))]
    assert fence not in name
    assert shown == f"{fence} {name} {fence}"


def test_pictures_keep_the_key_where_the_font_lacks_the_letters_of_a_name(system, pair, report):
    drawn = [render_ranking(report([system(KEY, 1, name=name)], []), "svg") for name in ("系统", KEY)]
    assert drawn[0] == drawn[1]


def test_a_report_stored_before_names_is_still_read(system, report):
    shown = ranking_tables.make_systems_table(ranking_view.parse_ranking_view_json(report([system("A", 1)])))
    assert shown.rows[0][2] == "A"


def test_pairs_have_the_names_in_columns_of_their_own(body):
    (row,) = csv.DictReader(io.StringIO(render_ranking(body, "csv", "pairs").decode(), newline=""))
    assert (row["better"], row["better_name"], row["worse"], row["worse_name"]) == ("A", "A", KEY, NAME)


@pytest.fixture
def beside(body):
    columns = [ComparedRanking(name, ranking_view.parse_ranking_view_json(body)) for name in ("first", "second")]
    return make_rankings_side_by_side("subject", columns)


@pytest.mark.parametrize("kind", ["md", "tex", "svg"])
def test_rankings_beside_each_other_show_the_name_with_the_key(beside, kind):
    shown = side_by_side_renderings.render_rankings_side_by_side(beside, kind).decode()
    escaped = {"tex": NAME + r" [\_n\_c\_d\_sys\_\textasciitilde{}1a2b]"}
    assert escaped.get(kind, f"{NAME} [{KEY}]") in shown


def test_rankings_beside_each_other_have_the_name_in_csv_and_json(beside):
    rows = csv.DictReader(
        io.StringIO(side_by_side_renderings.render_rankings_side_by_side(beside, "csv").decode(), newline="")
    )
    assert {(row["system"], row["name"]) for row in rows} == {("A", "A"), (KEY, NAME)}
    assert [(row.system, row.name) for row in RankingsSideBySideOut.from_rankings(beside).systems] == [
        ("A", "A"),
        (KEY, NAME),
    ]


@pytest.mark.parametrize("table", ["systems", "pairs"])
def test_pictures_show_the_name_with_the_key(body, table):
    assert f"{NAME} [{KEY}]" in render_ranking(body, "svg", table).decode()
