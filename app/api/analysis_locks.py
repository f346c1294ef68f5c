"""Preregistration: recipe and rules, locked before the first judgment, and every amendment with its reason."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field, JsonValue, StringConstraints

from app.api.models.recipe import Key
from app.api.models.times import Time
from app.domain.recipe import NAMED
from app.reports.kit.redact import hide_rater_and_task_keys
from app.services.access.idempotency import IdempotentResponse
from app.services.campaigns import analysis_locks
from app.services.campaigns.analysis_locks import AnalysisLockChain, AnalysisLockRequest
from app.web.access import Manager, Viewer
from app.web.deps import CampaignKey, SessionDep
from app.web.examples import example_response
from app.web.idempotency import IdempotentCreationDep, created_response
from app.web.request_bodies import BodyModel, read_json_body_as

router = APIRouter(prefix="/v1/campaigns/{campaign}/lock", tags=["campaigns"])

Line = Annotated[str, StringConstraints(min_length=1, max_length=2000)]
Lines = Annotated[list[Line], Field(max_length=50)]


class AnalysisLockIn(BodyModel):
    """What to lock. What is left out stays as locked; at first, `recommended` and no rules."""

    recipe: Key | None = Field(None, description="Name of a recipe, including the campaign's own.")
    normalize: Literal["z", "none"] | None = Field(
        None, description="Replaces `normalize: auto` when there are no judgments yet from which to choose."
    )
    hypotheses: Lines | None = None
    exclusion_rules: Lines | None = None
    stopping_rule: Line | None = None
    reason: Annotated[str, StringConstraints(min_length=1, max_length=2000, strip_whitespace=True)] | None = Field(
        None, description="Reason for the change; required for an amendment and for a lock after the first judgment."
    )


class AnalysisLockEntryOut(BaseModel):
    """One entry of the lock: the first, or an amendment."""

    n: int
    data_version: int
    before_judgments: bool
    recipe: dict[str, JsonValue] = Field(description="Every choice as it was frozen.")
    hypotheses: list[str]
    exclusion_rules: list[str]
    stopping_rule: str | None
    reason: str | None
    actor: str
    at: Time
    previous: str | None = Field(description="Hash of the previous entry.")
    hash: str = Field(
        description="SHA-256 of the entry as JSON with sorted keys and no spaces: campaign, n, before_judgments, "
        "recipe, hypotheses, exclusion_rules, stopping_rule, reason, actor, at (ISO 8601 with +00:00) and previous."
    )


class AnalysisLockHistoryOut(BaseModel):
    """The lock with its amendments."""

    hash: str = Field(description="Hash of the latest entry, which covers all of them.")
    preregistered: bool = Field(description="The first entry was made before the first judgment.")
    amendments: int
    intact: bool = Field(description="Every stored hash matches its entry.")
    entries: list[AnalysisLockEntryOut]


def make_analysis_lock_history_out(chain: AnalysisLockChain) -> AnalysisLockHistoryOut:
    """Return the lock in the form that everybody can read."""
    entries = [
        AnalysisLockEntryOut(
            n=entry.n,
            data_version=entry.data_version,
            before_judgments=entry.before_judgments,
            recipe={**entry.recipe.as_json(), **entry.choices, "hash": entry.recipe.hash},
            hypotheses=list(entry.rules.hypotheses),
            exclusion_rules=list(entry.rules.exclusion_rules),
            stopping_rule=entry.rules.stopping_rule,
            reason=entry.reason,
            actor=entry.actor,
            at=entry.at,
            previous=entry.previous,
            hash=entry.hash,
        )
        for entry in chain.entries
    ]
    first, last = entries[0], entries[-1]
    return AnalysisLockHistoryOut(
        hash=last.hash,
        preregistered=first.before_judgments,
        amendments=len(entries) - 1,
        intact=chain.intact,
        entries=entries,
    )


NEW = {
    "recipe": "google-mqm",
    "hypotheses": ["A is better than B."],
    "exclusion_rules": ["Raters who pass less than 50 % of their control items are excluded entirely."],
    "stopping_rule": "When every task is handed in.",
    "reason": "the plan names it now",
}
GOOGLE = NAMED["google-mqm"]
EXAMPLE = AnalysisLockHistoryOut.model_validate(
    {
        "hash": "sha256:" + "5e" * 32,
        "preregistered": True,
        "amendments": 0,
        "intact": True,
        "entries": [
            {
                **NEW,
                "n": 1,
                "data_version": 1,
                "before_judgments": True,
                "recipe": {**GOOGLE.as_json(), "hash": GOOGLE.hash},
                "reason": None,
                "actor": "token:0f3a9c51d27e",
                "at": "2026-11-20T12:00:00Z",
                "previous": None,
                "hash": "sha256:" + "5e" * 32,
            }
        ],
    }
)


@router.post(
    "", status_code=201, summary="Lock the analysis, or amend the lock", responses=example_response(201, EXAMPLE)
)
def create_analysis_lock(
    caller: Manager,
    campaign: CampaignKey,
    body: Annotated[AnalysisLockIn, read_json_body_as(AnalysisLockIn, lock=NEW)],
    session: SessionDep,
    idempotent_creation: IdempotentCreationDep,
) -> Response:
    """Before the first judgment, the lock is a preregistration. Any later entry is an amendment with a reason.

    The recipe is frozen as it is now, with its normalization settled. A ranking says whether it follows the lock;
    `recipe=locked` asks for the one that does.
    """

    def make() -> IdempotentResponse:
        chain = analysis_locks.set_or_amend_analysis_lock(
            session, campaign, AnalysisLockRequest(**body.model_dump()), actor=caller.actor
        )
        return created_response(make_analysis_lock_history_out(chain), location=f"/v1/campaigns/{campaign}/lock")

    return idempotent_creation(session, caller, make)


@router.get("", summary="Get the analysis lock", responses=example_response(200, EXAMPLE))
def get_analysis_lock(caller: Viewer, campaign: CampaignKey, session: SessionDep) -> AnalysisLockHistoryOut:
    """Return what is locked, since when, and every amendment with its reason.

    Viewers see no raters: `*` replaces the keys of raters in texts. Hashes are of the texts as they were written.
    """
    lock = analysis_locks.get_analysis_lock(session, campaign)
    if caller.has_rights_of("manager"):
        return make_analysis_lock_history_out(lock)
    return AnalysisLockHistoryOut.model_validate(
        hide_rater_and_task_keys(
            make_analysis_lock_history_out(analysis_locks.redact_raters_in_analysis_lock(session, lock)).model_dump()
        )
    )
