"""A small twin of the benchmark of sizes and rates: what it times is no test; that it says all it promises is."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.soak
def test_the_benchmark_says_sizes_rates_and_memory(scratch: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.scale", "--rows", "10000", "--seconds", "1", "--folder", str(scratch)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines() if "|" in line]
    by_name = {row[0]: row[1:] for row in rows}
    assert {"judgments", "scores", "outputs", "total"} <= by_name.keys()
    for what in ("a judgment", "a heartbeat", "a stored ranking"):
        assert float(by_name[what][0].replace(",", "")) > 0
        assert by_name[what][-1] == "200"
    assert by_name["the same, unchanged (304)"][-1] == "304"
    assert float(by_name["one"][0]) > 10
    assert re.search(r"A backup of these tables takes \d+ MB", done.stdout)
