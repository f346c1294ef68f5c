"""What a report is: its options, its computation and what is shown. The API, the commands and the jobs know no more."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Generic, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from app.reports.inputs.expected_time import QUICK_JUDGMENTS
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.kit.table import Cell, Table
from app.stats.ranking.result import METHOD_VERSION
from app.storage.db import Session

Options = TypeVar("Options", bound=BaseModel)
Result = TypeVar("Result", bound=BaseModel)
Output = TypeVar("Output", bound=BaseModel | bytes)
Chunk = Callable[[int], bytes]


class ReportHeader(BaseModel):
    """What every report says of itself. Not a number is null, with its reason among the warnings."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)

    campaigns: dict[str, int] = Field(description="The data version read, by campaign.")
    data_hash: str = Field(description="Of the rows used.")
    method_version: str = METHOD_VERSION
    basis: str = Field(description="What raters saw: source, reference, both or none.")
    dropped: list[dict[str, Any]] = Field(default_factory=list, description="Left out: reason and n.")
    warnings: list[str] = Field(default_factory=list)


class NoOptions(BaseModel):
    """Nothing is asked beside the data version."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True, slots=True)
class StoredReport:
    """A report as canonical JSON bytes, and what it was computed from.

    etag: of the report itself; a representation adds its own name to it.
    """

    body: bytes
    etag: str
    data_version: int

    @classmethod
    def from_bytes(cls, body: bytes, data_version: int) -> Self:
        """A report of these bytes, as it is stored."""
        return cls(body, hashlib.sha256(body).hexdigest()[:32], data_version)


@dataclass(frozen=True, slots=True)
class ReportWork(Generic[Output]):
    """What remains to be done once the data are read: chunks, in any order and on any machine, then their end.

    chunk: the bytes of the nth part, a pure function of the data, the options and its number. finish: makes the result
    of all parts, in order, or its bytes. Whatever is random is seeded by the options and the number of the chunk.
    """

    n_chunks: int
    chunk: Chunk
    finish: Callable[[Sequence[bytes]], Output]


@dataclass(frozen=True, slots=True)
class LocalChunk:
    """Chunks that read files of this machine, so that no other can compute them."""

    compute: Chunk

    def __call__(self, number: int) -> bytes:
        """The bytes of one."""
        return self.compute(number)


def make_undivided_work(make: Callable[[], Output]) -> ReportWork[Output]:
    """Work that is not worth dividing."""
    return ReportWork(0, _empty_chunk, lambda _: make())


def _empty_chunk(number: int) -> bytes:
    raise IndexError(number)


@dataclass(frozen=True, slots=True)
class TableSection:
    """One table of a report. names: columns that hold keys and names.

    targets: of each row what its texts are about, as `system`, `other`, `rater`, `document` and `segment`; or none.
    """

    title: str
    table: Table
    names: frozenset[int] = frozenset({0})
    targets: tuple[Mapping[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class SingleTableHeadings:
    """How a report that is one table is headed in files.

    markdown: follows the campaign. latex: the first sentence of the caption, with `{campaign}` in it. long: the table
    may need several pages.
    """

    markdown: str
    latex: str
    long: bool = False


@dataclass(frozen=True, slots=True)
class Report(Generic[Options, Result]):
    """A report that can be asked for.

    name: its address, `/v1/campaigns/{c}/reports/NAME`, or `/v1/comparisons/NAME` where it is over several campaigns.
    options: the query, without `as_of`; command options, form and documentation are made from it. prepare: reads what
    is needed in one transaction (raises Invalid where the options do not fit); the rest is the Work. csv: headings and
    rows at full precision. charts: SVG by name, for `?picture=`; the first is the default. long: a job does it, in
    worker processes. role: who may see it.

    The functions that give these have the same names in every report: `_prepare`, `make_tables`, `make_csv_rows` and
    `make_caption`, the last three with `_` in front where they stand in the module of the report itself.
    """

    name: str
    title: str
    summary: str
    options: type[Options]
    result: type[Result]
    example: Mapping[str, Any]
    prepare: Callable[[Session, tuple[CampaignSnapshot, ...], Options], ReportWork[Result]]
    tables: Callable[[Result], Sequence[TableSection]]
    csv: Callable[[Result], tuple[Sequence[str], Sequence[Sequence[Cell]]]]
    charts: Mapping[str, Callable[[Result], bytes]]
    caption: Callable[[Result], str]
    role: Literal["viewer", "manager"] = "viewer"
    over: Literal["campaign", "campaigns"] = "campaign"
    long: bool = False
    version: str = METHOD_VERSION
    naming: frozenset[str] = frozenset()
    """Options in which raters are named: viewers may not ask by these."""
    settings: frozenset[str] = frozenset()
    """Names of the campaign's settings that it reads; it sees no others, and they belong to the report's key."""
    extra_key: Callable[[Session, CampaignSnapshot], Sequence[object]] | None = None
    """What else it reads that no data version counts: plain values of it, for the report's key."""
    quick: int = QUICK_JUDGMENTS
    """Of one that is not always long: with more judgments than these a job does it, for who answers raters is not to
    compute for longer than some .2 s. The slowest of most take 5 µs a judgment (docs/benchmarks-reports.md)."""
    takes_long: Callable[[Session, Sequence[CampaignSnapshot], Options], bool] | None = None
    """Where more than the number of judgments decides: whether these options are long; a job does it then."""
    check: Callable[[Session, Sequence[CampaignSnapshot], Options], None] | None = None
    """Raises Invalid for what can be told before a job is made for it."""
    other_campaigns: Callable[[Options], Sequence[str]] | None = None
    """Keys of further campaigns that the options name; they are read, too, and whoever asks must see them all."""
    redact: Callable[[Result], Result] | None = None
    """What viewers see; None: without the values under `rater` and without `rater:KEY` and `task:KEY` in texts."""
    own_routes: bool = False
    """It has routes, a command and a page of its own, and is not offered among the reports by name."""
    options_in: Literal["query", "body"] = "query"
    """Where its routes take the options, which errors name."""
    single: SingleTableHeadings | None = None
    """Where it is one table whose title is that of the report: its result names its `campaign` and `data_version`."""
    warnings: Callable[[Result], Sequence[str]] = attrgetter("warnings")
    terminal: Callable[[Result], Sequence[TableSection]] | None = None
    """Tables for the terminal, where those of the other representations would be too wide; None: the same."""
    terminal_notes: Sequence[str] = ()
    """What the terminal says below the tables before the caption."""
    names_raters: bool = True
    """Whether it may say who the raters are; one that never does is the same for all who may see it."""
