"""The benchmark of starting: what it times is no test; that it starts, reports and leaves nothing behind is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import serve

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("part", ["help", pytest.param("serve", marks=pytest.mark.soak)])
def test_a_start_is_timed_and_cleared_away(scratch: Path, part: str) -> None:
    folder = scratch / "starting"
    folder.mkdir(mode=0o711)
    command = [sys.executable, "-m", "benchmarks.serve", "--repeats", "1", "--only", part]
    command += ["--folder", str(folder)]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    left = list(folder.iterdir())
    folder.rmdir()
    figures = json.loads(done.stdout.splitlines()[-1])
    (seconds,) = figures[f"{part}_seconds"]
    lines = {line.split("|")[1].strip(): line for line in done.stdout.splitlines() if line.startswith("| ")}
    what, goal = serve.PARTS[part]
    assert f"| {seconds:.2f} s | {seconds:.2f} s |" in lines[what]
    assert lines[what].endswith(f"≤ {goal:g} s |")
    assert float(lines[what].split("|")[4]) > 0
    assert 0 < seconds < serve.PATIENCE
    assert not left


def test_times_are_told_as_multiples_of_a_start_that_needs_numpy_alone() -> None:
    rows = serve.table(0.5, {"help": [1.0, 1.5, 4.0], "rank": [2.0]}).splitlines()
    assert rows[2] == "| `plumbline --help` | 1.50 s | 4.00 s | 3.0 | ≤ 0.5 s |"
    assert rows[3] == "| `plumbline rank` of a stored ranking | 2.00 s | 2.00 s | 4.0 | ≤ 1.2 s |"
    with pytest.raises(subprocess.CalledProcessError):
        serve.until_done((sys.executable, "-c", "raise SystemExit(3)"))


def test_a_command_that_does_not_serve_is_no_figure(monkeypatch: pytest.MonkeyPatch, scratch: Path) -> None:
    monkeypatch.setattr(serve, "COMMAND", (sys.executable, "-c", "print('elsewhere')"))
    with pytest.raises(RuntimeError, match="did not say where"):
        serve.until_ready(scratch)
