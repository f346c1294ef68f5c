"""Judgments in lines of `wmt-jsonl`: `scores` is system → one or several of score, marked errors and account.

Several answers are a list, or one object with the number of the wave after each name: `human1`, `errors1`,
`annotator1`, `times1`, `human2` and so on, where `times` are Unix seconds of the start and the end.

Offsets are as in Appraise: both ends inclusive, `missing` an omission. Since WMT25 only some accounts are named:
without a name, the nth answer is by the rater `unnamed-n`, which stands for many people.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from app.domain.keys import convert_name_to_key
from app.formats.base import JudgmentRow, LineLocation, ReadContext, ReadLog
from app.formats.kit.appraise_spans import parse_appraise_spans
from app.formats.kit.sortable_rows import LATEST_TIME
from app.formats.kit.strict_json import canonical_json

JUDGED_BY = "esa"
NAMES = ("annotator", "user_id", "account")
UNKNOWN = "unknown"
WAVE = re.compile(r"(human|errors|annotator|times)([1-9][0-9]?)")
MOST_ANSWERS = 1000


def parse_judgments(
    at: LineLocation,
    line: Mapping[str, object],
    document: str,
    position: int,
    segments: int,
    context: ReadContext,
    log: ReadLog,
) -> Iterator[tuple[str, JudgmentRow]]:
    """Yield system and judgment of each answer in a line. Raises ValueError."""
    scores = line.get("scores")
    if not scores:
        return
    if not isinstance(scores, dict):
        raise ValueError("scores: must be an object, by system")
    if segments != 1:
        raise ValueError("scores: a line with judgments must be one paragraph")
    outputs = line.get("tgt_text")
    for system, given in scores.items():
        answers = given if isinstance(given, list) else _waves(given) or [given]
        text = outputs.get(system) if isinstance(outputs, dict) else None
        if not isinstance(text, str):
            raise ValueError(f"scores: {system[:80]} was not shown")
        for n, answer in enumerate(answers[:MOST_ANSWERS], 1):
            if not isinstance(answer, dict):
                raise ValueError(f"scores.{system[:80]}: must be an object")
            rater = convert_name_to_key(_account(answer) or f"unnamed-{n}")
            payload = _payload(answer, text, context.protocol or JUDGED_BY, log)
            key = convert_name_to_key(system)
            item = convert_name_to_key(f"{key}:{document}")
            started, submitted = _times(answer)
            row = JudgmentRow(at, rater, item, (key,), document, position, rater, payload)
            yield system, replace(row, started_at=started, submitted_at=submitted)


def _waves(given: object) -> list[dict[str, object]]:
    """Return the answers of an object with one for each wave, in order; none if it is an answer itself."""
    waves: dict[int, dict[str, object]] = {}
    for name, value in given.items() if isinstance(given, dict) else ():
        if match := WAVE.fullmatch(name):
            waves.setdefault(int(match[2]), {})[match[1]] = value
    return [waves[n] for n in sorted(waves)]


def _times(answer: Mapping[str, object]) -> tuple[datetime | None, datetime | None]:
    """Return start and end of an answer. Raises ValueError."""
    times = answer.get("times")
    if times is None:
        return None, None
    if not isinstance(times, list) or len(times) != 2 or not all(_is_time(one) for one in times):
        raise ValueError("scores: times must be two moments in Unix seconds")
    return datetime.fromtimestamp(times[0], UTC), datetime.fromtimestamp(times[1], UTC)


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < LATEST_TIME


def _account(answer: Mapping[str, object]) -> str:
    names = (answer.get(name) for name in NAMES)
    return next((name for name in names if isinstance(name, str) and name and name != UNKNOWN), "")


def _payload(answer: Mapping[str, object], text: str, protocol: str, log: ReadLog) -> dict[str, object]:
    score, errors = answer.get("human", answer.get("score")), answer.get("errors") or []
    if not isinstance(score, int | float) or isinstance(score, bool):
        raise ValueError("scores: human must be a number")
    if not isinstance(errors, list) or not all(isinstance(one, dict) for one in errors):
        raise ValueError("scores: errors must be a list of objects")
    marked = [{"error_type": None, **one} for one in errors]
    marks = parse_appraise_spans(canonical_json(marked), text, log.repaired)
    return {"protocol": protocol, "score": float(score), **({"errors": marks} if protocol == JUDGED_BY else {})}
