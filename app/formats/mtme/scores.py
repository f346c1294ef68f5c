"""Human scores and ratings of mt-metrics-eval as judgments, from blocks of lines by system in segment order."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from app import protocols
from app.domain.errors import Invalid, Place
from app.domain.keys import convert_name_to_key
from app.domain.spans import parse_severity
from app.formats.base import InputFile, JudgmentRow, LineLocation, ReadContext, ReadLog
from app.formats.kit.names import KeyAssigner
from app.formats.kit.numbers import parse_number
from app.formats.kit.sorting import ExternalSorter
from app.formats.kit.strict_json import parse_json_value
from app.formats.mtme.blocks import NONE, read_block_lines, read_score_lines_with_index

UNRATED = "outputs that are not rated (None)"
BY_CRITERIA, BY_ERRORS = "rating", "mqm"
NO_ERROR = "no-error"
NO_PLACE = -1  # both ends of an error without a position
MOST_SEGMENTS = 5_000_000
Places = Sequence[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class _Files:
    """The files of one way of scoring. score: of segments, or of documents if the protocol judges those."""

    name: str
    score: InputFile | None
    rating: InputFile | None


@dataclass(slots=True)
class HumanScoreFiles:
    """The requested human scores. sign: 1 or -1."""

    protocol: str
    files: Sequence[_Files]
    sign: int
    context: ReadContext
    log: ReadLog

    @classmethod
    def find_files(
        cls,
        scores: Mapping[tuple[str, str], InputFile],
        ratings: Mapping[str, InputFile],
        human: Sequence[str],
        context: ReadContext,
        log: ReadLog,
    ) -> HumanScoreFiles | None:
        """Find the files that the option `human` names; None if it names nothing. Raises Invalid."""
        there = sorted({name for name, _ in scores} | set(ratings))
        human = [name for asked in human for name in (fnmatch.filter(there, asked) if "*" in asked else [asked])]
        missing = [name for name in human if name not in there]
        if missing:
            places = tuple(Place(("options", "human"), f"there is no {name[:80]}") for name in missing)
            raise Invalid(f"there are the human scores {', '.join(there) or '(none)'}", places=places)
        left = len(scores) + len(ratings) - sum(name in human for name, _ in scores) - len(set(human) & set(ratings))
        if left:
            log.notes["files of human scores that were not asked for (--option human=NAME)"] += left
        if not human:
            return None
        protocol = context.protocol or (BY_ERRORS if set(human) <= set(ratings) else BY_CRITERIA)
        level = "doc" if protocols.get_protocol(protocol).level == "document" else "seg"
        log.dropped["files of scores at other levels than judgments have"] += sum(
            name in human and other != level for name, other in scores
        )
        score_files = [_Files(name, scores.get((name, level)), ratings.get(name)) for name in human]
        return cls(protocol, score_files, _sign(context), context, log)

    def campaign_options(self) -> Mapping[str, object] | None:
        """Return the options of a new campaign: criteria named as the scores, each from its smallest to its largest."""
        if self.protocol != BY_CRITERIA:
            return None
        criteria = []
        for files in self.files:
            values = [self.sign * float(value) for value in self._values(files) if value != NONE]
            low, high = math.floor(min(values, default=0)), math.ceil(max(values, default=0))
            scale = {"minimum": float(low), "maximum": float(max(high, low + 1)), "step": None}
            criteria.append({"name": convert_name_to_key(files.name), **scale})
        return {"criteria": criteria}

    def read_judgments(self, places: Places, *, with_canary: bool) -> Iterator[JudgmentRow]:
        """Yield judgments of all requested files. Raises Invalid if a block has a wrong number of lines."""
        if len(places) > MOST_SEGMENTS:
            raise Invalid(f"more than {MOST_SEGMENTS:,} segments")
        documents = protocols.get_protocol(self.protocol).level == "document"
        addresses: Sequence[tuple[str, int | None]] = (
            [(key, None) for key in dict.fromkeys(key for key, _ in places)] if documents else places
        )
        systems, raters = KeyAssigner("system", self.log), KeyAssigner("rater", self.log)
        for files in self.files:
            for system, index, parts in self._answers(files, len(addresses), with_canary):
                at = parts[0][1]
                try:
                    payload, name = self._payload(files.name, parts)
                except ValueError as fault:
                    self.log.record_bad_line(at, str(fault))
                    continue
                document, position = addresses[index]
                key, rater = systems.assign_key(system)[0], raters.assign_key(name or files.name)[0]
                task = convert_name_to_key(files.name if not name or name == files.name else f"{files.name}:{name}")
                item = convert_name_to_key(f"{key}:{document}")
                yield JudgmentRow(at, task, item, (key,), document, position, rater, payload)

    def _answers(
        self, files: _Files, n: int, with_canary: bool
    ) -> Iterator[tuple[str, int, list[tuple[str, LineLocation, str]]]]:
        """Yield system, index of the segment, and each file's entry for it: (kind, at, text)."""
        fields = protocols.get_protocol(self.protocol).payload.model_fields
        wanted = {"rating": "errors" in fields, "score": bool({"score", "scores"} & set(fields))}
        there = {"rating": files.rating, "score": files.score}
        for kind, needed in wanted.items():
            if needed and there[kind] is None:
                raise Invalid(f"{self.protocol} needs a file human-scores/PAIR.{files.name}.seg.{kind}")
            if not needed and there[kind] is not None and kind == "score":
                self.log.dropped[f"files of human {kind}s that {self.protocol} has no place for"] += 1
        wanted["rating"] = there["rating"] is not None  # even if errors are not needed, it states the rater
        with ExternalSorter() as entries:
            for kind, file in there.items():
                if wanted[kind] and file is not None:
                    for system, index, text, at in read_score_lines_with_index(
                        file, n, self.context, self.log, with_canary=with_canary
                    ):
                        entries.add(f"{system}\0{index:010d}\0{kind}\0{at.file}\0{at.line}\0{text}".encode())
            split = (entry.decode().split("\0", 5) for entry in entries)
            for (system, padded), group in groupby(split, key=lambda parts: (parts[0], parts[1])):
                answer_parts = [(kind, LineLocation(name, int(line)), text) for _, _, kind, name, line, text in group]
                if any(text == NONE for _, _, text in answer_parts):
                    self.log.notes[UNRATED] += 1
                    continue
                yield system, int(padded), answer_parts

    def _values(self, files: _Files) -> Iterator[str]:
        if files.score is not None:
            for _, text, _ in read_block_lines(files.score, self.context, ReadLog(skip_bad_lines=True)):
                try:
                    yield text if text == NONE else repr(parse_number(text))
                except ValueError:
                    continue  # reported when the file is read again

    def _payload(self, name: str, parts: Sequence[tuple[str, LineLocation, str]]) -> tuple[dict[str, object], str]:
        """Return the payload and its rater, if the file states one. Raises ValueError."""
        payload: dict[str, object] = {"protocol": self.protocol}
        fields, rater = protocols.get_protocol(self.protocol).payload.model_fields, ""
        text_of = {kind: text for kind, _, text in parts}
        if len(parts) > len(text_of):
            raise ValueError("a second line about the same output")
        if "rating" in text_of:
            text, _, rater = text_of["rating"].partition("\t")
            errors = _errors(text)
            if "errors" in fields:
                payload["errors"] = errors
            else:
                self.log.dropped[f"marked errors that {self.protocol} has no place for"] += len(errors)
        elif "errors" in fields:
            raise ValueError("there is a score without a rating")
        if "score" in text_of:
            value = self.sign * parse_number(text_of["score"]) + 0.0  # no negative zero
            payload |= {"score": value} if "score" in fields else {"scores": {convert_name_to_key(name): value}}
        elif {"score", "scores"} & set(fields):
            raise ValueError("there is a rating without a score")
        return payload, rater.strip()


def _errors(text: str) -> list[dict[str, object]]:
    """Return marked errors in payload form; both forms have exclusive ends. Raises ValueError."""
    rating = parse_json_value(text)
    errors = rating.get("errors") if isinstance(rating, dict) else None
    if not isinstance(errors, list):
        raise ValueError("the rating must be an object with a list of errors")
    return [one for error in errors if (one := _error(error)) is not None]


def _error(error: object) -> dict[str, object] | None:
    """Return one error, None if it states that there is none. Raises ValueError."""
    if not isinstance(error, dict):
        raise ValueError("an error must be an object")
    said, category = error.get("severity"), error.get("category")
    if isinstance(said, str) and said.casefold() == NO_ERROR:
        return None
    severity = parse_severity(said) if isinstance(said, str) else None
    if severity is None:
        raise ValueError(f"unknown severity {str(said)[:40]!r}")
    if category is not None and not isinstance(category, str):
        raise ValueError("the category of an error must be a text")
    start, end = error.get("start"), error.get("end")
    if (start, end) == (NO_PLACE, NO_PLACE):
        start = end = None
    side = {"side": "source"} if error.get("is_source_error") else {}
    return {"severity": severity, "start": start, "end": end, **side, **({"category": category} if category else {})}


def _sign(context: ReadContext) -> int:
    given = context.options.get("sign", "1")
    if given not in ("1", "-1"):
        raise Invalid("the options are not valid", places=(Place(("options", "sign"), "must be 1 or -1"),))
    return int(given)
