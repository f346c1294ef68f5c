"""R as an oracle: scripts run with rows as CSV; skipped where Rscript or its packages are absent."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest


@cache
def _has(package: str) -> bool:
    rscript = shutil.which("Rscript")
    if rscript is None:
        return False
    asked = [rscript, "-e", f"quit(status = !requireNamespace('{package}', quietly = TRUE))"]
    return subprocess.run(asked, capture_output=True, check=False, timeout=300).returncode == 0


def ask(package: str, script: str, columns: Mapping[str, Sequence[object]], folder: Path) -> list[float]:
    """Numbers that `script` prints, one a line, with the columns as the data frame `d`; skips without the package."""
    if not _has(package):
        pytest.skip(f"R with the package {package} is not installed")
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(str(value) for value in row) for row in rows)]
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")
    whole = f"suppressMessages(library({package})); d <- read.csv({json.dumps(str(folder / 'rows.csv'))})\n{script}"
    (folder / "asked.R").write_text(whole)
    rscript = shutil.which("Rscript") or "Rscript"
    told = subprocess.run([rscript, str(folder / "asked.R")], capture_output=True, check=True, text=True, timeout=900)
    return [float(line) for line in told.stdout.split()]
