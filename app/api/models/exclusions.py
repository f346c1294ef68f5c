"""Exclusions and their effect on a ranking as JSON, with worked examples."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Literal, Self, cast

from pydantic import BaseModel, Field, StringConstraints

from app.api.models.ranking_comparison import PairVerdictOut, make_pair_verdict_out
from app.api.models.recipe import Key
from app.api.models.times import Time
from app.domain.recipe import ExclusionTarget, Subject
from app.reports.ranking.view import SystemLine
from app.services.campaigns.exclusions import ExclusionEffect, ExclusionView
from app.web.request_bodies import BodyModel

Reason = Annotated[str, StringConstraints(min_length=1, max_length=2000, strip_whitespace=True)]


class ExclusionIn(BodyModel):
    """What to leave out: one of rater, task, document or system, by its key."""

    rater: Key | None = None
    task: Key | None = None
    document: Key | None = None
    system: Key | None = None
    reason: Reason

    def list_exclusion_targets(self) -> list[ExclusionTarget]:
        """Return what is named."""
        given = ((what, getattr(self, what)) for what in ("rater", "task", "document", "system"))
        return [ExclusionTarget(cast("Subject", what), key) for what, key in given if key is not None]


class ExclusionOut(BaseModel):
    """An exclusion; one that was lifted is kept."""

    exclusion: int = Field(description="Its number, which is the data version it created.")
    what: Subject
    key: str
    reason: str
    actor: str
    at: Time
    lifted: LiftedExclusionOut | None = Field(description="Null while it is in force.")

    @classmethod
    def from_view(cls, view: ExclusionView) -> Self:
        """Convert from the service's form."""
        lifted = None
        if view.lifted_version is not None:
            said = {"reason": view.lifted_reason, "actor": view.lifted_actor, "at": view.lifted_at}
            lifted = {"data_version": view.lifted_version, **said}
        about = {"what": view.exclusion.what, "key": view.exclusion.key, "reason": view.reason, "actor": view.actor}
        return cls.model_validate({"exclusion": view.n, **about, "at": view.at, "lifted": lifted})


class LiftedExclusionOut(BaseModel):
    """How an exclusion ended."""

    data_version: int
    reason: str
    actor: str
    at: Time


class SystemPositionOut(BaseModel):
    """Where a system stands in a ranking."""

    rank: float
    cluster: int | None
    score: float
    n_ratings: int


class SystemRankChangeOut(BaseModel):
    """A system before and after; null where it is not ranked."""

    system: str
    before: SystemPositionOut | None
    after: SystemPositionOut | None


class ChangedPairOut(BaseModel):
    """A pair whose result changes."""

    pair: Annotated[list[str], Field(min_length=2, max_length=2)]
    change: Literal["reversed", "significance", "order"]
    before: PairVerdictOut | None
    after: PairVerdictOut | None


class RankingStabilityOut(BaseModel):
    """Whether a study of the same size would find the same, by redrawing documents. Null with the reason in `why`."""

    srp: float | None = Field(
        description="Stable ranking probability: share of pairs of studies where what is significant in one has the "
        "same order in the other."
    )
    mc_error: float | None = Field(description="Standard error of the SRP because finitely many studies are drawn.")
    claims: float | None = Field(description="Mean number of significant pairs in a study.")
    documents: int | None = Field(description="Documents on which every system was rated.")
    studies: int | None
    why: str | None


class RankingStabilityChangeOut(BaseModel):
    """The forecast of the ranking before and of that after."""

    before: RankingStabilityOut
    after: RankingStabilityOut


class ExclusionEffectOut(BaseModel):
    """What an exclusion would do to a ranking. Nothing was stored."""

    recipe: str
    data_version: int
    n_ratings_before: int
    n_ratings_after: int
    order_changed: bool = Field(description="Whether the order changes among the systems that both rankings have.")
    systems: list[SystemRankChangeOut] = Field(description="In the order of the ranking before.")
    pairs: list[ChangedPairOut] = Field(description="Only pairs whose result changes.")
    stability: RankingStabilityChangeOut
    warnings: list[str] = Field(description="Warnings of the ranking afterwards.")

    @classmethod
    def from_effect(cls, effect: ExclusionEffect) -> Self:
        """Convert from the service's form."""
        return cls(
            recipe=effect.recipe,
            data_version=effect.before.data_version,
            n_ratings_before=effect.before.n_ratings,
            n_ratings_after=effect.after.n_ratings,
            order_changed=effect.order_changed,
            systems=[
                SystemRankChangeOut(
                    system=one.system, before=_make_standing(one.before), after=_make_standing(one.after)
                )
                for one in effect.systems
            ],
            pairs=[
                ChangedPairOut(
                    pair=[one.a, one.b],
                    change=one.kind,
                    before=make_pair_verdict_out(one.verdicts[0]),
                    after=make_pair_verdict_out(one.verdicts[1]),
                )
                for one in effect.pairs
            ],
            stability=RankingStabilityChangeOut.model_validate(asdict(effect.stability)),
            warnings=list(effect.after.warnings),
        )


def _make_standing(line: SystemLine | None) -> SystemPositionOut | None:
    if line is None:
        return None
    return SystemPositionOut(rank=line.rank, cluster=line.cluster, score=line.score, n_ratings=line.n_ratings)


ExclusionOut.model_rebuild()

EXAMPLE = ExclusionOut.model_validate(
    {
        "exclusion": 8,
        "what": "rater",
        "key": "rater5",
        "reason": "gave 3 of 120 control items a fitting score",
        "actor": "token:0f3a9c51d27e",
        "at": "2026-11-20T12:00:00Z",
        "lifted": None,
    }
)
LIFTED = EXAMPLE.model_copy(
    update={
        "lifted": LiftedExclusionOut.model_validate(
            {
                "data_version": 9,
                "reason": "the control items were wrong",
                "actor": "token:0f3a9c51d27e",
                "at": "2026-11-21T12:00:00Z",
            }
        )
    }
)
EFFECT = ExclusionEffectOut.model_validate(
    {
        "recipe": "recommended",
        "data_version": 7,
        "n_ratings_before": 7406,
        "n_ratings_after": 6877,
        "order_changed": True,
        "systems": [
            {
                "system": "ref",
                "before": {"rank": 1, "cluster": 1, "score": 0.91, "n_ratings": 529},
                "after": {"rank": 2, "cluster": 1, "score": 1.01, "n_ratings": 491},
            },
            {
                "system": "Facebook-AI",
                "before": {"rank": 2, "cluster": 1, "score": 1.06, "n_ratings": 529},
                "after": {"rank": 1, "cluster": 1, "score": 0.98, "n_ratings": 491},
            },
        ],
        "pairs": [
            {
                "pair": ["ref", "Facebook-AI"],
                "change": "order",
                "before": {"better": "ref", "significant": None},
                "after": {"better": "Facebook-AI", "significant": None},
            }
        ],
        "stability": {
            "before": {"srp": 0.71, "mc_error": 0.02, "claims": 31.2, "documents": 30, "studies": 250, "why": None},
            "after": {"srp": 0.64, "mc_error": 0.02, "claims": 28.4, "documents": 29, "studies": 250, "why": None},
        },
        "warnings": [],
    }
)
