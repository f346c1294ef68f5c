"""`plumbline rank`, `export` and `db`: what they write, and how they refuse."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from app.storage import embedded
from tests.cli.conftest import Command
from tests.load.server import serving
from tests.services.data.test_imports import DA, MQM
from tests.spine import Spine, fresh


@pytest.fixture(scope="module")
def spine(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[Spine]:
    with fresh(postgres, migrated_template) as found:
        found.take("mqm", "mqm-tsv", MQM.encode())
        found.take("da", "wmt-da", DA.encode())
        yield found


def test_a_ranking_in_the_terminal_names_recipe_and_warnings(spine: Spine, command: Command) -> None:
    shown = command(spine.url, "rank", "mqm").stdout.decode()
    assert "A" in shown
    assert "recommended" in shown


@pytest.mark.parametrize(
    ("flags", "start"),
    [
        (("--csv",), b"rank,system"),
        (("--csv", "--table", "pairs"), b"better,worse"),
        (("--csv", "--table", "segments"), b"system,document,position,score"),
        (("--latex",), b"%"),
        (("--markdown", "--table", "pairs"), b"|"),
        (("--svg",), b"<?xml"),
    ],
)
def test_every_kind_of_answer_is_written(spine: Spine, flags: tuple[str, ...], start: bytes, command: Command) -> None:
    answer = command(spine.url, "rank", "mqm", *flags)
    assert answer.returncode == 0, answer.stderr
    assert start in answer.stdout[:400]
    assert answer.stdout.endswith(b"\n")


@pytest.mark.skipif(find_spec("pyarrow") is None, reason="the extra parquet (pyarrow) is not installed")
@pytest.mark.parametrize("table", ["systems", "pairs"])
def test_parquet_is_written_to_a_file_whole(spine: Spine, table: str, tmp_path: Path, command: Command) -> None:
    parquet = import_module("pyarrow.parquet")
    file = tmp_path / "ranking.parquet"
    answer = command(spine.url, "rank", "mqm", "--table", table, "--parquet", file)
    assert (answer.returncode, answer.stdout) == (0, b""), answer.stderr
    known = csv.reader(io.StringIO(command(spine.url, "rank", "mqm", "--table", table, "--csv").stdout.decode()))
    found = parquet.read_table(file)
    assert [found.column_names, found.num_rows] == [next(known), len([row for row in known if row])]
    assert list(tmp_path.iterdir()) == [file]


def test_parquet_without_its_extra_is_refused_by_name_and_leaves_no_file(
    spine: Spine, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.reports.kit.render.parquet.find_spec", lambda _: None)
    answer = command(spine.url, "rank", "mqm", "--parquet", tmp_path / "ranking.parquet")
    assert answer.returncode == 2
    assert b"plumbline[parquet]" in answer.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_ranking_speaks_about_a_version_or_a_time(spine: Spine, command: Command) -> None:
    told = {
        as_of: json.loads(command(spine.url, "rank", "mqm", "--json", "--as-of", as_of).stdout)
        for as_of in ("0", "2020-01-01T00:00:00Z", "2999-01-01T00:00:00+01:00")
    }
    now = json.loads(command(spine.url, "rank", "mqm", "--json").stdout)
    assert [len(ranking["systems"]) > 0 for ranking in told.values()] == [False, False, True]
    assert told["0"]["data_version"] == told["2020-01-01T00:00:00Z"]["data_version"] == 0
    assert told["2999-01-01T00:00:00+01:00"] == now


def test_an_excluded_system_leaves_the_ranking_and_is_written_down(spine: Spine, command: Command) -> None:
    answer = command(spine.url, "rank", "da", "--recipe", "wmt-da", "--exclude", "rater:w1", "--json")
    ranking = json.loads(answer.stdout)
    assert ranking["recipe"]["exclude"] == ["rater:w1"]
    assert {"reason": "excluded rater:w1", "n": 28} in ranking["dropped"]
    assert ranking["n_ratings"] == 28


def test_segments_are_those_of_the_recipe_that_was_asked_for(spine: Spine, command: Command) -> None:
    answer = command(
        spine.url, "rank", "mqm", "--recipe=google-mqm", "--csv", "--table=segments", "--scoring=spans:freitag2021:2"
    )
    rows = list(csv.DictReader(io.StringIO(answer.stdout.decode())))
    assert len(rows) == 28
    assert {float(row["score"]) for row in rows} == {1.0, 2.0}


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("nobody",), "no such campaign"),
        (("mqm", "--recipe", "nope"), "--recipe: there are wmt-da, "),
        (("mqm", "--normalise", "z"), "normalise"),
        (("mqm", "--normalize", "sideways"), "normalize"),
        (("mqm", "--alpha"), "must be --name value"),
        (("da", "--scoring", "spans"), "recipe:scoring: da marks no errors"),
        (("da", "--scoring", "spans:wmt24"), "recipe:scoring: da marks no errors"),
        (("mqm", "--scoring", "spans:nope"), "nope"),
        (("mqm", "--exclude", "system:X"), "no system 'X' to exclude"),
        (("mqm", "--exclude", "X"), "exclude"),
        (("mqm", "--csv", "--svg"), "--svg"),
        (("mqm", "--csv", "--parquet", "ranking.parquet"), "--parquet"),
        (("mqm", "--table", "segments", "--parquet", "ranking.parquet"), "--table:segments: is a table for --csv"),
        (("mqm", "--table", "nope"), "--table:nope"),
        (("mqm", "--table", "segments"), "--table:segments: is a table for --csv"),
        (("mqm", "--svg", "--table", "segments"), "--table:segments"),
        (("mqm", "--as-of", "99999"), "no such data version"),
        (("mqm", "--as-of", "-5"), "must be a data version, or a time"),
        (("mqm", "--as-of", "yesterday"), "must be a data version, or a time"),
    ],
)
def test_what_cannot_be_ranked_is_said_in_one_message(
    spine: Spine, arguments: tuple[str, ...], reason: str, command: Command
) -> None:
    answer = command(spine.url, "rank", *arguments)
    assert answer.returncode == 2, answer.stdout
    assert answer.stdout == b""
    assert reason in answer.stderr.decode()
    assert b"Traceback" not in answer.stderr


def test_an_export_says_what_it_could_not_hold(spine: Spine, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = command(spine.url, "export", "mqm", "--format", "esa")
    assert answer.returncode == 0
    assert answer.stdout == spine.export("mqm", "esa")
    assert b"left out by esa: texts of outputs: " in answer.stderr
    assert command(spine.url, "export", "mqm").stderr == b"", "jsonl loses nothing"
    with serving(spine.url) as served:
        monkeypatch.setenv("PLUMBLINE_TOKEN", served.secret)
        assert command(spine.url, "export", "mqm", "--format", "esa", "--server", served.url) == answer
        bundle = command(spine.url, "export", "mqm", "--format", "bundle", "--server", served.url)
    assert (bundle.returncode, bundle.stderr) == (0, b"")


def test_an_export_is_written_whole_or_not_at_all(spine: Spine, tmp_path: Path, command: Command) -> None:
    file = tmp_path / "out.jsonl"
    assert command(spine.url, "export", "mqm", "--output", file).returncode == 0
    assert file.read_bytes() == spine.export("mqm")
    assert command(spine.url, "export", "mqm").stdout == file.read_bytes()
    for arguments in (("nobody",), ("mqm", "--format", "nope")):
        answer = command(spine.url, "export", *arguments, "--output", tmp_path / "other")
        assert answer.returncode == 2
        assert b"Traceback" not in answer.stderr
    assert sorted(tmp_path.iterdir()) == [file]


def test_a_folder_that_cannot_be_written_to_is_named(spine: Spine, tmp_path: Path, command: Command) -> None:
    for words in (("export", "mqm", "--output"), ("db", "backup")):
        answer = command(spine.url, *words, tmp_path / "no" / "folder")
        assert answer.returncode == 2
        assert b"folder" in answer.stderr
        assert b"Traceback" not in answer.stderr


def test_a_database_that_is_not_there_is_one_clear_message(tmp_path: Path, command: Command) -> None:
    for words in (("rank", "c"), ("db", "check"), ("db", "upgrade")):
        answer = command(f"postgresql://nobody@/none?host={tmp_path}", *words)
        assert answer.returncode == 2
        assert answer.stderr.startswith(b"plumbline: ")
        assert b"Traceback" not in answer.stderr
