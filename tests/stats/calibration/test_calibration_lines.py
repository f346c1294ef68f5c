"""The lines of Licht et al. 2022: all rows of Table 5, and what has no line."""

from __future__ import annotations

import pytest

from app.stats.calibration.calibration_lines import (
    METHODS,
    CalibrationFixedPoints,
    explain_unavailable_method,
    make_calibration_line,
)

C, H = 2.97, 4.687
TO_ENGLISH = (
    "Hindi 4.94 4.64 4.64 4.64; Slovenian 4.88 4.47 4.57 4.56; Bosnian 4.75 4.73 4.49 4.52;"
    "Arabic 4.62 4.58 4.40 4.43; Portuguese 4.61 4.65 4.51 4.53; Sindhi 4.56 4.34 4.30 4.31;"
    "Swahili 3.98 3.98 3.98 3.98; Urdu 3.96 3.86 4.14 4.03; Romanian 3.74 3.89 3.83 3.86;"
    "Bulgarian 3.70 4.19 4.19 4.19; Amharic 2.90 2.98 2.92 2.98; Zulu 2.80 2.91 3.00 2.91;"
    "Azerbaijani 2.66 2.91 3.12 2.91; Georgian 1.04 1.02 1.12 0.90"
)
FROM_ENGLISH = (
    "Hindi 4.95 4.66 4.67 4.67; Slovenian 4.93 4.52 4.63 4.62; Bosnian 4.90 4.88 4.68 4.68;"
    "Arabic 4.79 4.74 4.56 4.58; Portuguese 4.78 4.82 4.65 4.65; Swahili 4.41 4.41 4.38 4.38;"
    "Romanian 4.12 4.27 4.26 4.26; Bulgarian 4.07 4.56 4.58 4.58; Urdu 3.97 3.86 4.14 4.03;"
    "Zulu 3.62 3.73 3.76 3.75; Amharic 3.15 3.23 3.12 3.21; Georgian 2.99 2.96 3.07 2.96;"
    "Azerbaijani 2.24 2.50 2.63 2.46; Sindhi 2.16 1.94 1.89 1.97"
)
TABLE_5 = [
    (f"{name} {way}", *map(float, figures))
    for way, rows in (("to", TO_ENGLISH), ("from", FROM_ENGLISH))
    for name, *figures in (row.split() for row in rows.split(";"))
]


def test_the_table_has_its_28_rows() -> None:
    assert len({name for name, *_ in TABLE_5}) == 28


@pytest.mark.parametrize(("name", "raw", "cs", "ht", "both"), TABLE_5, ids=[row[0] for row in TABLE_5])
def test_two_fixed_points_give_table_5(name: str, raw: float, cs: float, ht: float, both: float) -> None:
    points = CalibrationFixedPoints(consensus=C, anchors=C - (cs - raw), target=H, human=H - (ht - raw))
    assert make_calibration_line("raw", points).apply(raw) == raw
    assert make_calibration_line("cs", points).apply(raw) == pytest.approx(cs, abs=1e-9)
    assert make_calibration_line("ht", points).apply(raw) == pytest.approx(ht, abs=1e-9)
    assert make_calibration_line("cs_ht", points).apply(raw) == pytest.approx(both, abs=0.015), name


def test_the_line_goes_through_both_points_and_clips_nothing() -> None:
    points = CalibrationFixedPoints(consensus=3.0, anchors=3.4, target=4.7, human=4.5)
    found = make_calibration_line("cs_ht", points)
    assert (found.apply(3.4), found.apply(4.5)) == pytest.approx((3.0, 4.7))
    assert found.apply(1.0) < 1.0


def test_a_penalty_has_its_fixed_points_the_other_way_round() -> None:
    points = CalibrationFixedPoints(consensus=6.0, anchors=8.0, target=1.0, human=2.0, sign=-1)
    assert make_calibration_line("cs_ht", points).apply(8.0) == pytest.approx(6.0)
    assert (
        explain_unavailable_method("cs_ht", CalibrationFixedPoints(consensus=6.0, anchors=8.0, target=1.0, human=2.0))
        is not None
    )


@pytest.mark.parametrize(
    ("points", "there"),
    [
        (CalibrationFixedPoints(), ["raw"]),
        (CalibrationFixedPoints(consensus=3, anchors=3.1), ["raw", "cs"]),
        (CalibrationFixedPoints(human=4.6, target=4.7), ["raw", "ht"]),
        (CalibrationFixedPoints(human=4.6), ["raw"]),
        (CalibrationFixedPoints(3, 4.8, 4.7, 4.6), ["raw", "cs", "ht"]),
        (CalibrationFixedPoints(3, 4.6, 4.7, 4.6), ["raw", "cs", "ht"]),
        (CalibrationFixedPoints(3, 3.1, 4.7, 4.6), ["raw", "cs", "ht", "cs_ht"]),
    ],
)
def test_a_method_is_there_only_with_its_fixed_points(points: CalibrationFixedPoints, there: list[str]) -> None:
    assert [method for method in METHODS if explain_unavailable_method(method, points) is None] == there
    for method in METHODS:
        if method not in there:
            with pytest.raises(ValueError, match=r"\w"):
                make_calibration_line(method, points)
