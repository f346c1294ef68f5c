"""Which documents are hard, for which systems, and whether the systems were judged on the same ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from pydantic import Field

from app.services.kinds._base import Kind, Work, whole
from app.services.kinds._difficulty_view import (
    DifficultyView,
    JudgedDocument,
    JudgedOnDocuments,
    caption,
    csv,
    document_map,
    tables,
)
from app.services.kinds._ranked import NOTHING, Material, RecipeAsked, material
from app.services.kinds._rated import UNKNOWN_DOCUMENTS
from app.services.reports import Question
from app.stats.difficulty import Difficulty, difficulty
from app.stats.normalize import Normalized, normalize, per_rater
from app.stats.plain import number
from app.stats.selection import select
from app.storage.db import Session


class DifficultyAsked(RecipeAsked):
    """By which recipe rows are taken (its normalization is not used), and of which scores the means are."""

    normalize: Literal["none", "z"] = Field("none", description="z: every rater with mean 0 and SD 1 over these rows.")


def _prepare(session: Session, about: tuple[Question, ...], asked: DifficultyAsked) -> Work[DifficultyView]:
    given = material(session, about[0], asked)
    return whole(lambda: _view(given, asked))


def _view(given: Material, asked: DifficultyAsked) -> DifficultyView:
    chosen = select(given.rows, given.recipe)
    rows = chosen.ratings.where(chosen.ranked).segments()
    scored = normalize(rows, asked.normalize, moments=per_rater(rows))
    found = difficulty(scored.scored)
    systems = _systems(found, given)
    return DifficultyView(
        campaigns=given.campaigns,
        data_hash=given.data_hash,
        basis=given.about.campaign.basis,
        dropped=[{"reason": one.reason, "n": one.n} for one in chosen.dropped],
        warnings=list(_warnings(found, scored, systems, documents_known=rows.documents_known)),
        recipe=given.recipe.name,
        normalize=asked.normalize,
        higher_is_better=rows.higher_is_better,
        coverage=number(found.coverage),
        same_documents=found.same_documents,
        document_sd=number(found.document_sd),
        system_sd=number(found.system_sd),
        systems=systems,
        documents=list(_documents(found, given)),
    )


def _systems(found: Difficulty, given: Material) -> list[JudgedOnDocuments]:
    names = given.rows.labels.systems
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


def _documents(found: Difficulty, given: Material) -> Iterator[JudgedDocument]:
    for i, code in enumerate(found.documents.tolist()):
        yield JudgedDocument(
            document=given.rows.labels.documents[code],
            domain=given.documents.domain[code],
            segments=int(given.documents.segments[code]),
            n=int(found.document_n[i]),
            mean=float(found.document_mean[i]),
            means=[number(mean) for mean in found.cell[i].tolist()],
            counts=found.n[i].tolist(),
        )


def _warnings(
    found: Difficulty, scored: Normalized, systems: list[JudgedOnDocuments], *, documents_known: bool
) -> Iterator[str]:
    yield from scored.warnings
    if not found.documents.size:
        yield NOTHING
        return
    if not documents_known:
        yield UNKNOWN_DOCUMENTS.split(":")[0] + ": each row is what was imported as one"
    if found.documents.size == 1:
        yield "only one document was judged: nothing can be said about differences between documents"
    if not np.ptp(scored.scored.score):
        yield "all scores are alike: no document is harder than another"
    if found.systems.size == 1:
        yield "only one system was judged: a hard document cannot be told from a system that fails on it"
    if not found.same_documents:
        ends = [one.expected for one in systems]
        yield (
            f"systems were not judged on the same documents ({100 * found.coverage:.1f} % of the cells are filled): "
            f"from the difficulty of their documents alone their means would differ by {max(ends) - min(ends):.3g}"
        )


EXAMPLE: dict[str, Any] = {
    "campaigns": {"newstest2021": 3},
    "data_hash": "sha256:" + "5e" * 32,
    "basis": "source",
    "recipe": "recommended",
    "normalize": "none",
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
KIND: Kind[DifficultyAsked, DifficultyView] = Kind(
    name="difficulty",
    title="Difficulty of documents",
    summary="Mean segment score of each system on each document, how many cells are filled, and what follows from it.",
    asked=DifficultyAsked,
    view=DifficultyView,
    example=EXAMPLE,
    prepare=_prepare,
    tables=tables,
    csv=csv,
    picture=document_map,
    caption=caption,
)
