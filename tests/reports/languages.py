"""Three simulated XSTS campaigns in different languages: raters of known leniency, one calibration set."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

RATERS, SENTENCES, PAIRS = 3, 80, 100


@dataclass(frozen=True)
class World:
    """A language: true quality of its system, and leniency of its raters.

    Scores are kept continuous by the generator and rounded on the scale from 1 to 5.
    """

    language: str
    quality: float
    lenient: float


PLANTED = (World("hi", 3.6, -0.35), World("sw", 3.2, 0.05), World("ka", 2.8, 0.75))
"""The best first; raw scores stand the other way round."""


def lines(world: World, seed: int = 7, *, set_key: str = "anchors", pairs: int = PAIRS) -> bytes:
    """A campaign as jsonl: a system and a human translation on the same sentences, and the calibration set."""
    rng = np.random.default_rng([seed, *world.language.encode()])
    return "\n".join(json.dumps(one) for one in _records(world, rng, set_key, pairs)).encode()


def _records(world: World, rng: np.random.Generator, set_key: str, pairs: int) -> Iterator[dict[str, object]]:
    yield {"type": "plumbline", "version": 1}
    yield {"type": "campaign", "protocol": "xsts", "source_language": "en", "target_language": world.language}
    for key, kind in (("mt", "mt"), ("human", "human"), (set_key, "human")):
        yield {"type": "system", "key": key, "name": key, "kind": kind}
    agreed = np.linspace(1.4, 4.6, pairs)
    for n, value in enumerate(agreed, 1):
        yield {
            "type": "document", "key": f"{set_key}:{n:05d}", "name": "pair", "kind": "calibration",
            "meta": {"consensus": round(float(value), 3), "stratum": str(round(value))},
        }  # fmt: skip
        yield {"type": "segment", "document": f"{set_key}:{n:05d}", "position": 1, "source": f"Anchor {n}."}
    true = np.clip(rng.normal(world.quality, 0.5, SENTENCES), 1, 5)
    for r in range(RATERS):
        rater = f"{world.language}{r}"
        up = world.lenient + rng.normal(0, 0.05)
        for n, value in enumerate(agreed, 1):
            yield _judged(rater, set_key, f"{set_key}:{n:05d}", _said(rng, value + up), "calibration")
        for i, value in enumerate(true):
            yield _judged(rater, "mt", f"d{i:03d}", _said(rng, value + up), "rating")
            yield _judged(rater, "human", f"d{i:03d}", _said(rng, min(value + 1.2, 4.2) + up), "rating")


def _said(rng: np.random.Generator, value: float) -> int:
    return int(np.clip(round(value + rng.normal(0, 0.3)), 1, 5))


def _judged(rater: str, system: str, document: str, score: int, role: str) -> dict[str, object]:
    return {
        "type": "judgment", "task": f"t-{rater}", "item": f"{system}-{document}".replace(":", "-"), "position": 1,
        "rater": rater, "systems": [system], "document": document, "role": role,
        "payload": {"protocol": "xsts", "score": score},
    }  # fmt: skip
