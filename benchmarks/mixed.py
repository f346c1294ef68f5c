"""The mixed model beside R's lme4, in one run: `python -m benchmarks.mixed [--write docs/benchmarks-hot.md]`.

Both fit the same rows by REML, with the same terms and the settings that each has by itself; their variances must
agree. Processor time is that of the fit alone, without reading the rows or starting R. Needs Rscript with lme4
(Debian: r-base-core, r-cran-lme4).
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Final

# One thread, as in the service and in R's own linear algebra.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest

from app.stats.components.fit import VarianceComponentsFit, fit_variance_components
from benchmarks import pages
from benchmarks.processes import load_average
from tests.stats.components import lme4
from tests.stats.components.worlds import crossed
from tests.stats.inference.r_oracle import ask

DOCUMENTS: Final = (10, 40, 160)
VARIANCES: Final[Mapping[str, float]] = {
    "rater": 0.6,
    "doc": 0.3,
    "segment": 1.0,
    "doc_system": 0.3,
    "segment_system": 0.5,
    "rater_system": 0.4,
    "rater_doc": 0.2,
}
REPEATS: Final = 3
AS_FAR_AS: Final = 0.03
"""The share of the total variance by which a component may differ, because lme4 stops earlier by default."""


def lme4_fit(fit: VarianceComponentsFit, folder: Path) -> tuple[float, dict[str, float]]:
    """Return the median processor seconds of lme4's fit of the same rows and terms, and its variances by term."""
    script = f"""
    {lme4.FACTORS}
    taken <- c()
    for (i in 1:{REPEATS}) taken <- c(taken, sum(system.time(m <- suppressWarnings(suppressMessages(
      lmer({lme4.formula(fit.terms)}, d, control = lmerControl({lme4.LENIENT})))))[1:2]))
    cat(median(taken), {lme4.variances(fit.terms)}, sep = "\\n")
    """
    seconds, *variances = ask("lme4", script, lme4.columns(fit.rows), folder)
    return seconds, dict(zip(fit.components, variances, strict=True))


def measure(documents: int, folder: Path) -> tuple[VarianceComponentsFit, float, float]:
    """Return our fit, its processor seconds and those of lme4. Raises AssertionError if their variances differ."""
    ratings = crossed(7, documents=documents, systems=8, raters=12, ratings=2, segments=8, variance=dict(VARIANCES))
    taken = []
    for _ in range(REPEATS):
        begun = time.process_time()
        fit = fit_variance_components(ratings)
        taken.append(time.process_time() - begun)
    theirs, variances = lme4_fit(fit, folder)
    total = sum(fit.components.values())
    far = {term: (ours, variances[term]) for term, ours in fit.components.items()}
    assert all(abs(a - b) <= AS_FAR_AS * total for a, b in far.values()), far
    return fit, median(taken), theirs


def table(folder: Path) -> Iterator[str]:
    """Yield the lines of the page's table."""
    rows = []
    for documents in DOCUMENTS:
        fit, ours, theirs = measure(documents, folder)
        cells = (
            f"{len(fit.rows):,}",
            len(fit.terms),
            f"{1e3 * ours:.0f}",
            f"{1e3 * theirs:.0f}",
            f"{theirs / ours:.1f}",
        )
        rows.append("| " + " | ".join(str(cell) for cell in cells) + " |")
    yield f"{load_average()}."
    yield ""
    yield "| ratings | random terms | ours, ms | lme4, ms | ratio |"
    yield "|--:|--:|--:|--:|--:|"
    yield from rows


def main() -> None:
    """Measure, and print Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mixed", description=__doc__)
    parser.add_argument("--write", type=Path, help="page to put the table into, between the marks of `mixed`")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="plumbline-bench-") as folder:
        try:
            text = "\n".join(table(Path(folder)))
        except pytest.skip.Exception as without:
            print(without)
            return
    print(text)
    if asked.write:
        pages.write(asked.write, text, "mixed")


if __name__ == "__main__":
    main()
