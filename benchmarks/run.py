"""The import, loading and ranking rows of the speed table: `python -m benchmarks.run [--rows N] [--only PART …]`.

A throw-away Postgres is started for the run, with fsync on, as it ships. Figures are medians where a thing is repeated;
what counts are the ratios, which are all of this one run.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Final

from app.storage import embedded, migrate
from benchmarks import pages
from benchmarks.measure import SMALL, Bench, Row
from benchmarks.synthetic import whole

PARTS: Final = ("import", "da", "load", "rank")


def main() -> None:
    """Measure, and print a Markdown table and the same figures as JSON."""
    asked = _arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the server is stopped then, too
    with tempfile.TemporaryDirectory(prefix="plumbline-bench-", dir=asked.folder) as folder:
        Path(folder).chmod(0o711)  # under root, the server runs as another user, who needs access
        with embedded.start_server(Path(folder) / "data") as server:
            migrate.upgrade_schema(server.url("owner"))
            bench = Bench(server, Path(folder), asked.repeats)
            measure(bench, asked.rows, asked.only or PARTS)
    table = markdown(bench, asked.rows)
    print(table)
    print(json.dumps({"rows": [asdict(row) for row in bench.rows], "memory_mb": bench.memory}))
    if asked.write:
        pages.write(asked.write, table)


def measure(bench: Bench, n: int, parts: tuple[str, ...]) -> None:
    """Measure some parts at SMALL judgments and at n."""
    keys = {size: bench.import_mqm(size) for size in dict.fromkeys((SMALL, n))}
    if "da" in parts:
        bench.import_da(n)
    if "load" not in parts and "rank" not in parts:
        return
    loads = {size: bench.load(key, size) for size, key in keys.items()}
    if n > SMALL:
        bench.growth(f"loading of {n:,} ratings", loads[n], loads[SMALL])
    if "rank" in parts:
        ranks = {size: bench.rank(key, size, loads[size]) for size, key in keys.items()}
        if n > SMALL:
            bench.growth(f"ranking of {n:,}, with loading", ranks[n], ranks[SMALL], "≤ 130")


def markdown(bench: Bench, n: int) -> str:
    """Return the figures as Markdown tables."""
    lines = [
        f"{n:,} judgments, {os.cpu_count()} cores, Python {platform.python_version()}.",
        "",
        "| what | seconds | against | seconds | ratio | goal |",
        "|---|--:|---|--:|--:|---|",
        *map(_line, bench.rows),
        "",
        "| peak memory of | MB |",
        "|---|--:|",
        *(f"| {what} | {peak:.0f} |" for what, peak in bench.memory.items()),
    ]
    return "\n".join(lines) + "\n"


def _line(row: Row) -> str:
    bound = "" if row.bound is None else f"{row.bound:.3g}"
    ratio = "" if row.ratio is None else f"{row.ratio:.3g}"
    return f"| {row.what} | {row.seconds:.3g} | {row.against} | {bound} | {ratio} | {row.goal} |"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("--rows", type=_rows, default="1000000", help="judgments of the large campaign")
    parser.add_argument("--only", nargs="+", choices=PARTS, help="parts to measure (an import is always needed)")
    parser.add_argument("--repeats", type=int, default=3, help="how often cheap things are timed")
    parser.add_argument("--folder", type=Path, help="where the data folder goes (default: the temporary folder)")
    parser.add_argument("--write", type=Path, help="page to put the table into, between its marks")
    return parser.parse_args()


def _rows(text: str) -> int:
    n = whole(int(text))
    if n < SMALL:
        raise argparse.ArgumentTypeError(f"must be at least {SMALL}")
    return n


if __name__ == "__main__":
    main()
