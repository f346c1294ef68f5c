"""A report on the difficulty of documents, as it is stored and shown."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from app.reports.kit import captions
from app.reports.kit.charts.heat import Cell as Shade
from app.reports.kit.charts.heat import Map, heat_map
from app.reports.kit.report import ReportHead, Section
from app.reports.kit.table import Alignment, Cell, Table
from app.services.kinds._agreement_view import Line

MOST_COLUMNS = 12
"""Systems up to which the table of cells is one for people."""


class JudgedDocument(Line):
    """One document. means: by system, in the order of `systems`; null where it was not judged."""

    document: str
    domain: str | None
    segments: int
    n: int = Field(description="Segment scores.")
    mean: float
    means: list[float | None]
    counts: list[int]


class JudgedOnDocuments(Line):
    """One system over the documents that it was judged on."""

    system: str
    kind: str
    n: int
    documents: int
    mean: float
    expected: float = Field(
        description="Its mean if it got on every document what all systems together got there: differs between systems "
        "that were judged on documents of different difficulty."
    )


class DifficultyView(ReportHead):
    """Documents against systems: which are hard, and for whom."""

    recipe: str
    normalize: str
    metric: str | None = Field(None, description="Whose scores of outputs are in the cells; null for those of raters.")
    higher_is_better: bool
    coverage: float | None = Field(description="Share of the cells that hold a score.")
    same_documents: bool
    document_sd: float | None = Field(description="SD (n − 1) of the means of documents.")
    system_sd: float | None = Field(description="SD (n − 1) of the means of systems.")
    systems: list[JudgedOnDocuments] = Field(description="Best first.")
    documents: list[JudgedDocument] = Field(description="Easiest first.")


def tables(view: DifficultyView) -> Sequence[Section]:
    """Systems; documents with their cells where these fit a page."""
    if not view.documents:
        return []
    return (Section("Systems", _systems(view)), Section("Documents", _documents(view)))


def _places(view: DifficultyView) -> int:
    return captions.decimals([one.mean for one in view.documents] + [one.mean for one in view.systems])


def _systems(view: DifficultyView) -> Table:
    places = _places(view)
    heads = ("System", "Kind", "Scores", "Documents", "Mean", "Expected from its documents")
    sides: tuple[Alignment, ...] = ("left", "left", "right", "right", "right", "right")
    rows = [
        (
            *(one.system, one.kind, f"{one.n:,}", f"{one.documents:,}"),
            *(captions.number(one.mean, places), captions.number(one.expected, places)),
        )
        for one in view.systems
    ]
    return Table(heads, sides, tuple(rows))


def _documents(view: DifficultyView) -> Table:
    places = _places(view)
    names = [one.system for one in view.systems[:MOST_COLUMNS]]
    heads = ("Document", "Domain", "Segments", "Scores", "Mean", *names)
    sides: list[Alignment] = ["left" if i < 2 else "right" for i in range(len(heads))]
    rows = [
        (
            *(one.document, one.domain or "–", f"{one.segments:,}", f"{one.n:,}", captions.number(one.mean, places)),
            *(captions.number(mean, places) for mean in one.means[:MOST_COLUMNS]),
        )
        for one in view.documents
    ]
    return Table(heads, tuple(sides), tuple(rows))


CSV = ("document", "domain", "system", "mean", "n", "document_mean", "system_mean", "campaign", "data_version")


def csv(view: DifficultyView) -> tuple[Sequence[str], Sequence[Sequence[Cell]]]:
    """One row a cell; a cell without scores has no mean."""
    origin = next(iter(view.campaigns.items()))
    rows: list[tuple[Cell, ...]] = [
        (one.document, one.domain, of.system, mean, n, one.mean, of.mean, *origin)
        for one in view.documents
        for of, mean, n in zip(view.systems, one.means, one.counts, strict=True)
    ]
    return CSV, rows


def caption(view: DifficultyView) -> str:
    """What the figures are, and from which data."""
    version = next(iter(view.campaigns.values()))
    scores = "z-scores by rater" if view.normalize == "z" else "scores as given"
    taken = f"{scores}, rows of recipe {view.recipe}"
    if view.metric is not None:
        taken = f"scores of metric {view.metric}"
    spread = ""
    if view.document_sd is not None and view.system_sd is not None:
        places = captions.decimals([view.document_sd, view.system_sd])
        spread = (
            f" SD between documents {captions.number(view.document_sd, places)}, "
            f"between systems {captions.number(view.system_sd, places)}."
        )
    cover = "" if view.coverage is None else f"; {100 * view.coverage:.1f} % of the cells are filled"
    return (
        f"Mean segment score of {captions.plural(len(view.systems), 'system')} on "
        f"{captions.plural(len(view.documents), 'document')}, {taken}{cover}."
        f"{spread} Data version {version}, method {view.method_version}."
    )


def document_map(view: DifficultyView) -> bytes:
    """The map: the darker, the better the score."""
    values = [mean for one in view.documents for mean in one.means if mean is not None]
    low, high = min(values, default=0.0), max(values, default=0.0)
    worst, best = (low, high) if view.higher_is_better else (high, low)
    places = captions.decimals(values)

    def cell(mean: float | None) -> Shade | None:
        if mean is None:
            return None
        share = 0.5 if best == worst else (mean - worst) / (best - worst)
        return Shade(share, captions.number(mean, min(places, 2)))

    drawn = Map(
        title=f"Documents and systems of {next(iter(view.campaigns))}",
        below="Mean segment score; documents from the easiest down, systems from the best on the left",
        rows=[one.document for one in view.documents],
        columns=[one.system for one in view.systems],
        cells=[[cell(mean) for mean in one.means] for one in view.documents],
        ends=(f"worst {captions.number(worst, places)}", f"best {captions.number(best, places)}"),
        told=[*map(captions.sentence, view.warnings), caption(view)],
        nothing="nothing is rated yet" if view.metric is None else "nothing has a score",
    )
    return heat_map(drawn)
