"""Answers of the server, as far as scripts work with them. Fields that a newer server adds are kept as attributes.

A test compares these with `openapi.json`. They are written by hand: the generator's models of the whole interface are
a few hundred modules, and scripts need these.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

Json = dict[str, Any]


class Answer(BaseModel):
    """An answer of the server."""

    model_config = ConfigDict(extra="allow", frozen=True)


class Page(Answer):
    """A page of a list."""

    items: list[Json]
    next: str | int | None


class Version(Answer):
    """Of the server."""

    version: str
    method_version: str


class Me(Answer):
    """Whose the token is."""

    role: str
    prefix: str
    name: str
    campaign: str | None
    rater: str | None
    team: str | None
    expires_at: datetime | None


class CampaignInfo(Answer):
    """A campaign. settings_version: names what a change of its settings was made from."""

    key: str
    name: str
    series: str | None
    protocol: str
    protocol_version: int
    state: str
    basis: str
    source_language: str | None
    target_language: str | None
    options: dict[str, JsonValue]
    settings: dict[str, JsonValue]
    settings_version: int
    data_version: int
    created_at: datetime


class ImportFile(Answer):
    """A file of an import that the server has."""

    name: str
    sha256: str
    size: int


class ImportReport(Answer):
    """What an import read and stored."""

    format: str
    dry_run: bool
    files: list[str]
    lines: int
    stored: dict[str, JsonValue]
    dropped: dict[str, int]
    repaired: dict[str, int]
    notes: dict[str, int]
    mapped: dict[str, dict[str, str]]


class Import(Answer):
    """An import that was announced. id: to go on with it."""

    id: str = Field(alias="import")
    format: str
    state: Literal["receiving", "committed"]
    options: dict[str, str]
    report: ImportReport | None


class Media(Answer):
    """Audio, video, a picture or captions."""

    name: str
    kind: str
    media_type: str
    size: int
    sha256: str
    duration_ms: int | None
    width: int | None
    height: int | None


class MediaUpload(Answer):
    """How much of a file has arrived. offset: where the next part begins, in bytes."""

    upload: str
    name: str
    size: int
    offset: int
    media: Media | None


class Rater(Answer):
    """A rater of a campaign."""

    key: str
    state: str | None
    team: str | None
    capacity: int | None
    languages: list[str]
    attributes: dict[str, JsonValue]
    external_id: str | None


class Link(Answer):
    """A rater's link, which the server shows once."""

    rater: str
    link: str
    expires_at: datetime


class Invitation(Answer):
    """A new invitation for a crowd, with its link and secret, which the server shows once."""

    invitation: str
    link: str
    secret: str
    signing_key: str | None
    platform: str | None
    count: int
    taken: int
    completion_url: str | None


class Completion(Answer):
    """A task that was handed in, and the code that its rater got."""

    task: str
    code: str
    handed_in_at: datetime | None
    rater: str
    external_id: str | None
    invitation: str | None
    platform: str | None
    attention_check: bool = False


class Plan(Answer):
    """A plan. plan: its version; None of a preview. report: loads, balance, forecast, and what could not be met."""

    campaign: str
    plan: int | None
    hash: str
    seed: int
    design: Json
    report: Json


class BatchItem(Answer):
    """An item of a task, with the systems credited and its role."""

    item: int
    document: str
    role: str
    systems: list[str]


class Batch(Answer):
    """A task as its manager sees it."""

    task: str
    key: str
    state: Literal["free", "leased", "handed_in", "withdrawn"]
    rater: str | None
    words: int | None
    segments: int | None
    completion_code: str | None
    handed_in_at: datetime | None
    items: list[BatchItem]


class Progress(Answer):
    """How far a campaign is. share: of the work that is done, from 0 to 1."""

    campaign: str
    state: str
    share: float | None
    data_version: int
    total: Json
    warnings: list[str]


class Judgment(Answer):
    """A judgment. score: None where the protocol gives none."""

    id: int
    rater: str
    document: str
    segment: int | None
    systems: list[str]
    payload: Json
    score: float | None
    revision: int
    surplus: bool
    role: str
    task: str


class Exclusion(Answer):
    """What rankings leave out, and why."""

    exclusion: int
    what: str
    key: str
    reason: str
    actor: str
    at: datetime


class ShownSegment(Answer):
    """A segment as a rater sees it. judgment: the stored answer, if there is one."""

    segment: int
    source: str | None
    text: str | None
    references: list[Any] | None
    judgment: Json | None


class ShownItem(Answer):
    """An item of a task: one output of a document, or of a part of it."""

    item: int
    segments: list[ShownSegment]
    judgment: Json | None


class Missing(Answer):
    """A judgment that a task still asks for."""

    item: int | None = None
    segment: int | None = None
    screen: int | None = None
    why: str


class TaskContent(Answer):
    """A task as its rater sees it."""

    task: str
    campaign: str
    protocol: Json
    presentation: str
    state: Literal["leased", "lapsed", "handed_in", "surplus"]
    leased_until: datetime | None
    words: int | None
    screens: list[Json]
    items: list[ShownItem]
    missing: list[Missing]


class Lease(Answer):
    """A task, or why there is none now. retry_after: seconds after which there may be one."""

    task: TaskContent | None
    why: str | None = None
    retry_after: int | None = None


class Receipt(Answer):
    """An answer that is on disk. kept: `surplus` if somebody else has the task now."""

    revision: int
    score: float | None = None
    kept: str | None = None
    leased_until: datetime | None = None


class HandedIn(Answer):
    """A task that was handed in."""

    completion_code: str


class JobFault(Answer):
    """Why a job failed."""

    title: str
    detail: str
    errors: list[Json]


class Job(Answer):
    """Work in the background. done, total: parts; total is None until the data have been read.

    campaigns: what it reads, each at its data version.
    """

    job: str
    kind: str
    campaigns: dict[str, int] = Field(default_factory=dict)
    state: Literal["queued", "running", "done", "failed", "cancelled"]
    done: int
    total: int | None
    seconds: float
    waiting: str | None
    report: str | None
    error: JobFault | None

    @property
    def ended(self) -> bool:
        """Whether nothing more happens to it."""
        return self.state not in ("queued", "running")


class Replication(Answer):
    """Whether a repeated study would say the same."""

    method: str
    documents: int
    same_direction: float | None
    significant_again: float | None


class Gate(Answer):
    """Whether a candidate may take the place of a baseline."""

    holds: bool
    verdict: Literal["better", "worse", "not_worse", "equivalent", "inconclusive", "no_data"]
    candidate: str
    baseline: str
    claim: str
    margin: float | None
    p_value: float | None
    difference: float | None
    interval: tuple[float, float] | None
    replication: Replication | None
    recipe: str
    data_version: int
    warnings: list[str] = Field(default_factory=list)

    @property
    def exit_status(self) -> int:
        """For CI, as `plumbline gate` has it: 0 the claim holds, 1 it does not, 3 nothing can be said."""
        return 0 if self.holds else 3 if self.verdict in ("inconclusive", "no_data") else 1
