"""Two kinds of report that are as small as can be: they hold the machinery to what it promises, with no statistics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from app.domain.errors import Invalid, Place
from app.domain.recipe import NAMED
from app.reports.inputs.recipe_ratings import load_recipe_ratings
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.kit.report import Report, ReportComputation, ReportHeader, TableSection
from app.reports.kit.table import Table
from app.storage.db import Session

RATERS_IN_FULL = "rater:{}"


class ToyOptions(BaseModel):
    """How many sums, and of which rater."""

    model_config = ConfigDict(extra="forbid")

    parts: int = Field(3, ge=0, le=50, examples=[3])
    rater: str | None = Field(None, max_length=128)
    seed: int = Field(0, ge=0)


class ToySum(BaseModel):
    """The scores of one campaign."""

    campaign: str
    n: int
    total: float | None


class ToyView(ReportHeader):
    """Sums of scores, and what the chunks said."""

    sums: list[ToySum]
    parts: list[str]
    rater: str | None


def _prepare(
    session: Session, snapshots: tuple[CampaignSnapshot, ...], options: ToyOptions
) -> ReportComputation[ToyView]:
    if options.rater == "nobody":
        raise Invalid("the query is not valid", places=(Place(("query", "rater"), "is nobody"),))
    rows = [load_recipe_ratings(session, one, NAMED["google-mqm"]) for one in snapshots]
    totals = [float(one.score.sum()) for one in rows]
    warnings = [
        f"nobody judged anything in {q.campaign.key}" for q, one in zip(snapshots, rows, strict=True) if not len(one)
    ]

    def chunk(number: int) -> bytes:
        return f"{number}:{totals[0] * number}:{options.seed}".encode()

    def finish(parts: Sequence[bytes]) -> ToyView:
        return ToyView(
            campaigns={q.campaign.key: q.version for q in snapshots},
            data_hash="sha256:" + "0" * 64,
            basis="source",
            warnings=[*warnings, *(RATERS_IN_FULL.format(name) for one in rows for name in one.labels.raters)],
            sums=[
                ToySum(campaign=q.campaign.key, n=len(one), total=total if len(one) else None)
                for q, one, total in zip(snapshots, rows, totals, strict=True)
            ],
            parts=[part.decode() for part in parts],
            rater=rows[0].labels.raters[0] if rows[0].labels.raters else None,
        )

    return ReportComputation(options.parts, chunk, finish)


def _tables(view: ToyView) -> list[TableSection]:
    rows = tuple((one.campaign, str(one.n), "–" if one.total is None else f"{one.total:.1f}") for one in view.sums)
    return [TableSection("Sums", Table(("Campaign", "Scores", "Sum"), ("left", "right", "right"), rows))]


def _csv(view: ToyView) -> tuple[Sequence[str], Sequence[Sequence[str | float | None]]]:
    return ("campaign", "n", "total"), [(one.campaign, one.n, one.total) for one in view.sums]


def _picture(view: ToyView) -> bytes:
    return f'<svg xmlns="http://www.w3.org/2000/svg"><title>{len(view.sums)}</title></svg>'.encode()


def _other(view: ToyView) -> bytes:
    return b'<svg xmlns="http://www.w3.org/2000/svg"><title>parts</title></svg>'


EXAMPLE: dict[str, Any] = {
    "campaigns": {"ted-ende": 7},
    "data_hash": "sha256:" + "5e" * 32,
    "basis": "source",
    "sums": [{"campaign": "ted-ende", "n": 3, "total": 4.5}],
    "parts": ["0:0.0:0"],
    "rater": "rater1",
}
TOY: Report[ToyOptions, ToyView] = Report(
    name="toy",
    title="Sums of scores",
    summary="What the scores come to.",
    options=ToyOptions,
    result=ToyView,
    example=EXAMPLE,
    prepare=_prepare,
    tables=_tables,
    csv=_csv,
    charts={"default": _picture, "parts": _other},
    caption=lambda view: f"Sums of {len(view.sums)} campaigns.",
)
TOYS: Report[ToyOptions, ToyView] = Report(
    name="toys",
    title="Sums of scores beside each other",
    summary="What the scores of several campaigns come to.",
    options=ToyOptions,
    result=ToyView,
    example=EXAMPLE,
    prepare=_prepare,
    tables=_tables,
    csv=_csv,
    charts={"default": _picture},
    caption=lambda view: f"Sums of {len(view.sums)} campaigns.",
    role="manager",
    over="campaigns",
    long=True,
)
BOTH = {"campaign/toy": TOY, "campaigns/toys": TOYS}
