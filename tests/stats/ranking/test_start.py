"""What it takes to start ranking."""

from __future__ import annotations

import subprocess
import sys


def test_ranking_does_not_import_slow_libraries() -> None:
    code = (
        "import sys, app.stats.ranking.ranking; print([m for m in ('scipy.stats', 'matplotlib') if m in sys.modules])"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "[]"
