"""The benchmark of two versions: its timings are not tested, only that both get the same requests, side by side."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import versions

ROOT = Path(__file__).resolve().parents[2]
SMALL = {"large": 9000, "small": 2800, "edited": 1000, "raters": 60, "seconds": 4, "changes": 2, "repeats": 1}


@pytest.mark.soak  # its table has a test below, and its parts are those of other benchmarks
def test_every_part_is_taken_from_both_versions(scratch: Path) -> None:
    page = scratch / "page.md"
    page.write_text("<!-- measured: versions: begin -->\n<!-- measured: versions: end -->\n", encoding="utf-8")
    folder = scratch / "versions"
    folder.mkdir(mode=0o711)
    command = [sys.executable, "-m", "benchmarks.versions", "--before", str(ROOT)]
    command += [word for name, size in SMALL.items() for word in (f"--{name}", str(size))]
    subprocess.run([*command, "--folder", str(folder), "--write", str(page)], cwd=ROOT, check=True)
    assert not list(folder.iterdir())
    rows = [line.strip("| ").split(" | ") for line in page.read_text(encoding="utf-8").splitlines() if "| " in line]
    assert len({row[0] for row in rows}) == len(rows) > 30
    counted = {row[0]: row[1:3] for row in rows if row[0].startswith("stored rankings after 2 changes")}
    assert list(counted.values()) == [["2", "2"], ["2", "2"], ["1", "1"]]


def test_figures_of_both_versions_stand_side_by_side_with_the_ratio_of_their_medians() -> None:
    taken = versions.Taken()
    for side, seconds in (("before", 2.0), ("now", 0.5), ("before", 3.0), ("now", 0.0)):
        taken.note(side, {"a report, s": seconds, "memory, MB": 1234.5})
    assert list(taken.table())[2:] == [
        "| a report, s | 2.00, 3.00 | 0.50, 0.00 | 10 |",
        "| memory, MB | 1,234, 1,234 | 1,234, 1,234 | 1.00 |",
    ]


def test_a_figure_that_is_not_measurable_now_has_no_ratio() -> None:
    taken = versions.Taken(before={"a look, s": [2.0]}, now={"a look, s": [0.0]})
    assert list(taken.table())[2] == "| a look, s | 2.00 | 0.00 |  |"
