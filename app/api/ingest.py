"""The ingest report: what a test set looks like once it is in."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import Field

from app.services.data import ingest
from app.web.access import Manager
from app.web.answers import AnswerModel
from app.web.deps import CampaignKey, SessionDep
from app.web.examples import shows

router = APIRouter(prefix="/v1/campaigns/{campaign}/reports", tags=["test sets"])


class SystemCountOut(AnswerModel):
    """The outputs of one system."""

    system: str
    outputs: int
    missing: int = Field(description="Segments of test documents without an output.")
    empty: int
    identical: int = Field(description="Outputs equal to another system's: judged once and credited to each.")
    words: int


class FindingOut(AnswerModel):
    """Something to look at before raters do."""

    what: str
    n: int
    examples: list[str] = Field(description="The first addresses: system, document and segment.")


class IngestOut(AnswerModel):
    """The test set of a campaign, counted and looked through."""

    campaign: str
    data_version: int
    documents: int
    segments: int
    words: int
    references: list[str]
    systems: list[SystemCountOut]
    findings: list[FindingOut]


EXAMPLE = IngestOut(
    campaign="ted-ende",
    data_version=3,
    documents=5,
    segments=529,
    words=9812,
    references=["refA"],
    systems=[SystemCountOut(system="Online-W", outputs=529, missing=0, empty=0, identical=12, words=9650)],
    findings=[FindingOut(what="broken markup in an output", n=1, examples=["Online-W talk-1:17"])],
)


@router.get("/ingest", summary="Look at the test set", responses=shows(200, EXAMPLE))
def get_ingest(caller: Manager, campaign: CampaignKey, session: SessionDep) -> IngestOut:  # noqa: ARG001  (says who may call)
    """Counts, and what to look at: outputs missing, empty or identical, in another script, with broken markup."""
    return IngestOut.model_validate(ingest.make_ingest_report(session, campaign))
