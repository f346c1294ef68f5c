"""Imports as JSON, with worked examples."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, StringConstraints

from app.api.models.ingest_report import IngestReportOut
from app.api.models.times import Time
from app.services.data.imports import ImportView
from app.web.request_bodies import BodyModel
from app.web.responses import ResponseModel


def _in_order(counts: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Sort by name, so that a report from the database reads the same."""
    return dict(sorted(counts.items()))


Counts = Annotated[dict[str, int], AfterValidator(_in_order)]
Text = Annotated[str, StringConstraints(max_length=1000)]


class ImportIn(BodyModel):
    """An import to announce."""

    format: Annotated[str, StringConstraints(pattern="^[a-z0-9-]{1,64}$")]
    options: dict[Text, Text] = Field({}, max_length=50)


class FileOut(ResponseModel):
    """A file that arrived."""

    name: str
    size: int = Field(description="Size in bytes, as sent.")
    sha256: str


class PlaceOut(BaseModel):
    """A line that was left out, and why."""

    loc: list[str | int]
    msg: str


class BadLines(BaseModel):
    """Lines left out because they could not be used."""

    count: int
    first: list[PlaceOut]


class ImportReport(BaseModel):
    """What was read, stored, mapped, repaired and dropped."""

    format: str
    files: list[str]
    lines: int
    stored: Annotated[dict[str, JsonValue], AfterValidator(_in_order)]
    mapped: Annotated[dict[str, Annotated[dict[str, str], AfterValidator(_in_order)]], AfterValidator(_in_order)] = (
        Field(description="By noun: the name for which each key was made.")
    )
    repaired: Counts
    dropped: Counts
    notes: Counts
    bad_lines: BadLines
    ingest: IngestReportOut | None = Field(
        None, description="Current test set, if an import brought texts only; else see `reports/ingest`."
    )
    dry_run: bool


class ImportOut(BaseModel):
    """An import under way or done."""

    id: str = Field(alias="import", description="Id of the import.")
    format: str
    options: dict[str, str]
    state: Literal["receiving", "committed"]
    files: list[FileOut]
    report: ImportReport | None

    @classmethod
    def from_view(cls, view: ImportView) -> Self:
        """Convert from the service's form."""
        files = [FileOut.model_validate(file).model_dump() for file in view.files]
        known = {"format": view.format, "options": dict(view.options), "state": view.state, "files": files}
        return cls.model_validate({"import": view.public_id, **known, "report": view.report})


class ImportListRowOut(ResponseModel):
    """An import in a list, without its files and report."""

    model_config = ConfigDict(populate_by_name=True)

    public_id: str = Field(serialization_alias="import", description="Names the import.")
    format: str
    options: dict[str, str]
    state: Literal["receiving", "committed"]
    created_at: Time


FILE = FileOut(name="ratings.tsv.gz", size=481_230, sha256="5e" * 32)
REPORT = ImportReport(
    format="mqm-tsv",
    files=["ratings.tsv.gz"],
    lines=12_207,
    stored={"systems": 14, "documents": 5, "segments": 529, "judgments": 7406, "data_version": 1},
    mapped={"system": {"Online_W~8004a8ca": "Online W"}},
    repaired={"white space at the ends of a text": 3},
    dropped={},
    notes={},
    bad_lines=BadLines(count=0, first=[]),
    dry_run=False,
)
ANNOUNCED = ImportOut.model_validate(
    {
        "import": "i_0f3a9c51d27e4b6f8a1c2d3e4f506172",
        "format": "mqm-tsv",
        "options": {},
        "state": "receiving",
        "files": [],
        "report": None,
    }
)
ROW = ImportListRowOut(
    public_id="i_0f3a9c51d27e4b6f8a1c2d3e4f506172",
    format="mqm-tsv",
    options={},
    state="committed",
    created_at="2026-11-20T12:00:00Z",
)
