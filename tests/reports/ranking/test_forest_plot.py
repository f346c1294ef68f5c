"""The forest plot: the same bytes always, valid, complete, harmless."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import app
from app.reports.ranking import captions as ranking_captions
from app.reports.ranking import view as ranking_view
from app.reports.ranking.renderings import render_ranking

SVG = "{http://www.w3.org/2000/svg}"
DRAW = """
import sys
from app.reports.ranking.renderings import render_ranking
sys.stdout.buffer.write(render_ranking(sys.stdin.buffer.read(), "svg"))
"""


def texts(picture: bytes) -> list[str]:
    """Every text of a picture, in drawing order."""
    return ["".join(t.itertext()) for t in ET.fromstring(picture).iter(f"{SVG}text")]  # noqa: S314, our own


def test_a_picture_has_the_same_bytes_twice_and_in_another_process(system, report):
    body = report([system("A", 1), system("B", 2, kind="human"), system("C", 3)])

    here = [render_ranking(body, "svg"), render_ranking(body, "svg")]
    there = subprocess.run([sys.executable, "-c", DRAW], input=body, capture_output=True, check=True).stdout

    assert here[0] == here[1] == there


def test_pictures_drawn_at_the_same_time_are_the_same(system, report):
    bodies = [report([system(f"S{i}", 1), system("B", 2)]) for i in range(4)]
    alone = [hashlib.sha256(render_ranking(body, "svg")).digest() for body in bodies]

    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda body: hashlib.sha256(render_ranking(body, "svg")).digest(), bodies * 4))

    assert together == alone * 4


@pytest.mark.parametrize("n", [1, 14, 40])
def test_every_system_is_named_with_its_score_and_rank_range(system, report, n):
    shown = texts(render_ranking(report([system(f"system-{i}", i) for i in range(1, n + 1)]), "svg"))

    for i in range(1, n + 1):
        assert f"system-{i}" in shown
    assert shown.count("Score") == 1
    assert sum(text.startswith(f"{n}–{n + 1}") for text in shown) == 1


@pytest.mark.parametrize("name", ["$x^2$", "a<b>&c", "_{x}", "back\\slash", "a\x0bb", "$"])
def test_a_name_is_shown_as_it_is_and_never_as_mark_up(system, report, name):
    shown = texts(render_ranking(report([system(name, 1), system("B", 2)]), "svg"))

    assert name.replace("\x0b", " ") in shown


def test_long_names_are_cut_in_the_middle_and_the_plot_keeps_its_room(system, report):
    shown = texts(render_ranking(report([system("a" * 100 + "-end", 1), system("B", 2)]), "svg"))

    cut = next(text for text in shown if text.startswith("aaa"))
    assert len(cut) == 40
    assert "…" in cut
    assert cut.endswith("-end")


def test_a_picture_holds_no_script_no_date_and_no_address_but_of_vocabularies(system, report):
    picture = render_ranking(report([system("A", 1)]), "svg").decode()
    root = ET.fromstring(picture)  # noqa: S314, our own

    assert not [e for e in root.iter() if e.tag.rpartition("}")[2] in {"script", "image", "foreignObject", "a"}]
    assert not [name for e in root.iter() for name in e.attrib if name.lower().startswith("on")]
    references = [v for e in root.iter() for n, v in e.attrib.items() if n.endswith("href")]
    assert all(value.startswith("#") for value in references)
    assert "dc:date" not in picture
    assert "Matplotlib" not in picture


def test_paired_designs_show_relative_intervals_and_others_marginal_ones(system, report):
    paired = report([system("A", 1), system("B", 2)])
    unpaired = report([system("A", 1), system("B", 2, relative=None, relative_interval=None)])

    assert any("minus the mean of all systems" in text for text in texts(render_ranking(paired, "svg")))
    assert any("for new documents" in text for text in texts(render_ranking(unpaired, "svg")))


def test_the_direction_is_said_and_the_arrow_points_to_better(system, report):
    lower = texts(render_ranking(report([system("A", 1)]), "svg"))
    higher = texts(render_ranking(report([system("A", 1)], higher_is_better=True), "svg"))

    assert "Lower is better" in lower
    assert any(text.endswith("← better") for text in lower)
    assert "Higher is better" in higher
    assert any(text.endswith("better →") for text in higher)


def test_human_translations_stand_apart_above_the_systems(system, report):
    shown = texts(render_ranking(report([system("A", 1), system("human", 2, kind="human"), system("C", 3)]), "svg"))

    assert shown.index("human") < shown.index("A") < shown.index("C")
    assert any("human translations shown separately" in text for text in shown)


def test_one_system_without_interval_or_cluster_and_no_system_at_all_are_pictures_too(system, report):
    bare = system("A", 1, interval=None, relative=None, relative_interval=None, cluster=None, rank_range=None)

    assert "A" in texts(render_ranking(report([bare]), "svg"))
    assert "Cluster" not in texts(render_ranking(report([bare]), "svg"))
    assert "Score" in texts(render_ranking(report([]), "svg"))


def test_the_caption_names_recipe_counts_and_warnings(system, report):
    body = report([system("A", 1), system("B", 2)])
    joined = " ".join(texts(render_ranking(body, "svg")))

    assert ranking_captions.make_caption(ranking_view.parse_ranking_view_json(body)) in joined
    assert "1 warning: 5 documents" in joined


def test_importing_the_service_does_not_import_matplotlib():
    code = "import sys, app.reports.ranking.renderings; sys.exit('matplotlib' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2]).returncode == 0


def test_a_picture_keeps_its_looks_under_a_policy_that_forbids_styles(system, report):
    """No style sheet and no `style`: an SVG that is opened alone has only what its attributes say."""
    picture = ET.fromstring(render_ranking(report([system(f"S{i}", i) for i in range(1, 5)]), "svg"))  # noqa: S314, our own
    elements = list(picture.iter())
    assert [one.tag for one in elements if one.tag == f"{SVG}style" or "style" in one.attrib] == []
    assert (picture.get("stroke-linejoin"), picture.get("stroke-linecap")) == ("round", "butt")
    assert all(one.get("font-size") and one.get("font-family") for one in picture.iter(f"{SVG}text"))
    assert any(one.get("fill") == "none" and one.get("stroke") for one in picture.iter(f"{SVG}path"))


def test_every_picture_is_saved_in_one_place():
    """So each chart that there is, and each to come, has its styles as attributes."""
    folder = Path(app.__file__).parent
    saving = {path.name for path in folder.rglob("*.py") if "savefig" in path.read_text(encoding="utf-8")}
    assert saving == {"canvas.py"}
