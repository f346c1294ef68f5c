"""Errors in audio and video come back from formats that know places in texts only; what is no time stays as it was."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from app.formats.base import ReadLog
from app.formats.kit.appraise_spans import format_appraise_spans, parse_appraise_spans
from app.formats.pearmut.answers import format_pearmut_errors
from app.formats.pearmut.spans import SpanReader

SOUND = '<audio src="assets/a.wav" controls></audio>'
ERRORS = [
    {"severity": "minor", "category": "Style", "start_ms": 500, "end_ms": 900},
    {"severity": "major", "category": "Style", "side": "source", "start_ms": 0, "end_ms": 0},
]


def test_errors_in_time_come_back_from_what_pearmut_and_appraise_write() -> None:
    lost: Counter[str] = Counter()
    marks = format_pearmut_errors(ERRORS, SOUND, lost)
    assert [mark["start_i"] for mark in marks] == [len(SOUND) + 1] * 2  # its own page shows them as tokens
    assert SpanReader(skip_line_ends=False, log=ReadLog()).parse(marks, SOUND) == ERRORS
    cell = json.dumps(format_appraise_spans(ERRORS, lost))
    assert parse_appraise_spans(cell, SOUND, Counter()) == ERRORS
    assert not +lost


@pytest.mark.parametrize("times", [{}, {"start_ms": 1}, {"start_ms": 2, "end_ms": 1}, {"start_ms": "1", "end_ms": 2}])
def test_what_is_no_stretch_of_time_is_read_as_before(times: dict[str, object]) -> None:
    mark = {"severity": "minor", "start_i": "missing", "end_i": "missing", "error_type": None, **times}
    assert parse_appraise_spans(json.dumps([mark]), SOUND, Counter()) == [{"severity": "minor", "omission": True}]
