"""A worked example of progress."""

from __future__ import annotations

from datetime import UTC, datetime

from app.services.tasks.progress_view import (
    BucketProgress,
    CampaignPace,
    CompletionForecast,
    DeadlineForecast,
    ExpiredLease,
    ItemGroupsProgress,
    LeaseSummary,
    Progress,
    RaterProgress,
    SystemProgress,
    WorkBalance,
    WorkCounts,
    WorkInTaskState,
)

_AT = datetime(2026, 11, 20, 12, tzinfo=UTC)
_END = datetime(2026, 11, 24, 12, tzinfo=UTC)

EXAMPLE = Progress(
    campaign="ted-ende",
    state="open",
    at=_AT,
    data_version=412,
    total=WorkCounts(tasks=40, items=300, segments=1800, words=54000, judgments=900),
    share=0.475,
    states=[
        WorkInTaskState(state="free", tasks=19, items=143, segments=855, words=25650, judgments=0),
        WorkInTaskState(state="leased", tasks=2, items=15, segments=90, words=2700, judgments=45),
        WorkInTaskState(state="handed_in", tasks=19, items=142, segments=855, words=25650, judgments=855),
    ],
    pace=CampaignPace(began_at=_AT, judgments_last_day=310, tasks_last_day=6, judgments_a_day=295.5, tasks_a_day=6.2),
    forecast=CompletionForecast(median=_END, low=_AT, high=_END, level=0.8),
    deadline=DeadlineForecast(at=_END, days_left=4.0, tasks_left=21, tasks_a_day=5.25, on_time=True),
    balance=WorkBalance(normalized_entropy=0.981, planned=1.0, raters=4, least=31, most=48),
    groups=ItemGroupsProgress(finished=19, half_done=2, untouched=19),
    leases=LeaseSummary(held=2, n_expired=1, expired=[ExpiredLease(task="t_" + "0" * 32, rater="r1", since=_AT)]),
    open_flags=1,
    buckets=[BucketProgress(bucket=1, tasks=40, handed_in=19, judgments=900, least=31, most=48)],
    raters=[
        RaterProgress(
            rater="r1",
            team="bonn",
            state="active",
            tasks_handed_in=5,
            tasks_left=5,
            items=40,
            judgments=240,
            judgments_last_day=80,
            pace=1.6,
            last_at=_AT,
            lease_expired=True,
            open_flags=1,
        )
    ],
    systems=[SystemProgress(system="A", name="A", items=60, items_begun=31, items_handed_in=29, judgments=180)],
    warnings=[],
)
