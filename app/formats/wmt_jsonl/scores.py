"""Judgments in the lines of `wmt-jsonl`: `scores` is system → one or several of score, marked errors and account.

Offsets as Appraise has them: both ends inclusive, `missing` an omission. Accounts are named since WMT25 only in part:
where none is, the nth answer is of the rater `unnamed-n`, which stands for many people.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from app.domain.keys import make_key
from app.formats.base import FileLine, JudgmentRow, ReadContext, ReadLog
from app.formats.kit.appraise_spans import parse_appraise_spans
from app.formats.kit.strict_json import canonical_json

JUDGED_BY = "esa"
NAMES = ("annotator", "user_id", "account")
MOST_ANSWERS = 1000


def parse_judgments(
    at: FileLine,
    line: Mapping[str, object],
    document: str,
    position: int,
    segments: int,
    context: ReadContext,
    log: ReadLog,
) -> Iterator[tuple[str, JudgmentRow]]:
    """System and judgment of each answer in a line. Raises ValueError."""
    scores = line.get("scores")
    if not scores:
        return
    if not isinstance(scores, dict):
        raise ValueError("scores: must be an object, by system")
    if segments != 1:
        raise ValueError("scores: a line with judgments must be one paragraph")
    outputs = line.get("tgt_text")
    for system, given in scores.items():
        answers = given if isinstance(given, list) else [given]
        text = outputs.get(system) if isinstance(outputs, dict) else None
        if not isinstance(text, str):
            raise ValueError(f"scores: {system[:80]} was not shown")
        for n, answer in enumerate(answers[:MOST_ANSWERS], 1):
            if not isinstance(answer, dict):
                raise ValueError(f"scores.{system[:80]}: must be an object")
            rater = make_key(_account(answer) or f"unnamed-{n}")
            payload = _payload(answer, text, context.protocol or JUDGED_BY, log)
            key = make_key(system)
            item = make_key(f"{key}:{document}")
            yield system, JudgmentRow(at, rater, item, (key,), document, position, rater, payload)


def _account(answer: Mapping[str, object]) -> str:
    return next((value for name in NAMES if isinstance(value := answer.get(name), str) and value), "")


def _payload(answer: Mapping[str, object], text: str, protocol: str, log: ReadLog) -> dict[str, object]:
    score, errors = answer.get("human", answer.get("score")), answer.get("errors") or []
    if not isinstance(score, int | float) or isinstance(score, bool):
        raise ValueError("scores: human must be a number")
    if not isinstance(errors, list) or not all(isinstance(one, dict) for one in errors):
        raise ValueError("scores: errors must be a list of objects")
    marked = [{"error_type": None, **one} for one in errors]
    marks = parse_appraise_spans(canonical_json(marked), text, log.repaired)
    return {"protocol": protocol, "score": float(score), **({"errors": marks} if protocol == JUDGED_BY else {})}
