"""Worked examples of the reports on raters."""

from __future__ import annotations

from app.services.quality import QualityView
from app.services.timing_report import Duration, RaterRevisions, RaterTime, RevisionsView, TimingView
from app.stats.quality.controls import ControlTest
from app.stats.quality.drift import Drift
from app.stats.quality.panel import Against
from app.stats.quality.repeats import Repeats
from app.stats.quality.report import Choices, RaterQuality
from app.stats.quality.runs import Habits
from app.stats.quality.speed import Speed
from app.stats.ranking.result import METHOD_VERSION
from app.stats.timing.timing import Revisions, Trimmed

_HASH = "sha256:" + "5e" * 32
_TIMES = Trimmed(n=1850, kept=1480, low=7.3, high=124.6, mean=38.4, sd=27.9, median=29.1)
_CHANGED = Revisions(1850, 35, 300, 27, 35 / 1850, 0.09)

QUALITY = QualityView(
    campaign="esa-ende",
    data_version=7,
    data_hash=_HASH,
    method_version=METHOD_VERSION,
    protocol="esa",
    on="score",
    choices=Choices(),
    higher_is_better=True,
    unit="segment",
    n_judgments=1850,
    counts={"pass": 1, "fail": 0, "not_testable": 0},
    raters=[
        RaterQuality(
            rater="rater1",
            n_judgments=1850,
            verdict="pass",
            why=None,
            completion="complete",
            control=ControlTest(10, 0, 2.0, 0.0029296875, 0.0029296875, -28.0, 0.9, "pass"),
            repeats=Repeats(8, 6.4, 0.81, 0.75, 10.0),
            panel=Against("panel", 120, 2.1, -2.1, 2.1, 0.94, 0.58),
            habits=Habits(1850, 74, 4, 3.6, 0.31, 0.42, 11 / 101, 0.4, 0.55),
            speed=Speed(1850, 29.1, 1.2, 0.96),
            drift=Drift(120, None, 0, 3.1, 0.9, 0.04, 0.4),
            flags=(),
        )
    ],
    warnings=[],
)
TIMING = TimingView(
    campaign="esa-ende",
    data_version=7,
    data_hash=_HASH,
    method_version=METHOD_VERSION,
    protocol="esa",
    durations=[Duration("segment score", _TIMES)],
    raters=[RaterTime("rater1", 1850, 19.7, _TIMES, 2100.0, -0.12, 0.003)],
    warnings=[],
)
REVISIONS = RevisionsView(
    campaign="esa-ende",
    data_version=7,
    data_hash=_HASH,
    method_version=METHOD_VERSION,
    protocol="esa",
    overall=_CHANGED,
    raters=[RaterRevisions("rater1", _CHANGED)],
    warnings=[],
)
