"""Whatever names and texts hold, no CSV has a cell that a spreadsheet would run, and `jsonl` loses nothing."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator

import httpx
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from app.reports.kit.render import csv_text

RUNS = ("=", "+", "-", "@", "\t", "\r", "\n")
NAMES = ("=HYPERLINK(1)", "+1+1", "-2-2", "@SUM(A1)")
HEADER = ["system", "doc", "docSegId", "globalSegId", "rater", "source", "target", "category", "severity", "metadata"]
CSVS = ("ranking.csv", "ranking.csv?table=pairs", "ranking/segments", "exports/csv")


def hostile_table() -> str:
    rows = [
        [system, "=doc", str(n), str(n), "@rater", "=1+1", f"-cmd|' /C calc'!A{n}", "=cat", severity, ""]
        for s, system in enumerate(NAMES)
        for n, severity in enumerate(("Major", "Minor", "Minor", "Neutral")[: s + 1] + ("Minor",) * (3 - s), 1)
    ]
    return "".join("\t".join(row) + "\n" for row in [HEADER, *rows])


def running(text: str) -> list[str]:
    """The cells that a spreadsheet would take for more than text or a number."""
    return [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row if runs(cell)]


def runs(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return cell.startswith(RUNS)
    return False


@pytest.fixture
def hostile(admin: httpx.Client) -> Iterator[httpx.Client]:
    made = admin.post("/v1/campaigns", json={"key": "demo", "protocol": "mqm"})
    assert made.status_code == 201
    read = admin.post("/v1/campaigns/demo/imports?format=mqm-tsv", content=hostile_table().encode())
    assert read.status_code == 200, read.text
    return admin


@pytest.mark.parametrize("address", CSVS)
def test_no_csv_has_a_cell_that_runs(hostile: httpx.Client, address: str) -> None:
    answer = hostile.get(f"/v1/campaigns/demo/{address}")
    assert answer.status_code == 200, answer.text
    assert "HYPERLINK" in answer.text
    assert not running(answer.text)


def test_jsonl_holds_every_text_as_it_came(hostile: httpx.Client) -> None:
    lines = hostile.get("/v1/campaigns/demo/exports/jsonl").text.splitlines()
    texts = {text for line in lines for text in strings_in(json.loads(line))}
    assert {*NAMES, "=1+1", "-cmd|' /C calc'!A1", "=doc", "@rater"} <= texts


def strings_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings_in(inner)


TEXTS = st.text(st.sampled_from("=+-@\t\r\n'\",;|a1 "), max_size=8)


@settings(database=None, derandomize=True, max_examples=300, deadline=None, phases=[Phase.generate])
@given(TEXTS)
def test_no_text_runs_once_it_is_a_cell(text: str) -> None:
    written = csv_text.render_csv(None, [[text, "end"]]).decode()
    assert not running(written)
    (cell, _), *_ = csv.reader(io.StringIO(written, newline=""))
    assert cell.removeprefix("'") == text.removeprefix("'")


def test_a_cell_written_as_it_is_would_run() -> None:
    """The negative control."""
    assert running("rank,system\r\n1,=1+1\r\n") == ["=1+1"]
