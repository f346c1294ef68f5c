"""What a format is: files in, records out (and back). One module each in this package, discovered by `app.formats`.

A reader yields records; it knows nothing of a database. Names that recur (system, document, rater, task, item) are
keys: whoever stores the records creates what a judgment names and nobody declared.
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
    """What a file says of the campaign as a whole; None where it is silent.

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
    """A system; needed only where more than its key is known.

    guessed: the kind follows from the name alone, so that it contradicts nothing that is stored.
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
    """A document; needed only where more than its key is known.

    known_answers: unfit where what its segments say of right answers is not valid under the campaign's protocol.
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
    """A segment's source, its references by name, and what else is known. led: characters taken off its start."""

    at: LineLocation
    document: str
    position: int
    source: str | None = None
    references: Mapping[str, str] | None = None
    meta: Mapping[str, object] | None = None
    led: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class OutputRow:
    """One system's text for one segment. prefill: errors that raters are shown with it, as spans of a payload.

    led: characters that were taken off its start; spans that were marked before count them. prefill_origin: where those
    errors come from. written: where the text itself was written by a rater of another campaign, {rater, text, origin}.
    alignment: its words with those of the source, as `app.domain.alignment` writes them.
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
    """A rater; needed only where more than the key is known. Accounts of one person share `person`.

    questionnaires: by moment, what was answered: {answers, at} of each revision, in order.
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

    task, item: keys; `item` is unique within its task. systems: all that are credited (identical outputs); () for a
    reference in an output's place, which `item_meta` names. Raises ValueError where anything else credits nobody.
    payload: as the protocol's payload type takes it. accepted: False where quality control rejected the task.
    revision: None for the next one after what is stored. score: what the payload comes to by the campaign's own
    profile, where it is stored; no file says it.
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
"""Who gave an answer, file and line where it stands, and the payload."""


@dataclass(frozen=True, slots=True)
class OutputJudgments:
    """Judgments of one output by raters, of whom each is a task, that hold nothing but payloads.

    A large file is mostly these; one record each would cost as much as all else about them.
    """

    item: str
    systems: tuple[str, ...]
    document: str
    position: int
    given: Sequence[Given]

    def rows(self) -> Iterator[JudgmentRow]:
        """The same, one by one."""
        for rater, file, line, payload in self.given:
            at = LineLocation(file, line)
            yield JudgmentRow(at, rater, self.item, self.systems, self.document, self.position, rater, payload)


@dataclass(frozen=True, slots=True)
class VoidedJudgmentRow:
    """A judgment set aside, with the reason: all revisions of one rater at one address."""

    at: LineLocation
    task: str
    item: str
    position: int | None
    rater: str
    reason: str
    actor: str


@dataclass(frozen=True, slots=True)
class ScreenComparisonRow:
    """One rater's answer about the columns of a screen together.

    task, items: keys, an item for each column, in their order. columns: the systems of each. preference: columns from
    1, in groups from best to worst. position: of the segment that was compared, None where nobody says.
    Raises ValueError where it does not name each column once.
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
    """What an automatic metric gives one output, or a system as a whole: then document and position are None.

    All that one import says of a metric is its set of scores. Raises ValueError for half an address.
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

    task: its public name, which says nothing of what it holds; task_key: its key. rater: None while any rater of a
    bucket may take it. text: what stands there, which is not the output of the systems where the item is a degraded
    copy or a reference. reference: its name; nobody is credited with it. side_order: 1 where the source is shown
    second, None where nothing is hidden.
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
    """All that a campaign holds, to be read as often as a writer needs: its key, the records, and what tasks show."""

    key: str
    records: Callable[[], Iterator[Record]]
    shown: Callable[[], Iterator[ShownOutputRow]]


@dataclass(frozen=True, slots=True)
class ReaderLimits:
    """Bounds on what a reader takes in, so that no file can exhaust memory, disk or patience."""

    line_bytes: int = 1 << 20
    unpacked_bytes: int = 8 << 30
    ratio: int = 200
    lines: int = 50_000_000


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file by name; `open` gives its bytes from the start, gzipped or not."""

    name: str
    open: Callable[[], IO[bytes]]


class TooManyErrors(Invalid):
    """The input is not valid; only the first errors are listed."""


@dataclass(slots=True)
class ReadLog:
    """What a reader saw: counts for the report, and bad lines.

    skip_bad_lines: collect a bad line and go on, storing the rest. Otherwise bad lines are still collected (up to
    MOST_ERRORS) so that one run names them all, and `finish` raises.
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
        """Collect one bad line. Raises TooManyErrors once MOST_ERRORS are collected and lines are not skipped."""
        self.n_bad += 1
        if len(self.bad) < MOST_ERRORS:
            self.bad.append(Place((at.file, at.line), reason))
        elif not self.skip_bad_lines:
            raise TooManyErrors(f"{MOST_ERRORS} bad lines and more; nothing was stored", places=tuple(self.bad))

    def raise_bad_lines(self) -> None:
        """Raise Invalid with every bad line collected, unless they are to be skipped."""
        if self.bad and not self.skip_bad_lines:
            raise Invalid(f"{self.n_bad} bad line(s); nothing was stored", places=tuple(self.bad))


@dataclass(frozen=True, slots=True)
class ReadContext:
    """What a reader is told beside the files.

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


class DocumentLineCollector(Protocol):
    """The lines about some of the documents, of all files: all are taken in first, then given as records."""

    def begin_file(self, file: str, number: int, line: str) -> bool:
        """Begin a file with its first line; whether that line is data too. Raises Invalid for a wrong header."""

    def add_line(self, number: int, line: str) -> None:
        """Take in one line; what is wrong with it goes to the log."""

    def campaign_facts(self) -> object:
        """What the lines say of the campaign, for `ParallelReadHooks.make_campaign_row`."""

    def records(self) -> Iterator[Record | OutputJudgments]:
        """All records of the lines but the campaign's, document by document; once only."""

    def close(self) -> None:
        """Give up what is held outside of memory."""


@dataclass(frozen=True, slots=True)
class ParallelReadHooks:
    """How the lines of large files are shared out among several readers, each of which has whole documents.

    make_reader: of some of the lines of files by these names. make_document_finder: for the first line of a file, what
    finds the document of a line, and whether that first line is data too; a document must come to one reader.
    make_campaign_row: what all readers say of the campaign, by their facts. requires_judgments: files without any
    judgment are refused. finish_log: notes to the log of all readers what only all records together can tell.
    """

    make_reader: Callable[[Sequence[str], ReadContext, ReadLog], DocumentLineCollector]
    make_document_finder: Callable[[LineLocation, str, ReadLog], tuple[Callable[[str], str], bool]]
    make_campaign_row: Callable[[Sequence[str], Sequence[Any]], CampaignRow]
    requires_judgments: bool = False
    finish_log: Callable[[ReadContext, ReadLog], None] | None = None


class Writer(Protocol):
    """Records in, bytes of one file out; what the format cannot carry is counted in `lost`."""

    def __call__(self, records: Iterable[Record], lost: Counter[str] | None = None, /) -> Iterator[bytes]: ...


BookWriter = Callable[[CampaignContents, Counter[str]], Iterator[bytes]]
"""All contents in, bytes of one file out."""
TreeWriter = Callable[[CampaignContents, Counter[str]], Iterator[tuple[str, Iterable[bytes]]]]
"""All contents in, files by their paths out, each to be taken before the next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A kind of file: how it is read, how it is written, and which options it takes (name → what it does).

    parts: how files that hold several campaigns are read with the option `split`: the value and the records of each, in
    the order of the values, each stream to be read to its end before the next. by_document: the reader yields all
    records of a document one after another, and the first record but the campaign's after the last line was read.
    by_segment: all records of a segment too, and no judgment is of a whole item. spread: how lines are shared out.
    paths: what a file is, its path says, so that files are called by their paths. whole: it holds all that records say.
    write, write_book, write_file_tree: how it is written; one of them at most. judged_by: the protocols whose judgments
    it is for, () for all. suffix: what a written file's name ends in, where that is not the format's name.
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
    spread: ParallelReadHooks | None = None
    paths: bool = False
    whole: bool = False
