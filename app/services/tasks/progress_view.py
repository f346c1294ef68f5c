"""Progress as it is shown to people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field

from app.services.access.tokens import Caller


@dataclass(frozen=True, slots=True)
class ProgressVisibility:
    """What a reader may see. team: the only team whose raters count; None for the whole campaign."""

    raters: bool
    systems: bool
    team: str | None

    @classmethod
    def for_caller(cls, caller: Caller) -> ProgressVisibility:
        """Return what a caller sees: managers all, viewers no raters, coordinators their own team and no systems."""
        if caller.has_rights_of("manager"):
            return cls(raters=True, systems=True, team=None)
        if caller.has_rights_of("viewer"):
            return cls(raters=False, systems=True, team=None)
        return cls(raters=True, systems=False, team=caller.team or "")


@dataclass(frozen=True, slots=True)
class ProgressFingerprint:
    """A campaign at one moment. Equal tags mean equal progress. plan: the one in force.

    tasks: a digest of each part of the tasks; the remaining time of leases does not change it.
    """

    campaign_id: int
    key: str
    state: str
    data_version: int
    plan: int | None
    at: datetime
    tasks: Mapping[int, str]
    tag: str


class FrozenBaseModel(BaseModel):
    """A value."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)


class WorkCounts(FrozenBaseModel):
    """Amounts of work. judgments: answers that count, each once however often it was revised."""

    tasks: int
    items: int
    segments: int
    words: int
    judgments: int


class WorkInTaskState(WorkCounts):
    """What is in one state."""

    state: str


class BucketProgress(FrozenBaseModel):
    """One bucket, null for tasks of none. least, most: items that a rater of it judged."""

    bucket: int | None
    tasks: int
    handed_in: int
    judgments: int
    least: int
    most: int


class RaterProgress(FrozenBaseModel):
    """One rater. tasks_left: given to them and not handed in. pace: tasks per day, of gaps between hand-ins."""

    rater: str
    team: str | None
    state: str | None
    tasks_handed_in: int
    tasks_left: int
    items: int = Field(description="Regular items with judgments.")
    judgments: int
    judgments_last_day: int
    pace: float | None
    last_at: datetime | None
    lease_expired: bool
    open_flags: int


class SystemProgress(FrozenBaseModel):
    """One system: items that show it, not counting controls and repeats."""

    system: str
    name: str
    items: int
    items_begun: int
    items_handed_in: int
    judgments: int


class CampaignPace(FrozenBaseModel):
    """How fast it goes. began_at: of the first judgment. A day has 24 hours."""

    began_at: datetime | None
    judgments_last_day: int
    tasks_last_day: int
    judgments_a_day: float | None = Field(description="Judgments per day since the first one.")
    tasks_a_day: float | None


class CompletionForecast(FrozenBaseModel):
    """When the last task will be handed in if raters go on as before; an interval of `level`."""

    median: datetime
    low: datetime
    high: datetime
    level: float


class DeadlineForecast(FrozenBaseModel):
    """How the work stands against the deadline of the settings."""

    at: datetime
    days_left: float = Field(description="Days left; 0 after the deadline.")
    tasks_left: int
    tasks_a_day: float | None = Field(description="Tasks per day needed from now on; null after the deadline.")
    on_time: bool | None = Field(
        description="Whether the work ends in time if raters go on as before; null if unknown."
    )


class WorkBalance(FrozenBaseModel):
    """How the finished work is shared. least, most: items by rater."""

    normalized_entropy: float
    planned: float | None = Field(description="The same in the plan in force.")
    raters: int
    least: int
    most: int


class ItemGroupsProgress(FrozenBaseModel):
    """Groups that must come from one rater: finished, half done, untouched."""

    finished: int
    half_done: int
    untouched: int


class ExpiredLease(FrozenBaseModel):
    """A lease that expired and that nobody took over yet."""

    task: str
    rater: str | None
    since: datetime


class LeaseSummary(FrozenBaseModel):
    """Leased tasks. expired: the first hundred of those that expired."""

    held: int
    n_expired: int
    expired: list[ExpiredLease]


class Progress(FrozenBaseModel):
    """How far a campaign is, or a coordinator's team in it. What the reader may not see is null."""

    campaign: str
    state: str
    at: datetime = Field(description="Minute of the server's clock.")
    data_version: int
    total: WorkCounts
    share: float | None = Field(
        description="Share of all segments that are handed in; of tasks if segments are unknown."
    )
    states: list[WorkInTaskState]
    pace: CampaignPace
    forecast: CompletionForecast | None
    deadline: DeadlineForecast | None = Field(None, description="Null if the settings have none.")
    balance: WorkBalance | None
    groups: ItemGroupsProgress | None
    leases: LeaseSummary
    open_flags: int
    buckets: list[BucketProgress] | None
    raters: list[RaterProgress] | None
    systems: list[SystemProgress] | None
    warnings: list[str]
