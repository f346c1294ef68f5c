"""`plumbline import`: what is wrong is one clear message and exit code 2, in bounded memory; nothing is stored."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.services.data.test_imports import BAD, DA, MQM
from tests.spine import PLUMBLINE, Spine, opened

# A file may cost a reader one sorter (12 MB), one batch of COPY lines (20,000) and the limit of a line: 64 MB in all.
ROOM = 64 << 10  # KB


@pytest.fixture
def spine(database_url: str) -> Iterator[Spine]:
    with opened(database_url) as found:
        yield found


@dataclass(frozen=True)
class Done:
    """How a command ended, and the most memory that it held, in KB."""

    code: int
    said: str
    memory: int
    seconds: float


# The kernel counts the memory of whoever forks to the child as well, so a small process of its own starts and measures.
MEASURE = """
import json, os, subprocess, sys, time
began = time.monotonic()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
said = process.stderr.read().decode()
_, status, usage = os.wait4(process.pid, 0)
print(json.dumps([os.waitstatus_to_exitcode(status), said, usage.ru_maxrss, time.monotonic() - began]))
"""


def measured(url: str, *command: str | Path) -> Done:
    """Run a command and ask the kernel for its own peak memory."""
    environment = {**os.environ, "PLUMBLINE_DATABASE_URL": url}
    measure = [sys.executable, "-S", "-c", MEASURE, *map(str, command)]
    done = subprocess.run(measure, env=environment, capture_output=True, timeout=120, check=True)
    return Done(*json.loads(done.stdout))


@pytest.mark.parametrize("kind", ["cut gzip", "missing column", "NaN", "unknown severity", "several language pairs"])
def test_bad_input_is_named_by_file_line_and_reason(spine: Spine, tmp_path: Path, kind: str, command: Command) -> None:
    format, data, reason = BAD[kind]
    (tmp_path / "bad.file").write_bytes(data)
    before = spine.counts()
    answer = command(spine.url, "import", "bad", tmp_path / "bad.file", "--format", format)
    said = answer.stderr.decode()
    assert answer.returncode == 2
    assert said.splitlines()[-1].startswith("  bad.file:") or said.startswith("plumbline: ")
    assert "bad.file" in said
    assert any(word in said for word in reason.split("|"))
    assert "Traceback" not in said
    assert spine.counts() == before


def test_hostile_sizes_are_refused_in_bounded_memory_and_time(spine: Spine, tmp_path: Path) -> None:
    """A line of 1 GB (a hole of a file), a million empty lines, and a bomb that unpacks to 1 GB."""
    good = tmp_path / "good.tsv"
    good.write_text(MQM)
    usual = measured(spine.url, PLUMBLINE, "import", "good", good, "--format", "mqm-tsv", "--dry-run")
    assert usual.code == 0
    before = spine.counts()
    long, empty, bomb = (tmp_path / name for name in ("long.tsv", "empty.tsv", "bomb.tsv"))
    long.write_text(MQM)
    os.truncate(long, 1 << 30)
    empty.write_bytes(MQM.encode() + b"\n" * 1_000_000 + b"end")
    row = MQM.splitlines()[1].replace("Source 1 1.", "Source 1 1. " * 80)  # so that few are read before it is refused
    part = gzip.compress(f"{row}\n".encode() * 9_000)  # members of some 9 MB each
    bomb.write_bytes(gzip.compress(MQM.encode()) + part * 120)
    for file, reason in ((long, "longer than"), (empty, "the line is empty"), (bomb, "gzip bomb")):
        done = measured(spine.url, PLUMBLINE, "import", "bad", file, "--format", "mqm-tsv")
        assert done.code == 2
        assert reason in done.said
        assert file.name in done.said
        assert done.memory < usual.memory + ROOM, f"{file.name}: {done.memory:,} KB, usual {usual.memory:,} KB"
        assert done.seconds < 20 * max(usual.seconds, 1), file.name
        assert len(done.said.splitlines()) <= 110
    assert spine.counts() == before


def test_the_measure_of_memory_sees_what_a_process_holds(spine: Spine) -> None:
    """Negative control: a process that holds more than the room is seen to."""
    hold = "import sys; held = b'x' * (int(sys.argv[1]) << 10)"
    little, much = (measured(spine.url, sys.executable, "-c", hold, str(size)).memory for size in (1, 2 * ROOM))
    assert much > little + ROOM


def test_files_are_imported_once_and_reported(spine: Spine, tmp_path: Path, command: Command) -> None:
    (tmp_path / "da.csv").write_text(DA)
    first = command(spine.url, "import", "c", tmp_path / "da.csv", "--format", "wmt-da", "--json")
    report = json.loads(first.stdout)
    assert report["stored"]["judgments"] == 56
    assert report["files"] == ["da.csv"]
    again = command(spine.url, "import", "c", tmp_path / "da.csv", "--format", "wmt-da")
    assert again.returncode == 0
    assert "unchanged" in again.stdout.decode()
    assert spine.ask("SELECT actor FROM versions")[0][0].startswith("cli:")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("nowhere.tsv", "--format", "mqm-tsv"), "nowhere.tsv: there is no such file"),
        ((".", "--format", "mqm-tsv"), "there is no such file"),
        (("good.tsv", "good.tsv", "--format", "mqm-tsv"), "is given twice"),
        (("good.tsv", "--format", "no-such-format"), "no-such-format"),
        (("good.tsv", "--format", "mqm-tsv", "--option", "scale=z"), "options:scale"),
        (("good.tsv", "--format", "mqm-tsv", "--option", "scale"), "must be key=value"),
    ],
)
def test_what_cannot_be_done_is_said(
    spine: Spine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    reason: str,
    command: Command,
) -> None:
    (tmp_path / "good.tsv").write_text(MQM)
    monkeypatch.chdir(tmp_path)
    answer = command(spine.url, "import", "c", *arguments)
    assert answer.returncode == 2
    assert reason in answer.stderr.decode()
    assert b"Traceback" not in answer.stderr
    assert spine.counts()["campaigns"] == 0


def test_two_files_of_one_name_and_names_of_any_bytes_are_told_apart(
    spine: Spine, tmp_path: Path, command: Command
) -> None:
    for n, folder in enumerate(("one", "two")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.tsv").write_text(MQM.replace("\td", f"\tn{n}.d").replace(f"\tn{n}.doc", "\tdoc"))
    strange = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe.tsv"))
    strange.write_text(MQM + "oops\n")
    answer = command(spine.url, "import", "c", *tmp_path.glob("*/x.tsv"), "--format", "mqm-tsv", "--json")
    assert answer.returncode == 0, answer.stderr
    assert sorted(json.loads(answer.stdout)["files"]) == [str(tmp_path / f / "x.tsv") for f in ("one", "two")]
    refused = command(spine.url, "import", "d", strange, "--format", "mqm-tsv")
    assert refused.returncode == 2
    assert "��.tsv:30:" in refused.stderr.decode()
