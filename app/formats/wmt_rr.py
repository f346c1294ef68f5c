"""`wmt-rr`: relative rankings as WMT published them until 2016, comma separated, as comparisons of columns.

There are two layouts, identified by the header. WMT16 and similar:
`srclang,trglang,srcIndex,segmentId,judgeID,system1Id,system1rank, system2Id,system2rank,rankingID`, where a line is a
pair, and the lines of one rankingID are a judge's answer to one screen. Earlier:
`…,judgeId,system1Number,system1Id,…,system5Id,system1rank,…,system5rank`, where a line is a screen. Rank 1 is best,
ties are equal ranks, −1 is none.

Since 2015 judges compared outputs, and their answer was recorded for every system with that output, so a ranking can
have more systems than the five columns of a screen. The `collapsed` files name all systems of an output together
(`newstest2016.A.1.cs-en+newstest2016.B.2.cs-en`): these share a column, as do two systems of one ranking with the same
rank and no line that compares them.

Source: README of the WMT16 human evaluation; README of the WMT11 ranking judgments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, groupby
from pathlib import PurePath

from app.domain.errors import Invalid
from app.formats.base import (
    CampaignRow,
    DocumentRecord,
    Format,
    InputFile,
    LineLocation,
    RaterRow,
    ReadContext,
    ReadLog,
    Record,
    ScreenComparisonRow,
    SystemRecord,
)
from app.formats.kit.names import KeyAssigner
from app.formats.kit.reading import read_lines, record_unread_names, refuse_file
from app.formats.kit.sorting import ExternalSorter

JUDGED_BY = "da"
UNKNOWN = "unknown"
OPTIONS = {"documents": "name of a file with the document of each segment of the test set, one a line"}
RANKED = re.compile(r"system([1-9])rank")
READ = re.compile(r"srclang|trglang|srcindex|segmentid|judgeid|rankingid|system[1-9](number|id|rank)")
AFTER = re.compile(r"\.\d+\.[a-z]{2,3}-[a-z]{2,3}$")
MOST_RANKED = 99
ALIKE = "\x1f"  # between the names of systems with the same output
MOST_SEGMENTS = 1_000_000
# Names of languages in the files: ISO 639-2, and English names in earlier files; other codes are unchanged.
CALLED: Mapping[str, str] = {
    "bg": "bul bulgarian",
    "cs": "cze ces czech",
    "de": "deu ger german",
    "en": "eng english",
    "es": "spa spanish",
    "eu": "eus baq basque",
    "fi": "fin finnish",
    "fr": "fra fre french",
    "hi": "hin hindi",
    "hu": "hun hungarian",
    "nl": "nld dut dutch",
    "pt": "por portuguese",
    "ro": "ron rum romanian",
    "ru": "rus russian",
    "tr": "tur turkish",
}
LANGUAGES = {name: code for code, names in CALLED.items() for name in names.split()}
BLANK = "ranks left blank"
LESS = "rankings of fewer than two systems"


@dataclass(frozen=True, slots=True)
class _RankedLine:
    """Data of a line: systems with their ranks. screen: the ranking that it belongs to."""

    at: LineLocation
    judge: str
    screen: int
    position: int
    ranks: Mapping[str, int]

    def encode_sort_entry(self) -> bytes:
        """Encode the line as an entry that sorts by judge and screen."""
        ranks = [cell for name, rank in self.ranks.items() for cell in (name, str(rank))]
        head = (self.judge, f"{self.screen:010d}", self.at.file, f"{self.at.line:010d}", str(self.position))
        return "\0".join((*head, *ranks)).encode()

    @classmethod
    def decode_sort_entry(cls, entry: bytes) -> _RankedLine:
        """Decode the line of an entry."""
        judge, screen, file, line, position, *ranks = entry.decode().split("\0")
        named = dict(zip(ranks[::2], map(int, ranks[1::2]), strict=True))
        return cls(LineLocation(file, int(line)), judge, int(screen), int(position), named)


@dataclass(slots=True)
class _RankedFiles:
    """Reads lines. languages: of all lines."""

    context: ReadContext
    log: ReadLog
    languages: tuple[str, str] | None = None
    screens: dict[str, int] = field(default_factory=dict)

    def read(self, file: InputFile) -> Iterator[_RankedLine]:
        """Yield the lines of a file with rankings; others go to the log."""
        header: dict[str, int] | None = None
        for number, line in read_lines(file, self.context.limits, self.log):
            at, cells = LineLocation(file.name, number), [cell.strip() for cell in line.split(",")]
            if header is None:
                header = {name.casefold(): i for i, name in enumerate(cells)}
                missing = {"srclang", "trglang", "segmentid", "judgeid", "system1id", "system1rank"} - header.keys()
                if missing:
                    refuse_file(self.log, at, f"the header lacks {', '.join(sorted(missing))}")
                record_unread_names(self.log, "columns", {name for name in header if not READ.fullmatch(name)})
                continue
            try:
                if len(cells) != len(header):
                    raise ValueError(f"there are {len(cells)} columns where {len(header)} are needed")
                yield self._line({name: cells[i] for name, i in header.items()}, at)
            except ValueError as fault:
                self.log.record_bad_line(at, str(fault))

    def _line(self, cells: Mapping[str, str], at: LineLocation) -> _RankedLine:
        """Return the ranks of a line. Raises ValueError."""
        self._same_languages(cells)
        judge = cells["judgeid"]
        if not judge:
            raise ValueError("judgeID is empty")
        ranks: dict[str, int] = {}
        for name in sorted(cells.keys() & {f"system{n}rank" for n in range(1, 10)}):
            rank = cells[name]
            if rank == "-1":
                self.log.dropped[BLANK] += 1
                continue
            system = _parse_systems(cells.get(name.replace("rank", "id"), ""))
            if ranks.setdefault(system, _count(rank, name)) != int(rank):
                raise ValueError(f"{_format_systems(system)} has two ranks")
        position = _count(cells.get("srcindex") or cells["segmentid"], "segmentId")
        return _RankedLine(at, judge, self._screen(judge, cells.get("rankingid", "")), position, ranks)

    def _screen(self, judge: str, told: str) -> int:
        if told:
            return _count(told, "rankingID")
        self.screens[judge] = self.screens.get(judge, 0) + 1
        return self.screens[judge]

    def _same_languages(self, cells: Mapping[str, str]) -> None:
        named = (cells["srclang"], cells["trglang"])
        source, target = (LANGUAGES.get(name.casefold(), name) for name in named)
        self.languages = self.languages or (source, target)
        if (source, target) != self.languages:
            said = "-".join(self.languages)
            raise ValueError(f"this is of {source}-{target}, the lines before of {said}: a campaign has one pair")


def read(files: Sequence[InputFile], context: ReadContext, log: ReadLog) -> Iterator[Record]:
    """Yield records of all files together. Raises Invalid with every bad line, unless they are skipped."""
    documents, rest = _documents(files, context, log)
    lines = _RankedFiles(context, log)
    with ExternalSorter() as rows:
        for file in rest:
            for line in lines.read(file):
                rows.add(line.encode_sort_entry())
        log.raise_bad_lines()
        source, target = lines.languages or (None, None)
        yield CampaignRow(
            LineLocation(rest[0].name if rest else "", 1),
            None if context.protocol else JUDGED_BY,
            source,
            target,
            "both",
            options={"preference": "ranking"},
            documents_known=bool(documents),
        )
        yield from _Comparisons(documents, log).of(map(_RankedLine.decode_sort_entry, rows))
    log.raise_bad_lines()


@dataclass(slots=True)
class _Comparisons:
    """Makes records from lines in the order of rankings. documents: of each segment of the test set, in order."""

    documents: Sequence[tuple[str, int]]
    log: ReadLog
    n: int = 0
    names: dict[str, KeyAssigner] = field(default_factory=dict)

    def of(self, lines: Iterator[_RankedLine]) -> Iterator[Record]:
        """Yield all records. Raises Invalid if there are no rankings."""
        self.names = {noun: KeyAssigner(noun, self.log) for noun in ("system", "document", "rater")}
        for (judge, screen), group in groupby(lines, key=lambda line: (line.judge, line.screen)):
            same = list(group)
            try:
                yield from self._records(judge, screen, same)
            except ValueError as fault:
                self.log.record_bad_line(same[0].at, str(fault))
        if not self.n and not self.log.n_bad:
            raise Invalid("there are no rankings")

    def _records(self, judge: str, screen: int, lines: Sequence[_RankedLine]) -> Iterator[Record]:
        """Yield the records of one ranking. Raises ValueError before the first record."""
        at, position = lines[0].at, lines[0].position
        ranks = _ranks(lines)
        if len(ranks) < 2:
            self.log.dropped[LESS] += 1
            return
        columns = _columns(lines, ranks)
        if not 2 <= len(columns) <= MOST_RANKED:
            raise ValueError(f"a ranking of {len(columns)} outputs; there can be from 2 to {MOST_RANKED}")
        name, place = self._document(position)
        document, new_document = self.names["document"].assign_key(name)
        rater, new_rater = self.names["rater"].assign_key(judge)
        if new_document:
            yield DocumentRecord(at, document, name)
        if new_rater:
            yield RaterRow(at, rater, judge)
        keys = []
        for column in columns:
            credited = []
            for system in ALIKE.join(column).split(ALIKE):
                key, is_new = self.names["system"].assign_key(system)
                credited.append(key)
                if is_new:
                    yield SystemRecord(at, key, system)
            keys.append(tuple(sorted(credited)))
        by_rank: dict[int, list[int]] = {}
        for n, column in enumerate(columns, 1):
            by_rank.setdefault(ranks[column[0]], []).append(n)
        self.n += 1
        preference = tuple(tuple(by_rank[rank]) for rank in sorted(by_rank))
        items = tuple(f"{screen}.{n}" for n in range(1, len(columns) + 1))
        yield ScreenComparisonRow(at, rater, screen, rater, document, items, tuple(keys), preference, position=place)

    def _document(self, position: int) -> tuple[str, int]:
        """Return document and position. Raises ValueError for a segment that the file of documents does not have."""
        if not self.documents:
            return UNKNOWN, position
        if position > len(self.documents):
            raise ValueError(f"segment {position}: the file of documents has {len(self.documents)} lines")
        return self.documents[position - 1]


def _ranks(lines: Sequence[_RankedLine]) -> dict[str, int]:
    """Return the rank of each system, sorted by name if on several lines. Raises ValueError for contradictions."""
    ranks: dict[str, int] = {}
    for line in lines:
        if line.position != lines[0].position:
            raise ValueError(f"ranking {line.screen} is of two segments, {lines[0].position} and {line.position}")
        for system, rank in line.ranks.items():
            if ranks.setdefault(system, rank) != rank:
                raise ValueError(f"{_format_systems(system)} has two ranks in ranking {line.screen}")
    return dict(sorted(ranks.items())) if len(lines) > 1 else ranks


def _columns(lines: Sequence[_RankedLine], ranks: Mapping[str, int]) -> list[list[str]]:
    """Return systems by column, in the order in which they occur."""
    told = {frozenset(pair) for line in lines for pair in combinations(line.ranks, 2)}
    columns: list[list[str]] = []
    for system, rank in ranks.items():
        alike = (c for c in columns if ranks[c[0]] == rank and all(frozenset((system, one)) not in told for one in c))
        column = next(alike, None)
        if column is None:
            columns.append([system])
        else:
            column.append(system)
    return columns


def _documents(
    files: Sequence[InputFile], context: ReadContext, log: ReadLog
) -> tuple[list[tuple[str, int]], list[InputFile]]:
    """Return document and position of each segment, and the files of rankings. Raises Invalid."""
    unknown = sorted(set(context.options) - set(OPTIONS))
    if unknown:
        raise Invalid(f"wmt-rr has no option {unknown[0][:40]!r}; there are {', '.join(OPTIONS)}")
    name = context.options.get("documents")
    named = [file for file in files if name in (file.name, PurePath(file.name).name)]
    if name is not None and (len(named) != 1 or len(files) < 2):
        raise Invalid(f"option documents: name one of at least two files; there are {', '.join(f.name for f in files)}")
    places: list[tuple[str, int]] = []
    counts: dict[str, int] = {}
    for file in named:
        for number, line in read_lines(file, context.limits, log):
            document = line.split("\t")[0].strip()
            if not document or len(places) >= MOST_SEGMENTS:
                refuse_file(
                    log, LineLocation(file.name, number), f"a name is needed, in at most {MOST_SEGMENTS:,} lines"
                )
            counts[document] = counts.get(document, 0) + 1
            places.append((document, counts[document]))
    return places, [file for file in files if file not in named]


def _parse_systems(name: str) -> str:
    """Return the systems of an output, in the order of their names, joined by `ALIKE`. Raises ValueError."""
    parts = name.split("+")
    told = parts if all(AFTER.search(part) for part in parts) else [name]
    return ALIKE.join(sorted({_system(part) for part in told}))


def _format_systems(systems: str) -> str:
    return systems.replace(ALIKE, "+")[:60]


def _system(name: str) -> str:
    """Return a system without the test set before it, and the number and language pair after it. Raises ValueError.

    >>> _system("newstest2016.uedin-nmt.4361.cs-en")
    'uedin-nmt'
    """
    plain = AFTER.sub("", name)
    system = plain.partition(".")[2] if plain != name else plain
    if not 0 < len(system) <= 1000:
        raise ValueError("the name of a system is empty or too long")
    return system


def _count(text: str, name: str) -> int:
    """Return a whole number from 1. Raises ValueError."""
    if not text.isascii() or not text.isdigit() or not 0 < len(text) <= 9 or not int(text):
        raise ValueError(f"{name} must be a whole number from 1, not {text[:40]!r}")
    return int(text)


FORMAT = Format(
    name="wmt-rr",
    title="Relative rankings as WMT published them until 2016",
    read=read,
    options=OPTIONS,
)
