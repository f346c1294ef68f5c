"""Errors and degrees of freedom by document against clubSandwich."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from app.stats.inference import by_document
from tests.stats.inference.r_oracle import ask


@pytest.mark.parametrize("lengths", [[60, *[3] * 19], [1, 2, 3, 4, 9], [5] * 6])
def test_clubsandwich_finds_the_same_error_and_degrees(lengths: list[int], tmp_path: Path) -> None:
    n = np.array(lengths)
    document = np.repeat(np.arange(n.size), n)
    score = np.random.default_rng(n.size).normal(size=document.size)
    script = """
    m <- lm(score ~ 1, d)
    found <- coef_test(m, vcov = vcovCR(m, cluster = d$document, type = "CR2"), test = "Satterthwaite")
    cat(format(c(found$SE, found$df), digits = 15), sep = "\\n")
    """
    error, degrees = ask("clubSandwich", script, {"document": document.tolist(), "score": score.tolist()}, tmp_path)
    sums = np.bincount(document, weights=score)
    assert float(by_document.estimate_ratio_precision(sums, n).error) == pytest.approx(error, rel=1e-10)
    assert float(by_document.compute_document_degrees_of_freedom(n, 0.0)) == pytest.approx(degrees, rel=1e-10)
