"""How often claims err in simulated worlds: the page is of its figures, and what is off is warned about."""

from __future__ import annotations

import pytest

from app.stats.gate.gate import GateRule
from app.stats.validation.worlds import WORLDS
from benchmarks.calibration import ABOUT, OURS, Cell, by_gate, cells, claimants, is_about
from benchmarks.calibration_page import PAGE, PICTURE, page, read


def test_the_page_is_made_of_the_figures_and_has_its_picture() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(read())
    assert PICTURE.read_bytes().startswith(b"<?xml")


def test_every_claim_of_today_was_tried_in_some_world_and_every_world_was_tried() -> None:
    tried = read()
    claims = {f"{one.name}: {claim}" for one in claimants() for claim in one.claims}
    assert {cell.claim for cell in tried} <= claims
    assert {one.name for one in claimants()} == {cell.claim.split(":")[0] for cell in tried}
    assert {cell.world for cell in tried} == set(WORLDS)


def test_what_our_own_claims_do_not_keep_is_warned_about() -> None:
    ours = [cell for cell in read() if cell.claim.startswith(OURS)]
    assert ours
    assert not [(cell.claim, cell.world, cell.rate) for cell in ours if not (cell.kept or cell.warned)]


@pytest.mark.parametrize(("kind", "nominal", "last_kept"), [("size", 0.05, 70), ("coverage", 0.95, 930)])
def test_a_share_is_off_beyond_three_standard_errors(kind: str, nominal: float, last_kept: int) -> None:
    beyond = last_kept + (1 if kind == "size" else -1)
    assert Cell("c", "clean", kind, nominal, last_kept, 1000).kept
    assert not Cell("c", "clean", kind, nominal, beyond, 1000).kept


def test_only_a_warning_about_what_a_world_is_like_counts_for_it() -> None:
    few_ratings = "raters with fewer than 20 ratings, so their z-scores are imprecise; let them judge more: rater:r002"
    giant = "one document holds 51% of a system's segments"
    assert set(ABOUT) == set(WORLDS) - {"clean"}
    assert not is_about(few_ratings, "one_giant")
    assert is_about(giant, "one_giant")
    assert not is_about(giant, "clean")


def test_a_gate_between_systems_that_no_rater_links_lets_nobody_through_and_says_why() -> None:
    (cell,) = cells(by_gate(GateRule("better")), 3, ("disconnected",))
    assert (cell.found, cell.n) == (0, 3)
    assert "no rater links" in cell.warnings[0]
