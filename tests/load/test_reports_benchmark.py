"""A small twin of the benchmark of reports: what it times is no test; that it times every kind, or says why not, is.

So is that a part of it imports no more than it needs, and that no figure hides at which size it was measured.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from app.reports import registry
from benchmarks import reports, reports_asked
from benchmarks.reports import Cold, Page

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
    by_name = cells(text)
    for name, kind in registry.ALL.items():
        assert by_name[name][-1] or float(by_name[name][1]) > 0
        assert not kind.long or "job" in by_name[name][-1]
    assert float(by_name["empty: /livez"][0]) > 0
    assert float(by_name["ranking, 304"][1]) > 0
    assert [by_name[f"ranking, {how}"][2] for how in ("200", "304")] == ["≤ 10", "≤ 10"]


@pytest.mark.soak
def test_a_part_is_timed_as_it_is_asked_for(scratch: Path) -> None:
    only = ["--only", "campaign/card", "campaign/arms", "campaigns/xsts", "--at-most", "campaigns/xsts=1000"]
    command = [sys.executable, "-m", "benchmarks.reports", "--rows", "4000", *only]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    rows = cells(done.stdout)
    assert list(rows) == ["kind", "campaign/arms", "campaign/card", "campaigns/xsts"]
    assert float(rows["campaign/card"][1]) > 0
    assert rows["campaigns/xsts"][1].endswith("(at 1,000)")
    imported = [line.partition("importing ")[2] for line in done.stderr.splitlines() if "importing" in line]
    assert imported == ["xsts-100", "da_sqm-400", "xsts-1000", "da_sqm-4000"]
    assert all(float(line.split(" s  ")[0]) >= 0 for line in done.stderr.splitlines())


def cells(table: str) -> dict[str, list[str]]:
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if line.startswith("| ")]
    return {row[0]: row[1:] for row in rows}


def asked(*arguments: str) -> reports_asked.Asked:
    return reports_asked.read(arguments, None)


def test_all_kinds_need_all_campaigns_at_both_sizes() -> None:
    every = ("da_sqm", "da_sqm-2", "mqm2", "postedit", "xsts", "xsts-2")
    assert set(every) == set(reports.IMPORTED)
    assert asked("--with-jobs").needed() == {14_000: every, 140_000: every}
    assert asked("--with-jobs").names == sorted(registry.ALL)


def test_a_part_needs_no_more_than_its_own_campaigns_and_no_stored_reports() -> None:
    part = asked(
        "--rows", "5000", "--only", "campaign/postediting", "campaigns/xsts", "--at-most", "campaigns/xsts=500"
    )
    assert part.names == ["campaign/postediting", "campaigns/xsts"]
    assert part.needed() == {50: ("xsts",), 500: ("postedit", "xsts"), 5000: ("postedit",)}
    whole = asked("--rows", "5000", "--without", *(name for name in registry.ALL if name != "campaigns/xsts"))
    assert whole.needed() == {500: ("xsts",), 5000: ("da_sqm", "xsts")}


def test_a_job_is_timed_where_jobs_are_asked_for_or_it_is_named() -> None:
    name, kind = next((name, kind) for name, kind in registry.ALL.items() if kind.long)
    assert asked().left_out(name, kind) == "a job with progress: not timed here"
    assert asked("--with-jobs").left_out(name, kind) is None
    assert asked("--only", name).left_out(name, kind) is None
    assert asked("--only", name, "--without", name).left_out(name, kind) == "left out of this run"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only", "arms"], "no such kind: arms; there are campaign/"),
        (["--at-most", "campaign/arms"], "it is KIND=ROWS"),
        (["--at-most", "campaign/arms=many"], "it is KIND=ROWS"),
        (["--at-most", "campaign/arms=140001"], "no more than --rows"),
        (["--at-most", "campaign/arms=9"], "100 judgments or more"),
        (["--only", "campaign/arms", "--write", "page.md"], "cannot take their place"),
    ],
)
def test_what_makes_no_sense_is_refused(capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    with pytest.raises(SystemExit, match="2"):
        asked(*arguments)
    assert said in capsys.readouterr().err


def test_a_figure_of_another_size_than_its_column_says_so() -> None:
    sizes = (14_000, 140_000)
    found = [
        Cold("a", long=False, sizes=sizes, load=(0.5, 5.0), seconds=(1.0, 10.0)),
        Cold("b", long=True, sizes=(1_400, 14_000), load=(0.5, 1.0), seconds=(1.0, 100.0)),
        Cold("c", long=True, sizes=(1_400, 14_000), load=(0.5, 1.0), seconds=(0.0, 0.0), why="too thin"),
        Cold("d", long=True, sizes=(1_400, 14_000), why="left out of this run"),
    ]
    rows = cells(reports.table(Page(found, (), sizes)))
    capped = "job, at most 14,000"
    assert rows.pop("kind") == ["14,000, s", "140,000, s", "× loading, 14,000", "× loading, 140,000", "exponent", ""]
    assert rows == {
        "a": ["1.00", "10.00", "2.0", "2.0", "1.00", ""],
        "b": [*("1.00 (at 1,400)", "100.00 (at 14,000)", "2.0 (at 1,400)", "100.0 (at 14,000)"), "2.00", capped],
        "c": ["", "", "", "", "", "too thin, at most 14,000"],
        "d": ["", "", "", "", "", "left out of this run"],
    }


def test_stored_reports_stand_below_where_they_were_asked() -> None:
    asked_for = (("empty: /livez", 0.5), ("card, 200", 1.0), ("only the credential", 4.0))
    shown = cells(reports.table(Page((), asked_for, (10, 100))))
    assert shown["card, 200"] == ["1.00", "2.0", "≤ 10"]
    assert shown["only the credential"] == ["4.00", "8.0", ""]
