"""Which documents are hard, for which systems, and whether the systems were judged on the same ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, StringConstraints

from app.domain.errors import Invalid, Place
from app.domain.keys import KEY_PATTERN
from app.reports.kit.report import Report, Work, whole
from app.reports.source.recipe_input import NOTHING, RecipeInput, RecipeOptions, recipe_input
from app.reports.source.snapshot import Snapshot
from app.services.kinds._difficulty_scores import Taken, judged, of_metric
from app.services.kinds._difficulty_view import (
    DifficultyView,
    JudgedDocument,
    JudgedOnDocuments,
    caption,
    csv,
    document_map,
    tables,
)
from app.services.kinds._rated import UNKNOWN_DOCUMENTS
from app.stats.difficulty import Difficulty, difficulty
from app.stats.plain import number
from app.storage.db import Session

Z_OF_METRIC = "z-scores are by rater, and a metric is none"
NOTHING_SCORED = "no output that this recipe counts has a score of this metric"


class DifficultyAsked(RecipeOptions):
    """By which recipe rows are taken (its normalization is not used), and of which scores the means are."""

    normalize: Literal["none", "z"] = Field("none", description="z: every rater with mean 0 and SD 1 over these rows.")
    metric: Annotated[str, StringConstraints(pattern=KEY_PATTERN)] | None = Field(
        None,
        description="Name of an automatic metric whose scores of outputs are in the cells instead of raters' ones.",
        examples=["comet-22"],
    )


def _prepare(session: Session, about: tuple[Snapshot, ...], asked: DifficultyAsked) -> Work[DifficultyView]:
    if asked.metric is not None and asked.normalize == "z":
        raise Invalid("the query is not valid", places=(Place(("query", "normalize"), Z_OF_METRIC),))
    given = recipe_input(session, about[0], asked)
    taken = None if asked.metric is None else of_metric(session, given, asked.metric)
    return whole(lambda: _view(given, asked, taken or judged(given, asked.normalize)))


def _view(given: RecipeInput, asked: DifficultyAsked, taken: Taken) -> DifficultyView:
    found = difficulty(taken.rows)
    systems = _systems(found, given, taken)
    return DifficultyView(
        campaigns=given.campaigns,
        data_hash=taken.data_hash,
        basis=given.about.campaign.basis,
        dropped=[{"reason": one.reason, "n": one.n} for one in taken.dropped],
        warnings=list(_warnings(found, taken, systems, "judged" if asked.metric is None else "scored")),
        recipe=given.recipe.name,
        normalize=asked.normalize,
        metric=asked.metric,
        higher_is_better=taken.rows.higher_is_better,
        coverage=number(found.coverage),
        same_documents=found.same_documents,
        document_sd=number(found.document_sd),
        system_sd=number(found.system_sd),
        systems=systems,
        documents=list(_documents(found, taken)),
    )


def _systems(found: Difficulty, given: RecipeInput, taken: Taken) -> list[JudgedOnDocuments]:
    names = taken.rows.labels.systems
    return [
        JudgedOnDocuments(
            system=names[code],
            kind="human" if names[code] in given.humans else "mt",
            n=int(found.system_n[j]),
            documents=int((found.n[:, j] > 0).sum()),
            mean=float(found.system_mean[j]),
            expected=float(found.expected[j]),
        )
        for j, code in enumerate(found.systems.tolist())
    ]


def _documents(found: Difficulty, taken: Taken) -> Iterator[JudgedDocument]:
    for i, code in enumerate(found.documents.tolist()):
        yield JudgedDocument(
            document=taken.rows.labels.documents[code],
            domain=taken.documents.domain[code],
            segments=int(taken.documents.segments[code]),
            n=int(found.document_n[i]),
            mean=float(found.document_mean[i]),
            means=[number(mean) for mean in found.cell[i].tolist()],
            counts=found.n[i].tolist(),
        )


def _warnings(found: Difficulty, taken: Taken, systems: list[JudgedOnDocuments], done: str) -> Iterator[str]:
    yield from taken.warnings
    if not found.documents.size:
        yield NOTHING if done == "judged" else NOTHING_SCORED
        return
    if not taken.rows.documents_known:
        yield UNKNOWN_DOCUMENTS.split(":")[0] + ": each row is what was imported as one"
    if found.documents.size == 1:
        yield f"only one document was {done}: nothing can be said about differences between documents"
    if not np.ptp(taken.rows.score):
        yield "all scores are alike: no document is harder than another"
    if found.systems.size == 1:
        yield f"only one system was {done}: a hard document cannot be told from a system that fails on it"
    if not found.same_documents:
        ends = [one.expected for one in systems]
        yield (
            f"systems were not {done} on the same documents ({100 * found.coverage:.1f} % of the cells are filled): "
            f"from the difficulty of their documents alone their means would differ by {max(ends) - min(ends):.3g}"
        )


EXAMPLE: dict[str, Any] = {
    "campaigns": {"newstest2021": 3},
    "data_hash": "sha256:" + "5e" * 32,
    "basis": "source",
    "recipe": "recommended",
    "normalize": "none",
    "metric": None,
    "higher_is_better": True,
    "coverage": 0.75,
    "same_documents": False,
    "document_sd": 21.2,
    "system_sd": 24.7,
    "systems": [
        {"system": "A", "kind": "mt", "n": 20, "documents": 2, "mean": 75.0, "expected": 70.0},
        {"system": "B", "kind": "mt", "n": 10, "documents": 1, "mean": 40.0, "expected": 50.0},
    ],
    "documents": [
        {
            "document": "d2",
            "domain": "news",
            "segments": 10,
            "n": 10,
            "mean": 90.0,
            "means": [90.0, None],
            "counts": [10, 0],
        },
        {
            "document": "d1",
            "domain": "news",
            "segments": 10,
            "n": 20,
            "mean": 50.0,
            "means": [60.0, 40.0],
            "counts": [10, 10],
        },
    ],
}
REPORT: Report[DifficultyAsked, DifficultyView] = Report(
    name="difficulty",
    title="Difficulty of documents",
    summary="Mean segment score of each system on each document, how many cells are filled, and what follows from it.",
    options=DifficultyAsked,
    result=DifficultyView,
    example=EXAMPLE,
    prepare=_prepare,
    tables=tables,
    csv=csv,
    charts={"default": document_map},
    caption=caption,
)
