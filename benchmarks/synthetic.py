"""Synthetic judgments in published file formats: seeded, streamed to disk, the same bytes on every run.

Three raters rate every document, and each of them rates all systems on it. Therefore, no judgment is missing, and
raters are comparable: 15 systems × n/45 segments × 3 raters.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SYSTEMS: Final = tuple(f"system-{i:02d}" for i in range(1, 16))
RATERS: Final = tuple(f"rater{i:02d}" for i in range(1, 61))
RATINGS: Final = 3
STEP: Final = len(SYSTEMS) * RATINGS
SEGMENTS: Final = (3, 17)  # per document, fewest and most
WORDS: Final = (8, 18)  # per text
NO_ERROR: Final = 0.55  # share of judgments
MORE: Final = 0.5  # probability of another error after each one, so two on average
CATEGORIES: Final = (
    "Accuracy/Mistranslation",
    "Accuracy/Omission",
    "Accuracy/Addition",
    "Fluency/Grammar",
    "Fluency/Punctuation",
    "Fluency/Spelling",
    "Fluency/Register",
    "Style/Awkward",
    "Terminology/Inappropriate for context",
)
MQM_HEADER: Final = "system\tdoc\tdocSegId\tglobalSegId\trater\tsource\ttarget\tcategory\tseverity\tmetadata\n"
DA_HEADER: Final = "HITId\tWorkerId\tInput.src\tInput.trg\tInput.item\thit\tsys_id\trid\ttype\tsid\tscore\ttime\n"
SYLLABLES: Final = tuple(consonant + vowel for consonant in "bdfghklmnprstvwz" for vowel in "aeo")


@dataclass(frozen=True, slots=True)
class Document:
    """A document and its raters."""

    name: str
    n_segments: int
    raters: tuple[str, ...]


def whole(n: int) -> int:
    """Round n up to a number of judgments that completes the last segment."""
    return -(-n // STEP) * STEP


def documents(n: int, draw: random.Random) -> Iterator[Document]:
    """Yield documents that have n judgments in all. Raises ValueError unless n is a result of `whole`."""
    if n < STEP or n % STEP:
        raise ValueError(f"the number of judgments must be a multiple of {STEP}, not {n}")
    left = n // STEP
    for number in itertools.count(1):
        size = min(draw.randint(*SEGMENTS), left)
        yield Document(f"doc-{number:05d}", size, tuple(sorted(draw.sample(RATERS, RATINGS))))
        left -= size
        if not left:
            return


def mqm_tsv(file: Path, n: int, seed: int = 7) -> None:
    """Write n MQM judgments as an `mqm-tsv` file, with 1.45 rows per judgment."""
    draw = random.Random(seed)  # noqa: S311  (made-up data)
    words = _vocabulary(draw)
    with file.open("w", encoding="utf-8") as out:
        out.write(MQM_HEADER)
        for document in documents(n, draw):
            for position in range(1, document.n_segments + 1):
                source = draw.choices(words, k=draw.randint(*WORDS))
                for worse, system in enumerate(SYSTEMS):
                    out.writelines(_mqm_rows(document, position, source, worse, system, words, draw))


def _mqm_rows(
    document: Document,
    position: int,
    source: list[str],
    worse: int,
    system: str,
    words: list[str],
    draw: random.Random,
) -> Iterator[str]:
    """Yield all rows on one output; the later a system is in the list, the more of its errors are major."""
    target = draw.choices(words, k=len(source))
    text, shown = " ".join(source), " ".join(target)
    for rater in document.raters:
        place = f"{system}\t{document.name}\t{position}\t0\t{rater}\t{text}\t"
        if draw.random() < NO_ERROR:
            yield f"{place}{shown}\tNo-error\tNo-error\t\n"
            continue
        while True:
            at = draw.randrange(len(target))
            marked = [*target[:at], f"<v>{target[at]}</v>", *target[at + 1 :]]
            severity = "Major" if draw.random() < 0.15 + 0.02 * worse else "Minor"
            yield f"{place}{' '.join(marked)}\t{draw.choice(CATEGORIES)}\t{severity}\t\n"
            if draw.random() >= MORE:
                break


def wmt_da(file: Path, n: int, seed: int = 7) -> None:
    """Write n direct assessments as a `wmt-da` file; one rater's judgments of one document are one HIT."""
    draw = random.Random(seed)  # noqa: S311  (made-up data)
    with file.open("w", encoding="utf-8") as out:
        out.write(DA_HEADER)
        for document in documents(n, draw):
            for rater in document.raters:
                hit = f"{document.name}-{rater}"
                for (worse, system), position in itertools.product(
                    enumerate(SYSTEMS), range(1, document.n_segments + 1)
                ):
                    score = min(100, max(0, round(draw.gauss(80 - worse, 15))))
                    out.write(
                        f"{hit}\t{rater}\tces\teng\tad\t{hit}\t{system}\tr{document.name}\tSYSTEM\t"
                        f"{document.name}.{position}\t{score}\t{draw.uniform(5, 60):.3f}\n"
                    )


def _vocabulary(draw: random.Random) -> list[str]:
    return ["".join(draw.choices(SYLLABLES, k=draw.randint(1, 4))) for _ in range(5000)]
