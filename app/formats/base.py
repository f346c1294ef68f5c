"""The interface of a format: files in, records out (and back). `app.formats` discovers one module per format.

A reader yields records and does not use a database. Recurring names (system, document, rater, task, item) are keys: the
code that stores the records creates what a judgment names and no record declares.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import IO, Any, Literal, Protocol

from app.domain.errors import Invalid, Place

MOST_ERRORS = 100
RoleName = Literal["rating", "repeat", "reference", "degraded", "calibration"]


@dataclass(frozen=True, slots=True)
class LineLocation:
    """A line of a file, counted from 1."""

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class CampaignRow:
    """Data on the campaign as a whole; None if the file does not state it.

    slider_colors: whether sliders show how their values compare with those of other columns.
    """

    at: LineLocation
    protocol: str | None = None
    source_language: str | None = None
    target_language: str | None = None
    basis: str | None = None
    name: str | None = None
    options: Mapping[str, object] | None = None
    documents_known: bool | None = None
    questionnaires: Mapping[str, object] | None = None
    slider_colors: bool | None = None


@dataclass(frozen=True, slots=True)
class SystemRecord:
    """A system; needed only if more than its key is known.

    guessed: the kind follows only from the name, so it does not contradict a stored kind.
    """

    at: LineLocation
    key: str
    name: str
    kind: Literal["mt", "human"] = "mt"
    lab: str | None = None
    tags: tuple[str, ...] = ()
    guessed: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """A document; needed only if more than its key is known.

    known_answers: `unfit` if the right answers stored with its segments are not valid under the campaign's protocol.
    """

    at: LineLocation
    key: str
    name: str
    kind: Literal["test", "calibration", "tutorial", "attention"] = "test"
    domain: str | None = None
    position: int | None = None
    meta: Mapping[str, object] | None = None
    known_answers: Literal["unfit"] | None = None


@dataclass(frozen=True, slots=True)
class SegmentRow:
    """A segment's source, its references by name, and other data. led: characters removed from its start."""

    at: LineLocation
    document: str
    position: int
    source: str | None = None
    references: Mapping[str, str] | None = None
    meta: Mapping[str, object] | None = None
    led: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class OutputRow:
    """One system's text for one segment.

    prefill: errors that raters are shown with it, as spans of a payload. led: characters removed from its start; spans
    that were marked before count them. prefill_origin: where those errors come from. written: if a rater of another
    campaign wrote the text, {rater, text, origin}. alignment: of its words with those of the source, as
    `app.domain.alignment` writes it.
    """

    at: LineLocation
    system: str
    document: str
    position: int
    text: str
    prefill: tuple[Mapping[str, object], ...] | None = None
    led: int = field(default=0, compare=False)
    prefill_origin: Mapping[str, object] | None = None
    written: Mapping[str, object] | None = None
    alignment: str | None = None


@dataclass(frozen=True, slots=True)
class RaterRow:
    """A rater; needed only if more than the key is known. Accounts of one person share `person`.

    questionnaires: by moment, the answers: {answers, at} of each revision, in order.
    """

    at: LineLocation
    key: str
    name: str
    person: str | None = None
    attributes: Mapping[str, object] | None = None
    questionnaires: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class JudgmentRow:
    """One revision of one rater's answer for one output (position None: for the whole item).

    task, item: keys; `item` is unique within its task. systems: all systems with this output (identical outputs); ()
    for a reference in place of an output, which `item_meta` names. Raises ValueError if there is no system in any other
    role. payload: in the form of the protocol's payload type. accepted: False if quality control rejected the task.
    revision: None for the next one after those stored. score: the payload's score under the campaign's own profile, if
    it is stored; files do not state it.
    """

    at: LineLocation
    task: str
    item: str
    systems: tuple[str, ...]
    document: str
    position: int | None
    rater: str
    payload: Mapping[str, object]
    role: RoleName = "rating"
    accepted: bool = True
    revision: int | None = None
    item_position: int | None = None
    started_at: datetime | None = None
    submitted_at: datetime | None = None
    external_id: str | None = None
    task_meta: Mapping[str, object] | None = None
    item_meta: Mapping[str, object] | None = None
    meta: Mapping[str, object] | None = None
    score: float | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not self.systems and self.role != "reference":
            raise ValueError("systems: must be a list of at least 1, unless the role is reference")


Given = tuple[str, str, int, Mapping[str, object]]
"""Rater of an answer, its file and line, and the payload."""


@dataclass(frozen=True, slots=True)
class OutputJudgments:
    """Judgments of one output by raters, each rater with one task, that consist only of payloads.

    A large file contains mostly these; one record each would cost as much as all other work on them.
    """

    item: str
    systems: tuple[str, ...]
    document: str
    position: int
    given: Sequence[Given]

    def iterate_rows(self) -> Iterator[JudgmentRow]:
        """Yield the judgments one by one."""
        for rater, file, line, payload in self.given:
            at = LineLocation(file, line)
            yield JudgmentRow(at, rater, self.item, self.systems, self.document, self.position, rater, payload)


@dataclass(frozen=True, slots=True)
class VoidedJudgmentRow:
    """A voided judgment, with the reason: all revisions of one rater at one address."""

    at: LineLocation
    task: str
    item: str
    position: int | None
    rater: str
    reason: str
    actor: str


@dataclass(frozen=True, slots=True)
class ScreenComparisonRow:
    """One rater's answer about all columns of a screen.

    task, items: keys, one item per column, in their order. columns: the systems of each. preference: columns from 1, in
    groups from best to worst. position: of the segment that was compared, None if unknown.

    Raises ValueError if it does not name each column once.
    """

    at: LineLocation
    task: str
    screen: int
    rater: str
    document: str
    items: tuple[str, ...]
    columns: tuple[tuple[str, ...], ...]
    preference: tuple[tuple[int, ...], ...]
    position: int | None = None

    def __post_init__(self) -> None:
        named = sorted(column for group in self.preference for column in group)
        if not len(self.items) == len(self.columns) == len(set(self.items)) >= 2:
            raise ValueError("items and columns: must be as many, at least 2, and each item another")
        if named != list(range(1, len(self.columns) + 1)) or not all(self.preference):
            raise ValueError(f"preference: must name each of the columns 1 to {len(self.columns)} once")


@dataclass(frozen=True, slots=True)
class MetricScoreRow:
    """Score of one output by an automatic metric, or of a whole system: document and position are then None.

    All scores of a metric in one import form one set. Raises ValueError if only one of document and position is given.
    """

    at: LineLocation
    metric: str
    system: str
    value: float
    higher_is_better: bool = True
    document: str | None = None
    position: int | None = None

    def __post_init__(self) -> None:
        if (self.document is None) != (self.position is None):
            raise ValueError("document and position: both, or neither for a score of the system")


BY_METRICS = "scores of automatic metrics"
COMPARED = "comparisons of columns"
Record = (
    CampaignRow
    | SystemRecord
    | DocumentRecord
    | SegmentRow
    | OutputRow
    | RaterRow
    | JudgmentRow
    | VoidedJudgmentRow
    | ScreenComparisonRow
    | MetricScoreRow
)


@dataclass(frozen=True, slots=True)
class ShownOutputRow:
    """One output as a task shows it: of a plan, or of judgments that were imported.

    task: its public name, which does not reveal its contents; task_key: its key. rater: None while any rater of a
    bucket may take it. text: the text shown, which is not the systems' output if the item is a degraded copy or a
    reference. reference: its name; it belongs to no system. side_order: 1 if the source is shown second, None if
    nothing is hidden.
    """

    task: str
    task_key: str
    rater: str | None
    item: str
    item_position: int
    role: RoleName
    systems: tuple[str, ...]
    document: str
    position: int
    source: str | None
    text: str | None
    side_order: int | None = None
    of: str | None = None
    reference: str | None = None


@dataclass(frozen=True, slots=True)
class CampaignContents:
    """All contents of a campaign, for a writer to read as often as it needs: key, records, and what tasks show."""

    key: str
    records: Callable[[], Iterator[Record]]
    shown: Callable[[], Iterator[ShownOutputRow]]


@dataclass(frozen=True, slots=True)
class ReaderLimits:
    """Limits on what a reader accepts, so that no file can exhaust memory, disk or time."""

    line_bytes: int = 1 << 20
    unpacked_bytes: int = 8 << 30
    ratio: int = 200
    lines: int = 50_000_000


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file by name; `open` returns its bytes from the start, gzipped or not."""

    name: str
    open: Callable[[], IO[bytes]]


class TooManyErrors(Invalid):
    """The input is not valid; only the first errors are listed."""


@dataclass(slots=True)
class ReadLog:
    """What a reader saw: counts for the report, and bad lines.

    skip_bad_lines: collect a bad line and go on, storing the rest. Otherwise bad lines are still collected (up to
    MOST_ERRORS) so that one run names them all, and `raise_bad_lines` raises.
    """

    skip_bad_lines: bool = False
    lines: int = 0
    mapped: dict[str, dict[str, str]] = field(default_factory=dict)
    repaired: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    bad: list[Place] = field(default_factory=list)
    n_bad: int = 0

    def record_mapped_name(self, noun: str, name: str, key: str) -> None:
        """Remember that `name` of a system, document, rater … became `key`."""
        self.mapped.setdefault(noun, {})[key] = name

    def record_bad_line(self, at: LineLocation, reason: str) -> None:
        """Collect one bad line. Raises TooManyErrors beyond MOST_ERRORS, unless bad lines are skipped."""
        self.n_bad += 1
        if len(self.bad) < MOST_ERRORS:
            self.bad.append(Place((at.file, at.line), reason))
        elif not self.skip_bad_lines:
            raise TooManyErrors(f"{MOST_ERRORS} bad lines and more; nothing was stored", places=tuple(self.bad))

    def raise_bad_lines(self) -> None:
        """Raise Invalid with every bad line collected, unless bad lines are skipped."""
        if self.bad and not self.skip_bad_lines:
            raise Invalid(f"{self.n_bad} bad line(s); nothing was stored", places=tuple(self.bad))


@dataclass(frozen=True, slots=True)
class ReadContext:
    """What a reader gets besides the files.

    protocol: of the campaign, if it exists already. options: `--option k=v` of the caller, all strings. outline: the
    test documents that the campaign has already, in their order, each with its number of segments. shown: what its
    tasks show.
    """

    options: Mapping[str, str]
    limits: ReaderLimits
    protocol: str | None = None
    outline: Callable[[], Sequence[tuple[str, int]]] = tuple
    shown: Callable[[], Iterable[ShownOutputRow]] = tuple


Reader = Callable[[Sequence[InputFile], ReadContext, ReadLog], Iterator[Record]]
PartsReader = Callable[[Sequence[InputFile], ReadContext, ReadLog], Iterator[tuple[str, Iterator[Record]]]]


class DocumentSubsetReader(Protocol):
    """The lines about some of the documents, of all files: all lines are added first, then returned as records."""

    def begin_file_with_first_line(self, file: str, number: int, line: str) -> bool:
        """Start a file with its first line; return whether it is also data. Raises Invalid for a wrong header."""

    def add_line(self, number: int, line: str) -> None:
        """Add one line; faults go to the log."""

    def campaign_facts(self) -> object:
        """Return what the lines state about the campaign, for `MultiprocessReadHooks.make_campaign_row`."""

    def records(self) -> Iterator[Record | OutputJudgments]:
        """Yield all records of the lines except the campaign's, document by document; can be called only once."""

    def close(self) -> None:
        """Release what is held outside of memory."""


@dataclass(frozen=True, slots=True)
class MultiprocessReadHooks:
    """How the lines of large files are distributed among several readers, each of which gets whole documents.

    make_reader: makes a reader of some of the lines of files with these names. make_document_finder: for the first line
    of a file, returns a function that finds the document of a line, and whether that first line is also data; all lines
    of a document must go to one reader. make_campaign_row: combines what all readers state about the campaign.
    requires_judgments: files without any judgment are refused. finish_log: adds to the log of all readers what only all
    records together can show.
    """

    make_reader: Callable[[Sequence[str], ReadContext, ReadLog], DocumentSubsetReader]
    make_document_finder: Callable[[LineLocation, str, ReadLog], tuple[Callable[[str], str], bool]]
    make_campaign_row: Callable[[Sequence[str], Sequence[Any]], CampaignRow]
    requires_judgments: bool = False
    finish_log: Callable[[ReadContext, ReadLog], None] | None = None


class Writer(Protocol):
    """Records in, bytes of one file out; what the format cannot hold is counted in `lost`."""

    def __call__(self, records: Iterable[Record], lost: Counter[str] | None = None, /) -> Iterator[bytes]: ...


BookWriter = Callable[[CampaignContents, Counter[str]], Iterator[bytes]]
"""All contents in, bytes of one file out."""
TreeWriter = Callable[[CampaignContents, Counter[str]], Iterator[tuple[str, Iterable[bytes]]]]
"""All contents in, files by path out; each must be consumed before the next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A file format: how it is read and written, and which options it takes (name → what it does).

    parts: how files with several campaigns are read with the option `split`: the value and the records of each, in the
    order of the values, each stream to be read to its end before the next. by_document: the reader yields all records
    of a document together, and yields the first record other than the campaign's after reading the last line.
    by_segment: it also yields all records of a segment together, and no judgment is of a whole item. spread: how lines
    are distributed. paths: the path of a file tells what it is, so files are named by path. whole: it holds all
    contents of the records. write, write_book, write_file_tree: how it is written; at most one of them. judged_by: the
    protocols whose judgments it is for, () for all. suffix: the end of a written file's name, if it is not the format's
    name.
    """

    name: str
    title: str
    read: Reader | None = None
    parts: PartsReader | None = None
    write: Writer | None = None
    write_book: BookWriter | None = None
    write_file_tree: TreeWriter | None = None
    suffix: str | None = None
    judged_by: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    by_document: bool = False
    by_segment: bool = False
    spread: MultiprocessReadHooks | None = None
    paths: bool = False
    whole: bool = False
