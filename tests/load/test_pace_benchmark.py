"""A small twin of the benchmarks of raters who think and managers who look.

What they time is no test; that requests go out by the timetable, are answered and counted is.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from app.storage.db import APP_ROLE, Database
from app.storage.embedded import EmbeddedServer
from benchmarks import managers, pace
from benchmarks.hot import serving
from benchmarks.hot_load import EVENTS, Answer
from benchmarks.pace import Pace, Rater, timetable
from benchmarks.processes import Watched, postmaster, serving_at

RATERS = 12
PAUSES = (0.2, 0.6)


@pytest.fixture
def running(
    postgres: EmbeddedServer, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Pace, Database]]:
    monkeypatch.setattr(pace, "PAUSES", PAUSES)
    monkeypatch.setattr(pace, "HALF_A_MINUTE", PAUSES)
    monkeypatch.setattr(managers, "HALF_A_MINUTE", PAUSES)
    monkeypatch.setattr(pace, "KEEPS_UP", 60.0)
    monkeypatch.setattr(pace, "IDLE", 0.1)
    monkeypatch.setattr(pace, "PLAIN", 0.1)
    database = Database(database_url, role=APP_ROLE)
    raters = pace.campaign(database_url, database, managers.RATERS, RATERS)
    with serving(database_url, 1) as address:
        yield Pace(address, Watched(serving_at(address[1]), postmaster(postgres)), raters), database
    database.close()


@pytest.mark.soak  # every run has its parts and its tables below
def test_raters_who_think_are_measured_beside_the_hammered_path_and_beside_managers(
    running: tuple[Pace, Database],
) -> None:
    paced, database = running
    paced.settle()
    rows = cells(pace.per_post(paced, 1.0, 1))
    human = rows[f"{RATERS} raters, each posting every 0.2 to 0.6 s"]
    assert 15 < float(human[0]) < 60  # posts per second: one every .4 s of each of twelve
    for name in ("16 connections without a pause", "1 connection without a pause: one post per commit"):
        assert rows[name][-1].startswith("200: ")
        assert all(float(figure.replace(",", "")) > 0 for figure in (*rows[name][:2], *rows[name][4:7]))
    assert human[-1].startswith("200: ")
    smallest = {name: row for name, row in rows.items() if "/livez" in name}
    assert [row[-1][:5] for row in smallest.values()] == ["200: ", "200: "]
    told = pace.capacity(paced, 0.6)
    assert [row[-1][:5] for name, row in cells(told).items() if name != "raters"] == ["200: ", "200: "]
    assert f"The service keeps up with at least {RATERS} raters" in told[-1]

    seen = managers.Managers(managers.viewer(database), [managers.RATERS], streams=2)
    run = managers.beside(paced, 1.0, seen)
    assert set(run.raters.statuses) == {"200"}
    assert run.managers["stream"]["statuses"] == {"200": 2}
    assert run.managers[EVENTS]["n"] >= 2
    assert run.livez["statuses"] == {"200": 10}
    assert run.memory > 10
    assert 0 <= run.slow <= 1
    lines = list(managers.tables([(run, run)], run.memory))
    assert any(line.startswith("With managers, p99 is 1.00 times as high") for line in lines)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n0\r\n\r\n..",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/event-stream\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n",
    ],
)
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_an_answer_is_whole_with_its_last_byte_in_whatever_pieces_it_comes(answer: bytes, size: int) -> None:
    taken = Answer()
    pieces = [answer[at : at + size] for at in range(0, len(answer), size)]
    assert [taken.take(piece) for piece in pieces] == [False] * (len(pieces) - 1) + [True]
    assert taken.status == "200"


def test_a_timetable_has_each_rater_post_at_the_pace_and_in_order() -> None:
    raters = [Rater(f"t{n}", "s") for n in range(200)]
    sent = timetable(raters, 60.0, (10.0, 50.0), random.Random(1), beats=True)
    assert sent == sorted(sent)
    posts = [one for one in sent if one[2] == "post"]
    assert 350 < len(posts) < 450  # two a minute of each
    assert sum(one[2] == "beat" for one in sent) == 600
    mine = [text.split()[1] for _, client, _, text in posts if client == 7]
    assert mine == [f"/v1/tasks/t7/judgments/1/{n + 1}" for n in range(len(mine))]


def test_managers_open_every_list_and_every_report_that_needs_no_choice() -> None:
    found = managers.addresses()
    place = managers.PLACE
    assert {found[place + name] for name in ("judgments", "raters", "tasks", "documents")} == {"list"}
    assert {found[place + name] for name in ("ranking", "reports/quality", "reports/ingest")} == {"report"}
    assert place + "gate" not in found  # which asks for two systems
    asked = managers.Managers("secret", ["a", "b"], streams=3).sent(10, 20.0)
    assert asked[0] == 3 + 2 * managers.EACH
    assert {client for _, client, _, _ in asked[1]} == set(range(10, 10 + asked[0]))


def cells(lines: list[str]) -> dict[str, list[str]]:
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| ")]
    return {row[0]: row[1:] for row in rows if row[0] not in {"posts", "raters"}}
