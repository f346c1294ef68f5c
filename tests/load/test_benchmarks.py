"""A small twin of the benchmark: the same code at 10,000 judgments, and of its parts one.

What it times is no test; that it reports is.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import benchmarks
from benchmarks import synthetic
from benchmarks.pages import marks, write

ROOT = Path(__file__).resolve().parents[2]


PARTS = {"import", "loading", "ranking"}


@pytest.mark.soak  # every run has its tables below
def test_the_benchmark_reports_every_row_with_a_ratio_and_the_memory(scratch: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.run", "--rows", "10000", "--repeats", "1", "--folder", str(scratch)]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    table, figures = done.stdout.rstrip().rsplit("\n", 1)
    found = json.loads(figures)
    whats = {row["what"] for row in found["rows"]}
    assert {what.split(" of ")[0] for what in whats} == PARTS
    assert all(row["seconds"] > 0 and row["ratio"] > 0 for row in found["rows"])
    assert all(megabytes > 0 for megabytes in found["memory_mb"].values())
    assert all(f"| {row['what']} |" in table for row in found["rows"])


@pytest.mark.parametrize("name", sorted(module.name for module in pkgutil.iter_modules(benchmarks.__path__)))
def test_every_benchmark_finds_what_it_times(name: str) -> None:
    assert importlib.import_module(f"benchmarks.{name}").__doc__


def test_the_same_seed_gives_the_same_file(tmp_path: Path) -> None:
    for name in ("one", "two"):
        synthetic.mqm_tsv(tmp_path / name, 4500)
    synthetic.mqm_tsv(tmp_path / "other", 4500, seed=8)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert (tmp_path / "one").read_bytes() != (tmp_path / "other").read_bytes()


def test_a_number_of_judgments_that_leaves_a_system_out_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="multiple of 45"):
        synthetic.wmt_da(tmp_path / "da", 4501)


@pytest.mark.parametrize("part", ["", "pace"])
def test_the_table_goes_between_the_marks_of_its_part_of_a_page(tmp_path: Path, part: str) -> None:
    page = tmp_path / "page.md"
    others = "".join(f"{marks(name)[0]}old\n{marks(name)[1]}" for name in ("", "pace") if name != part)
    begin, end = marks(part)
    page.write_text(f"before\n{others}{begin}old\n{end}after\n")
    write(page, "new\n", part)
    assert page.read_text() == f"before\n{others}{begin}\nnew\n\n{end}after\n"
    with pytest.raises(ValueError, match="marks"):
        write(ROOT / "LICENSE", "new\n")
