"""A small twin of the benchmark of the hot routes: what it times is no test; that it posts, leases and reports is."""

import subprocess
import sys
from pathlib import Path

import pytest

from app.protocols.mqm import PROTOCOL
from benchmarks.hot import BOUNDS, marked, mqm_bound, posts

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.soak
def test_the_benchmark_reports_every_row_with_a_ratio(scratch: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.hot", "--seconds", "1", "--repeats", "1", "--folder", str(scratch)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    rows = [line for line in done.stdout.splitlines() if line.startswith("| ")][1:]
    assert len(rows) == 17
    for row in rows:
        assert float(row.split("|")[5]) > 0, row


def test_judgments_with_errors_have_none_to_three_and_the_bound_writes_as_many() -> None:
    payloads = [PROTOCOL.payload.model_validate(marked(score)) for score in range(8)]
    assert [len(payload.errors) for payload in payloads] == [0, 1, 2, 3] * 2
    script = (ROOT / "benchmarks" / "post.sql").read_text(encoding="utf-8")
    assert mqm_bound(script).count("CAST(:score AS int) % 4") == 2
    with pytest.raises(ValueError, match="not the one"):
        mqm_bound(mqm_bound(script))
    requests = posts("t", "s", 0, marked)
    assert len(set(requests)) == len(requests) == 800


def test_the_transaction_of_six_statements_says_why_of_each() -> None:
    for script, _ in BOUNDS.values():
        assert (ROOT / "benchmarks" / script).is_file()
    text = (ROOT / "benchmarks" / "post_six.sql").read_text(encoding="utf-8")
    assert [line[3] for line in text.splitlines() if line.startswith("-- ") and line[4:6] == ". "] == list("123456")
