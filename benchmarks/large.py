"""Reports on large campaigns from sums: `python -m benchmarks.large [--rows N …] [--stored N] [--write PAGE]`.

Files of ratings are made up, as a worker would have written them, and each is ranked in a process of its own by
`recommended`, with everything that the report contains; SRP and one change of robustness follow. A campaign of the
size `--stored` is imported into Postgres, written into a file from there, and reported from sums and in memory; the
reports must agree.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from app.storage import embedded, migrate
from app.storage.ratings_files.layout import COLUMNS, LABELS, RATINGS, ROW_GROUP, SEGMENTS, labels_path
from app.storage.ratings_folder import HEAD
from benchmarks import pages, synthetic
from benchmarks.children import run
from benchmarks.processes import load_average

ROWS: Final = (1_000_000, 10_000_000, 30_000_000, 100_000_000)
RATERS: Final = 1000
GOAL_SECONDS, GOAL_MEMORY = 60, 4096
_SEGMENTS: Final = 1 << 19  # written at a time
_POOL: Final = 64  # raters that can share a document


def main() -> None:
    """Measure, and print a table."""
    asked = _arguments()
    with tempfile.TemporaryDirectory(prefix="plumbline-bench-", dir=asked.folder) as name:
        folder = Path(name)
        folder.chmod(0o711)
        load = load_average()
        sized = [_from_file(folder / "made-up", n) for n in asked.rows]
        stored = _from_database(folder, synthetic.whole(asked.stored)) if asked.stored else []
    table = _markdown(load, sized, stored)
    print(table)
    if asked.write:
        pages.write(asked.write, table, "large")


def _from_file(folder: Path, n: int) -> dict[str, Any]:
    print(f"ranking {n:,}", file=sys.stderr)
    made = write_made_up_file(folder, synthetic.whole(n))
    size = sum(file.stat().st_size for file in folder.iterdir()) / 1e6
    ranked, studied, changed = (run(task, str(folder)) for task in ("rank_file", "study_file", "change_file"))
    for file in folder.iterdir():
        file.unlink(missing_ok=True)
    figures = {**made, **ranked.answer, "megabytes": size, "elapsed": ranked.seconds}
    return {**figures, "studied": studied.answer, "changed": changed.answer}


def write_made_up_file(folder: Path, n: int, *, seed: int = 7) -> dict[str, int]:
    """Write n judgments as a file of ratings; return the numbers of judgments and documents.

    As in `synthetic`, three raters of a document rate every system on it. Scores are whole numbers from 0 to 100.
    """
    draw = np.random.default_rng(seed)
    systems, per_output = len(synthetic.SYSTEMS), synthetic.RATINGS
    n_segments = n // synthetic.STEP
    fewest, most = synthetic.SEGMENTS
    ends = np.minimum(np.cumsum(draw.integers(fewest, most + 1, size=n_segments // fewest + 1)), n_segments)
    n_documents = int(np.searchsorted(ends, n_segments)) + 1
    lengths = np.diff(ends[:n_documents], prepend=0)
    document = np.repeat(np.arange(n_documents, dtype=np.int32), lengths)
    first = draw.integers(0, RATERS - _POOL, size=n_documents)
    pool = np.argsort(draw.random((n_documents, _POOL)), axis=1)[:, :per_output]
    raters = np.sort(first[:, None] + pool, axis=1).astype(np.int32)
    level, spread = draw.normal(70, 8, size=RATERS), draw.uniform(8, 20, size=RATERS)
    ease = draw.normal(0, 4, size=n_documents)
    folder.mkdir(exist_ok=True)
    schema = pa.schema([(name, getattr(pa, kind)()) for name, kind in COLUMNS.items()])
    written = 0
    with pq.ParquetWriter(folder / RATINGS, schema, compression="zstd") as out:
        for system in range(systems):
            for start in range(0, n_segments, _SEGMENTS):
                segment = np.repeat(np.arange(start, min(start + _SEGMENTS, n_segments), dtype=np.int32), per_output)
                size, nth_rater = segment.size, np.arange(segment.size) % per_output
                where = document[segment]
                rater = raters[where, nth_rater]
                score = level[rater] + ease[where] - 0.3 * system + draw.normal(size=size) * spread[rater]
                columns = {
                    "system": np.full(size, system, dtype=np.int32),
                    "document": where,
                    "segment": segment,
                    "rater": rater,
                    "task": (where * per_output + nth_rater).astype(np.int32),
                    "judgment": np.arange(written, written + size, dtype=np.int32),
                    "nth": np.ones(size, dtype=np.int32),
                    "score": np.clip(np.rint(score), 0, 100),
                    "n_errors": np.full(size, -1, dtype=np.int32),
                    "kind": np.zeros(size, dtype=np.int8),
                    "role": np.zeros(size, dtype=np.int8),
                    "accepted": np.ones(size, dtype=np.bool_),
                }
                out.write_table(pa.table(columns, schema=schema), row_group_size=ROW_GROUP)
                written += size
    counts = {"documents": n_documents, "raters": RATERS, "tasks": n_documents * per_output}
    for what in LABELS:
        keys = list(synthetic.SYSTEMS) if what == "systems" else [f"{what}-{i:09}" for i in range(counts[what])]
        pq.write_table(pa.table({"key": keys}), labels_path(folder, what))
    position = np.arange(n_segments) - np.repeat(ends[:n_documents] - lengths, lengths) + 1
    segments = {"document": document, "position": position.astype(np.int32)}
    pq.write_table(pa.table(segments), folder / SEGMENTS)
    (folder / HEAD).write_text(json.dumps({"rows": written, "shared": False}), encoding="utf-8")
    return {"judgments": written, "documents": n_documents}


def _from_database(folder: Path, n: int) -> list[tuple[str, dict[str, Any]]]:
    """Import, write the file, rank and report from sums and in memory, each in a process of its own."""
    print(f"importing {n:,}", file=sys.stderr)
    with embedded.start_server(folder / "data") as server:
        migrate.upgrade_schema(server.url("owner"))
        file = folder / "da.tsv"
        synthetic.wmt_da(file, n)
        run("import", server.url("app"), "large", "wmt-da", "da", str(file))
        file.unlink()
        where = (server.url("app"), "large", str(folder / "files"))
        rows = [(how, run("rank_large", *where, how).answer) for how in ("written", "there", "memory")]
        for name in REPORTS:
            rows += [(f"{name} {how}", run("report_large", *where, how, name).answer) for how in ("there", "memory")]
    summed, held = rows[1][1], rows[2][1]
    assert summed["data_hash"] == held["data_hash"]
    check_alike(summed["scores"], held["scores"])
    for (_, one), (_, other) in zip(rows[3::2], rows[4::2], strict=True):
        one["answer"].pop("warnings")
        other["answer"].pop("warnings")
        check_alike(one["answer"], other["answer"])
    return rows


def check_alike(one: Any, other: Any) -> None:
    """Assert that two answers have the same figures to twelve digits, and the same text."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        one, other = list(one.values()), list(other.values())
    if isinstance(one, list):
        for pair in zip(one, other, strict=True):
            check_alike(*pair)
    elif isinstance(one, float):
        assert math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-12), (one, other)
    else:
        assert one == other


_HOW: Final = {
    "written": "ranking from sums, including writing the file",
    "there": "ranking from sums, with an existing file",
    "memory": "ranking in memory",
    "stability there": "SRP from sums",
    "stability memory": "SRP in memory",
    "robustness there": "robustness from sums",
    "robustness memory": "robustness in memory",
}
REPORTS: Final = ("stability", "robustness")


def _markdown(load: str, sized: list[dict[str, Any]], stored: list[tuple[str, dict[str, Any]]]) -> str:
    lines = [
        (
            f"The files are synthetic. {load}. "
            f"The goals for a hundred million judgments are {GOAL_SECONDS} s and {GOAL_MEMORY:,} MB."
        ),
        "",
        "| judgments | documents | file, MB | processor, s | elapsed, s | peak memory, MB |",
        "|--:|--:|--:|--:|--:|--:|",
        *(
            f"| {one['judgments']:,} | {one['documents']:,} | {one['megabytes']:,.0f} | {one['processor']:.1f} "
            f"| {one['elapsed']:.1f} | {one['memory']:,.0f} |"
            for one in sized
        ),
        "",
        (
            "The next table shows figures for the same files: SRP from 250 studies of 100 and of 1,000 documents, and "
            "rankings without the lowest system. All times are processor times."
        ),
        "",
        (
            "| judgments | SRP: sums, s | SRP: total, s | SRP: peak memory, MB "
            "| robustness: before ranking, s | robustness: total, s | robustness: peak memory, MB |"
        ),
        "|--:|--:|--:|--:|--:|--:|--:|",
        *(
            f"| {one['judgments']:,} | {one['studied']['summed']:.1f} | {one['studied']['processor']:.1f} "
            f"| {one['studied']['memory']:,.0f} | {one['changed']['settled']:.1f} | {one['changed']['processor']:.1f} "
            f"| {one['changed']['memory']:,.0f} |"
            for one in sized
        ),
    ]
    if stored:
        lines += [
            "",
            f"The next table shows figures for a campaign of {stored[0][1]['judgments']:,} judgments in Postgres:",
            "",
            "| what | processor, s | elapsed, s | peak memory, MB |",
            "|---|--:|--:|--:|",
            *(
                f"| {_HOW[how]} | {one['processor']:.1f} | {one['seconds']:.1f} | {one['memory']:,.0f} |"
                for how, one in stored
            ),
        ]
    return "\n".join(lines) + "\n"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.large", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS, help="judgments of the made-up files")
    parser.add_argument("--stored", type=int, default=ROWS[0], help="judgments of the campaign in Postgres; 0: none")
    parser.add_argument("--folder", type=Path, help="where files and database go (default: the temporary folder)")
    parser.add_argument("--write", type=Path, help="page to put the table into, between its marks")
    return parser.parse_args()


if __name__ == "__main__":
    main()
