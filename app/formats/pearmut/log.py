"""The log of Pearmut as judgments; it is read twice, the first time to find what was withdrawn."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from app.domain.keys import convert_name_to_key
from app.formats.base import InputFile, JudgmentRow, LineLocation, ReadContext, ReaderLimits, ReadLog, Record
from app.formats.kit.json_stream import stream_json_values
from app.formats.kit.names import KeyAssigner
from app.formats.kit.reading import read_byte_blocks, read_lines
from app.formats.kit.sortable_rows import LATEST_TIME
from app.formats.kit.strict_json import StrictJsonError, parse_json_value
from app.formats.pearmut.answers import COMMENT, KINDS, extract_answer_data_outside_payload, parse_answer_payload
from app.formats.pearmut.items import (
    OTHERS,
    UNANSWERED,
    PearmutItemReader,
    is_tutorial_check_or_form,
    parse_document_items,
    parse_item_outputs,
)

RESET = "__RESET__"
APART = ("welcome_", "random_", "goodbye_")
CHECKS = "answers to tutorials, checks and forms"
TAKEN_BACK = "answers that were taken back (__RESET__)"
OPEN = "outputs without an answer"
ACTIONS = "actions on the page but the first load and the last hand-in"
VERDICTS = "results of checks in lines of the log"
MEMBERS = "members of lines, answers and errors that Pearmut does not have"
LINE = frozenset({"annotation", "actions", "item", "validations", COMMENT, "user_id", "item_i"})
ANSWER = frozenset({*KINDS, UNANSWERED})
MARK = frozenset({"start_i", "end_i", "severity", "category"})
LONGEST_LINE = 16 << 20
DOWNLOADED = re.compile(
    rb'\s*+\{\s*+"(?!data["_]|(?:annotation|actions|item|validations)")(?:[^"\\]++|\\.)*+"\s*+:\s*+\['
)
Who = tuple[str | None, str | None]
Entry = tuple[LineLocation, str | None, Mapping[str, object]]


def is_downloaded_log(file: InputFile, limits: ReaderLimits) -> bool:
    """Return whether a file is one object of campaigns with lists of lines, as downloaded from Pearmut's dashboard."""
    return DOWNLOADED.match(next(read_byte_blocks(file, limits, ReadLog(skip_bad_lines=True)), b"")) is not None


class PearmutLogReader:
    """Reads logs of one campaign. protocol: that of its answers."""

    def __init__(self, protocol: str, items: PearmutItemReader, context: ReadContext, log: ReadLog) -> None:
        self._protocol, self._items, self._log = protocol, items, log
        self._limits = replace(context.limits, line_bytes=max(LONGEST_LINE, context.limits.line_bytes))
        self._raters = KeyAssigner("rater", log)

    def read(self, file: InputFile) -> Iterator[Record]:
        """Yield texts and judgments of a log."""
        reset: dict[tuple[str | None, Who], int] = {}
        quiet = ReadLog(skip_bad_lines=True)
        for n, (_, campaign, entry) in enumerate(self._entries(file, quiet)):
            if entry.get("annotation") == RESET:
                reset[campaign, _who(entry)] = n
        for n, (at, campaign, entry) in enumerate(self._entries(file, self._log)):
            if entry.get("annotation") == RESET:
                continue
            try:
                user, item = _who(entry)
                masks = ((user, item), (user, None), (None, item), (None, None))
                if any(reset.get((campaign, who), -1) > n for who in masks):
                    self._log.dropped[TAKEN_BACK] += 1
                    continue
                records = list(self._answers(at, entry))
            except ValueError as fault:
                self._log.record_bad_line(at, str(fault))
                continue
            yield from records

    def _entries(self, file: InputFile, log: ReadLog) -> Iterator[Entry]:
        """Yield each entry with its line and, if the file names it, its campaign."""
        return self._downloaded(file, log) if is_downloaded_log(file, self._limits) else self._lines(file, log)

    def _downloaded(self, file: InputFile, log: ReadLog) -> Iterator[Entry]:
        for piece in stream_json_values(file, self._limits, log):
            if not self._items.is_requested_campaign(piece.key):
                log.dropped[OTHERS if not piece.is_array_element else f"lines of {OTHERS}"] += 1
            elif isinstance(piece.value, dict) and "annotation" in piece.value:
                yield piece.at, piece.key, piece.value
            else:
                log.record_bad_line(piece.at, "must be an object with an annotation")

    def _lines(self, file: InputFile, log: ReadLog) -> Iterator[Entry]:
        for number, line in read_lines(file, self._limits, log):
            at = LineLocation(file.name, number)
            try:
                entry = parse_json_value(line)
                if not isinstance(entry, dict) or "annotation" not in entry:
                    raise StrictJsonError("must be an object with an annotation")
            except StrictJsonError as fault:
                log.record_bad_line(at, str(fault))
                continue
            yield at, None, entry

    def _answers(self, at: LineLocation, entry: Mapping[str, object]) -> Iterator[Record]:
        """Yield the judgments of one line. Raises ValueError."""
        user, given, item_i = entry.get("user_id"), entry.get("annotation"), entry.get("item_i")
        items = parse_document_items(entry.get("item"))
        if is_tutorial_check_or_form(items) or (isinstance(item_i, str) and item_i.startswith(APART)):
            self._log.dropped[CHECKS] += 1
            return
        if not isinstance(user, str) or not 1 <= len(user) <= 1000:
            raise ValueError("user_id: must be a text")
        if not isinstance(given, list) or len(given) != len(items):
            raise ValueError("annotation: must be a list, one entry for each item")
        yield from self._items.make_document_records(at, items)
        rater, (started, submitted) = self._raters.assign_key(user)[0], _times(entry.get("actions"))
        self._count_unread(entry)
        comment = {COMMENT: said} if (said := entry.get(COMMENT)) and isinstance(said, str) else {}
        for item, (document, position), answers in zip(
            items, self._items.find_or_assign_positions(items), given, strict=True
        ):
            texts = parse_item_outputs(item)
            for model, answer in _iterate_answers(answers, texts):
                payload = (
                    None
                    if answer.get(UNANSWERED) is True
                    else parse_answer_payload(self._protocol, self._items.spans, answer, texts[model])
                )
                if payload is None:
                    self._log.dropped[OPEN] += 1
                    continue
                self._count_members(answer)
                meta, comment = comment | extract_answer_data_outside_payload(self._protocol, answer), {}
                key = convert_name_to_key(model)
                yield JudgmentRow(
                    at,
                    rater,
                    convert_name_to_key(f"{key}:{document}"),
                    (key,),
                    document,
                    position,
                    rater,
                    payload,
                    started_at=started,
                    submitted_at=submitted,
                    meta=meta or None,
                )

    def _count_unread(self, entry: Mapping[str, object]) -> None:
        """Count data of a line that no judgment keeps."""
        actions = entry.get("actions")
        events = [one.get("action") for one in actions if isinstance(one, dict)] if isinstance(actions, list) else []
        times = Counter(str(event) for event in events)
        unread = len(events) - bool(times["load"]) - bool(times["submit"])
        counts = {ACTIONS: unread, VERDICTS: int(bool(entry.get("validations"))), MEMBERS: len(entry.keys() - LINE)}
        self._log.dropped.update({what: n for what, n in counts.items() if n})

    def _count_members(self, answer: Mapping[str, object]) -> None:
        given = answer.get("error_spans")
        marks = [mark for mark in given if isinstance(mark, dict)] if isinstance(given, list) else []
        unread = len(answer.keys() - ANSWER) + sum(len(mark.keys() - MARK) for mark in marks)
        self._log.dropped.update({MEMBERS: unread} if unread else {})


def _iterate_answers(answers: object, texts: Mapping[str, str]) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield model and answer. Raises ValueError for a model that was not shown."""
    if answers is None:
        return
    if isinstance(answers, list) and len(answers) == len(texts):
        answers = dict(zip(texts, answers, strict=True))
    if not isinstance(answers, dict):
        raise ValueError("annotation: must be an object, by model")
    for model, answer in answers.items():
        if model not in texts:
            raise ValueError(f"annotation: {model[:80]} was not shown")
        if not isinstance(answer, dict):
            raise ValueError(f"annotation: the answer about {model[:80]} must be an object")
        yield model, answer


def _who(entry: Mapping[str, object]) -> Who:
    """User and item of an entry as text; None stands for all of them."""
    user, item = entry.get("user_id"), entry.get("item_i")
    return None if user is None else str(user), None if item is None else str(item)


def _times(actions: object) -> tuple[datetime | None, datetime | None]:
    """Return when the document was first loaded and last handed in, from Unix seconds. Raises ValueError."""
    times: dict[str, list[float]] = {"load": [], "submit": []}
    for action in actions if isinstance(actions, list) else []:
        kind, time = (action.get("action"), action.get("time")) if isinstance(action, dict) else (None, None)
        if isinstance(kind, str) and kind in times:
            if not isinstance(time, int | float) or not 0 <= time < LATEST_TIME:
                raise ValueError("actions: time must be Unix seconds")
            times[kind].append(float(time))
    return _moment(min(times["load"], default=None)), _moment(max(times["submit"], default=None))


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
