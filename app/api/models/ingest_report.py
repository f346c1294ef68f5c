"""The ingest report as JSON, with an example."""

from __future__ import annotations

from pydantic import Field

from app.web.responses import ResponseModel


class SystemOutputCountOut(ResponseModel):
    """The outputs of one system."""

    system: str
    outputs: int
    missing: int = Field(description="Segments of test documents without an output.")
    empty: int
    identical: int = Field(description="Outputs equal to another system's: judged once and credited to each.")
    words: int


class IngestFindingOut(ResponseModel):
    """Something to check before raters see it."""

    what: str
    n: int
    examples: list[str] = Field(description="First occurrences: system, document and segment.")


class IngestReportOut(ResponseModel):
    """Counts and findings about the test set of a campaign."""

    campaign: str
    data_version: int
    documents: int
    segments: int
    words: int
    references: list[str]
    systems: list[SystemOutputCountOut]
    findings: list[IngestFindingOut]


EXAMPLE = IngestReportOut(
    campaign="ted-ende",
    data_version=3,
    documents=5,
    segments=529,
    words=9812,
    references=["refA"],
    systems=[SystemOutputCountOut(system="Online-W", outputs=529, missing=0, empty=0, identical=12, words=9650)],
    findings=[IngestFindingOut(what="broken markup in an output", n=1, examples=["Online-W talk-1:17"])],
)
