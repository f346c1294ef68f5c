"""`mqm-tsv` out, in and out again: the same file."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import given, settings

from app.demo.campaign import make_demo_records
from tests.formats.conftest import Read, Write
from tests.formats.mqm_tsv.test_mqm_tsv import table, tables
from tests.judged_demo import judgments


def test_what_is_written_reads_and_writes_to_the_same_bytes_for_the_demo_campaign(read: Read, write: Write) -> None:
    lost = Counter[str]()
    once = write("mqm-tsv", [*make_demo_records(3), *judgments(3)], lost)
    assert once.count(b'"timestamp"') == once.count(b"\n") - 1, "every row says when its judgment was handed in"
    assert lost["the order in which errors were marked"] > 0, "else this shows nothing"
    assert write("mqm-tsv", read("mqm-tsv", once).records) == once


def test_controls_and_second_answers_are_left_out_and_what_is_written_stays_the_same(read: Read, write: Write) -> None:
    given = list(judgments(3))
    beside = [replace(one, task=f"x-{one.task}", role="degraded") for one in given[:40]]
    beside += [replace(one, task=f"x-{one.task}", item=f"y-{one.item}") for one in given[40:60]]
    lost = Counter[str]()
    once = write("mqm-tsv", [*make_demo_records(3), *given, *beside], lost)
    assert lost["judgments of the kind degraded"] == 40
    assert lost["answers of one rater to one output in another task"] == 20
    assert len(read("mqm-tsv", once).judgments) == len(given)
    assert write("mqm-tsv", read("mqm-tsv", once).records) == once


@settings(deadline=None, max_examples=40)
@given(tables())
def test_what_is_written_reads_and_writes_to_the_same_bytes(read: Read, write: Write, rows: list[str]) -> None:
    once = write("mqm-tsv", read("mqm-tsv", table(*rows)).records)
    assert write("mqm-tsv", read("mqm-tsv", once).records) == once
