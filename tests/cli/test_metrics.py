"""`plumbline metrics`, on the database and over HTTP."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.domain.errors import Invalid
from app.services.data import metrics_files
from app.storage.db import Database
from tests.cli.conftest import Command
from tests.collecting import collect
from tests.load.server import serving

TABLE = (
    "system\tdocument\tsegment\tscore\nsysA\tdoc1\t1\t0.5\nsysA\t\t\t0.7\nsysB\tdoc1\t2\tNone\nother\tdoc1\t1\t0.1\n"
)


@pytest.fixture
def live(database_url: str) -> str:
    database = Database(database_url, size=2, role="plumbline_app")
    try:
        return collect(database, documents=1, segments=2).key
    finally:
        database.close()


def test_a_table_and_score_files_are_stored_and_listed(
    command: Command, database_url: str, live: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "scores.tsv"
    table.write_text(TABLE)
    segments, systems = tmp_path / "COMET[22].seg.score", tmp_path / "COMET[22].sys.score"
    segments.write_text("sysA\t0.1\nsysA\tNone\nsysB\t0.2\nsysB\t0.3\n")
    systems.write_text("sysA 0.4\nsysB 0.6\n")

    first = command(database_url, "metrics", "import", live, table, "--name", "mine", "--lower-is-better")
    assert (first.returncode, first.stderr) == (0, b"")
    assert b"mine, 1 scores of outputs and 1 of systems" in first.stdout
    assert b"left: 1 of systems that are not judged here" in first.stdout
    with serving(database_url) as served:
        monkeypatch.setenv("PLUMBLINE_TOKEN", served.secret)
        told = command(database_url, "metrics", "import", live, segments, systems, "--json", "--server", served.url)
        listed = command(database_url, "metrics", "list", live, "--server", served.url)
    stored = json.loads(told.stdout)
    assert (stored["metric"], stored["n_outputs"], stored["n_of_systems"]) == ("COMET_22_", 3, 2)
    assert listed.stdout == command(database_url, "metrics", "list", live).stdout
    assert b"mine: 1 outputs, 1 systems, lower is better" in listed.stdout


def test_a_metric_without_a_name_is_refused(command: Command, database_url: str, live: str, tmp_path: Path) -> None:
    table = tmp_path / "scores.tsv"
    table.write_text(TABLE)
    refused = command(database_url, "metrics", "import", live, table)
    assert refused.returncode == 2
    assert b"--name" in refused.stderr
    missing = command(database_url, "metrics", "import", live, tmp_path / "none.tsv", "--name", "x")
    assert (missing.returncode, b"none.tsv: No such file" in missing.stderr) == (2, True)


@pytest.mark.parametrize(
    ("path", "text", "says"),
    [
        ("x.tsv", "system\tvalue\nA\t1\n", "x.tsv: its header"),
        ("x.csv", "system,score\nA,high\n", "line 2: 'high' is no score"),
        ("x.csv", "system,score,document,segment\nA,1,d,0\n", "line 2: '0' is not a segment number"),
        ("x.seg.score", "A 1 2\n", "line 1: a system and a score, not 3"),
        ("x.sys.score", "A inf\n", "line 1: 'inf' is no score"),
        ("x.sys.score", "A 1\nB 2\nA 1\n", "line 3: a second score of A"),
        ("x.csv", "system,score\nA,1\nA,2\n", "line 3: a second score of A"),
    ],
)
def test_what_is_no_score_is_named_by_file_and_line(path: str, text: str, says: str) -> None:
    with pytest.raises(Invalid, match=says):
        metrics_files.read_metric_files({path: text}, higher_is_better=True)


@pytest.mark.parametrize("level", ["seg", "sys"])
def test_files_of_two_metrics_are_not_taken_for_one(level: str) -> None:
    files = {f"{name}.{level}.score": "A 1\n" for name in ("BLEU", "COMET")}
    with pytest.raises(Invalid, match=rf"COMET.{level}.score: another file also scores A"):
        metrics_files.read_metric_files(files, higher_is_better=True)


def test_a_table_may_be_as_a_spreadsheet_writes_it() -> None:
    text = '\ufeffsystem;score;note\r\nA;0.5;"two\r\nlines"\r\n\r\n"B;1";2\r\n'
    assert metrics_files.read_metric_files({"x.csv": text}, higher_is_better=True).systems == {"A": 0.5, "B;1": 2.0}
