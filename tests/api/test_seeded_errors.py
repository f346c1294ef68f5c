"""Errors that were put into texts, in the report on quality: attention checks of an import, and degraded segments."""

from __future__ import annotations

import csv
import json
from typing import Any

import httpx
import psycopg

from app.stats.quality.seeded_errors import (
    AttentionCheckCounts,
    SeededErrorHits,
    SeededSegment,
    count_attention_check_results,
    count_seeded_error_hits,
    overlaps_changed_part,
)
from app.stats.ratings import RatingRole
from app.storage.db import Database
from tests.collecting import collect

HEAD = "system\tdoc\tdocSegId\tglobalSegId\trater\tsource\ttarget\tcategory\tseverity\tmetadata\n"


def row(rater: str, position: int, category: str, severity: str) -> str:
    return (
        f"A\td1\t{position}\t{position}\t{rater}\tThe dog {position}.\tDer Hund {position}.\t{category}\t{severity}\t\n"
    )


def quality(client: httpx.Client, campaign: str) -> dict[str, Any]:
    answer = client.get(f"/v1/campaigns/{campaign}/reports/quality")
    assert answer.status_code == 200, answer.text
    return {one["rater"]: one for one in answer.json()["raters"]}


def test_attention_checks_are_counted_as_the_file_says_them(admin: httpx.Client) -> None:
    given = [("r1", 1, "Found"), ("r1", 2, "Missed"), ("r1", 3, "Found"), ("r2", 1, "Missed"), ("r2", 2, "elsewhere")]
    table = HEAD + "".join(row(rater, n, said, "HOTW-test") for rater, n, said in given)
    table += row("r3", 1, "No-error", "No-error")
    assert admin.post("/v1/campaigns", json={"key": "hotw", "protocol": "mqm"}).status_code == 201
    read = admin.post("/v1/campaigns/hotw/imports", params={"format": "mqm-tsv"}, content=table.encode())
    assert read.status_code == 200, read.text
    found = quality(admin, "hotw")
    assert {name: one["attention"] for name, one in found.items()} == {
        "r1": {"found": 2, "missed": 1},
        "r2": {"found": 0, "missed": 1},
        "r3": None,
    }
    assert [one["verdict"] for one in found.values()] == ["not_testable"] * 3, "they are no verdict"
    (line,) = [line for line in admin.get("/v1/campaigns/hotw/reports/quality.md").text.splitlines() if "`r1`" in line]
    assert "2 of 3" in line
    head, first, *_ = csv.reader(admin.get("/v1/campaigns/hotw/reports/quality.csv").text.splitlines())
    shown = dict(zip(head, first, strict=True))
    assert (shown["checks_found"], shown["checks_missed"]) == ("2", "1")


def test_an_error_marked_where_a_segment_was_degraded_is_a_hit(
    anonymous: httpx.Client, admin: httpx.Client, database: Database
) -> None:
    live = collect(database, protocol="esa", documents=1, segments=4, raters=("r1",))
    changed = [[[0, 99]]] * 4 + [[[4, 9]], [[4, 9]], [[4, 9]], []]  # of an output of sysA each, then of sysB
    with psycopg.connect(database.url) as db:
        db.execute("UPDATE items SET role = %s, variant = 'bad'", (RatingRole.DEGRADED.value,))
        outputs = db.execute(
            """SELECT o.id, o.text FROM outputs o JOIN segments g ON g.id = o.segment_id
               JOIN systems s ON s.id = o.system_id ORDER BY s.key, g.position"""
        ).fetchall()
        for (output, text), parts in zip(outputs, changed, strict=True):
            db.execute(
                """INSERT INTO variants (campaign_id, output_id, kind, name, text, how)
                   VALUES (%s, %s, 'degraded', 'bad', %s, %s)""",
                (live.id, output, text, json.dumps({"method": "rotation", "changed": parts})),
            )
    leased = anonymous.post(f"/v1/campaigns/{live.key}/lease", headers=live.auth("r1")).json()["task"]["task"]
    marks = [[(8, 12)], [(0, 4)], [], [(4, 9)]]
    body = [
        {
            "item": 2,
            "segment": n,
            "payload": {
                "protocol": "esa",
                "score": 50,
                "errors": [{"start": start, "end": end, "severity": "major"} for start, end in places],
            },
        }
        for n, places in enumerate(marks, 1)
    ]
    stored = anonymous.post(f"/v1/tasks/{leased}/judgments", json=body, headers=live.auth("r1"))
    assert stored.status_code == 200, stored.text
    assert quality(admin, live.key)["r1"]["span_hits"] == {"n": 3, "hits": 1}


def test_hits_and_checks_are_counted_by_rater() -> None:
    seeded = [
        SeededSegment("a", [(0, 3)], [(2, 5)]),
        SeededSegment("a", [(0, 3)], [(3, 5)]),
        SeededSegment("b", [], [(0, 9)]),
    ]
    assert count_seeded_error_hits(seeded) == {"a": SeededErrorHits(2, 1)}
    assert overlaps_changed_part([(0, 1), (8, 9)], [(2, 9)])
    assert count_attention_check_results({"a": ["Found ", "MISSED"], "b": ["?"]}) == {"a": AttentionCheckCounts(1, 1)}
