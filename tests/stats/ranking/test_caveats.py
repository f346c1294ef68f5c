"""What a ranking does not claim: across raters that nothing links, beside tests that cannot claim, on few documents."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from app.domain.recipe import NAMED
from app.stats.ranking import assumption_caveats, design_checks, ranking
from app.stats.ranking.ranking import rank_systems
from app.stats.ratings import Ratings


def campaign(
    documents: list[int], rater: Callable[[str, int], str], *, systems: str = "ABC", gap: float = 1.0, seed: int = 1
) -> Ratings:
    """Each system is `gap` better than the next; documents of the lengths given."""
    rng = np.random.default_rng(seed)
    rows = [
        (s, f"d{d}", p, rater(s, d), -gap * systems.index(s) + float(rng.normal()))
        for d, length in enumerate(documents)
        for p in range(1, length + 1)
        for s in systems
    ]
    return Ratings.from_columns(
        system=[r[0] for r in rows],
        document=[r[1] for r in rows],
        position=[r[2] for r in rows],
        rater=[r[3] for r in rows],
        score=[r[4] for r in rows],
        higher_is_better=True,
    )


@pytest.mark.parametrize("name", ["recommended", "srp-paper", "google-mqm", "nllb-xsts", "wmt26"])
def test_pairs_that_no_rater_links_are_not_testable_by_any_recipe(name: str) -> None:
    """They were significant, with a warning beside them."""
    rows = campaign([5] * 20, lambda s, _: "r1" if s in "AB" else "r2")
    found = rank_systems(rows, NAMED[name])
    told = {(p.better, p.worse): (p.testable, p.significant, p.p_value is None) for p in found.pairs}
    across = {pair: value for pair, value in told.items() if "C" in pair}
    assert set(across.values()) == {(False, False, True)}
    assert next(v for pair, v in told.items() if "C" not in pair)[0]
    assert any("no pair across them is testable" in one for one in found.warnings)
    if name == "recommended":
        assert {s.system: s.rank_set for s in found.systems} == {"A": (1, 2), "B": (2, 3), "C": (1, 3)}


def test_a_chain_of_raters_links_systems() -> None:
    who = {"A": "r1", "B": "r1", "C": "r2"}
    rows = campaign([5] * 20, lambda s, d: "r2" if s == "B" and d % 2 else who[s])
    linked = design_checks.find_system_pairs_linked_by_raters(rows, np.arange(3, dtype=np.int32))
    assert linked.tolist() == [[False, True, True], [True, False, True], [True, True, False]]
    assert all(pair.testable for pair in rank_systems(rows, NAMED["recommended"]).pairs)


def test_rank_sets_claim_nothing_where_no_pair_can_be_significant() -> None:
    """Six documents and three systems: Holm's smallest p is 3/32."""
    found = rank_systems(campaign([4] * 6, lambda *_: "r1", gap=5.0), NAMED["recommended"])
    assert any(one.startswith("no pair can be significant") for one in found.warnings)
    assert "rank sets contain every rank, because no pair can be significant; judge more documents" in found.warnings
    assert {s.rank_set for s in found.systems} == {(1, 3)}
    more = rank_systems(campaign([4] * 7, lambda *_: "r1", gap=5.0), NAMED["recommended"])
    assert {s.rank_set for s in more.systems} == {(1, 1), (2, 2), (3, 3)}


@pytest.mark.parametrize(
    ("documents", "large", "few"),
    [([4] * 15, False, False), ([4] * 14, False, True), ([60, *[3] * 19], True, True), ([14, *[3] * 19], False, True)],
)
def test_few_effective_documents_and_large_ones_are_warned_of(documents: list[int], large: bool, few: bool) -> None:
    found = rank_systems(campaign(documents, lambda *_: "r1"), NAMED["recommended"])
    assert any(one.startswith("one document holds") for one in found.warnings) == large
    assert any("effective documents" in one for one in found.warnings) == few
    effective = sum(documents) ** 2 / sum(n * n for n in documents)
    assert [s.effective_documents for s in found.systems] == pytest.approx([effective] * 3)
    assert [p.effective_documents for p in found.pairs] == pytest.approx([effective] * 3)


def test_a_fifth_of_the_segments_is_the_limit() -> None:
    for n, told in ((10, False), (11, True)):
        found = rank_systems(campaign([n, *[2] * 20], lambda *_: "r1"), NAMED["recommended"])
        assert any(one.startswith("one document holds") for one in found.warnings) == told


@pytest.mark.parametrize("name", sorted(NAMED))
def test_a_ranking_says_which_shapes_its_test_takes_for_granted(name: str) -> None:
    """Sign flips and bootstraps; other tests of the named recipes are warned about for the segments they take apart."""
    said = {"permutation": "are exchangeable", "marot": "are exchangeable", "bootstrap": "represent all documents"}
    notes = " ".join(assumption_caveats.make_distribution_shape_caveats(NAMED[name]))
    word = said.get(NAMED[name].test)
    assert (word in notes) if word else not notes


CAVEATS = sorted(path for path in (Path(design_checks.__file__).parents[1]).rglob("*caveats.py"))
FIELD = re.compile(r"(?<!`)\b(?:[a-z]+_[a-z_]+|[a-z]+=[a-z]+)")


@pytest.mark.parametrize("path", [*CAVEATS, Path(ranking.__file__)], ids=lambda path: path.stem)
def test_what_is_said_beside_a_result_names_no_field(path: Path) -> None:
    """A reader of a page was sent to a name that stands in files alone; a setting is named in backticks."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    told = [
        node.value
        for parent in ast.walk(tree)
        if not isinstance(parent, ast.Expr)  # a docstring
        for node in ast.iter_child_nodes(parent)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.count(" ") > 3
    ]
    assert told
    assert [text for text in told if FIELD.search(text)] == []
