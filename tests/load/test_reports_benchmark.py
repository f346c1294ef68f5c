"""A small twin of the benchmark of reports: what it times is no test; that it times every kind, or says why not, is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from app.services import kinds

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.soak
def test_every_kind_stands_in_the_table_and_stored_reports_beside_an_empty_request(scratch: Path) -> None:
    page = scratch / "page.md"
    page.write_text("before\n<!-- measured: begin -->\nold\n<!-- measured: end -->\nafter\n", encoding="utf-8")
    command = [sys.executable, "-m", "benchmarks.reports", "--rows", "4000", "--requests", "5", "--write", str(page)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| ")]
    by_name = {row[0]: row[1:] for row in rows}
    for name, kind in kinds.ALL.items():
        assert by_name[name][-1] or float(by_name[name][1]) > 0
        assert not kind.long or "job" in by_name[name][-1]
    assert float(by_name["empty: /livez"][0]) > 0
    assert float(by_name["ranking, 304"][1]) > 0
