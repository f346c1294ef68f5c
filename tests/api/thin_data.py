"""Campaigns that have little to say: one rater, one system, one score throughout, or no judgment left."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

Record = dict[str, Any]
THIN = ("one-rater", "one-system", "constant", "all-missing")
DOCUMENTS, SEGMENTS = 6, 2
BEGUN = datetime(2026, 1, 5, 9, tzinfo=UTC)
ANCHORS = 4


def campaign(protocol: str, thin: str) -> bytes:
    """A campaign as jsonl. all-missing: everything was judged, and each judgment is set aside."""
    return "".join(json.dumps(record) + "\n" for record in _records(protocol, thin)).encode()


def _records(protocol: str, thin: str) -> Iterator[Record]:
    raters = ("ann",) if thin == "one-rater" else ("ann", "bob", "cem")
    systems = ("A",) if thin == "one-system" else ("A", "B", "human")
    yield {"type": "plumbline", "version": 1}
    yield {"type": "campaign", "protocol": protocol, "source_language": "en", "target_language": "de"}
    for n, key in enumerate(systems):
        yield {"type": "system", "key": key, "name": key, "kind": "human" if key == "human" else "mt", "lab": f"lab{n}"}
    for d in range(DOCUMENTS):
        yield {"type": "document", "key": f"d{d}", "name": f"d{d}", "domain": ("news", "talk")[d % 2]}
        for p in range(1, SEGMENTS + 1):
            texts = {"source": f"The {d} dogs bark {p} times.", "references": {"ref": f"Die {d} Hunde bellen {p} Mal."}}
            yield {"type": "segment", "document": f"d{d}", "position": p, **texts}
            for system in systems:
                at = {"system": system, "document": f"d{d}", "position": p}
                yield {"type": "output", **at, "text": _text(system, d, p)}
                yield {"type": "metric", "metric": "comet", **at, "value": (7 * d + 3 * p + ord(system[0])) % 11 / 11}
    if protocol == "xsts":
        yield from _anchors()
    for rater in raters:
        yield from _judged(protocol, thin, rater, systems)


def _anchors() -> Iterator[Record]:
    yield {"type": "system", "key": "anchors", "name": "anchors", "kind": "human"}
    for n in range(ANCHORS):
        about = {"kind": "calibration", "meta": {"consensus": 1.0 + n, "stratum": str(1 + n)}}
        yield {"type": "document", "key": f"anchors:{n}", "name": "pair", **about}
        yield {"type": "segment", "document": f"anchors:{n}", "position": 1, "source": f"Anchor {n}."}


def _judged(protocol: str, thin: str, rater: str, systems: tuple[str, ...]) -> Iterator[Record]:
    whole = (None,) if protocol == "da_sqm" else ()
    places = [(s, f"d{d}", p) for d in range(DOCUMENTS) for s in systems for p in (*range(1, SEGMENTS + 1), *whole)]
    if protocol == "xsts":
        places += [("anchors", f"anchors:{n}", 1) for n in range(ANCHORS)]
    for n, (system, document, position) in enumerate(places):
        at, draw = BEGUN + timedelta(seconds=30 * n), 0 if thin == "constant" else 1 + 5 * n + ord(rater[0])
        address = {
            "task": f"t-{rater}",
            "item": f"{system}-{document}".replace(":", "-"),
            "position": position,
            "rater": rater,
        }
        yield {
            "type": "judgment",
            **address,
            "systems": [system],
            "document": document,
            "role": "calibration" if system == "anchors" else "rating",
            "started_at": at.isoformat().replace("+00:00", "Z"),
            "submitted_at": (at + timedelta(seconds=5 + n % 7)).isoformat().replace("+00:00", "Z"),
            "payload": _payload(protocol, draw, system, document, position),
        }
        if thin == "all-missing":
            yield {"type": "void", **address, "reason": "set aside", "actor": "manager"}


def _payload(protocol: str, draw: int, system: str, document: str, position: int | None) -> Record:
    if protocol == "postedit":
        words = _text(system, int(document.removeprefix("d")), position or 0).split()
        return {
            "protocol": protocol,
            "text": " ".join([*words[: len(words) - draw % 4], *["anders"] * (draw % 4)]),
            "critical_errors": draw % 2,
        }
    if protocol == "mqm":
        error = {"side": "target", "start": 0, "end": 3, "category": "Accuracy/Mistranslation", "severity": "major"}
        return {"protocol": protocol, "errors": [error] * (draw % 2)}
    if protocol == "xsts":
        return {"protocol": protocol, "score": 1 + draw % 5}
    return {"protocol": protocol, "score": draw % 101, **({"errors": []} if protocol == "esa" else {})}


def _text(system: str, document: int, position: int) -> str:
    return f"{document} Hunde von {system} bellen {position} Mal ."
