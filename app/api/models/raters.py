"""Raters in the interface."""

from __future__ import annotations

from typing import Annotated, Self

from fastapi import Path
from pydantic import AfterValidator, BaseModel, Field, JsonValue, StringConstraints, ValidationError, model_validator
from pydantic_core import ErrorDetails

from app.api.models.times import Time
from app.domain.keys import KEY_PATTERN, reject_dot_segment
from app.domain.validation_errors import list_first_validation_errors
from app.services.people.enrolment import MOST
from app.services.people.rater_tables import (
    ATTRIBUTE,
    COLUMNS,
    RaterTableLine,
    make_rater_table_error,
    parse_rater_table,
)
from app.services.people.raters import Enrolment, RaterContact, State, Unit
from app.web.request_bodies import BodyModel
from app.web.responses import ResponseModel

Key = Annotated[str, StringConstraints(pattern=KEY_PATTERN), AfterValidator(reject_dot_segment)]
Language = Annotated[str, StringConstraints(pattern=r"^[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8})*$", max_length=35)]
Words = Annotated[str, StringConstraints(min_length=1, max_length=500)]

RaterKey = Annotated[
    str,
    Path(alias="rater", pattern=KEY_PATTERN, description="Key of the rater: a pseudonym.", examples=["r1"]),
    AfterValidator(reject_dot_segment),
]


class ContactIn(BodyModel):
    """Personal data: kept apart from everything else, deleted by erasing the rater."""

    name: Words | None = None
    email: Annotated[str, StringConstraints(pattern=r"^[^@\s]+@[^@\s]+$", max_length=320)] | None = None
    note: Annotated[str, StringConstraints(min_length=1, max_length=4000)] | None = None


class RaterIn(BodyModel):
    """An enrolment. What is left out gets its default, except `person` and `contact`, which stay."""

    capacity: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = Field(
        None, description="Most work that they take on; null for no limit."
    )
    capacity_unit: Unit = Field("items", description="What the capacity counts.")
    team: Key | None = None
    buckets: Annotated[list[Key], Field(max_length=1000)] | None = Field(
        None, description="Names of the buckets for which they are intended; null for any."
    )
    state: State = "active"
    languages: list[Language] = Field([], max_length=100)
    attributes: dict[str, JsonValue] = Field(
        {},
        max_length=100,
        description="Attributes by which reports may group raters; nothing that identifies a person.",
    )
    person: Key | None = Field(
        None, description="The same for all accounts of one person; nobody judges an item twice."
    )
    contact: ContactIn | None = None

    def to_enrolment(self) -> Enrolment:
        """Return the enrolment in the form that the service takes."""
        contact = None if self.contact is None else RaterContact(**self.contact.model_dump())
        return Enrolment(
            capacity=self.capacity,
            capacity_unit=self.capacity_unit,
            team=self.team,
            buckets=None if self.buckets is None else tuple(self.buckets),
            state=self.state,
            languages=tuple(self.languages),
            attributes=self.attributes,
            person=self.person,
            contact=contact,
        )


class BulkEnrolmentIn(BodyModel):
    """Raters to enrol with the same settings."""

    keys: Annotated[list[Annotated[str, StringConstraints(max_length=1000)]], Field(min_length=1, max_length=MOST)] = (
        Field(description="Keys of the raters: pseudonyms.")
    )
    capacity: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = Field(
        None, description="Most work that each of them takes on; null for no limit."
    )
    capacity_unit: Unit = Field("items", description="What the capacity counts.")
    team: Key | None = None
    languages: list[Language] = Field([], max_length=100)

    def to_enrolment(self) -> Enrolment:
        """Return the enrolment in the form that the service takes."""
        return Enrolment(
            capacity=self.capacity,
            capacity_unit=self.capacity_unit,
            team=self.team,
            languages=tuple(self.languages),
            attributes={},
        )


class RaterTableIn(BodyModel):
    """Raters in a table."""

    table: str = Field(
        max_length=1_000_000,
        description="A header and a line for each rater, separated by commas, semicolons or tabs. Columns: "
        f"{', '.join(COLUMNS)}, {ATTRIBUTE}NAME; only `rater` is required.",
    )
    new_keys: bool = Field(default=False, description="If the column `rater` is missing, make keys: r1, r2 …")
    new_teams: bool = Field(default=False, description="Create teams that are named but do not exist.")

    def parse_lines(self) -> list[tuple[RaterTableLine, Enrolment]]:
        """Return each line with its enrolment. Raises Invalid, naming the lines with values that are not allowed."""
        rows = parse_rater_table(self.table, keyless=self.new_keys)
        if len(rows) > MOST:
            raise make_rater_table_error([(rows[MOST].line, f"a table has at most {MOST} raters")])
        faults: list[tuple[int, str]] = []
        wanted = []
        for row in rows:
            try:
                wanted.append((row, RaterIn.model_validate(row.values).to_enrolment()))
            except ValidationError as error:
                faults += [(row.line, _format_fault(fault)) for fault in list_first_validation_errors(error)]
        if faults:
            raise make_rater_table_error(faults[:100])
        return wanted


def _format_fault(fault: ErrorDetails) -> str:
    return f"{' '.join(str(part) for part in fault['loc'])}: {fault['msg']}"


class RatersImportedOut(BaseModel):
    """Result of importing a table."""

    enrolled: list[str] = Field(description="Keys, in the order of the lines.")
    new_teams: list[str] = Field(description="Teams that were created for them.")
    dry_run: bool = Field(description="Whether the table was only checked.")
    warnings: list[str] = Field([], description="Raters who have nothing to judge in the current plan.")


class ExpectedEnrolment(BodyModel):
    """What raters must have now; what is left out is not checked."""

    state: State | None = None
    team: Key | None = Field(None, description="Null: they have no team.")


class RatersPatch(BodyModel):
    """A change of several raters at once; what is left out stays."""

    raters: Annotated[list[Key], Field(min_length=1, max_length=MOST)]
    state: State = Field("active", description="`left` ends links, and a replan reassigns open work.")
    team: Key | None = Field(None, description="Null for no team.")
    expected: ExpectedEnrolment | None = Field(
        None, description="Current values that all of them must have, so that no other change is overwritten."
    )

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.model_fields_set - {"raters", "expected"}:
            raise ValueError("must say state or team")
        return self


class PreviousEnrolment(ResponseModel):
    """What a rater had before a change."""

    key: str
    state: str
    team: str | None


class RatersChangedOut(BaseModel):
    """Result of a change of several raters."""

    before: list[PreviousEnrolment] = Field(description="Earlier values, in the order of the list.")
    warnings: list[str] = Field([], description="Raters who have nothing to judge in the current plan.")


class EnrolledRatersOut(BaseModel):
    """Result of enrolling a list."""

    enrolled: list[str] = Field(description="Keys, in the order of the list.")
    dry_run: bool = Field(description="Whether the list was only checked.")
    warnings: list[str] = Field([], description="Raters who have nothing to judge in the current plan.")


class ContactOut(ResponseModel):
    """Personal data."""

    name: str | None
    email: str | None
    note: str | None


class RaterOut(ResponseModel):
    """A rater."""

    key: str
    state: str | None = Field(
        description="active, paused, left or erased; null for a rater known only from judgments, who is not enrolled."
    )
    capacity: int | None
    capacity_unit: Unit
    team: str | None
    buckets: list[str] | None
    languages: list[str]
    attributes: dict[str, JsonValue]
    person: str | None = Field(description="Null for coordinators, who see one campaign's team.")
    contact: ContactOut | None
    external_id: str | None = Field(description="The rater's id on a crowd platform.")
    enrolled_at: Time | None
    erased_at: Time | None
    settings_version: int = Field(description="ETag; 0 before enrolment.")


class EnrolmentOut(RaterOut):
    """A rater as they were enrolled or changed."""

    warnings: list[str] = Field([], description="Warns if the rater has nothing to judge in the current plan.")


NEW = {
    "capacity": 400,
    "capacity_unit": "segments",
    "team": None,
    "languages": ["de", "en"],
    "attributes": {"translator": True},
    "person": "p17",
    "contact": {"name": "Ada", "email": "ada@example.org", "note": None},
}
TABLE = {
    "table": "rater,team,capacity,languages,email\nr1,bonn,400,de en,ada@example.org\nr2,bonn,,de,\n",
    "new_teams": True,
}
IMPORTED = RatersImportedOut(enrolled=["r1", "r2"], new_teams=["bonn"], dry_run=False)
LIST = {"keys": ["r1", "r2", "r3"], "capacity": 400, "capacity_unit": "segments"}
ENROLLED = EnrolledRatersOut(enrolled=["r1", "r2", "r3"], dry_run=False)
CHANGED_SEVERAL = RatersChangedOut(
    before=[PreviousEnrolment(key=key, state="active", team=None) for key in ("r1", "r2")]
)
EXAMPLE = RaterOut.model_validate(
    {
        **NEW,
        "key": "r1",
        "state": "active",
        "buckets": None,
        "external_id": None,
        "enrolled_at": "2026-11-20T12:00:00Z",
        "erased_at": None,
        "settings_version": 1,
    }
)
RECEIPT = EnrolmentOut(**EXAMPLE.model_dump())
