"""The definition of a report: options, computation and presentation. API, commands and jobs know nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Generic, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypeAliasType

from app.reports.inputs.expected_time import QUICK_JUDGMENTS
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.kit.table import Cell, Table
from app.stats.ranking.result import METHOD_VERSION
from app.storage.db import Session

Options = TypeVar("Options", bound=BaseModel)
Result = TypeVar("Result", bound=BaseModel)
Output = TypeVar("Output", bound=BaseModel | bytes)
Chunk = Callable[[int], bytes]
# Named, because generators of clients cannot inherit a field whose type has no name in the interface's document.
DataVersions = TypeAliasType("DataVersions", dict[str, int])
DroppedRows = TypeAliasType("DroppedRows", dict[str, Any])


class ReportHeader(BaseModel):
    """Header of every report. NaN is written as null, with the reason among the warnings."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)

    campaigns: DataVersions = Field(description="Data version read, by campaign.")
    data_hash: str = Field(description="Hash of the rows used.")
    method_version: str = METHOD_VERSION
    basis: str = Field(description="What raters saw: source, reference, both or none.")
    dropped: list[DroppedRows] = Field(default_factory=list, description="Rows left out, by reason, with their number.")
    warnings: list[str] = Field(default_factory=list)


class NoOptions(BaseModel):
    """Options of a report that has none besides the data version."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True, slots=True)
class StoredReport:
    """A report as canonical JSON bytes, with its data version.

    etag: of the report itself; a representation adds its own name to it.
    """

    body: bytes
    etag: str
    data_version: int

    @classmethod
    def from_bytes(cls, body: bytes, data_version: int) -> Self:
        """Make a stored report from its bytes."""
        return cls(body, hashlib.sha256(body).hexdigest()[:32], data_version)


@dataclass(frozen=True, slots=True)
class ReportComputation(Generic[Output]):
    """What remains to be done after reading the data: chunks, in any order and on any machine, and a final step.

    chunk: returns the bytes of the nth part, a pure function of the data, the options and its number. finish: makes the
    result, or its bytes, from all parts in order. Everything random is seeded by the options and the number of the
    chunk.
    """

    n_chunks: int
    chunk: Chunk
    finish: Callable[[Sequence[bytes]], Output]


@dataclass(frozen=True, slots=True)
class LocalChunkComputer:
    """Chunks that read files of this machine, so that no other machine can compute them."""

    compute: Chunk

    def __call__(self, number: int) -> bytes:
        """Return the bytes of one chunk."""
        return self.compute(number)


def make_undivided_computation(make: Callable[[], Output]) -> ReportComputation[Output]:
    """Return a computation that is not worth dividing into chunks."""
    return ReportComputation(0, _empty_chunk, lambda _: make())


def _empty_chunk(number: int) -> bytes:
    raise IndexError(number)


@dataclass(frozen=True, slots=True)
class TableSection:
    """One table of a report. names: columns that hold keys and names.

    targets: what each row is about, as `system`, `other`, `rater`, `document` and `segment`; may be empty.
    """

    title: str
    table: Table
    names: frozenset[int] = frozenset({0})
    targets: tuple[Mapping[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class SingleTableHeadings:
    """The headings in files of a report that consists of one table.

    markdown: follows the campaign. latex: the first sentence of the caption, with `{campaign}` in it. long: the table
    may need several pages.
    """

    markdown: str
    latex: str
    long: bool = False


@dataclass(frozen=True, slots=True)
class Report(Generic[Options, Result]):
    """A report that can be requested.

    name: its address, `/v1/campaigns/{c}/reports/NAME`, or `/v1/comparisons/NAME` if it covers several campaigns.
    options: the query, without `as_of`; command options, form and documentation are made from it. prepare: reads
    everything needed in one transaction (raises Invalid if the options do not fit) and returns the computation. csv:
    headings and rows at full precision. charts: SVG by name, for `?picture=`; the first is the default. long: a job
    computes it, in worker processes. role: who may see it.

    The functions behind these fields have the same names in every report: `_prepare`, `make_tables`, `make_csv_rows`
    and `make_caption`. The last three start with `_` if they are in the report's own module.
    """

    name: str
    title: str
    summary: str
    options: type[Options]
    result: type[Result]
    example: Mapping[str, Any]
    prepare: Callable[[Session, tuple[CampaignSnapshot, ...], Options], ReportComputation[Result]]
    tables: Callable[[Result], Sequence[TableSection]]
    csv: Callable[[Result], tuple[Sequence[str], Sequence[Sequence[Cell]]]]
    charts: Mapping[str, Callable[[Result], bytes]]
    caption: Callable[[Result], str]
    role: Literal["viewer", "manager"] = "viewer"
    over: Literal["campaign", "campaigns"] = "campaign"
    long: bool = False
    version: str = METHOD_VERSION
    naming: frozenset[str] = frozenset()
    """Options that name raters; viewers must not use them."""
    settings: frozenset[str] = frozenset()
    """Names of the campaign settings that the report reads. It sees no others, and they are part of its key."""
    extra_key: Callable[[Session, CampaignSnapshot], Sequence[object]] | None = None
    """Plain values, for the report's key, of other data that it reads and that no data version covers."""
    quick: int = QUICK_JUDGMENTS
    """A report that is not always long becomes a job if there are more judgments than this.

    The process that answers raters should not compute for longer than about .2 s. The slowest of most reports take 5 µs
    per judgment (docs/benchmarks-reports.md).
    """
    takes_long: Callable[[Session, Sequence[CampaignSnapshot], Options], bool] | None = None
    """Whether these options need a job, if that depends on more than the number of judgments."""
    check: Callable[[Session, Sequence[CampaignSnapshot], Options], None] | None = None
    """Raises Invalid for faults that can be detected before a job is created."""
    other_campaigns: Callable[[Options], Sequence[str]] | None = None
    """Keys of further campaigns named in the options. They are read too, and the requester must have access to all."""
    redact: Callable[[Result], Result] | None = None
    """Makes the version for viewers; None removes values under `rater`, and `rater:KEY` and `task:KEY` in texts."""
    own_routes: bool = False
    """The report has its own routes, command and page, and is not offered among the reports by name."""
    options_in: Literal["query", "body"] = "query"
    """Where its routes take the options; errors name this place."""
    single: SingleTableHeadings | None = None
    """Headings of a report that is one table with the report's title; its result has `campaign` and `data_version`."""
    warnings: Callable[[Result], Sequence[str]] = attrgetter("warnings")
    terminal: Callable[[Result], Sequence[TableSection]] | None = None
    """Tables for the terminal if the usual ones would be too wide; None uses the usual ones."""
    terminal_notes: Sequence[str] = ()
    """Notes that the terminal shows below the tables and above the caption."""
    names_raters: bool = True
    """Whether it may identify raters; a report that never does is the same for everyone who may see it."""

    def __post_init__(self) -> None:
        """Raise TypeError if there is no chart, as pages and files show the first one unless another is requested."""
        if not self.charts:
            raise TypeError(f"the report {self.name} has no chart: declare at least one in `charts`")
