"""The benchmark of starting: what it times is no test; that it starts, reports and leaves nothing behind is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import serve

ROOT = Path(__file__).resolve().parents[2]


def test_starting_on_an_empty_folder_is_timed_and_cleared_away(scratch: Path) -> None:
    folder = scratch / "starting"
    folder.mkdir(mode=0o711)
    command = [sys.executable, "-m", "benchmarks.serve", "--repeats", "1", "--folder", str(folder)]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    figures = json.loads(done.stdout.splitlines()[-1])
    (seconds,) = figures["serve_seconds"]
    assert f"| {seconds:.2f} s | {seconds:.2f} s | ≤ 5 s |" in done.stdout
    assert 0.1 < seconds < serve.PATIENCE
    assert not list(folder.iterdir())


def test_a_command_that_does_not_serve_is_no_figure(monkeypatch: pytest.MonkeyPatch, scratch: Path) -> None:
    monkeypatch.setattr(serve, "COMMAND", (sys.executable, "-c", "print('elsewhere')"))
    with pytest.raises(RuntimeError, match="did not say where"):
        serve.until_ready(scratch)
