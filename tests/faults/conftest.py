"""A campaign that is large enough to be tested by documents, made up from a seed."""

from __future__ import annotations

import random

import pytest

from tests.patience import patience as patience  # a fixture

HEADER = "system\tdoc\tdocSegId\tglobalSegId\trater\tsource\ttarget\tcategory\tseverity\tmetadata\n"


def _rows() -> list[str]:
    draw, rows = random.Random(20261120), []
    for d in range(24):
        hard = draw.random()
        for p in range(1, 6):
            for s, system in enumerate("ABCDEFGH"):
                for rater in (f"r{d % 3}", f"r{(d + 1) % 3}"):
                    errors = sum(draw.random() < 0.15 + 0.3 * hard + 0.04 * s for _ in range(3))
                    head = f"{system}\td{d}\t{p}\t{d * 10 + p}\t{rater}\tSource {d} {p}.\t"
                    for n in range(errors):
                        text = (
                            f"<v>Word{n}</v> of {system} {d} {p}." if n == 0 else f"Word0 <v>of</v> {system} {d} {p}."
                        )
                        kind = draw.choice(["Fluency/Punctuation\tMinor", "Fluency/Grammar\tMinor", "Accuracy\tMajor"])
                        rows.append(f"{head}{text}\t{kind}\t\n")
                    if not errors:
                        rows.append(f"{head}Word0 of {system} {d} {p}.\tNo-error\tNo-error\t\n")
    return rows


@pytest.fixture(scope="session")
def made_up() -> list[str]:
    """Rows of an MQM table without its header: 8 systems, 24 documents, 3 raters, two ratings of everything."""
    return _rows()
