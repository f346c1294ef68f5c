"""Synthetic campaigns for timing reports: jsonl, seeded, three raters per document, any number of judgments."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from benchmarks.postedits import UNCHANGED, post_edit

SYSTEMS: Final = tuple(f"system-{i:02d}" for i in range(1, 15))
SEGMENTS: Final = 9  # per document; with the score of the whole document, ten answers per output
RATERS: Final = 60
RATINGS: Final = 3
BEGUN: Final = datetime(2026, 1, 1, tzinfo=UTC)
WORDS: Final = ("the", "house", "stands", "on", "a", "green", "hill", "above", "old", "water", "and", "people", "walk")
Payload = Callable[[random.Random, int, str], dict[str, Any]]
Record = dict[str, Any]


def campaign(file: Path, protocol: str, n: int, seed: int = 7) -> int:
    """Write a campaign of about n judgments, in whole documents, and return its number of judgments."""
    draw = random.Random(seed)  # noqa: S311  (made-up data)
    humans = ("system-01",)
    left, lines = n, 0
    with file.open("w", encoding="utf-8") as out:
        for record in _head(protocol, humans):
            out.write(json.dumps(record) + "\n")
        for number in range(10**9):
            for record in _document(draw, protocol, number):
                out.write(json.dumps(record) + "\n")
                lines += record["type"] == "judgment"
            if lines >= left:
                return lines
    raise AssertionError


def _head(protocol: str, humans: tuple[str, ...]) -> Iterator[Record]:
    yield {"type": "plumbline", "version": 1}
    yield {"type": "campaign", "protocol": protocol, "source_language": "en", "target_language": "de"}
    for key in SYSTEMS:
        yield {"type": "system", "key": key, "name": key, "kind": "human" if key in humans else "mt"}


def _document(draw: random.Random, protocol: str, number: int) -> Iterator[Record]:
    """Yield a document with its texts and three raters' judgments. For xsts, every tenth is a calibration document."""
    key, calibration = f"doc-{number:05d}", protocol == "xsts" and number % 10 == 0
    about = {"kind": "calibration", "meta": {"consensus": 3.0, "stratum": "3"}} if calibration else {}
    yield {"type": "document", "key": key, "name": key, "domain": f"domain {number % 3}", **about}
    for position in range(1, SEGMENTS + 1):
        yield {"type": "segment", "document": key, "position": position, "source": _text(draw, number, position)}
    texts = {(s, p): text for p in range(1, SEGMENTS + 1) for s, text in _outputs(draw, protocol, number, p)}
    for (system, position), text in texts.items():
        yield {"type": "output", "system": system, "document": key, "position": position, "text": text}
    for rater in draw.sample(range(RATERS), RATINGS):
        at = BEGUN + timedelta(minutes=number * 20 + rater)
        for worse, system in enumerate(SYSTEMS):
            for position in (*range(1, SEGMENTS + 1), *((None,) if protocol == "da_sqm" else ())):
                took = timedelta(seconds=draw.uniform(4, 30))
                yield {
                    "type": "judgment",
                    "task": f"t-{number}-{rater}",
                    "item": system,
                    "position": position,
                    "rater": f"rater{rater:02d}",
                    "systems": [system],
                    "document": key,
                    "role": "calibration" if calibration else "rating",
                    "started_at": at.isoformat().replace("+00:00", "Z"),
                    "submitted_at": (at + took).isoformat().replace("+00:00", "Z"),
                    "payload": _payload(draw, protocol, worse, texts.get((system, position or 0), "")),
                }
                at += took


def _outputs(draw: random.Random, protocol: str, number: int, position: int) -> Iterator[tuple[str, str]]:
    """Yield each system's output for a segment. Outputs for post-editing share most words, like real systems'."""
    common = _text(draw, number, position).split()
    for system in SYSTEMS:
        if protocol == "postedit":
            yield system, " ".join([*post_edit(common, draw), system])
        else:
            yield system, _text(draw, number, position, system)


def _payload(draw: random.Random, protocol: str, worse: int, text: str) -> Record:
    if protocol == "postedit":
        words = post_edit(text.split(), draw) if draw.random() > UNCHANGED else text.split()
        return {"protocol": protocol, "text": " ".join(words), "critical_errors": int(draw.random() < worse / 40)}
    if protocol == "mqm2":
        return {"protocol": protocol, "errors": [_error(draw, text) for _ in range(draw.randint(0, worse // 3 + 1))]}
    if protocol == "xsts":
        return {"protocol": protocol, "score": min(5, max(1, round(draw.gauss(4 - worse / 8, 0.8))))}
    return {"protocol": protocol, "score": min(100, max(0, round(draw.gauss(85 - worse, 15))))}


def _error(draw: random.Random, text: str) -> Record:
    """Mark an error of one or more characters somewhere in the text."""
    start = draw.randrange(len(text))
    severity = draw.choices(("minor", "major", "critical"), (8, 3, 1))[0]
    return {
        "start": start,
        "end": draw.randint(start + 1, len(text)),
        "severity": severity,
        "category": draw.choice(("Accuracy/Mistranslation", "Style/Awkward style", "Terminology/Wrong term")),
    }


def _text(draw: random.Random, *which: object) -> str:
    return " ".join((*draw.choices(WORDS, k=draw.randint(6, 16)), *map(str, which)))
