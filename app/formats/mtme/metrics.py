"""Scores of automatic metrics in mt-metrics-eval: `metric-scores/PAIR/NAME.seg.score` and `NAME.sys.score`."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.domain.errors import Invalid, Place
from app.domain.keys import convert_name_to_key
from app.formats.base import InputFile, LineLocation, MetricScoreRow, ReadContext, ReadLog
from app.formats.kit.names import KeyAssigner
from app.formats.kit.numbers import parse_number
from app.formats.mtme.blocks import NONE, read_block_lines, read_score_lines_with_index

LEVELS = ("seg", "sys")
UNSCORED = "outputs and systems without a metric's score (None)"
Files = Mapping[tuple[str, str], InputFile]


@dataclass(frozen=True, slots=True)
class MetricScoreFiles:
    """The files of the requested metrics, by name and level."""

    files: Sequence[tuple[str, str, InputFile]]
    context: ReadContext
    log: ReadLog

    @classmethod
    def find_files(cls, files: Files, wanted: Sequence[str], context: ReadContext, log: ReadLog) -> MetricScoreFiles:
        """Find the files that the option `metric` names. Raises Invalid if one does not exist."""
        there = sorted({name for name, _ in files})
        missing = [name for name in wanted if not fnmatch.filter(there, name)]
        if missing:
            places = tuple(Place(("options", "metric"), f"there is no {name[:80]}") for name in missing)
            raise Invalid(f"there are the metrics {', '.join(there) or '(none)'}", places=places)
        asked = {name for pattern in wanted for name in fnmatch.filter(there, pattern)}
        left = sum(name not in asked for name, _ in files)
        if left:
            log.dropped["files of other metric scores than were asked for"] += left
        other = sum(name in asked and level not in LEVELS for name, level in files)
        if other:
            log.dropped["files of metric scores at other levels than of segments and systems"] += other
        wanted_files = [
            (name, level, file)
            for (name, level), file in sorted(files.items(), key=lambda one: one[0])
            if name in asked and level in LEVELS
        ]
        return cls(wanted_files, context, log)

    def read_scores(self, places: Sequence[tuple[str, int]], *, with_canary: bool) -> Iterator[MetricScoreRow]:
        """Yield all scores; by the convention of these files, higher is better.

        Raises Invalid if the length of a block is not that of the test set.
        """
        systems, seen = KeyAssigner("system", self.log), set[tuple[str, str]]()
        for name, level, file in self.files:
            metric = convert_name_to_key(name)
            if metric != name:
                self.log.record_mapped_name("metric", name, metric)
            for system, place, text, at in self._lines(file, level, places, with_canary):
                if text == NONE:
                    self.log.notes[UNSCORED] += 1
                    continue
                try:
                    value = parse_number(text)
                except ValueError as fault:
                    self.log.record_bad_line(at, str(fault))
                    continue
                key, _ = systems.assign_key(system)
                if place is None and (metric, key) in seen:
                    self.log.record_bad_line(at, "a second score of this system")
                    continue
                if place is None:
                    seen.add((metric, key))
                document, position = place or (None, None)
                yield MetricScoreRow(at, metric, key, value, document=document, position=position)

    def _lines(
        self, file: InputFile, level: str, places: Sequence[tuple[str, int]], with_canary: bool
    ) -> Iterator[tuple[str, tuple[str, int] | None, str, LineLocation]]:
        if level == "sys":
            for system, text, at in read_block_lines(file, self.context, self.log):
                yield system, None, text, at
            return
        for system, index, text, at in read_score_lines_with_index(
            file, len(places), self.context, self.log, with_canary=with_canary
        ):
            yield system, places[index], text, at
