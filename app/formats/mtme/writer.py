"""Write `mtme`: the tree of one language pair of mt-metrics-eval.

Documents are in their order, each with all its segments; unrated outputs are `None`. By convention higher is better
there, so penalties are negated. `PAIR.PROTOCOL.LEVEL.score` are means over raters, then over segments. The ratings
themselves are `PAIR.PROTOCOL-N.seg.rating`, the n-th rating of each output with its rater: marked errors, or none if
the protocol has no errors. Their numbers are in `PAIR.PROTOCOL-N.seg.score`. `human=PROTOCOL-*` reads them all.
Automatic metrics are `metric-scores/PAIR/NAME.{seg,sys}.score`, which `metric=*` reads. In a campaign without
references, the human systems are also written as references.

Source: README ("File organization") and ratings.py of google-research/mt-metrics-eval: ends are exclusive, and offsets
are numbers, so an error without a position is at −1.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from app.formats.base import CampaignContents, JudgmentRow, MetricScoreRow, OutputRow, Record, SegmentRow
from app.formats.kit.judgments_to_write import NOWHERE
from app.formats.kit.name_aliases import KeyAliasesInFile, is_name_valid_at_line_end, is_name_valid_in_path
from app.formats.kit.records import decode_record, encode_record
from app.formats.kit.sorting import ExternalSorter
from app.formats.kit.strict_json import canonical_json
from app.formats.mtme.blocks import NONE
from app.formats.mtme.means import ScoreMeanAccumulator
from app.formats.mtme.scores import NO_PLACE
from app.formats.mtme.test_set import MtmeNamesAndOrder, collect_mtme_names_and_order

CARRIED = frozenset({"protocol", "score", "errors"})  # members of a payload in files of ratings and scores
SILENT: tuple[object, ...] = (None, "", [], ())
"""Values of a payload's member that carry no information."""
RATED = ("rating", "repeat")
HUMAN, METRICS = "human-scores/", "metric-scores/"
BREAKS = str.maketrans("\n\r\0", "   ")
Answer = tuple[JudgmentRow, float | None]


def write_file_tree(contents: CampaignContents, lost: Counter[str]) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Yield files by path; data without a place in the tree is counted in `lost`."""
    known = collect_mtme_names_and_order(contents.records(), lost)
    with ExternalSorter() as answers, ExternalSorter() as lines:
        out = _Lines(known, lines, lost)
        for record in contents.records():
            if isinstance(record, JudgmentRow):
                for entry in _entries(record, known, lost):
                    answers.add(entry)
            elif isinstance(record, MetricScoreRow):
                out.add_score(record)
            else:
                out.add_text(record)
        out.add_ratings(answers)
        out.add_missing()
        yield f"documents/{known.pair}.docs", known.iterate_docs_file_lines()
        yield from out.files()
    for what in [what for what, n in lost.items() if not n]:
        del lost[what]


def _entries(judgment: JudgmentRow, known: MtmeNamesAndOrder, lost: Counter[str]) -> Iterator[bytes]:
    """Yield the judgment once for each of its systems, sorted by place."""
    if judgment.document not in known.order:
        lost["judgments of documents that are not of the test"] += 1
    elif judgment.role not in RATED:
        lost[f"judgments of the kind {judgment.role}"] += 1
    elif not judgment.accepted:
        lost["judgments of rejected tasks"] += 1
    elif (judgment.task, judgment.item, judgment.position, judgment.rater) in known.voided:
        lost["voided judgments"] += 1
    elif (judgment.position is None) != known.by_document:
        lost["judgments at another level than the protocol's"] += 1
    else:
        lost["that a judgment is a repeat"] += judgment.role == "repeat"
        lost["that identical outputs were judged once"] += len(judgment.systems) > 1
        lost["tasks of judgments"] += judgment.task != judgment.rater
        lost["what else is kept with judgments"] += bool(judgment.meta)
        lost["times of judgments"] += bool(judgment.started_at or judgment.submitted_at)
        place = f"{known.order[judgment.document]:010d}\0{judgment.position or 1:010d}"
        address = f"{judgment.rater}\0{judgment.task}\0{judgment.item}\0{judgment.revision or 0:010d}"
        score = "" if judgment.score is None else repr(judgment.score)
        for key in judgment.systems:
            system = known.systems.assign_alias(key)
            yield f"{place}\0{system}\0{address}\0\0{score}\0\0{encode_record(judgment)}".encode()


class _Lines:
    """Lines of all files except that of documents, sorted by path, system and place."""

    def __init__(self, known: MtmeNamesAndOrder, lines: ExternalSorter, lost: Counter[str]) -> None:
        self._known, self._lines, self._lost = known, lines, lost
        self._raters = KeyAliasesInFile(is_name_valid_at_line_end, lost, known.raters)
        self._metrics = KeyAliasesInFile(is_name_valid_in_path, lost, {})
        self._texts: dict[str, int] = {}

    def _add(self, path: str, system: str, order: int, position: int, line: str) -> None:
        self._lines.add(f"{path}\0{system}\0{order:010d}\0{position:010d}\0\0{line}".encode())

    def add_text(self, record: Record) -> None:
        """Add a source with its references, or an output."""
        if not isinstance(record, SegmentRow | OutputRow) or record.document not in self._known.order:
            return
        place = self._known.order[record.document], record.position
        pair = self._known.pair
        if isinstance(record, OutputRow):
            self._lost["errors shown with outputs"] += record.prefill is not None
            name = self._known.systems.assign_alias(record.system)
            self._text(f"system-outputs/{pair}/{name}.txt", place, record.text)
            if record.system in self._known.human:
                self._text(f"references/{pair}.{name}.txt", place, record.text)
            return
        self._lost["what is known of segments"] += record.meta is not None
        if record.source is not None:
            self._text(f"sources/{pair}.txt", place, record.source)
        for name, text in (record.references or {}).items():
            self._text(f"references/{pair}.{self._known.references.assign_alias(name)}.txt", place, text)

    def _text(self, path: str, place: tuple[int, int], text: str) -> None:
        plain = text.translate(BREAKS)
        self._lost["line ends in texts"] += plain != text
        self._texts[path] = self._texts.get(path, 0) + 1
        self._add(path, "", *place, plain)

    def add_score(self, record: MetricScoreRow) -> None:
        """Add a metric's score of an output or a system; higher is better in these files."""
        if record.document is not None and record.document not in self._known.order:
            self._lost["scores of automatic metrics on documents that are not of the test"] += 1
            return
        self._lost["that lower is better by an automatic metric: its scores are negated"] += not record.higher_is_better
        level = "sys" if record.document is None else "seg"
        place = (0, 1) if record.document is None else (self._known.order[record.document], record.position or 1)
        system = self._known.systems.assign_alias(record.system)
        value = record.value if record.higher_is_better else -record.value + 0.0
        path = f"{METRICS}{self._known.pair}/{self._metrics.assign_alias(record.metric)}.{level}.score"
        self._add(path, system, *place, f"{system}\t{value!r}")

    def add_missing(self) -> None:
        """Count the lines that are empty because there is no text."""
        n = sum(map(len, self._known.positions))
        self._lost["texts that are not there: empty lines"] += sum(n - found for found in self._texts.values())

    def add_ratings(self, entries: Iterable[bytes]) -> None:
        """Add the ratings of all outputs, and their means at every level."""
        means = ScoreMeanAccumulator(self._known)
        for (order, position, system), answers in _by_output(entries, self._lost):
            for n, (judgment, score) in enumerate(answers, 1):
                self._rating(n, system, (order, position), judgment)
                means.add_rating(order, position, system, self._numbers(judgment, score))
            for name, mean in means.end_output_and_iterate_means():
                self._score(name, self._known.judgment_level, system, (order, position), mean)
        for name, level, domain, system, order, mean in means.iterate_means_above_outputs():
            self._score(name, level, f"{domain} {system}" if domain else system, (order, 1), mean)

    def _numbers(self, judgment: JudgmentRow, score: float | None) -> Mapping[str, float]:
        """Return the judgment's numbers by name; higher is better."""
        given = judgment.payload.get("scores")
        if isinstance(given, Mapping):
            self._lost["who judged by criteria: means only"] += 1
            return {name: float(value) for name, value in given.items() if isinstance(value, int | float)}
        return {} if score is None else {self._known.protocol: self._known.sign * score + 0.0}

    def _rating(self, n: int, system: str, place: tuple[int, int], judgment: JudgmentRow) -> None:
        if "scores" in judgment.payload:
            return
        if {name for name, value in judgment.payload.items() if value not in SILENT} - CARRIED:
            self._lost["judgments with more than a score and errors: means only"] += 1
            return
        name, rater = f"{self._known.protocol}-{n}", self._raters.assign_alias(judgment.rater)
        given = judgment.payload.get("score")
        if isinstance(given, int | float) and not isinstance(given, bool):
            self._score(name, self._known.judgment_level, system, place, self._known.sign * float(given) + 0.0)
        if self._known.by_document:
            self._lost["raters of document scores"] += 1
            return
        errors = judgment.payload.get("errors")
        marked = errors if isinstance(errors, list | tuple) else ()
        rating_errors = [_error(one, self._lost) for one in marked if isinstance(one, Mapping)]
        path = f"{HUMAN}{self._known.pair}.{name}.seg.rating"
        self._add(path, system, *place, f"{system}\t{canonical_json({'errors': rating_errors})}\t{rater}")

    def _score(self, name: str, level: str, system: str, place: tuple[int, int], value: float) -> None:
        path = f"{HUMAN}{self._known.pair}.{name}.{level}.score"
        self._add(path, system, *place, f"{system}\t{value!r}" if level != "domain" else f"{system} {value!r}")

    def files(self) -> Iterator[tuple[str, Iterable[bytes]]]:
        """Yield paths with their lines."""
        split = (entry.decode().rpartition("\0\0") for entry in self._lines)
        for path, group in groupby(split, key=lambda parts: parts[0].partition("\0")[0]):
            yield path, self._fill_missing_lines(path, ((head.split("\0"), line) for head, _, line in group))

    def _fill_missing_lines(self, path: str, entries: Iterable[tuple[list[str], str]]) -> Iterator[bytes]:
        """Yield the lines of a file, including one for every empty place."""
        scored = path.startswith((HUMAN, METRICS))
        level = path.rsplit(".", 2)[-2] if scored else "seg"
        for system, block in groupby(entries, key=lambda entry: entry[0][1]):
            lines = {(int(head[2]), int(head[3])): line for head, line in block}
            if level in ("sys", "domain"):
                yield from (f"{line}\n".encode() for line in lines.values())
                continue
            empty = f"{system}\t{NONE}" if scored else ""
            for place in self._known.iterate_document_positions_of_lines(level):
                yield f"{lines.get(place, empty)}\n".encode()


def _by_output(entries: Iterable[bytes], lost: Counter[str]) -> Iterator[tuple[tuple[int, int, str], list[Answer]]]:
    """Yield the judgments of each output that count: the latest answer at each address, by rater, task and item."""
    split = (entry.decode().split("\0\0", 2) for entry in entries)
    parsed = ((head.split("\0"), score, text) for head, score, text in split)
    for (order, position, system), group in groupby(parsed, key=lambda one: tuple(one[0][:3])):
        answers: list[Answer] = []
        for _, revisions in groupby(group, key=lambda one: one[0][3:6]):
            *earlier, (_, score, text) = list(revisions)
            lost["superseded revisions"] += len(earlier)
            record = decode_record(json.loads(text), NOWHERE)
            if isinstance(record, JudgmentRow):
                answers.append((record, _number(score, record)))
        yield (int(order), int(position), system), answers


def _number(score: str, judgment: JudgmentRow) -> float | None:
    """Return the stored score, or else the number that the rater gave, if it is one."""
    given = judgment.payload.get("score")
    return float(score) if score else float(given) if isinstance(given, int | float) else None


def _error(error: Mapping[str, object], lost: Counter[str]) -> dict[str, object]:
    category = error.get("category")
    lost["notes on errors"] += bool(error.get("note"))
    lost["that an error is an omission"] += bool(error.get("omission"))
    lost["which prefilled error an error came from"] += bool(error.get("prefill"))
    if error.get("start_ms") is not None:
        lost["times of errors in audio and video"] += 1
    start, end = error.get("start"), error.get("end")
    placed = isinstance(start, int) and isinstance(end, int)
    return {
        "start": start if placed else NO_PLACE,
        "end": end if placed else NO_PLACE,
        "category": category or None,
        "severity": error.get("severity"),
        "is_source_error": error.get("side") == "source",
    }
